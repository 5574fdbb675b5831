//! The command line and its help. Parsing only.

mod agent;
mod budget;
mod change;
mod check;
mod completions;
mod examples;
mod groups;
mod manual;
mod mistakes;
mod observe;
mod prove;
mod show;
mod top;
mod values;

use crate::{exit, version};
pub(crate) use agent::{AgentArgs, LogFormat, ShipArgs};
pub(crate) use budget::FailOn;
use budget::budget;
pub(crate) use change::{FixArgs, OriginArgs, UndoArgs};
pub(crate) use check::CheckArgs;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
pub(crate) use completions::{CompletionsArgs, completions};
pub(crate) use manual::{ManArgs, manual};
pub(crate) use mistakes::{in_one_line, nearest};
pub(crate) use observe::{AttachArgs, HostArgs, ReadArgs, ReportArgs, RunArgs, WindowArgs};
pub(crate) use prove::{DiffArgs, MeasureArgs, OutputArgs, ProveArgs, ServiceArgs};
pub(crate) use show::ShowArgs;
use std::ffi::OsString;
use std::path::PathBuf;
pub(crate) use top::{Grouping, TopArgs};
use values::rule_name;
pub(crate) use values::{ColorMode, no_such_rule};

/// The heading of the options that every command has.
const GENERAL: &str = "Options of all commands";

/// Finds the system calls a program makes but does not need, says why it makes them and what to
/// change.
#[derive(Parser)]
#[command(
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    help_template = groups::template()
)]
pub(crate) struct Cli {
    /// Color the output: by default on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        env = "NEEDLESS_COLOR",
        help_heading = GENERAL
    )]
    pub(crate) color: ColorMode,
    /// Your own rules and suppressions: a file, or a directory of .toml files (repeatable). By default the nearest
    /// needless.toml and needless.d/*.toml, in this or a parent directory.
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "NEEDLESS_CONFIG",
        help_heading = GENERAL
    )]
    pub(crate) config: Vec<PathBuf>,
    /// Read no needless.toml.
    #[arg(long, global = true, conflicts_with = "config", help_heading = GENERAL)]
    pub(crate) no_config: bool,
    /// With --version: also what needless was built from and with.
    #[arg(short, long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    pub(crate) action: Action,
}

impl Cli {
    /// Parses the command line. Where it is wrong, shows why and ends the process.
    pub(crate) fn read() -> Cli {
        Cli::try_parse().unwrap_or_else(|error| {
            // The parser stops at --version, wherever --verbose is.
            if error.kind() == ErrorKind::DisplayVersion && std::env::args_os().any(is_verbose) {
                let version: &'static str = version::verbose().leak();
                let verbose = Cli::command().version(version).try_get_matches_from(["", "-V"]);
                exit::usage(&verbose.expect_err("-V ends the parser"));
            }
            exit::usage(&mistakes::explained(error))
        })
    }
}

/// `--verbose`, `-v`, `-vV`, `-Vv`.
fn is_verbose(word: OsString) -> bool {
    word.to_str().is_some_and(|word| matches!(word, "--verbose" | "-v" | "-vV" | "-Vv"))
}

#[derive(Subcommand)]
pub(crate) enum Action {
    /// Run a command and report the system calls it does not need.
    ///
    /// The command keeps its input, output, signals and exit status. The report goes to standard
    /// error after the command ends, or to a file with -o.
    ///
    /// Exit status: the command's own; 126 when the command cannot be executed, 127 when it is not
    /// found. 125 when needless fails before the command runs, also because of what an option names: a
    /// file that cannot be read or written, an ending that names no format, a user that does not
    /// exist. 2 when the command line cannot be understood: an unknown option, value or rule, or no
    /// command.
    #[command(after_long_help = examples::RUN)]
    Run(RunArgs),
    /// Observe running processes, a unit or a container for a while.
    ///
    /// Nothing is stopped. Of a server with workers, name the first process: its workers are observed with it.
    ///
    /// Needs CAP_BPF and CAP_PERFMON (sudo). Exit status 2 when there is nothing to observe or it is
    /// not allowed.
    #[command(
        after_long_help = examples::ATTACH,
        override_usage = "needless attach [OPTIONS] (PID… | --unit UNIT | --container CONTAINER | --cgroup PATH)"
    )]
    Attach(AttachArgs),
    /// Observe every process of the machine for a while.
    ///
    /// Findings are listed by service, the most expensive first. Needs CAP_BPF and CAP_PERFMON (sudo).
    #[command(after_long_help = examples::HOST)]
    Host(HostArgs),
    /// Live view of needless calls by service.
    ///
    /// Remedies and calls that no rule explains, the most expensive first, of the processes, the unit or the
    /// container that is named, else of the whole machine. Keys show
    /// details, the rule, the diff of the fix (which is never written here) and how to prove it; each shows
    /// the command that does the same. Needs CAP_BPF and CAP_PERFMON (sudo) and a terminal.
    #[command(
        override_usage = "needless top [OPTIONS] [PID… | --unit UNIT | --container CONTAINER]"
    )]
    Top(TopArgs),
    /// Run as a service: record the whole host in 5-minute windows.
    ///
    /// A recording is a Parquet file with the rows of one window; there are numbers for Prometheus, too. Ends with
    /// SIGTERM or Ctrl-C, after writing the window so far. Exit status 2 when it cannot observe, or the directory is
    /// not usable. Needs CAP_BPF and CAP_PERFMON (sudo, or the unit needless-agent.service, which packages install).
    #[command(after_long_help = examples::AGENT)]
    Agent(AgentArgs),
    /// Copy finished recordings of an agent to a directory.
    ///
    /// There those of many hosts come together. A window that is there is not copied again; each copy is whole or not
    /// there. Whenever it is killed or cannot write, the next call goes on. The agent may run meanwhile. Exit status 2
    /// when a window could not be copied.
    #[command(after_long_help = examples::SHIP)]
    Ship(ShipArgs),
    /// Report on a log that strace wrote, plain or compressed.
    ///
    /// Gzip and zstd are understood. Several files are read as one log, as `strace -ff` writes them. `-` is standard
    /// input. Exit status 2 when a file cannot be read or is not a strace log.
    #[command(after_long_help = examples::READ)]
    Read(ReadArgs),
    /// Show again what a command wrote as JSON.
    ///
    /// This may be a report, a profile, a proof, a comparison or an origin. The text is the one that the command wrote
    /// to a file, byte for byte, with the same -v and --top; -o and --format choose another format. On a terminal one line
    /// differs: `try:` has the program without its arguments, because no file has them. Exit status 2 when FILE is no such
    /// document.
    #[command(after_long_help = examples::SHOW)]
    Show(ShowArgs),
    /// Run a command that checks /etc/localtime at most once a second.
    ///
    /// A library stands in front of GNU libc (LD_PRELOAD): while TZ is unset, localtime, ctime and tzset
    /// of the same second are answered without another look, by GNU libc itself. A change of
    /// /etc/localtime is noticed within a second. Where that has no effect (static programs, musl, Go,
    /// Java, Node, AddressSanitizer) needless warns and runs the command without. Exit status: the
    /// command's own; 125, 126, 127 and 2 as for run.
    #[command(after_long_help = examples::PRELOAD)]
    Preload(PreloadArgs),
    /// Show where a variable of a process comes from.
    ///
    /// What set, changed or removed it, which files hold it, which of them reach the process, and where to
    /// change it. Only that variable of the environment is read; if its name sounds like a password's, its value
    /// is not shown. With `-- CMD…` the command is run and each program it starts is watched; output
    /// and exit status are then those of the command, and the report goes to standard error.
    #[command(
        after_long_help = examples::ORIGIN,
        override_usage = "needless origin [OPTIONS] VAR (PID | --unit UNIT | -- CMD…)"
    )]
    Origin(OriginArgs),
    /// Apply a remedy where it takes effect: show the diff, ask, write.
    ///
    /// The change comes from a JSON report, from --set or --unset, or from observing the unit. Each place
    /// is shown once, with the processes it is for, and asked about separately. Nothing is written
    /// without a yes; where the right place is not certain, needless shows what to do by hand. --locale
    /// adds a locale that programs search for and do not find. Exit status 2 when something was not done, 3 when a unit
    /// is down after it.
    ///
    /// A journal keeps what `needless undo` needs: in /var/lib/needless for root, else in
    /// $XDG_STATE_HOME/needless or ~/.local/state/needless.
    #[command(after_long_help = examples::FIX)]
    Fix(FixArgs),
    /// Take a change of `fix` back, byte for byte.
    ///
    /// Where others have changed a file since, it shows what it would take out of it, asks, and keeps their lines; it is
    /// refused where they touched the lines of the change. The changes are in a journal: in /var/lib/needless for root,
    /// else in $XDG_STATE_HOME/needless or ~/.local/state/needless. Exit status 0: done; 2: there is no such change,
    /// it was refused or could not be written, or a change in the journal cannot be read; 3: its unit is down after it.
    #[command(after_long_help = examples::UNDO)]
    Undo(UndoArgs),
    /// Measure a change: run a command with and without it.
    ///
    /// Its calls are counted and its time is compared. The change is what a JSON report advises, or --set, --unset,
    /// --preload. Calls are counted in observed runs; time is measured in pairs of unobserved runs, in random order.
    /// Exit status 0: proven; 1: not proven, or the program behaves differently with the change; 2: it could not be
    /// measured.
    ///
    /// For a service: --unit or --pid with --save-before FILE, then the change, then --before FILE.
    #[command(
        after_long_help = examples::PROVE,
        override_usage = "needless prove [OPTIONS] (REPORT | --set VAR=VALUE… | --unset VAR… | --preload) -- CMD…\n       needless prove [OPTIONS] (--unit UNIT | --pid PID…) (--save-before FILE | --before FILE)"
    )]
    Prove(Box<ProveArgs>),
    /// Compare the counts of a command with a budget in needless.toml.
    ///
    /// The command runs a few times, and calls are counted in each run; a count that is higher in every run than the
    /// budget allows is an alarm, with its cause. What the command prints is shown once, on standard error, from a
    /// first run that is not counted; of the counted runs it is dropped. --update writes the budget; --baseline
    /// compares with an earlier report instead. Exit status 0: within the budget; 1: over it; 2: it could not be
    /// measured, or a report could not be written.
    #[command(after_long_help = examples::CHECK, override_usage = "needless check [OPTIONS] -- CMD…")]
    Check(CheckArgs),
    /// Compare the calls of two observations.
    ///
    /// Each is a JSON report, a profile (--format profile), or a log of strace.
    #[command(after_long_help = examples::DIFF)]
    Diff(DiffArgs),
    /// Explain a rule, or list all rules.
    ///
    /// The page of a rule says what it finds, why it happens, what to do and when not to do it.
    #[command(after_long_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Show what needless can observe here, and how to allow more.
    #[command(after_long_help = examples::DOCTOR)]
    Doctor,
    /// Print a shell completion script.
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print a manual page (for packagers).
    #[command(after_long_help = examples::MAN)]
    Man(ManArgs),
}

/// The user that the command runs as, where needless runs as root.
#[derive(Args)]
#[command(next_help_heading = "User")]
pub(crate) struct UserArgs {
    /// Run the command as this user (name or number), with that user's groups and home directory. For
    /// root; by default the command runs as the user who ran sudo.
    #[arg(long = "as", value_name = "USER", conflicts_with = "as_root")]
    pub(crate) user: Option<String>,
    /// Run the command as root, even under sudo.
    #[arg(long)]
    pub(crate) as_root: bool,
}

#[derive(Args)]
pub(crate) struct PreloadArgs {
    /// Print the variable to set for a unit, a container or a shell, and run nothing.
    #[arg(long, conflicts_with_all = ["once", "command"])]
    pub(crate) print: bool,
    /// Only for the command itself: the programs it starts run without the library.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) user: UserArgs,
    /// The command and its arguments.
    #[arg(required_unless_present = "print", trailing_var_arg = true, value_name = "CMD", help_heading = None::<&str>)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// Print the page of every rule.
    #[arg(long, conflicts_with_all = ["rule", "format", "test"])]
    pub(crate) all: bool,
    /// The list of rules as full or json.
    #[arg(long, value_name = "FORMAT", default_value = "full", conflicts_with_all = ["rule", "test"])]
    pub(crate) format: needless_report::RulesFormat,
    /// Run the examples of the rules in needless.toml; exit status 1 if one fails.
    #[arg(long, conflicts_with = "rule")]
    pub(crate) test: bool,
    /// The rule's name; without it, all rules are listed.
    #[arg(value_parser = rule_name)]
    pub(crate) rule: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_follows_the_command_is_the_commands() {
        let cli = Cli::try_parse_from(["needless", "run", "ls", "--all", "-o", "x"]).unwrap();
        let Action::Run(run) = cli.action else { panic!("run") };
        assert!(!run.all && run.report.output.is_empty());
        assert_eq!(run.command, ["ls", "--all", "-o", "x"]);
    }

    #[test]
    fn a_mistyped_option_is_no_command() {
        assert!(Cli::try_parse_from(["needless", "run", "--al", "ls"]).is_err());
        let cli = Cli::try_parse_from(["needless", "run", "--", "--al", "-x"]).unwrap();
        let Action::Run(run) = cli.action else { panic!("run") };
        assert_eq!(run.command, ["--al", "-x"]);
    }
}
