//! Calls of the commonest forms, counted without taking all of their line apart.

use super::{Begun, Reader};
use crate::calls::{Call, Kind, Shape};
use crate::prefix::Prefix;
use crate::{record, tails};
use needless_model::Answer;

impl Reader<'_> {
    /// Counts a call that names a path, if the same thread's process did the very same lately.
    #[inline]
    pub(super) fn again(
        &mut self,
        prefix: &Prefix<'_>,
        tid: Option<u32>,
        call: u16,
        rest: &[u8],
    ) -> bool {
        let known = self.calls.get(call);
        if known.shape == Shape::None || self.split.is_some() || record::has_empty_path(rest) {
            return false;
        }
        let Some((text, kernel_ns)) = tails::timed(rest) else { return false };
        let Some(thread) = self.family.known_thread(prefix.tid.or(tid)) else { return false };
        let process = self.family.get(thread).process;
        let Some(known) = self.cache.find(self.asker(process, call), text) else { return false };
        // Only now is it sure that it is a call.
        let at_ns = self.tick(prefix);
        if self.family.pending(thread).is_some() {
            self.family.abandon(thread);
        }
        self.counted_again(process, call, known, at_ns, kernel_ns);
        true
    }

    /// Counts a call of the commonest form, of which the rest of the line has all: no line of the
    /// thread or its process is waited for.
    #[inline]
    pub(super) fn common(
        &mut self,
        prefix: &Prefix<'_>,
        tid: Option<u32>,
        call: u16,
        rest: &[u8],
    ) -> bool {
        let Some((end, outcome)) = self.tails.ending(rest) else { return false };
        let Call { shape, kind, .. } = *self.calls.get(call);
        if self.split.is_some() || matches!(kind, Kind::Exec | Kind::Exit) {
            return false;
        }
        let at_ns = self.tick(prefix);
        let thread = self.thread(prefix, tid, false);
        if self.family.pending(thread).is_some() {
            self.family.abandon(thread);
        }
        if shape == Shape::None && matches!(kind, Kind::Plain | Kind::Startup) {
            // Nothing but the outcome matters; half of all calls are such.
            let process = self.family.get(thread).process;
            let state = self.family.state(process);
            state.startup |= kind == Kind::Startup;
            state.failure |= outcome.is_err();
            self.seen.calls += 1;
            self.seen.ok += u64::from(outcome.is_ok());
            self.seen.timed |= end.kernel_ns.is_some();
            let answer = Answer { at_ns, kernel_ns: end.kernel_ns, ..Answer::outcome(outcome) };
            self.count(process, call, answer);
            return true;
        }
        self.returned(Begun { thread, call, at_ns, whole: true }, &end, outcome);
        true
    }

    /// Counts a resumed call that names a path, if its process did the very same lately.
    pub(super) fn resumed_again(&mut self, begun: Begun, joined: &[u8]) -> bool {
        let Begun { thread, call, at_ns, .. } = begun;
        if self.calls.get(call).shape == Shape::None {
            return false;
        }
        let Some((text, kernel_ns)) = tails::timed(joined) else { return false };
        let process = self.family.get(thread).process;
        let Some(known) = self.cache.find(self.asker(process, call), text) else { return false };
        self.counted_again(process, call, known, at_ns, kernel_ns);
        true
    }
}
