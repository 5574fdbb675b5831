//! Line by line: which kind of line it is, and which thread it belongs to.

use crate::ReadOptions;
mod again;
mod marks;
mod split;

use crate::call_names::{CallNames, Role};
use crate::clock::Clock;
use crate::fast::cache::{self, Cache, RecentRows};
use crate::fast::tails::Tails;
use crate::lines::Line;
use crate::payload::{self, Ending};
use crate::prefix::{Prefix, Recent};
use crate::processes::Processes;
use crate::site::Below;
use crate::table::CountTable;
use crate::text;
use memchr::{memchr, memmem};
use needless_model::Builder;
use split::{SPLIT, Split};
use std::collections::BTreeSet;

/// Reads lines into a profile.
pub(crate) struct Reader<'o> {
    pub(crate) options: &'o ReadOptions,
    pub(crate) builder: Builder,
    pub(crate) calls: CallNames,
    pub(crate) processes: Processes,
    pub(crate) cache: Cache,
    pub(crate) rows: RecentRows,
    pub(crate) clock: Clock,
    pub(crate) table: CountTable,
    pub(crate) seen: LogFacts,
    split: Option<Split>,
    split_text: Vec<u8>,
    /// The arguments of a call, joined from several lines.
    joined: Vec<u8>,
    plain: Vec<u8>,
    recent: Recent,
    tails: Tails,
    /// Escape sequences were seen: lines are searched for them.
    coloured: bool,
    /// The row of the call last counted, while its stack may still follow.
    pub(crate) last_row: Option<usize>,
    /// What was read of that stack so far.
    below: Below,
    /// Buffers for texts.
    pub(crate) path: Vec<u8>,
    pub(crate) piece: Vec<u8>,
}

/// What was found in the lines so far.
#[derive(Debug, Default)]
pub(crate) struct LogFacts {
    pub lines: u64,
    pub first_line: Vec<u8>,
    pub calls: u64,
    pub ok: u64,
    /// Lines that only strace writes: `+++ exited with 0 +++`, `--- SIGCHLD …`.
    pub marks: u64,
    pub unparsed: u64,
    pub first_unparsed: Option<(u64, String)>,
    pub binary: bool,
    pub paths: u64,
    /// Calls with a path of which the log has only a pointer, or a part.
    pub pointers: u64,
    pub stats: u64,
    pub abbreviated: bool,
    pub timed: bool,
    pub sites: bool,
    pub environment: bool,
    pub cut_variables: bool,
    pub long_lines: u64,
    pub last_cut: bool,
    /// Several files were read one after the other, because they have no common clock.
    pub unordered_files: bool,
    /// Processes that exited without an exit call in the log.
    pub silent_exits: u64,
    /// Exits shown by a mark, and calls of exit and exit_group.
    pub exits: u64,
    pub exit_calls: u64,
    /// What was opened as a directory, or shown to be one.
    pub directories: BTreeSet<String>,
}

impl<'o> Reader<'o> {
    pub(crate) fn new(options: &'o ReadOptions) -> Reader<'o> {
        Reader {
            options,
            builder: Builder::new(options.limits),
            calls: CallNames::default(),
            processes: Processes::default(),
            cache: Cache::new(cache::PAIRS),
            rows: RecentRows::new(),
            clock: Clock::default(),
            table: CountTable::default(),
            seen: LogFacts::default(),
            split: None,
            split_text: Vec::new(),
            joined: Vec::new(),
            plain: Vec::new(),
            recent: Recent::default(),
            tails: Tails::default(),
            coloured: false,
            last_row: None,
            below: Below::Nothing,
            path: Vec::new(),
            piece: Vec::new(),
        }
    }

    /// Reads one line. `tid` is the thread of lines that name none, known by the file's name.
    #[inline]
    pub(crate) fn line(&mut self, line: &Line<'_>, tid: Option<u32>) {
        self.seen.lines += 1;
        let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        // A log with colours has them from the start; a search in every line takes time.
        if self.seen.lines > 1000 && !self.coloured && !line.cut && !line.last {
            self.plain_line(bytes, line.ahead, tid);
        } else {
            self.rare_line(line, bytes, tid);
        }
    }

    /// A line at the start or the end of a log, or one that is longer than was read, or coloured.
    #[cold]
    fn rare_line(&mut self, line: &Line<'_>, bytes: &[u8], tid: Option<u32>) {
        self.seen.long_lines += u64::from(line.cut);
        if self.seen.first_line.is_empty() {
            self.seen.first_line.extend_from_slice(&bytes[..bytes.len().min(256)]);
        }
        let split_before = self.split.is_some();
        if (self.coloured || self.seen.lines <= 1000) && memchr(0x1b, bytes).is_some() {
            self.coloured = true;
            let mut plain = std::mem::take(&mut self.plain);
            text::strip_colour(bytes, &mut plain);
            self.plain_line(&plain, &plain, tid);
            self.plain = plain;
        } else {
            self.plain_line(bytes, line.ahead, tid);
        }
        if line.last && !split_before && self.split.is_some() {
            self.seen.last_cut = true;
        }
    }

    /// The log is over.
    pub(crate) fn end(&mut self) {
        self.drop_split();
        self.processes.abandon_all();
    }

    /// `ahead` starts with the line and may be longer.
    fn plain_line(&mut self, line: &[u8], ahead: &[u8], tid: Option<u32>) {
        if line.starts_with(b" > ") {
            return self.stack_line(line);
        }
        self.below = Below::Nothing;
        let prefix = self.recent.parse(line);
        match prefix.payload {
            [] => {}
            [b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'?', ..] => {
                // The text before the call is no longer needed.
                let ahead = ahead.get(line.len() - prefix.payload.len()..);
                self.words(line, ahead.unwrap_or(prefix.payload), &prefix, tid);
            }
            [b'<', ..] => self.resumed(line, &prefix, tid),
            [b'+', ..] => self.mark(line, &prefix, tid),
            s if s.starts_with(b"--- ") && s.ends_with(b" ---") => {
                self.seen.marks += 1;
                self.tick(&prefix);
            }
            s if s.starts_with(b"[ Process PID=") => {}
            _ => self.other(line, &prefix),
        }
    }

    /// When the line was written. Only for lines of strace: a program may print times, too.
    #[inline(always)]
    fn tick(&mut self, prefix: &Prefix<'_>) -> Option<u64> {
        prefix.time.map(|time| self.clock.at(time))
    }

    /// The number of the thread whose line it is.
    fn thread(&mut self, prefix: &Prefix<'_>, tid: Option<u32>, resumes: bool) -> u32 {
        let tid = match prefix.tid.or(tid) {
            Some(tid) => {
                if prefix.bracketed {
                    self.processes.name_first(tid, resumes, &mut self.builder);
                }
                tid
            }
            None => self.processes.tid_of_unnamed(),
        };
        self.processes.thread(tid, &mut self.builder, makes_thread)
    }

    #[inline]
    fn words(&mut self, line: &[u8], ahead: &[u8], prefix: &Prefix<'_>, tid: Option<u32>) {
        if let Some(named) = self.calls.recent(ahead)
            && self.common(line, ahead, prefix, tid, named)
        {
            return;
        }
        self.call(line, ahead, prefix, tid);
    }

    /// A line that starts with a word, taken apart.
    #[inline(never)]
    fn call(&mut self, line: &[u8], ahead: &[u8], prefix: &Prefix<'_>, tid: Option<u32>) {
        let Some((name, rest)) = payload::call(prefix.payload) else {
            return self.other(line, prefix);
        };
        let ending = payload::ending(rest);
        if let Ending::Open = ending {
            // `6hello`, or a cut end: it is the start of a call only if strace surely wrote the line.
            if prefix.tid.is_none() && prefix.time.is_none() && !plausible(rest) {
                return self.other(line, prefix);
            }
        }
        let at_ns = self.tick(prefix);
        let call = match self.calls.recent(ahead) {
            Some(named) => named.call,
            None => {
                let call = self.calls.find_or_add(name, &mut self.builder);
                self.calls.learn(ahead, name.len(), call);
                call
            }
        };
        let role = self.calls.get(call).role;
        if role == Role::Exec && self.first_exec(prefix, tid, call, &ending, at_ns) {
            return;
        }
        let thread = self.thread(prefix, tid, false);
        if self.processes.pending(thread).is_some() {
            self.processes.abandon(thread);
        }
        if self.split.as_ref().is_some_and(|s| s.thread == thread) {
            self.drop_split();
        }
        if role == Role::Exit {
            let process = self.processes.get(thread).process;
            self.processes.state(process).exit_call = true;
            self.seen.exit_calls += 1;
        }
        match ending {
            Ending::Returned(end) => {
                self.tails.learn(end.ret);
                self.ended(EndedCall { thread, call, at_ns, whole: true }, &end);
            }
            Ending::Unfinished(args) => {
                self.processes.begin(thread, call, args, at_ns, role == Role::Fork);
            }
            Ending::Detached => {
                self.processes.begin(thread, call, b"", at_ns, false);
                self.processes.abandon(thread);
            }
            Ending::Open => {
                self.drop_split();
                let (head, message) = match payload::message(rest) {
                    Some((at, pid, attached)) => (&rest[..at], Some((pid, attached))),
                    None => (rest, None),
                };
                self.split = Some(Split { thread, call, at_ns });
                self.split_text.extend_from_slice(&head[..head.len().min(SPLIT)]);
                if let Some((pid, true)) = message {
                    self.processes.announce(pid);
                }
            }
        }
    }

    fn resumed(&mut self, line: &[u8], prefix: &Prefix<'_>, tid: Option<u32>) {
        let Some((name, rest)) = payload::resumed(prefix.payload) else {
            return self.other(line, prefix);
        };
        self.tick(prefix);
        let tid = prefix.tid.or(tid);
        let inside = self.processes.known_thread(tid).and_then(|at| self.processes.pending(at));
        let call = match inside {
            Some(inside) if self.calls.is(inside.call, name) => inside.call,
            _ => self.calls.find_or_add(name, &mut self.builder),
        };
        let thread = self.thread(prefix, tid, true);
        let fork = self.calls.get(call).role == Role::Fork;
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        if self.processes.pending(thread).is_some_and(|p| p.call != call) {
            self.processes.abandon(thread);
        }
        let pending = self.processes.resume(thread, &mut joined);
        if pending.is_some() {
            joined.push(b' ');
        }
        joined.extend_from_slice(text::skip_spaces(rest));
        let at_ns = pending.and_then(|p| p.at_ns);
        let whole = pending.is_some_and(|p| p.whole);
        let ended_call = EndedCall { thread, call, at_ns, whole };
        if whole && self.resumed_again(ended_call, &joined) {
            self.joined = joined;
            return;
        }
        if let Some((end, outcome)) = self.tails.ending(&joined) {
            self.returned(ended_call, &end, outcome);
            self.joined = joined;
            return;
        }
        match payload::ending(&joined) {
            Ending::Returned(end) => {
                self.ended(ended_call, &end);
            }
            Ending::Unfinished(args) => self.processes.begin(thread, call, args, at_ns, fork),
            Ending::Detached => {
                self.processes.begin(thread, call, b"", at_ns, false);
                self.processes.abandon(thread);
            }
            Ending::Open => {
                self.drop_split();
                self.split = Some(Split { thread, call, at_ns });
                self.split_text.extend_from_slice(&joined[..joined.len().min(SPLIT)]);
            }
        }
        self.joined = joined;
    }

    /// The exec that a log or a process starts with: the process that called it is not known.
    #[cold]
    fn first_exec(
        &mut self,
        prefix: &Prefix<'_>,
        tid: Option<u32>,
        call: u16,
        ending: &Ending<'_>,
        at_ns: Option<u64>,
    ) -> bool {
        let Ending::Returned(end) = ending else { return false };
        if payload::outcome(end.ret) != Some(Ok(())) {
            return false;
        }
        let tid = prefix.tid.or(tid).unwrap_or_else(|| self.processes.tid_of_unnamed());
        if !self.processes.is_stranger(tid) {
            return false;
        }
        self.count_first_exec(tid, call, end, at_ns);
        true
    }
}

/// A call that ended, without its outcome.
#[derive(Clone, Copy)]
pub(crate) struct EndedCall {
    pub thread: u32,
    pub call: u16,
    pub at_ns: Option<u64>,
    /// Whether its arguments are known.
    pub whole: bool,
}

/// Whether text after `name(` looks like arguments and not like prose: `1, "x", 6hello`.
fn plausible(rest: &[u8]) -> bool {
    match rest.first() {
        None => true,
        Some(b'"' | b'[' | b'{' | b'<' | b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'\\' | b'?') => true,
        Some(_) => payload::message(rest).is_some(),
    }
}

/// Whether a fork with these arguments makes a thread: `flags=CLONE_VM|CLONE_THREAD|…`.
pub(crate) fn makes_thread(args: &[u8]) -> bool {
    const CLONE_THREAD: u64 = 0x10000;
    let Some(at) = memmem::find(args, b"flags=") else { return false };
    let flags = &args[at + 6..];
    match text::number(flags) {
        Some(flags) => flags & CLONE_THREAD != 0,
        None => {
            let end = flags.iter().position(|b| matches!(b, b',' | b' ')).unwrap_or(flags.len());
            flags[..end].split(|b| *b == b'|').any(|flag| flag == b"CLONE_THREAD")
        }
    }
}

#[cfg(test)]
mod tests;
