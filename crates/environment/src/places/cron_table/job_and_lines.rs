//! The variable of one job, by a line above it, while the other jobs keep what they get.

use super::{Job, bare, in_command, line_of, lines, nothing_to_remove, set, shell, splice};
use crate::error::EnvironmentError;
use crate::places::NOTE;

/// A job, the line that gives it the variable, and which other jobs have it from there.
pub(super) struct JobAndLines<'a> {
    text: &'a str,
    variable: &'a str,
    job: &'a Job,
    /// That line, from 0.
    above: Option<usize>,
    /// Whether a line before it sets the variable as well.
    earlier: bool,
    /// Whether jobs between that line and this job have it.
    shared_above: bool,
    /// Whether jobs below this one have it, or would have it from a new line above this one.
    shared_below: bool,
}

impl<'a> JobAndLines<'a> {
    /// `jobs`: all of the table.
    pub(super) fn of(text: &'a str, variable: &'a str, job: &'a Job, jobs: &[Job]) -> Self {
        let set = set(text, variable);
        let mut before = set.iter().rev().map(|(at, _)| *at).filter(|at| *at < job.line);
        let above = before.next();
        let earlier = before.next().is_some();
        let end = set.iter().map(|(at, _)| *at).find(|at| *at > job.line).unwrap_or(usize::MAX);
        let between = |from, to| jobs.iter().any(|other| other.line > from && other.line < to);
        let shared_above = above.is_some_and(|at| between(at, job.line));
        let shared_below = between(job.line, end);
        JobAndLines { text, variable, job, above, earlier, shared_above, shared_below }
    }

    pub(super) fn remove(&self) -> Result<String, EnvironmentError> {
        let Some(at) = self.above else { return Err(nothing_to_remove()) };
        if self.shared_above || self.earlier || self.shared_below {
            return Err(format!(
                "line {}: other jobs have the variable, too, and no line of a crontab can take it away from one: begin \
                 the command in line {} with `env -u {}` by hand",
                at + 1,
                self.job.line + 1,
                self.variable
            )
            .into());
        }
        Ok(splice(self.text, at, at + 1, &[]))
    }

    pub(super) fn put(&self, value: &str) -> Result<String, EnvironmentError> {
        let (text, at) = (self.text, self.job.line);
        let new = line_of(self.variable, value)?;
        match self.above {
            // Of this job alone.
            Some(above) if !self.shared_above && !self.shared_below => {
                Ok(splice(text, above, above + 1, &[new]))
            }
            Some(above) => {
                let back = self.shared_below.then(|| bare(lines(text)[above]).to_owned());
                let out = splice(text, at + 1, at + 1, back.as_slice());
                Ok(splice(&out, at, at, &[NOTE.into(), new]))
            }
            None if !self.shared_below => Ok(splice(text, at, at, &[NOTE.into(), new])),
            // The jobs below have no value that a line could put back.
            None => self.export_in_command(value),
        }
    }

    /// `export VARIABLE=VALUE;` in front of the job's command.
    fn export_in_command(&self, value: &str) -> Result<String, EnvironmentError> {
        let at = self.job.line;
        let shell = set(self.text, "SHELL").into_iter().rfind(|(line, _)| *line < at);
        let name = shell.as_ref().map_or("sh", |(_, path)| path.rsplit('/').next().unwrap_or("sh"));
        if !shell::NAMES.contains(&name) {
            let why = format!("its shell is {name}: set it in the command by hand");
            return Err(format!("line {}: {why}", at + 1).into());
        }
        let word = in_command(self.variable, value)?;
        let (before, command) = bare(lines(self.text)[at]).split_at(self.job.at);
        Ok(splice(self.text, at, at + 1, &[format!("{before}export {word}; {command}")]))
    }
}
