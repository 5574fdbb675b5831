//! What the supervisor does when the tracer was killed.
//!
//! A thread whose filter says "ask the tracer" gets ENOSYS from the kernel when there is none. So the
//! supervisor seizes the threads that the tracer had, by their list, then others that it finds in the command's
//! process tree, and lets every call run, unobserved, until the last process has ended. Calls made
//! between the tracer's death and the seizing did fail: how long that takes depends on how soon the
//! scheduler lets the supervisor run.

use crate::drain::drain;
use crate::roster::Roster;
use crate::sys::{self, Tid};
use needless_model::Exit;
use std::collections::HashSet;
use std::fs;

/// Threads that the supervisor has taken over.
pub(crate) struct Taken(HashSet<Tid>);

/// Seizes every thread that is left. To be called when the tracer has died, at once.
pub(crate) fn take_over(roster: &Roster, command: Tid) -> Taken {
    let mut taken = Taken(HashSet::new());
    // The kernel does not use a number again so soon after its process has ended.
    for thread in roster.threads() {
        taken.seize(thread);
    }
    // Threads that the tracer did not know yet. A process that is forked now is followed if its
    // parent is seized already; if not, the next search finds it.
    while taken.seize_tree(command) {}
    taken
}

impl Taken {
    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Lets them run to their end. Returns how `command` ended, if it lived.
    pub(crate) fn carry_on(self, command: Tid) -> Option<Exit> {
        drain([], command)
    }

    /// Seizes a thread if it is not seized; fails for ended threads, and for those seized with their
    /// parents.
    fn seize(&mut self, thread: Tid) -> bool {
        const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        !self.0.contains(&thread) && sys::seize(thread, OPTIONS).is_ok() && self.0.insert(thread)
    }

    /// Seizes the threads of `root` and its descendants; returns whether there were new ones.
    fn seize_tree(&mut self, root: Tid) -> bool {
        let mut found = false;
        let mut processes = vec![root];
        while let Some(process) = processes.pop() {
            let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
            let threads =
                threads.flatten().filter_map(|t| t.file_name().to_str()?.parse::<Tid>().ok());
            for thread in threads {
                found |= self.seize(thread);
                let children =
                    fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
                let children = children.unwrap_or_default();
                processes.extend(
                    children.split_ascii_whitespace().filter_map(|c| c.parse::<Tid>().ok()),
                );
            }
        }
        found
    }
}
