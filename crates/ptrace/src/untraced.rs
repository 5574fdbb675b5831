//! Children that ask not to be traced (`CLONE_UNTRACED`).
//!
//! They inherit the filter, and without a tracer every call that it stops fails with ENOSYS. So the flag
//! is removed from the call, and the change is undone before the program can see it: in
//! the parent as soon as the child exists or the call has failed, in the child before its first
//! instruction.
//!
//! A filter of the command's own cannot be kept from seeing the change where the flags are an argument: after
//! our filter's stop the kernel asks all filters again, and no stop comes between that and the call. It
//! let the original pass (a refusal would have come before our stop), so the change matters only if no process
//! comes of the call, which is counted. With every call stopped, filters look only after us; a child of
//! the command then lives without a tracer, and the flag stays.

use crate::memory::{read_u64, write};
use crate::sys::{self, Register, SyscallInfo, Tid};
use crate::tree::Effect;
use needless_syscalls::{CLONE_NEWNS, CLONE_UNTRACED, Flags};

/// What was changed to remove the flag.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changed {
    /// A register, with its old value.
    Register(Register),
    /// The word of memory at this address.
    Memory { address: u64, before: u64 },
}

/// The flags of the call whose entry `tid` is stopped at; `None`: they cannot be read, also not by the kernel.
pub(crate) fn flags_of(tid: Tid, flags: Flags, info: &SyscallInfo) -> Option<u64> {
    let [first, ..] = info.args();
    match flags {
        Flags::Argument => Some(first),
        Flags::Structure => read_u64(tid, first),
    }
}

/// Whether a child of the call whose entry `tid` is stopped at has a mount namespace of its own.
pub(crate) fn moves_root(tid: Tid, flags: Flags, info: &SyscallInfo) -> bool {
    flags_of(tid, flags, info).is_some_and(|flags| flags & CLONE_NEWNS != 0)
}

/// Removes the flag from the call whose entry `tid` is stopped at. Returns why its exit then matters, and
/// what to restore.
pub(crate) fn clear(
    tid: Tid,
    flags: Flags,
    info: &SyscallInfo,
    all: bool,
) -> (Effect, Option<Changed>) {
    let [first, ..] = info.args();
    match flags {
        Flags::Argument if first & CLONE_UNTRACED != 0 => {
            let others = has_other_filter(tid, all);
            if others && all {
                return (Effect::Untraced, None);
            }
            match sys::clear_in_first_argument(tid, info, CLONE_UNTRACED) {
                Ok(register) => {
                    let effect = if others { Effect::Refiltered } else { Effect::None };
                    (effect, register.map(Changed::Register))
                }
                Err(_) => (Effect::Untraced, None),
            }
        }
        Flags::Argument => (Effect::None, None),
        // Not readable, so the kernel cannot read it either.
        Flags::Structure => match read_u64(tid, first) {
            Some(before) if before & CLONE_UNTRACED != 0 => {
                match write(tid, first, &(before & !CLONE_UNTRACED).to_ne_bytes()) {
                    Ok(()) => (Effect::None, Some(Changed::Memory { address: first, before })),
                    Err(_) => (Effect::Untraced, None),
                }
            }
            _ => (Effect::None, None),
        },
    }
}

/// Whether a seccomp filter that is not ours looks at the calls of `tid`; also where that is not known.
fn has_other_filter(tid: Tid, all: bool) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    other_filter_in(&status, u32::from(!all))
}

/// Whether this process has a seccomp filter, which the command then has, too.
pub(crate) fn inherited_filter() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() != "0"))
}

/// Whether a filter that this process has forbids the command to install ours. A child asks: a filter may end who asks.
pub(crate) fn forbids_filters() -> bool {
    const SECCOMP_SET_MODE_FILTER: libc::c_int = 1;
    if !inherited_filter() {
        return false;
    }
    // SAFETY: the child makes two system calls and nothing else. The first has no program to read: the kernel answers
    // EFAULT and installs nothing (seccomp(2)). __errno_location returns the address of the child's own errno.
    let child = unsafe {
        let child = libc::fork();
        if child == 0 {
            let none = std::ptr::null::<libc::sock_fprog>();
            libc::syscall(libc::SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, none);
            libc::_exit(i32::from(*libc::__errno_location() != libc::EFAULT));
        }
        child
    };
    let child = nix::unistd::Pid::from_raw(child);
    let asked = || nix::sys::wait::waitpid(child, None);
    child.as_raw() > 0 && asked() != Ok(nix::sys::wait::WaitStatus::Exited(child, 0))
}

/// Whether another filter looks at a process, by the text of its proc_pid_status(5), where `ours` filters are ours. Before Linux 5.9 it has no number of them.
pub(crate) fn other_filter_in(status: &str, ours: u32) -> bool {
    let field = |name: &str| -> Option<u32> {
        status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    };
    match field("Seccomp_filters:") {
        Some(filters) => filters > ours,
        None => field("Seccomp:") != Some(0),
    }
}

impl Changed {
    /// Restores memory, in the stopped parent `tid` when its child exists, or in the stopped child.
    pub(crate) fn put_memory_back(self, tid: Tid) {
        if let Changed::Memory { address, before } = self
            && read_u64(tid, address) == Some(before & !CLONE_UNTRACED)
        {
            // It was writable a moment ago; if it is not now, no one can read it.
            let _ = write(tid, address, &before.to_ne_bytes());
        }
    }

    /// The part that is in the child, too: not shared memory, which the parent may write.
    pub(crate) fn of_child(self) -> Option<Changed> {
        const CLONE_VM: u64 = 0x100;
        match self {
            Changed::Memory { before, .. } if before & CLONE_VM != 0 => None,
            _ => Some(self),
        }
    }

    /// Restores everything, in the stopped child or in the parent at the call's end.
    pub(crate) fn put_back(self, tid: Tid) {
        match self {
            Changed::Register(register) => sys::restore_register(tid, register),
            Changed::Memory { .. } => self.put_memory_back(tid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::other_filter_in;

    #[test]
    fn a_filter_that_is_not_ours_is_seen_and_feared_where_the_kernel_has_no_number() {
        let status = |mode: u32, filters: &str| format!("Name:\tx\nSeccomp:\t{mode}\n{filters}");
        let number = |filters: u32| status(2, &format!("Seccomp_filters:\t{filters}\n"));
        assert!(!other_filter_in(&number(1), 1) && other_filter_in(&number(2), 1));
        assert!(other_filter_in(&number(1), 0));
        assert!(!other_filter_in(&status(0, "Seccomp_filters:\t0\n"), 0));
        assert!(other_filter_in(&status(2, ""), 1) && !other_filter_in(&status(0, ""), 0));
        assert!(other_filter_in("", 0));
    }
}
