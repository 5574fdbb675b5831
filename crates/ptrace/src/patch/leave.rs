//! Takes a thread out of the stub before it gets a signal, as if it were at its `syscall`, or after it. So each signal
//! finds it further on, however many there are.

use super::{AUDIT_ARCH_X86_64, Site, labels, layout as l};
use crate::memory::read_u64;
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use needless_model::Loss;
use nix::sys::ptrace::{getregs, getsiginfo, setregs};
use nix::unistd::Pid;

/// What a thread did in the stub that it was taken out of.
struct Left {
    frame: u64,
    /// The result of its call, if that was not counted.
    uncounted: Option<i64>,
    /// Whether the call has just returned: a signal may have ended it.
    has_returned: bool,
    /// The signal to deliver.
    signal: i32,
}

/// Takes a thread that is stopped for `signal` out of the stub, if it is there, by what is in its own memory: also of use
/// if the tracer that patched it has died.
fn move_out(tid: Tid, signal: i32) -> Option<Left> {
    const ZERO_FLAG: u64 = 1 << 6;
    let mut registers = getregs(Pid::from_raw(tid)).ok()?;
    let (rip, frame) = (registers.rip, registers.rsp);
    let has_called = (labels::returned()..=labels::restored()).contains(&rip);
    let is_restored = rip == labels::restored();
    let has_frame = (l::REGION + 1..labels::stops()).contains(&rip) && !is_restored;
    let data = match l::data_of(rip) {
        Some(data) => data,
        None if !(l::REGION..labels::end()).contains(&rip) => return None,
        None if has_called && has_frame => read_u64(tid, frame + l::SITE)?,
        None => registers.r11,
    };
    // Else not a state that the stub has: the program's own jump, or its own code.
    if l::data_of(data) != Some(data) || read_u64(tid, data + l::STUB) != Some(l::REGION) {
        return None;
    }
    let after = read_u64(tid, data + l::AFTER)?;
    let has_returned = rip == labels::returned();
    let mut left = Left { frame, uncounted: None, has_returned, signal };
    registers.rsp += if has_frame { l::DOWN } else { 0 };
    if !has_called {
        // What was overwritten is done here; the call stops.
        let mut instruction = [0; l::JUMP as usize];
        read_memory(tid, data - l::SITE_DATA, &mut instruction);
        let [opcode, value @ ..] = instruction;
        let value = u64::from(u32::from_le_bytes(value));
        *(if opcode == 0xbf { &mut registers.rdi } else { &mut registers.rax }) = value;
        registers.rip = after - 2;
    } else {
        registers.rip = after;
    }
    if has_called && has_frame {
        if !has_returned {
            registers.rax = read_u64(tid, frame + l::RESULT)?;
            // No call is to be restarted.
            registers.orig_rax = u64::MAX;
        }
        let is_repeated = rip == labels::compared() && registers.eflags & ZERO_FLAG != 0;
        let is_counted = is_repeated || rip == labels::committed() || rip >= labels::reported();
        left.uncounted = (!is_counted).then_some(registers.rax as i64);
        let [rdi, rsi, rdx, r10, r8, r9] = arguments(tid, frame);
        (registers.rdi, registers.rsi, registers.rdx) = (rdi, rsi, rdx);
        (registers.r10, registers.r8, registers.r9) = (r10, r8, r9);
    }
    // The stub reads a path that the kernel could read a moment ago, in a file that another process has cut; or there is
    // no more room on the stack.
    let may_fault = !has_returned && !is_restored && matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    // It comes from the kernel, for what the thread did.
    let is_fault = || getsiginfo(Pid::from_raw(tid)).is_ok_and(|about| about.si_code > 0);
    if may_fault && is_fault() {
        left.signal = 0;
    }
    // Fails if it was killed.
    let _ = setregs(Pid::from_raw(tid), registers);
    Some(left)
}

/// The arguments in a frame.
fn arguments(tid: Tid, frame: u64) -> [u64; 6] {
    l::ARGUMENTS.map(|offset| read_u64(tid, frame + offset).unwrap_or(0))
}

/// Takes a thread that is stopped for a signal out of the stub, without counting. Returns the signal to deliver.
pub(crate) fn leave_uncounted(tid: Tid, signal: i32) -> i32 {
    move_out(tid, signal).map_or(signal, |left| left.signal)
}

impl Tracer<'_> {
    /// `tid` is stopped for a signal, or about to end (0). Returns the signal to deliver.
    pub(crate) fn out_of_stub(&mut self, tid: Tid, signal: i32) -> i32 {
        let Some(thread) = self.patching.as_ref().and_then(|_| self.tree.threads.get(&tid)) else {
            return signal;
        };
        let at = thread.group;
        self.out_of_set_up(tid, at);
        let Some(left) = move_out(tid, signal) else { return signal };
        match left.uncounted {
            // The thread's end is the answer.
            Some(result) if signal == 0 && left.has_returned && is_interrupted(result) => {
                self.builder.lost(Loss::Unfinished, 1);
            }
            Some(result) => self.take_frame(tid, at, left.frame, Some(result)),
            None => {}
        }
        left.signal
    }

    /// Counts the call whose frame is at `frame`, with `result`, or else with the result that is in the frame.
    pub(super) fn take_frame(&mut self, tid: Tid, at: usize, frame: u64, result: Option<i64>) {
        let data = read_u64(tid, frame + l::SITE).unwrap_or(0);
        let index = read_u64(tid, data.wrapping_add(l::INDEX)).unwrap_or(u64::MAX) as usize;
        let room = self.tree.group(at).patches.room.as_ref();
        let site = room.and_then(|room| room.sites.get(index)).copied();
        let result = result.or_else(|| read_u64(tid, frame + l::RESULT).map(|word| word as i64));
        let (Some(Site { start, nr, .. }), Some(result)) = (site, result) else { return };
        let (ip, sp) = (start + l::JUMP + 2, frame + l::DOWN);
        let at_ns = crate::sys::now() - self.started;
        let entry = SyscallInfo::entry(AUDIT_ARCH_X86_64, ip, sp, nr, arguments(tid, frame));
        let group = self.tree.group(at);
        let entered = self.calls.begin(&mut self.builder, group, tid, &entry, at_ns, true);
        if let Some(in_flight) = entered.in_flight {
            self.returned(tid, at, in_flight, &entry.with_result(result), at_ns);
        }
    }
}

/// Whether a call ended only because of a signal (the kernel's `ERESTART…`; EINTR of a call that is not restarted).
fn is_interrupted(result: i64) -> bool {
    (-516..=-512).contains(&result) || result == -i64::from(libc::EINTR)
}
