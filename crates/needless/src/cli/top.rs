//! The options of `top`.

use super::values::{duration, pid};
use clap::{Args, ValueEnum};
use std::time::Duration;

#[derive(Args)]
pub(crate) struct TopArgs {
    /// Process ids: these alone, and what they start from now on.
    #[arg(value_name = "PID", value_parser = pid, conflicts_with_all = ["unit", "container"])]
    pub(crate) pids: Vec<u32>,
    /// A systemd unit.
    #[arg(long, value_name = "UNIT", conflicts_with = "container")]
    pub(crate) unit: Option<String>,
    /// A container, by name or by the start of its id.
    #[arg(long, value_name = "CONTAINER")]
    pub(crate) container: Option<String>,
    /// How long each window is: the list changes so often.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// What the rows are about.
    #[arg(long, value_name = "KIND", default_value = "unit")]
    pub(crate) group: Grouping,
}

/// What a row of `top` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grouping {
    /// A unit or container; a program that has none.
    Unit,
    /// A program.
    Program,
    /// A container, or all that is in none.
    Container,
}

/// A shorter window would hold too few calls to judge, and cost too much.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let shortest = Duration::from_millis(500);
    match duration(text)? {
        short if short < shortest => Err("expected 500ms or more".to_owned()),
        enough => Ok(enough),
    }
}
