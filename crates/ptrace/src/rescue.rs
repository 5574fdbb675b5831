//! What the supervisor does when the tracer was killed.
//!
//! A thread whose filter says "ask the tracer" gets ENOSYS from the kernel when there is none. So the
//! supervisor seizes the threads that the tracer had, by their list, then others that it finds in the command's
//! process tree, and lets every call run, unobserved, until the last process has ended. Calls made
//! between the tracer's death and the seizing did fail: how long that takes depends on how soon the
//! scheduler lets the supervisor run.
//!
//! A thread may have entered fork or clone between the tracer's death and the seizing. What it starts is followed by
//! nobody, and may come after the search. So a thread that may be in such a call is stopped once, when it has left the
//! call, and the search is repeated.

use crate::drain::drain;
use crate::roster::Roster;
use crate::sys::{self, Tid};
use needless_model::Exit;
use std::collections::HashSet;
use std::fs;

/// Threads that the supervisor has taken over.
pub(crate) struct Taken {
    threads: HashSet<Tid>,
    /// Those that may still be starting a process or thread: each will stop once.
    starting: HashSet<Tid>,
    command: Tid,
}

/// Seizes every thread that is left. To be called when the tracer has died, at once.
pub(crate) fn take_over(roster: &Roster, command: Tid) -> Taken {
    let mut taken = Taken { threads: HashSet::new(), starting: HashSet::new(), command };
    // The kernel does not use a number again so soon after its process has ended.
    for thread in roster.threads() {
        taken.seize(thread);
    }
    taken.seize_others();
    for thread in taken.threads.clone() {
        taken.stop_if_starting(thread);
    }
    taken
}

impl Taken {
    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Lets them run to their end. Returns how the command ended, if it lived.
    pub(crate) fn carry_on(mut self) -> Option<Exit> {
        drain([], self.command, |stopped| {
            if self.starting.remove(&stopped) {
                let known = self.threads.clone();
                self.seize_others();
                for thread in &self.threads.clone() - &known {
                    self.stop_if_starting(thread);
                }
            }
        })
    }

    /// Seizes threads that the tracer did not know yet. What a seized thread starts from now on is seized with it.
    fn seize_others(&mut self) {
        while self.seize_tree(self.command) {}
    }

    /// Stops a thread that may have entered fork or clone before it was seized. One that waits in another call is left
    /// alone: a few calls fail when their thread is stopped (EINTR, signal(7)).
    fn stop_if_starting(&mut self, thread: Tid) {
        const STARTING: [libc::c_long; 2] = [libc::SYS_clone, libc::SYS_clone3];
        let text = fs::read_to_string(format!("/proc/{thread}/syscall")).unwrap_or_default();
        let call = text.split(' ').next().and_then(|call| call.parse().ok());
        // No number: it runs.
        let waits_elsewhere = call.is_some_and(|call| !STARTING.contains(&call));
        if !waits_elsewhere && sys::interrupt(thread).is_ok() {
            self.starting.insert(thread);
        }
    }

    /// Seizes a thread if it is not seized; fails for ended threads, and for those seized with their
    /// parents.
    fn seize(&mut self, thread: Tid) -> bool {
        const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        !self.threads.contains(&thread)
            && sys::seize(thread, OPTIONS).is_ok()
            && self.threads.insert(thread)
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
