//! The structures of a JSON report: their field names and comments are its schema.

use super::SCHEMA;
use needless_model::Fact;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a program asked of the kernel needlessly, why, and what to change.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "needless.report/1")]
pub(super) struct Document<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub(super) schema: &'static str,
    /// Version of needless that wrote the report.
    pub(super) needless_version: &'a str,
    /// How the calls were observed.
    pub(super) backend: &'a str,
    /// What was observed.
    pub(super) source: Origin<'a>,
    /// Whether `totals` cover every call, and not only those that rules need.
    pub(super) complete: bool,
    /// What was not seen, dropped or folded: counters by name; one that is absent is 0.
    pub(super) lost: BTreeMap<&'a str, u64>,
    /// Length of the observation in seconds, where known.
    pub(super) window_s: Option<f64>,
    /// Sums over all processes.
    pub(super) totals: Totals,
    /// Processes seen. A process that execs another program counts as another.
    pub(super) processes: u64,
    /// What is needless.
    pub(super) findings: Vec<FindingOut<'a>>,
    /// Rules that could not be checked.
    pub(super) not_checked: Vec<NotChecked>,
    /// How many rules were checked, where the user chose among them; absent where all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checked: Option<Checked<'a>>,
    /// Findings left out because they save too little.
    pub(super) below_threshold: Below,
    /// Findings that needless.toml says to live with; not in `findings`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) suppressed: Vec<Suppressed<'a>>,
    /// Findings that the baseline has too, and that are not worse; not in `findings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) known: Option<Below>,
    /// Sentences about suppressions that did nothing or ended, and about the baseline.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) notices: &'a [String],
    /// Sentences about what this observation cannot tell.
    pub(super) notes: &'a [String],
    /// What came of measuring the remedies; absent where nobody asked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proof: Option<crate::proof::ProofOut<'a>>,
}

/// A choice among the rules: what is not found by the others may be there all the same.
#[derive(Serialize, JsonSchema)]
pub(super) struct Checked<'a> {
    /// How many rules were checked.
    pub(super) rules: u64,
    /// How many rules there are.
    pub(super) of: u64,
    /// Rules whose findings were not wanted.
    pub(super) ignored: &'a [String],
}

/// What was observed.
#[derive(Serialize, JsonSchema)]
pub(super) struct Origin<'a> {
    /// A command that was run, a log that was read, processes that were attached to, or all of the
    /// host.
    pub(super) kind: OriginKind,
    /// The program as given, without its arguments; the log's name; what was attached to; `host`.
    pub(super) name: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OriginKind {
    Run,
    Read,
    Attach,
    Host,
}

/// Sums over all processes.
#[derive(Serialize, JsonSchema)]
pub(super) struct Totals {
    /// Calls counted.
    pub(super) calls: u64,
    /// Calls counted that name a path.
    pub(super) path_calls: u64,
    /// Calls that could go, over all findings.
    pub(super) needless: u64,
    /// CPU time in user mode, seconds, where known.
    pub(super) cpu_user_s: Option<f64>,
    /// CPU time in the kernel, seconds, where known; includes a ptrace tracer's stops.
    pub(super) cpu_sys_s: Option<f64>,
}

/// A rule's verdict.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub(super) struct FindingOut<'a> {
    /// Name of the rule; `needless explain` tells more.
    pub(super) rule: &'static str,
    /// How far the finding has come.
    pub(super) stage: Stage,
    /// The service that its processes belong to, where services were told apart: the systemd unit,
    /// container, pod, session or cron by control group, else the executable.
    pub(super) service: Option<&'a str>,
    /// Calls that could go.
    pub(super) needless: u64,
    /// Calls that go with them, without being counted one by one (a file that is not opened is neither
    /// read nor closed); negative if others come in their place. Absent where there are none.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) besides: i64,
    /// How often the question was put, the needed first time included.
    pub(super) of: u64,
    /// `needless` per second of the window, where `source.kind` is `attach` or `host`.
    pub(super) per_second: Option<f64>,
    /// `needless` as a fraction of `totals.path_calls`, at most 1: some of the needless calls may
    /// name no path.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(super) share: f64,
    /// Kernel time of the needless calls in microseconds, where known.
    pub(super) kernel_us: Option<f64>,
    /// Whether `kernel_us` is the cost of such a call on this host times their number, rather than
    /// measured on these calls.
    pub(super) estimated: bool,
    /// The process with most of them.
    pub(super) process: Process<'a>,
    /// The processes it concerns, the one with most of its calls first, each pid once; of many the
    /// first 256.
    pub(super) whom: Vec<Process<'a>>,
    /// How many processes it concerns.
    #[schemars(range(min = 1))]
    pub(super) processes: u64,
    /// Their executables, most processes first.
    pub(super) exes: Vec<Exe<'a>>,
    /// What was seen, in one line.
    pub(super) what: &'a str,
    /// Why the program does it.
    pub(super) why: &'a str,
    /// Where in the program the calls come from, most frequent first.
    pub(super) sites: &'a [String],
    /// Counts that can be checked with strace.
    pub(super) evidence: Vec<Evidence<'a>>,
    /// What to do, best first.
    pub(super) remedies: Vec<Remedy<'a>>,
}

/// A finding that somebody decided to live with.
#[derive(Serialize, JsonSchema)]
pub(super) struct Suppressed<'a> {
    /// Name of the rule.
    pub(super) rule: &'static str,
    /// The service, as in a finding.
    pub(super) service: Option<&'a str>,
    /// The process with most of the calls.
    pub(super) process: Process<'a>,
    /// Calls that could go.
    pub(super) needless: u64,
    /// Why it is suppressed.
    pub(super) reason: &'a str,
    /// The last day on which it is, YYYY-MM-DD, where there is one.
    pub(super) until: Option<String>,
    /// File and line that say so.
    pub(super) place: &'a str,
}

/// How far a finding has come.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// The pattern matched.
    Seen,
    /// The cause was found too.
    Explained,
    /// Measured before and after the change.
    Proven,
}

/// One pid between two execs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Process<'a> {
    /// Process id, as the observer saw it.
    pub(super) pid: u32,
    /// Path of the executable, where known.
    pub(super) exe: Option<&'a str>,
    /// The name that the kernel gave it at exec, at most 15 bytes: of a script its own, where `exe` is its
    /// interpreter. Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<&'a str>,
    /// The soft limit of open files that it was started with, or had when it was first seen. Absent where
    /// it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) open_files: Option<u64>,
    /// When it was started, in clock ticks since the machine was (field 22 of proc_pid_stat(5)): with `pid` it
    /// tells the process from a later one. Absent where it had ended before the observation did, or where
    /// nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<u64>,
}

/// A program and how many processes ran it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Exe<'a> {
    /// Path of the executable, where known.
    pub(super) exe: Option<&'a str>,
    /// The script or applet that it ran, by the name that the kernel gave it, where that is another than
    /// the executable's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) script: Option<&'a str>,
    /// Processes of the finding that ran it.
    #[schemars(range(min = 1))]
    pub(super) processes: u64,
}

/// A count that can be checked with strace.
#[derive(Serialize, JsonSchema)]
pub(super) struct Evidence<'a> {
    /// The system call.
    pub(super) call: &'a str,
    /// Its path, or a pattern of paths.
    pub(super) path: &'a str,
    /// `ok` or the error's name.
    pub(super) outcome: &'a str,
    /// How often.
    pub(super) count: u64,
}

/// What to do, with its price.
#[derive(Serialize, JsonSchema)]
pub(super) struct Remedy<'a> {
    /// The kind of change.
    pub(super) kind: Kind,
    /// The environment variable, for `set_env` and `unset_env`.
    pub(super) variable: Option<&'a str>,
    /// The value to set, for `set_env`, where the right one could be found out.
    pub(super) value: Option<&'a str>,
    /// The change as one would type or say it.
    pub(super) text: String,
    /// What else the change does, or why it does nothing else. Never empty.
    #[schemars(length(min = 1))]
    pub(super) caveat: &'a str,
    /// How safe the change is.
    pub(super) safety: Level,
}

/// The kind of change.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// Set an environment variable.
    SetEnv,
    /// Unset an environment variable.
    UnsetEnv,
    /// Run with the preload library.
    Preload,
    /// An option or setting of the program.
    Option,
    /// Something a person has to decide and do.
    Manual,
}

/// How safe a change is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Safety")]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// Changes nothing else.
    Safe,
    /// Right for most; the caveat says when not to.
    Caveat,
    /// Not to be applied by a tool.
    Manual,
}

/// A rule that could not be checked.
#[derive(Serialize, JsonSchema)]
pub(super) struct NotChecked {
    /// Name of the rule.
    pub(super) rule: &'static str,
    /// What it needs to know and this observation does not tell.
    pub(super) needs: Vec<Need>,
}

/// Something that an observation may or may not tell.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    /// Paths of the calls that name one.
    Paths,
    /// Outcome of the calls.
    Outcomes,
    /// Every call was counted.
    AllCalls,
    /// Watched variables of the processes.
    Environment,
    /// When calls were made.
    Clock,
    /// Time spent in the kernel per call.
    KernelTime,
    /// Fingerprints of answers.
    Answers,
    /// Where in the program calls come from.
    CallSites,
    /// The time zone files of the host.
    HostZone,
    /// Arguments of calls without a path.
    Details,
    /// What the host's C library does with locale names.
    HostLocales,
}

/// Findings left out because they save too little.
#[derive(Serialize, JsonSchema)]
pub(super) struct Below {
    /// How many findings.
    pub(super) findings: u64,
    /// Their needless calls.
    pub(super) calls: u64,
}

impl From<Fact> for Need {
    fn from(fact: Fact) -> Need {
        match fact {
            Fact::Paths => Need::Paths,
            Fact::Outcomes => Need::Outcomes,
            Fact::AllCalls => Need::AllCalls,
            Fact::Environment => Need::Environment,
            Fact::Clock => Need::Clock,
            Fact::KernelTime => Need::KernelTime,
            Fact::Answers => Need::Answers,
            Fact::CallSites => Need::CallSites,
            Fact::HostZone => Need::HostZone,
            Fact::HostLocales => Need::HostLocales,
            Fact::Details => Need::Details,
        }
    }
}

fn is_none(calls: &i64) -> bool {
    *calls == 0
}
