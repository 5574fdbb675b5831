//! /etc/environment and /etc/default/locale, as pam_env(8) reads them.
//!
//! pam_env, environment.d and scripts that source the file each read it with another grammar: only values that all of
//! them read alike are written.

use super::pam_env_conf::{self, PAM_ENV_CONF};
use super::{Edit, FoundValue, is_plain, lines, put_line};
use crate::error::EnvironmentError;
use crate::pam::{ENVIRONMENT, LOCALE, OF_USER, pam_location, pam_reads_file};
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::sources::{Sources, home};
use crate::sshd_config::SshdConfig;
use crate::started_by::StartedBy;
use needless_model::{Confidence, Visibility};

/// /etc/environment.
pub static PAM_ENV: Place = Place {
    name: "pam_env",
    files: ENVIRONMENT,
    reaches: "what PAM opens a session for: login, ssh, su, cron; not at, not sudo (Debian), not systemd's units",
    read_by: ReadBy::Everybody("session"),
    effect: "the next session or job",
    find,
    put,
    is_file: |path, _| path.is(ENVIRONMENT),
    scan: |sources| {
        let reaches = by_pam(sources, ENVIRONMENT);
        sources.file(ENVIRONMENT, find, None, reaches);
    },
    locate,
    ..DEFAULT
};

/// Debian's file for the locale. A change belongs there instead of in /etc/environment where PAM reads it, which the
/// format of /etc/environment decides.
pub static DEFAULT_LOCALE: Place = Place {
    name: "default locale",
    files: LOCALE,
    reaches: "sessions that PAM opens, and the units of systemd on Debian",
    read_by: ReadBy::Everybody("session"),
    effect: "the next session; for units the next boot",
    find,
    put,
    is_file: |path, _| path.is(LOCALE),
    scan: |sources| {
        let reaches = by_pam(sources, LOCALE);
        sources.file(LOCALE, find, None, reaches);
    },
    ..DEFAULT
};

/// The most that pam_env reads as one line, with its line end and what a backslash joins to it: `BUF_SIZE` without the
/// byte that ends a string, in modules/pam_env/pam_env.c of Linux-PAM 1.5. It reads nothing behind a longer one.
const LONGEST: usize = 8191;

/// A line as pam_env takes it.
struct Entry {
    name: String,
    /// `None`: a name alone, which removes the variable.
    value: Option<String>,
    from: usize,
    to: usize,
}

/// Reads `[export ]NAME=VALUE` as pam_env does: `#` begins a comment anywhere, one pair of quotes around the value is
/// removed, nothing is expanded, a CR is a part of the value. A `\` at a line end, with blanks behind it or not, joins the
/// next line that is neither empty nor a comment.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let all = lines(text);
    let mut at = 0;
    while at < all.len() {
        let (from, mut line, mut joined, mut open) = (at, String::new(), false, true);
        while open {
            // Nothing is left to join: it drops what it has.
            let Some(next) = all.get(at) else { return entries };
            if line.len() + next.len() > LONGEST || next.contains('\0') {
                return entries;
            }
            at += 1;
            let words = next.trim_start_matches(BLANK);
            if words.is_empty() || words.starts_with('#') {
                open = joined;
                continue;
            }
            let (code, comment) =
                words.split_once('#').map_or((words, None), |(code, rest)| (code, Some(rest)));
            let joins =
                code.trim_end_matches(BLANK).strip_suffix('\\').filter(|_| comment.is_none());
            line.push_str(if joined { &next[..next.len() - words.len()] } else { "" });
            line.push_str(joins.unwrap_or(code));
            joined = joins.is_some();
            open = joined;
        }
        entries.extend(entry(line.trim_end_matches('\n'), from, at));
    }
    entries
}

/// What pam_env takes for blanks.
const BLANK: [char; 3] = [' ', '\t', '\n'];

fn entry(line: &str, from: usize, to: usize) -> Option<Entry> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(unquoted(value))),
        None => (line, None),
    };
    super::check_name(name).ok()?;
    Some(Entry { name: name.to_owned(), value, from, to })
}

/// Without the quote that it begins with and one at its end, of either kind.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix(['"', '\'']);
    let inner = inner.map(|inner| inner.strip_suffix(['"', '\'']).unwrap_or(inner));
    inner.unwrap_or(value).to_owned()
}

/// Where `text` sets `variable`; the last counts.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = entries(text).into_iter().filter(|entry| entry.name == variable);
    all.map(|entry| match entry.value {
        Some(value) => FoundValue::set(entry.from, value),
        None => FoundValue::removed(entry.from),
    })
    .collect()
}

/// Why no line can be added to a text.
fn unfit(text: &str) -> Option<String> {
    if text.contains('\r') {
        return Some(
            "its lines end with CR LF, and pam_env takes the CR for a part of each value: convert the file first".into(),
        );
    }
    let long = lines(text).iter().position(|line| line.len() > LONGEST)?;
    Some(format!(
        "line {} is longer than {} bytes: pam_env (of Linux-PAM 1.5) reads neither it nor what is below",
        long + 1,
        LONGEST - 1
    ))
}

/// # Errors
/// When the three readers of such a file would not all read the value alike, or pam_env would not read a new line.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if edit.value.is_some_and(|value| value.is_empty() || !is_plain(value)) {
        return Err("pam_env, systemd and shells read such a value differently there: set it by \
                    hand, or elsewhere"
            .into());
    }
    if let Some(why) = unfit(text).filter(|_| edit.value.is_some()) {
        return Err(why.into());
    }
    let all = entries(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.name == edit.variable).map(|e| (e.from, e.to)).collect();
    let line = edit.value.map(|value| format!("{}={value}", edit.variable));
    Ok(put_line(text, edit, &found, line))
}

/// The file of the session's user, where pam_env reads it and it sets the variable.
fn of_user(query: &LocationQuery<'_>, service: &str, who: &str) -> Option<Destination> {
    let home = home(query.root, query.process()?.uid)?;
    let reads = pam_reads_file(query.root, service, OF_USER) == Some(true);
    let file = format!("{home}/{OF_USER}");
    let text = query.root.read(&file).ok().filter(|_| reads)?;
    let sets = pam_env_conf::find(&String::from_utf8_lossy(&text), query.variable, None);
    let why = format!("{who} reads it through PAM, after {ENVIRONMENT} (user_readenv=1)");
    let location = Destination::new(&PAM_ENV_CONF, file, why, Confidence::High);
    (!sets.is_empty()).then(|| location.caveat("It reaches every session of that user."))
}

/// PAM's files are the best place for sessions. For sshd only if it uses PAM and does not set the variable itself.
fn locate(query: &LocationQuery<'_>) -> Vec<Destination> {
    let location = |service: &str, who: &str| {
        let formats = [&PAM_ENV, &DEFAULT_LOCALE];
        of_user(query, service, who)
            .unwrap_or_else(|| pam_location(query.root, service, query.variable, who, formats))
    };
    match query.started_by {
        StartedBy::Su { login, runuser } => {
            let service = match (runuser, login) {
                (true, _) => "runuser-l",
                (false, true) => "su-l",
                (false, false) => "su",
            };
            vec![location(service, &query.started_by.subject())]
        }
        StartedBy::Ssh { config, session } => {
            let sshd = SshdConfig::of_session(query.root, config.as_deref(), session);
            let pam = location("sshd", "sshd");
            let best =
                sshd.uses_pam() && !sshd.sets(query.variable) && pam.confidence == Confidence::High;
            if best { vec![pam] } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

/// Whether pam_env gives the process what is in `file`.
pub(super) fn by_pam(sources: &Sources<'_>, file: &str) -> Visibility {
    let service = match sources.started_by {
        StartedBy::Cron => "cron",
        // atd opens its session with PAM, and gives the job only the environment of the user who submitted it.
        StartedBy::At => {
            return Visibility::No(
                "at gives a job the environment of the user who submitted it".into(),
            );
        }
        StartedBy::Ssh { config, .. } => {
            if !SshdConfig::read(sources.root, config.as_deref()).uses_pam() {
                return Visibility::No("sshd does not use PAM here (UsePAM)".into());
            }
            "sshd"
        }
        StartedBy::Su { runuser: true, .. } => "runuser-l",
        StartedBy::Su { login: true, .. } => "su-l",
        StartedBy::Su { login: false, .. } => "su",
        StartedBy::Sudo { .. } => "sudo",
        StartedBy::Unit { name, .. } => {
            return Visibility::No(format!("systemd does not read it for {name}"));
        }
        StartedBy::UserUnit { .. }
            if file == ENVIRONMENT
                && sources.root.read_link("/usr/lib/environment.d/99-environment.conf").is_ok() =>
        {
            return Visibility::Yes(
                "environment.d links to it (99-environment.conf): the user's systemd reads it"
                    .into(),
            );
        }
        StartedBy::Container { label, .. } => {
            return Visibility::No(format!("nothing in {label} reads it"));
        }
        StartedBy::Program { .. } => {
            return Visibility::Perhaps(
                "if its session was opened after the file was changed".into(),
            );
        }
        StartedBy::Orphan => {
            return Visibility::Perhaps(
                "if it was started from a session; the process that started it has ended".into(),
            );
        }
        other => return Visibility::No(format!("{} does not read it", other.subject())),
    };
    match pam_reads_file(sources.root, service, file) {
        Some(true) => Visibility::Yes(format!("PAM reads it (pam_env in /etc/pam.d/{service})")),
        Some(false) => Visibility::No(match file {
            LOCALE => format!("/etc/pam.d/{service} has no pam_env with envfile={file}"),
            OF_USER => format!("/etc/pam.d/{service} has no pam_env with user_readenv=1"),
            _ => format!("/etc/pam.d/{service} has no pam_env"),
        }),
        None => Visibility::Perhaps(format!("/etc/pam.d/{service} cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each as `su` with Linux-PAM 1.5.2 gave it to the session.
    #[test]
    fn as_pam_env_reads_them() {
        let one = |line: &str| find(line, "V", None).pop().and_then(|found| found.value);
        let long = |length| format!("A={}\nV=a\n", "x".repeat(length));
        let cases = [
            ("V=a #b\n", Some("a ")),
            ("export V=a\n", Some("a")),
            ("export  V=a\n", None),
            ("export\tV=a\n", None),
            ("V=\"a'b\"c\"\n", Some("a'b\"c")),
            ("V='a\"\n", Some("a")),
            ("V=a\"b\n", Some("a\"b")),
            ("V=\" a \"  \n", Some(" a \"  ")),
            ("V=$HOME\n", Some("$HOME")),
            ("V=a\\\nb\n", Some("ab")),
            ("V=a\\ \n\n# c\n  b\n", Some("a  b")),
            ("V=a # \\\nb\n", Some("a ")),
            ("A=b\\\n# c\nV=a\n", None),
            ("# c\\\nV=a\n", Some("a")),
            ("V=a\\\n", None),
            ("V=a", Some("a")),
            ("V=a  \n", Some("a  ")),
            (" V=a=b\n", Some("a=b")),
            ("V =a\n", None),
            ("V=a\r\n", Some("a\r")),
            ("V='a'\r\n", Some("a'\r")),
            ("V=\n", Some("")),
            ("V=a\nV\n", None),
            ("#V=a\n", None),
            (&long(LONGEST - 3), Some("a")),
            (&long(LONGEST - 2), None),
        ];
        for (text, expected) in cases {
            assert_eq!(one(text).as_deref(), expected, "{:.40?}", text);
        }
    }

    #[test]
    fn a_line_that_pam_env_would_not_read_is_refused() {
        let edit = Edit { variable: "V", value: Some("UTC"), part: None };
        let long = format!("A=1\nB={}\n", "x".repeat(9000));
        for (text, says) in
            [("A=1\r\n", "end with CR LF"), (&*long, "line 2 is longer than 8190 bytes")]
        {
            let why = put(text, &edit).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }
}
