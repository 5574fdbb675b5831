//! Calls after which patched call sites cannot stay in a process: each stops before it is made, by the filter, and the
//! tracer takes the sites back (`patch/process.rs`).
//!
//! They stop at their entry, where the one thread is outside of the stub: `clone` and `clone3`, `seccomp`, some options
//! of `prctl`, and calls that change memory near ours. What is mapped near a library has the same low 31 bits of its
//! address in every process, so the filter can tell a `munmap` that reaches it from all others without knowing where
//! that is. A `clone` that makes no thread, and memory elsewhere, do not stop.

use needless_syscalls::{Call, CallKind, Condition, Flags, PR_SET_SECCOMP};

/// Options of prctl(2). After the first without a value, an ordinary user's tracer cannot write to the process any more.
const PR_SET_DUMPABLE: u64 = 4;
const PR_SET_TSC: u64 = 26;
/// Calls from outside of one range of addresses become signals.
const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;

/// Why they cannot stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By these flags a second thread, or a process beside it, uses its memory or its descriptors: see [`shares`].
    Shares(Flags),
    /// It restricts what it may do, or what others may do in it, if the condition holds: see [`restricts`]. What a vfork
    /// child does to itself may hold for the memory that it uses.
    Restricts(Condition),
    /// It may change these ranges of its memory, in which something of ours may be.
    Changes(&'static [Range]),
}

/// A range of memory, by the arguments that have its start and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u8,
    pub(crate) length: u8,
    /// It is changed only if the argument has one of these bits.
    pub(crate) if_set: Option<(u8, u32)>,
}

impl Ending {
    /// What this call may mean; `is_64bit`: its ABI has pointers of 64 bits.
    pub(crate) fn of(call: &Call, is_64bit: bool) -> Option<Ending> {
        const FIRST: Range = Range { start: 0, length: 1, if_set: None };
        // Without this flag a mapping replaces none.
        const FIXED: Range = Range { if_set: Some((3, libc::MAP_FIXED as u32)), ..FIRST };
        const TARGET: Range =
            Range { start: 4, length: 2, if_set: Some((3, libc::MREMAP_FIXED as u32)) };
        const OPTIONS: u64 = 1 << PR_SET_DUMPABLE
            | 1 << PR_SET_SECCOMP
            | 1 << PR_SET_TSC
            | 1 << PR_SET_SYSCALL_USER_DISPATCH;
        Some(match (call.kind, call.name) {
            (CallKind::Path(_) | CallKind::Wait(_), _) => return None,
            (CallKind::Clone(flags), _) => Ending::Shares(flags),
            (_, "prctl") => Ending::Restricts(Condition::OneOf(0, OPTIONS)),
            (CallKind::Seccomp(when), _) => Ending::Restricts(when),
            // Of a program that becomes another user an ordinary tracer, or that of a container, cannot write the memory.
            (
                _,
                "setuid" | "setuid32" | "setgid" | "setgid32" | "setreuid" | "setreuid32"
                | "setregid" | "setregid32" | "setresuid" | "setresuid32" | "setresgid"
                | "setresgid32" | "setfsuid" | "setfsuid32" | "setfsgid" | "setfsgid32",
            ) => Ending::Restricts(Condition::Always),
            // What they change is not among their arguments; hardly any program makes these.
            (_, "process_madvise" | "userfaultfd") => Ending::Restricts(Condition::Always),
            (_, "shmat") => Ending::Restricts(Condition::With(2, libc::SHM_REMAP as u32)),
            // In the old call of 32 bits the arguments are in memory.
            (_, "mmap") if !is_64bit => return None,
            (_, "mmap" | "mmap2") => Ending::Changes(&[FIXED]),
            (_, "mremap") => Ending::Changes(&[FIRST, TARGET]),
            (_, "munmap" | "mprotect" | "pkey_mprotect" | "madvise" | "remap_file_pages") => {
                Ending::Changes(&[FIRST])
            }
            _ => return None,
        })
    }
}

/// Whether a call that stops by [`Ending::Restricts`] does so, by its arguments.
pub(crate) fn restricts(call: &Call, args: &[u64; 6]) -> bool {
    if call.name != "prctl" {
        return true;
    }
    match u64::from(args[0] as u32) {
        PR_SET_DUMPABLE => args[1] == 0,
        PR_SET_TSC => forbids_clock(call, args),
        _ => args[1] != 0,
    }
}

/// Whether it forbids the instruction that reads the time stamp counter. That stays after an exec.
pub(crate) fn forbids_clock(call: &Call, args: &[u64; 6]) -> bool {
    const PR_TSC_SIGSEGV: u64 = 2;
    call.name == "prctl" && (args[0] as u32, args[1]) == (PR_SET_TSC as u32, PR_TSC_SIGSEGV)
}

/// Whether by these flags of clone(2) a thread is started, or a process that uses the memory of one that goes on, or its
/// descriptors, among which one of ours is for a moment. One that waits for a child with memory of its own cannot be
/// distinguished from one whose memory its child uses.
pub(crate) fn shares(flags: u64) -> bool {
    let has = |flag: i32| flags & flag as u64 != 0;
    has(libc::CLONE_THREAD)
        || has(libc::CLONE_FILES)
        || has(libc::CLONE_VM) != has(libc::CLONE_VFORK)
}

impl Range {
    /// Start and length, if the call with these arguments changes it.
    pub(crate) fn of(&self, args: &[u64; 6]) -> Option<(u64, u64)> {
        let changes = self.if_set.is_none_or(|(at, bits)| args[usize::from(at)] as u32 & bits != 0);
        changes.then(|| (args[usize::from(self.start)], args[usize::from(self.length)]))
    }
}
