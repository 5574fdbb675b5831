//! Crontabs: crontab(5). A variable counts for the jobs below it.

use super::{Edit, Found, NOTE, bare, check, lines, splice};

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

/// Where `text` sets `variable`; cron cannot remove one. `part`: the line of a job, from 0, above
/// which to look.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<Found> {
    let before = part.and_then(|line| line.parse().ok()).unwrap_or(usize::MAX);
    let all = lines(text).into_iter().enumerate().take(before);
    all.filter_map(|(at, line)| entry(line).map(|(name, value)| (at, name, value)))
        .filter(|(_, name, _)| name == variable)
        .map(|(at, _, value)| Found::set(at, value))
        .collect()
}

/// Sets it for every job of the table: above the first, and wherever it was set before.
///
/// # Errors
/// Where no quotes can hold the value, or where there is nothing to remove: without a line a job
/// has the variable from PAM, and no line of a crontab can take it away.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    let set = find(text, edit.variable, None);
    let at = |found: &Found| found.line as usize - 1;
    let Some(value) = edit.value else {
        if set.is_empty() {
            return Err("no line of a crontab can take a variable away: remove it where PAM \
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

fn word(value: &str) -> Result<String, String> {
    let plain = !value.is_empty() && value.trim() == value && !value.contains(['"', '\'']);
    match (plain, value.contains('"'), value.contains('\'')) {
        (true, ..) => Ok(value.to_owned()),
        (_, false, _) => Ok(format!("\"{value}\"")),
        (.., false) => Ok(format!("'{value}'")),
        _ => Err("a crontab cannot hold a value with both kinds of quotes".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_first_job_and_for_all() {
        let text = "# jobs\nSHELL=/bin/sh\n\n* * * * * a=1 b\n TZ = \"x\"\n5 0 * * * c\n";
        assert_eq!(find(text, "TZ", None), [Found::set(4, "x")]);
        assert_eq!(find(text, "TZ", Some("3")), []);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        let new = put(text, &edit).unwrap();
        let all: Vec<&str> = new.lines().collect();
        assert_eq!(all[4..6], ["TZ=UTC", "* * * * * a=1 b"]);
        assert_eq!(all[6], "TZ=UTC");
        assert_eq!(jobs(text).len(), 2);
    }
}
