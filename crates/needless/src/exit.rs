//! How needless ends: the only place that turns an answer or an error of a command into an exit status. The statuses
//! themselves are listed in [`needless_model::status`].
//!
//! An error is 125, 126 or 127 for what runs a command (`run`, `preload`, `origin VAR -- CMD`), and 2 for the rest and
//! for a wrong command line; 3 where `fix` or `undo` leaves a unit down. `--fail-on` judges before anything is written, and what cannot be written makes it fail.

use crate::cli::{Action, in_one_line};
use crate::output;
use anyhow::Context;
use clap::error::ErrorKind;
use needless_model::{Exit, status};
use needless_observe::Failure;

/// The end of a command that did all it was asked for.
pub(crate) const DONE: Exit = Exit::Code(status::YES);

/// The end of a command that answers yes or no: within the budget, proven, every example passes.
pub(crate) fn answer(yes: bool) -> Exit {
    Exit::Code(if yes { status::YES } else { status::NO })
}

/// A unit of systemd that was up before it was restarted, and is not up again.
#[derive(Debug)]
pub(crate) struct UnitDown {
    /// Its name.
    pub(crate) unit: String,
    /// Whether it is one of the user's own systemd.
    pub(crate) user: bool,
    /// What has failed.
    pub(crate) why: String,
}

impl UnitDown {
    /// The line that must not be overlooked.
    pub(crate) fn warn(&self) {
        let (unit, user) = (&self.unit, if self.user { "--user " } else { "" });
        output::alarm(format_args!("{unit} IS DOWN: `systemctl {user}status {unit}`"));
    }
}

impl std::fmt::Display for UnitDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for UnitDown {}

/// The statuses that stand for errors.
#[derive(Clone, Copy)]
pub(crate) enum ErrorStatus {
    /// 2 for every error.
    Plain,
    /// 125, 126 and 127, as env(1): every other status is the one of the command that is run.
    LikeEnv,
}

impl ErrorStatus {
    /// Those of an action.
    pub(crate) fn of(action: &Action) -> ErrorStatus {
        match action {
            Action::Run(run) if !run.prove => ErrorStatus::LikeEnv,
            Action::Origin(origin) if !origin.command.is_empty() => ErrorStatus::LikeEnv,
            Action::Preload(_) => ErrorStatus::LikeEnv,
            _ => ErrorStatus::Plain,
        }
    }

    /// Shows the error, in one line.
    pub(crate) fn end(self, error: &anyhow::Error) -> Exit {
        output::warn(format_args!("{error:#}"));
        if let Some(down) = error.downcast_ref::<UnitDown>() {
            down.warn();
            return Exit::Code(status::UNIT_DOWN);
        }
        Exit::Code(match self {
            ErrorStatus::Plain => status::FAILED,
            ErrorStatus::LikeEnv => {
                error.downcast_ref::<Failure>().map_or(status::OURS, |failure| failure.status)
            }
        })
    }
}

/// Ends needless because of its command line: with the requested help or version, or with the mistake in one line.
pub(crate) fn usage(error: &clap::Error) -> ! {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(
        error.kind(),
        DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion
    ) {
        // The help for a missing command goes to standard error.
        let open = if error.use_stderr() { Ok(()) } else { output::Stream::Stdout.check() };
        let print = |()| output::quiet(error.print()).context("cannot write to standard output");
        match open.and_then(print) {
            Ok(()) => std::process::exit(error.exit_code()),
            Err(why) => needless_observe::exit_like(ErrorStatus::Plain.end(&why)),
        }
    }
    wrong(&in_one_line(&error.render().to_string()))
}

/// Ends needless because of its command line, with the mistake in one line.
pub(crate) fn wrong(what: &str) -> ! {
    output::warn(what);
    std::process::exit(status::FAILED)
}
