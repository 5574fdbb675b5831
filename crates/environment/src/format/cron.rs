//! Crontabs: crontab(5). A variable counts for the jobs below it.

use super::{Edit, FoundValue, NOTE, bare, lines, splice};
use crate::channel::{Channel, Launcher};
use crate::config_format::{ConfigFormat, ConfigLocation, DEFAULT, LocationQuery};
use crate::error::EnvironmentError;
use crate::sources::Sources;
use needless_host::Root;
use needless_model::{Confidence, Visibility};

/// A crontab.
pub static CRONTAB: ConfigFormat = ConfigFormat {
    name: "crontab",
    files: "/etc/crontab, /etc/cron.d/NAME, /var/spool/cron/crontabs/USER",
    reaches: "the jobs below the line; nothing of cron's own unit reaches them",
    effect: "the next job, within a minute",
    check: &["crontab", "-n"],
    find,
    put,
    is_file: |path, _| {
        path.is("/etc/crontab") || path.below("/cron.d/") || path.below("/spool/cron/")
    },
    scan,
    locate: |query| match query.channel {
        Channel::Cron => vec![crontab_location(query)],
        _ => Vec::new(),
    },
    order_matters: true,
    ..DEFAULT
};

/// A variable's line: `NAME = VALUE` with blanks and quotes around either.
fn entry(line: &str) -> Option<(String, String)> {
    let line = bare(line).trim_start();
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    let name = unquoted(name.trim());
    super::check_name(name).ok()?;
    Some((name.to_owned(), unquoted(value.trim()).to_owned()))
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

fn is_job(line: &str) -> bool {
    let line = bare(line).trim();
    !line.is_empty() && !line.starts_with('#') && entry(line).is_none()
}

/// The lines of the jobs of a crontab, from 0, each with its text.
pub(crate) fn jobs(text: &str) -> Vec<(usize, String)> {
    let all = lines(text).into_iter().enumerate().filter(|(_, line)| is_job(line));
    all.map(|(at, line)| (at, bare(line).trim().to_owned())).collect()
}

/// Where `text` sets `variable`; cron cannot remove one. `part`: the line of a job, from 0; only lines above it
/// count.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let before = part.and_then(|line| line.parse().ok()).unwrap_or(usize::MAX);
    let all = lines(text).into_iter().enumerate().take(before);
    all.filter_map(|(at, line)| entry(line).map(|(name, value)| (at, name, value)))
        .filter(|(_, name, _)| name == variable)
        .map(|(at, _, value)| FoundValue::set(at, value))
        .collect()
}

/// Sets it for every job of the table: above the first, and wherever it was set before.
///
/// # Errors
/// When no quotes can hold the value, or when there is nothing to remove: without a line a job has the variable from
/// PAM, and no line of a crontab can remove it.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let set = find(text, edit.variable, None);
    let at = |found: &FoundValue| found.line as usize - 1;
    let Some(value) = edit.value else {
        if set.is_empty() {
            return Err("no line of a crontab can remove a variable: remove it where PAM \
                        reads it (/etc/environment)"
                .into());
        }
        let all = set.iter().rev().map(at);
        return Ok(all.fold(text.to_owned(), |out, at| splice(&out, at, at + 1, &[])));
    };
    let line = format!("{}={}", edit.variable, word(value)?);
    let mut out = text.to_owned();
    for found in &set {
        out = splice(&out, at(found), at(found) + 1, std::slice::from_ref(&line));
    }
    let all = lines(&out);
    let first_job = all.iter().position(|line| is_job(line)).unwrap_or(all.len());
    if set.first().is_none_or(|found| at(found) > first_job) {
        out = splice(&out, first_job, first_job, &[NOTE.into(), line]);
    }
    Ok(out)
}

fn word(value: &str) -> Result<String, EnvironmentError> {
    let plain = !value.is_empty() && value.trim() == value && !value.contains(['"', '\'']);
    match (plain, value.contains('"'), value.contains('\'')) {
        (true, ..) => Ok(value.to_owned()),
        (_, false, _) => Ok(format!("\"{value}\"")),
        (.., false) => Ok(format!("'{value}'")),
        _ => Err("a crontab cannot hold a value with both kinds of quotes".into()),
    }
}

fn scan(sources: &mut Sources<'_>) {
    let mut tables: Vec<String> = vec!["/etc/crontab".into()];
    for dir in ["/etc/cron.d", "/var/spool/cron/crontabs", "/var/spool/cron"] {
        tables.extend(sources.in_dir(dir, ""));
    }
    for table in tables {
        let reaches = match sources.channel {
            Channel::Cron => Visibility::Perhaps("if the job stands below it in that table".into()),
            _ => Visibility::No("only cron reads it, for the jobs of that table".into()),
        };
        sources.file(&table, find, None, reaches);
    }
}

fn crontab_location(query: &LocationQuery<'_>) -> ConfigLocation {
    // cron's child is a shell, `/bin/sh -c COMMAND`, unless the shell has become the command: then the command's own
    // words are compared, and for a script the words without the interpreter.
    let below =
        query.chain.iter().rev().take_while(|info| Launcher::of(info) != Some(Launcher::Cron));
    let commands = below.flat_map(|info| match &info.argv[..] {
        [_, flag, command] if flag == "-c" => vec![command.clone()],
        [_] => vec![info.argv.join(" ")],
        [_, rest @ ..] => vec![info.argv.join(" "), rest.join(" ")],
        [] => Vec::new(),
    });
    let mut tables = commands.filter_map(|command| crontab_of(query.root, &command));
    match tables.next() {
        Some((file, _)) => {
            let why = "cron gives a job what its table says, and nothing of cron's own unit";
            ConfigLocation::new(&CRONTAB, file, why, Confidence::High)
                .caveat("It reaches every job of that table.")
        }
        None => ConfigLocation::new(
            &CRONTAB,
            None,
            "cron started it, but the table of its job was not found: needless fix --in TABLE",
            Confidence::Medium,
        ),
    }
}

/// The crontab that holds the job `command` (the words after `-c` of cron's shell), and the job's
/// line, from 0; `None` if several tables hold it.
fn crontab_of(root: &Root, command: &str) -> Option<(String, usize)> {
    let mut found = Vec::new();
    for dir in ["/etc/cron.d", "/var/spool/cron/crontabs", "/var/spool/cron"] {
        let all = root.list(dir).unwrap_or_default();
        found.extend(all.into_iter().map(|(name, _)| format!("{dir}/{name}")));
    }
    found.push("/etc/crontab".into());
    let mut fits = Vec::new();
    for file in found {
        let Ok(text) = root.read(&file) else { continue };
        let text = String::from_utf8_lossy(&text);
        for (at, job) in jobs(&text) {
            // Whole words only: `run a` is not the job `rerun a`.
            let before = job.strip_suffix(command.trim()).filter(|_| command.trim().len() > 1);
            if before.is_some_and(|before| before.ends_with([' ', '\t'])) {
                fits.push((file.clone(), at));
            }
        }
    }
    match &fits[..] {
        [one] => Some(one.clone()),
        [first, rest @ ..] if rest.iter().all(|(file, _)| *file == first.0) => Some(first.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_first_job_and_for_all() {
        let text = "# jobs\nSHELL=/bin/sh\n\n* * * * * a=1 b\n TZ = \"x\"\n5 0 * * * c\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::set(4, "x")]);
        assert_eq!(find(text, "TZ", Some("3")), []);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        let new = put(text, &edit).unwrap();
        let all: Vec<&str> = new.lines().collect();
        assert_eq!(all[4..6], ["TZ=UTC", "* * * * * a=1 b"]);
        assert_eq!(all[6], "TZ=UTC");
        assert_eq!(jobs(text).len(), 2);
    }
}
