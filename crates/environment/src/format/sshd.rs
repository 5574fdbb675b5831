//! sshd_config(5): `SetEnv`, which gives every session a variable and is stronger than all other files; and the other
//! directives about the environment.

use super::environment_d;
use super::{Edit, FoundValue, NOTE, lines, splice};
use crate::channel::Channel;
use crate::config_format::{
    CheckStyle, ConfigFormat, ConfigLocation, DEFAULT, LocationQuery, Verify,
};
use crate::error::EnvironmentError;
use crate::running::sshd_will_use;
use crate::sources::Sources;
use crate::sshd_config::{SetEnvPairs, SshdConfig, SshdDirective, directives};
use needless_model::{Confidence, Visibility};

/// sshd's configuration.
pub static SSHD: ConfigFormat = ConfigFormat {
    name: "sshd",
    files: "/etc/ssh/sshd_config.d/zz-needless.conf, /etc/ssh/sshd_config",
    reaches: "every session of sshd; it is stronger than what PAM and the client give",
    effect: "the next session, after a reload of sshd",
    check: &["sshd", "-t", "-f"],
    // It also fails where it has no host keys yet.
    check_style: CheckStyle::Lines,
    find,
    put,
    elsewhere: |text, _| {
        let words = |line: &str| line.split_whitespace().next().map(str::to_ascii_lowercase);
        let at = text.lines().position(|line| words(line).as_deref() == Some("include"))?;
        Some((super::number(at), "Include"))
    },
    is_file: |path, _| {
        path.name() == "sshd_config" || (path.below("/sshd_config.d/") && path.ends(".conf"))
    },
    scan,
    locate: |query| match query.channel {
        Channel::Ssh { config } => vec![location(query, config.as_deref())],
        _ => Vec::new(),
    },
    verify: Some(Verify {
        uses: |_, variable, value| Some((sshd_will_use(variable, value)?, "sshd".into())),
        rival: "a file that it reads earlier sets it, or a Match block",
    }),
    ..DEFAULT
};

/// The `SetEnv` line that counts for every session, from 0, with its variables; and where the first `Match` begins.
fn first(text: &str) -> (Option<(usize, SetEnvPairs)>, Option<usize>) {
    let mut first = None;
    for (at, said) in directives(text) {
        match said {
            SshdDirective::Set(pairs) if first.is_none() => first = Some((at, pairs)),
            SshdDirective::Match => return (first, Some(at)),
            _ => {}
        }
    }
    (first, None)
}

/// Where `text` sets `variable` for every session.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let Some((at, pairs)) = first(text).0 else { return Vec::new() };
    // Of two in one line, sshd sets the first.
    let pair = pairs.into_iter().find(|(name, _)| name == variable);
    pair.map(|(_, value)| FoundValue::set(at, value)).into_iter().collect()
}

/// Changes the line that counts, or adds one above the first `Match`, below which it would apply to some sessions
/// only.
///
/// # Errors
/// When the value holds control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let (found, end) = first(text);
    let (at, is, mut pairs) = match found {
        Some((at, pairs)) => (at, true, pairs),
        None => (end.unwrap_or(lines(text).len()), false, Vec::new()),
    };
    match (pairs.iter_mut().find(|(name, _)| name == edit.variable), edit.value) {
        (Some(pair), Some(value)) => pair.1 = value.to_owned(),
        (None, Some(value)) => pairs.push((edit.variable.to_owned(), value.to_owned())),
        (Some(_), None) => pairs.retain(|(name, _)| name != edit.variable),
        (None, None) => return Ok(text.to_owned()),
    }
    let words: Vec<_> = pairs.iter().map(|(name, value)| word(name, value)).collect();
    let line = format!("SetEnv {}", words.join(" "));
    Ok(match (is, pairs.is_empty()) {
        (true, true) => splice(text, at, at + 1, &[]),
        (true, false) => splice(text, at, at + 1, &[line]),
        (false, _) => splice(text, at, at, &[NOTE.into(), line]),
    })
}

fn word(name: &str, value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,+@%=-".contains(c);
    if value.chars().all(plain) {
        return format!("{name}={value}");
    }
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{name}={value}\"")
}

fn scan(sources: &mut Sources<'_>) {
    let (main, ours) = match sources.channel {
        Channel::Ssh { config } => (config.as_deref(), true),
        _ => (None, false),
    };
    let config = SshdConfig::read(sources.root, main);
    sources.assignments.extend(config.assignments(sources.variable, ours));
    sources.unread.extend(config.unread.iter().cloned());
    let Some(home) = &sources.home else { return };
    let file = format!("{home}/.ssh/environment");
    let keys = ["authorized_keys", "authorized_keys2"].map(|name| format!("{home}/.ssh/{name}"));
    let reaches = match (ours, config.reads_user_file(sources.variable)) {
        (true, true) => Visibility::Perhaps("if PAM and SetEnv do not set it".into()),
        (true, false) => Visibility::No("sshd does not read it (PermitUserEnvironment)".into()),
        (false, _) => Visibility::No("only for sessions of sshd".into()),
    };
    sources.file(&file, environment_d::find, None, reaches.clone());
    let reaches = match reaches {
        Visibility::Perhaps(why) => Visibility::Perhaps(format!(
            "if the session was opened with that key, and {}",
            &why[3..]
        )),
        other => other,
    };
    for file in keys {
        sources.file(&file, in_keys, None, reaches.clone());
    }
}

/// Where the options of the keys in `text` (authorized_keys of sshd(8)) set `variable`: `environment="NAME=VALUE"`.
fn in_keys(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let mut found = Vec::new();
    for (at, line) in lines(text).into_iter().enumerate() {
        let mut rest = line.trim_start();
        if rest.starts_with('#') {
            continue;
        }
        while let Some((_, after)) = rest.split_once("environment=\"") {
            let Some((pair, behind)) = after.split_once('"') else { break };
            let value = pair.strip_prefix(variable).and_then(|value| value.strip_prefix('='));
            found.extend(value.map(|value| FoundValue::set(at, value)));
            rest = behind;
        }
    }
    found
}

/// sshd's own configuration. It is the only place that helps where sshd sets the variable itself or does not use PAM;
/// elsewhere PAM's file, which reaches su, cron and login as well, comes first.
fn location(query: &LocationQuery<'_>, config: Option<&str>) -> ConfigLocation {
    use Confidence::{High, Medium};
    let sshd = SshdConfig::read(query.root, config);
    let why = if sshd.sets(query.variable) {
        "sshd's own SetEnv sets it, which is stronger than all other files"
    } else {
        "sshd sets it for its sessions (SetEnv), which is stronger than all other files"
    };
    let unit = ["ssh.service", "sshd.service"].into_iter().find(|unit| {
        let dirs = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
        dirs.iter().any(|dir| query.root.read(&format!("{dir}/{unit}")).is_ok())
    });
    // If sshd was started with another configuration, we cannot be sure what it includes and what reloads it.
    let confidence = if config.is_none() && sshd.unread.is_empty() { High } else { Medium };
    ConfigLocation::new(&SSHD, sshd.file_for(query.variable).to_owned(), why, confidence)
        .restart(&["systemctl", "reload", unit.unwrap_or("sshd.service")])
        .caveat("It reaches every session of sshd, whoever logs in.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `sshd -T` prints them: OpenSSH 9.2.
    #[test]
    fn the_first_line_counts_and_a_match_is_for_some() {
        let text = "setenv A=1 \"B=x y\" # c\nSetEnv TZ=no\nMatch all\n SetEnv C=4\n";
        assert_eq!(find(text, "B", None), [FoundValue::set(0, "x y")]);
        assert_eq!(find(text, "TZ", None), []);
        assert_eq!(find("Match all\nSetEnv A=1\n", "A", None), []);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        let new = put(text, &edit).unwrap();
        assert!(new.starts_with("SetEnv A=1 \"B=x y\" TZ=UTC\nSetEnv TZ=no\n"), "{new}");
        let new = put("Port 22\nMatch all\n", &edit).unwrap();
        assert_eq!(new, format!("Port 22\n{NOTE}\nSetEnv TZ=UTC\nMatch all\n"));
        assert_eq!(put("SetEnv TZ=a\n", &Edit { value: None, ..edit }).unwrap(), "");
    }

    #[test]
    fn variables_of_keys() {
        let text = "# environment=\"TZ=no\"\nno-pty,environment=\"A=1\",environment=\"TZ=Europe/Rome\" ssh-ed25519 AAAA\n";
        assert_eq!(in_keys(text, "TZ", None), [FoundValue::set(1, "Europe/Rome")]);
        assert_eq!(in_keys(text, "T", None), []);
    }

    #[test]
    fn words_as_sshd_takes_them() {
        let one = |text: &str| find(text, "A", None).pop().and_then(|found| found.value);
        for (text, value) in [
            ("SetEnv=A=1", "1"),
            ("SetEnv \"A=x\\\"y\"", "x\"y"),
            ("SetEnv A=a#b", "a#b"),
            ("SetEnv A=a\\b", "a\\b"),
            ("SetEnv \"A=a\\\\b\"", "a\\b"),
            ("SetEnv \"A=it's\"", "it's"),
        ] {
            assert_eq!(one(text).as_deref(), Some(value), "{text}");
        }
    }
}
