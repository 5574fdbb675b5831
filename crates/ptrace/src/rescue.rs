//! What the front does when somebody killed the tracer.
//!
//! A thread whose filter says "ask the tracer" gets ENOSYS from the kernel when there is none. So the
//! front seizes what is left of the command's process tree and lets every call run, unobserved,
//! until the last process has ended. Calls made between the tracer's death and the seizing, some
//! hundred microseconds, did fail; and a process that left the tree (its parent has ended) is not
//! found.

use crate::drain::drain;
use crate::sys::{self, Tid};
use needless_model::Exit;
use std::collections::HashSet;
use std::fs;

/// Lets the processes descended from `command` go on to their end. How the command ended, if it
/// lived.
pub(crate) fn carry_on(command: Tid) -> Option<Exit> {
    let mut seized = HashSet::new();
    // Who was forked while we looked is followed if its parent was seized by then; else the next
    // look finds it.
    while seize_new(command, &mut seized) {}
    drain([], command)
}

/// Seizes the threads of `root` and its descendants that are not yet; whether there were any.
fn seize_new(root: Tid, seized: &mut HashSet<Tid>) -> bool {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC;
    let mut found = false;
    let mut processes = vec![root];
    while let Some(process) = processes.pop() {
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
        let threads = threads.flatten().filter_map(|t| t.file_name().to_str()?.parse::<Tid>().ok());
        for thread in threads {
            let children = fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
            let children = children.unwrap_or_default();
            processes
                .extend(children.split_ascii_whitespace().filter_map(|c| c.parse::<Tid>().ok()));
            // Fails for the dead, and for those that follow their parents' seizing.
            if seized.insert(thread) && sys::seize(thread, options).is_ok() {
                found = true;
            }
        }
    }
    found
}
