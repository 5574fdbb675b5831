//! The system calls: what each asks, and where in its arguments. By number for the backends that read
//! the kernel's registers ([`abis`]), by name for the one that reads a log ([`kind`]).

mod abi;

pub use abi::{Abi, Call, X32_BIT, abis};

use needless_model::{
    ArgClass, HIGH_DESCRIPTOR, LARGE_BLOCK, Query, SMALL_OUTPUT, TINY_INPUT, VDSO_CLOCKS,
};

/// Which arguments of a call hold its path and what belongs to it. Numbers are argument positions,
/// from 0. Of two paths it is the one that the call creates or mounts on, or, where both exist or are
/// created, the first.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The query, where the flags do not decide it.
    pub query: Query,
    /// What the call may move if it succeeds.
    pub moves: Moves,
    /// The path argument.
    pub path: u8,
    /// The directory descriptor it is relative to; without one, the working directory.
    pub dir: Option<u8>,
    /// Flags with `AT_*` bits, of which `AT_EMPTY_PATH` makes "" mean the descriptor itself.
    pub at_flags: Option<u8>,
    /// What decides the query, besides the name.
    pub decided_by: Decider,
    /// What the kernel fills in.
    pub reply: Reply,
}

/// What decides which query a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The name alone.
    Name,
    /// `O_*` flags in this argument.
    OpenFlags(u8),
    /// A pointer to `struct open_how`, whose first field holds the `O_*` flags.
    OpenHow(u8),
    /// `AT_*` flags in this argument.
    AtFlags(u8),
}

/// What a call moves if it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Nothing.
    Nothing,
    /// The working directory.
    Directory,
    /// The root directory or the mount namespace, and perhaps the working directory.
    Root,
}

/// The buffer that holds the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// There is none: the return value is the answer.
    None,
    /// `struct stat` of the ABI, at the address in this argument.
    Stat(u8),
    /// `struct stat64` of a 32-bit ABI.
    Stat64(u8),
    /// `struct statx`.
    Statx(u8),
    /// The text of a link; the return value is its length.
    Link(u8),
}

/// A condition on an argument, simple enough for the seccomp filter to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It holds for all arguments.
    Always,
    /// The 32-bit argument is not zero.
    NonZero(u8),
    /// None of these bits is set in the argument.
    Without(u8, u32),
    /// One of these bits is set in the argument.
    With(u8, u32),
    /// The argument is not less than this.
    AtLeast(u8, u32),
    /// The first argument is this descriptor, of a standard stream, and the third is less than this.
    Stream(u32, u32),
    /// The argument is below 64, and its bit is set.
    OneOf(u8, u64),
}

impl Condition {
    /// Whether the condition holds for `args`.
    pub fn holds(self, args: &[u64; 6]) -> bool {
        match self {
            Condition::Always => true,
            Condition::NonZero(at) => args[at as usize] as u32 != 0,
            Condition::Without(at, bits) => args[at as usize] as u32 & bits == 0,
            Condition::With(at, bits) => args[at as usize] as u32 & bits != 0,
            Condition::AtLeast(at, least) => args[at as usize] as u32 >= least,
            Condition::Stream(fd, below) => args[0] as u32 == fd && (args[2] as u32) < below,
            Condition::OneOf(at, bits) => {
                let value = args[at as usize] as u32;
                value < u64::BITS && bits & 1 << value != 0
            }
        }
    }
}

/// The protection and the flags of a block that malloc maps: PROT_READ and PROT_WRITE, MAP_PRIVATE and MAP_ANONYMOUS.
/// Stacks of threads and what other runtimes map have more flags.
pub const BLOCK_PROTECTION: u64 = 3;
/// See [`BLOCK_PROTECTION`].
pub const BLOCK_FLAGS: u64 = 0x22;

/// How the [`ArgClass`] of a call is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// A small write to standard output: by the file that standard output is.
    Output,
    /// By the end of the heap, its first argument.
    Heap,
    /// Memory that is mapped: by the protection and the flags, its third and fourth argument.
    Mapped,
    /// Memory that is given back, as much as its second argument says.
    Unmapped,
    /// It is this one.
    Just(ArgClass),
    /// By the peer, whose address its second argument points to.
    Peer,
}

/// What a backend does about a call.
#[derive(Clone, Copy, Debug)]
pub enum CallKind {
    /// Counts it in `--all` mode.
    Plain,
    /// Reads its path.
    Path(Shape),
    /// Waits for time or for others to do something, if the condition holds.
    Wait(Condition),
    /// Moves the working directory or the root without naming a path.
    Moves(Moves),
    /// Has a class of arguments that rules ask about, if the condition holds.
    Classify(Condition, Classifier),
    /// `ptrace`.
    Ptrace,
    /// Calls put through this are invisible to tracers of system calls.
    Uring,
    /// Starts a process or thread, which is not traced if its flags have [`CLONE_UNTRACED`].
    Clone(Flags),
    /// Changes the seccomp mode of its caller, if the condition holds, to what [`seccomp_mode`] says.
    Seccomp(Condition),
}

/// Where a call that starts a process has its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// In its first argument.
    Argument,
    /// In the first 64-bit field of the structure that its first argument points to.
    Structure,
}

/// The flag of clone(2) with which a child is not traced although its parent is (linux/sched.h).
pub const CLONE_UNTRACED: u64 = 0x0080_0000;

/// The flag of clone(2) with which a child has a mount namespace of its own (linux/sched.h).
pub const CLONE_NEWNS: u64 = 0x0002_0000;

/// The option of prctl(2) that changes the seccomp mode.
pub const PR_SET_SECCOMP: u64 = 22;

/// What a process asks of seccomp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeccompMode {
    /// The strict mode.
    Strict,
    /// One more filter.
    Filter,
}

/// What a call of [`CallKind::Seccomp`] whose condition holds asks for: prctl(2) and seccomp(2) use different
/// arguments for it.
pub fn seccomp_mode(args: &[u64; 6]) -> Option<SeccompMode> {
    const SECCOMP_MODE_STRICT: u64 = 1;
    const SECCOMP_MODE_FILTER: u64 = 2;
    const SECCOMP_SET_MODE_STRICT: u64 = 0;
    const SECCOMP_SET_MODE_FILTER: u64 = 1;
    match (u64::from(args[0] as u32), args[1]) {
        (PR_SET_SECCOMP, SECCOMP_MODE_STRICT) => Some(SeccompMode::Strict),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER) => Some(SeccompMode::Filter),
        (PR_SET_SECCOMP, _) => None,
        (SECCOMP_SET_MODE_STRICT, _) => Some(SeccompMode::Strict),
        (SECCOMP_SET_MODE_FILTER, _) => Some(SeccompMode::Filter),
        _ => None,
    }
}

impl CallKind {
    /// The condition on which the call must stop in default mode; `None`: it never stops.
    pub fn stops(self) -> Option<Condition> {
        match self {
            CallKind::Plain => None,
            CallKind::Wait(when) | CallKind::Classify(when, _) | CallKind::Seccomp(when) => {
                Some(when)
            }
            CallKind::Clone(Flags::Argument) => {
                Some(Condition::With(0, (CLONE_UNTRACED | CLONE_NEWNS) as u32))
            }
            CallKind::Path(_)
            | CallKind::Moves(_)
            | CallKind::Ptrace
            | CallKind::Uring
            | CallKind::Clone(Flags::Structure) => Some(Condition::Always),
        }
    }
}

/// What a backend does about the call with this name, which may be of any architecture. `is_64bit`:
/// whether the ABI has 64-bit registers.
pub fn kind(name: &str, is_64bit: bool) -> CallKind {
    const WNOHANG: u32 = 1;
    match name {
        "nanosleep"
        | "clock_nanosleep"
        | "clock_nanosleep_time64"
        | "pause"
        | "sigsuspend"
        | "rt_sigsuspend"
        | "rt_sigtimedwait"
        | "rt_sigtimedwait_time64"
        | "select"
        | "_newselect"
        | "pselect6"
        | "pselect6_time64"
        | "ppoll"
        | "ppoll_time64"
        | "epoll_pwait2" => CallKind::Wait(Condition::Always),
        "poll" => CallKind::Wait(Condition::NonZero(2)),
        "epoll_wait" | "epoll_pwait" => CallKind::Wait(Condition::NonZero(3)),
        "wait4" | "waitpid" => CallKind::Wait(Condition::Without(2, WNOHANG)),
        "waitid" => CallKind::Wait(Condition::Without(3, WNOHANG)),
        "fchdir" => CallKind::Moves(Moves::Directory),
        "setns" | "unshare" => CallKind::Moves(Moves::Root),
        "write" => CallKind::Classify(Condition::Stream(1, SMALL_OUTPUT), Classifier::Output),
        "read" => CallKind::Classify(
            Condition::Stream(0, TINY_INPUT),
            Classifier::Just(ArgClass::TinyInput),
        ),
        "brk" => CallKind::Classify(Condition::NonZero(0), Classifier::Heap),
        // On 32-bit ABIs mmap has its arguments in memory, or there is mmap2; blocks are smaller there.
        "mmap" if is_64bit => {
            CallKind::Classify(Condition::AtLeast(1, LARGE_BLOCK), Classifier::Mapped)
        }
        "munmap" => CallKind::Classify(Condition::AtLeast(1, LARGE_BLOCK), Classifier::Unmapped),
        "close" => CallKind::Classify(
            Condition::AtLeast(0, HIGH_DESCRIPTOR),
            Classifier::Just(ArgClass::HighDescriptor),
        ),
        "clock_gettime" | "clock_gettime64" => CallKind::Classify(
            Condition::OneOf(0, VDSO_CLOCKS as u64),
            Classifier::Just(ArgClass::Clock),
        ),
        "gettimeofday" | "time" => {
            CallKind::Classify(Condition::Always, Classifier::Just(ArgClass::Clock))
        }
        "connect" => CallKind::Classify(Condition::Always, Classifier::Peer),
        "ptrace" => CallKind::Ptrace,
        "io_uring_setup" => CallKind::Uring,
        "clone" => CallKind::Clone(Flags::Argument),
        "clone3" => CallKind::Clone(Flags::Structure),
        "prctl" => CallKind::Seccomp(Condition::OneOf(0, 1 << PR_SET_SECCOMP)),
        "seccomp" => CallKind::Seccomp(Condition::OneOf(0, 1 << 0 | 1 << 1)),
        _ if Query::of(name).names_path() => CallKind::Path(shape(name, is_64bit)),
        _ => CallKind::Plain,
    }
}

fn shape(name: &str, is_64bit: bool) -> Shape {
    let plain = Shape {
        query: Query::of(name),
        moves: match name {
            "chdir" => Moves::Directory,
            "chroot" | "pivot_root" => Moves::Root,
            _ => Moves::Nothing,
        },
        path: 0,
        dir: None,
        at_flags: None,
        decided_by: Decider::Name,
        reply: Reply::None,
    };
    let at = Shape { path: 1, dir: Some(0), ..plain };
    match name {
        "open" => Shape { decided_by: Decider::OpenFlags(1), ..plain },
        "openat" => Shape { decided_by: Decider::OpenFlags(2), ..at },
        "openat2" => Shape { decided_by: Decider::OpenHow(2), ..at },
        "stat" | "lstat" => Shape { reply: Reply::Stat(1), ..plain },
        "stat64" | "lstat64" => Shape { reply: Reply::Stat64(1), ..plain },
        "newfstatat" => Shape {
            at_flags: Some(3),
            decided_by: Decider::AtFlags(3),
            reply: Reply::Stat(2),
            ..at
        },
        "fstatat64" => Shape {
            at_flags: Some(3),
            decided_by: Decider::AtFlags(3),
            reply: Reply::Stat64(2),
            ..at
        },
        "statx" => Shape {
            at_flags: Some(2),
            decided_by: Decider::AtFlags(2),
            reply: Reply::Statx(4),
            ..at
        },
        "readlink" => Shape { reply: Reply::Link(1), ..plain },
        "readlinkat" => Shape { reply: Reply::Link(2), ..at },
        "faccessat2" | "fchmodat2" => Shape { at_flags: Some(3), ..at },
        "execveat" | "fchownat" | "linkat" | "name_to_handle_at" => {
            Shape { at_flags: Some(4), ..at }
        }
        "open_tree" | "fspick" => Shape { at_flags: Some(2), ..at },
        "faccessat" | "unlinkat" | "renameat" | "renameat2" | "mkdirat" | "mknodat"
        | "fchmodat" | "utimensat" | "utimensat_time64" | "futimesat" => at,
        // The path that is created or mounted on; the other argument is a text or a device.
        "symlink" | "mount" | "quotactl" | "inotify_add_watch" => Shape { path: 1, ..plain },
        "symlinkat" => Shape { path: 2, dir: Some(1), ..plain },
        "fanotify_mark" if is_64bit => Shape { path: 4, dir: Some(3), ..plain },
        // The 64-bit mask takes two arguments.
        "fanotify_mark" => Shape { path: 5, dir: Some(4), ..plain },
        _ => plain,
    }
}

#[cfg(test)]
mod tests;
