//! The system calls of each ABI: name, what is asked, and where in the arguments. For backends that
//! look at the kernel's registers and not at another program's text.

use needless_model::{ArgClass, HIGH_DESCRIPTOR, Query, SMALL_OUTPUT, TINY_INPUT, VDSO_CLOCKS};

/// Where a call keeps its path. Numbers are argument positions, from 0.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The question, as far as the name tells.
    pub query: Query,
    /// What the call may move if it succeeds.
    pub moves: Moves,
    /// The path.
    pub path: u8,
    /// The directory descriptor it is relative to; without one, the working directory.
    pub dir: Option<u8>,
    /// Flags with `AT_*` bits, of which `AT_EMPTY_PATH` makes "" mean the descriptor itself.
    pub at_flags: Option<u8>,
    /// What decides the question, besides the name.
    pub decided_by: Decider,
    /// What the kernel fills in.
    pub reply: Reply,
}

/// What decides which question a call puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The name alone.
    Name,
    /// `O_*` flags in this argument.
    OpenFlags(u8),
    /// A pointer to `struct open_how`, whose first field are the `O_*` flags.
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
    /// The return value says it all.
    None,
    /// `struct stat` of the ABI, at the address in this argument.
    Stat(u8),
    /// `struct stat64` of a 32-bit ABI.
    Stat64(u8),
    /// `struct statx`.
    Statx(u8),
    /// As many bytes of link text as the return value says.
    Link(u8),
}

/// A condition on an argument, simple enough for the seccomp filter to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Whatever the arguments.
    Always,
    /// The 32-bit argument is not zero.
    NonZero(u8),
    /// None of these bits is set in the argument.
    Without(u8, u32),
    /// One of these bits is set in the argument.
    With(u8, u32),
    /// The argument is at least so much.
    AtLeast(u8, u32),
    /// The first argument is the descriptor of a standard stream, and the third less than so much.
    Stream(u32, u32),
    /// The argument is below 32, and its bit is set.
    OneOf(u8, u32),
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
                value < u32::BITS && bits & 1 << value != 0
            }
        }
    }
}

/// What a call with a [`ArgClass`](needless_model::ArgClass) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// A small write to standard output.
    Output,
    /// The end of the heap, in its first argument.
    Heap,
    /// This, whatever else.
    Just(ArgClass),
    /// A peer, whose address its second argument points to.
    Peer,
}

/// What a backend does about a call.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Counts it in `--all` mode.
    Plain,
    /// Reads its path.
    Path(Shape),
    /// Waits for time or for others to do something, if the condition holds.
    Wait(Condition),
    /// May move the working directory or the root without naming a path.
    Moves,
    /// Has arguments that rules ask about, if the condition holds.
    ArgClass(Condition, Classifier),
    /// `ptrace`.
    Ptrace,
    /// Calls put through this are seen by no tracer of system calls.
    Uring,
    /// Starts a process or thread, which is not traced if its flags have [`CLONE_UNTRACED`].
    Clone(Flags),
    /// Asks for seccomp's strict mode if the condition holds and [`is_strict_mode`].
    StrictMode(Condition),
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

const PR_SET_SECCOMP: u64 = 22;

/// Whether a call of [`Kind::StrictMode`] whose condition holds asks for the strict mode, by its
/// arguments: prctl(2) has another argument for it than seccomp(2).
pub fn is_strict_mode(args: &[u64; 6]) -> bool {
    const SECCOMP_MODE_STRICT: u64 = 1;
    const SECCOMP_SET_MODE_STRICT: u64 = 0;
    match u64::from(args[0] as u32) {
        PR_SET_SECCOMP => args[1] == SECCOMP_MODE_STRICT,
        operation => operation == SECCOMP_SET_MODE_STRICT,
    }
}

impl Kind {
    /// When the call must stop in default mode, if ever.
    pub fn stops(self) -> Option<Condition> {
        match self {
            Kind::Plain => None,
            Kind::Wait(when) | Kind::ArgClass(when, _) | Kind::StrictMode(when) => Some(when),
            Kind::Clone(Flags::Argument) => Some(Condition::With(0, CLONE_UNTRACED as u32)),
            Kind::Path(_)
            | Kind::Moves
            | Kind::Ptrace
            | Kind::Uring
            | Kind::Clone(Flags::Structure) => Some(Condition::Always),
        }
    }
}

/// One system call of one ABI.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The kernel's name.
    pub name: &'static str,
    /// What to do about it.
    pub kind: Kind,
}

/// The system calls of one ABI by number.
pub struct Abi {
    /// `AUDIT_ARCH_*` (linux/audit.h), as `PTRACE_GET_SYSCALL_INFO` and seccomp report it.
    pub audit: u32,
    /// Whether pointers have 64 bits.
    pub is_64bit: bool,
    /// By number; those of x32 without their bit.
    pub calls: Vec<Option<Call>>,
}

/// The bit that marks a call of the x32 ABI (asm/unistd.h).
pub const X32_BIT: u64 = 0x4000_0000;

const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;

/// The ABIs whose programs can run on this machine, the machine's own first. Empty on an
/// architecture that needless cannot trace.
pub fn abis() -> Vec<Abi> {
    let of = |audit, is_64bit, name: fn(usize) -> Option<&'static str>| {
        let mut calls: Vec<Option<Call>> =
            (0..600).map(|nr| name(nr).map(|n| call(n, is_64bit))).collect();
        if audit == AUDIT_ARCH_X86_64 {
            for (nr, name) in (512..).zip(X32_CALLS) {
                calls[nr] = Some(call(name, is_64bit));
            }
        }
        while calls.last().is_some_and(Option::is_none) {
            calls.pop();
        }
        Abi { audit, is_64bit, calls }
    };
    #[cfg(target_arch = "x86_64")]
    {
        const AUDIT_ARCH_I386: u32 = 0x4000_0003;
        vec![
            of(AUDIT_ARCH_X86_64, true, |nr| syscalls::x86_64::Sysno::new(nr).map(|n| n.name())),
            of(AUDIT_ARCH_I386, false, |nr| syscalls::x86::Sysno::new(nr).map(|n| n.name())),
        ]
    }
    #[cfg(target_arch = "aarch64")]
    {
        const AUDIT_ARCH_AARCH64: u32 = 0xc000_00b7;
        const AUDIT_ARCH_ARM: u32 = 0x4000_0028;
        vec![
            of(AUDIT_ARCH_AARCH64, true, |nr| syscalls::aarch64::Sysno::new(nr).map(|n| n.name())),
            of(AUDIT_ARCH_ARM, false, |nr| syscalls::arm::Sysno::new(nr).map(|n| n.name())),
        ]
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = of;
        Vec::new()
    }
}

/// The calls that x32 numbers differently from x86-64, from 512.
const X32_CALLS: [&str; 36] = [
    "rt_sigaction",
    "rt_sigreturn",
    "ioctl",
    "readv",
    "writev",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "execve",
    "ptrace",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "sigaltstack",
    "timer_create",
    "mq_notify",
    "kexec_load",
    "waitid",
    "set_robust_list",
    "get_robust_list",
    "vmsplice",
    "move_pages",
    "preadv",
    "pwritev",
    "rt_tgsigqueueinfo",
    "recvmmsg",
    "sendmmsg",
    "process_vm_readv",
    "process_vm_writev",
    "setsockopt",
    "getsockopt",
    "io_setup",
    "io_submit",
    "execveat",
    "preadv2",
    "pwritev2",
];

fn call(name: &'static str, is_64bit: bool) -> Call {
    // The crate spells `break` as the Rust identifier it has to be.
    let name = name.strip_prefix("r#").unwrap_or(name);
    Call { name, kind: kind(name, is_64bit) }
}

fn kind(name: &str, is_64bit: bool) -> Kind {
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
        | "epoll_pwait2" => Kind::Wait(Condition::Always),
        "poll" => Kind::Wait(Condition::NonZero(2)),
        "epoll_wait" | "epoll_pwait" => Kind::Wait(Condition::NonZero(3)),
        "wait4" | "waitpid" => Kind::Wait(Condition::Without(2, WNOHANG)),
        "waitid" => Kind::Wait(Condition::Without(3, WNOHANG)),
        "fchdir" | "setns" | "unshare" => Kind::Moves,
        "write" => Kind::ArgClass(Condition::Stream(1, SMALL_OUTPUT), Classifier::Output),
        "read" => {
            Kind::ArgClass(Condition::Stream(0, TINY_INPUT), Classifier::Just(ArgClass::TinyInput))
        }
        "brk" => Kind::ArgClass(Condition::NonZero(0), Classifier::Heap),
        "close" => Kind::ArgClass(
            Condition::AtLeast(0, HIGH_DESCRIPTOR),
            Classifier::Just(ArgClass::HighDescriptor),
        ),
        "clock_gettime" | "clock_gettime64" => {
            Kind::ArgClass(Condition::OneOf(0, VDSO_CLOCKS), Classifier::Just(ArgClass::Clock))
        }
        "gettimeofday" | "time" => {
            Kind::ArgClass(Condition::Always, Classifier::Just(ArgClass::Clock))
        }
        "connect" => Kind::ArgClass(Condition::Always, Classifier::Peer),
        "ptrace" => Kind::Ptrace,
        "io_uring_setup" => Kind::Uring,
        "clone" => Kind::Clone(Flags::Argument),
        "clone3" => Kind::Clone(Flags::Structure),
        "prctl" => Kind::StrictMode(Condition::OneOf(0, 1 << PR_SET_SECCOMP)),
        "seccomp" => Kind::StrictMode(Condition::OneOf(0, 1 << 0)),
        _ if Query::of(name).names_path() => Kind::Path(shape(name, is_64bit)),
        _ => Kind::Plain,
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
        // The name that is made or mounted on; the other argument is a text or a device.
        "symlink" | "mount" | "quotactl" | "inotify_add_watch" => Shape { path: 1, ..plain },
        "symlinkat" => Shape { path: 2, dir: Some(1), ..plain },
        "fanotify_mark" if is_64bit => Shape { path: 4, dir: Some(3), ..plain },
        // The 64-bit mask takes two arguments.
        "fanotify_mark" => Shape { path: 5, dir: Some(4), ..plain },
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_call_of_every_abi_has_a_path_argument_and_stops() {
        for abi in abis() {
            for call in abi.calls.iter().flatten() {
                if Query::of(call.name).names_path() {
                    assert!(matches!(call.kind, Kind::Path(_)), "{}", call.name);
                    assert_eq!(call.kind.stops(), Some(Condition::Always), "{}", call.name);
                    // Those ending in "at" take a directory descriptor.
                    let Kind::Path(shape) = call.kind else { unreachable!() };
                    let at = call.name.trim_end_matches(['2', '4', '6']).ends_with("at")
                        && !matches!(call.name, "stat" | "lstat" | "stat64" | "lstat64")
                        && !call.name.ends_with("oldstat")
                        && !call.name.ends_with("oldlstat")
                        && call.name != "creat";
                    assert_eq!(shape.dir.is_some() && at, at, "{}", call.name);
                }
            }
        }
    }

    #[test]
    fn known_numbers_have_their_names() {
        let abis = abis();
        let name = |abi: usize, nr: usize| abis[abi].calls[nr].as_ref().map(|c| c.name);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(name(0, 262), Some("newfstatat"));
            assert_eq!(name(0, 520), Some("execve"));
            assert_eq!(name(0, 545), Some("execveat"));
            assert_eq!(name(1, 195), Some("stat64"));
            assert_eq!(name(1, 17), Some("break"));
        }
    }

    #[test]
    fn strict_mode_is_asked_for_in_two_ways() {
        for (name, args, strict) in [
            ("prctl", [22, 1, 0, 0, 0, 0], true),
            ("prctl", [22, 2, 0, 0, 0, 0], false),
            ("prctl", [38, 1, 0, 0, 0, 0], false),
            ("seccomp", [0; 6], true),
            ("seccomp", [1, 0, 0, 0, 0, 0], false),
        ] {
            let Kind::StrictMode(when) = kind(name, true) else { panic!("{name}") };
            assert_eq!(when.holds(&args) && is_strict_mode(&args), strict, "{name} {args:?}");
        }
    }

    #[test]
    fn waits_that_do_not_wait_are_told_apart() {
        let Kind::Wait(when) = kind("wait4", true) else { panic!("wait4 waits") };
        assert!(when.holds(&[0; 6]));
        assert!(!when.holds(&[0, 0, 1, 0, 0, 0]));
        let Kind::Wait(when) = kind("poll", true) else { panic!("poll waits") };
        assert!(!when.holds(&[0; 6]));
        assert!(when.holds(&[0, 0, u64::MAX, 0, 0, 0]));
    }
}
