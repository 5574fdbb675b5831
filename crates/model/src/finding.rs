//! A rule's verdict: which processes, how many calls, why, what to change, how sure.

use crate::ProcId;
use std::borrow::Cow;

/// The name of a rule ("tz-unset"): of a built-in one, or of one that needless.toml declares.
pub type RuleName = Cow<'static, str>;

words! {
    /// How far a finding has come. Printed with it.
    pub enum Stage {
        /// The pattern matched.
        Seen = "seen",
        /// The cause was found too: function, variable or file, as evidence of this very run.
        Explained = "explained",
        /// Measured before and after the change.
        Proven = "proven",
    }
    /// The word a report prints.
    pub fn word(self);
}

words! {
    /// What `fix` can set besides variables: it knows the file, and how that comes into force.
    pub enum Setting {
        /// The soft limit of open files with which a unit starts its program.
        OpenFiles = "open-files",
        /// nginx's cache of open files.
        NginxOpenFileCache = "nginx-open-file-cache",
        /// Apache's search for files that override its configuration.
        ApacheOverrides = "apache-overrides",
        /// php-fpm's cache of resolved paths.
        PhpRealpathCache = "php-realpath-cache",
        /// The compiled forms of a directory of Python's modules.
        PythonBytecode = "python-bytecode",
        /// The loader's cache of libraries.
        LoaderCache = "loader-cache",
        /// fontconfig's cache of fonts.
        FontCache = "font-cache",
        /// The file of libraries that every program preloads, without those that do not exist.
        PreloadFile = "preload-file",
    }
    /// The word a report prints.
    pub fn word(self);
}

impl Setting {
    /// Whether it is the same for all programs of a machine.
    pub fn is_of_machine(self) -> bool {
        use Setting::{FontCache, LoaderCache, PreloadFile, PythonBytecode};
        matches!(self, LoaderCache | FontCache | PreloadFile | PythonBytecode)
    }
}

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Set a variable. `None`: the right value could not be found.
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
    /// Take entries out of a variable that lists directories, and unset it if none is left. Its whole value is not in a
    /// profile: [`without_entries`](crate::without_entries) makes the new one where the change is made.
    WithoutEntries {
        /// Its name.
        variable: String,
        /// The entries, as written in the value.
        entries: Vec<String>,
    },
    /// Run with the preload library.
    Preload,
    /// Something else that `fix` can make, and what a person would do instead.
    Setting(Setting, String),
    /// An option or setting of the program.
    Option(String),
    /// Something that a person has to decide and do.
    Manual(String),
}

impl Change {
    /// The variable that it changes.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Change::SetEnv { variable, .. }
            | Change::UnsetEnv { variable }
            | Change::WithoutEntries { variable, .. } => Some(variable),
            Change::Preload | Change::Setting(..) | Change::Option(_) | Change::Manual(_) => None,
        }
    }

    /// Its name in formats for other tools.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::SetEnv { .. } => "set_env",
            Change::UnsetEnv { .. } => "unset_env",
            Change::WithoutEntries { .. } => "without_entries",
            Change::Preload => "preload",
            Change::Setting(..) => "setting",
            Change::Option(_) => "option",
            Change::Manual(_) => "manual",
        }
    }
}

/// How safe a change is, with the sentence that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Safety {
    /// It changes nothing else; the sentence says why that is known.
    Safe(String),
    /// It is right for most programs; the sentence says when it is not.
    Caveat(String),
    /// No tool should apply it; the sentence says why.
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

/// A change and how safe it is.
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
    /// The rule.
    pub rule: RuleName,
    /// How far it has come.
    pub stage: Stage,
    /// The processes it concerns, the one with most needless calls first. Never empty.
    pub processes: Vec<ProcId>,
    /// The service that all of them belong to, if findings were made per service; as
    /// [`Process::service`](crate::Process::service).
    pub service: Option<String>,
    /// Calls that could go.
    pub needless: u64,
    /// Calls that go with them, without being counted one by one (a file that is not opened is neither read
    /// nor closed); negative if others come in their place. With `needless` it is what the remedy saves.
    /// They are apart because every backend counts `needless` one by one; `make cases` compares the sum with strace.
    pub besides: i64,
    /// How often the question was asked, including the first time, which is needed.
    pub of: u64,
    /// Kernel time of the needless calls, nanoseconds: measured or estimated.
    pub kernel_ns: Option<u64>,
    /// Whether `kernel_ns` is the host's measured cost of a call times the count, not a
    /// measurement of these calls.
    pub estimated: bool,
    /// What the program itself works for these calls, beside them, nanoseconds: an estimate by its runtime. `None`
    /// where that is not known: what is saved is then `kernel_ns` at least.
    pub user_ns: Option<u64>,
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

impl Finding {
    /// What the needless calls take in the kernel and, as far as that is known, in the program. Nanoseconds.
    pub fn time_ns(&self) -> Option<u64> {
        Some(self.kernel_ns?.saturating_add(self.user_ns.unwrap_or(0)))
    }

    /// The variable that its best remedy with one changes.
    pub fn variable(&self) -> Option<&str> {
        self.remedies.iter().find_map(|remedy| remedy.change.variable())
    }
}
