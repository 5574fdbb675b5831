//! The options of commands that observe: `run`, `attach`, `host`, `read`.

use super::values::{BackendArg, duration, number, pairs, percent, pid, regex, rule_name};
use super::{FailOn, UserArgs, budget};
use clap::Args;
use needless_report::{Details, ReportFormat};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Headings of the help.
const PROOF: &str = "Proof";
const CHOICE: &str = "Which findings";

#[derive(Args)]
#[command(next_help_heading = "How to observe")]
pub(crate) struct RunArgs {
    /// With ptrace, count every call, not only those that rules need; slower. eBPF counts every call anyway.
    #[arg(long, env = "NEEDLESS_ALL")]
    pub(crate) all: bool,
    /// How to observe the command.
    #[arg(long, value_name = "NAME", default_value = "auto", env = "NEEDLESS_BACKEND")]
    pub(crate) backend: BackendArg,
    /// With ptrace, stop the program at every relevant call; slower. Otherwise hot call sites are patched in the memory of
    /// the command (x86-64, not with --all) and count themselves.
    #[arg(long, env = "NEEDLESS_NO_PATCH")]
    pub(crate) no_patch: bool,
    /// Measure the kernel time of each call (eBPF only); slower.
    #[arg(long, env = "NEEDLESS_LATENCY")]
    pub(crate) latency: bool,
    /// Observe with root's rights, by sudo; the command itself still runs as you.
    #[arg(long)]
    pub(crate) elevate: bool,
    /// Also measure the remedies as `needless prove` does, and report the proof. The exit status is that
    /// of `prove`. The command runs many more times, without input.
    #[arg(long, help_heading = PROOF, conflicts_with_all = ["latency", "elevate", "fail_on"])]
    pub(crate) prove: bool,
    /// With --prove: how many pairs of runs to measure.
    #[arg(long, value_name = "N", requires = "prove", help_heading = PROOF, value_parser = pairs)]
    pub(crate) runs: Option<u32>,
    /// With --prove: time for the pairs; by default 20s.
    #[arg(long, value_name = "TIME", requires = "prove", help_heading = PROOF, value_parser = duration)]
    pub(crate) budget: Option<Duration>,
    /// With --prove: ignore text that matches when comparing output, line by line.
    #[arg(long, value_name = "REGEX", requires = "prove", help_heading = PROOF, value_parser = regex)]
    pub(crate) ignore_output: Option<regex::bytes::Regex>,
    #[command(flatten)]
    pub(crate) user: UserArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD", help_heading = None::<&str>)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
#[command(next_help_heading = "What to observe")]
pub(crate) struct AttachArgs {
    /// Process ids. What these processes have started and still runs is observed, too.
    #[arg(value_name = "PID", value_parser = pid, required_unless_present_any = ["unit", "container", "cgroup"], conflicts_with_all = ["unit", "container", "cgroup"])]
    pub(crate) pids: Vec<u32>,
    /// Only the processes that are named, and what they start from now on.
    #[arg(long, conflicts_with_all = ["unit", "container", "cgroup"])]
    pub(crate) only: bool,
    /// A systemd unit.
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["container", "cgroup"])]
    pub(crate) unit: Option<String>,
    /// A container, by name or by the start of its id.
    #[arg(long, value_name = "CONTAINER", conflicts_with = "cgroup")]
    pub(crate) container: Option<String>,
    /// A control group: a directory, or a path below the mount point.
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

#[derive(Args)]
pub(crate) struct HostArgs {
    /// Show at most N remedies (0 = all).
    #[arg(
        long,
        help_heading = "Report",
        value_name = "N",
        default_value = "8",
        value_parser = number::<usize>,
        env = "NEEDLESS_TOP"
    )]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

#[derive(Args)]
#[command(next_help_heading = "How to observe")]
pub(crate) struct WindowArgs {
    /// How long to observe: 30s, 2m, 500ms. Ctrl-C ends it early, with a report.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration, env = "NEEDLESS_FOR")]
    pub(crate) length: Duration,
    /// Measure the kernel time of each call; slower.
    #[arg(long, env = "NEEDLESS_LATENCY")]
    pub(crate) latency: bool,
}

#[derive(Args)]
pub(crate) struct ReadArgs {
    /// The log was written on this machine, which has not changed since: use its time zone and locales
    /// for advice.
    #[arg(long)]
    pub(crate) here: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Logs of strace, or `-` for standard input.
    #[arg(required = true, value_name = "FILE", help_heading = None::<&str>)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ReportArgs {
    /// Write the report to FILE; its ending selects the format (repeatable): .txt, .md, .html, .json, .sarif,
    /// or for profilers .folded, .speedscope.json, .pb.gz.
    #[arg(short, long, value_name = "FILE", env = "NEEDLESS_OUTPUT")]
    pub(crate) output: Vec<PathBuf>,
    /// full (default on a terminal), concise (default elsewhere), markdown, html, json, sarif, github (annotations
    /// of a job), or profile: every row, for `needless diff`. For profilers: folded (flame graphs), speedscope, pprof.
    #[arg(long, value_name = "FORMAT", env = "NEEDLESS_FORMAT")]
    format: Option<ReportFormat>,
    /// The same as --format json.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Write no report, but for the files of -o.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show all details of every finding, and every kind of call that no rule explains. By default the three most expensive
    /// findings have details, and the five most expensive kinds are shown. -vv: also what saves little (--min-saving 0), and
    /// what only a change of the program's code can avoid.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Of --verbose: show every remedy and finding with all details.
    #[arg(long, hide = true)]
    full: bool,
    /// Of --verbose: show every kind of call that no rule explains.
    #[arg(long, hide = true)]
    unexplained: bool,
    /// Leave out findings that save less than this share of the calls that name a path (unless that
    /// is 1 ms and 0.5 % of the CPU time), or less than a hundredth of this share of the CPU time, or
    /// fewer than 6 calls; 0 shows everything.
    #[arg(long, help_heading = CHOICE, value_name = "PERCENT", default_value = "1", value_parser = percent, env = "NEEDLESS_MIN_SAVING")]
    min_saving: f64,
    /// Of -vv: also show calls that only a change of the program's code can avoid.
    #[arg(long, help_heading = CHOICE, hide = true)]
    pedantic: bool,
    /// Check only this rule (repeatable).
    #[arg(long = "rule", help_heading = CHOICE, value_name = "RULE", value_parser = rule_name)]
    pub(crate) rules: Vec<String>,
    /// Do not check this rule (repeatable).
    #[arg(long = "ignore", help_heading = CHOICE, value_name = "RULE", value_parser = rule_name)]
    pub(crate) ignored: Vec<String>,
    /// Exit with status 1 if the remaining findings exceed this: any, a number of calls (1000), a share
    /// of the calls that name a path (5%), or large: any that is not small; with 2 if the report cannot be
    /// written. With `run`, a command's own status other than 0 takes precedence.
    #[arg(long, help_heading = CHOICE, value_name = "BUDGET", value_parser = budget, env = "NEEDLESS_FAIL_ON")]
    pub(crate) fail_on: Option<FailOn>,
}

impl ReportArgs {
    /// The format that an option names.
    pub(crate) fn format(&self) -> Option<ReportFormat> {
        if self.json { Some(ReportFormat::Json) } else { self.format }
    }

    /// What they say about a report for people.
    pub(crate) fn details(&self) -> Details {
        let more = self.verbose > 0;
        Details { full: self.full || more, unexplained: self.unexplained || more, end_first: false }
    }

    /// Findings that save less than so many per cent are left out.
    pub(crate) fn min_saving(&self) -> f64 {
        if self.verbose > 1 { 0.0 } else { self.min_saving }
    }

    /// Whether what only the program's code can avoid is shown.
    pub(crate) fn pedantic(&self) -> bool {
        self.pedantic || self.verbose > 1
    }
}
