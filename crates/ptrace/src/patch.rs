//! Hot call sites count themselves: a site from which calls stop often is patched with a jump to a stub (`stub.rs`), which
//! makes the call without a stop and writes question and answer into a table that the tracer reads.
//!
//! Only the instruction before the `syscall` is overwritten. Whatever comes to the `syscall` in another way stops as
//! before, and so do calls that the stub does not take: opens that may change something, and every call of a process
//! whose number in its control page is 0. So a process is left to ptrace by one write.
//!
//! A process is patched only while it has one thread and nobody else uses its memory. Then nothing is written where
//! another thread executes, and nothing that the stub reads vanishes meanwhile. What would change that, or what no code
//! of ours may meet (a filter, a change of our pages), stops before it is made (`ending.rs`): there the sites become what
//! they were, and stay so (`process.rs`).
//!
//! The tracer empties the tables before it handles a stop. What separates one question from its repetition (a wait, a
//! change, a new process) is a stop, so the rows are those of a run in which every call stops.
//!
//! What the stub needs is mapped by the thread itself (`set_up.rs`), so that the tracer may die meanwhile.
//!
//! A thread that gets a signal in the stub is first moved out of it (`leave.rs`): no handler, no unwinder and no
//! `longjmp` sees the stub.
//!
//! An earlier version patched processes with threads, too, where the processor allowed it. A filter that one thread
//! puts on all of them then met calls of needless's in the others, and the fault of a page that another thread had
//! protected took away the handler of a thread that blocks SIGSEGV. To stop all threads first cannot end that: the next
//! may be in a call that does not return. So threaded programs stop as with `--no-patch`, and the report says so.

mod allowed;
mod clock;
mod errand;
mod labels;
pub(crate) mod layout;
mod leave;
mod process;
mod record;
mod set_up;
mod site;
mod stub;
mod table;
mod thread;

use crate::sys::{OP_SECCOMP, SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
pub(crate) use allowed::is_allowed;
use clock::Ticks;
use errand::Errand;
use layout as l;
pub(crate) use layout::patchable;
pub(crate) use leave::leave_uncounted;
use needless_model::Loss;
use needless_syscalls::X32_BIT;
pub(crate) use process::stop_counting;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
pub(crate) use table::{Record, Table};

pub(crate) const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;

/// After so many stops at a site it is patched; the first of a process after the square of that in all.
pub const PATCH_AFTER: u32 = 4;

/// The address from which calls need not stop, and the call and address with which the stub asks for a stop.
pub(crate) fn exempt() -> Option<crate::filter::Exempt> {
    Some(crate::filter::Exempt {
        calls_from: labels::returned(),
        report: l::REPORT,
        reports_from: labels::reported(),
        high: (l::REGION >> 32) as u32,
        low: l::NEAR as u32,
    })
}

/// What is patched in all processes.
pub(crate) struct Patching {
    after: u32,
    tables: Vec<Rc<RefCell<Table>>>,
    ticks: Ticks,
}

/// What is patched in one process.
#[derive(Clone, Default)]
pub(crate) struct Patches {
    /// How many calls stopped that could be made by the stub.
    stops: u32,
    /// The sites, by the address of the instruction that is overwritten.
    seen: HashMap<u64, Seen>,
    room: Option<Room>,
    /// It is left to ptrace.
    off: bool,
    /// Why, where that is to be said once it makes so many calls that it matters.
    unsaid: Option<&'static str>,
    /// How many other processes use its memory: while there are any, its calls stop.
    guests: u32,
    /// The process whose memory it uses, with its position.
    host: Option<(usize, Tid)>,
    map: Rc<site::Map>,
    /// Where the code of `set_up.rs` was written.
    set_up: Option<u64>,
    /// It runs this code.
    errand: Option<Errand>,
}

#[derive(Clone, Copy)]
enum Seen {
    Stopped(u32),
    Patched([u8; l::JUMP as usize]),
    Refused,
}

/// What we mapped into a process.
#[derive(Clone)]
struct Room {
    table: Rc<RefCell<Table>>,
    sites: Vec<Site>,
    /// The page with jumps to them, near libraries.
    near: u64,
}

/// A patched site.
#[derive(Clone, Copy)]
struct Site {
    /// Where the overwritten instruction is.
    start: u64,
    instruction: [u8; l::JUMP as usize],
    /// What is there now.
    jump: [u8; l::JUMP as usize],
    /// The call's number.
    nr: u64,
}

/// Why a site was not patched.
enum Refusal {
    /// This site cannot be patched.
    Site,
    /// No site of this process can.
    Process(&'static str),
}

impl Patching {
    pub(crate) fn new(after: u32) -> Patching {
        Patching { after, tables: Vec::new(), ticks: Ticks::start() }
    }
}

impl Tracer<'_> {
    /// `tid` is stopped at the entry of a call: whether that is not made, because the thread does something else first.
    pub(crate) fn patch(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> bool {
        let Some(after) = self.patching.as_ref().map(|patching| patching.after) else {
            return false;
        };
        let is_native = info.arch == AUDIT_ARCH_X86_64 && info.nr() < X32_BIT;
        if info.op != OP_SECCOMP || !is_native || self.calls.patchable(info.nr()).is_none() {
            return false;
        }
        self.look_after_errand(tid, at);
        let group = self.tree.group(at);
        let patches = &mut group.patches;
        if group.image.is_none() || group.has_filter || group.no_clock || patches.guests > 0 {
            return false;
        }
        // To prepare a process costs as much as some stops: one that makes few calls is not worth it.
        patches.stops = patches.stops.saturating_add(1);
        let is_worth_it = patches.room.is_some() || patches.stops >= after.saturating_mul(after);
        if patches.off {
            if is_worth_it && let Some(why) = patches.unsaid.take() {
                self.say_stops(at, why);
            }
            return false;
        }
        let start = site::start(info);
        let seen = patches.seen.entry(start).or_insert(Seen::Stopped(0));
        match seen {
            Seen::Refused => return false,
            Seen::Patched(jump) => {
                // It may stop all the same: an open that changes something, a snapshot that is due.
                let mut there = [0; l::JUMP as usize];
                read_memory(tid, start, &mut there);
                if there == *jump {
                    return false;
                }
                // Another library is there now.
                *seen = Seen::Stopped(1);
            }
            Seen::Stopped(stops) => *stops += 1,
        }
        if !matches!(seen, Seen::Stopped(stops) if *stops >= after && is_worth_it) {
            return false;
        }
        match self.patch_site(tid, at, info) {
            Ok(is_sent) => return is_sent,
            Err(Refusal::Site) => {
                self.tree.group(at).patches.seen.insert(start, Seen::Refused);
            }
            Err(Refusal::Process(why)) => self.take_back(tid, at, Some(why)),
        }
        false
    }

    /// Notes why calls of the process at `at` stop.
    fn say_stops(&mut self, at: usize, why: &str) {
        let group = self.tree.group(at);
        let Some(image) = group.image else { return };
        let patched =
            if group.patches.room.is_some() { "no longer patched" } else { "not patched" };
        let name = self.builder.process_ref(image).name();
        let note = format!("{name} is {patched}, so its calls stop: {why}");
        self.builder.note(note);
    }

    /// Overwrites the instruction before the call; or sends the thread to prepare that, and returns `true`.
    fn patch_site(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> Result<bool, Refusal> {
        let start = site::start(info);
        let mut bytes = [0; site::LOOKED_AT];
        let read = read_memory(tid, start.wrapping_sub(site::BEFORE), &mut bytes);
        if read < bytes.len() || !site::is_safe(&bytes, info.nr(), info.args()[0]) {
            return Err(Refusal::Site);
        }
        let patches = &mut self.tree.group(at).patches;
        let code = start..start + l::JUMP + 2;
        if patches.room.is_none() || !patches.map.is_code(code.clone()) {
            patches.map = Rc::new(site::Map::of(tid).ok_or(Refusal::Site)?);
            if !patches.map.is_code(code) {
                return Err(Refusal::Site);
            }
        }
        if patches.room.is_none() {
            return self.begin_set_up(tid, at, info).map(|()| true);
        }
        let before = *bytes[1..].first_chunk().ok_or(Refusal::Site)?;
        self.overwrite(tid, at, info, before).map(|()| false)
    }

    fn overwrite(
        &mut self,
        tid: Tid,
        at: usize,
        info: &SyscallInfo,
        instruction: [u8; l::JUMP as usize],
    ) -> Result<(), Refusal> {
        let (start, nr) = (site::start(info), info.nr());
        let shape = self.calls.patchable(nr).ok_or(Refusal::Site)?;
        let patches = &mut self.tree.group(at).patches;
        let room = patches.room.as_mut().ok_or(Refusal::Site)?;
        let index = room.sites.len() as u64;
        let site_at = labels::sites() + index * l::SITE_BYTES;
        let near = room.near + index * l::FAR_JUMP;
        let has_room =
            site_at + l::SITE_BYTES <= l::CONTROL && near + l::FAR_JUMP <= room.near + 4096;
        if !has_room || !site::is_in_one_page(start) {
            return Err(Refusal::Site);
        }
        let jump = site::jump(start, near).ok_or(Refusal::Site)?;
        let data = l::data(shape, start, index as u32);
        let code = site::site_code(site_at, l::REGION, instruction, &data).ok_or(Refusal::Site)?;
        thread::write_code(tid, site_at, &code)
            .and_then(|()| thread::write_code(tid, near, &site::far_jump(site_at)))
            // One write: this call is made as it is, the next one in the stub.
            .and_then(|()| thread::write(tid, start, &jump))
            .map_err(|_| Refusal::Process(WRITTEN))?;
        room.sites.push(Site { start, instruction, jump, nr });
        patches.seen.insert(start, Seen::Patched(jump));
        Ok(())
    }

    /// Whether the thread is stopped because the stub asks to take a call.
    pub(crate) fn reported(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> bool {
        let is_report = self.patching.is_some()
            && info.op == OP_SECCOMP
            && info.nr() == u64::from(l::REPORT)
            && info.ip == labels::reported();
        if is_report {
            self.take_frame(tid, at, info.sp, None);
        }
        is_report
    }

    /// Counts what is in the tables.
    pub(crate) fn take_records(&mut self) {
        let Some(patching) = &self.patching else { return };
        if patching.tables.is_empty() {
            return;
        }
        let mut records = Vec::new();
        for table in &patching.tables {
            table.borrow_mut().take(|record| records.push((table.clone(), record)));
        }
        self.count_records(records);
    }

    fn count_records(&mut self, records: Vec<(Rc<RefCell<Table>>, Record)>) {
        let Some(patching) = &self.patching else { return };
        if records.is_empty() {
            return;
        }
        let now = patching.ticks.now(self.started);
        for (table, record) in records {
            if !table.borrow_mut().allows(record.count) {
                self.say_written_over();
                continue;
            }
            let at = (record.process as usize).wrapping_sub(1);
            let site = match self.tree.is_live(at) {
                true => {
                    let room = self.tree.group(at).patches.room.as_ref();
                    let room = room.filter(|room| Rc::ptr_eq(&room.table, &table));
                    room.and_then(|room| room.sites.get(record.site as usize)).copied()
                }
                false => None,
            };
            let Some(Site { nr, .. }) = site else {
                self.builder.lost(Loss::Uncounted, record.count);
                continue;
            };
            let times = (now.when(record.first), now.when(record.last));
            let group = self.tree.group(at);
            let stop = self.calls.recorded(&mut self.builder, group, nr, &record, times);
            let table = table.borrow();
            table.snapshot_after(record.count);
            if stop && self.stacks.wanted {
                const STOPS: i32 = 8;
                table.stop_next(STOPS);
            }
        }
    }

    /// A number in a table cannot be true: it is not counted, but at least one call was lost.
    fn say_written_over(&mut self) {
        self.builder.lost(Loss::Uncounted, 1);
        self.builder.note(
            "a program wrote into the memory in which its patched call sites count: some of its calls are not counted",
        );
    }
}

const WRITTEN: &str = "its code cannot be written";

/// The number of the process at this position.
fn number(at: usize) -> u32 {
    at as u32 + 1
}
