//! The command line: what can be asked for, with its help. Parsing only.

mod budget;
mod mistakes;
mod prove;

pub(crate) use budget::FailOn;
use budget::budget;
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use mistakes::nearest;
use needless_model::Change;
pub(crate) use prove::{Diff, Measure, Prove};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Finds the system calls a program makes but does not need, says why it makes them and what to
/// change.
#[derive(Parser)]
#[command(version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// When to colour: a report is coloured on a terminal unless NO_COLOR is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        env = "NEEDLESS_COLOR"
    )]
    pub(crate) color: ColorMode,
    /// Rules of your own and suppressions: a file, or a folder of .toml files (may be given several
    /// times). By default needless.toml and needless.d/*.toml of the first directory, from the working
    /// directory upwards, that has one of them.
    #[arg(long, global = true, value_name = "PATH", env = "NEEDLESS_CONFIG")]
    pub(crate) config: Vec<PathBuf>,
    /// Read no needless.toml.
    #[arg(long, global = true, conflicts_with = "config")]
    pub(crate) no_config: bool,
    #[command(subcommand)]
    pub(crate) action: Action,
}

impl Cli {
    /// The command line; where it is none this ends the process.
    pub(crate) fn read() -> Cli {
        Cli::try_parse().unwrap_or_else(|error| mistakes::explained(error).exit())
    }
}

#[derive(Subcommand)]
pub(crate) enum Action {
    /// Run a command and report what it asked the kernel for nothing.
    ///
    /// The command's input, output, signals and exit status stay its own; the report goes to
    /// standard error after it ends, or to a file with -o. needless itself fails with 125, with
    /// 126 when the command cannot be executed, with 127 when it is not found, with 2 when its
    /// own options are wrong.
    Run(Run),
    /// Observe processes that run already, without stopping them: their calls for a while, judged.
    ///
    /// Needs CAP_BPF and CAP_PERFMON (sudo). Exit status 2 when there is nobody to observe or it is
    /// not allowed.
    #[command(
        override_usage = "needless attach [OPTIONS] (PID… | --unit UNIT | --container CONTAINER | --cgroup PATH)"
    )]
    Attach(Attach),
    /// Observe every process of the machine for a while; findings by service, dearest first.
    ///
    /// Needs CAP_BPF and CAP_PERFMON (sudo).
    Host(Host),
    /// Read a log that strace wrote, plain or compressed with gzip or zstd.
    ///
    /// Several files are one capture, as `strace -ff` writes it. `-` is standard input. Exit
    /// status 2 when a file cannot be read or is not a strace log.
    Read(Read),
    /// Run a command with time functions that ask the kernel nothing.
    ///
    /// They take the place of the C library's in programs of GNU libc (LD_PRELOAD), give the same
    /// answers, and notice within a second when /etc/localtime changes. Where they can change nothing
    /// (static programs, musl, Go, Java, Node) needless says so and runs the command as it is. Exit
    /// status: the command's own; 125, 126 and 127 as for run.
    Preload(Preload),
    /// Say where a variable of a process comes from: who set, changed or lost it, which files hold it,
    /// which of them reach the process, and where a change belongs.
    ///
    /// Of the environment only that one variable is read, and if its name sounds like a password's its
    /// value is not shown. Give `-- CMD…` to have a command run and each of its programs watched; output
    /// and exit status are then the command's, the story goes to standard error.
    #[command(override_usage = "needless origin [OPTIONS] VAR (PID | --unit UNIT | -- CMD…)")]
    Origin(Origin),
    /// Make a remedy hold: show the change as a diff, ask, write it where it takes effect.
    ///
    /// What to change comes from a JSON report, from --set, or from a look at the unit. Each place is
    /// shown once, with all whom it is for, and asked for by itself. Nothing is written without a yes; what
    /// cannot be placed for sure is told to be done by hand. --locale cures a locale that programs search
    /// for in vain. Exit status 2 when something was not done.
    Fix(Fix),
    /// Take a change of `fix` back, byte for byte; refused where somebody changed the file since.
    Undo(Undo),
    /// Make published experiments again on this machine: tables beside those of their sources.
    ///
    /// Without a name they are listed. What must be otherwise for one (/etc/localtime, locales) is so in
    /// mounts of its own; the machine stays as it is.
    Lab(Lab),
    /// What an experiment measures; not for people.
    #[command(name = needless_lab::SUBJECT, hide = true)]
    LabSubject(LabSubject),
    /// Measure a change: the same command with and without it, its calls counted and its time
    /// compared.
    ///
    /// The change is what a JSON report advises, or --set, --unset, --preload. Calls are counted under
    /// the tracer; time is taken of pairs of untraced runs, in random order. Exit status 0: proven;
    /// 1: not proven, or the program behaves differently with the change; 2: it could not be measured.
    ///
    /// For a service: --unit or --pid with --save-before FILE, then the change, then --before FILE.
    #[command(
        override_usage = "needless prove [OPTIONS] (REPORT | --set VAR=VALUE… | --unset VAR… | --preload) -- CMD…\n       needless prove [OPTIONS] (--unit UNIT | --pid PID…) (--save-before FILE | --before FILE)"
    )]
    Prove(Box<Prove>),
    /// Compare two captures: which calls came, went, grew, shrank.
    ///
    /// A capture is a JSON report, what --format profile wrote, or a log of strace.
    Diff(Diff),
    /// Explain a rule: what it finds, why it happens, what to do and when not to.
    Explain(Explain),
    /// List the rules.
    Rules(Rules),
    /// Say what needless can observe on this machine, and what would let it see more.
    Doctor,
}

#[derive(Args)]
pub(crate) struct Run {
    /// Count every call, with exact totals; slower: by default only calls that rules need stop.
    #[arg(long, env = "NEEDLESS_ALL")]
    pub(crate) all: bool,
    /// How to observe.
    #[arg(long, value_name = "NAME", default_value = "auto", env = "NEEDLESS_BACKEND")]
    pub(crate) backend: Backend,
    /// Measure the kernel time of each call (eBPF only); slower.
    #[arg(long, env = "NEEDLESS_LATENCY")]
    pub(crate) latency: bool,
    /// Observe with root's rights, asked for with sudo; the command itself stays yours.
    #[arg(long)]
    pub(crate) elevate: bool,
    /// Then measure the remedies as `needless prove` does, and report with the proof. The exit status
    /// is that of `prove`. The command is run many times more, without input.
    #[arg(long, conflicts_with_all = ["latency", "elevate", "baseline", "save_baseline", "fail_on"])]
    pub(crate) prove: bool,
    /// With --prove: pairs of runs.
    #[arg(long, value_name = "N", requires = "prove", value_parser = clap::value_parser!(u32).range(1..=2000))]
    pub(crate) runs: Option<u32>,
    /// With --prove: time for the pairs; by default 20s.
    #[arg(long, value_name = "TIME", requires = "prove", value_parser = duration)]
    pub(crate) budget: Option<Duration>,
    /// With --prove: leave what matches out of the comparison of output, line by line.
    #[arg(long, value_name = "REGEX", requires = "prove", value_parser = prove::regex)]
    pub(crate) ignore_output: Option<regex::bytes::Regex>,
    #[command(flatten)]
    pub(crate) whose: Whose,
    #[command(flatten)]
    pub(crate) report: Report,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// The user that a command of root runs as; by default the one who ran sudo.
#[derive(Args)]
pub(crate) struct Whose {
    /// Run the command as this user (name or number), with that user's groups and home. For root; by
    /// default the command belongs to the user who ran sudo.
    #[arg(long = "as", value_name = "USER", conflicts_with = "as_root")]
    pub(crate) user: Option<String>,
    /// Run the command as root, also behind sudo.
    #[arg(long)]
    pub(crate) as_root: bool,
}

#[derive(Args)]
pub(crate) struct Attach {
    /// Processes, by their ids.
    #[arg(value_name = "PID", value_parser = pid, required_unless_present_any = ["unit", "container", "cgroup"], conflicts_with_all = ["unit", "container", "cgroup"])]
    pub(crate) pids: Vec<u32>,
    /// A systemd unit.
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["container", "cgroup"])]
    pub(crate) unit: Option<String>,
    /// A container, by its name or the start of its id.
    #[arg(long, value_name = "CONTAINER", conflicts_with = "cgroup")]
    pub(crate) container: Option<String>,
    /// A control group: a directory, or a path below where they are mounted.
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<String>,
    #[command(flatten)]
    pub(crate) window: Window,
    #[command(flatten)]
    pub(crate) report: Report,
}

#[derive(Args)]
pub(crate) struct Preload {
    /// Print the line for an environment instead: of a unit, a container, a shell.
    #[arg(long, conflicts_with_all = ["once", "command"])]
    pub(crate) print: bool,
    /// For the command alone: its children get its C library's functions.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// The command and its arguments.
    #[arg(required_unless_present = "print", trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Host {
    /// How many services to tell of, 0: all.
    #[arg(long, value_name = "N", default_value = "10", env = "NEEDLESS_TOP")]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) window: Window,
    #[command(flatten)]
    pub(crate) report: Report,
}

#[derive(Args)]
pub(crate) struct Window {
    /// For how long: 30s, 2m, 500ms. Ctrl-C ends it before its time, and reports.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration, env = "NEEDLESS_FOR")]
    pub(crate) length: Duration,
    /// Keep counts of every call by process, not only of those that rules need.
    #[arg(long, env = "NEEDLESS_ALL")]
    pub(crate) all: bool,
    /// Measure the kernel time of each call; slower.
    #[arg(long, env = "NEEDLESS_LATENCY")]
    pub(crate) latency: bool,
}

#[derive(Args)]
pub(crate) struct Read {
    /// The log was written on this machine, as it is now: its zone and locales may be looked up
    /// for the advice.
    #[arg(long)]
    pub(crate) here: bool,
    #[command(flatten)]
    pub(crate) report: Report,
    /// Logs, or `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Report {
    /// Write the report to FILE; its ending (.json, .txt) tells the format.
    #[arg(short, long, value_name = "FILE", env = "NEEDLESS_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
    /// full (default on a terminal), concise (default elsewhere), json, or profile: every row, for
    /// `needless diff`.
    #[arg(long, value_name = "FORMAT", env = "NEEDLESS_FORMAT")]
    pub(crate) format: Option<needless_report::Format>,
    /// Leave out findings that save less than this share of the calls that name a path, or less
    /// than a hundredth of it in CPU time, or fewer than 6 calls; 0 shows everything.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent, env = "NEEDLESS_MIN_SAVING")]
    pub(crate) min_saving: f64,
    /// Show what can hardly be helped, too: calls that only another program's code could spare.
    #[arg(long)]
    pub(crate) pedantic: bool,
    /// Check only this rule (may be given several times).
    #[arg(long = "rule", value_name = "RULE", value_parser = rule_name)]
    pub(crate) rules: Vec<String>,
    /// Do not check this rule (may be given several times).
    #[arg(long = "ignore", value_name = "RULE", value_parser = rule_name)]
    pub(crate) ignored: Vec<String>,
    /// Leave out findings that are in FILE, a JSON report of before, and are not worse: by over a
    /// tenth, per second where both are windows of time.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the findings of now to FILE, as a JSON report, for --baseline.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_baseline: Option<PathBuf>,
    /// Exit status 1 if the findings that are left are more than this: any, or calls (1000), or a
    /// share of the calls that name a path (5%); 2 if the report cannot be written. `run` keeps a
    /// status of the command that is not 0.
    #[arg(long, value_name = "BUDGET", value_parser = budget, env = "NEEDLESS_FAIL_ON")]
    pub(crate) fail_on: Option<FailOn>,
}

#[derive(Args)]
pub(crate) struct Origin {
    /// The variable.
    #[arg(value_name = "VAR")]
    pub(crate) variable: String,
    /// The process, by its id.
    #[arg(value_name = "PID", value_parser = pid, required_unless_present_any = ["unit", "command"], conflicts_with_all = ["unit", "command"])]
    pub(crate) pid: Option<u32>,
    /// A systemd unit: its main process, or its files where it does not run.
    #[arg(long, value_name = "UNIT", conflicts_with = "command")]
    pub(crate) unit: Option<String>,
    /// Tell it as JSON (needless.origin/1), for other tools.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the value whatever it is. Otherwise only paths, locales, zones, numbers and switches are shown.
    #[arg(long)]
    pub(crate) show_value: bool,
    /// Write the story to FILE; its ending .json makes it JSON.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// A command to run, after `--`.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").args(["report", "set", "unset"]).multiple(true))]
pub(crate) struct Fix {
    /// A report in JSON, written with -o.
    #[arg(value_name = "REPORT", required_unless_present_any = ["unit", "pid", "place", "locale"])]
    pub(crate) report: Option<PathBuf>,
    /// A systemd unit; without REPORT and --set it is observed for 10 seconds first.
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// A process.
    #[arg(long, value_name = "PID", value_parser = pid, conflicts_with = "unit")]
    pub(crate) pid: Option<u32>,
    /// Change this file, whoever reads it: a Dockerfile, a manifest, a crontab …
    #[arg(long = "in", value_name = "FILE", requires = "what", conflicts_with_all = ["unit", "pid"])]
    pub(crate) place: Option<PathBuf>,
    /// Which part of FILE: a service, container, program or pool.
    #[arg(long, value_name = "PART", requires = "place")]
    pub(crate) part: Option<String>,
    /// The change: set a variable.
    #[arg(long, value_name = "VAR=VALUE", value_parser = prove::assignment, conflicts_with = "report", group = "change")]
    pub(crate) set: Option<Change>,
    /// The change: remove a variable.
    #[arg(long, value_name = "VAR", value_parser = prove::variable, conflicts_with = "report", group = "change")]
    pub(crate) unset: Option<Change>,
    /// Build this locale (el_GR.UTF-8), or link its name to the spelling it is installed under.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["report", "unit", "pid", "place", "change"])]
    pub(crate) locale: Option<String>,
    /// Build it as a directory of its own, not in the archive of locales.
    #[arg(long, requires = "locale")]
    pub(crate) directory: bool,
    /// Link the name of its messages' directory, too (el_GR.UTF-8 to el).
    #[arg(long, requires = "locale")]
    pub(crate) messages: bool,
    /// Only what this rule found (may be given several times).
    #[arg(long = "rule", value_name = "RULE", value_parser = rule_name)]
    pub(crate) rules: Vec<String>,
    /// Only print the diff, for `patch -p1` in the root directory.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) diff: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Restart the service afterwards.
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Args)]
pub(crate) struct Undo {
    /// The change, by its number; without it the last one.
    #[arg(value_name = "ID", conflicts_with = "last")]
    pub(crate) id: Option<u32>,
    /// The last change that holds.
    #[arg(long)]
    pub(crate) last: bool,
    /// List the changes.
    #[arg(long, conflicts_with_all = ["id", "last"])]
    pub(crate) list: bool,
}

#[derive(Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) experiment: Option<Experiment>,
}

#[derive(Subcommand)]
pub(crate) enum Experiment {
    /// What conversions of time ask and cost, with TZ set and unset: three articles' tables.
    Tz {
        /// Calls of each row; the source of 2015 made 100,000,000.
        #[arg(long, value_name = "N", default_value = "500000", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
        calls: u64,
        #[command(flatten)]
        told: Told,
    },
    /// What a locale's name costs a program at its start: a mail of 2001.
    Locale {
        /// Runs of `ls -z` of each row.
        #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        runs: u64,
        /// Greek and Spanish as in 2001: locales in directories, no archive, in mounts of its own.
        #[arg(long, conflicts_with = "names")]
        as_in_2001: bool,
        /// Names to try, instead of this machine's LC_ALL or LANG and its other spellings.
        #[arg(value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        names: Vec<String>,
        #[command(flatten)]
        told: Told,
    },
}

#[derive(Args)]
pub(crate) struct Told {
    /// Write to FILE; its ending (.json, .md, .txt) tells the format.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// full (default), markdown or json.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<needless_report::ProofFormat>,
}

#[derive(Args)]
pub(crate) struct LabSubject {
    pub(crate) function: String,
    pub(crate) calls: u64,
    #[arg(value_parser = needless_lab::ETC_LOCALTIME)]
    pub(crate) etc_localtime: Option<String>,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// Every rule.
    #[arg(long, conflicts_with = "rule")]
    pub(crate) all: bool,
    /// The rule's name.
    #[arg(required_unless_present = "all", value_parser = rule_name)]
    pub(crate) rule: Option<String>,
}

#[derive(Args)]
pub(crate) struct Rules {
    /// full or json.
    #[arg(long, value_name = "FORMAT", default_value = "full", value_parser = full_or_json)]
    pub(crate) format: needless_report::Format,
    /// Run the examples of the rules in needless.toml instead; exit status 1 if one fails.
    #[arg(long)]
    pub(crate) test: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorMode {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// The best that the rights allow.
    Auto,
    /// eBPF: counts in the kernel; needs CAP_BPF and CAP_PERFMON, or root.
    Ebpf,
    /// ptrace, without privilege.
    Ptrace,
}

impl From<Backend> for needless_observe::Backend {
    fn from(backend: Backend) -> needless_observe::Backend {
        match backend {
            Backend::Auto => needless_observe::Backend::Best,
            Backend::Ebpf => needless_observe::Backend::Ebpf,
            Backend::Ptrace => needless_observe::Backend::Ptrace,
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("wants a time such as 30s, 2m or 500ms".to_owned()),
    };
    match number.parse::<f64>().map(|number| number * scale) {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("wants a time from 1ms to 24h, such as 30s, 2m or 500ms".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("wants a percentage from 0 to 100".to_owned()),
    }
}

fn pid(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        "wants a process id, such as $(pidof NAME) gives; a service is named with --unit".to_owned()
    })
}

fn full_or_json(text: &str) -> Result<needless_report::Format, String> {
    use needless_report::Format;
    match text.parse() {
        Ok(format @ (Format::Full | Format::Json)) => Ok(format),
        _ => Err("no such format; there are full and json".to_owned()),
    }
}

fn rule_name(text: &str) -> Result<String, String> {
    if let Some(rule) = needless_rules::by_name(text) {
        return Ok(rule.name.to_owned());
    }
    // Whether needless.toml has one is known later.
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if text.contains('-') && text.bytes().all(legal) {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = needless_rules::RULES.iter().map(|rule| rule.name).collect();
    Err(no_such_rule(text, &names))
}

/// That there is no such rule among `names`, and what may be meant.
pub(crate) fn no_such_rule(text: &str, names: &[&str]) -> String {
    // "TZ_UNSET", a part of a name ("locale"), or a slip of the keyboard.
    let meant = text.to_ascii_lowercase().replace(['_', ' '], "-");
    let part = |name: &&&str| !meant.is_empty() && name.contains(&meant);
    let mut like: Vec<&str> = names.iter().filter(part).copied().collect();
    if like.is_empty() {
        like = nearest(&meant, names);
    }
    let perhaps = match like.is_empty() {
        true => String::new(),
        false => format!(" (perhaps {})", like.join(", ")),
    };
    format!("no such rule{perhaps}; `needless rules` lists them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn what_follows_the_command_is_the_commands() {
        let cli = Cli::try_parse_from(["needless", "run", "ls", "--all", "-o", "x"]).unwrap();
        let Action::Run(run) = cli.action else { panic!("run") };
        assert!(!run.all && run.report.output.is_none());
        assert_eq!(run.command, ["ls", "--all", "-o", "x"]);
    }

    #[test]
    fn a_mistyped_option_is_no_command() {
        assert!(Cli::try_parse_from(["needless", "run", "--al", "ls"]).is_err());
        let cli = Cli::try_parse_from(["needless", "run", "--", "--al", "-x"]).unwrap();
        let Action::Run(run) = cli.action else { panic!("run") };
        assert_eq!(run.command, ["--al", "-x"]);
    }

    #[test]
    fn times() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        for wrong in ["", "s", "0", "-1s", "1d", "1e9s", "30 s", "nan", "99h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(percent("0.5%"), Ok(0.5));
        assert!(percent("-1").is_err() && percent("NaN").is_err() && percent("x").is_err());
    }
}
