//! Where a variable of a process comes from, step by step.

/// A variable's value, if it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// It was set, to this.
    Set(String),
    /// It was not set.
    Unset,
    /// It could not be read; the sentence says why.
    Unknown(String),
}

impl Value {
    /// The text, where it is set.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Set(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is known to be unset.
    pub fn is_unset(&self) -> bool {
        *self == Value::Unset
    }

    /// Whether it could be read.
    pub fn is_known(&self) -> bool {
        !matches!(self, Value::Unknown(_))
    }
}

/// One process on the way from the first ancestor to the process in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Process id, as the observer sees it.
    pub pid: u32,
    /// Its executable's path, or its name where the path is not readable.
    pub program: String,
    /// Its role, where that is known: "systemd, PID 1", "cron", "a shell".
    pub role: Option<String>,
    /// The value at the process's last exec.
    pub initial: Value,
    /// The value now, in the program's own memory.
    pub live: Value,
    /// What happened here, one sentence each.
    pub says: Vec<String>,
}

/// A file that sets or removes the variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The file, below the process's root; or the command that shows a setting which is in no file.
    pub file: String,
    /// The line, from 1; 0 where the file as a whole is the setting.
    pub line: u32,
    /// The setting: "TZ=UTC", "TZ removed".
    pub says: String,
    /// Whether it reaches the process, with the reason.
    pub reaches: Visibility,
}

/// Whether a setting reaches the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Yes; who reads it.
    Yes(String),
    /// No; why not.
    No(String),
    /// Perhaps; what it depends on.
    Perhaps(String),
}

words! {
    /// How sure it is that a change belongs in a place.
    pub enum Confidence {
        /// An orphan, or only a guess.
        Low = "low",
        /// It follows from a rule about its ancestors.
        Medium = "medium",
        /// The process itself or its configuration shows it.
        High = "high",
    }
    /// The word a report prints.
    pub fn word(self);
}

/// Where the variable of a process would be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The place ("a drop-in of nginx.service").
    pub place: String,
    /// The file that would be written, where there is one.
    pub file: Option<String>,
    /// Why there.
    pub why: String,
    /// How sure.
    pub confidence: Confidence,
}

/// Where a variable of a process comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The variable.
    pub variable: String,
    /// The answer in one sentence.
    pub answer: String,
    /// Further explanations that are also possible.
    pub or: Vec<String>,
    /// From the first ancestor to the process.
    pub steps: Vec<Step>,
    /// Every file that was found to set it.
    pub mentions: Vec<Assignment>,
    /// Where a change would belong, best first.
    pub belongs: Vec<Location>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
    /// Kinds of sources that may set a variable of such a process and that are not searched.
    pub not_looked_at: Vec<String>,
}
