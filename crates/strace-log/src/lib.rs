//! strace text to a profile, streaming.
//!
//! Reads what `strace` 4.x to 7.x prints, whatever its options: see [`read`] and [`read_files`].
//! A call is counted once, when it returned, as `strace -c` counts it. A successful exec is counted
//! for the process it makes: the first line of strace is one, and no process was seen before it.
//!
//! Memory is bounded by the distinct rows of the profile ([`needless_model::Limits`]), not by the
//! length of the log; a line longer than 1 MiB loses its middle.

mod call_names;
mod classify;
mod clock;
mod error;
mod fast;
mod files;
mod finish;
mod input;
mod limit;
mod lines;
pub mod notation;
mod path;
mod payload;
mod prefix;
mod processes;
mod reader;
mod record;
mod signal;
mod site;
mod table;
mod text;

pub use error::{Compression, LogError};
pub use files::{read, read_files};

use needless_model::{Limits, WatchList};

/// How a log is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Bounds of the profile.
    pub limits: Limits,
    /// The variables that may be read from the execve lines of `strace -v`. Nothing else of an
    /// environment is kept.
    pub watch: WatchList,
}
