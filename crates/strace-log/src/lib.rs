//! strace text to a profile, streaming.
//!
//! Reads what `strace` 4.x to 7.x prints, whatever its options: see [`read`] and [`read_files`].
//! A call is counted once, when it returned, as `strace -c` counts it. A successful exec is counted
//! on the process it makes: strace's first line is one, and nobody was seen before it.
//!
//! Memory is bounded by the distinct rows of the profile ([`needless_model::Limits`]), not by the
//! length of the log; a line longer than 1 MiB loses its middle.

mod cache;
mod calls;
mod clock;
mod detail;
mod error;
mod files;
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
mod tails;
mod text;
mod verdict;

pub use error::{Format, LogError};
pub use files::{read, read_files};

/// How a log is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Bounds of the profile.
    pub limits: needless_model::Limits,
    /// The variables that may be read from the execve lines of `strace -v`. Nothing else of an
    /// environment is kept.
    pub watch: &'static [&'static str],
}

impl Default for ReadOptions {
    /// The profile's default bounds, and no variable.
    fn default() -> ReadOptions {
        ReadOptions { limits: needless_model::Limits::default(), watch: &[] }
    }
}
