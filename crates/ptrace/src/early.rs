//! New threads that stop before the fork that made them is reported.
//!
//! Such a stop is held, because only the report says who the parent is. If the parent was killed in its fork, no report
//! comes. So no stop is held without an end: a thread that is ending goes on at once, and any other when nobody can
//! report it any more, at the latest after [`LONGEST`].

use crate::patch::restore_sites;
use crate::sys::{self, Resume, Tid, Waited};
use crate::tracer::Tracer;
use crate::untraced::other_filter_in;
use needless_model::{Exit, Process, Spawn};
use nix::errno::Errno;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Between two looks at what is held, nanoseconds. A report comes within microseconds, unless the machine is busy.
const LOOK: u64 = 10_000_000;
/// The parent stays unknown if a thread that has forked does not run for so long, nanoseconds.
const LONGEST: u64 = 1_000_000_000;
/// How long to wait for another stop, nanoseconds.
const TICK: i64 = 2_000_000;
/// Most ends that are remembered: of threads whose fork was not reported yet, and perhaps never is.
const MAX_ENDS: usize = 1024;

/// What is known of threads whose fork is not reported.
#[derive(Default)]
pub(crate) struct Early {
    held: HashMap<Tid, Held>,
    ended: HashMap<Tid, Exit>,
}

#[derive(Clone, Copy)]
struct Held {
    /// Of its first stop, as wait4 reported it.
    status: i32,
    /// `CLOCK_MONOTONIC`.
    since: u64,
    /// When to look at it.
    look: u64,
}

impl Early {
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = Tid> {
        self.held.keys().copied()
    }

    /// The stop of a thread whose fork is reported now.
    pub(crate) fn release(&mut self, tid: Tid) -> Option<i32> {
        self.held.remove(&tid).map(|held| held.status)
    }

    /// How a thread ended whose fork is reported now. Its number may be that of a new thread.
    pub(crate) fn end_of(&mut self, tid: Tid) -> Option<Exit> {
        let exit = self.ended.remove(&tid)?;
        (!Path::new(&format!("/proc/{tid}")).exists()).then_some(exit)
    }

    /// A thread ended whose fork is not reported.
    pub(crate) fn end(&mut self, tid: Tid, exit: Exit) {
        self.held.remove(&tid);
        if self.ended.len() == MAX_ENDS {
            self.ended.clear();
        }
        self.ended.insert(tid, exit);
    }

    fn due(&self, now: u64) -> Vec<(Tid, Held)> {
        let due = self.held.iter().filter(|(_, held)| held.look <= now);
        due.map(|(tid, held)| (*tid, *held)).collect()
    }
}

/// What /proc says of a thread.
pub(crate) struct Status {
    text: String,
}

impl Status {
    pub(crate) fn of(tid: Tid) -> Option<Status> {
        let text = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        Some(Status { text })
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    fn number(&self, field: &str) -> Option<Tid> {
        self.field(field)?.parse().ok()
    }
}

/// Whether a thread may be about to report a fork: it runs, or it is in a call that forks.
fn may_report(tid: &Tid) -> bool {
    const FORKING: &[libc::c_long] = &[
        libc::SYS_clone,
        libc::SYS_clone3,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
    ];
    match fs::read_to_string(format!("/proc/{tid}/syscall")) {
        Ok(text) => {
            let call = text.split(' ').next().unwrap_or_default().trim();
            call == "running" || call.parse().is_ok_and(|call| FORKING.contains(&call))
        }
        // A process that is not dumpable shows it to root only: prctl(2), PR_SET_DUMPABLE.
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

impl Tracer<'_> {
    /// Holds the stop of a thread that is not known.
    pub(crate) fn hold(&mut self, tid: Tid, status: i32) {
        if status >> 16 == libc::PTRACE_EVENT_EXIT {
            self.early.release(tid);
            sys::resume(tid, Resume::Run, 0);
            return;
        }
        let now = sys::now();
        self.early.held.insert(tid, Held { status, since: now, look: now + LOOK });
    }

    /// Waits for the next stop while some are held.
    pub(crate) fn wait_while_held(&mut self) -> Result<Waited, Errno> {
        while !self.early.is_empty() {
            let found = sys::wait_at_most(TICK)?;
            self.adopt(found.is_none());
            if let Some(waited) = found {
                return Ok(waited);
            }
        }
        sys::wait()
    }

    /// Takes in what was held too long; with `all_heard`, whose report cannot be on its way.
    fn adopt(&mut self, all_heard: bool) {
        let now = sys::now();
        let due = self.early.due(now);
        // Each thread is asked once, however many are due.
        let silent = all_heard && !due.is_empty() && !self.tree.threads.keys().any(may_report);
        for (tid, held) in due {
            let overdue = now - held.since >= LONGEST;
            if overdue || silent {
                self.adopt_one(tid, overdue);
            } else if let Some(held) = self.early.held.get_mut(&tid) {
                held.look = now + LOOK;
            }
        }
    }

    fn adopt_one(&mut self, tid: Tid, overdue: bool) {
        // Without a status it has ended, and wait4 will say so.
        let Some(status) = Status::of(tid) else { return };
        let Some(tgid) = status.number("Tgid:") else { return };
        match self.tree.group_of(tgid) {
            Some(group) => self.tree.add_thread(tid, group),
            // Of a thread, the first of its process comes before it.
            None if tgid == tid || overdue => self.add_orphan(tid, &status),
            None => return,
        }
        if let Some(stop) = self.early.release(tid) {
            self.stopped(tid, stop);
        }
    }

    /// A process whose parent is not known.
    fn add_orphan(&mut self, tid: Tid, status: &Status) {
        let mut process = Process::new(tid as u32, None, Spawn::Seen);
        let block = needless_host::read_process(&mut process, &self.options.watch);
        let image = self.builder.process(process);
        if let Some(block) = block {
            self.environment(image, block);
        }
        let at = self.tree.add_group(tid, Some(image), None);
        // It would count itself for one that has ended, or nobody knows which.
        restore_sites(tid, None);
        self.tree.group(at).has_filter = !self.options.all && other_filter_in(&status.text, 1);
    }
}
