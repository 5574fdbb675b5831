//! What the supervisor does when the tracer was killed, and the watchdog when both were.
//!
//! A thread whose filter says "ask the tracer" gets ENOSYS from the kernel when there is none. So the threads that the
//! tracer had are seized, by their list, then others that are found below their processes, and every call runs,
//! unobserved, until the last process has ended. Calls made between the tracer's death and the seizing did fail: how
//! long that takes depends on how soon the scheduler lets this process run.
//!
//! A thread may have entered fork or clone between the tracer's death and the seizing. What it starts is followed by
//! nobody, and may come after the search. So a thread that may be in such a call is stopped once, when it has left the
//! call, and the search is repeated.
//!
//! A process that may not be seized, as one that is not dumpable by an ordinary user (ptrace(2)), would go on with calls
//! that fail: it is ended. If this process is killed, too, the kernel ends all that it has seized.
//!
//! `PTRACE_O_EXITKILL` is set here, and not by the tracer, where it would be the simple answer to a dead tracer: kill
//! the program. A tool that looks must not be the reason that a database died. But a program whose every open fails may
//! believe that its files are gone, and write that down: where no process is left that could answer its calls, it is
//! ended. Where Yama allows only ancestors to trace (`kernel.yama.ptrace_scope` 1), that is every process once the
//! supervisor is gone. With `--all` there is no filter, so no call fails and nothing is ended.

use crate::drain::drain;
use crate::early::Status;
use crate::roster::Roster;
use crate::sys::{self, Tid};
use needless_model::Exit;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Threads that were taken over.
pub(crate) struct Taken {
    threads: HashSet<Tid>,
    /// Of these, those of which it is known whether they were starting another.
    looked_at: HashSet<Tid>,
    /// Those that may still be starting a process or thread: each will stop once.
    starting: HashSet<Tid>,
    /// Those that may not be seized, and are to be ended.
    refused: HashSet<Tid>,
    /// Those that were ended.
    ended: HashSet<Tid>,
    /// Whether their calls fail without a tracer.
    filtered: bool,
}

/// Seizes every thread that is left. To be called when the tracer has died, at once.
pub(crate) fn take_over(roster: &Roster, filtered: bool) -> Taken {
    // The kernel does not use a number again so soon after its process has ended.
    let listed: Vec<Tid> = roster.threads().collect();
    let mut taken = Taken {
        threads: HashSet::new(),
        looked_at: HashSet::new(),
        starting: HashSet::new(),
        refused: HashSet::new(),
        ended: HashSet::new(),
        filtered,
    };
    for thread in &listed {
        taken.take(*thread);
    }
    taken.take_others(&listed);
    taken
}

impl Taken {
    /// Whether any go on.
    pub(crate) fn any(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Whether all were found: what some are just starting may come yet.
    pub(crate) fn is_complete(&self) -> bool {
        self.starting.is_empty()
    }

    /// Whether any were ended, because they may not be seized.
    pub(crate) fn any_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Lets them run to their end. Returns how `command` ended, if it ends here.
    pub(crate) fn carry_on(mut self, command: Tid) -> Option<Exit> {
        drain([], command, |stopped| {
            if self.starting.remove(&stopped) {
                self.take_others(&[stopped]);
            }
        })
    }

    /// Takes threads of the processes of `known` and their descendants that the tracer did not know yet. What a seized
    /// thread starts from now on is seized with it.
    fn take_others(&mut self, known: &[Tid]) {
        while self.take_trees(known) {}
        for thread in self.threads.clone() {
            if self.looked_at.insert(thread) {
                self.stop_if_starting(thread);
            }
        }
        self.end_refused(known);
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

    /// Seizes a thread, or stops it if it is to be ended. Returns whether it is a new one: ended threads and those seized
    /// with their parents are not.
    fn take(&mut self, thread: Tid) -> bool {
        const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        if [&self.threads, &self.refused, &self.ended].iter().any(|known| known.contains(&thread)) {
            return false;
        }
        let exit_kill = if self.filtered { libc::PTRACE_O_EXITKILL } else { 0 };
        match sys::seize(thread, OPTIONS | exit_kill) {
            Ok(()) => self.threads.insert(thread),
            Err(Errno::ESRCH) => false,
            // While it is stopped it starts no others.
            Err(_) if self.filtered && has_no_tracer(thread) => {
                signal(thread, Signal::SIGSTOP) && self.refused.insert(thread)
            }
            Err(_) => false,
        }
    }

    /// The same, in one look; returns whether there were new ones.
    fn take_trees(&mut self, known: &[Tid]) -> bool {
        let mut found = false;
        let mut seen = HashSet::new();
        let mut left = known.to_vec();
        while let Some(process) = left.pop() {
            if !seen.insert(process) {
                continue;
            }
            let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
            let threads =
                threads.flatten().filter_map(|t| t.file_name().to_str()?.parse::<Tid>().ok());
            for thread in threads {
                seen.insert(thread);
                found |= self.take(thread);
                let children =
                    fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
                let children = children.unwrap_or_default();
                left.extend(
                    children.split_ascii_whitespace().filter_map(|c| c.parse::<Tid>().ok()),
                );
            }
        }
        found
    }

    /// Ends the processes that may not be seized, and what they have started since the tracer's death.
    fn end_refused(&mut self, known: &[Tid]) {
        const LOOKS: u32 = 3;
        const MOST_LOOKS: u32 = 100;
        if self.refused.is_empty() {
            return;
        }
        // A fork that was on its way when its thread was stopped is over soon.
        let mut fruitless = 0;
        for _ in 0..MOST_LOOKS {
            sleep(Duration::from_millis(1));
            fruitless = if self.take_trees(known) { 0 } else { fruitless + 1 };
            if fruitless == LOOKS {
                break;
            }
        }
        for thread in self.refused.drain() {
            signal(thread, Signal::SIGKILL);
            self.ended.insert(thread);
        }
    }
}

/// Whether a thread that could not be seized has the filter and no tracer, as far as /proc says.
fn has_no_tracer(thread: Tid) -> bool {
    let Some(status) = Status::of(thread) else {
        // /proc may hide it (hidepid), or it has ended.
        return true;
    };
    let ended = status.field("State:").is_none_or(|state| state.starts_with(['Z', 'X']));
    !ended && status.field("TracerPid:") == Some("0") && status.field("Seccomp:") == Some("2")
}

/// Sends a signal to the process of a thread. `false`: it has ended, or may not be sent one.
fn signal(thread: Tid, signal: Signal) -> bool {
    kill(Pid::from_raw(thread), signal).is_ok()
}
