//! A call whose line something else was printed into: output of the program, a message of strace.

use super::{Begun, Reader};
use crate::calls::Kind;
use crate::payload::{self, Ending};

/// A call begun, whose end is on a later line.
pub(super) struct Split {
    pub thread: u32,
    pub call: u16,
    pub at_ns: Option<u64>,
}

/// Most bytes kept of a line that something else was printed into.
pub(super) const SPLIT: usize = 1 << 16;

impl Reader<'_> {
    /// Whether `line` is the rest of a call that something else was printed into.
    #[cold]
    pub(super) fn tail(&mut self, line: &[u8]) -> bool {
        let Some(Split { thread, call, at_ns }) = self.split else { return false };
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(&self.split_text);
        joined.extend_from_slice(&line[..line.len().min(SPLIT)]);
        let fork = self.calls.get(call).kind == Kind::Fork;
        let read = match payload::ending(&joined) {
            Ending::Returned(end) => {
                self.split = None;
                self.split_text.clear();
                self.ended(Begun { thread, call, at_ns, whole: true }, &end);
                true
            }
            Ending::Unfinished(args) => {
                self.split = None;
                self.split_text.clear();
                self.family.begin(thread, call, args, at_ns, fork);
                true
            }
            Ending::Detached | Ending::Open => false,
        };
        self.joined = joined;
        read
    }

    #[cold]
    pub(super) fn drop_split(&mut self) {
        let Some(split) = self.split.take() else { return };
        self.split_text.clear();
        *self.family.abandoned.entry(split.call).or_default() += 1;
    }
}
