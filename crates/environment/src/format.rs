//! How files write down variables: one file per format, each reading and writing text.
//!
//! A format is a pair of functions on text. `find` says where a variable is set and to what, as the
//! file's real reader would take it; `put` gives the text in which the change is made, and refuses
//! what the format cannot say. Both leave everything else of the text as it is, byte for byte.

pub(crate) mod compose;
pub(crate) mod cron;
pub(crate) mod dockerfile;
pub(crate) mod envdir;
pub(crate) mod environment_d;
pub(crate) mod environment_file;
pub(crate) mod kubernetes;
pub(crate) mod pam_env;
pub(crate) mod php_fpm;
pub(crate) mod postgresql;
pub(crate) mod shell;
pub(crate) mod sshd;
pub(crate) mod sudoers;
pub(crate) mod supervisord;
pub(crate) mod systemd;
pub(crate) mod wrapper;
mod yaml;

/// A variable as a text has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its line, from 1.
    pub line: u32,
    /// Its value; `None` where the text removes it.
    pub value: Option<String>,
    /// Whether the value is certain. A shell may compute it, or set it under a condition.
    pub certain: bool,
}

impl Found {
    pub(crate) fn set(line: usize, value: impl Into<String>) -> Found {
        Found { line: number(line), value: Some(value.into()), certain: true }
    }

    pub(crate) fn removed(line: usize) -> Found {
        Found { line: number(line), value: None, certain: true }
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}

/// What to change in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit<'a> {
    /// The variable.
    pub variable: &'a str,
    /// Its new value; `None` removes it.
    pub value: Option<&'a str>,
    /// The part of the text it is about, where the format has parts: a program of supervisord, a
    /// pool of php-fpm, a service of compose, a container of Kubernetes.
    pub part: Option<&'a str>,
}

/// The lines of a text, each with its end.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A line without its end.
pub(crate) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// `text` with the lines `from..to` replaced. New lines end as those around do.
pub(crate) fn splice(text: &str, from: usize, to: usize, new: &[String]) -> String {
    let old = lines(text);
    let crlf = old.first().is_some_and(|line| line.ends_with("\r\n"));
    let ending = if crlf { "\r\n" } else { "\n" };
    let mut out = String::with_capacity(text.len() + 64);
    for line in &old[..from] {
        out.push_str(line);
    }
    if !new.is_empty() && !out.is_empty() && !out.ends_with('\n') {
        out.push_str(ending);
    }
    for line in new {
        out.push_str(line);
        out.push_str(ending);
    }
    for line in &old[to..] {
        out.push_str(line);
    }
    out
}

/// What cannot be a variable's name in any of the formats.
///
/// # Errors
/// A sentence, where `name` is not letters, digits and underscores without a digit in front (POSIX,
/// Base Definitions 8.1).
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(known)
    {
        return Err(format!("{name:?} is no name of a variable"));
    }
    Ok(())
}

/// Refuses what no line of text can hold.
pub(crate) fn check_value(value: &str) -> Result<(), String> {
    match value.chars().any(|c| c.is_control()) {
        true => Err("the value holds control characters: set it by hand".into()),
        false => Ok(()),
    }
}

/// The first steps of every `put`.
pub(crate) fn check(edit: &Edit<'_>) -> Result<(), String> {
    check_name(edit.variable)?;
    edit.value.map_or(Ok(()), check_value)
}

/// For formats of one variable a line, of which the last counts: `found` are its lines, `line`
/// writes one.
pub(crate) fn put_line(
    text: &str,
    edit: &Edit<'_>,
    found: &[(usize, usize)],
    line: Option<String>,
) -> String {
    let mut out = text.to_owned();
    match (line, found) {
        (Some(line), [.., (from, to)]) => out = splice(&out, *from, *to, &[line]),
        (Some(line), []) => {
            let all = lines(text).len();
            out = splice(&out, all, all, &[NOTE.to_owned(), line]);
        }
        (None, found) => {
            for (from, to) in found.iter().rev() {
                out = splice(&out, *from, *to, &[]);
            }
        }
    }
    debug_assert!(edit.value.is_none() || !out.is_empty());
    out
}

/// The comment above a line that we add to a file of others.
pub(crate) const NOTE: &str = "# Set by needless; `needless undo` takes it back.";
