//! The text of a crontab: crontab(5). A variable counts for the jobs below it, and no line takes it away again.

mod job_and_lines;
mod written;

use super::shell_words::{Token, tokens};
use super::{Edit, FoundValue, NOTE, bare, lines, shell, splice};
use crate::error::EnvironmentError;
use job_and_lines::JobAndLines;
use std::ops::Range;
use written::{in_command, line_of};

/// A job of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its line, from 0.
    pub(crate) line: usize,
    /// Its number among the jobs of the table, from 1: lines that set variables do not change it.
    pub(crate) number: usize,
    /// The user who runs it, in the tables that name one.
    pub(crate) user: Option<String>,
    /// Where its command begins in its line.
    at: usize,
    /// The command as cron gives it to the shell: up to the first `%`, and `\%` is `%`.
    pub(crate) command: String,
}

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

/// The jobs of a table; `system`: each names its user, as in /etc/crontab and /etc/cron.d.
pub(crate) fn jobs(text: &str, system: bool) -> Vec<Job> {
    let is_job = |line: &str| {
        let line = bare(line).trim();
        !line.is_empty() && !line.starts_with('#') && entry(line).is_none()
    };
    let all = lines(text).into_iter().enumerate().filter(|(_, line)| is_job(line));
    (1..).zip(all).map(|(number, (line, text))| job(number, line, bare(text), system)).collect()
}

fn job(number: usize, line: usize, text: &str, system: bool) -> Job {
    let blank = |c: char| c == ' ' || c == '\t';
    let behind = |at: usize, what: &dyn Fn(char) -> bool| {
        text[at..].find(|c| !what(c)).map_or(text.len(), |end| at + end)
    };
    let mut at = behind(0, &blank);
    let fields = if text[at..].starts_with('@') { 1 } else { 5 };
    let mut user = None;
    for field in 0..fields + usize::from(system) {
        let end = behind(at, &|c| !blank(c));
        user = (field == fields).then(|| text[at..end].to_owned());
        at = behind(end, &blank);
    }
    Job { line, number, user, at, command: shell_command(&text[at..]) }
}

/// What the shell gets of the rest of a job's line.
fn shell_command(text: &str) -> String {
    let (mut command, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '%' => break,
            '\\' => match chars.next() {
                Some('%') => command.push('%'),
                Some(c) => command.extend(['\\', c]),
                None => command.push('\\'),
            },
            c => command.push(c),
        }
    }
    command.trim().to_owned()
}

impl Job {
    /// Its name as a part of the table.
    pub(crate) fn part(&self) -> String {
        format!("{PART}{}", self.number)
    }
}

const PART: &str = "job ";

/// The job that `part` names.
fn named<'j>(jobs: &'j [Job], part: &str) -> Option<&'j Job> {
    let number = part.strip_prefix(PART).unwrap_or(part).parse();
    number.ok().and_then(|number: usize| jobs.get(number.checked_sub(1)?))
}

/// The lines that set `variable`, from 0, with its values.
fn set(text: &str, variable: &str) -> Vec<(usize, String)> {
    let all = lines(text).into_iter().enumerate();
    let pairs = all.filter_map(|(at, line)| entry(line).map(|(name, value)| (at, name, value)));
    pairs.filter(|(_, name, _)| name == variable).map(|(at, _, value)| (at, value)).collect()
}

/// Where `text` sets `variable`: in all of it, or for the job `part`, whose own command may begin with it.
pub(crate) fn find(
    text: &str,
    variable: &str,
    part: Option<&str>,
    system: bool,
) -> Vec<FoundValue> {
    let all = set(text, variable).into_iter();
    let Some(part) = part else {
        return all.map(|(at, value)| FoundValue::set(at, value)).collect();
    };
    let jobs = jobs(text, system);
    let Some(job) = named(&jobs, part) else { return Vec::new() };
    let above = all.filter(|(at, _)| *at < job.line).map(|(at, value)| FoundValue::set(at, value));
    let own = own(bare(lines(text)[job.line]), job, variable);
    above.chain(own.map(|(_, value)| FoundValue::set(job.line, value))).collect()
}

/// Where the table of anacron sets `variable`: with quotes, if it has them.
pub(crate) fn in_anacrontab(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = lines(text);
    let value =
        |at: usize| bare(all[at]).split_once('=').map_or("", |(_, value)| value.trim_start());
    set(text, variable).into_iter().map(|(at, _)| FoundValue::set(at, value(at))).collect()
}

/// `export VARIABLE=VALUE;` at the beginning of a job's command, or `VARIABLE=VALUE` before a single program: where the
/// word is in the line, and the value.
fn own(line: &str, job: &Job, variable: &str) -> Option<(Range<usize>, String)> {
    let (found, _) = tokens(&line[job.at..]);
    let exports = matches!(found.first(), Some(Token::Word(word)) if word == "export");
    let Token::Word(word) = found.get(usize::from(exports))? else { return None };
    let value = word.strip_prefix(variable)?.strip_prefix('=')?;
    let (value, sure) = shell::value_of(value);
    let next = found.get(usize::from(exports) + 1)?;
    let plain = match next {
        Token::Operator(";") => exports,
        Token::Operator(_) => false,
        Token::Word(_) => !exports && found.iter().all(|one| matches!(one, Token::Word(_))),
    };
    // cron reads `%` before the shell does.
    if !sure || !plain || line[job.at..].contains('%') {
        return None;
    }
    let from = job.at + line[job.at..].find(word.as_str())?;
    Some((from..from + word.len(), value))
}

/// Sets it for every job of the table: above the first, and wherever it was set before. With a part: for that job and
/// for no other.
///
/// # Errors
/// When no quotes can hold the value, or when there is nothing to remove: without a line a job has the variable from
/// PAM, and no line of a crontab can remove it.
pub(crate) fn put(text: &str, edit: &Edit<'_>, system: bool) -> Result<String, EnvironmentError> {
    if text.contains('\r') {
        return Err("its lines end with CR LF: cron gives the CR to the shell with each command: convert the file first".into());
    }
    let jobs = jobs(text, system);
    if let Some(part) = edit.part {
        let job = named(&jobs, part).ok_or_else(|| {
            format!(
                "there is no {part}: the table has {} (--part \"job 1\" is the first)",
                jobs.len()
            )
        })?;
        return put_for(text, edit, job, &jobs);
    }
    let line = edit.value.map(|value| line_of(edit.variable, value)).transpose()?;
    put_for_all(text, edit.variable, line.as_deref(), jobs.first().map(|job| job.line))
}

/// The same with the line that sets it, or without one, in a table whose first job is in the line `first`, from 0.
///
/// # Errors
/// When there is nothing to remove.
pub(crate) fn put_for_all(
    text: &str,
    variable: &str,
    line: Option<&str>,
    first: Option<usize>,
) -> Result<String, EnvironmentError> {
    let set = set(text, variable);
    let Some(line) = line.map(str::to_owned) else {
        if set.is_empty() {
            return Err(nothing_to_remove());
        }
        let all = set.iter().rev();
        return Ok(all.fold(text.to_owned(), |out, (at, _)| splice(&out, *at, at + 1, &[])));
    };
    let mut out = text.to_owned();
    for (at, _) in &set {
        out = splice(&out, *at, at + 1, std::slice::from_ref(&line));
    }
    let first_job = first.unwrap_or(lines(&out).len());
    if set.first().is_none_or(|(at, _)| *at > first_job) {
        out = splice(&out, first_job, first_job, &[NOTE.into(), line]);
    }
    Ok(out)
}

/// For one job. What the other jobs get stays as it is.
fn put_for(
    text: &str,
    edit: &Edit<'_>,
    job: &Job,
    jobs: &[Job],
) -> Result<String, EnvironmentError> {
    let own_line = bare(lines(text)[job.line]);
    let number = job.line + 1;
    if job.command.is_empty() {
        return Err(format!("line {number} has no command: cron would not run it").into());
    }
    if let Some((range, _)) = own(own_line, job, edit.variable) {
        let Some(value) = edit.value else {
            return Err(format!(
                "line {number}: the job's own command sets it: remove it there by hand"
            )
            .into());
        };
        let word = in_command(edit.variable, value)?;
        let line = format!("{}{word}{}", &own_line[..range.start], &own_line[range.end..]);
        return Ok(splice(text, job.line, job.line + 1, &[line]));
    }
    if super::names(&job.command, edit.variable) {
        return Err(format!(
            "line {number}: the job's own command has {} in it, which is stronger: change it there by hand",
            edit.variable
        )
        .into());
    }
    let job = JobAndLines::of(text, edit.variable, job, jobs);
    edit.value.map_or_else(|| job.remove(), |value| job.put(value))
}

fn nothing_to_remove() -> EnvironmentError {
    "no line of a crontab can remove a variable: remove it where PAM reads it (/etc/environment)"
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_for(text: &str, part: Option<&str>, value: &str) -> String {
        put(text, &Edit { variable: "TZ", value: Some(value), part }, false).unwrap()
    }

    /// What each job gets.
    fn given(text: &str) -> Vec<Option<String>> {
        let all = jobs(text, false);
        let last = |job: &Job| find(text, "TZ", Some(&job.part()), false).pop();
        all.iter().map(|job| last(job).and_then(|found| found.value)).collect()
    }

    #[test]
    fn above_the_first_job_and_for_all() {
        let text = "# jobs\nSHELL=/bin/sh\n\n* * * * * a=1 b\n TZ = \"x\"\n5 0 * * * c\n";
        assert_eq!(find(text, "TZ", None, false), [FoundValue::set(4, "x")]);
        assert_eq!(given(text), [None, Some("x".to_owned())]);
        let new = set_for(text, None, "UTC");
        let all: Vec<&str> = new.lines().collect();
        assert_eq!(all[4..6], ["TZ=UTC", "* * * * * a=1 b"]);
        assert_eq!(all[6], "TZ=UTC");
    }

    #[test]
    fn anacron_takes_quotes_for_a_part_of_the_value() {
        let text = "SHELL=/bin/sh\nTZ=\"UTC\"\n# period delay name command\n1\t5\tdaily\trun a=b\n";
        let place = &crate::place_list::ANACRONTAB;
        assert_eq!(place.find(text, "TZ", None), [FoundValue::set(1, "\"UTC\"")]);
        let edit = |value| Edit { variable: "TZ", value, part: None };
        assert_eq!(place.change(text, &edit(Some("UTC"))).unwrap(), text.replace("\"UTC\"", "UTC"));
        let bare = text.replace("TZ=\"UTC\"\n", "");
        assert_eq!(place.change(text, &edit(None)).unwrap(), bare);
        let ours = format!("{NOTE}\nTZ=a \"b\"\n1\t5");
        assert_eq!(
            place.change(&bare, &edit(Some("a \"b\""))).unwrap(),
            bare.replace("1\t5", &ours)
        );
    }

    #[test]
    fn a_job_as_cron_reads_it() {
        let text = "@daily bob  x \\% y % in\n  1-5 * * * 1 root\tcd /a && b\n";
        let all = jobs(text, true);
        let read: Vec<_> =
            all.iter().map(|job| (job.user.as_deref().unwrap(), job.command.as_str())).collect();
        assert_eq!(read, [("bob", "x % y"), ("root", "cd /a && b")]);
        assert_eq!(jobs("* * * * * x y\n", false)[0].command, "x y");
        assert_eq!(jobs("@reboot\n* * *\n", true).len(), 2);
    }

    /// Whatever the table: the job gets the value, and no other job gets another one.
    #[test]
    fn a_change_for_one_job_changes_no_other() {
        let lines = [
            "TZ=Asia/Tokyo",
            "* * * * * a",
            "* * * * * export TZ=Etc/A; b",
            "TZ='Europe/Rome'",
            "# c",
        ];
        let mut refused = 0;
        for table in 0..5_usize.pow(4) {
            let pick = |n: u32| lines[table / 5_usize.pow(n) % 5];
            let text = (0..4).map(pick).collect::<Vec<_>>().join("\n") + "\n";
            let before = given(&text);
            for (at, job) in jobs(&text, false).iter().enumerate() {
                let part = job.part();
                let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some(&part) };
                let mut expected = before.clone();
                expected[at] = Some("UTC".into());
                let new = put(&text, &edit, false).unwrap();
                assert_eq!(given(&new), expected, "{text} {part} {new}");
                assert_eq!(put(&new, &edit, false).unwrap(), new, "{text} {part}");
                let edit = Edit { value: None, ..edit };
                match put(&text, &edit, false) {
                    Ok(new) => {
                        expected[at] = None;
                        assert_eq!(given(&new), expected, "{text} {part} {new}");
                    }
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 20);
    }

    #[test]
    fn two_zones_and_a_job_of_each() {
        let text = "TZ=Asia/Tokyo\n* * * * * a\nTZ=Europe/Rome\n* * * * * b\n* * * * * c\n";
        let a = set_for(text, Some("job 1"), "UTC");
        assert_eq!(a, text.replace("Asia/Tokyo", "UTC"));
        let b = set_for(text, Some("job 2"), "UTC");
        let put = format!("{NOTE}\nTZ=UTC\n* * * * * b\nTZ=Europe/Rome\n");
        assert_eq!(b, text.replace("* * * * * b\n", &put));
        let none = "* * * * * a\n* * * * * cd /x && b\n* * * * * last\n";
        let own = "* * * * * export TZ=UTC; cd /x && b\n";
        assert_eq!(
            set_for(none, Some("job 2"), "UTC"),
            none.replace("* * * * * cd /x && b\n", own)
        );
        assert_eq!(
            set_for(none, Some("job 3"), "UTC"),
            none.replace("* * * * * last", &format!("{NOTE}\nTZ=UTC\n* * * * * last"))
        );
    }

    #[test]
    fn what_a_command_does_itself_is_for_a_person() {
        for command in ["env -u TZ a", "unset TZ; a", "a && TZ=UTC b", "TZ=$X a", "TZ=a\\% b"] {
            let text = format!("* * * * * {command}\n");
            let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some("job 1") };
            let why = put(&text, &edit, false).unwrap_err().to_string();
            assert!(why.starts_with("line 1: the job's own command has TZ in it"), "{why}");
        }
        let text = "SHELL=/bin/csh\n* * * * * a $TZ\n* * * * * b\n";
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some("job 1") };
        assert!(put(text, &edit, false).unwrap_err().to_string().contains("its shell is csh"));
    }
}
