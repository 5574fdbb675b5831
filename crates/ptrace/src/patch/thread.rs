//! Registers and memory of a stopped thread, as safe functions.

use super::set_up::YES;
use crate::sys::{Tid, poke_register, read_memory, request, write_u64};
use nix::errno::Errno;
use std::fs::OpenOptions;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;

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

/// Sends a thread that is stopped at the entry of a call to the code of `set_up.rs`, which is at `code`; the call is
/// not made. `start` and `near`: what that code gets in r11 and rcx. Returns the registers with which it is at `start`.
pub(crate) fn send(
    tid: Tid,
    code: u64,
    start: u64,
    near: u64,
) -> Result<libc::user_regs_struct, Errno> {
    let mut registers = registers(tid)?;
    registers.rax = registers.orig_rax;
    // No call is to be restarted.
    registers.orig_rax = u64::MAX;
    let sent = libc::user_regs_struct { rip: code, r11: start, rcx: near, ..registers };
    set_registers(tid, &sent)?;
    registers.rip = start;
    Ok(registers)
}

/// Answers a thread that asks in that code, by the result of the call at whose entry it is stopped. If this is not
/// reached, or only the first half of it, the kernel answers with an error.
pub(crate) fn say_yes(tid: Tid) -> Result<(), Errno> {
    use std::mem::offset_of;
    poke_register(tid, offset_of!(libc::user_regs_struct, rax), YES)?;
    poke_register(tid, offset_of!(libc::user_regs_struct, orig_rax), u64::MAX)
}

/// Whether the signal for which `tid` is stopped comes from the kernel, for what the thread did.
pub(crate) fn is_fault(tid: Tid) -> bool {
    let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: PTRACE_GETSIGINFO writes one `siginfo_t`.
    let done = unsafe { request(libc::PTRACE_GETSIGINFO, tid, 0, about.as_mut_ptr() as usize) };
    // SAFETY: `about` was zeroed, and is valid for all bit patterns: integers.
    done.is_ok() && unsafe { about.assume_init() }.si_code > 0
}

/// Writes code that nothing executes yet into private memory of a stopped thread.
pub(crate) fn write_code(tid: Tid, address: u64, code: &[u8]) -> Result<(), Errno> {
    let memory = OpenOptions::new().write(true).open(format!("/proc/{tid}/mem"));
    match memory.and_then(|memory| memory.write_all_at(code, address)) {
        Ok(()) => Ok(()),
        // A kernel may forbid that, and not the other way (proc_mem.force_override).
        Err(_) => write(tid, address, code),
    }
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
