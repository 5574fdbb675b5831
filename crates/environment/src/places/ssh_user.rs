//! What a user gives their own sessions of sshd: `environment="NAME=VALUE"` of a key in authorized_keys, and
//! ~/.ssh/environment; sshd(8). sshd reads them only where PermitUserEnvironment allows it. And what the client sends.

use super::{Edit, FoundValue, bare, lines, put_line};
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;
use crate::last_change::passed_on;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::place_list::SSHD;
use crate::readers::ReadBy;
use crate::sources::{Sources, home};
use crate::sshd_config::{SshSession, SshdConfig};
use crate::started_by::{Launcher, StartedBy};
use needless_model::{Confidence, Visibility};

/// The keys with which a user may log in.
pub static AUTHORIZED_KEYS: Place = Place {
    name: "authorized_keys",
    files: "~/.ssh/authorized_keys",
    reaches: "sessions that are opened with the key, where sshd allows it (PermitUserEnvironment)",
    effect: "the next session with that key",
    find: in_keys,
    by_hand: Some(option_by_hand),
    is_file: |path, _| NAMES.contains(&path.name()) && path.below("/.ssh/"),
    scan,
    locate,
    has_parts: true,
    ..DEFAULT
};

/// A user's variables for all sessions.
pub static SSH_ENVIRONMENT: Place = Place {
    name: "~/.ssh/environment",
    files: "~/.ssh/environment",
    reaches: "the user's sessions of sshd, where sshd allows it (PermitUserEnvironment)",
    read_by: ReadBy::Everybody("sshd session"),
    effect: "the next session",
    find: in_environment,
    put: put_in_environment,
    is_file: |path, _| path.name() == "environment" && path.below("/.ssh/"),
    mode: 0o600,
    ..DEFAULT
};

const NAMES: [&str; 2] = ["authorized_keys", "authorized_keys2"];
/// What begins the type of a key.
const TYPES: [&str; 6] = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-", "rsa-sha2-", "webauthn-"];

/// A line of authorized_keys with a key.
struct Key<'a> {
    /// Its line, from 0.
    at: usize,
    /// Its options as they are written; empty where it has none.
    options: Vec<&'a str>,
    /// Its comment, or its line where it has none or another key has the same.
    name: String,
}

fn keys(text: &str) -> Vec<Key<'_>> {
    let mut found = Vec::new();
    for (at, line) in lines(text).into_iter().enumerate() {
        let line = bare(line).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (options, rest) =
            if TYPES.iter().any(|begin| line.starts_with(begin)) { ("", line) } else { cut(line) };
        let comment = rest.splitn(3, ' ').nth(2).unwrap_or_default().trim();
        found.push(Key { at, options: split(options), name: comment.to_owned() });
    }
    let names: Vec<String> = found.iter().map(|key| key.name.clone()).collect();
    for key in &mut found {
        if key.name.is_empty() || names.iter().filter(|name| **name == key.name).count() > 1 {
            key.name = format!("line {}", key.at + 1);
        }
    }
    found
}

/// The options at the start of a line, which end at a blank outside of quotes, and what is behind them.
fn cut(line: &str) -> (&str, &str) {
    let end = outside(line, |c| c == ' ' || c == '\t').unwrap_or(line.len());
    (&line[..end], line[end..].trim_start())
}

fn split(mut options: &str) -> Vec<&str> {
    let mut all = Vec::new();
    while !options.is_empty() {
        let end = outside(options, |c| c == ',').unwrap_or(options.len());
        all.push(&options[..end]);
        options = options.get(end + 1..).unwrap_or_default();
    }
    all
}

/// The first such character that is not in quotes.
fn outside(text: &str, wanted: impl Fn(char) -> bool) -> Option<usize> {
    let (mut quoted, mut before) = (false, ' ');
    for (at, c) in text.char_indices() {
        if c == '"' && before != '\\' {
            quoted = !quoted;
        } else if !quoted && wanted(c) {
            return Some(at);
        }
        before = c;
    }
    None
}

/// The value of an option, if it sets the variable. Of two for one variable, sshd takes the first.
fn value(option: &str, variable: &str) -> Option<String> {
    let (name, quoted) = option.split_once('=')?;
    let inside = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let pair = inside.replace("\\\"", "\"");
    let value = pair.strip_prefix(variable)?.strip_prefix('=')?;
    name.eq_ignore_ascii_case("environment").then(|| value.to_owned())
}

/// Where the options of the key `part`, or of all keys, set `variable`.
fn in_keys(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let all = keys(text).into_iter();
    let mine = all.filter(|key| part.is_none_or(|part| part == key.name));
    mine.filter_map(|key| {
        let value = key.options.iter().find_map(|option| value(option, variable))?;
        Some(FoundValue::set(key.at, value))
    })
    .collect()
}

/// # Errors
/// When there is no such key, or the value ends with a backslash.
fn option_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    let all = keys(text);
    let key = super::yaml::choose("key", &all, |key| &key.name, edit.part)?;
    let new = edit.value.unwrap_or_default();
    if new.ends_with('\\') {
        return Err("a backslash at its end cannot be written there".into());
    }
    let (line, old) = (super::number(key.at), |option: &&str| value(option, edit.variable));
    let is_set = key.options.iter().any(|option| old(option).is_some());
    Ok(HandLine {
        text: format!("environment=\"{}={}\"", edit.variable, new.replace('"', "\\\"")),
        place: format!("to the options in front of the key {}, line {line}", key.name),
        above: None,
        replaces: is_set.then_some(line),
    })
}

/// Lines `NAME=VALUE`, taken as they are.
fn in_environment(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = lines(text).into_iter().enumerate();
    let value = |line: &str| {
        let line = line.trim_end_matches('\n').trim_start_matches([' ', '\t']);
        let value = line.strip_prefix(variable)?.strip_prefix('=')?;
        Some(value.to_owned())
    };
    all.filter_map(|(at, line)| Some(FoundValue::set(at, value(line)?))).collect()
}

fn put_in_environment(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if text.contains('\r') {
        return Err("its lines end with CR LF, and sshd takes the CR for a part of each value: convert the file first".into());
    }
    let found = in_environment(text, edit.variable, None);
    let at: Vec<_> = found.iter().map(|one| (one.line as usize - 1, one.line as usize)).collect();
    let line = edit.value.map(|value| format!("{}={value}", edit.variable));
    Ok(put_line(text, edit, &at, line))
}

fn scan(sources: &mut Sources<'_>) {
    let (main, ours) = match sources.started_by {
        StartedBy::Ssh { config, .. } => (config.as_deref(), true),
        _ => (None, false),
    };
    let config = SshdConfig::read(sources.root, main);
    let Some(home) = sources.home.clone() else { return };
    let reaches = match (ours, config.reads_user_file(sources.variable)) {
        (true, true) => Visibility::Perhaps("if PAM and SetEnv do not set it".into()),
        (true, false) => Visibility::No("sshd does not read it (PermitUserEnvironment)".into()),
        (false, _) => Visibility::No("only for sessions of sshd".into()),
    };
    sources.file(&format!("{home}/.ssh/environment"), in_environment, None, reaches.clone());
    let reaches = match reaches {
        Visibility::Perhaps(why) => Visibility::Perhaps(format!(
            "if the session was opened with that key, and {}",
            &why[3..]
        )),
        other => other,
    };
    for name in NAMES {
        sources.file(&format!("{home}/.ssh/{name}"), in_keys, None, reaches.clone());
    }
}

/// Where the value of the session comes from, if it is from the user's files or from the client: these are narrower than
/// what reaches all sessions.
fn locate(query: &LocationQuery<'_>) -> Vec<Destination> {
    let StartedBy::Ssh { config, session } = query.started_by else { return Vec::new() };
    from_user_or_client(query, config.as_deref(), session).into_iter().collect()
}

fn from_user_or_client(
    query: &LocationQuery<'_>,
    config: Option<&str>,
    session: &SshSession,
) -> Option<Destination> {
    use Confidence::{High, Low, Medium};
    let given = given_by_sshd(query)?;
    let sshd = SshdConfig::of_session(query.root, config, session);
    if sshd.sets(query.variable) || (sshd.uses_pam() && by_pam(query)) {
        return None;
    }
    let accepted = sshd.accepts(query.variable);
    if let Some(home) =
        home(query.root, session.uid).filter(|_| sshd.reads_user_file(query.variable))
    {
        let read = |file: &str| {
            query.root.read(file).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        let mut fitting = Vec::new();
        for file in NAMES.map(|name| format!("{home}/.ssh/{name}")) {
            let text = read(&file).unwrap_or_default();
            let sets =
                |key: &Key<'_>| key.options.iter().find_map(|one| value(one, query.variable));
            let mine = keys(&text).into_iter().filter(|key| sets(key).as_ref() == Some(&given));
            fitting.extend(mine.map(|key| (file.clone(), key.name)));
        }
        let general = format!("{home}/.ssh/environment");
        let found = in_environment(&read(&general).unwrap_or_default(), query.variable, None);
        let general = found
            .last()
            .is_some_and(|found| found.value.as_ref() == Some(&given))
            .then_some(general);
        // Another source may have given the same value.
        let sure = |n: usize| if n == 1 && accepted.is_none() { High } else { Medium };
        match (&fitting[..], general) {
            ([(file, key), rest @ ..], general) => {
                let n = 1 + rest.len() + usize::from(general.is_some());
                let why = "the session has the value that this key gives it";
                let location = Destination::new(&AUTHORIZED_KEYS, file.clone(), why, sure(n));
                let location = location.part(key.clone());
                return Some(location.caveat("It reaches sessions that are opened with that key."));
            }
            ([], Some(file)) => {
                let why = "the session has the value that this file gives it";
                let location = Destination::new(&SSH_ENVIRONMENT, file, why, sure(1));
                return Some(location.caveat("It reaches every session of that user."));
            }
            ([], None) => {}
        }
    }
    let (file, at) = accepted?;
    let why = format!(
        "the client sent it (SendEnv of ssh_config), which {file}:{} accepts: change it there, or name a file that is \
         stronger (--in)",
        at + 1
    );
    let location = Destination::new(&SSHD, None, why, Low);
    Some(Destination { label: "the ssh client".into(), ..location })
}

/// The value that sshd gave the session: that of its first process, unless sshd itself has it.
fn given_by_sshd(query: &LocationQuery<'_>) -> Option<String> {
    let last = query.chain.iter().rposition(|info| Launcher::of(info) == Some(Launcher::Ssh))?;
    let first = query.chain.get(last + 1)?.initial.text()?;
    let is = query.process()?.initial.text() == Some(first);
    let sshd_has = passed_on(&query.chain[last]).iter().any(|value| value.text() == Some(first));
    (is && !sshd_has).then(|| first.to_owned())
}

/// Whether a file that PAM reads for sessions sets the variable.
fn by_pam(query: &LocationQuery<'_>) -> bool {
    let files = ["/etc/environment", "/etc/security/pam_env.conf", "/etc/default/locale"];
    files.iter().any(|file| {
        let text = query.root.read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let place = crate::place_list::place_of_file(file, &text);
        place.is_some_and(|place| !place.find(&text, query.variable, None).is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# environment=\"TZ=no\"\nno-pty,environment=\"A=1\",environment=\"TZ=Europe/Rome\" ssh-ed25519 AAAA joe@laptop\nssh-rsa BBBB\ncommand=\"a \\\"b, c\\\" d\" ssh-rsa CCCC ann\n";

    #[test]
    fn variables_of_keys() {
        assert_eq!(in_keys(TEXT, "TZ", None), [FoundValue::set(1, "Europe/Rome")]);
        assert_eq!(in_keys(TEXT, "T", None), []);
        let edit = |value, part| Edit { variable: "TZ", value: Some(value), part };
        let line = option_by_hand(TEXT, &edit("a\"b", Some("joe@laptop"))).unwrap();
        let expected = ("environment=\"TZ=a\\\"b\"", Some(2));
        assert_eq!((line.text.as_str(), line.replaces), expected);
        let new = TEXT.replace("environment=\"TZ=Europe/Rome\"", &line.text);
        assert_eq!(in_keys(&new, "TZ", None), [FoundValue::set(1, "a\"b")]);
        let line = option_by_hand(TEXT, &edit("UTC", Some("ann"))).unwrap();
        assert_eq!(line.place, "to the options in front of the key ann, line 4");
        let said = option_by_hand(TEXT, &edit("", None)).unwrap_err().to_string();
        assert!(said.ends_with("joe@laptop, line 3, ann"), "{said}");
    }
}
