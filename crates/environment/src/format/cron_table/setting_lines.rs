//! The variable of one job, by a line above it, while the other jobs keep what they get.

use super::{Job, bare, in_command, lines, nothing_to_remove, set, shell, splice, word};
use crate::error::EnvironmentError;
use crate::format::NOTE;

/// The line that gives a job its variable, and which other jobs have it from there.
pub(super) struct SettingLines {
    /// That line, from 0.
    above: Option<usize>,
    /// Whether a line before it sets the variable as well.
    earlier: bool,
    /// Whether jobs between that line and this job have it.
    shared_above: bool,
    /// Whether jobs below this one have it, or would have it from a new line above this one.
    shared_below: bool,
}

impl SettingLines {
    /// Of a table whose lines `set` set the variable.
    pub(super) fn around(job: &Job, jobs: &[Job], set: &[(usize, String)]) -> SettingLines {
        let mut before = set.iter().rev().map(|(at, _)| *at).filter(|at| *at < job.line);
        let above = before.next();
        let end = set.iter().map(|(at, _)| *at).find(|at| *at > job.line).unwrap_or(usize::MAX);
        let between = |from, to| jobs.iter().any(|other| other.line > from && other.line < to);
        SettingLines {
            above,
            earlier: before.next().is_some(),
            shared_above: above.is_some_and(|at| between(at, job.line)),
            shared_below: between(job.line, end),
        }
    }

    pub(super) fn remove(
        &self,
        text: &str,
        variable: &str,
        job: &Job,
    ) -> Result<String, EnvironmentError> {
        let Some(at) = self.above else { return Err(nothing_to_remove()) };
        if self.shared_above || self.earlier || self.shared_below {
            return Err(format!(
                "line {}: other jobs have the variable, too, and no line of a crontab can take it away from one: begin \
                 the command in line {} with `env -u {variable}` by hand",
                at + 1,
                job.line + 1,
            )
            .into());
        }
        Ok(splice(text, at, at + 1, &[]))
    }

    pub(super) fn put(
        &self,
        text: &str,
        variable: &str,
        value: &str,
        job: &Job,
    ) -> Result<String, EnvironmentError> {
        let new = format!("{variable}={}", word(value)?);
        match self.above {
            // Of this job alone.
            Some(at) if !self.shared_above && !self.shared_below => {
                Ok(splice(text, at, at + 1, &[new]))
            }
            Some(at) => {
                let old = bare(lines(text)[at]).to_owned();
                let back = self.shared_below.then_some(old);
                let out = splice(text, job.line + 1, job.line + 1, back.as_slice());
                Ok(splice(&out, job.line, job.line, &[NOTE.into(), new]))
            }
            None if !self.shared_below => Ok(splice(text, job.line, job.line, &[NOTE.into(), new])),
            // The jobs below have no value that a line could put back.
            None => export_in_command(text, variable, value, job),
        }
    }
}

/// `export VARIABLE=VALUE;` in front of the job's command.
fn export_in_command(
    text: &str,
    variable: &str,
    value: &str,
    job: &Job,
) -> Result<String, EnvironmentError> {
    let shell = set(text, "SHELL").into_iter().rfind(|(at, _)| *at < job.line);
    let name = shell.as_ref().map_or("sh", |(_, shell)| shell.rsplit('/').next().unwrap_or("sh"));
    if !shell::NAMES.contains(&name) {
        let number = job.line + 1;
        return Err(
            format!("line {number}: its shell is {name}: set it in the command by hand").into()
        );
    }
    let word = in_command(variable, value)?;
    let own_line = bare(lines(text)[job.line]);
    let line = format!("{}export {word}; {}", &own_line[..job.at], &own_line[job.at..]);
    Ok(splice(text, job.line, job.line + 1, &[line]))
}
