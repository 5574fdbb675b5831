//! Starts the command as if we were not there, and waits for it: what a shell starts, with the
//! environment, limits, signal mask and dispositions, descriptors and user that it would have without
//! us.

mod caller;
mod endings;
mod error;
mod exit;
mod forward;
mod original;
mod prepared;
mod supervise;
mod timed;

pub use caller::{Behind, Caller, behind};
pub use endings::TerminationSignals;
pub use error::LaunchError;
pub use exit::exit_like;
pub use forward::{Forward, release_standard_streams, wait_for};
pub use original::{Original, rename_command_line, survive_file_size_limit};
pub use prepared::{Child, Prepared, become_command};
pub use supervise::{Ended, Watch, supervise};
pub use timed::{Running, peak_floor_kib, start};

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// What to run. Everything that is not named here (working directory, limits, umask, signal mask
/// and dispositions, process group, terminal, open descriptors) is our own caller's.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file to execute: looked up in `PATH` already.
    pub program: PathBuf,
    /// The arguments, the command's name as typed first.
    pub argv: Vec<OsString>,
    /// Its environment; `None`: ours, to the byte.
    pub env: Option<Vec<(OsString, OsString)>>,
    /// Its standard streams.
    pub stdio: Stdio,
    /// The user it runs as, if not our own; its environment is then to be given in `env`.
    pub caller: Option<Caller>,
}

/// The standard streams of a command.
#[derive(Clone, Debug, Default)]
pub enum Stdio {
    /// Ours.
    #[default]
    Inherit,
    /// All three `/dev/null`.
    Null,
    /// stdin and stderr `/dev/null`; stdout kept for [`Child::captured`]. For output that fits in
    /// memory.
    Capture,
    /// These descriptors.
    Given([Arc<OwnedFd>; 3]),
}
