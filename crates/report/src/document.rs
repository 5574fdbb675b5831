//! A report: the one tree that is written, saved, read again, compared and fixed. It is made from a profile and a verdict
//! ([`made`]) or read from a file, and every format is a function of it. The field names and comments of its structures
//! are the schema of the JSON format. What `diff` and `fix` read of a report (see [`saved`](crate::saved)) has to be
//! there; every other field may be missing, since older versions did not write all of them.

mod account;
mod finding;
mod made;
mod read;

pub(crate) use account::*;
pub(crate) use finding::*;
pub use finding::{ReportFinding, ReportProcess};

use crate::json::{Seconds, is_zero, mirror, schema_of};
use crate::proof::json::ProofBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that reports name in their field `schema`. Fields are only added under one number.
pub const SCHEMA: &str = "needless.report/1";

/// The JSON schema of a report, with a newline at its end.
pub fn schema() -> String {
    schema_of::<ReportDocument>()
}

/// What a program asked of the kernel needlessly, why, and what to change.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.report/1")]
pub struct ReportDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub(crate) schema: String,
    /// Version of needless that wrote the report.
    #[serde(default)]
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
    pub(crate) window_s: Option<Seconds>,
    /// Sums over all processes.
    pub(crate) totals: ReportTotals,
    /// Every call that was counted: needed, needless, not explained or not judged.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) account: ReportAccount,
    /// The same calls by service, program, place in the program and call, those with most calls first; if there are many,
    /// the rest by program. Calls that go with the needless ones of a finding, without being counted one by one, count
    /// as needed here.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) breakdown: Vec<ReportPart>,
    /// What calls waited for, by program and call, the longest first. Empty where the time of calls was not measured.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) waiting: Vec<ReportWaits>,
    /// A file system on which failed look-ups are slow and take most of their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slow_file_system: Option<ReportSlowMount>,
    /// The CPU time by program, the most expensive first; processes whose time is not known are left out.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) programs: Vec<ReportProgramCpu>,
    /// Processes that were started, without the observed command itself.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) started: u64,
    /// Calls of connect that succeeded or went on in the background.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) connections: u64,
    /// CPU time in the kernel, seconds, that the counted calls do not explain, where not every call was counted and that is
    /// most of the kernel's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uncounted_kernel_s: Option<Seconds>,
    /// Of `started`, the program that most of them ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) most_started: Option<ReportMost>,
    /// Of `connections`, the program that made most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) most_connections: Option<ReportMost>,
    /// Processes seen. A process that execs another program counts as another.
    #[serde(default)]
    pub(crate) processes: u64,
    /// Processes seen. A process that execs another program is one process.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) pids: u64,
    /// Services, containers, sessions that they belong to, where these were looked up.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) services: u64,
    /// What is needless.
    pub(crate) findings: Vec<ReportFinding>,
    /// What this observation does not know.
    #[serde(default)]
    pub(crate) not_known: Vec<NeededFact>,
    /// Rules that could not be checked.
    #[serde(default)]
    pub(crate) not_checked: Vec<UncheckedRule>,
    /// How many rules were checked, where the user chose among them; absent where all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checked: Option<ReportSelection>,
    /// Findings left out because they save too little.
    #[serde(default)]
    pub(crate) below_threshold: FindingSum,
    /// Findings that needless.toml says to live with; not in `findings`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) suppressed: Vec<ReportSuppressed>,
    /// Sentences about suppressions that did nothing or ended, and about calls that were
    /// left out or not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<String>,
    /// Sentences about what this observation cannot show.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// The measured effect of the remedies; absent where that was not requested.
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
    /// Rules that were asked for; absent where all but the ignored ones were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
}

/// The program with most of something.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Most")]
pub(crate) struct ReportMost {
    /// The program.
    pub(crate) program: String,
    /// How many are its own.
    pub(crate) number: u64,
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
    /// Of a command that was run: the file of the repository at which code hosts show findings without a place of their
    /// own, the command's or the workflow that ran it. Absent where that is not known, or no format asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Calls counted: all if `complete`, otherwise those that rules ask about.
    pub(crate) calls: u64,
    /// Calls counted that name a path.
    #[serde(default)]
    pub(crate) path_calls: u64,
    /// Calls that could go, over all findings: `needless` of each, without `besides`.
    #[serde(default)]
    pub(crate) needless: u64,
    /// CPU time in user mode, seconds, where known.
    pub(crate) cpu_user_s: Option<Seconds>,
    /// CPU time in the kernel, seconds, where known; includes a ptrace tracer's stops.
    pub(crate) cpu_sys_s: Option<Seconds>,
    /// The part of both that a ptrace tracer's stops took, nanoseconds, by estimate; absent where there is none, or it
    /// is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) tracing_ns: u64,
}

/// A rule that could not be checked.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotChecked")]
pub(crate) struct UncheckedRule {
    /// Name of the rule.
    pub(crate) rule: String,
    /// The facts that it needs and this observation lacks.
    pub(crate) needs: Vec<NeededFact>,
}

mirror! {
    /// A fact that an observation may have or lack.
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
    /// Calls that could go: `needless` of each, and `besides` where every call was counted.
    pub(crate) calls: u64,
}
