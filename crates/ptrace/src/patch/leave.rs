//! Takes a thread out of the stub before it gets a signal, as if it were at its site, before or after the call.

use super::{AUDIT_ARCH_X86_64, Seen, Site, labels, layout as l, number, swap, thread};
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use needless_model::Loss;

const ZERO_FLAG: u64 = 1 << 6;
const DOWN: u64 = l::RED_ZONE + l::FRAME;

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

impl Tracer<'_> {
    /// `tid` is stopped for a signal. Returns the signal to deliver.
    pub(crate) fn out_of_stub(&mut self, tid: Tid, signal: i32) -> i32 {
        let Some((at, mut registers)) = self.patched_thread(tid) else { return signal };
        // A guest runs in the memory of its host.
        let host = self.tree.group(at).patches.host.map_or(at, |(host, _)| host);
        let patches = &self.tree.group(host).patches;
        let Some(room) = &patches.room else { return signal };
        // The trap that is there while a site is overwritten; a process forked at that moment keeps it.
        if signal == libc::SIGTRAP
            && let start = registers.rip.wrapping_sub(1)
            && let Some(Seen::Patched(jump)) = patches.seen.get(&start)
            && swap::past_trap(tid, start, jump)
        {
            return 0;
        }
        let rip = registers.rip;
        let in_page = |page: &&u64| (**page..**page + 4096).contains(&rip);
        let place = if let Some(page) = room.near.iter().find(in_page) {
            let Some(site) = room.sites.get(((rip - page) / l::FAR_JUMP) as usize) else {
                return signal;
            };
            registers.rip = site.start;
            // Fails if it was killed.
            let _ = thread::set_registers(tid, &registers);
            return signal;
        } else if (l::REGION..l::REGION + l::CODE).contains(&rip) {
            place(rip, registers.eflags)
        } else {
            return signal;
        };
        let start_of = |data: u64| {
            let index = data.wrapping_sub(labels::sites()) / l::SITE_BYTES;
            room.sites.get(index as usize).map(|site| site.start)
        };
        let start = match place {
            Place::Before { .. } | Place::Done if rip >= labels::sites() => start_of(rip),
            Place::Before { .. } | Place::Done => start_of(registers.r11),
            Place::Returned | Place::After { .. } => {
                word(tid, registers.rsp + l::SITE).and_then(start_of)
            }
        };
        // Not a state that the stub has: the program's own jump.
        let Some(start) = start else { return signal };
        let table = room.table.clone();
        let after = start + l::JUMP + 2;
        match place {
            Place::Before { frame } => {
                registers.rip = start;
                registers.rsp += if frame { DOWN } else { 0 };
            }
            Place::Done => registers.rip = after,
            Place::Returned => {
                let result = registers.rax as i64;
                self.take_frame(tid, at, registers.rsp, Some(result));
                registers.rip = after;
                registers.rsp += DOWN;
            }
            Place::After { counted, record } => {
                if record {
                    table.borrow().abandon_one(registers.r9, number(at));
                }
                if !counted {
                    self.take_frame(tid, at, registers.rsp, None);
                }
                let frame = registers.rsp;
                let [rdi, rsi, rdx, r10, r8, r9] =
                    l::ARGUMENTS.map(|offset| word(tid, frame + offset).unwrap_or(0));
                registers.rax = word(tid, frame + l::RESULT).unwrap_or(0);
                (registers.rdi, registers.rsi, registers.rdx) = (rdi, rsi, rdx);
                (registers.r10, registers.r8, registers.r9) = (r10, r8, r9);
                registers.orig_rax = u64::MAX;
                registers.rip = after;
                registers.rsp += DOWN;
            }
        }
        // Fails if it was killed.
        let _ = thread::set_registers(tid, &registers);
        let is_ours = matches!(place, Place::After { .. })
            && matches!(signal, libc::SIGSEGV | libc::SIGBUS)
            && thread::is_fault(tid);
        if is_ours { 0 } else { signal }
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
        let host = self.tree.group(at).patches.host.map_or(at, |(host, _)| host);
        let has_room = self.tree.is_live(host) && self.tree.group(host).patches.room.is_some();
        if !has_room {
            return None;
        }
        Some((at, thread::registers(tid).ok()?))
    }

    /// Counts the call whose frame is at `frame`, with `result`, or else with the result that is in the frame.
    pub(super) fn take_frame(&mut self, tid: Tid, at: usize, frame: u64, result: Option<i64>) {
        let host = self.tree.group(at).patches.host.map_or(at, |(host, _)| host);
        if !self.tree.is_live(host) {
            return;
        }
        let site = word(tid, frame + l::SITE)
            .map(|data| data.wrapping_sub(labels::sites()) / l::SITE_BYTES)
            .and_then(|index| {
                self.tree.group(host).patches.room.as_ref()?.sites.get(index as usize).copied()
            });
        let result = result.or_else(|| word(tid, frame + l::RESULT).map(|word| word as i64));
        let (Some(Site { start, nr, .. }), Some(result)) = (site, result) else { return };
        let args = l::ARGUMENTS.map(|offset| word(tid, frame + offset).unwrap_or(0));
        let (ip, sp) = (start + l::JUMP + 2, frame + DOWN);
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
