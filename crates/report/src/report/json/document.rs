//! The structures of a JSON report: their field names and comments are its schema. What is read of a
//! report (see [`saved`](crate::saved)) has to be there; every other field may be missing, since older versions
//! did not write all of them.

use super::SCHEMA;
use crate::json::mirror;
use crate::proof::json::ProofBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a program asked of the kernel needlessly, why, and what to change.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.report/1")]
pub(crate) struct ReportDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub(crate) schema: String,
    /// Version of needless that wrote the report.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) needless_version: String,
    /// How the calls were observed.
    pub(crate) backend: String,
    /// What was observed.
    pub(crate) source: ReportSource,
    /// Whether `totals` cover every call, and not only those that rules need.
    pub(crate) complete: bool,
    /// What was not seen, dropped or folded: counters by name; one that is absent is 0.
    pub(crate) lost: BTreeMap<String, u64>,
    /// Length of the observation in seconds, where known.
    pub(crate) window_s: Option<f64>,
    /// Sums over all processes.
    pub(crate) totals: ReportTotals,
    /// Processes seen. A process that execs another program counts as another.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) processes: u64,
    /// What is needless.
    pub(crate) findings: Vec<ReportFinding>,
    /// Rules that could not be checked.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) not_checked: Vec<UncheckedRule>,
    /// How many rules were checked, where the user chose among them; absent where all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checked: Option<ReportSelection>,
    /// Findings left out because they save too little.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) below_threshold: FindingSum,
    /// Findings that needless.toml says to live with; not in `findings`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!default)]
    pub(crate) suppressed: Vec<ReportSuppressed>,
    /// Findings that the baseline has too, and that are not worse; not in `findings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known: Option<FindingSum>,
    /// Sentences about suppressions that did nothing or ended, and about the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!default)]
    pub(crate) notices: Vec<String>,
    /// Sentences about what this observation cannot tell.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) notes: Vec<String>,
    /// What came of measuring the remedies; absent where nobody asked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proof: Option<ProofBody>,
}

/// A choice among the rules: what is not found by the others may be there all the same.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Checked")]
pub(crate) struct ReportSelection {
    /// How many rules were checked.
    pub(crate) rules: u64,
    /// How many rules there are.
    pub(crate) of: u64,
    /// Rules whose findings were not wanted.
    pub(crate) ignored: Vec<String>,
}

/// What was observed.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Origin")]
pub(crate) struct ReportSource {
    /// A command that was run, a log that was read, processes that were attached to, or all of the
    /// host.
    pub(crate) kind: SourceKind,
    /// The program as given, without its arguments; the log's name; what was attached to; `host`.
    pub(crate) name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "OriginKind")]
pub(crate) enum SourceKind {
    Run,
    Read,
    Attach,
    // Or a source that this version does not know: not a command that was run.
    #[serde(other)]
    Host,
}

/// Sums over all processes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Totals")]
pub(crate) struct ReportTotals {
    /// Calls counted.
    pub(crate) calls: u64,
    /// Calls counted that name a path.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) path_calls: u64,
    /// Calls that could go, over all findings.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) needless: u64,
    /// CPU time in user mode, seconds, where known.
    pub(crate) cpu_user_s: Option<f64>,
    /// CPU time in the kernel, seconds, where known; includes a ptrace tracer's stops.
    pub(crate) cpu_sys_s: Option<f64>,
}

/// A rule's verdict.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub(crate) struct ReportFinding {
    /// Name of the rule; `needless explain` tells more.
    pub(crate) rule: String,
    /// How far the finding has come.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) stage: ReportStage,
    /// The service that its processes belong to, where services were told apart: the systemd unit,
    /// container, pod, session or cron by control group, else the executable.
    pub(crate) service: Option<String>,
    /// Calls that could go.
    pub(crate) needless: u64,
    /// Calls that go with them, without being counted one by one (a file that is not opened is neither
    /// read nor closed); negative if others come in their place. Absent where there are none.
    #[serde(default, skip_serializing_if = "is_none")]
    #[schemars(!default)]
    pub(crate) besides: i64,
    /// How often the question was put, the needed first time included.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) of: u64,
    /// `needless` per second of the window, where `source.kind` is `attach` or `host`.
    pub(crate) per_second: Option<f64>,
    /// `needless` as a fraction of `totals.path_calls`, at most 1: some of the needless calls may
    /// name no path.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) share: f64,
    /// Kernel time of the needless calls in microseconds, where known.
    pub(crate) kernel_us: Option<f64>,
    /// Whether `kernel_us` is the cost of such a call on this host times their number, rather than
    /// measured on these calls.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) estimated: bool,
    /// The process with most of them.
    pub(crate) process: ReportProcess,
    /// The processes it concerns, the one with most of its calls first, each pid once; of many the
    /// first 256.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) whom: Vec<ReportProcess>,
    /// How many processes it concerns.
    #[schemars(range(min = 1))]
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) processes: u64,
    /// Their executables, most processes first.
    pub(crate) exes: Vec<ReportProgram>,
    /// What was seen, in one line.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) what: String,
    /// Why the program does it.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) why: String,
    /// Where in the program the calls come from, most frequent first.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) sites: Vec<String>,
    /// Counts that can be checked with strace.
    pub(crate) evidence: Vec<ReportEvidence>,
    /// What to do, best first.
    pub(crate) remedies: Vec<ReportRemedy>,
}

/// A finding that somebody decided to live with.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Suppressed")]
pub(crate) struct ReportSuppressed {
    /// Name of the rule.
    pub(crate) rule: String,
    /// The service, as in a finding.
    pub(crate) service: Option<String>,
    /// The process with most of the calls.
    pub(crate) process: ReportProcess,
    /// Calls that could go.
    pub(crate) needless: u64,
    /// Why it is suppressed.
    pub(crate) reason: String,
    /// The last day on which it is, YYYY-MM-DD, where there is one.
    pub(crate) until: Option<String>,
    /// File and line that say so.
    pub(crate) place: String,
}

mirror! {
    /// How far a finding has come.
    ReportStage as "Stage" of needless_model::Stage {
        /// The pattern matched.
        Seen,
        /// The cause was found too.
        Explained,
        /// Measured before and after the change.
        Proven,
    }
}

/// One pid between two execs.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Process")]
pub(crate) struct ReportProcess {
    /// Process id, as the observer saw it.
    pub(crate) pid: u32,
    /// Path of the executable, where known.
    pub(crate) exe: Option<String>,
    /// The name that the kernel gave it at exec, at most 15 bytes: of a script its own, where `exe` is its
    /// interpreter. Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The soft limit of open files that it was started with, or had when it was first seen. Absent where
    /// it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open_files: Option<u64>,
    /// When it was started, in clock ticks since the machine was (field 22 of proc_pid_stat(5)): with `pid` it
    /// tells the process from a later one. Absent where it had ended before the observation did, or where
    /// nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<u64>,
}

/// A program and how many processes ran it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Exe")]
pub(crate) struct ReportProgram {
    /// Path of the executable, where known.
    pub(crate) exe: Option<String>,
    /// The script or applet that it ran, by the name that the kernel gave it, where that is another than
    /// the executable's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<String>,
    /// Processes of the finding that ran it.
    #[schemars(range(min = 1))]
    pub(crate) processes: u64,
}

/// A count that can be checked with strace.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub(crate) struct ReportEvidence {
    /// The system call.
    pub(crate) call: String,
    /// Its path, or a pattern of paths.
    pub(crate) path: String,
    /// `ok` or the error's name.
    pub(crate) outcome: String,
    /// How often.
    pub(crate) count: u64,
}

/// What to do, with its price.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Remedy")]
pub(crate) struct ReportRemedy {
    /// The kind of change.
    pub(crate) kind: ChangeKind,
    /// The environment variable, for `set_env` and `unset_env`.
    pub(crate) variable: Option<String>,
    /// The value to set, for `set_env`, where the right one could be found out.
    pub(crate) value: Option<String>,
    /// The change as one would type or say it.
    pub(crate) text: String,
    /// What else the change does, or why it does nothing else. Never empty.
    #[schemars(length(min = 1))]
    pub(crate) caveat: String,
    /// How safe the change is.
    pub(crate) safety: SafetyLevel,
}

/// The kind of change.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub(crate) enum ChangeKind {
    /// Set an environment variable.
    SetEnv,
    /// Unset an environment variable.
    UnsetEnv,
    /// Run with the preload library.
    Preload,
    /// An option or setting of the program.
    Option,
    /// Something a person has to decide and do.
    // So is a change that this version does not know.
    #[serde(other)]
    Manual,
}

/// How safe a change is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Safety")]
#[serde(rename_all = "snake_case")]
pub(crate) enum SafetyLevel {
    /// Changes nothing else.
    Safe,
    /// Right for most; the caveat says when not to.
    Caveat,
    /// Not to be applied by a tool.
    // Nor is a change of a safety that this version does not know.
    #[serde(other)]
    Manual,
}

/// A rule that could not be checked.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotChecked")]
pub(crate) struct UncheckedRule {
    /// Name of the rule.
    pub(crate) rule: String,
    /// What it needs to know and this observation does not tell.
    pub(crate) needs: Vec<NeededFact>,
}

mirror! {
    /// Something that an observation may or may not tell.
    NeededFact as "Need" of needless_model::Fact {
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
}

/// Findings left out because they save too little.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Below")]
pub(crate) struct FindingSum {
    /// How many findings.
    pub(crate) findings: u64,
    /// Their needless calls.
    pub(crate) calls: u64,
}

fn is_none(calls: &i64) -> bool {
    *calls == 0
}
