//! What the builder remembers of each question: its rows, and its last answer.
//!
//! A question is *repeated* if the same process asks it (call and path) again, gets the same answer (outcome and, where
//! it was read, a fingerprint of inode, device, size and time of modification), less than 1 ms has passed, and nothing
//! happened in between that could have changed it: no change to the file system by a traced process, no wait, no new
//! process. Each condition protects a program that would otherwise be accused wrongly: SQLite looks for another
//! process's journal before each of its own changes; a program that waits for a file polls it; make asks again after
//! the compiler has run.

use crate::{CallId, ProcId, Query, Target};

#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) process: ProcId,
    pub(super) call: CallId,
    pub(super) query: Query,
    pub(super) target: Target,
}

/// A question that was asked. There are nearly as many as rows, so this is small.
pub(super) struct Asked {
    pub(super) key: Key,
    /// The rows of this question, one per outcome seen: the newest, which leads to the next.
    pub(super) newest_row: u32,
}

/// The last answer to a question.
pub(super) struct Last {
    /// When it was given; [`UNKNOWN`] where that is not known.
    pub(super) at_ns: u64,
    pub(super) fingerprint: u64,
    /// Its row, which holds its outcome; [`NONE`] if there was no answer or it was not seen.
    pub(super) row: u32,
    pub(super) epoch: u32,
    pub(super) has_fingerprint: bool,
    /// As [`Query::changes`] of the question.
    pub(super) changes: bool,
}

/// No row.
pub(super) const NONE: u32 = u32::MAX;
/// No time: six hundred years after the window's start.
pub(super) const UNKNOWN: u64 = u64::MAX;

impl Last {
    /// Before a first answer.
    pub(super) fn none(query: Query) -> Last {
        Last {
            at_ns: UNKNOWN,
            fingerprint: 0,
            row: NONE,
            epoch: 0,
            has_fingerprint: false,
            changes: query.changes(),
        }
    }

    pub(super) fn fingerprint(&self) -> Option<u64> {
        self.has_fingerprint.then_some(self.fingerprint)
    }

    /// Whether `self`, the next answer, equals `before`, and nothing in between and no time
    /// could have changed it. One expression without branches, because it runs for every call.
    #[inline]
    pub(super) fn repeats(&self, before: &Last, within_ns: u64) -> bool {
        let soon = (self.at_ns == UNKNOWN)
            | (before.at_ns == UNKNOWN)
            | (self.at_ns.saturating_sub(before.at_ns) < within_ns);
        (self.epoch == before.epoch)
            & (self.row == before.row)
            & (self.row != NONE)
            & (self.has_fingerprint == before.has_fingerprint)
            & (self.fingerprint == before.fingerprint)
            & soon
    }
}
