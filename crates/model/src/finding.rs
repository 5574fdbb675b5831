//! A rule's verdict: who, how many calls, why, what to change, how sure.

use crate::ProcId;

/// How far a finding has come. Printed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The pattern matched.
    Seen,
    /// The cause was found too: function, variable or file, as evidence of this very run.
    Explained,
    /// Measured before and after the change.
    Proven,
}

impl Stage {
    /// The word a report prints.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Seen => "seen",
            Stage::Explained => "explained",
            Stage::Proven => "proven",
        }
    }
}

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Set a variable. `None`: which value is right could not be found out from here.
    SetEnv {
        /// Its name.
        variable: String,
        /// The value to set.
        value: Option<String>,
    },
    /// Unset a variable.
    UnsetEnv {
        /// Its name.
        variable: String,
    },
    /// Run with the preload library.
    Preload,
    /// An option or setting of the program.
    Option(String),
    /// Something a person has to decide and do.
    Manual(String),
}

impl Change {
    /// The word for it in formats that other tools read.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::SetEnv { .. } => "set_env",
            Change::UnsetEnv { .. } => "unset_env",
            Change::Preload => "preload",
            Change::Option(_) => "option",
            Change::Manual(_) => "manual",
        }
    }
}

/// How safe a change is. Cannot be built without the sentence that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Safety {
    /// Changes nothing else; the sentence says why that is known.
    Safe(String),
    /// Right for most; the sentence says when not to.
    Caveat(String),
    /// Not to be applied by a tool; the sentence says why.
    Manual(String),
}

impl Safety {
    /// The sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Safety::Safe(s) | Safety::Caveat(s) | Safety::Manual(s) => s,
        }
    }
}

/// A change with its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What to change.
    pub change: Change,
    /// How safe it is.
    pub safety: Safety,
}

/// A count that a user can check with strace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The call ("newfstatat").
    pub call: String,
    /// Path or pattern ("/etc/localtime").
    pub path: String,
    /// "ok" or the error's name ("ENOENT").
    pub outcome: String,
    /// How often.
    pub count: u64,
}

/// A rule's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule's name ("tz-unset").
    pub rule: &'static str,
    /// How far it has come.
    pub stage: Stage,
    /// Whom it concerns; the one with most needless calls first. Never empty.
    pub processes: Vec<ProcId>,
    /// The service that all of them belong to, where findings were made service by service; as
    /// [`Process::service`](crate::Process::service).
    pub service: Option<String>,
    /// Calls that could go.
    pub needless: u64,
    /// Calls that go with them, without being counted one by one (a file that is not opened is neither read
    /// nor closed); negative if others come in their place. With `needless` it is what the remedy saves.
    pub besides: i64,
    /// How often the question was put, the needed first time included.
    pub of: u64,
    /// Kernel time of the needless calls, nanoseconds: measured or estimated.
    pub kernel_ns: Option<u64>,
    /// Whether `kernel_ns` is the host's calibrated cost of a call times the count, not a
    /// measurement of these calls.
    pub estimated: bool,
    /// One line: what was seen.
    pub what: String,
    /// Why the program does it: mechanism, function and variable.
    pub why: String,
    /// Where in the program, most frequent first.
    pub sites: Vec<String>,
    /// Counts to check.
    pub evidence: Vec<Evidence>,
    /// What to do, best first.
    pub remedies: Vec<Remedy>,
    /// Rows this finding accounts for (positions in the profile): a later rule leaves them alone.
    pub rows: Vec<usize>,
}
