//! How needless ends: the only place that turns an answer or an error of a command into an exit status. The statuses
//! themselves are listed in [`needless_model::status`].

use crate::cli::Action;
use crate::output;
use needless_model::{Exit, status};
use needless_observe::Failure;

/// The end of a command that did all it was asked for.
pub(crate) const DONE: Exit = Exit::Code(status::YES);

/// The end of a command that answers yes or no: within the budget, proven, every example passes.
pub(crate) fn answer(yes: bool) -> Exit {
    Exit::Code(if yes { status::YES } else { status::NO })
}

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
        Exit::Code(match self {
            ErrorStatus::Plain => status::FAILED,
            ErrorStatus::LikeEnv => {
                error.downcast_ref::<Failure>().map_or(status::OURS, |failure| failure.status)
            }
        })
    }
}
