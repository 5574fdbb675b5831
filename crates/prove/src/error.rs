//! Why a measurement failed.

use needless_launch::LaunchError;
use needless_observe::Failure;
use std::fmt;
use std::io;

/// How a run differed that was ended, as the end of a sentence.
pub(crate) const TOO_LONG: &str = "it ran 20 times as long: given up";

/// Why a measurement failed. [`Display`](fmt::Display) says it in one line.
#[derive(Debug)]
pub enum ProveError {
    /// The command could not be found, started or observed.
    Observe(Failure),
    /// The command, or one around it, could not be started.
    Launch {
        /// The option that names it ("--prepare"); `None`: it is the measured command.
        option: Option<&'static str>,
        /// Why not.
        error: LaunchError,
    },
    /// A system call of needless itself failed.
    Io {
        /// What could not be done ("cannot open /dev/null").
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// The file of `--stdin` cannot be the input of every run; the sentence says why.
    Stdin(String),
    /// A command around the runs failed.
    Around {
        /// The option that names it.
        option: &'static str,
        /// How it ended ("exits with status 1").
        how: String,
    },
    /// A change cannot be made; the sentence says why.
    Change(String),
    /// The command of `--per` did not count the requests; the sentence says why.
    Counter(String),
    /// The user interrupted a run before anything was measured.
    Interrupted,
    /// A timed run took longer than it may, and was ended.
    TooLong,
    /// The thread that reads the output of the command ended early.
    Reader,
}

impl ProveError {
    pub(crate) fn io(what: &'static str) -> impl Fn(io::Error) -> ProveError {
        move |error| ProveError::Io { what, error }
    }

    pub(crate) fn launch(error: LaunchError) -> ProveError {
        ProveError::Launch { option: None, error }
    }
}

impl From<Failure> for ProveError {
    fn from(failure: Failure) -> ProveError {
        ProveError::Observe(failure)
    }
}

impl fmt::Display for ProveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProveError::Observe(failure) => f.write_str(&failure.message),
            ProveError::Launch { option: Some(option), error } => write!(f, "{option}: {error}"),
            ProveError::Launch { option: None, error } => write!(f, "{error}"),
            ProveError::Io { what, error } => write!(f, "{what}: {error}"),
            ProveError::Stdin(why) => write!(f, "--stdin: {why}"),
            ProveError::Around { option, how } => write!(f, "{option}: the command {how}"),
            ProveError::Change(why) => f.write_str(why),
            ProveError::Counter(why) => write!(f, "--per: {why}"),
            ProveError::Interrupted => f.write_str("interrupted before anything was measured"),
            ProveError::TooLong => f.write_str(TOO_LONG),
            ProveError::Reader => f.write_str("the reader of the output failed"),
        }
    }
}

impl std::error::Error for ProveError {}
