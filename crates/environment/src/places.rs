//! The formats of files that set variables: one file for each.
//!
//! A format has a pair of functions on text. `find` returns where a variable is set and to what, as the file's real
//! reader would take it; `put` returns the text with a change made, and refuses what the format cannot express. Both
//! leave the rest of the text as it is, byte for byte. How files of the format are found, checked and reloaded is in
//! its static `Place`: in the same file, or in one of the files that share the functions (shell, systemd).

pub(crate) mod apache;
pub(crate) mod ci;
pub(crate) mod compose;
pub(crate) mod cron;
mod cron_job;
mod cron_table;
pub(crate) mod dockerfile;
pub(crate) mod env_file;
pub(crate) mod envdir;
pub(crate) mod environment_d;
pub(crate) mod environment_file;
pub(crate) mod execline;
pub(crate) mod helm;
pub(crate) mod init_script;
pub(crate) mod kubernetes;
pub(crate) mod locale_conf;
pub(crate) mod login_shell;
pub(crate) mod pam_env;
pub(crate) mod pam_env_conf;
pub(crate) mod php_fpm;
pub(crate) mod postgresql;
pub(crate) mod quadlet;
pub(crate) mod shared_file;
pub(crate) mod shell;
mod shell_lines;
pub(crate) mod shell_stock;
mod shell_words;
pub(crate) mod ssh_user;
pub(crate) mod sshd;
pub(crate) mod sudoers;
pub(crate) mod supervisord;
pub(crate) mod systemd;
pub(crate) mod systemd_unit;
pub(crate) mod unit_command;
pub(crate) mod user_shell;
pub(crate) mod wrapper;
pub(crate) mod yaml;
mod yaml_result;

use crate::error::EnvironmentError;
use needless_model::{Visibility, quote};

/// A variable as it is set in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundValue {
    /// Its line, from 1.
    pub line: u32,
    /// Its value; `None` where the text removes it.
    pub value: Option<String>,
    /// Whether the value is certain. A shell may compute it, or set it under a condition.
    pub certain: bool,
    /// Whether the file's reader comes to that line.
    pub reach: Reach,
}

/// Whether the reader of a file comes to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Always.
    Yes,
    /// Not if an earlier line ends the file, or changes what this one does.
    Perhaps {
        /// That line, from 1.
        line: u32,
    },
    /// It is in a command that may not run it: `if`, a function.
    Inside {
        /// Where that command begins, from 1.
        line: u32,
    },
}

impl Reach {
    /// Why it is not certain that the line is reached; `None` where it is.
    pub fn doubt(self) -> Option<String> {
        match self {
            Reach::Yes => None,
            Reach::Perhaps { line } => Some(format!("line {line} may end the file before it")),
            Reach::Inside { line } => {
                Some(format!("the command that begins in line {line} may not run it"))
            }
        }
    }

    /// Whether a process gets what the line sets, where `file` says whether the file reaches it.
    pub(crate) fn of_line(self, file: Visibility) -> Visibility {
        let Some(doubt) = self.doubt() else { return file };
        match file {
            no @ Visibility::No(_) => no,
            Visibility::Yes(_) => Visibility::Perhaps(format!("if it is reached: {doubt}")),
            Visibility::Perhaps(why) => {
                Visibility::Perhaps(format!("{why}, and if it is reached: {doubt}"))
            }
        }
    }
}

impl FoundValue {
    pub(crate) fn set(line: usize, value: impl Into<String>) -> FoundValue {
        FoundValue {
            line: number(line),
            value: Some(value.into()),
            certain: true,
            reach: Reach::Yes,
        }
    }

    pub(crate) fn removed(line: usize) -> FoundValue {
        FoundValue { line: number(line), value: None, certain: true, reach: Reach::Yes }
    }

    /// Whether this is what the file's reader will use, if no later line changes it.
    pub(crate) fn is_sure(&self) -> bool {
        self.certain && self.reach == Reach::Yes
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
    /// The part of the text to change, where the format has parts: a program of supervisord, a pool of php-fpm, a
    /// service of compose, a container of Kubernetes.
    pub part: Option<&'a str>,
}

/// The lines of a text, each with its line end.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A line without its line end.
pub(crate) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// `text` with the lines `from..to` replaced. New lines end as the others do.
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

/// Whether a text has the variable's name in it, other than to read it: `$TZ`, `${TZ…}`.
pub(crate) fn names(text: &str, variable: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(variable).any(|(at, found)| {
        let (before, behind) = (&text[..at], &text[at + found.len()..]);
        let reads = before.ends_with('$') || before.ends_with("${");
        !before.ends_with(name) && !behind.starts_with(name) && !reads
    })
}

/// Refuses what cannot be a variable's name in any format.
///
/// # Errors
/// When `name` is not letters, digits and underscores without a digit in front (POSIX, Base Definitions 8.1).
pub(crate) fn check_name(name: &str) -> Result<(), EnvironmentError> {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(known)
    {
        return Err(format!("{} is not a valid variable name", quote(name)).into());
    }
    Ok(())
}

/// Refuses a value that no line of text can hold.
pub(crate) fn check_value(value: &str) -> Result<(), EnvironmentError> {
    if value.chars().any(|c| c.is_control()) {
        Err("the value holds control characters: set it by hand".into())
    } else {
        Ok(())
    }
}

/// Whether readers with different quotes, comments and expansions all read the value as it is written.
pub(crate) fn is_plain(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphanumeric() || "_.,:/+@=-".contains(c))
}

/// Refuses what no format can hold: the first step of every change.
pub(crate) fn check(variable: &str, value: Option<&str>) -> Result<(), EnvironmentError> {
    check_name(variable)?;
    value.map_or(Ok(()), check_value)
}

/// For formats with one variable per line, of which the last counts: `found` are its lines, `line` is the new one.
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

/// The comment above a line that we add to another program's file.
pub(crate) const NOTE: &str = "# Set by `needless fix`.";
