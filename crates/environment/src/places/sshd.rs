//! sshd_config(5): `SetEnv`, which gives every session a variable and is stronger than all other files; and the other
//! directives about the environment.
//!
//! sshd takes one `SetEnv` line, the first. A drop-in with a second would do nothing, and one before the
//! administrator's would undo theirs: the line that counts is changed. `sshd -T` is asked afterwards, because a Match
//! may be stronger. Where sshd asks PAM, `/etc/environment` comes first: it reaches su and cron as well.

use super::{Edit, FoundValue, NOTE, lines, splice};
use crate::activation::{Activation, WorkerQuery, newest};
use crate::error::EnvironmentError;
use crate::place::{CheckStyle, DEFAULT, Destination, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::running::sshd_sets;
use crate::sources::Sources;
use crate::sshd_config::{
    SetEnvPairs, SshSession, SshdConfig, SshdDirective, criteria, directives, session_of,
};
use crate::started_by::{self, Launcher, StartedBy};
use needless_host::ancestry;
use needless_model::Confidence;

/// sshd's configuration.
pub static SSHD: Place = Place {
    name: "sshd",
    files: "/etc/ssh/sshd_config.d/zz-needless.conf, /etc/ssh/sshd_config",
    reaches: "every session of sshd; it is stronger than what PAM and the client give",
    read_by: ReadBy::Everybody("sshd session"),
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
    worker: Some(newest_session),
    // Whether a session is one that a Match fits, only sshd knows.
    next: |part| part.is_none().then_some("session"),
    locate: |query| match query.started_by {
        StartedBy::Ssh { config, session } => vec![location(query, config.as_deref(), session)],
        _ => Vec::new(),
    },
    refuses: |place, variable, value| {
        let rival = "a file that it reads earlier sets it, or a Match block";
        let uses = uses(place, variable, value)?;
        (!uses).then(|| format!("sshd still uses another {variable}: {rival}"))
    },
    has_parts: true,
    ..DEFAULT
};

/// The `SetEnv` that counts in a part of a text: for every session, or below one `Match`.
struct SetEnvLine {
    /// Its line, from 0, with its variables.
    found: Option<(usize, SetEnvPairs)>,
    /// Where a line is added that is missing.
    at: usize,
    /// What its sessions have without such a line: what every session has.
    without: SetEnvPairs,
}

/// `part`: what a `Match` line of the text says. `None`: there is no such block.
fn counting(text: &str, part: Option<&str>) -> Option<SetEnvLine> {
    let wanted = part.map(|part| criteria(part.strip_prefix("Match ").unwrap_or(part)));
    let mut all = SetEnvLine { found: None, at: lines(text).len(), without: Vec::new() };
    let mut blocks: Vec<SetEnvLine> = Vec::new();
    let (mut first, mut inside) = (None, false);
    for (at, said) in directives(text) {
        match said {
            SshdDirective::Set(pairs) if first.is_none() && all.found.is_none() => {
                all.found = Some((at, pairs));
            }
            SshdDirective::Set(pairs) if inside => {
                let block = blocks.last_mut().filter(|block| block.found.is_none());
                block.into_iter().for_each(|block| block.found = Some((at, pairs.clone())));
            }
            SshdDirective::Match(of) => {
                first = first.or(Some(at));
                inside = wanted.as_ref() == Some(&of);
                let without = all.found.iter().flat_map(|(_, pairs)| pairs.clone()).collect();
                blocks.extend(inside.then(|| SetEnvLine { found: None, at: at + 1, without }));
            }
            _ => {}
        }
    }
    if wanted.is_none() {
        all.at = first.unwrap_or(all.at);
        return Some(all);
    }
    // The first block with such a line counts.
    let best = blocks.iter().position(|block| block.found.is_some()).unwrap_or(0);
    (best < blocks.len()).then(|| blocks.swap_remove(best))
}

/// Where `text` sets `variable` for every session, or for those of the `Match` that `part` names.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Some(line) = counting(text, part) else { return Vec::new() };
    let (at, pairs) = line.found.unwrap_or((line.at.saturating_sub(1), line.without));
    // Of two in one line, sshd sets the first.
    let pair = pairs.into_iter().find(|(name, _)| name == variable);
    pair.map(|(_, value)| FoundValue::set(at, value)).into_iter().collect()
}

/// Changes the line that counts, or adds one: for every session above the first `Match`, below which it would apply to
/// some sessions only; for those of a `Match` directly below it. sshd takes one such line and no other, so a line that
/// is added below a `Match` also has what every session has.
///
/// # Errors
/// When there is no such `Match`.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let Some(line) = counting(text, edit.part) else {
        let all = directives(text).into_iter().filter_map(|(_, said)| match said {
            SshdDirective::Match(of) => Some(format!("Match {of}")),
            _ => None,
        });
        let all = all.collect::<Vec<_>>().join("; ");
        return Err(format!("there is no such Match block; there are: {all}").into());
    };
    let (at, is, mut pairs) = match line.found {
        Some((at, pairs)) => (at, true, pairs),
        None => (line.at, false, line.without),
    };
    match (pairs.iter_mut().find(|(name, _)| name == edit.variable), edit.value) {
        (Some(pair), Some(value)) => pair.1 = value.to_owned(),
        (None, Some(value)) => pairs.push((edit.variable.to_owned(), value.to_owned())),
        (Some(_), None) => pairs.retain(|(name, _)| name != edit.variable),
        (None, None) => return Ok(text.to_owned()),
    }
    let words: Vec<_> = pairs.iter().map(|(name, value)| word(name, value)).collect();
    let old = lines(text).get(at).copied().unwrap_or_default();
    let pad = match (is, edit.part) {
        (true, _) => &old[..old.len() - old.trim_start().len()],
        (false, Some(_)) => "  ",
        (false, None) => "",
    };
    let line = format!("{pad}SetEnv {}", words.join(" "));
    Ok(match (is, pairs.is_empty()) {
        (true, true) => splice(text, at, at + 1, &[]),
        (true, false) => splice(text, at, at + 1, &[line]),
        (false, _) => splice(text, at, at, &[format!("{pad}{NOTE}"), line]),
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

/// Whether sshd will set this value: for every session, or for one that the `Match` fits.
fn uses(place: &Destination, variable: &str, value: Option<&str>) -> Option<bool> {
    let session = match place.part.as_deref() {
        Some(part) => Some(session_of(&criteria(part.strip_prefix("Match ").unwrap_or(part)))?),
        None => None,
    };
    let pairs = sshd_sets(None, session.as_deref())?;
    let is = pairs.iter().find(|(name, _)| name == variable).map(|(_, is)| is.as_str());
    Some(is == value)
}

fn scan(sources: &mut Sources<'_>) {
    let config = match sources.started_by {
        StartedBy::Ssh { config, session } => {
            SshdConfig::of_session(sources.root, config.as_deref(), session)
        }
        _ => SshdConfig::read(sources.root, None),
    };
    let ours = matches!(sources.started_by, StartedBy::Ssh { .. });
    sources.assignments.extend(config.assignments(sources.variable, ours));
    sources.unread.extend(config.unread.iter().cloned());
}

/// The first process of the session that was begun last, of an sshd with its usual configuration.
fn newest_session(_: &WorkerQuery<'_>) -> Option<u32> {
    newest(|pid| {
        let chain = ancestry(pid, "PATH").unwrap_or_default();
        let [.., parent, me] = &chain[..] else { return false };
        let is_sshd = |info| Launcher::of(info) == Some(Launcher::Ssh);
        let ours = || matches!(started_by::of(&chain), StartedBy::Ssh { config: None, .. });
        is_sshd(parent) && !is_sshd(me) && ours()
    })
}

/// sshd's own configuration. It is the only place that helps where sshd sets the variable itself or does not use PAM;
/// elsewhere PAM's file, which reaches su, cron and login as well, comes first.
fn location(query: &LocationQuery<'_>, config: Option<&str>, session: &SshSession) -> Destination {
    use Confidence::{High, Medium};
    let sshd = SshdConfig::of_session(query.root, config, session);
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
    let (file, part) = sshd.file_for();
    let unit = unit.unwrap_or("sshd.service").to_owned();
    let location = Destination::new(&SSHD, file.to_owned(), why, confidence)
        .activation(Activation::Reload { unit, try_or_restart: false });
    match part {
        Some(of) => location
            .part(format!("Match {of}"))
            .caveat("It reaches every session that this Match fits."),
        None => location.caveat("It reaches every session of sshd, whoever logs in."),
    }
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
    fn a_match_has_a_line_of_its_own() {
        let text = "SetEnv A=1\nMatch User joe,ann\n  X11Forwarding no\nMatch  Group \"x y\"\n\tSetEnv TZ=no\n";
        let part = Some("Match User joe,ann");
        let edit = Edit { variable: "TZ", value: Some("UTC"), part };
        let new = put(text, &edit).unwrap();
        let begin = format!("SetEnv A=1\nMatch User joe,ann\n  {NOTE}\n  SetEnv A=1 TZ=UTC\n  X11");
        assert!(new.starts_with(&begin), "{new}");
        assert_eq!(find(&new, "TZ", part), [FoundValue::set(3, "UTC")]);
        assert_eq!((find(&new, "TZ", None), find(text, "A", part).len()), (Vec::new(), 1));
        let new = put(text, &Edit { part: Some("Group x y"), ..edit }).unwrap();
        assert!(new.ends_with("\"\n\tSetEnv TZ=UTC\n"), "{new}");
        let said = put(text, &Edit { part: Some("User eve"), ..edit }).unwrap_err().to_string();
        assert!(said.ends_with("there are: Match User joe,ann; Match Group x y"), "{said}");
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
