//! Overwrites an instruction that other threads may be executing, without stopping them.
//!
//! Five bytes are not written at once. So the first becomes a trap, then the others are written, then the first; between
//! these steps every processor that runs the process is made to forget what it has read ahead (membarrier(2); Intel SDM,
//! volume 3, 9.1.3). A thread that meets the trap stops, and is sent back to the instruction (`leave.rs`). If the tracer
//! dies in between, the supervisor does both (`rescue.rs`).

use super::remote::Remote;
use super::{RemoteError, RemoteRefusal, WRITTEN, layout as l, thread};
use crate::roster::Roster;
use crate::sys::{Tid, read_memory};

/// `int3`.
const TRAP: u8 = 0xcc;
const REGISTER_SYNC_CORE: u64 = 1 << 6;
const SYNC_CORE: u64 = 1 << 5;

/// Overwrites `before` at `start` with `after`.
pub(super) fn write(
    remote: &mut Remote,
    tid: Tid,
    start: u64,
    before: &[u8; l::JUMP as usize],
    after: &[u8; l::JUMP as usize],
    roster: Option<&Roster>,
) -> Result<(), RemoteRefusal> {
    let sync = |remote: &mut Remote, command| match remote
        .call(libc::SYS_membarrier, [command, 0, 0, 0, 0, 0])
    {
        Ok(_) => Ok(()),
        Err(RemoteError::Refused) => Err(RemoteRefusal::Site),
        Err(gone) => Err(RemoteRefusal::Remote(gone, WRITTEN)),
    };
    sync(remote, REGISTER_SYNC_CORE)?;
    sync(remote, SYNC_CORE)?;
    let trapped = |rest: &[u8; l::JUMP as usize]| [TRAP, rest[1], rest[2], rest[3], rest[4]];
    let put = |bytes: &[u8; l::JUMP as usize]| {
        let written = thread::write(tid, start, bytes);
        written.map_err(|errno| RemoteRefusal::Remote(errno.into(), WRITTEN))
    };
    if let Some(roster) = roster {
        roster.set_trap(start, *before);
    }
    let done = (|| {
        put(&trapped(before))?;
        sync(remote, SYNC_CORE)?;
        put(&trapped(after))?;
        sync(remote, SYNC_CORE)?;
        put(after)
    })();
    if done.is_err() {
        // Whatever failed: a barrier that worked a moment ago is not refused now, so the process is ending.
        let _ = put(before);
    }
    if let Some(roster) = roster {
        roster.clear_trap();
    }
    done
}

/// If `tid` is stopped because it met the trap at `start`: sends it back there. If the trap is still there, writes
/// `instruction` in its place.
pub(crate) fn past_trap(tid: Tid, start: u64, instruction: &[u8; l::JUMP as usize]) -> bool {
    let Ok(mut registers) = thread::registers(tid) else { return false };
    if registers.rip != start + 1 {
        return false;
    }
    let mut there = [0];
    // Both fail only if it was killed.
    if read_memory(tid, start, &mut there) == 1 && there == [TRAP] {
        let _ = thread::write(tid, start, instruction);
    }
    registers.rip = start;
    let _ = thread::set_registers(tid, &registers);
    true
}
