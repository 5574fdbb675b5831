//! Takes a thread out of the stub before it gets a signal, as if it were at its `syscall`, or after it. So each signal
//! finds it further on, however many there are.

use super::{AUDIT_ARCH_X86_64, Site, labels, layout as l, number, site, thread};
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use needless_model::Loss;

const ZERO_FLAG: u64 = 1 << 6;

/// Where in the stub a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the call, without or with a frame.
    Before { frame: bool },
    /// The call has just returned.
    Returned,
    /// After it, with a frame.
    After { counted: bool, record: bool },
    /// All registers are restored.
    Done,
}

fn place(rip: u64, flags: u64) -> Place {
    let is_zero = flags & ZERO_FLAG != 0;
    let after = |counted, record| Place::After { counted, record };
    if rip >= labels::sites() || rip <= labels::saved() || rip == labels::stops() {
        Place::Before { frame: false }
    } else if rip < labels::returned() || rip == labels::over() {
        Place::Before { frame: true }
    } else if rip == labels::returned() {
        Place::Returned
    } else if rip < labels::compared() {
        after(false, false)
    } else if rip == labels::compared() {
        after(is_zero, false)
    } else if rip < labels::new() {
        after(true, false)
    } else if rip < labels::claiming() {
        after(false, false)
    } else if rip == labels::claiming() {
        after(false, is_zero)
    } else if rip < labels::committed() {
        after(false, true)
    } else if rip < labels::report() {
        after(true, false)
    } else if rip < labels::reported() {
        after(false, false)
    } else if rip < labels::restored() {
        after(true, false)
    } else {
        Place::Done
    }
}

/// What a thread did in the stub that it was taken out of.
struct Left {
    place: Place,
    frame: u64,
    /// The result of its call, if that was not counted.
    uncounted: Option<i64>,
    /// The record that it was writing.
    record: Option<u64>,
}

impl Left {
    /// Whether `signal` comes from what the stub does: it reads a path that the kernel could read a moment ago, in a
    /// file that another process has cut; or there is no more room on the stack.
    fn is_own_fault(&self, tid: Tid, signal: i32) -> bool {
        matches!(self.place, Place::Before { .. } | Place::After { .. })
            && matches!(signal, libc::SIGSEGV | libc::SIGBUS)
            && thread::is_fault(tid)
    }
}

/// Takes a stopped thread out of the stub, if it is there, by what is in its own memory: also of use if the tracer that
/// patched it has died.
fn move_out(tid: Tid, registers: &mut libc::user_regs_struct) -> Option<Left> {
    let rip = registers.rip;
    let place = if (l::REGION..l::REGION + l::CODE).contains(&rip) {
        place(rip, registers.eflags)
    } else {
        Place::Before { frame: false }
    };
    let frame = registers.rsp;
    let data_of = |code: u64| {
        let from = code.checked_sub(labels::sites()).filter(|from| *from < l::CODE)?;
        Some(labels::sites() + from / l::SITE_BYTES * l::SITE_BYTES + l::SITE_DATA)
    };
    let data = match place {
        _ if !(l::REGION..l::REGION + l::CODE).contains(&rip) => data_of(far_jump_at(tid, rip)?)?,
        Place::Before { .. } | Place::Done if rip >= labels::sites() => data_of(rip)?,
        Place::Before { .. } | Place::Done => registers.r11,
        Place::Returned | Place::After { .. } => word(tid, frame + l::SITE)?,
    };
    // Else not a state that the stub has: the program's own jump.
    data_of(data).filter(|whole| *whole == data)?;
    let after = word(tid, data + l::AFTER)?;
    let mut left = Left { place, frame, uncounted: None, record: None };
    match place {
        Place::Before { frame } => {
            // What was overwritten is done here; the call stops.
            let [opcode, value @ ..] = instruction(tid, data - l::SITE_DATA)?;
            let value = u64::from(u32::from_le_bytes(value));
            *(if opcode == 0xbf { &mut registers.rdi } else { &mut registers.rax }) = value;
            registers.rip = after - 2;
            registers.rsp += if frame { l::DOWN } else { 0 };
        }
        Place::Done => registers.rip = after,
        Place::Returned => {
            left.uncounted = Some(registers.rax as i64);
            registers.rip = after;
            registers.rsp += l::DOWN;
        }
        Place::After { counted, record } => {
            let result = word(tid, frame + l::RESULT)?;
            left.uncounted = (!counted).then_some(result as i64);
            left.record = record.then_some(registers.r9);
            let [rdi, rsi, rdx, r10, r8, r9] =
                l::ARGUMENTS.map(|offset| word(tid, frame + offset).unwrap_or(0));
            registers.rax = result;
            (registers.rdi, registers.rsi, registers.rdx) = (rdi, rsi, rdx);
            (registers.r10, registers.r8, registers.r9) = (r10, r8, r9);
            registers.orig_rax = u64::MAX;
            registers.rip = after;
            registers.rsp += l::DOWN;
        }
    }
    // Fails if it was killed.
    let _ = thread::set_registers(tid, registers);
    Some(left)
}

/// The instruction at the start of a site's code.
fn instruction(tid: Tid, address: u64) -> Option<[u8; l::JUMP as usize]> {
    let mut code = [0; l::JUMP as usize];
    (read_memory(tid, address, &mut code) == code.len()).then_some(code)
}

/// The target of the jump to the stub that `rip` is at, in a page near a library.
fn far_jump_at(tid: Tid, rip: u64) -> Option<u64> {
    let mut code = [0; l::FAR_JUMP as usize];
    let read = read_memory(tid, rip, &mut code) == code.len();
    let target = u64::from_le_bytes(*code[6..].first_chunk()?);
    (read && code == site::far_jump(target)).then_some(target)
}

/// Whether the stub is in the memory of `tid`.
pub(super) fn has_stub(tid: Tid) -> bool {
    let mut start = [0; 16];
    read_memory(tid, l::REGION, &mut start) == start.len() && labels::code().starts_with(&start)
}

/// Takes a thread that is stopped for a signal out of the stub, if its process has one, without counting. Returns the
/// signal to deliver.
pub(crate) fn leave_uncounted(tid: Tid, signal: i32) -> i32 {
    let Some(mut registers) = has_stub(tid).then(|| thread::registers(tid).ok()).flatten() else {
        return signal;
    };
    match move_out(tid, &mut registers) {
        Some(left) if left.is_own_fault(tid, signal) => 0,
        _ => signal,
    }
}

impl Tracer<'_> {
    /// `tid` is stopped for a signal. Returns the signal to deliver.
    pub(crate) fn out_of_stub(&mut self, tid: Tid, signal: i32) -> i32 {
        let Some((at, mut registers)) = self.patched_thread(tid) else { return signal };
        if let Some(signal) = self.out_of_set_up(tid, at, registers.rip, signal) {
            return signal;
        }
        let Some(left) = move_out(tid, &mut registers) else { return signal };
        if let Some(record) = left.record
            && let Some(room) = &self.tree.group(at).patches.room
        {
            room.table.borrow().abandon_one(record, number(at));
        }
        if let Some(result) = left.uncounted {
            self.take_frame(tid, at, left.frame, Some(result));
        }
        if left.is_own_fault(tid, signal) { 0 } else { signal }
    }

    /// `tid` is about to end: what it was doing in the stub.
    pub(crate) fn ends_in_stub(&mut self, tid: Tid) {
        let Some((at, registers)) = self.patched_thread(tid) else { return };
        if !(l::REGION..labels::sites()).contains(&registers.rip) {
            return;
        }
        match place(registers.rip, registers.eflags) {
            Place::Returned if is_interrupted(registers.rax as i64) => {
                self.builder.lost(Loss::Unfinished, 1);
            }
            Place::Returned => {
                self.take_frame(tid, at, registers.rsp, Some(registers.rax as i64));
            }
            Place::After { counted: false, .. } => self.take_frame(tid, at, registers.rsp, None),
            _ => {}
        }
    }

    /// The process and the registers of a stopped thread, if there may be patched sites in its memory.
    fn patched_thread(&mut self, tid: Tid) -> Option<(usize, libc::user_regs_struct)> {
        self.patching.as_ref()?;
        let at = self.tree.threads.get(&tid)?.group;
        // One that uses the memory of another may be on its way to the stub, which makes no call for it.
        let memory = self.memory_of(at)?;
        let patches = &self.tree.group(memory).patches;
        if patches.room.is_none() && patches.set_up.is_none() {
            return None;
        }
        Some((at, thread::registers(tid).ok()?))
    }

    /// Counts the call whose frame is at `frame`, with `result`, or else with the result that is in the frame.
    pub(super) fn take_frame(&mut self, tid: Tid, at: usize, frame: u64, result: Option<i64>) {
        let site = word(tid, frame + l::SITE)
            .map(|data| data.wrapping_sub(labels::sites()) / l::SITE_BYTES)
            .and_then(|index| {
                self.tree.group(at).patches.room.as_ref()?.sites.get(index as usize).copied()
            });
        let result = result.or_else(|| word(tid, frame + l::RESULT).map(|word| word as i64));
        let (Some(Site { start, nr, .. }), Some(result)) = (site, result) else { return };
        let args = l::ARGUMENTS.map(|offset| word(tid, frame + offset).unwrap_or(0));
        let (ip, sp) = (start + l::JUMP + 2, frame + l::DOWN);
        let at_ns = crate::sys::now() - self.started;
        let entry = SyscallInfo::entry(AUDIT_ARCH_X86_64, ip, sp, nr, args);
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

fn word(tid: Tid, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (read_memory(tid, address, &mut bytes) == 8).then(|| u64::from_ne_bytes(bytes))
}
