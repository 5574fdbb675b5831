//! Which job of which table a process belongs to: by the command that cron gave the shell.

use super::FoundValue;
use super::cron_table::{self, Job, jobs};
use super::shell::{self, ShellCommand};
use crate::crontab::{tables, text, user_of};
use crate::sources::user_name;
use crate::start_path::StartPath;
use crate::started_by::Launcher;
use needless_host::{ProcInfo, Root};

/// A job with its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundJob {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) job: Job,
}

/// Programs that become the program behind their own words.
const BECOME: [&str; 8] = ["env", "nice", "ionice", "nohup", "setsid", "chrt", "taskset", "stdbuf"];

impl FoundJob {
    fn is_system(&self) -> bool {
        user_of(&self.file).is_none()
    }

    /// What the table sets the variable to for this job: above it, or at the beginning of its command.
    pub(crate) fn value(&self, variable: &str) -> Option<FoundValue> {
        let part = self.job.part();
        cron_table::find(&self.text, variable, Some(&part), self.is_system()).pop()
    }

    /// The same, if it is at the beginning of the command.
    pub(crate) fn own_value(&self, variable: &str) -> Option<FoundValue> {
        let line = self.job.line as u32 + 1;
        self.value(variable).filter(|value| value.line == line)
    }

    /// What the command itself does to the variable.
    pub(crate) fn way<'a>(&self, root: &'a Root, variable: &'a str) -> StartPath<'a> {
        let given = self.value(variable).is_some();
        let line = self.job.line as u32 + 1;
        let mut way =
            StartPath::of_text(root, variable, given, &self.job.command, (&self.file, line));
        if let (Some(own), [step]) = (self.own_value(variable), &mut way.steps[..]) {
            step.sure = step.value == own.value;
        }
        way
    }
}

/// The job of the last process of `chain`.
///
/// # Errors
/// Why it is not certain, and what to do.
pub(crate) fn job_of(root: &Root, chain: &[ProcInfo]) -> Result<FoundJob, String> {
    let below = chain.iter().rposition(|info| Launcher::of(info) == Some(Launcher::Cron));
    // What cron's child is or has become: a shell with the job's command, or the command.
    let first = below.and_then(|at| chain.get(at + 1)).ok_or("cron itself is no job")?;
    let user = user_name(root, first.uid);
    let mut fits = Vec::new();
    let mut files = vec!["/etc/crontab".to_owned()];
    let system = root.list("/etc/cron.d").unwrap_or_default();
    files.extend(system.into_iter().map(|(name, _)| format!("/etc/cron.d/{name}")));
    files.extend(tables(root));
    for file in files {
        let Ok(text) = text(root, &file) else { continue };
        let owner = user_of(&file);
        for job in jobs(&text, owner.is_none()) {
            let runs = owner.or(job.user.as_deref());
            if (user.is_none() || runs == user.as_deref()) && started(&job.command, &first.argv) {
                fits.push(FoundJob { file: file.clone(), text: text.clone(), job });
            }
        }
    }
    let at = |found: &FoundJob| {
        format!("needless fix --in {} --part \"{}\"", found.file, found.job.part())
    };
    match &mut fits[..] {
        [_] => Ok(fits.remove(0)),
        [] => Err("cron started it, but the line of its job was not found in a table: name the table and the job \
                   (needless fix --in TABLE --part \"job N\")"
            .into()),
        [one, other, ..] => Err(format!(
            "cron started it, and several lines have its command, {} of {} and {} of {}: name the job ({})",
            one.job.part(),
            one.file,
            other.job.part(),
            other.file,
            at(one)
        )),
    }
}

/// Whether cron started these arguments for this command: `/bin/sh -c COMMAND`, or what the shell becomes.
fn started(command: &str, argv: &[String]) -> bool {
    if let [_, flag, of_shell] = argv
        && flag == "-c"
    {
        return of_shell.trim() == command;
    }
    let last =
        shell::commands_of(command, "TZ", None).into_iter().rev().find_map(|(_, one)| match one {
            ShellCommand::Becomes(words) => Some(words),
            _ => None,
        });
    let Some(words) = last else { return false };
    // A script's arguments come behind its interpreter, and perhaps one option of that.
    let mut given = (0..argv.len().min(3)).map(|skip| &argv[skip..]);
    given.any(|given| becomes(&words, given))
}

/// Whether the words of a command become a program with these arguments.
fn becomes(words: &[String], argv: &[String]) -> bool {
    let same = |words: &[String]| {
        let [(word, first), rest @ ..] = &words.iter().zip(argv).collect::<Vec<_>>()[..] else {
            return false;
        };
        words.len() == argv.len()
            && (word == first || first.ends_with(&format!("/{word}")))
            && rest.iter().all(|(word, other)| word == other)
    };
    let name = |word: &String| word.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    let wraps = words.first().is_some_and(|word| BECOME.contains(&name(word).as_str()));
    same(words) || wraps && (1..words.len()).any(|at| same(&words[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_and_what_becomes_of_it() {
        let words = |text: &str| -> Vec<String> { text.split('|').map(str::to_owned).collect() };
        for (command, argv) in [
            ("a b", "/bin/sh|-c|a b"),
            ("a b", "a|b"),
            ("probe x", "/usr/bin/perl|/usr/local/bin/probe|x"),
            ("/opt/run 'p q' >/dev/null 2>&1", "/opt/run|p q"),
            ("cd /x && exec ./a", "./a"),
            ("env -u TZ a", "a"),
            ("export TZ=UTC; a b", "a|b"),
            ("TZ=UTC a b", "a|b"),
        ] {
            assert!(started(command, &words(argv)), "{command}: {argv}");
        }
        for (command, argv) in [
            ("rerun a", "a"),
            ("run a", "rerun|a"),
            ("a b", "a"),
            ("a", "a|b"),
            ("a b", "/bin/sh|-c|a b c"),
            ("xa", "a"),
        ] {
            assert!(!started(command, &words(argv)), "{command}: {argv}");
        }
    }
}
