//! The system calls of a tracer as safe functions, which nix does not wrap, or wraps without
//! real-time signals.

pub(crate) use crate::syscall_info::{OP_ENTRY, OP_EXIT, OP_SECCOMP, SyscallInfo};
use needless_model::Exit;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::mem::MaybeUninit;

/// A thread id as the kernel counts it.
pub(crate) type Tid = libc::pid_t;

/// The type of the first argument of ptrace(2) and of `PTRACE_*`, which differs between C libraries.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

const PTRACE_LISTEN: Request = 0x4208;
const PTRACE_GET_SYSCALL_INFO: Request = 0x420e;

/// # Safety
///
/// For a request that fills or reads memory of ours, `data` is the address of a value of the type that
/// ptrace(2) gives for it, valid for that long (and that large as `address` says, where it does).
pub(crate) unsafe fn request(
    request: Request,
    tid: Tid,
    address: usize,
    data: usize,
) -> Result<(), Errno> {
    // SAFETY: where the request accesses memory of this process, `data` is valid for it, by `# Safety`; all
    // other arguments are numbers, which the kernel checks.
    let result = unsafe { libc::ptrace(request, tid, address, data) };
    if result == -1 { Err(Errno::last()) } else { Ok(()) }
}

/// The events that are reported for every tracee.
pub(crate) const FOLLOW: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXIT;

/// Starts tracing a running thread with `options` (`PTRACE_O_*`).
pub(crate) fn seize(tid: Tid, options: libc::c_int) -> Result<(), Errno> {
    // SAFETY: PTRACE_SEIZE accesses no memory of this process.
    unsafe { request(libc::PTRACE_SEIZE, tid, 0, options as usize) }
}

/// Stops a seized thread.
pub(crate) fn interrupt(tid: Tid) -> Result<(), Errno> {
    // SAFETY: PTRACE_INTERRUPT accesses no memory of this process.
    unsafe { request(libc::PTRACE_INTERRUPT, tid, 0, 0) }
}

/// How to go on after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// To the next event or filtered call.
    Run,
    /// To the next entry or exit of any call.
    ToSyscall,
    /// Stay stopped, for job control, but report SIGCONT.
    Listen,
}

/// Lets a stopped thread go on, and delivers `signal` if it is not 0. A thread that was killed
/// in the meantime shows it by its exit status, not here.
pub(crate) fn resume(tid: Tid, how: Resume, signal: i32) {
    let how = match how {
        Resume::Run => libc::PTRACE_CONT,
        Resume::ToSyscall => libc::PTRACE_SYSCALL,
        Resume::Listen => PTRACE_LISTEN,
    };
    // ESRCH: killed while stopped; wait4 reports its end.
    // SAFETY: the three requests of `Resume` access no memory of this process.
    let _ = unsafe { request(how, tid, 0, signal as usize) };
}

/// The number that comes with a `PTRACE_EVENT_*` stop.
pub(crate) fn event_message(tid: Tid) -> Result<u64, Errno> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: PTRACE_GETEVENTMSG writes one unsigned long, and `message` is one.
    unsafe { request(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message as usize)? };
    Ok(message as u64)
}

/// The system call that `tid` is stopped in.
pub(crate) fn syscall_info(tid: Tid) -> Result<SyscallInfo, Errno> {
    let mut info = SyscallInfo::default();
    // SAFETY: the kernel writes at most `size_of::<SyscallInfo>()` bytes to `info`, whose fields are
    // integers.
    unsafe {
        request(PTRACE_GET_SYSCALL_INFO, tid, size_of::<SyscallInfo>(), &raw mut info as usize)?;
    }
    Ok(info)
}

/// Frame pointer and link register (0 where the architecture has none) of a stopped thread.
pub(crate) fn frame_registers(tid: Tid) -> Result<(u64, u64), Errno> {
    #[cfg(target_arch = "x86_64")]
    {
        let (registers, filled) = general_registers(tid)?;
        // A 32-bit thread fills less, in another order: ebx ecx edx esi edi ebp, 4 bytes each.
        let fp = if filled < size_of_val(&registers) { registers.r13 >> 32 } else { registers.rbp };
        Ok((fp, 0))
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (registers, _) = general_registers(tid)?;
        Ok((registers.regs[29], registers.regs[30]))
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = tid;
        Err(Errno::ENOSYS)
    }
}

/// The general registers of a stopped thread, and how many bytes of them it has: a 32-bit one has fewer.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn general_registers(tid: Tid) -> Result<(libc::user_regs_struct, usize), Errno> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut part = libc::iovec {
        iov_base: registers.as_mut_ptr().cast(),
        iov_len: size_of::<libc::user_regs_struct>(),
    };
    let kind = libc::NT_PRSTATUS as usize;
    // SAFETY: `part` holds the address and size of `registers`: the kernel writes no more bytes than that,
    // and then the number of bytes to `part`.
    unsafe { request(libc::PTRACE_GETREGSET, tid, kind, &raw mut part as usize)? };
    // SAFETY: `registers` was zeroed, and its fields are integers, for which all bit patterns are valid.
    Ok((unsafe { registers.assume_init() }, part.iov_len))
}

/// Makes the call whose entry `tid` is stopped at fail with ENOSYS, without executing it, as the kernel does
/// if a filter asks for a tracer and there is none.
pub(crate) fn refuse_call(tid: Tid) -> Result<(), Errno> {
    const NO_CALL: i64 = -1;
    #[cfg(target_arch = "x86_64")]
    {
        let result = -i64::from(libc::ENOSYS);
        poke_register(tid, std::mem::offset_of!(libc::user_regs_struct, rax), result as u64)?;
        poke_register(tid, std::mem::offset_of!(libc::user_regs_struct, orig_rax), NO_CALL as u64)
    }
    #[cfg(target_arch = "aarch64")]
    {
        const NT_ARM_SYSTEM_CALL: usize = 0x404;
        set_first_register(tid, |_| -i64::from(libc::ENOSYS) as u64)?;
        let mut number = NO_CALL as libc::c_int;
        let part =
            libc::iovec { iov_base: (&raw mut number).cast(), iov_len: size_of::<libc::c_int>() };
        // SAFETY: `part` holds the address and size of `number`, which the kernel only reads.
        unsafe {
            request(libc::PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &raw const part as usize)
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = (tid, NO_CALL);
        Err(Errno::ENOSYS)
    }
}

/// Clears `bits` of the first argument of the call whose entry `tid` is stopped at. Returns what the
/// register held, for [`restore_register`]; `None` if that is not needed,
/// because the call's result overwrites the register.
pub(crate) fn clear_in_first_argument(
    tid: Tid,
    info: &SyscallInfo,
    bits: u64,
) -> Result<Option<Register>, Errno> {
    #[cfg(target_arch = "x86_64")]
    {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
        // SAFETY: PTRACE_GETREGS writes one `user_regs_struct` for a 64-bit tracer, also if the tracee has 32
        // bits.
        unsafe { request(libc::PTRACE_GETREGS, tid, 0, registers.as_mut_ptr() as usize)? };
        // SAFETY: `registers` was zeroed, and its fields are integers, for which all bit patterns are valid.
        let registers = unsafe { registers.assume_init() };
        const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
        let (offset, value) = if info.arch == AUDIT_ARCH_X86_64 {
            (std::mem::offset_of!(libc::user_regs_struct, rdi), registers.rdi)
        } else {
            (std::mem::offset_of!(libc::user_regs_struct, rbx), registers.rbx)
        };
        poke_register(tid, offset, value & !bits)?;
        Ok(Some(Register { offset, value }))
    }
    #[cfg(target_arch = "aarch64")]
    {
        let _ = info;
        set_first_register(tid, |value| value & !bits).map(|()| None)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = (tid, info, bits);
        Err(Errno::ENOSYS)
    }
}

/// A register of a tracee and its old value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register {
    offset: usize,
    value: u64,
}

/// Restores a register of the stopped thread `tid`.
pub(crate) fn restore_register(tid: Tid, register: Register) {
    // ESRCH: killed while stopped; wait4 reports its end.
    let _ = poke_register(tid, register.offset, register.value);
}

pub(crate) fn poke_register(tid: Tid, offset: usize, value: u64) -> Result<(), Errno> {
    // SAFETY: PTRACE_POKEUSER accesses no memory of this process; the kernel checks the offset.
    unsafe { request(libc::PTRACE_POKEUSER, tid, offset, value as usize) }
}

/// Changes the register that holds a call's first argument and its result, 64 bits or, in a 32-bit
/// tracee, 32.
#[cfg(target_arch = "aarch64")]
fn set_first_register(tid: Tid, change: impl FnOnce(u64) -> u64) -> Result<(), Errno> {
    let (mut registers, filled) = general_registers(tid)?;
    let first = &mut registers.regs[0];
    *first = if filled == size_of::<libc::user_regs_struct>() {
        change(*first)
    } else {
        // The second register is the upper half.
        *first & !0xffff_ffff | change(*first & 0xffff_ffff) & 0xffff_ffff
    };
    let part = libc::iovec { iov_base: (&raw mut registers).cast(), iov_len: filled };
    let kind = libc::NT_PRSTATUS as usize;
    // SAFETY: `part` holds the address of `registers` and `filled`, which is at most its size; the kernel
    // only reads these bytes.
    unsafe { request(libc::PTRACE_SETREGSET, tid, kind, &raw const part as usize) }
}

/// What wait4 reports of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) tid: Tid,
    pub(crate) status: i32,
}

impl Waited {
    /// How it ended, if it did not stop.
    pub(crate) fn exit(self) -> Exit {
        if libc::WIFSIGNALED(self.status) {
            Exit::Signal(libc::WTERMSIG(self.status))
        } else {
            Exit::Code(libc::WEXITSTATUS(self.status))
        }
    }
}

/// Waits for any child or tracee of this thread. `ECHILD`: there is none left; `EINTR`: a signal came.
pub(crate) fn wait() -> Result<Waited, Errno> {
    wait_with(0)
}

/// A thread that has something to report now.
pub(crate) fn poll_any() -> Option<Waited> {
    wait_with(libc::WNOHANG).ok()
}

/// Like [`wait`], for at most so many nanoseconds, below a second. `None`: nothing came.
pub(crate) fn wait_at_most(nanoseconds: i64) -> Result<Option<Waited>, Errno> {
    // Mostly there is one.
    match wait_with(libc::WNOHANG) {
        Err(Errno::EAGAIN) => {}
        found => return found.map(Some),
    }
    // The kernel sends SIGCHLD for each stop and each end. Blocked, it is not lost if it comes before the wait.
    let child = SigSet::from(Signal::SIGCHLD);
    let mask = child.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let mut found = wait_with(libc::WNOHANG);
    if found.err() == Some(Errno::EAGAIN) {
        let limit = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let none = std::ptr::null_mut();
        // SAFETY: sigtimedwait(2) reads the set and the time, which live here, and writes nothing to a null pointer.
        let signal = unsafe { libc::sigtimedwait(child.as_ref(), none, &raw const limit) };
        let interrupted = signal == -1 && Errno::last() == Errno::EINTR;
        found = wait_with(libc::WNOHANG);
        if interrupted && found.err() == Some(Errno::EAGAIN) {
            found = Err(Errno::EINTR);
        }
    }
    mask.thread_set_mask()?;
    match found {
        Err(Errno::EAGAIN) => Ok(None),
        found => found.map(Some),
    }
}

fn wait_with(flags: i32) -> Result<Waited, Errno> {
    let mut status = 0;
    let flags = flags | libc::__WALL | libc::__WNOTHREAD;
    // Without resource usage, which costs 5 % of a stop.
    // SAFETY: wait4(2) writes one integer, and `status` is one; for the null pointer it writes nothing.
    let tid = unsafe { libc::wait4(-1, &raw mut status, flags, std::ptr::null_mut()) };
    match tid {
        1.. => Ok(Waited { tid, status }),
        0 => Err(Errno::EAGAIN),
        _ => Err(Errno::last()),
    }
}

/// CPU time of process `tgid` so far, all threads, without its children: in user mode and in the
/// kernel, nanoseconds.
pub(crate) fn cpu_time(tgid: Tid) -> Option<(u64, u64)> {
    let [ticks, user_ticks, precise] = [PROF, VIRT, SCHED].map(|kind| process_clock(tgid, kind));
    let (ticks, user_ticks, precise) = (ticks?, user_ticks?, precise?);
    // As the kernel does for getrusage(2): the precise time, divided in the ratio of the ticks.
    let system_ticks = ticks.saturating_sub(user_ticks);
    let system = match ticks {
        0 => 0,
        _ => (u128::from(precise) * u128::from(system_ticks) / u128::from(ticks)) as u64,
    };
    Some((precise - system, system))
}

/// CPU time of process `tgid` so far, all threads, in user mode and in the kernel, nanoseconds.
pub(crate) fn whole_cpu_time(tgid: Tid) -> Option<u64> {
    process_clock(tgid, SCHED)
}

/// The clock ids of a process (linux/posix-timers_types.h): user and system by ticks, user by ticks, both by the
/// scheduler's nanoseconds.
const PROF: i32 = 0;
const VIRT: i32 = 1;
const SCHED: i32 = 2;

fn process_clock(tgid: Tid, kind: i32) -> Option<u64> {
    clock((!tgid) << 3 | kind)
}

/// `CLOCK_MONOTONIC`, nanoseconds.
pub(crate) fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC).expect("this clock always exists")
}

fn clock(id: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes one `timespec`, and `time` is one.
    let result = unsafe { libc::clock_gettime(id, &raw mut time) };
    // A preloaded library that fakes time fakes these clocks, too, also to before zero.
    let seconds = u64::try_from(time.tv_sec).ok().filter(|_| result == 0)?;
    Some(seconds.checked_mul(1_000_000_000)? + u64::try_from(time.tv_nsec).ok()?)
}

/// The soft limit of open files of process `tgid`; `None` without the right to ask (prlimit(2)).
pub(crate) fn open_files(tgid: Tid) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: for the null pointer prlimit(2) changes nothing; it writes one `rlimit64`, and `limit` is one.
    let result =
        unsafe { libc::prlimit64(tgid, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limit) };
    (result == 0).then_some(limit.rlim_cur)
}

/// Whether `tid` is a thread of process `tgid` (a zombie counts).
pub(crate) fn is_thread_of(tid: Tid, tgid: Tid) -> bool {
    // SAFETY: tgkill(2) takes integers only, and signal 0 is never delivered.
    unsafe { libc::syscall(libc::SYS_tgkill, tgid, tid, 0) == 0 }
}

/// A copy of the memory of `tid` at `address` into `into`: how many bytes could be read before
/// the first that could not.
pub(crate) fn read_memory(tid: Tid, address: u64, into: &mut [u8]) -> usize {
    const PAGE: u64 = 4096;
    let length = into.len();
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: length };
    // The kernel transfers whole pieces: cut at the ends of pages, so that an unmapped page after the
    // text does not hide the text.
    let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 8];
    let (mut at, mut left, mut used) = (address, length, 0);
    while left > 0 && used < pieces.len() {
        let last = used + 1 == pieces.len();
        let piece = if last { left } else { left.min((PAGE - at % PAGE) as usize) };
        pieces[used] = libc::iovec { iov_base: at as *mut libc::c_void, iov_len: piece };
        at = at.wrapping_add(piece as u64);
        left -= piece;
        used += 1;
    }
    // SAFETY: `local` describes the slice `into`, which is borrowed for this call; `pieces` has `used`
    // entries. The kernel checks the addresses in the other process.
    let read =
        unsafe { libc::process_vm_readv(tid, &raw const local, 1, pieces.as_ptr(), used as _, 0) };
    usize::try_from(read).unwrap_or(0)
}
