//! /etc/environment and /etc/default/locale, as pam_env(8) reads them.
//!
//! pam_env, environment.d and scripts that source the file each read it with another grammar: only values that all of
//! them read alike are written.

use super::pam_env_conf::{self, PAM_ENV_CONF};
use super::{Edit, FoundValue, bare, is_plain, lines, put_line};
use crate::error::EnvironmentError;
use crate::pam::{ENVIRONMENT, LOCALE, OF_USER, pam_location, pam_reads_file};
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::sources::{Sources, home};
use crate::sshd_config::SshdConfig;
use crate::started_by::StartedBy;
use needless_model::{Confidence, Visibility};

/// /etc/environment.
pub static PAM_ENV: Place = Place {
    name: "pam_env",
    files: ENVIRONMENT,
    reaches: "what PAM opens a session for: login, ssh, su, cron; not at, not sudo (Debian), not systemd's units",
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

/// Reads `[export ]NAME=VALUE`: `#` begins a comment anywhere, one pair of quotes around the value is removed,
/// nothing is expanded, `\` at a line end joins lines.
fn entries(text: &str) -> Vec<(String, String, usize, usize)> {
    let mut entries = Vec::new();
    let all = lines(text);
    let mut at = 0;
    while at < all.len() {
        let from = at;
        let mut line = bare(all[at]).to_owned();
        at += 1;
        while line.ends_with('\\') && at < all.len() {
            line.pop();
            line.push_str(bare(all[at]));
            at += 1;
        }
        let cut = line.split('#').next().unwrap_or_default();
        let word = cut.trim_start();
        let word = word.strip_prefix("export ").map_or(word, str::trim_start);
        let Some((name, value)) = word.split_once('=') else { continue };
        if super::check_name(name).is_err() {
            continue;
        }
        entries.push((name.to_owned(), unquoted(value).to_owned(), from, at));
    }
    entries
}

/// Without one pair of quotes around it; a quote at one end only is removed too.
fn unquoted(value: &str) -> &str {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &value[1..];
            inner.strip_suffix(quote).unwrap_or(inner)
        }
        _ => value,
    }
}

/// Where `text` sets `variable`; the last counts. An empty value removes it.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = entries(text).into_iter().filter(|(name, ..)| name == variable);
    all.map(
        |(_, value, from, _)| {
            if value.is_empty() { FoundValue::removed(from) } else { FoundValue::set(from, value) }
        },
    )
    .collect()
}

/// # Errors
/// When the three readers of such a file would not all read the value alike.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if edit.value.is_some_and(|value| value.is_empty() || !is_plain(value)) {
        return Err("pam_env, systemd and shells read such a value differently there: set it by \
                    hand, or elsewhere"
            .into());
    }
    let all = entries(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.0 == edit.variable).map(|(.., from, to)| (*from, *to)).collect();
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

    #[test]
    fn as_pam_env_reads_them() {
        let one = |line: &str| find(line, "V", None).pop().and_then(|found| found.value);
        let cases = [
            ("V=a #b\n", Some("a ")),
            ("export V=a\n", Some("a")),
            ("V=\"a'b\"\n", Some("a'b")),
            ("V='a'\n", Some("a")),
            ("V=$HOME\n", Some("$HOME")),
            ("V=a\\\nb\n", Some("ab")),
            ("V=a  \n", Some("a  ")),
            ("V=\n", None),
            ("#V=a\n", None),
        ];
        for (text, expected) in cases {
            assert_eq!(one(text).as_deref(), expected, "{text:?}");
        }
    }
}
