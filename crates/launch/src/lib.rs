//! Starts the command as a shell would without needless, and waits for it: with the
//! environment, limits, signal mask and dispositions, descriptors and user that it would have
//! then.

mod caller;
mod endings;
mod error;
mod exit;
mod forward;
mod memory;
mod original;
mod prepared;
mod supervise;
mod timed;

pub use caller::{Behind, Caller, behind};
pub use endings::{Asked, TerminationSignals};
pub use error::LaunchError;
pub use exit::exit_like;
pub use forward::{Forward, keep_inherited, note_inherited, pidfd, release_inherited, wait_for};
pub use memory::return_free_memory;
pub use original::{Original, rename_command_line, survive_file_size_limit, was_closed};
pub use prepared::{Child, Prepared, become_command};
pub use supervise::{Ended, Watch, supervise};
pub use timed::{Running, peak_floor_kib, start};

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// What to run. Everything else (working directory, limits, umask, signal mask
/// and dispositions, process group, terminal, open descriptors) is that of the caller of needless.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file to execute, already found in `PATH`.
    pub program: PathBuf,
    /// The arguments, the command's name as typed first.
    pub argv: Vec<OsString>,
    /// Its environment; `None`: that of this process, byte by byte.
    pub env: Option<Vec<(OsString, OsString)>>,
    /// Its standard streams.
    pub stdio: Stdio,
    /// The user it runs as, if not the current one; then `env` must hold the environment.
    pub caller: Option<Caller>,
}

/// The standard streams of a command.
#[derive(Clone, Debug, Default)]
pub enum Stdio {
    /// Those of this process.
    #[default]
    Inherit,
    /// All three `/dev/null`.
    Null,
    /// stdin and stderr are `/dev/null`; stdout is kept for [`Child::captured`]. For output that fits in
    /// memory.
    Capture,
    /// These descriptors.
    Given([Arc<OwnedFd>; 3]),
}
