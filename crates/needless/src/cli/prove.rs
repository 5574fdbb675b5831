//! The options of `prove` and `diff`.

use super::duration;
use clap::Args;
use needless_model::Change;
use regex::bytes::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Prove {
    /// A JSON report of `needless run -o FILE.json`: its remedies are the change.
    #[arg(value_name = "REPORT")]
    pub(crate) report: Option<PathBuf>,
    /// Of the report, only the remedies of this rule (may be given several times).
    #[arg(long = "rule", value_name = "RULE", requires = "report", value_parser = super::rule_name)]
    pub(crate) rules: Vec<String>,
    /// The change: set a variable (may be given several times).
    #[arg(long, value_name = "VAR=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<Change>,
    /// The change: unset a variable (may be given several times).
    #[arg(long, value_name = "VAR", value_parser = variable)]
    pub(crate) unset: Vec<Change>,
    /// The change: needless's time functions (see `needless preload`).
    #[arg(long)]
    pub(crate) preload: bool,
    #[command(flatten)]
    pub(crate) measure: Measure,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) whose: super::Whose,
    /// Write to FILE; its ending (.json, .md, .txt) tells the format.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// full (default), markdown or json.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<needless_report::ProofFormat>,
    /// The command and its arguments, behind `--`.
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["unit", "pid"])]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Measure {
    /// Only count calls, with the change and without: CPU time is not measured.
    #[arg(long, conflicts_with_all = ["runs", "budget", "warmup", "whose"])]
    pub(crate) count_only: bool,
    /// Pairs of runs; by default as many as the budget allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000), conflicts_with = "whose")]
    pub(crate) runs: Option<u32>,
    /// Time for the pairs; by default 20s, without limit where --runs is given.
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "whose")]
    pub(crate) budget: Option<Duration>,
    /// Runs of each arm before the first pair.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "whose")]
    pub(crate) warmup: u16,
    /// The command's input, from its start in every run; by default the file that standard input is, or nothing.
    #[arg(long, value_name = "FILE", conflicts_with = "whose")]
    pub(crate) stdin: Option<PathBuf>,
    /// Run this with sh -c before each run; it is not measured.
    #[arg(long, value_name = "CMD", conflicts_with = "whose")]
    pub(crate) prepare: Option<OsString>,
    /// Run this with sh -c after each run.
    #[arg(long, value_name = "CMD", conflicts_with = "whose")]
    pub(crate) cleanup: Option<OsString>,
    /// Leave what matches out of the comparison of output, line by line.
    #[arg(long, value_name = "REGEX", value_parser = regex, conflicts_with = "whose")]
    pub(crate) ignore_output: Option<Regex>,
    /// Of the order in pairs and the padding; by default another one each time.
    #[arg(long, value_name = "N", conflicts_with = "whose")]
    pub(crate) seed: Option<u64>,
    /// How calls are counted.
    #[arg(long, value_name = "NAME", default_value = "auto", env = "NEEDLESS_BACKEND")]
    pub(crate) backend: super::Backend,
}

#[derive(Args)]
pub(crate) struct Service {
    /// A service: this systemd unit, observed for a window of time.
    #[arg(long, value_name = "UNIT", group = "whose", conflicts_with_all = ["pid", "set", "unset", "preload", "report"])]
    pub(crate) unit: Option<String>,
    /// A service: this process (may be given several times).
    #[arg(long, value_name = "PID", value_parser = super::pid, group = "whose", conflicts_with_all = ["set", "unset", "preload", "report"])]
    pub(crate) pid: Vec<u32>,
    /// Compare with the window saved in FILE, before the change.
    #[arg(long, value_name = "FILE", requires = "whose", conflicts_with = "save_before")]
    pub(crate) before: Option<PathBuf>,
    /// Save the window to FILE, before the change.
    #[arg(long, value_name = "FILE", requires = "whose")]
    pub(crate) save_before: Option<PathBuf>,
    /// How long the window is. Ctrl-C ends it before its time.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration, requires = "whose")]
    pub(crate) length: Duration,
    /// Run this with sh -c at the window's start and end: it prints how many requests were served.
    #[arg(long, value_name = "CMD", requires = "whose")]
    pub(crate) per: Option<OsString>,
}

#[derive(Args)]
pub(crate) struct Diff {
    /// A JSON report, a saved profile (--format profile), or a log of strace.
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The other.
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
    /// Write to FILE; its ending (.json, .md, .txt) tells the format.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// full (default), markdown or json.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<needless_report::ProofFormat>,
}

pub(super) fn assignment(text: &str) -> Result<Change, String> {
    let (name, value) =
        text.split_once('=').ok_or("wants VAR=VALUE, such as TZ=UTC; --unset VAR removes it")?;
    named(name)?;
    Ok(Change::SetEnv { variable: name.to_owned(), value: Some(value.to_owned()) })
}

pub(super) fn variable(text: &str) -> Result<Change, String> {
    named(text)?;
    Ok(Change::UnsetEnv { variable: text.to_owned() })
}

fn named(name: &str) -> Result<(), String> {
    match name.is_empty() || name.contains('=') {
        true => Err("wants the name of a variable".to_owned()),
        false => Ok(()),
    }
}

pub(super) fn regex(text: &str) -> Result<Regex, String> {
    // The message of the crate has several lines, the last of which says what is wrong.
    Regex::new(text).map_err(|e| e.to_string().lines().last().unwrap_or("not a regex").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Action, Cli};
    use clap::Parser;

    fn prove(words: &[&str]) -> Result<Prove, String> {
        let words = [&["needless", "prove"], words].concat();
        match Cli::try_parse_from(words).map_err(|e| e.to_string())?.action {
            Action::Prove(prove) => Ok(*prove),
            _ => panic!("prove"),
        }
    }

    #[test]
    fn changes_are_read() {
        let asked = prove(&["--set", "TZ=:a=b", "--unset", "LANG", "--", "ls", "-l"]).unwrap();
        let set = Change::SetEnv { variable: "TZ".into(), value: Some(":a=b".into()) };
        assert_eq!(asked.set, [set]);
        assert_eq!(asked.unset, [Change::UnsetEnv { variable: "LANG".into() }]);
        assert_eq!(asked.command, ["ls", "-l"]);
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
