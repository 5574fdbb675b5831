//! A call that ended, counted.

mod image;

use crate::call_names::{PathAt, Role, does_not_wait};
use crate::classify::ClassifiedBy;
use crate::fast::cache::{self, Asker, CachedCall};
use crate::path::{self, Base, Path, PathArg};
use crate::payload::{self, Returned};
use crate::reader::{EndedCall, Reader, makes_thread};
use crate::text::{self, unescape};
use foldhash::fast::FixedState;
use needless_model::{Answer, Errno, Libc, Loss, ProcId, Query, Question};
use std::hash::BuildHasher;

/// The kernel does not accept a longer path (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// So many directories are known to be some.
const DIRECTORIES: usize = 4096;

impl Reader<'_> {
    /// Counts a call that ended. `= ?` is not counted: strace saw no return, and `strace -c` does not count it.
    pub(crate) fn ended(&mut self, ended_call: EndedCall, end: &Returned<'_>) {
        match payload::outcome(end.ret) {
            Some(outcome) => self.returned(ended_call, end, outcome),
            None => {
                self.last_row = None;
                if self.calls.get(ended_call.call).role != Role::Exit {
                    self.builder.lost(Loss::Unfinished, 1);
                }
            }
        }
    }

    /// Counts a call that returned.
    pub(crate) fn returned(
        &mut self,
        ended_call: EndedCall,
        end: &Returned<'_>,
        outcome: Result<(), Errno>,
    ) {
        let EndedCall { thread, call, at_ns, whole } = ended_call;
        let Returned { text, args, ret, kernel_ns } = *end;
        let known = self.calls.get(call);
        let (path_at, role) = (known.path_at, known.role);
        self.seen.calls += 1;
        self.seen.timed |= kernel_ns.is_some();
        let mut process = self.processes.get(thread).process;
        match outcome {
            Ok(()) => self.seen.ok += 1,
            Err(_) => self.processes.state(process).failure = true,
        }
        let answer = Answer { at_ns, kernel_ns, ..Answer::outcome(outcome) };
        if path_at != PathAt::Nowhere {
            if whole && role == Role::Status && is_fstat(args) {
                return self.detail_or_count(process, call, args, ret, answer);
            }
            let found = if whole { path::find(path_at, args) } else { Path::Unreadable };
            if role == Role::Exec && outcome.is_ok() {
                let exe = self.exe(&found, process);
                process = self.processes.exec(thread, &exe, &mut self.builder);
                self.image(process, &found);
            }
            self.path_call(process, call, text, found, answer);
            return;
        }
        self.detail_or_count(process, call, if whole { args } else { b"" }, ret, answer);
        match role {
            Role::Startup => self.processes.state(process).startup = true,
            Role::Limit if outcome.is_ok() && whole => self.limit(process, call, args),
            Role::Fork => {
                if let (Ok(()), Some(child)) = (outcome, payload::child(ret)) {
                    let is_thread = makes_thread(args);
                    self.processes.forked(thread, child, is_thread, &mut self.builder);
                    if !is_thread {
                        self.builder.barrier();
                    }
                }
            }
            Role::Write if writes_a_file(args) => self.builder.barrier(),
            Role::Wait if !does_not_wait(&self.calls.get(call).name, args) => {
                self.builder.barrier();
            }
            Role::Fchdir if outcome.is_ok() => {
                self.piece.clear();
                if let Some(path) = path::decoration(args) {
                    unescape(path, &mut self.piece);
                }
                self.moved(process);
            }
            Role::Getcwd if outcome.is_ok() => {
                self.piece.clear();
                if let Path::Found(found) = path::find(PathAt::First, args) {
                    unescape(found.raw, &mut self.piece);
                }
                self.moved(process);
            }
            _ => {}
        }
    }

    /// Counts the exec that a log starts with.
    #[cold]
    pub(crate) fn count_first_exec(
        &mut self,
        tid: u32,
        call: u16,
        end: &Returned<'_>,
        at_ns: Option<u64>,
    ) {
        self.last_row = None;
        self.seen.calls += 1;
        self.seen.ok += 1;
        self.seen.timed |= end.kernel_ns.is_some();
        let found = path::find(self.calls.get(call).path_at, end.args);
        let raw = match &found {
            Path::Found(found) => found.raw,
            _ => b"?",
        };
        self.path.clear();
        unescape(raw, &mut self.path);
        let exe = String::from_utf8_lossy(&self.path).into_owned();
        let thread = self.processes.first_exec(tid, &exe, &mut self.builder);
        let process = self.processes.get(thread).process;
        self.image(process, &found);
        let answer = Answer { at_ns, kernel_ns: end.kernel_ns, ..Answer::outcome(Ok(())) };
        self.path_call(process, call, end.text, found, answer);
    }

    /// Counts a call that names no path.
    pub(crate) fn count(&mut self, process: ProcId, call: u16, answer: Answer) {
        let Some(outcome) = answer.outcome else { return };
        let counted = (process, call, outcome);
        self.last_row = Some(match self.rows.find(counted) {
            Some(row) => {
                self.builder.count_again(row, 1, answer);
                row
            }
            None => {
                let row = self.builder.count(process, self.calls.get(call).id, 1, answer);
                self.rows.store(counted, row);
                row
            }
        });
    }

    /// Counts a call without a path, in a separate row if a rule asks about its arguments.
    fn detail_or_count(
        &mut self,
        process: ProcId,
        call: u16,
        args: &[u8],
        ret: &[u8],
        answer: Answer,
    ) {
        let by = self.calls.get(call).classified_by;
        let classified = match by {
            ClassifiedBy::Nothing => None,
            _ => self.processes.state(process).streams.classify(by, args, ret),
        };
        let Some((class, epoch)) = classified else {
            let passed = payload::passed(args, ret, answer.kernel_ns);
            return self.count(process, call, Answer { passed, ..answer });
        };
        let question = self.builder.detail(process, self.calls.get(call).id, class);
        let answer = Answer { fingerprint: epoch, ..answer };
        self.last_row = Some(self.builder.answer(question, answer));
    }

    fn path_call(
        &mut self,
        process: ProcId,
        call: u16,
        text: &[u8],
        found: Path<'_>,
        mut answer: Answer,
    ) {
        let Some(outcome) = answer.outcome else { return };
        let known = self.calls.get(call);
        let (id, role, query, ok) = (known.id, known.role, known.query, outcome.is_ok());
        let found = match found {
            Path::Found(found) => found,
            missing => {
                if missing == Path::Unreadable {
                    self.builder.lost(Loss::NoPath, 1);
                    self.seen.pointers += 1;
                }
                self.count(process, call, answer);
                if ok && query.changes() {
                    self.builder.barrier();
                }
                return;
            }
        };
        let query = path::ask(role, query, &found);
        let more = self.has_more_to_record(role, ok, found.raw);
        if query == Query::NoPath {
            self.count(process, call, answer);
            if !more {
                let known = CachedCall { asked: None, fingerprint: None, outcome };
                self.cache.store(self.asker(process, call), text, known);
            }
            return;
        }
        self.seen.paths += 1;
        if ok {
            answer.fingerprint = self.fingerprint(role, query, found.rest);
        }
        // Long answers mostly come from strace -v, and differ by their times.
        let long = text.len() > cache::LONGEST && role != Role::Open;
        let (key, of) = if long { (found.head, Some(query)) } else { (text, None) };
        let asker = Asker { query: of, ..self.asker(process, call) };
        let known = of.and_then(|_| self.cache.find(asker, key, key)?.asked);
        let question = match known {
            Some((question, _)) => question,
            None => {
                let from_dir_fd = self.absolute(process, &found);
                let path = String::from_utf8_lossy(&self.path);
                let question = Question { call: id, query, path: &path, from_dir_fd };
                self.builder.question(process, question)
            }
        };
        let row = self.builder.answer(question, answer);
        self.last_row = Some(row);
        if known.is_none()
            && !more
            && let Ok(row) = u32::try_from(row)
        {
            let asked = Some((question, row));
            let known = CachedCall { asked, fingerprint: answer.fingerprint, outcome };
            self.cache.store(asker, key, known);
        }
        if ok {
            // Else the path was not read again.
            if known.is_none() && path::is_directory(query, found.rest) {
                self.note_directory();
            }
            self.take_effect(process, role, &found);
        }
    }

    /// What a call changes for its process: it loads a C library, or is in another directory.
    fn take_effect(&mut self, process: ProcId, role: Role, found: &PathArg<'_>) {
        match role {
            Role::Open => {
                if let Some(libc) = self.libc_of(found.raw) {
                    self.processes.state(process).glibc = matches!(libc, Libc::Glibc(_));
                    self.builder.process_mut(process).libc = libc;
                }
            }
            Role::Chdir => {
                self.absolute(process, found);
                std::mem::swap(&mut self.path, &mut self.piece);
                self.moved(process);
            }
            _ => {}
        }
    }

    /// `self.path` is a directory.
    fn note_directory(&mut self) {
        if self.path.len() <= LONGEST_PATH && self.seen.directories.len() < DIRECTORIES {
            let path = String::from_utf8_lossy(&self.path);
            self.seen.directories.insert(path.trim_end_matches('/').to_owned());
        }
    }

    fn fingerprint(&mut self, role: Role, query: Query, rest: &[u8]) -> Option<u64> {
        let (first, second) = path::answer(role, query, rest)?;
        if role != Role::Readlink {
            self.seen.stats += 1;
            if !self.seen.abbreviated {
                self.seen.abbreviated = memchr::memmem::find(first, b", ...}").is_some();
            }
        }
        Some(FixedState::default().hash_one((first, second)))
    }

    /// Writes the path, absolute if its directory is known, to `self.path`. Returns whether it is
    /// still relative to a directory descriptor.
    fn absolute(&mut self, process: ProcId, found: &PathArg<'_>) -> bool {
        self.path.clear();
        if found.raw.is_empty() || starts_at_root(found.raw) {
            unescape(found.raw, &mut self.path);
            return false;
        }
        let base = path::base(found.dir, &mut self.path);
        if base == Base::Cwd
            && let Some(cwd) = &self.processes.state(process).cwd
        {
            self.path.extend_from_slice(cwd.as_bytes());
        }
        if !self.path.is_empty() && self.path.last() != Some(&b'/') {
            self.path.push(b'/');
        }
        unescape(found.raw, &mut self.path);
        base == Base::Fd
    }

    /// The working directory of a process is now `self.piece`; not known if that is not an absolute
    /// path.
    fn moved(&mut self, process: ProcId) {
        let path = String::from_utf8_lossy(&self.piece);
        let cwd = path.starts_with('/') && path.len() <= LONGEST_PATH;
        let cwd: Option<Box<str>> = cwd.then(|| Box::from(&*path));
        let state = self.processes.state(process);
        if state.cwd != cwd {
            state.cwd = cwd;
            state.cwd_changes += 1;
        }
    }

    /// Counts a call whose text is remembered.
    #[inline]
    pub(crate) fn counted_again(
        &mut self,
        process: ProcId,
        call: u16,
        known: CachedCall,
        at_ns: Option<u64>,
        kernel_ns: Option<u64>,
    ) {
        let CachedCall { asked, fingerprint, outcome } = known;
        self.seen.calls += 1;
        // That the process had a failure was noted with the first call of this text.
        self.seen.ok += u64::from(outcome.is_ok());
        self.seen.timed |= kernel_ns.is_some();
        let answer = Answer { fingerprint, at_ns, kernel_ns, ..Answer::outcome(outcome) };
        match asked {
            Some((question, row)) => {
                self.seen.paths += 1;
                self.last_row = Some(row as usize);
                self.builder.answer_again(question, row as usize, answer);
            }
            None => self.count(process, call, answer),
        }
    }

    /// Whether a call shows more than its question and answer: the program of a process, its directory,
    /// or its C library.
    fn has_more_to_record(&mut self, role: Role, ok: bool, raw: &[u8]) -> bool {
        match role {
            Role::Exec | Role::Chdir => ok,
            Role::Open => ok && self.libc_of(raw).is_some(),
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn asker(&self, process: ProcId, call: u16) -> Asker {
        let cwd_changes = self.processes.states().get(process.index()).map_or(0, |s| s.cwd_changes);
        Asker { process, cwd_changes, call, query: None }
    }
}

/// Whether the arguments start with a descriptor of one or two digits and an empty path. There are
/// too many such calls to remember them.
#[inline]
pub(crate) fn has_empty_path(args: &[u8]) -> bool {
    matches!(args, [_, b',', b' ', b'"', b'"', ..] | [_, _, b',', b' ', b'"', b'"', ..])
}

/// Whether these arguments of newfstatat mean fstat, which has no path:
/// `3, "", {…}, AT_EMPTY_PATH`, or `0x1000` with `-X raw`.
#[inline]
fn is_fstat(args: &[u8]) -> bool {
    let digits = args.iter().take_while(|b| b.is_ascii_digit()).count();
    args[digits..].starts_with(b", \"\", ") && path::empty_path(Role::Status, args)
}

/// Whether a path is absolute; -xx escapes its first byte too.
fn starts_at_root(raw: &[u8]) -> bool {
    raw.first() == Some(&b'/') || raw.starts_with(b"\\x2f") || raw.starts_with(b"\\57")
}

/// Whether the first argument is a descriptor above standard error. The messages of a program change
/// no answer.
fn writes_a_file(args: &[u8]) -> bool {
    let (fd, digits) = text::decimal(args);
    digits == 0 || fd > 2
}
