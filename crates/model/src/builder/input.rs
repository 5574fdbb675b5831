//! What a backend reports to the [`Builder`](super::Builder), and within which limits.

#[cfg(doc)]
use crate::{Builder, Loss, Row};
use crate::{CallId, Errno, Passed, Query, Sequence};

/// Limits of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Distinct rows; more are folded into one row per call and outcome, and are counted as
    /// [`Loss::FoldedRows`].
    pub rows: usize,
    /// Distinct processes; the rows of more are folded, and they are counted as
    /// [`Loss::FoldedProcesses`].
    pub processes: usize,
    /// Bytes that describe processes (executables, variables, directories). Beyond this limit
    /// processes are folded, too: one long variable and a million forks are a short log.
    pub process_bytes: usize,
    /// A question that is asked again within this time counts as repeated, nanoseconds. A program
    /// that looks for a file every hundredth of a second is waiting for it.
    pub repeat_within_ns: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            rows: 200_000,
            processes: 65_536,
            process_bytes: 64 << 20,
            repeat_within_ns: 1_000_000,
        }
    }
}

/// A question to the kernel: call and path. The path is as asked, made absolute where its
/// directory is known.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Kernel name of the call, from [`Builder::call`].
    pub call: CallId,
    /// The question behind it.
    pub query: Query,
    /// The path.
    pub path: &'a str,
    /// Whether a relative path is relative to a directory descriptor (`true`) or to the working
    /// directory (`false`). Ignored for absolute paths.
    pub from_dir_fd: bool,
}

/// Number of a question in one [`Builder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuestionId(pub(super) u32);

/// The kernel's answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    /// Ok or the error; `None` where it was not seen.
    pub outcome: Option<Result<(), Errno>>,
    /// A hash of what matters in the answer (for stat: inode, device, size, modification time),
    /// where it was read.
    pub fingerprint: Option<u64>,
    /// When the call was made, nanoseconds since the window's start, where known.
    pub at_ns: Option<u64>,
    /// Time in the kernel, where known.
    pub kernel_ns: Option<u64>,
    /// What a single call without a path was given and returned, where known.
    pub passed: Option<Passed>,
}

impl Answer {
    /// An answer with a known outcome, and nothing else known.
    pub fn outcome(outcome: Result<(), Errno>) -> Answer {
        Answer { outcome: Some(outcome), ..Answer::default() }
    }
}

/// Many answers to one question with one outcome, from a backend that aggregates them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// As [`Row::repeated`].
    pub repeated: u64,
    /// When the first was given, nanoseconds since the window's start.
    pub first_ns: u64,
    /// When the last was given.
    pub last_ns: u64,
    /// As [`Row::kernel_ns`].
    pub kernel_ns: u64,
    /// As [`Row::timed`].
    pub timed: u64,
    /// As [`Row::sequence`].
    pub sequence: Sequence,
}
