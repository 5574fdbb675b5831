//! A call whose line was split by other output: of the program, or a message of strace.

use super::{EndedCall, Reader};
use crate::call_names::Role;
use crate::payload::{self, Ending};

/// A call that has started; its end is on a later line.
pub(super) struct Split {
    pub thread: u32,
    pub call: u16,
    pub at_ns: Option<u64>,
}

/// Most bytes kept of a split line.
pub(super) const SPLIT: usize = 1 << 16;

impl Reader<'_> {
    /// Whether `line` is the rest of a split call.
    #[cold]
    pub(super) fn tail(&mut self, line: &[u8]) -> bool {
        let Some(Split { thread, call, at_ns }) = self.split else { return false };
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(&self.split_text);
        joined.extend_from_slice(&line[..line.len().min(SPLIT)]);
        let fork = self.calls.get(call).role == Role::Fork;
        let read = match payload::ending(&joined) {
            Ending::Returned(end) => {
                self.split = None;
                self.split_text.clear();
                self.ended(EndedCall { thread, call, at_ns, whole: true }, &end);
                true
            }
            Ending::Unfinished(args) => {
                self.split = None;
                self.split_text.clear();
                self.processes.begin(thread, call, args, at_ns, fork);
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
        *self.processes.abandoned.entry(split.call).or_default() += 1;
    }
}
