//! Lines that are not calls: the end of a thread, a stack, a table, messages of strace, other output.

use super::{Reader, makes_thread};
use crate::payload;
use crate::prefix::Prefix;
use crate::site::{Below, Frame};
use crate::text;
use memchr::memchr;
use needless_model::Exit;

impl Reader<'_> {
    /// `+++ exited with 0 +++`, `+++ killed by SIGTERM +++`, `+++ superseded by execve in pid N +++`.
    #[cold]
    pub(super) fn mark(&mut self, line: &[u8], prefix: &Prefix<'_>, tid: Option<u32>) {
        let Some(says) = prefix.payload.strip_prefix(b"+++ ") else {
            return self.other(line, prefix);
        };
        let number = |word: &[u8]| says.strip_prefix(word).map(|rest| text::decimal(rest).0 as u32);
        if let Some(from) = number(b"superseded by execve in pid ") {
            self.seen.marks += 1;
            self.tick(prefix);
            let thread = self.thread(prefix, tid, false);
            return self.processes.supersede(thread, from);
        }
        let exit = match (number(b"exited with "), says.strip_prefix(b"killed by ")) {
            (Some(code), _) => Some(Exit::Code(code as i32)),
            (None, Some(name)) => crate::signal::number(name).map(Exit::Signal),
            (None, None) => return self.other(line, prefix),
        };
        self.seen.marks += 1;
        self.seen.exits += u64::from(matches!(exit, Some(Exit::Code(_))));
        self.tick(prefix);
        let tid = prefix.tid.or(tid).unwrap_or_else(|| self.processes.tid_of_unnamed());
        if self.processes.is_stranger(tid) {
            return;
        }
        let thread = self.processes.thread(tid, &mut self.builder, makes_thread);
        let (tid, process) = (self.processes.get(thread).tid, self.processes.get(thread).process);
        self.processes.exited(tid, exit, &mut self.builder);
        let ended = self.builder.process_ref(process).exit.is_some();
        let state = self.processes.state(process);
        if ended && state.whole && !state.exit_call && matches!(exit, Some(Exit::Code(_))) {
            self.seen.silent_exits += 1;
        }
    }

    /// A line that is not a call: of a table, a message of strace, the end of a split line, or other output.
    #[cold]
    pub(super) fn other(&mut self, line: &[u8], prefix: &Prefix<'_>) {
        if self.table.line(line) {
            return;
        }
        if let Some((0, pid, attached)) = payload::message(prefix.payload) {
            if attached {
                self.processes.announce(pid);
            }
            return;
        }
        if prefix.payload.starts_with(b"strace: ") || self.tail(line) {
            return;
        }
        self.seen.unparsed += 1;
        self.seen.binary |= memchr(0, line).is_some();
        if self.seen.first_unparsed.is_none() {
            self.seen.first_unparsed = Some((self.seen.lines, text::sample(line)));
        }
    }

    #[cold]
    pub(super) fn stack_line(&mut self, line: &[u8]) {
        /// Places kept per row.
        const PLACES: usize = 16;
        let Some(row) = self.last_row else { return };
        let Some(frame) = Frame::parse(line) else {
            self.below = Below::Other;
            return;
        };
        if frame.in_runtime() {
            self.below = self.below.and(&frame);
            return;
        }
        let calls = std::mem::take(&mut self.below).called();
        self.last_row = None;
        self.seen.sites = true;
        let sites = &mut self.builder.row_mut(row).sites;
        match sites.iter().position(|(site, _)| frame.is(site, calls)) {
            Some(at) => sites[at].1 += 1,
            None if sites.len() < PLACES => sites.push((frame.site(calls), 1)),
            None => {}
        }
    }
}
