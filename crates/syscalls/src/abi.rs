//! The system calls of an ABI by their numbers.

use crate::{CallKind, kind};

/// One system call of one ABI.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The kernel's name.
    pub name: &'static str,
    /// What a backend does about it.
    pub kind: CallKind,
}

/// The system calls of one ABI by number.
pub struct Abi {
    /// `AUDIT_ARCH_*` (linux/audit.h), as `PTRACE_GET_SYSCALL_INFO` and seccomp report it.
    pub audit: u32,
    /// Whether pointers have 64 bits.
    pub is_64bit: bool,
    /// By number; calls of x32 without [`X32_BIT`].
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
            for (nr, name) in (512..).zip(X32_CALLS.split(' ')) {
                calls[nr] = Some(call(name, is_64bit));
            }
        }
        calls.truncate(calls.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
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

/// The calls whose x32 numbers differ from those of x86-64: from 512 on.
const X32_CALLS: &str = "\
    rt_sigaction rt_sigreturn ioctl readv writev recvfrom sendmsg recvmsg execve ptrace rt_sigpending \
    rt_sigtimedwait rt_sigqueueinfo sigaltstack timer_create mq_notify kexec_load waitid set_robust_list \
    get_robust_list vmsplice move_pages preadv pwritev rt_tgsigqueueinfo recvmmsg sendmmsg \
    process_vm_readv process_vm_writev setsockopt getsockopt io_setup io_submit execveat preadv2 \
    pwritev2";

fn call(name: &'static str, is_64bit: bool) -> Call {
    // The crate names `break` by its Rust identifier, and has another name for one call of aarch64 than the kernel.
    let name = name.strip_prefix("r#").unwrap_or(name);
    let name = if name == "fstatat" { "newfstatat" } else { name };
    Call { name, kind: kind(name, is_64bit) }
}
