//! Threads and processes: which one a line belongs to, and which started which.

mod forks;

use crate::classify::Streams;
use crate::limit::Limit;
use needless_model::{Builder, Exit, ProcId, Process, Runtime, Spawn};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most bytes kept of the arguments of one unfinished call: two paths of the maximal length, every byte
/// escaped.
const TEXT: usize = 4 * 4096 * 2;
/// Threads found by tid without a search in the table.
const RECENT: usize = 64;
/// Most bytes kept of all unfinished calls.
const HELD: usize = 8 << 20;
/// Most threads at a time, and most children that forks returned and that have not been seen.
const MOST: usize = 65_536;
/// The kernel gives no pid from this one on (`PID_MAX_LIMIT`).
const PIDS: usize = 4 << 20;

/// A thread that has not ended.
#[derive(Debug)]
pub(crate) struct LoggedThread {
    pub tid: u32,
    pub process: ProcId,
    /// Its unfinished call.
    pending: Option<UnfinishedCall>,
    /// Text of the pending call; kept here so that its memory is used again.
    text: Vec<u8>,
    alive: bool,
}

/// A call whose end was not read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnfinishedCall {
    pub call: u16,
    pub at_ns: Option<u64>,
    /// Whether the text of its arguments was kept: there is a limit for all such texts together.
    pub whole: bool,
    /// The child that was assigned to this fork before it returned.
    claimed: Option<u32>,
}

/// What is known about a process and is not in the profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    threads: u32,
    /// Its working directory, if a line showed it.
    pub cwd: Option<Box<str>>,
    /// How often `cwd` changed.
    pub cwd_changes: u32,
    /// It has called exec: the next calls of its threads belong to another process.
    replaced: bool,
    /// It was seen from its exec or fork on.
    pub whole: bool,
    /// A call of [`Role::Startup`](crate::call_names::Role) was seen.
    pub startup: bool,
    /// A call of exit or exit_group was seen.
    pub exit_call: bool,
    /// A failed call was seen.
    pub failure: bool,
    /// It opened glibc.
    pub glibc: bool,
    /// What calls without a path showed about its streams and heap.
    pub streams: Streams,
    /// What calls showed about its limit of open files.
    pub limit: Limit,
}

/// A child that a fork returned and that has not been seen yet.
#[derive(Clone, Copy)]
struct Expected {
    parent: ProcId,
    thread: bool,
}

/// All threads and processes of a log.
#[derive(Default)]
pub(crate) struct Processes {
    threads: Vec<LoggedThread>,
    free: Vec<u32>,
    by_tid: HashMap<u32, u32, foldhash::fast::FixedState>,
    /// Where threads were found last, by their tid.
    recent: RecentThreads,
    states: Vec<State>,
    expected: HashMap<u32, Expected>,
    /// Children that strace reported as attached.
    announced: HashSet<u32>,
    /// Threads inside a fork, oldest first.
    forking: Vec<u32>,
    alive: usize,
    /// The thread of the last line without a pid.
    unnamed: Option<u32>,
    /// `-p PID`: the process strace attached to before the first call.
    attached: Option<u32>,
    /// Bytes of all threads' `text`.
    held: usize,
    /// The child claimed by the fork that was resumed last.
    returning: Option<u32>,
    /// Calls whose end was not seen, by call.
    pub abandoned: BTreeMap<u16, u64>,
    /// Threads that ran before the log, whose process is not known.
    pub seen: u64,
    /// Threads that were assigned to another fork before their own returned.
    pub misplaced: u64,
    /// The thread that stands for all that find no room.
    crowd: Option<u32>,
    /// The tids for which it stood, a bit each.
    in_crowd: Vec<u64>,
}

/// Of a thread that was seen lately, its number and its index, at its number modulo the length.
struct RecentThreads([(u32, u32); RECENT]);

impl Default for RecentThreads {
    fn default() -> RecentThreads {
        RecentThreads([(0, 0); RECENT])
    }
}

impl Processes {
    /// Number of the thread with this tid. `makes_thread` says by the arguments of a fork
    /// whether it makes a thread.
    #[inline]
    pub(crate) fn thread(
        &mut self,
        tid: u32,
        builder: &mut Builder,
        makes_thread: impl Fn(&[u8]) -> bool,
    ) -> u32 {
        let (known, at) = self.recent.0[tid as usize % RECENT];
        // Places that are unused, or whose thread has ended, fail the second test.
        if known == tid && self.threads.get(at as usize).is_some_and(|t| t.alive && t.tid == tid) {
            return at;
        }
        let at = match self.by_tid.get(&tid) {
            Some(at) => *at,
            None => self.adopt(tid, builder, makes_thread),
        };
        self.recent.0[tid as usize % RECENT] = (tid, at);
        at
    }

    /// The number of the thread of this line, if it is known with certainty: what
    /// [`thread`](Processes::thread) would return; nothing is changed.
    #[inline]
    pub(crate) fn known_thread(&self, tid: Option<u32>) -> Option<u32> {
        let tid = tid.or(self.unnamed)?;
        let (known, at) = self.recent.0[tid as usize % RECENT];
        let thread = self.threads.get(at as usize).filter(|_| known == tid)?;
        (thread.alive && thread.tid == tid).then_some(at)
    }

    /// A thread by its number.
    pub(crate) fn get(&self, at: u32) -> &LoggedThread {
        &self.threads[at as usize]
    }

    /// The call that thread `at` is inside of.
    pub(crate) fn pending(&self, at: u32) -> Option<UnfinishedCall> {
        self.threads[at as usize].pending
    }

    /// What is known of a process.
    pub(crate) fn state(&mut self, process: ProcId) -> &mut State {
        if self.states.len() <= process.index() {
            self.states.resize_with(process.index() + 1, State::default);
        }
        &mut self.states[process.index()]
    }

    /// All states, by [`ProcId`].
    pub(crate) fn states(&self) -> &[State] {
        &self.states
    }

    /// The log has ended, and with it all unfinished calls.
    pub(crate) fn abandon_all(&mut self) {
        for at in 0..self.threads.len() as u32 {
            self.abandon(at);
        }
    }

    /// Children that forks returned and that have no line.
    pub(crate) fn never_seen(&self) -> usize {
        self.expected.len()
    }

    /// The tid of a line without one: 0 while it is not known.
    ///
    /// strace names no pid while it traces only one process, the first or the last.
    pub(crate) fn tid_of_unnamed(&mut self) -> u32 {
        if self.alive == 1 {
            if let Some(tid) = self.unnamed.filter(|tid| self.by_tid.contains_key(tid)) {
                return tid;
            }
            if let Some(thread) = self.threads.iter().find(|t| t.alive) {
                let tid = thread.tid;
                self.unnamed = Some(tid);
                return tid;
            }
        }
        match (self.unnamed, self.attached) {
            (Some(tid), _) if self.by_tid.contains_key(&tid) => tid,
            (None, Some(tid)) => tid,
            _ => 0,
        }
    }

    /// strace says that it attached to a process.
    pub(crate) fn announce(&mut self, tid: u32) {
        if self.threads.is_empty() {
            self.attached = Some(tid);
        } else if self.announced.len() < MOST {
            self.announced.insert(tid);
        }
    }

    /// Thread `at` is inside a call, begun with these arguments.
    pub(crate) fn begin(
        &mut self,
        at: u32,
        call: u16,
        args: &[u8],
        at_ns: Option<u64>,
        fork: bool,
    ) {
        if self.crowd == Some(at) {
            return; // calls of many threads, with starts and ends in any order
        }
        self.abandon(at);
        let whole = args.len() <= TEXT && self.held + args.len() <= HELD;
        let thread = &mut self.threads[at as usize];
        if whole {
            thread.text.extend_from_slice(args);
            self.held += args.len();
        }
        thread.pending = Some(UnfinishedCall { call, at_ns, whole, claimed: None });
        if fork {
            self.forking.push(at);
        }
    }

    /// The unfinished call of thread `at` is resumed; the text of its arguments is appended to
    /// `text`.
    pub(crate) fn resume(&mut self, at: u32, text: &mut Vec<u8>) -> Option<UnfinishedCall> {
        let thread = &mut self.threads[at as usize];
        let pending = thread.pending.take()?;
        self.returning = pending.claimed;
        if !self.forking.is_empty() {
            self.forking.retain(|f| *f != at);
        }
        let thread = &mut self.threads[at as usize];
        text.extend_from_slice(&thread.text);
        self.held -= thread.text.len();
        thread.text.clear();
        Some(pending)
    }

    /// Thread `at` made a whole call: the end of an unfinished one will not be seen.
    #[inline]
    pub(crate) fn leave(&mut self, at: u32) {
        if self.threads[at as usize].pending.is_some() {
            self.abandon(at);
        }
    }

    /// The end of the unfinished call of thread `at` will not be seen.
    #[cold]
    pub(crate) fn abandon(&mut self, at: u32) {
        let thread = &mut self.threads[at as usize];
        let Some(pending) = thread.pending.take() else { return };
        *self.abandoned.entry(pending.call).or_default() += 1;
        self.held -= thread.text.len();
        thread.text.clear();
        self.forking.retain(|f| *f != at);
    }

    /// Thread `at` runs another program from now on. Returns the new process.
    pub(crate) fn exec(&mut self, at: u32, exe: &str, builder: &mut Builder) -> ProcId {
        let old = self.threads[at as usize].process;
        let was = builder.process_ref(old);
        let mut new = Process::new(was.pid, Some(old), Spawn::Exec);
        new.shares_root = was.shares_root;
        self.describe_exec(&mut new, exe);
        let before = self.state(old);
        let (cwd, limit) = (before.cwd.clone(), before.limit.now);
        before.replaced = true;
        new.open_files = limit;
        let new = builder.process(new);
        self.move_thread(at, new);
        let state = self.state(new);
        state.cwd = cwd;
        state.limit.now = limit;
        state.whole = true;
        new
    }

    /// The log's first line of `tid` is its exec: no process was seen before it.
    pub(crate) fn first_exec(&mut self, tid: u32, exe: &str, builder: &mut Builder) -> u32 {
        let mut process = Process::new(tid, None, Spawn::Exec);
        self.describe_exec(&mut process, exe);
        let process = builder.process(process);
        self.state(process).whole = true;
        self.add(tid, process)
    }

    /// Whether nothing is known about `tid`, not even its parent.
    pub(crate) fn is_stranger(&self, tid: u32) -> bool {
        !self.by_tid.contains_key(&tid)
            && !self.expected.contains_key(&tid)
            && self.forking.is_empty()
    }

    /// A thread ended, with the status in the line.
    pub(crate) fn exited(&mut self, tid: u32, exit: Option<Exit>, builder: &mut Builder) {
        let Some(&at) = self.by_tid.get(&tid) else { return };
        let process = self.threads[at as usize].process;
        self.end(at);
        let state = self.state(process);
        if !state.replaced && (state.threads == 0 || builder.process_ref(process).pid == tid) {
            builder.process_mut(process).exit = exit;
        }
    }

    fn describe_exec(&self, process: &mut Process, exe: &str) {
        process.runtime = Runtime::of_exe(exe);
        process.exe = Some(exe.to_owned());
    }

    fn add(&mut self, tid: u32, process: ProcId) -> u32 {
        self.state(process).threads += 1;
        self.alive += 1;
        let thread = LoggedThread { tid, process, pending: None, text: Vec::new(), alive: true };
        let at = match self.free.pop() {
            Some(at) => {
                self.threads[at as usize] = thread;
                at
            }
            None => {
                self.threads.push(thread);
                (self.threads.len() - 1) as u32
            }
        };
        self.by_tid.insert(tid, at);
        at
    }

    fn move_thread(&mut self, at: u32, to: ProcId) {
        let from = std::mem::replace(&mut self.threads[at as usize].process, to);
        let threads = &mut self.state(from).threads;
        *threads = threads.saturating_sub(1);
        self.state(to).threads += 1;
    }

    fn end(&mut self, at: u32) {
        self.abandon(at);
        let thread = &mut self.threads[at as usize];
        thread.alive = false;
        thread.text = Vec::new();
        let (tid, process) = (thread.tid, thread.process);
        self.by_tid.remove(&tid);
        self.free.push(at);
        self.alive -= 1;
        let threads = &mut self.state(process).threads;
        *threads = threads.saturating_sub(1);
    }
}
