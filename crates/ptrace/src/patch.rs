//! Hot call sites count themselves: a site from which calls stop often is patched with a jump to a stub (`stub.rs`), which
//! makes the call without a stop and writes question and answer into a table that the tracer reads.
//!
//! Only the instruction before the `syscall` is overwritten. Whatever comes to the `syscall` in another way stops as
//! before, and so do calls that the stub does not take: opens that may change something, and every call of a process
//! whose control page has 0. So a process is left to ptrace by one write.
//!
//! A process is patched only while it has one thread and nobody else uses its memory. Then nothing is written where
//! another thread executes, nothing that the stub reads vanishes meanwhile, and its table has one writer. What would
//! change that, or what no code of ours may meet (a filter, a change of our pages), stops before it is made
//! (`ending.rs`): there the sites become what they were, and stay so (`process.rs`).
//!
//! The tracer empties the tables before it handles a stop. What separates one question from its repetition (a wait, a
//! change, a new process) is a stop, so the rows are those of a run in which every call stops.
//!
//! What the stub needs is mapped by the thread itself (`set_up.rs`), so that the tracer may die meanwhile. A thread that
//! gets a signal in the stub is first moved out of it (`leave.rs`): no handler, unwinder or `longjmp` sees the stub.

mod allowed;
mod clock;
mod labels;
pub(crate) mod layout;
mod leave;
mod process;
mod record;
mod set_up;
mod site;
mod stub;
mod table;

use crate::memory::{write, write_allowed};
use crate::sys::{OP_SECCOMP, SyscallInfo, Tid};
use crate::tracer::Tracer;
use clock::Clock;
use layout as l;
pub(crate) use layout::patchable;
pub(crate) use leave::leave_uncounted;
use needless_host::CodeMap;
use needless_model::Loss;
use needless_syscalls::X32_BIT;
pub(crate) use process::{end_patches, restore_sites, stop_counting};
use set_up::Errand;
use std::collections::HashMap;
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
    /// The tables, with the position of the process that writes into each.
    tables: Vec<(usize, Table)>,
    clock: Clock,
}

/// What is patched in one process.
#[derive(Default)]
pub(crate) struct Patches {
    /// How many calls stopped that could be made by the stub.
    stops: u32,
    /// How many of them at each site, by the address of the instruction that is overwritten; [`TRIED`]: it was, or cannot
    /// be.
    seen: HashMap<u64, u32>,
    room: Option<Room>,
    /// It has a table. The child of a patched process has a room without one.
    has_table: bool,
    /// It is left to ptrace.
    off: bool,
    /// Why, where that is to be said once it makes so many calls that it matters.
    unsaid: Option<&'static str>,
    /// The process whose memory it uses, and which waits meanwhile, with its position.
    host: Option<(usize, Tid)>,
    /// As it was when a site was patched last that was not in it.
    map: CodeMap,
    /// How many more calls are to stop, so that snapshots can be taken, or because a child used its memory.
    stopping: u32,
    /// Whether it runs the code of `set_up.rs`, or did.
    errand: Option<Errand>,
}

const TRIED: u32 = u32::MAX;

impl Patches {
    fn is_on_errand(&self) -> bool {
        self.errand.is_some() && !self.has_table && !self.off
    }
}

/// What we mapped into a process.
#[derive(Clone)]
struct Room {
    sites: Vec<Site>,
    /// The page with their code, near libraries.
    near: u64,
}

/// A patched site.
#[derive(Clone, Copy)]
struct Site {
    /// Where the overwritten instruction is.
    start: u64,
    /// The call's number.
    nr: u64,
}

/// To patch sites after so many stops; `None`: this machine or an inherited filter does not allow it.
pub(crate) fn begin(after: u32) -> Option<Patching> {
    allowed::is_allowed().then(|| Patching { after, tables: Vec::new(), clock: Clock::start() })
}

impl Tracer<'_> {
    /// `tid` is stopped at the entry of a call: whether that is one of the stub, or is not made, because the thread does
    /// something else first.
    pub(crate) fn patched(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> bool {
        let Some(Patching { after, .. }) = self.patching else { return false };
        if info.nr() == u64::from(l::REPORT) && info.ip == labels::reported() {
            self.take_frame(tid, at, info.sp, None);
            return true;
        }
        if self.asked(tid, at, info)
            || self.is_hot(at, info, after) && self.patch_hot(tid, at, info)
        {
            return true;
        }
        self.look_before(tid, at, info);
        false
    }

    /// Whether the site of this call is to be patched now.
    fn is_hot(&mut self, at: usize, info: &SyscallInfo, after: u32) -> bool {
        let is_native = info.arch == AUDIT_ARCH_X86_64 && info.nr() < X32_BIT;
        if !is_native || info.op != OP_SECCOMP || self.calls.patchable(info.nr()).is_none() {
            return false;
        }
        let group = self.tree.group(at);
        if group.image.is_none() || group.has_filter || group.no_clock {
            return false;
        }
        let (patches, tgid) = (&mut group.patches, group.tgid);
        let stopping = patches.stopping;
        patches.stopping = stopping.saturating_sub(1);
        if stopping == 1 && patches.has_table && !patches.off {
            // Fails if it was killed.
            let _ = write_allowed(tgid, l::CONTROL, &[1]);
        }
        // To prepare a process costs as much as some stops: one that makes few calls is not worth it.
        patches.stops = patches.stops.saturating_add(1);
        let is_worth_it = patches.has_table || patches.stops >= after.saturating_mul(after);
        if patches.off {
            if is_worth_it {
                self.say_stops(at, "not");
            }
            return false;
        }
        let stops = patches.seen.entry(site::start(info)).or_insert(0);
        *stops = stops.saturating_add(1);
        let lacks_table = patches.room.is_some() && !patches.has_table;
        is_worth_it && (lacks_table || (after..TRIED).contains(stops))
    }

    /// Patches the site of a call, if that is possible. Returns whether the thread does something else first.
    fn patch_hot(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> bool {
        let is_sent = self.patch_site(tid, at, info);
        let patches = &mut self.tree.group(at).patches;
        if is_sent.is_none() {
            patches.stops = 0;
        }
        if is_sent != Some(true) {
            patches.seen.insert(site::start(info), TRIED);
        }
        is_sent == Some(true)
    }

    /// Notes why calls of the process at `at` stop, if that was not done.
    fn say_stops(&mut self, at: usize, patched: &str) {
        let group = self.tree.group(at);
        let (Some(image), Some(why)) = (group.image, group.patches.unsaid.take()) else { return };
        let name = self.builder.process_ref(image).name();
        let note = format!("{name} is {patched} patched, so its calls stop: {why}");
        self.builder.note(note);
    }

    /// Overwrites the instruction before the call; or sends the thread to prepare that, and returns `true`. `None`: it
    /// cannot be overwritten.
    fn patch_site(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> Option<bool> {
        let (start, nr) = (site::start(info), info.nr());
        let code = start..start + l::JUMP + 2;
        let patches = &mut self.tree.group(at).patches;
        if !patches.has_table || !patches.map.is_code(code.clone()) {
            patches.map = CodeMap::of(tid)?;
        }
        let instruction = site::safe_instruction(tid, info).filter(|_| patches.map.is_code(code));
        if !patches.has_table && (patches.room.is_some() || instruction.is_some()) {
            return self.begin_set_up(tid, at, info);
        }
        let (instruction, room) = (instruction?, patches.room.as_mut()?);
        let index = room.sites.len() as u64;
        let code_at = room.near + index * l::SITE_BYTES;
        if code_at + l::SITE_BYTES > room.near + 4096 {
            return None;
        }
        let jump = site::jump(start, code_at)?;
        let data = l::data(self.calls.patchable(nr)?, start, index);
        write(tid, code_at, &site::site_code(instruction, &data)).ok()?;
        // One write: this call is made as it is, the next one in the stub.
        write(tid, start, &jump).ok()?;
        room.sites.push(Site { start, nr });
        Some(false)
    }

    /// Counts what is in the tables.
    pub(crate) fn take_records(&mut self) {
        let Some(mut patching) = self.patching.take() else { return };
        let mut now = None;
        for (at, table) in &mut patching.tables {
            let is_true = table.take(|record| {
                self.count(*at, record, now.get_or_insert_with(|| patching.clock.now()));
            });
            if !is_true {
                self.builder.lost(Loss::Uncounted, 1);
                self.builder.note(
                    "a program wrote into the memory in which its patched call sites count: some of its calls are not counted",
                );
            }
        }
        self.patching = Some(patching);
    }

    fn count(&mut self, at: usize, record: &Record, now: &Clock) {
        const STOPS: u32 = 8;
        let group = self.tree.group(at);
        let sites = group.patches.room.as_ref().map(|room| &room.sites);
        let index = record.word(l::PLACE) as usize;
        let Some(nr) = sites.and_then(|sites| sites.get(index)).map(|site| site.nr) else {
            self.builder.lost(Loss::Uncounted, record.count);
            return;
        };
        let when = |at| now.when(record.word(at)).saturating_sub(self.started);
        let times = (when(l::FIRST), when(l::LAST));
        if self.calls.recorded(&mut self.builder, group, nr, record, times) && self.stacks.wanted {
            group.patches.stopping = STOPS;
            stop_counting(group.tgid);
        }
    }
}
