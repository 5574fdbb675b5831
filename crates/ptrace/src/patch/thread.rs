//! Registers and memory of a stopped thread.

use crate::sys::{Tid, read_memory, write_u64};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_writev};
use nix::unistd::Pid;
use std::io::IoSlice;

/// The general registers.
pub(crate) fn registers(tid: Tid) -> Result<libc::user_regs_struct, Errno> {
    ptrace::getregs(Pid::from_raw(tid))
}

/// Changes the general registers, all or none.
pub(crate) fn set_registers(tid: Tid, registers: &libc::user_regs_struct) -> Result<(), Errno> {
    ptrace::setregs(Pid::from_raw(tid), *registers)
}

/// Whether the signal for which `tid` is stopped comes from the kernel, for what the thread did.
pub(crate) fn is_fault(tid: Tid) -> bool {
    ptrace::getsiginfo(Pid::from_raw(tid)).is_ok_and(|about| about.si_code > 0)
}

/// Writes into private memory, also if it is not writable.
pub(crate) fn write(tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    for (nth, part) in bytes.chunks(8).enumerate() {
        let at = address + 8 * nth as u64;
        let mut word = [0; 8];
        if part.len() < word.len() && read_memory(tid, at, &mut word) < word.len() {
            return Err(Errno::EFAULT);
        }
        word[..part.len()].copy_from_slice(part);
        write_u64(tid, at, u64::from_ne_bytes(word))?;
    }
    Ok(())
}

/// Writes into memory that the process may write. It may run.
pub(crate) fn write_allowed(tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let there = RemoteIoVec { base: address as usize, len: bytes.len() };
    let written = process_vm_writev(Pid::from_raw(tid), &[IoSlice::new(bytes)], &[there])?;
    if written == bytes.len() { Ok(()) } else { Err(Errno::EFAULT) }
}
