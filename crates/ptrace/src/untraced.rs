//! Children that ask not to be traced (`CLONE_UNTRACED`).
//!
//! They inherit the filter, and without a tracer every call that it stops fails with ENOSYS. So the flag
//! is taken out of the call, and what was changed for that is put back before the program can look: in
//! the parent as soon as the child exists or the call has failed, in the child before its first
//! instruction.

use crate::memory::read_u64;
use crate::sys::{self, Register, SyscallInfo, Tid};
use needless_abi::{CLONE_UNTRACED, Flags};
use nix::errno::Errno;

/// What was changed to take the flag out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changed {
    /// A register, which held this.
    Register(Register),
    /// The word of memory at this address.
    Memory { address: u64, before: u64 },
}

/// Takes the flag out of the call that `tid` is stopped at the entry of. `None`: it is not there, or
/// there is nothing to put back.
pub(crate) fn clear(tid: Tid, flags: Flags, info: &SyscallInfo) -> Result<Option<Changed>, Errno> {
    let [first, ..] = info.args();
    match flags {
        Flags::Argument if first & CLONE_UNTRACED != 0 => {
            let register = sys::clear_in_first_argument(tid, info, CLONE_UNTRACED)?;
            Ok(register.map(Changed::Register))
        }
        Flags::Argument => Ok(None),
        // Not readable: not for the kernel either.
        Flags::Structure => match read_u64(tid, first) {
            Some(before) if before & CLONE_UNTRACED != 0 => {
                sys::write_u64(tid, first, before & !CLONE_UNTRACED)?;
                Ok(Some(Changed::Memory { address: first, before }))
            }
            _ => Ok(None),
        },
    }
}

impl Changed {
    /// Puts memory back, in the stopped parent `tid` when its child exists, or in the stopped child.
    pub(crate) fn put_memory_back(self, tid: Tid) {
        if let Changed::Memory { address, before } = self
            && read_u64(tid, address) == Some(before & !CLONE_UNTRACED)
        {
            // It could be written a moment ago; if it no longer can, nobody reads it there either.
            let _ = sys::write_u64(tid, address, before);
        }
    }

    /// What of it the child has, too: not memory that it shares, where the parent may go on writing.
    pub(crate) fn of_child(self) -> Option<Changed> {
        const CLONE_VM: u64 = 0x100;
        match self {
            Changed::Memory { before, .. } if before & CLONE_VM != 0 => None,
            _ => Some(self),
        }
    }

    /// Puts everything back, in the stopped child or in the parent at the call's end.
    pub(crate) fn put_back(self, tid: Tid) {
        match self {
            Changed::Register(register) => sys::restore_register(tid, register),
            Changed::Memory { .. } => self.put_memory_back(tid),
        }
    }
}
