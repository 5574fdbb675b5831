//! System calls made by a stopped process on the tracer's behalf, in place of one of its own, which is made again
//! afterwards.

use super::thread;
use crate::sys::{self, OP_EXIT, Resume, Tid, Waited};
use nix::errno::Errno;

/// A thread that is stopped at the entry of a call, before it is made.
pub(crate) struct Remote {
    tid: Tid,
    /// Its registers.
    pub(crate) before: libc::user_regs_struct,
    /// Where its `syscall` is.
    syscall: u64,
    mask: u64,
    /// Whether a call was made: its own is then gone.
    used: bool,
    /// Whether a SIGSTOP came, which cannot be blocked.
    stopped: bool,
}

/// Why a remote call could not be made.
pub(crate) enum RemoteError {
    /// The kernel refused it.
    Refused,
    /// The thread does not obey: it was killed. This is what wait4 reported.
    Gone(Waited),
}

impl From<Errno> for RemoteError {
    fn from(_: Errno) -> RemoteError {
        RemoteError::Refused
    }
}

impl Remote {
    /// `tid` is stopped at the entry of a call (`PTRACE_EVENT_SECCOMP`).
    pub(crate) fn new(tid: Tid) -> Result<Remote, Errno> {
        let before = thread::registers(tid)?;
        let mask = thread::signal_mask(tid)?;
        let syscall = before.rip.wrapping_sub(2);
        Ok(Remote { tid, before, syscall, mask, used: false, stopped: false })
    }

    /// Makes a call. Its signals are blocked, so none can come in between.
    pub(crate) fn call(&mut self, nr: i64, args: [u64; 6]) -> Result<u64, RemoteError> {
        let mut registers = self.before;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            args;
        if self.used {
            registers.rip = self.syscall;
            registers.orig_rax = u64::MAX;
            registers.rax = nr as u64;
        } else {
            thread::set_signal_mask(self.tid, !0)?;
            registers.orig_rax = nr as u64;
        }
        thread::set_registers(self.tid, &registers)?;
        self.used = true;
        loop {
            sys::resume(self.tid, Resume::ToSyscall, 0);
            let waited = loop {
                match sys::wait(self.tid) {
                    Ok(waited) => break waited,
                    Err(Errno::EINTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            };
            let status = waited.status;
            if !libc::WIFSTOPPED(status) || status >> 16 == libc::PTRACE_EVENT_EXIT {
                return Err(RemoteError::Gone(waited));
            }
            if status >> 16 == 0 && libc::WSTOPSIG(status) == libc::SIGSTOP {
                self.stopped = true;
            }
            if status >> 16 == 0
                && libc::WSTOPSIG(status) == libc::SIGTRAP | 0x80
                && let Ok(info) = sys::syscall_info(self.tid)
                && info.op == OP_EXIT
            {
                return info.result().map_err(|errno| Errno::from_raw(errno.into()).into());
            }
        }
    }

    /// Lets the thread continue at `rip` with its registers as they were, `rax` the number of its call; the caller
    /// resumes it. Without `rip`: its own call, if that is gone, is made again.
    pub(crate) fn end(self, rip: Option<u64>) {
        if !self.used && rip.is_none() {
            return;
        }
        let mut registers = self.before;
        registers.rip = rip.unwrap_or(self.syscall);
        registers.rax = self.before.orig_rax;
        // At the entry of a call: none is made. At its exit: none is to be restarted.
        registers.orig_rax = u64::MAX;
        // All fail only if it was killed.
        let _ = thread::set_registers(self.tid, &registers);
        let _ = thread::set_signal_mask(self.tid, self.mask);
        if self.stopped {
            thread::send_signal(self.tid, libc::SIGSTOP);
        }
    }
}
