//! What became of every call, what programs waited for, and who used the CPU.

use crate::json::{Micros, Seconds, mirror};
use needless_rules::{Amount, Busy, Unjudged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The calls that were counted, divided: `needed`, `needless`, `unexplained` and `unjudged` add up to `calls`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Account")]
pub(crate) struct ReportAccount {
    /// Calls counted.
    pub(crate) calls: u64,
    /// Calls that failed.
    pub(crate) failed: u64,
    /// Calls that are known to be needed: a rule looked at them, or each program makes such calls.
    pub(crate) needed: u64,
    /// Calls that findings name, also findings that are below the threshold, suppressed or not wanted.
    pub(crate) needless: ReportAmount,
    /// Of `needless`, the calls of findings at the stage `seen`: their cause was not looked up, so that so many are
    /// needless at most.
    #[serde(default)]
    pub(crate) uncertain: ReportAmount,
    /// Calls that failed or got no new answer, and that no rule explains.
    pub(crate) unexplained: ReportAmount,
    /// Calls at which no rule looked.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) unjudged: ReportAmount,
    /// Whether the times are the cost of such calls on this machine, at least in part, and not a
    /// measurement of these calls.
    pub(crate) estimated: bool,
    /// The unexplained calls by program, call and reason, most expensive first.
    pub(crate) lines: Vec<ReportUnexplained>,
    /// The calls that are not judged by kind, most frequent first.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) unjudged_kinds: Vec<ReportUnjudged>,
    /// The process with most CPU time, where it used a fifth of a processor or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) busy: Option<ReportBusy>,
}

/// Calls of one name at which no rule looked.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Unjudged")]
pub(crate) struct ReportUnjudged {
    /// The kernel's name of the call.
    pub(crate) call: String,
    /// How many.
    pub(crate) calls: u64,
    /// Microseconds in the kernel, where known.
    pub(crate) kernel_us: Option<Micros>,
    /// The program that made most of them.
    pub(crate) program: String,
    /// How many are that program's.
    pub(crate) program_calls: u64,
    /// The most frequent place in the programs, where sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// How many samples are of this place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site_samples: Option<u64>,
    /// How many samples there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) samples: Option<u64>,
}

/// How busy a process was.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Busy")]
pub(crate) struct ReportBusy {
    /// The program.
    pub(crate) program: String,
    /// The process.
    pub(crate) pid: u32,
    /// Its CPU time, seconds.
    pub(crate) cpu_s: Seconds,
    /// How long it lived within the observation at most, seconds: from its first call to the end.
    pub(crate) life_s: Seconds,
}

impl From<&Unjudged> for ReportUnjudged {
    fn from(kind: &Unjudged) -> ReportUnjudged {
        let (program, program_calls) = kind.program.clone();
        ReportUnjudged {
            call: kind.call.clone(),
            calls: kind.amount.calls,
            kernel_us: kind.amount.kernel_ns.map(Micros),
            program,
            program_calls,
            site: kind.site.as_ref().map(|site| site.place.clone()),
            site_samples: kind.site.as_ref().map(|site| site.samples),
            samples: kind.site.as_ref().map(|site| site.of),
        }
    }
}

impl From<&Busy> for ReportBusy {
    fn from(busy: &Busy) -> ReportBusy {
        let (cpu_s, life_s) = (Seconds(busy.cpu_ns), Seconds(busy.life_ns));
        ReportBusy { program: busy.program.clone(), pid: busy.pid, cpu_s, life_s }
    }
}

/// Calls, and the time they took.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Amount")]
pub(crate) struct ReportAmount {
    /// How many.
    pub(crate) calls: u64,
    /// Microseconds in the kernel, where known.
    pub(crate) kernel_us: Option<Micros>,
    /// Microseconds that programs themselves worked for them: an estimate by runtime, for those of which that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_us: Option<Micros>,
}

impl From<Amount> for ReportAmount {
    fn from(amount: Amount) -> ReportAmount {
        let Amount { calls, kernel_ns, user_ns } = amount;
        ReportAmount { calls, kernel_us: kernel_ns.map(Micros), user_us: user_ns.map(Micros) }
    }
}

/// Calls of one origin, and what became of them.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Part")]
pub(crate) struct ReportPart {
    /// The service, where services were looked up and it is not just the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service: Option<String>,
    /// The program; absent: several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    /// The place in the program, where sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// The kernel's name of the call; absent: several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<String>,
    /// What they are.
    pub(crate) kind: PartKind,
    /// The rule that says so, of needless ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    /// How many.
    pub(crate) calls: u64,
    /// The time of these calls, microseconds; absent where none was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kernel_us: Option<Micros>,
}

/// What became of calls.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PartKind")]
pub(crate) enum PartKind {
    /// A rule says that they are needless.
    Needless,
    /// They failed or got no new answer, and no rule explains it.
    Unexplained,
    /// They are known to be needed.
    Needed,
    /// No rule looked at them.
    // Or what this version does not know.
    #[serde(other)]
    Unjudged,
}

/// Calls of one kind that no rule explains: a fact, no advice.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Unexplained")]
pub(crate) struct ReportUnexplained {
    /// The program that made them.
    pub(crate) program: String,
    /// How many processes made them.
    pub(crate) processes: u64,
    /// The kernel's name of the call.
    pub(crate) call: String,
    /// The question behind it.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) question: AskedQuestion,
    /// The error's name; absent for calls that repeated a question, and for `sched_yield`, which waited without sleeping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// How many.
    pub(crate) calls: u64,
    /// Microseconds in the kernel, where known.
    pub(crate) kernel_us: Option<Micros>,
    /// A file, a directory with a slash at its end, or the ending of files (`*.pmc`) that many of them are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// How many are about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place_calls: Option<u64>,
    /// The most frequent place in the program, where sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// How many samples are of this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) site_samples: Option<u64>,
    /// How many samples there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) samples: Option<u64>,
}

mirror! {
    /// What a call asks the kernel.
    AskedQuestion as "Question" of needless_model::Query {
        /// The status of what a path leads to.
        Stat,
        /// The status of the path itself.
        Lstat,
        /// To open a file for reading, or a directory.
        Open,
        /// To open a file that may be created or changed.
        OpenWrite,
        /// Whether a file may be used, or exists.
        Access,
        /// What a symbolic link points to.
        Readlink,
        /// To run a program.
        Exec,
        /// To change what a path leads to.
        Change,
        /// Something else about a path.
        OtherPath,
        /// Something that names no path.
        NoPath,
    }
}

/// Calls of one program that waited.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Waits")]
pub(crate) struct ReportWaits {
    /// The program that made them.
    pub(crate) program: String,
    /// What for.
    pub(crate) kind: WaitedFor,
    /// The kernel's name of the call.
    pub(crate) call: String,
    /// How they failed, of `connect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// How many calls waited.
    pub(crate) calls: u64,
    /// How long they took, microseconds: the sum over all threads, which may wait at the same time.
    pub(crate) wait_us: Micros,
}

/// What a call waits for.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WaitedFor {
    Flush,
    Connect,
    Sleep,
    Events,
    Names,
    Threads,
    Lock,
    Children,
    ReadPipe,
    ReadTerminal,
    ReadSocket,
    ReadFile,
    Read,
    WritePipe,
    WriteTerminal,
    WriteSocket,
    WriteFile,
    Write,
    Path,
    // Or something that this version does not know.
    #[serde(other)]
    Other,
}

/// A slow file system.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SlowFileSystem")]
pub(crate) struct ReportSlowMount {
    /// Where it is mounted.
    pub(crate) at: String,
    /// Its type.
    pub(crate) kind: String,
    /// Failed look-ups below it.
    pub(crate) calls: u64,
    /// The mean of their time, microseconds.
    pub(crate) mean_us: Micros,
}

/// What the processes of one program spent.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProgramCpu")]
pub(crate) struct ReportProgramCpu {
    /// The program.
    pub(crate) program: String,
    /// How many processes ran it.
    pub(crate) processes: u64,
    /// CPU time, seconds, without that of child processes; includes a ptrace tracer's stops.
    pub(crate) cpu_s: Seconds,
    /// Of this, in user mode, where it is known.
    pub(crate) cpu_user_s: Option<Seconds>,
}
