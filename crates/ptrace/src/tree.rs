//! The traced threads and their processes.

use crate::arg_class::ArgState;
use crate::patch::Patches;
use crate::roster::{Roster, RosterSlot};
use crate::sys::Tid;
use crate::untraced::Changed;
use foldhash::fast::FixedState;
use needless_host::Module;
use needless_model::{CallId, ProcId, QuestionId};
use needless_syscalls::{Moves, Reply};
use std::collections::HashMap;
use std::sync::Arc;

/// What to count when a thread returns from its system call.
#[derive(Debug)]
pub(crate) enum Count {
    /// Nothing.
    Nothing,
    /// A call without a path.
    Call { call: CallId, first: u64, at_ns: u64 },
    /// The answer to a question.
    Answer { question: QuestionId, reply: Reply, args: [u64; 6], is_64bit: bool },
    /// A call without a path that rules ask about.
    ArgClass { question: QuestionId, epoch: Option<u64> },
    /// An exec, of this process image or the next. The path may be relative, also to a
    /// descriptor.
    Exec { call: CallId, path: String, from_dir_fd: bool },
}

/// What else happens when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// It waited: other processes had time for changes.
    Barrier,
    /// If it succeeded, the working directory differs.
    Directory,
    /// If it succeeded, the root or the mount namespace may differ.
    Root,
    /// If it failed, the program wanted to trace.
    Tracing,
    /// If it failed, the program wanted the strict mode of seccomp.
    StrictMode,
    /// If it succeeded, the process has a seccomp filter of its own, perhaps in all its threads.
    Filter {
        all_threads: bool,
    },
    /// If it succeeded, there is a process without a tracer.
    Untraced,
    /// If no process comes of it, another filter may have refused the flags as we changed them.
    Refiltered,
}

impl From<Moves> for Effect {
    fn from(moves: Moves) -> Effect {
        match moves {
            Moves::Nothing => Effect::None,
            Moves::Directory => Effect::Directory,
            Moves::Root => Effect::Root,
        }
    }
}

/// A system call that has not returned.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) count: Count,
    pub(crate) effect: Effect,
    /// Take a snapshot of the stack that stands for so many calls; 0: take none.
    pub(crate) sample: u64,
}

/// A traced thread.
pub(crate) struct TracedThread {
    /// Position in [`Tree::groups`].
    pub(crate) group: usize,
    /// The call it is in, if its exit matters.
    pub(crate) in_flight: Option<InFlight>,
    /// What to restore of the call that started it, or of such a call that it is in.
    pub(crate) changed: Option<Changed>,
    /// Where the process that replaces a killed tracer finds it.
    slot: Option<RosterSlot>,
}

/// A traced process.
pub(crate) struct ThreadGroup {
    pub(crate) tgid: Tid,
    /// The image it runs; `None` before the command's own exec.
    pub(crate) image: Option<ProcId>,
    /// The group that forked it, while that lives.
    pub(crate) parent: Option<usize>,
    /// Working directory, if looked up; `Some(None)`: it has no name.
    pub(crate) directory: Option<Option<String>>,
    /// Executable mappings, if looked up, and when (`CLOCK_MONOTONIC`).
    pub(crate) modules: Option<(Arc<Vec<Module>>, u64)>,
    /// What is needed to classify its calls without a path.
    pub(crate) arg_state: ArgState,
    /// Whether it has a seccomp filter besides ours, which may refuse calls before they stop at ours. So every
    /// call stops, and no answer is assumed.
    pub(crate) has_filter: bool,
    /// Whether it may not read the time stamp counter, as its children and what it executes then may not either.
    pub(crate) no_clock: bool,
    /// Its call sites that count themselves.
    pub(crate) patches: Patches,
    /// CPU time of earlier images of this process, in user mode and in the kernel, nanoseconds.
    pub(crate) earlier: (u64, u64),
}

/// All threads and processes.
pub(crate) struct Tree {
    pub(crate) threads: HashMap<Tid, TracedThread, FixedState>,
    groups: Vec<Option<ThreadGroup>>,
    free: Vec<usize>,
    /// For the processes that replace a killed tracer, if there are any.
    roster: Option<Roster>,
}

impl Tree {
    pub(crate) fn new(roster: Option<Roster>) -> Tree {
        Tree { threads: HashMap::default(), groups: Vec::new(), free: Vec::new(), roster }
    }

    /// Nothing is traced any more.
    pub(crate) fn over(&self) {
        if let Some(roster) = &self.roster {
            roster.clear();
        }
    }

    /// A new thread of the process at `group`.
    pub(crate) fn add_thread(&mut self, tid: Tid, group: usize) {
        let slot = self.roster.as_mut().map(|roster| roster.add(tid));
        self.threads.insert(tid, TracedThread { group, in_flight: None, changed: None, slot });
    }

    /// A thread has ended.
    pub(crate) fn remove_thread(&mut self, tid: Tid) -> Option<TracedThread> {
        let thread = self.threads.remove(&tid)?;
        if let (Some(roster), Some(slot)) = (&mut self.roster, thread.slot) {
            roster.remove(slot);
        }
        Some(thread)
    }

    /// Thread `former` has taken the place of its process's first thread, `tid`.
    pub(crate) fn replace_thread(&mut self, tid: Tid, former: Tid) {
        let Some(thread) = self.remove_thread(former) else { return };
        let TracedThread { group, in_flight, .. } = thread;
        self.remove_thread(tid);
        self.add_thread(tid, group);
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.in_flight = in_flight;
        }
    }

    pub(crate) fn group(&mut self, at: usize) -> &mut ThreadGroup {
        self.groups[at].as_mut().expect("a thread's group lives while the thread does")
    }

    /// Whether the process at `group` has a seccomp filter besides ours.
    pub(crate) fn has_filter(&self, group: usize) -> bool {
        self.groups[group].as_ref().is_some_and(|group| group.has_filter)
    }

    /// A new process with its first thread.
    pub(crate) fn add_group(
        &mut self,
        tgid: Tid,
        image: Option<ProcId>,
        parent: Option<usize>,
    ) -> usize {
        let from = parent.and_then(|at| self.groups[at].as_ref());
        let group = ThreadGroup {
            tgid,
            image,
            parent,
            directory: from.and_then(|p| p.directory.clone()),
            modules: from.and_then(|p| p.modules.clone()),
            arg_state: ArgState::default(),
            has_filter: from.is_some_and(|p| p.has_filter),
            no_clock: from.is_some_and(|p| p.no_clock),
            patches: Patches::default(),
            earlier: (0, 0),
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.groups[at] = Some(group);
                at
            }
            None => {
                self.groups.push(Some(group));
                self.groups.len() - 1
            }
        };
        self.add_thread(tgid, at);
        at
    }

    /// A process has ended; from now on its living children have no known parent.
    pub(crate) fn remove_group(&mut self, at: usize) -> Option<ThreadGroup> {
        let gone = self.groups[at].take()?;
        self.free.push(at);
        for group in self.groups.iter_mut().flatten() {
            if group.parent == Some(at) {
                group.parent = None;
            }
        }
        Some(gone)
    }

    /// The live process `tgid`.
    pub(crate) fn group_of(&self, tgid: Tid) -> Option<usize> {
        self.threads.get(&tgid).map(|t| t.group)
    }

    /// How many processes live.
    pub(crate) fn live(&self) -> usize {
        self.groups.iter().flatten().count()
    }

    /// Whether there is a live process at this position.
    pub(crate) fn is_live(&self, at: usize) -> bool {
        self.groups.get(at).is_some_and(Option::is_some)
    }
}
