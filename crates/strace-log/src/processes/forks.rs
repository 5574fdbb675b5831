//! Which process started which, when the order of lines hides it.

use super::{Expected, LoggedThread, MOST, PIDS, Processes, State};
use needless_model::{Builder, Loss, Process, Spawn};

impl Processes {
    /// A line names `tid`, and the lines before named none: it may be that of the first process.
    pub(crate) fn name_first(&mut self, tid: u32, resumes: bool, builder: &mut Builder) {
        if self.by_tid.contains_key(&tid) || self.expected.contains_key(&tid) {
            return;
        }
        let Some(&at) = self.by_tid.get(&0) else { return };
        let forking = self.threads[at as usize].pending.is_some();
        if self.announced.contains(&tid) || (forking && !resumes) {
            return;
        }
        self.by_tid.remove(&0);
        self.by_tid.insert(tid, at);
        self.unnamed = self.unnamed.map(|t| if t == 0 { tid } else { t });
        let thread = &mut self.threads[at as usize];
        thread.tid = tid;
        let process = thread.process;
        let mut up = Some(process);
        while let Some(id) = up {
            let known = builder.process_mut(id);
            if known.pid != 0 || known.born == Spawn::Fork {
                break;
            }
            known.pid = tid;
            up = known.parent;
        }
    }

    /// A fork of thread `at` returned `child`.
    pub(crate) fn forked(&mut self, at: u32, child: u32, thread: bool, builder: &mut Builder) {
        let parent = self.threads[at as usize].process;
        // The child was assigned to this fork before it returned, or to another fork, which then
        // gets the child that this one had.
        let mine = self.returning.take();
        let mut claimed = mine == Some(child);
        for other in &self.forking {
            if let Some(pending) = &mut self.threads[*other as usize].pending
                && pending.claimed == Some(child)
            {
                pending.claimed = mine;
                claimed = true;
            }
        }
        let Some(&known) = self.by_tid.get(&child) else {
            return self.expect(child, Expected { parent, thread });
        };
        let process = self.threads[known as usize].process;
        let was = builder.process_ref(process);
        // A vfork returns after its child's exec: the child's image before that is the parent's child.
        let mut first = was;
        while let (Spawn::Exec, Some(up)) = (first.born, first.parent)
            && builder.process_ref(up).pid == child
        {
            first = builder.process_ref(up);
        }
        if claimed && (process == parent || first.parent == Some(parent)) {
            return; // it was assigned correctly
        }
        let mut above = std::iter::successors(Some(parent), |id| builder.process_ref(*id).parent);
        if was.pid != child
            || was.born == Spawn::Exec
            || (was.born == Spawn::Fork && !claimed)
            // A log that is not strace's, or of which much is missing: nobody is its own ancestor.
            || above.any(|id| id == process)
        {
            // A pid that is used again: the end of the first process was not seen.
            self.end(known);
            return self.expect(child, Expected { parent, thread });
        }
        // Its first lines came before, and were assigned to another process or to none.
        self.misplaced += u64::from(thread || was.born == Spawn::Fork);
        self.seen -= u64::from(was.born == Spawn::Seen);
        if thread {
            self.move_thread(known, parent);
            return;
        }
        let up = builder.process_ref(parent).clone();
        let child = builder.process_mut(process);
        child.parent = Some(parent);
        child.born = Spawn::Fork;
        child.exe = child.exe.take().or(up.exe);
        child.env = up.env;
        child.libc = up.libc;
        child.runtime = up.runtime;
        child.command = child.command.take().or(up.command);
        child.open_files = child.open_files.or(up.open_files);
    }

    fn expect(&mut self, child: u32, expected: Expected) {
        if self.expected.len() < MOST {
            self.expected.insert(child, expected);
        }
    }

    /// The thread that stands for `tid`; the first time, that is counted.
    #[cold]
    fn crowded(&mut self, tid: u32, builder: &mut Builder) -> u32 {
        self.expected.remove(&tid);
        self.in_crowd.resize(PIDS / 64 + 1, 0);
        let tid = (tid as usize).min(PIDS);
        let (word, bit) = (&mut self.in_crowd[tid / 64], 1 << (tid % 64));
        builder.lost(Loss::FoldedProcesses, u64::from(*word & bit == 0));
        *word |= bit;
        match self.crowd {
            Some(crowd) => crowd,
            None => {
                let at = self.threads.len() as u32;
                let process = builder.folded_process();
                // No line can name this tid's thread: it is not in `by_tid`.
                self.threads.push(LoggedThread {
                    tid: u32::MAX,
                    process,
                    pending: None,
                    text: Vec::new(),
                    alive: true,
                });
                self.alive += 1;
                self.crowd = Some(at);
                at
            }
        }
    }

    /// After an exec, thread `from` has the tid of its process's first thread, `to`.
    pub(crate) fn supersede(&mut self, to: u32, from: u32) {
        let Some(&from) = self.by_tid.get(&from) else { return };
        if from == to {
            return;
        }
        self.abandon(to);
        let thread = &mut self.threads[from as usize];
        let (pending, text) = (thread.pending.take(), std::mem::take(&mut thread.text));
        self.end(from);
        let thread = &mut self.threads[to as usize];
        (thread.pending, thread.text) = (pending, text);
    }

    /// The thread of a tid not seen before: an expected child, that of a fork that has not
    /// returned yet, or one that ran already.
    pub(super) fn adopt(
        &mut self,
        tid: u32,
        builder: &mut Builder,
        makes_thread: impl Fn(&[u8]) -> bool,
    ) -> u32 {
        self.announced.remove(&tid);
        if builder.is_full() || self.by_tid.len() >= MOST {
            return self.crowded(tid, builder);
        }
        let expected = self.expected.remove(&tid).or_else(|| {
            let unclaimed = |at: &&u32| {
                let pending = &self.threads[**at as usize].pending;
                pending.is_some_and(|p| p.claimed.is_none())
            };
            let at = *self.forking.iter().find(unclaimed)?;
            let thread = &mut self.threads[at as usize];
            let is_thread = makes_thread(&thread.text);
            if let Some(pending) = &mut thread.pending {
                pending.claimed = Some(tid);
            }
            Some(Expected { parent: thread.process, thread: is_thread })
        });
        let process = match expected {
            Some(Expected { parent, thread: true }) => parent,
            Some(Expected { parent, thread: false }) => {
                let child = builder.process_ref(parent).forked(tid, parent);
                let process = builder.process(child);
                let State { cwd, limit, .. } = self.state(parent);
                let (cwd, limit) = (cwd.clone(), *limit);
                let cwd = cwd.filter(|cwd| builder.keeps(cwd.len()));
                let state = self.state(process);
                (state.cwd, state.limit) = (cwd, limit);
                state.whole = true;
                process
            }
            None => {
                self.seen += 1;
                builder.process(Process::new(tid, None, Spawn::Seen))
            }
        };
        self.add(tid, process)
    }
}
