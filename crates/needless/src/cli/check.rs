//! The options of `check`.

use super::UserArgs;
use super::values::BackendArg;
use clap::Args;
use needless_report::CheckFormat;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The file with the budget; by default needless.toml, as for other commands.
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: Option<PathBuf>,
    /// Which budget of the file; by default the one with the name of the command's program.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,
    /// Allow what is needless in FILE, a JSON report of `needless run`, and a tenth more; not a budget.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "name", "update"])]
    pub(crate) baseline: Option<PathBuf>,
    /// How many runs are counted, after one that is not.
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Write the budget from these runs: new figures for the limits that it has, or a new budget; and beside it, in a
    /// JSON profile, what the command asked, so that a later check can say what is new.
    #[arg(long)]
    pub(crate) update: bool,
    /// The command's input, read from its start in every run; by default standard input if it is a file, else nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// How to count calls.
    #[arg(long, value_name = "NAME", default_value = "auto", env = "NEEDLESS_BACKEND")]
    pub(crate) backend: BackendArg,
    #[command(flatten)]
    pub(crate) user: UserArgs,
    /// Also write the report to FILE; its ending (.txt, .md, .json, .sarif, .xml for
    /// JUnit) selects the format (repeatable). To the file that
    /// GITHUB_STEP_SUMMARY names, Markdown is appended.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// The report on standard output: full (default), markdown, json, github (annotations), sarif or junit.
    #[arg(long, value_name = "FORMAT", default_value = "full")]
    pub(crate) format: CheckFormat,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

fn name(text: &str) -> Result<String, String> {
    match needless_config::is_budget_name(text) {
        true => Ok(text.to_owned()),
        false => Err("a budget's name has letters, digits, . _ + and -".to_owned()),
    }
}
