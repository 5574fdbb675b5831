//! The options of `prove` and `diff`.

use super::FailOn;
use super::budget::growth;
use super::values::{
    BackendArg, assignment, duration, entries, number, pairs, pid, regex, rule_name, variable,
};
use clap::Args;
use needless_model::Change;
use needless_report::ProofFormat;
use regex::bytes::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct ProveArgs {
    /// A JSON report of `needless run -o FILE.json`: its remedies are the change.
    #[arg(value_name = "REPORT", help_heading = None::<&str>)]
    pub(crate) report: Option<PathBuf>,
    /// Only the report's remedies of this rule (repeatable).
    #[arg(long = "rule", value_name = "RULE", requires = "report", value_parser = rule_name)]
    pub(crate) rules: Vec<String>,
    /// The change: set a variable (repeatable).
    #[arg(long, value_name = "VAR=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<Change>,
    /// The change: unset a variable (repeatable).
    #[arg(long, value_name = "VAR", value_parser = variable)]
    pub(crate) unset: Vec<Change>,
    /// The change: take entries out of a variable that lists directories; unset it if none is left (repeatable).
    #[arg(long, value_name = "VAR=ENTRY:…", value_parser = entries)]
    pub(crate) without: Vec<Change>,
    /// The change: preload needless's time functions (see `needless preload`).
    #[arg(long)]
    pub(crate) preload: bool,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    #[command(flatten)]
    pub(crate) user: super::UserArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The command and its arguments, after `--`.
    #[arg(last = true, value_name = "CMD", help_heading = None::<&str>, conflicts_with_all = ["unit", "pid"])]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
#[command(next_help_heading = "Measurement")]
pub(crate) struct MeasureArgs {
    /// Only count calls, with and without the change; do not measure CPU time.
    #[arg(long, conflicts_with_all = ["runs", "budget", "warmup", "service"])]
    pub(crate) count_only: bool,
    /// How many pairs of runs; by default as many as the budget allows.
    #[arg(long, value_name = "N", value_parser = pairs, conflicts_with = "service")]
    pub(crate) runs: Option<u32>,
    /// Time for the pairs, after counting; by default 20s, or no limit with --runs. Of a short command there are six
    /// pairs at least.
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "service")]
    pub(crate) budget: Option<Duration>,
    /// Unmeasured runs with and without the change, before the first pair.
    #[arg(long, value_name = "N", default_value = "1", value_parser = number::<u16>, conflicts_with = "service")]
    pub(crate) warmup: u16,
    /// The command's input, read from its start in every run; by default standard input if it is a file, else nothing.
    #[arg(long, value_name = "FILE", conflicts_with = "service")]
    pub(crate) stdin: Option<PathBuf>,
    /// Run this with sh -c before each run, not measured.
    #[arg(long, value_name = "CMD", conflicts_with = "service")]
    pub(crate) prepare: Option<OsString>,
    /// Run this with sh -c after each run, not measured.
    #[arg(long, value_name = "CMD", conflicts_with = "service")]
    pub(crate) cleanup: Option<OsString>,
    /// Ignore text that matches when comparing output, line by line.
    #[arg(long, value_name = "REGEX", value_parser = regex, conflicts_with = "service")]
    pub(crate) ignore_output: Option<Regex>,
    /// Seed for the order in pairs and the padding; by default another one each time.
    #[arg(long, value_name = "N", value_parser = number::<u64>, conflicts_with = "service")]
    pub(crate) seed: Option<u64>,
    /// How to count calls.
    #[arg(long, value_name = "NAME", default_value = "auto", env = "NEEDLESS_BACKEND")]
    pub(crate) backend: BackendArg,
}

#[derive(Args)]
#[command(next_help_heading = "A service")]
pub(crate) struct ServiceArgs {
    /// A service: this systemd unit, observed for a window of time.
    #[arg(long, value_name = "UNIT", group = "service", conflicts_with_all = ["pid", "set", "unset", "without", "preload", "report"])]
    pub(crate) unit: Option<String>,
    /// A service: this process, with its running descendants (repeatable).
    #[arg(long, value_name = "PID", value_parser = pid, group = "service", conflicts_with_all = ["set", "unset", "without", "preload", "report"])]
    pub(crate) pid: Vec<u32>,
    /// Compare with the window that was saved to FILE before the change.
    #[arg(long, value_name = "FILE", requires = "service", conflicts_with = "save_before")]
    pub(crate) before: Option<PathBuf>,
    /// Save the window to FILE, before the change.
    #[arg(long, value_name = "FILE", requires = "service")]
    pub(crate) save_before: Option<PathBuf>,
    /// Length of the window. Ctrl-C ends it early.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration, requires = "service")]
    pub(crate) length: Duration,
    /// Run this with sh -c at the window's start and end: it prints how many requests were served.
    #[arg(long, value_name = "CMD", requires = "service")]
    pub(crate) per: Option<OsString>,
}

#[derive(Args)]
pub(crate) struct DiffArgs {
    /// A JSON report, a saved profile (--format profile), or a log of strace.
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The other one, of the same kinds.
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
    /// Exit with status 1 if B has more calls than this allows: any (no call of A may be made more often), a number of
    /// calls in all (1000), or a share of the calls of A (5%); with 2 if that cannot be judged or written.
    #[arg(long, value_name = "GROWTH", value_parser = growth)]
    pub(crate) fail_on: Option<FailOn>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct OutputArgs {
    /// Write to FILE; its ending (.html, .json, .md, .txt) selects the format (repeatable).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// full (default), html, markdown or json.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ProofFormat>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Action, Cli};
    use clap::Parser;

    fn prove(words: &[&str]) -> Result<ProveArgs, String> {
        let words = [&["needless", "prove"], words].concat();
        match Cli::try_parse_from(words).map_err(|e| e.to_string())?.action {
            Action::Prove(prove) => Ok(*prove),
            _ => panic!("prove"),
        }
    }

    #[test]
    fn changes_are_read() {
        let args = prove(&["--set", "TZ=:a=b", "--unset", "LANG", "--", "ls", "-l"]).unwrap();
        let set = Change::SetEnv { variable: "TZ".into(), value: Some(":a=b".into()) };
        assert_eq!(args.set, [set]);
        assert_eq!(args.unset, [Change::UnsetEnv { variable: "LANG".into() }]);
        assert_eq!(args.command, ["ls", "-l"]);
        for wrong in [&["--set", "TZ"][..], &["--set", "=x"], &["--unset", "A=B"]] {
            assert!(prove(&[wrong, &["--", "ls"]].concat()).is_err(), "{wrong:?}");
        }
        assert!(prove(&["--pid", "1", "--before", "x", "--", "ls"]).is_err());
        assert!(prove(&["--set", "A=b", "--ignore-output", "(", "--", "ls"]).is_err());
    }

    #[test]
    fn options_of_a_service_are_not_of_a_command() {
        for of_a_service in
            [["--per", "x"], ["--before", "x"], ["--save-before", "x"], ["--for", "9s"]]
        {
            assert!(prove(&[&of_a_service[..], &["--set", "A=b", "--", "ls"]].concat()).is_err());
            assert!(prove(&[&of_a_service[..], &["--pid", "1"]].concat()).is_ok());
        }
        for of_a_command in
            [["--runs", "3"], ["--warmup", "2"], ["--prepare", "x"], ["--seed", "1"]]
        {
            assert!(prove(&[&of_a_command[..], &["--pid", "1"]].concat()).is_err());
            assert!(prove(&[&of_a_command[..], &["--set", "A=b", "--", "ls"]].concat()).is_ok());
        }
    }
}
