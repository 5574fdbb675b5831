//! Calls of the most common forms, counted without parsing all of their line.

use super::{EndedCall, Reader};
use crate::call_names::{Class, Named, PathAt, Role};
use crate::fast::tails;
use crate::payload;
use crate::prefix::Prefix;
use crate::record;
use needless_model::{Answer, Errno, ProcId};

impl Reader<'_> {
    /// Counts a call of a common form that is complete in its line: no line of the thread or its
    /// process is awaited. `ahead` starts with the payload, may be longer, and starts with
    /// the name.
    #[inline]
    pub(super) fn common(
        &mut self,
        line: &[u8],
        ahead: &[u8],
        prefix: &Prefix<'_>,
        tid: Option<u32>,
        named: Named,
    ) -> bool {
        let Named { call, class, len } = named;
        let Some(rest) = prefix.payload.get(usize::from(len)..) else { return false };
        let Some((text, kernel_ns)) = tails::timed(rest) else { return false };
        if self.split.is_some() {
            return false;
        }
        let Some(thread) = self.processes.known_thread(prefix.tid.or(tid)) else { return false };
        let process = self.processes.get(thread).process;
        match class {
            Class::Path if !record::has_empty_path(text) => {
                let asker = self.asker(process, call);
                if let Some(known) = self.cache.find(asker, text, &ahead[usize::from(len)..]) {
                    // Only now it is certain that it is a call.
                    let at_ns = self.tick(prefix);
                    self.processes.leave(thread);
                    self.counted_again(process, call, known, at_ns, kernel_ns);
                    return true;
                }
            }
            Class::Plain if !self.calls.get(call).classified_by.may_classify(text) => {
                // Only the outcome matters; half of all calls are of this kind.
                let line = &line[..line.len() - (rest.len() - text.len())];
                let Some((end, outcome)) = self.tails.ending_of(line, text, kernel_ns) else {
                    return false;
                };
                let at_ns = self.tick(prefix);
                self.processes.leave(thread);
                self.seen.calls += 1;
                self.seen.ok += u64::from(outcome.is_ok());
                self.seen.timed |= kernel_ns.is_some();
                let passed = payload::passed(end.args, end.ret, kernel_ns);
                let answer = Answer { at_ns, kernel_ns, passed, ..Answer::outcome(outcome) };
                match self.rows.find((process, call, outcome)) {
                    Some(row) => {
                        self.last_row = Some(row);
                        self.builder.count_again(row, 1, answer);
                    }
                    None => self.first_of_its_row(process, call, outcome, answer),
                }
                return true;
            }
            _ => {}
        }
        self.count_in_full(prefix, thread, call, text, kernel_ns)
    }

    /// The first call of a row: what it shows about its process, the others only repeat.
    #[inline(never)]
    fn first_of_its_row(
        &mut self,
        process: ProcId,
        call: u16,
        outcome: Result<(), Errno>,
        answer: Answer,
    ) {
        let startup = self.calls.get(call).role == Role::Startup;
        let state = self.processes.state(process);
        state.startup |= startup;
        state.failure |= outcome.is_err();
        self.count(process, call, answer);
    }

    /// Counts a call that shows more than its count, or that was not made lately.
    #[inline(never)]
    fn count_in_full(
        &mut self,
        prefix: &Prefix<'_>,
        thread: u32,
        call: u16,
        text: &[u8],
        kernel_ns: Option<u64>,
    ) -> bool {
        if matches!(self.calls.get(call).role, Role::Exec | Role::Exit) {
            return false;
        }
        let Some((end, outcome)) = self.tails.ending_of(text, text, kernel_ns) else {
            return false;
        };
        let at_ns = self.tick(prefix);
        self.processes.leave(thread);
        self.returned(EndedCall { thread, call, at_ns, whole: true }, &end, outcome);
        true
    }

    /// Counts a resumed call that names a path, if its process made the same call lately.
    pub(super) fn resumed_again(&mut self, ended_call: EndedCall, joined: &[u8]) -> bool {
        let EndedCall { thread, call, at_ns, .. } = ended_call;
        if self.calls.get(call).path_at == PathAt::Nowhere {
            return false;
        }
        let Some((text, kernel_ns)) = tails::timed(joined) else { return false };
        let process = self.processes.get(thread).process;
        let asker = self.asker(process, call);
        let Some(known) = self.cache.find(asker, text, text) else { return false };
        self.counted_again(process, call, known, at_ns, kernel_ns);
        true
    }
}
