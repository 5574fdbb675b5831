//! Hot call sites count themselves: a site from which calls stop often is patched with a jump to a stub (`stub.rs`), which
//! makes the call without a stop and writes question and answer into a table that the tracer reads.
//!
//! Only the instruction before the `syscall` is overwritten. Whatever comes to the `syscall` in another way stops as
//! before, and so do calls that the stub does not take: opens that may change something, and every call of a process
//! whose number in its control page is 0. So a process is left to ptrace by one write.
//!
//! The tracer empties the tables before it handles a stop. What separates one question from its repetition (a wait, a
//! change, a new process) is a stop, so the rows are those of a run in which every call stops.
//!
//! A thread that gets a signal in the stub is first moved out of it (`leave.rs`): no handler, no unwinder and no
//! `longjmp` sees the stub.

mod allowed;
mod clock;
mod labels;
pub(crate) mod layout;
mod leave;
mod prepare;
mod process;
mod record;
mod remote;
mod site;
mod stub;
mod swap;
mod table;
mod thread;

use crate::sys::{OP_SECCOMP, SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
pub(crate) use allowed::is_allowed;
use clock::Ticks;
use layout as l;
pub(crate) use layout::patchable;
pub(crate) use leave::leave_uncounted;
use needless_model::Loss;
use needless_syscalls::X32_BIT;
use remote::{Remote, RemoteError};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
pub(crate) use swap::past_trap;
pub(crate) use table::{Record, Table};

pub(crate) const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;

/// After so many stops at a site it is patched; the first of a process after the square of that in all.
pub const PATCH_AFTER: u32 = 4;

/// The address from which calls need not stop, and the call and address with which the stub asks for a stop.
pub(crate) fn exempt() -> crate::filter::Exempt {
    crate::filter::Exempt {
        calls_from: labels::returned(),
        report: l::REPORT,
        reports_from: labels::reported(),
        region_high: (l::REGION >> 32) as u32,
    }
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
    /// How many other processes use its memory: while there are any, its calls stop.
    guests: u32,
    /// The process whose memory it uses, with its position.
    host: Option<(usize, Tid)>,
    map: Rc<site::Map>,
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
    /// The pages with jumps to them, near libraries.
    near: Vec<u64>,
}

/// A patched site.
#[derive(Clone, Copy)]
struct Site {
    /// Where the overwritten instruction is.
    start: u64,
    instruction: [u8; l::JUMP as usize],
    /// The call's number.
    nr: u64,
}

/// Why a site was not patched.
enum Refusal {
    /// The process obeys no more; it was handled.
    Gone,
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
    /// `tid` is stopped at the entry of a call: whether the stub makes this call, or the call is made again.
    pub(crate) fn patch(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> bool {
        let Some(after) = self.patching.as_ref().map(|patching| patching.after) else {
            return false;
        };
        let is_native = info.arch == AUDIT_ARCH_X86_64 && info.nr() < X32_BIT;
        if info.op != OP_SECCOMP || !is_native || self.calls.patchable(info.nr()).is_none() {
            return false;
        }
        let group = self.tree.group(at);
        let patches = &mut group.patches;
        if group.image.is_none() || group.has_filter || patches.off || patches.guests > 0 {
            return false;
        }
        // To prepare a process takes a dozen stops: one that makes few calls is not worth it.
        patches.stops = patches.stops.saturating_add(1);
        let is_worth_it = patches.room.is_some() || patches.stops >= after.saturating_mul(after);
        let start = info.ip.wrapping_sub(2 + l::JUMP);
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
        let refusal = match self.patch_site(tid, at, info, start) {
            Ok(jump) => {
                self.tree.group(at).patches.seen.insert(start, Seen::Patched(jump));
                return true;
            }
            Err(refusal) => refusal,
        };
        match refusal {
            Refusal::Gone => return true,
            Refusal::Site => {}
            Refusal::Process(why) => {
                let group = self.tree.group(at);
                group.patches.off = true;
                if let Some(image) = group.image {
                    let name = self.builder.process_ref(image).name();
                    let note = format!("{name} is not patched, so its calls stop: {why}");
                    self.builder.note(note);
                }
            }
        }
        let patches = &mut self.tree.group(at).patches;
        patches.seen.insert(start, Seen::Refused);
        // Where a call was made in its place, it was made again by `Remote::end`.
        crate::sys::syscall_info(tid).is_ok_and(|now| now.op != OP_SECCOMP)
    }

    fn patch_site(
        &mut self,
        tid: Tid,
        at: usize,
        info: &SyscallInfo,
        start: u64,
    ) -> Result<[u8; l::JUMP as usize], Refusal> {
        let mut bytes = [0; site::LOOKED_AT];
        let read = read_memory(tid, start.wrapping_sub(site::BEFORE), &mut bytes);
        if read < bytes.len() || !site::is_safe(&bytes, info.nr(), info.args()[0]) {
            return Err(Refusal::Site);
        }
        let patches = &mut self.tree.group(at).patches;
        let code = start..start + l::JUMP + 2;
        if !patches.map.is_code(code.clone()) {
            let maps = std::fs::read_to_string(format!("/proc/{tid}/maps"));
            patches.map = Rc::new(site::Map::parse(&maps.map_err(|_| Refusal::Site)?));
            if !patches.map.is_code(code) {
                return Err(Refusal::Site);
            }
        }
        let mut remote = Remote::new(tid).map_err(|_| Refusal::Site)?;
        let done = self.overwrite(&mut remote, tid, at, start, &bytes, info.nr());
        match done {
            Ok(jump) => {
                remote.end(Some(start));
                Ok(jump)
            }
            Err(RemoteRefusal::Site) => {
                remote.end(None);
                Err(Refusal::Site)
            }
            Err(RemoteRefusal::Remote(RemoteError::Refused, what)) => {
                remote.end(None);
                Err(Refusal::Process(what))
            }
            Err(RemoteRefusal::Remote(RemoteError::Gone(waited), _)) => {
                self.handle(waited);
                Err(Refusal::Gone)
            }
        }
    }

    fn overwrite(
        &mut self,
        remote: &mut Remote,
        tid: Tid,
        at: usize,
        start: u64,
        bytes: &[u8; site::LOOKED_AT],
        nr: u64,
    ) -> Result<[u8; l::JUMP as usize], RemoteRefusal> {
        let shape = self.calls.patchable(nr).ok_or(RemoteRefusal::Site)?;
        let alone = self.tree.is_alone(at);
        let within = self.options.limits.repeat_within_ns;
        let Some(patching) = &mut self.patching else { return Err(RemoteRefusal::Site) };
        let patches = &mut self.tree.group(at).patches;
        let room = match &mut patches.room {
            Some(room) => room,
            none => {
                let table = prepare::prepare(remote, tid, number(at), patching.ticks.of(within))?;
                patching.tables.push(table.clone());
                none.insert(Room { table, sites: Vec::new(), near: Vec::new() })
            }
        };
        let index = room.sites.len() as u64;
        let site_at = labels::sites() + index * l::SITE_BYTES;
        if site_at + l::SITE_BYTES > prepare::NAME {
            return Err(RemoteRefusal::Site);
        }
        let entry = |page: u64| page + index * l::FAR_JUMP;
        let near = room.near.iter().copied().map(entry);
        let near = match near.into_iter().find(|entry| site::distance(start, *entry).is_some()) {
            Some(entry) => entry,
            None => {
                let page = patches.map.page_near(start).ok_or(RemoteRefusal::Site)?;
                prepare::map_code(remote, page, 4096)?;
                room.near.push(page);
                entry(page)
            }
        };
        let instruction = bytes[1..].first_chunk().ok_or(RemoteRefusal::Site)?;
        let data = l::data(shape, start, index as u32);
        let code = site::site_code(site_at, l::REGION, *instruction, &data);
        let jump = site::jump(start, near).ok_or(RemoteRefusal::Site)?;
        let written = thread::write(tid, site_at, &code.ok_or(RemoteRefusal::Site)?)
            .and_then(|()| thread::write(tid, near, &site::far_jump(site_at)));
        let unwritten = |errno| RemoteRefusal::Remote(RemoteError::from(errno), WRITTEN);
        written.map_err(unwritten)?;
        if alone {
            thread::write(tid, start, &jump).map_err(unwritten)?;
        } else {
            swap::write(remote, tid, start, instruction, &jump, self.tree.roster())?;
        }
        if let Some(room) = &mut self.tree.group(at).patches.room {
            room.sites.push(Site { start, instruction: *instruction, nr });
        }
        Ok(jump)
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
        let Some(patching) = &mut self.patching else { return };
        if patching.tables.is_empty() {
            return;
        }
        let mut records = Vec::new();
        for table in &patching.tables {
            table.borrow_mut().take(|record| records.push(record));
        }
        self.count_records(records);
    }

    fn count_records(&mut self, records: Vec<Record>) {
        let Some(patching) = &mut self.patching else { return };
        if records.is_empty() {
            return;
        }
        let now = patching.ticks.now(self.started);
        for record in records {
            let at = (record.process as usize).wrapping_sub(1);
            let site = match self.tree.is_live(at) {
                true => {
                    let room = self.tree.group(at).patches.room.as_ref();
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
            let Some(room) = &group.patches.room else { continue };
            let table = room.table.borrow();
            table.snapshot_after(record.count);
            if stop && self.stacks.wanted {
                const STOPS: i32 = 8;
                table.stop_next(STOPS);
            }
        }
    }
}

const WRITTEN: &str = "its code cannot be written";

enum RemoteRefusal {
    Site,
    Remote(RemoteError, &'static str),
}

/// The number of the process at this position.
fn number(at: usize) -> u32 {
    at as u32 + 1
}
