//! The options of `show`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// What a command wrote as JSON (-o FILE.json, --format json, --format profile, --save-before), or `-` for standard input.
    /// Several reports of attach or host, in the order of time, become a timeline.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write to FILE; its ending selects the format (repeatable).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// The format: any that the command which wrote FILE has. Of a report, stacks for profilers are made of its parts, and
    /// a profile, which is every row, cannot be made.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// The same as --format json.
    #[arg(long)]
    json: bool,
    /// Show all details of every finding, and every kind of call that no rule explains; of an origin also the files that do
    /// not reach the process.
    #[arg(short, long)]
    verbose: bool,
    /// Of --verbose: show every remedy and finding with all details.
    #[arg(long, hide = true)]
    full: bool,
    /// Of --verbose: show every kind of call that no rule explains.
    #[arg(long, hide = true)]
    unexplained: bool,
    /// Show at most N remedies (0 = all).
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
}

impl ShowArgs {
    /// The format that an option names.
    pub(crate) fn format(&self) -> Option<&str> {
        if self.json { Some("json") } else { self.format.as_deref() }
    }

    pub(crate) fn full(&self) -> bool {
        self.full || self.verbose
    }

    pub(crate) fn unexplained(&self) -> bool {
        self.unexplained || self.verbose
    }
}
