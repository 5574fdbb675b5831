//! Registers, signal mask and memory of a stopped thread, as safe functions.

use crate::sys::{Tid, read_memory, request, write_u64};
use nix::errno::Errno;
use std::mem::MaybeUninit;

const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;
/// Bytes of the kernel's set of signals.
const SIGNALS: usize = 8;

/// The general registers.
pub(crate) fn registers(tid: Tid) -> Result<libc::user_regs_struct, Errno> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    // SAFETY: PTRACE_GETREGS writes one `user_regs_struct` for a 64-bit tracer.
    unsafe { request(libc::PTRACE_GETREGS, tid, 0, registers.as_mut_ptr() as usize)? };
    // SAFETY: `registers` was zeroed, and its fields are integers, for which all bit patterns are valid.
    Ok(unsafe { registers.assume_init() })
}

/// Changes the general registers.
pub(crate) fn set_registers(tid: Tid, registers: &libc::user_regs_struct) -> Result<(), Errno> {
    // SAFETY: PTRACE_SETREGS reads one `user_regs_struct`, and `registers` is one.
    unsafe { request(libc::PTRACE_SETREGS, tid, 0, std::ptr::from_ref(registers) as usize) }
}

/// The blocked signals, a bit each.
pub(crate) fn signal_mask(tid: Tid) -> Result<u64, Errno> {
    let mut mask = 0u64;
    // SAFETY: PTRACE_GETSIGMASK writes as many bytes as its address argument says, the 8 of `mask`.
    unsafe { request(PTRACE_GETSIGMASK as _, tid, SIGNALS, &raw mut mask as usize)? };
    Ok(mask)
}

/// Changes the blocked signals.
pub(crate) fn set_signal_mask(tid: Tid, mask: u64) -> Result<(), Errno> {
    // SAFETY: PTRACE_SETSIGMASK reads as many bytes as its address argument says, the 8 of `mask`.
    unsafe { request(PTRACE_SETSIGMASK as _, tid, SIGNALS, &raw const mask as usize) }
}

/// Whether the signal for which `tid` is stopped comes from the kernel, for what the thread did.
pub(crate) fn is_fault(tid: Tid) -> bool {
    let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: PTRACE_GETSIGINFO writes one `siginfo_t`.
    let done = unsafe { request(libc::PTRACE_GETSIGINFO, tid, 0, about.as_mut_ptr() as usize) };
    // SAFETY: `about` was zeroed, and is valid for all bit patterns: integers.
    done.is_ok() && unsafe { about.assume_init() }.si_code > 0
}

/// Sends a signal to one thread.
pub(crate) fn send_signal(tid: Tid, signal: i32) {
    // SAFETY: tkill(2) takes integers only. The thread is stopped by us, so the number is still its own.
    unsafe { libc::syscall(libc::SYS_tkill, tid, signal) };
}

/// Writes into private memory, also if it is not writable.
pub(crate) fn write(tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let (words, rest) = bytes.as_chunks();
    let mut at = address;
    for word in words {
        write_u64(tid, at, u64::from_ne_bytes(*word))?;
        at += 8;
    }
    if rest.is_empty() {
        return Ok(());
    }
    let mut word = [0; 8];
    if read_memory(tid, at, &mut word) < word.len() {
        return Err(Errno::EFAULT);
    }
    word[..rest.len()].copy_from_slice(rest);
    write_u64(tid, at, u64::from_ne_bytes(word))
}

/// Writes into writable memory of a thread that may run.
pub(crate) fn write_running(tid: Tid, address: u64, value: u32) -> Result<(), Errno> {
    let length = size_of::<u32>();
    let local = libc::iovec { iov_base: (&raw const value).cast_mut().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    // SAFETY: `local` describes `value`, which the kernel only reads; it checks the address in the other process.
    let written =
        unsafe { libc::process_vm_writev(tid, &raw const local, 1, &raw const remote, 1, 0) };
    if written == length as isize { Ok(()) } else { Err(Errno::last()) }
}
