//! The traced threads and the processes they belong to.

use crate::detail::Details;
use crate::roster::{Roster, Slot};
use crate::sys::Tid;
use crate::untraced::Changed;
use foldhash::fast::FixedState;
use needless_host::Module;
use needless_model::{CallId, ProcId, QuestionId};
use needless_syscalls::{Moves, Reply};
use std::collections::HashMap;
use std::sync::Arc;

/// What a thread that is inside a system call is counted as when it comes out.
#[derive(Debug)]
pub(crate) enum Count {
    /// Not at all.
    Nothing,
    /// A call without a path.
    Call(CallId),
    /// The answer to a question.
    Answer { question: QuestionId, reply: Reply, args: [u64; 6], is_64bit: bool },
    /// A call without a path that rules ask about.
    ArgClass { question: QuestionId, epoch: Option<u64> },
    /// An exec, of this process image or the next. Absolute or not; whether relative to a
    /// descriptor.
    Exec { call: CallId, path: String, from_dir_fd: bool },
}

/// What else happens when it comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// It waited: others had time to change things.
    Barrier,
    /// If it succeeded, the working directory is another.
    Directory,
    /// If it succeeded, the root or the mount namespace may be another.
    Root,
    /// If it failed, somebody wanted to trace.
    Tracing,
    /// If it failed, somebody wanted seccomp's strict mode.
    StrictMode,
    /// If it succeeded, there is a process that nobody traces.
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

/// A system call under way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) count: Count,
    pub(crate) effect: Effect,
    /// Take a snapshot of the stack that stands for so many calls; 0: none.
    pub(crate) sample: u64,
}

/// A traced thread.
pub(crate) struct Thread {
    /// Position in [`Tree::groups`].
    pub(crate) group: usize,
    /// The call it is in, if its exit matters.
    pub(crate) pending: Option<Pending>,
    /// What of the call that started it, or of the call of the kind that it is in, is to be put back.
    pub(crate) changed: Option<Changed>,
    /// Where the front finds it.
    slot: Option<Slot>,
}

/// A traced process.
pub(crate) struct Group {
    pub(crate) tgid: Tid,
    /// The image it runs; `None` before the command's own exec.
    pub(crate) image: Option<ProcId>,
    /// The group that forked it, while that lives.
    pub(crate) parent: Option<usize>,
    /// Working directory, where looked up; `Some(None)` if it has no name.
    pub(crate) directory: Option<Option<String>>,
    /// Executable mappings, where looked up, and when (`CLOCK_MONOTONIC`).
    pub(crate) modules: Option<(Arc<Vec<Module>>, u64)>,
    /// What calls without a path told so far.
    pub(crate) details: Details,
    /// Whether a filter of its own has refused it a call: no answer is taken for granted then.
    pub(crate) refuses: bool,
    /// Time that earlier images of this process took, in user mode and in the kernel, nanoseconds.
    pub(crate) earlier: (u64, u64),
}

/// All of them.
pub(crate) struct Tree {
    pub(crate) threads: HashMap<Tid, Thread, FixedState>,
    groups: Vec<Option<Group>>,
    free: Vec<usize>,
    /// For the front, if there is one.
    roster: Option<Roster>,
}

impl Tree {
    pub(crate) fn new(roster: Option<Roster>) -> Tree {
        Tree { threads: HashMap::default(), groups: Vec::new(), free: Vec::new(), roster }
    }

    /// A new thread of the process at `group`.
    pub(crate) fn add_thread(&mut self, tid: Tid, group: usize) {
        let slot = self.roster.as_mut().map(|roster| roster.add(tid));
        self.threads.insert(tid, Thread { group, pending: None, changed: None, slot });
    }

    /// A thread has ended.
    pub(crate) fn remove_thread(&mut self, tid: Tid) -> Option<Thread> {
        let thread = self.threads.remove(&tid)?;
        if let (Some(roster), Some(slot)) = (&mut self.roster, thread.slot) {
            roster.remove(slot);
        }
        Some(thread)
    }

    /// Thread `former` has taken the place of its process's first thread, `tid`.
    pub(crate) fn replace_thread(&mut self, tid: Tid, former: Tid) {
        let Some(thread) = self.remove_thread(former) else { return };
        let Thread { group, pending, .. } = thread;
        self.remove_thread(tid);
        self.add_thread(tid, group);
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.pending = pending;
        }
    }

    pub(crate) fn group(&mut self, at: usize) -> &mut Group {
        self.groups[at].as_mut().expect("a thread's group lives while the thread does")
    }

    /// A new process with its first thread.
    pub(crate) fn add_group(
        &mut self,
        tgid: Tid,
        image: Option<ProcId>,
        parent: Option<usize>,
    ) -> usize {
        let from = parent.and_then(|at| self.groups[at].as_ref());
        let group = Group {
            tgid,
            image,
            parent,
            directory: from.and_then(|p| p.directory.clone()),
            modules: from.and_then(|p| p.modules.clone()),
            details: Details::default(),
            refuses: from.is_some_and(|p| p.refuses),
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

    /// A process has ended; its children, if any live, have no parent that we know.
    pub(crate) fn remove_group(&mut self, at: usize) -> Option<Group> {
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
