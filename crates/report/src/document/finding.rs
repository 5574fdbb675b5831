//! A finding: the process, the evidence and the remedy.

use crate::json::{Micros, is_zero, mirror};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A rule's verdict.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct ReportFinding {
    /// Name of the rule; `needless explain` describes it.
    pub rule: String,
    /// How far the finding has come.
    #[serde(default)]
    pub(crate) stage: ReportStage,
    /// The service that its processes belong to, where services were distinguished: the systemd unit,
    /// container, pod, session or cron by control group, else the executable.
    pub service: Option<String>,
    /// Calls that could go, of those that `totals.calls` counts; never more.
    pub(crate) needless: u64,
    /// Calls that go with them, without being counted one by one (a file that is not opened is neither
    /// read nor closed): `totals.calls` has these only if `complete`. Negative if others come in their
    /// place. Absent where there are none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) besides: i64,
    /// How often the question was put, the needed first time included.
    #[serde(default)]
    pub(crate) of: u64,
    /// `needless` per second of the window, where `source.kind` is `attach` or `host`.
    pub(crate) per_second: Option<f64>,
    /// `needless` as a fraction of `totals.path_calls`, at most 1: some of the needless calls may
    /// name no path.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(default)]
    pub(crate) share: f64,
    /// Whether its remedy, with all findings that have the same, saves too little to be noticed: less than 1 ms and
    /// 0.5 % of the CPU time of a command, or less than 0.1 % of a core in a window. Never for wrong results.
    #[serde(default)]
    #[schemars(!default)]
    pub small: bool,
    /// Kernel time of the needless calls in microseconds, where known.
    pub(crate) kernel_us: Option<Micros>,
    /// Whether `kernel_us` is the cost of such a call on this host times their number, rather than
    /// measured on these calls.
    #[serde(default)]
    pub(crate) estimated: bool,
    /// What the program itself works for these calls, beside them, microseconds: an estimate by its runtime. Absent where
    /// that is not known: the change then saves `kernel_us` at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_us: Option<Micros>,
    /// The process with most of them.
    pub(crate) process: ReportProcess,
    /// The processes it concerns, the one with most of its calls first, each pid once; of many the
    /// first 256.
    #[serde(default)]
    pub(crate) affected: Vec<ReportProcess>,
    /// How many processes it concerns.
    #[schemars(range(min = 1))]
    #[serde(default)]
    pub(crate) processes: u64,
    /// Their executables, most processes first.
    pub(crate) exes: Vec<ReportProgram>,
    /// How many of them have a root or a mount namespace of their own: paths are then those there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) elsewhere: u64,
    /// The variables that the remedies set or unset, as `process` had them; `null`: it was not set. Absent where its
    /// environment was not seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) variables: BTreeMap<String, Option<String>>,
    /// What was seen, in one line.
    #[serde(default)]
    pub(crate) what: String,
    /// Why the program does it.
    #[serde(default)]
    pub(crate) why: String,
    /// Where in the program the calls come from, most frequent first.
    #[serde(default)]
    pub(crate) sites: Vec<String>,
    /// Counts that can be checked with strace.
    pub(crate) evidence: Vec<ReportEvidence>,
    /// What to do, best first.
    pub(crate) remedies: Vec<ReportRemedy>,
    /// Where the variable of the first remedy with one is set or should be. Absent where that is not known; only a
    /// command that was run is looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<ReportPlace>,
}

/// A line of a file.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Place")]
pub(crate) struct ReportPlace {
    /// The file; relative to the repository of the working directory, or to that directory, where it is below it.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: u32,
    /// What a person writes there, into which no tool writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_hand: Option<String>,
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
    /// How many processes it concerns.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) processes: u64,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Process")]
pub struct ReportProcess {
    /// Process id, as the observer saw it.
    pub pid: u32,
    /// Path of the executable, where known.
    pub exe: Option<String>,
    /// The name that the kernel gave it at exec, at most 15 bytes: of a script its own, where `exe` is its
    /// interpreter. Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The soft limit of open files that it was started with, or had when it was first seen. Absent where
    /// it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open_files: Option<u64>,
    /// When it was started, in clock ticks since the machine was (field 22 of proc_pid_stat(5)): with `pid` it
    /// identifies the process. Absent where the process ended before the observation did, or where this was
    /// not looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
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
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
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
    /// The environment variable, for `set_env`, `unset_env` and `without_entries`.
    pub(crate) variable: Option<String>,
    /// The value to set, for `set_env`, where the right one could be found out.
    pub(crate) value: Option<String>,
    /// The entries to take out of the variable's list, for `without_entries`; if no other is left, the variable is to
    /// be unset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) entries: Vec<String>,
    /// The name of the setting, for `setting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) setting: Option<String>,
    /// The change as one would type or say it.
    pub(crate) text: String,
    /// What else the change does, or why it does nothing else. Never empty.
    #[schemars(length(min = 1))]
    pub(crate) caveat: String,
    /// How safe the change is.
    pub(crate) safety: SafetyLevel,
}

/// The kind of change.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub(crate) enum ChangeKind {
    /// Set an environment variable.
    SetEnv,
    /// Unset an environment variable.
    UnsetEnv,
    /// Take entries out of an environment variable that lists directories.
    WithoutEntries,
    /// Run with the preload library.
    Preload,
    /// A setting, no variable, that `needless fix` can make.
    Setting,
    /// An option or setting of the program.
    Option,
    /// Something a person has to decide and do.
    // So is a change that this version does not know.
    #[serde(other)]
    Manual,
}

/// How safe a change is.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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

fn is_none(calls: &i64) -> bool {
    *calls == 0
}
