//! Patched sites when a process forks, leaves its memory, or is left to ptrace.

use super::leave::has_stub;
use super::{Patches, layout as l, number, thread};
use crate::ending::{Ending, Range, forbids_clock, restricts, shares};
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use crate::untraced::flags_of;
use needless_model::Loss;
use std::rc::Rc;

const THREADS: &str = "it has threads, or shares its memory with another process";
const ADDRESS: &str = "it uses the address that needless uses";

impl Tracer<'_> {
    /// The process at `child` was forked by the one at `parent`, which waits for it in its own memory if `waits`
    /// (vfork). To be called while the parent is stopped.
    pub(crate) fn patches_forked(&mut self, parent: usize, child: usize, waits: bool) {
        if self.patching.is_none() {
            return;
        }
        let tgid = self.tree.group(child).tgid;
        let Some(memory) = self.memory_of(parent) else {
            self.tree.group(child).patches.off = true;
            return;
        };
        let host = self.tree.group(memory);
        if waits {
            host.patches.guests += 1;
            let is_patched = host.patches.room.is_some();
            let host = Some((memory, host.tgid));
            self.tree.group(child).patches = Patches { off: true, host, ..Patches::default() };
            self.switch(memory);
            if is_patched {
                // It is the same word, unless it did not ask for the same memory. Fails if it has just ended.
                let _ = thread::write_running(tgid, l::CONTROL, 0);
            }
            return;
        }
        let patches = match host.patches.off {
            true => Patches { off: true, ..Patches::default() },
            false => Patches { guests: 0, set_up: None, errand: None, ..host.patches.clone() },
        };
        self.tree.group(child).patches = patches;
        self.switch(child);
    }

    /// The stopped process `tgid` was forked by one that has ended: it counts itself for that one, and must not.
    pub(crate) fn patches_orphaned(&mut self, tgid: Tid) {
        if self.patching.is_some() {
            super::stop_counting(tgid);
        }
    }

    /// The process at `at` leaves its memory, by exec or by its end.
    pub(crate) fn memory_left(&mut self, at: usize) {
        if self.patching.is_none() {
            return;
        }
        let memory = self.memory_of(at);
        if let Some(room) = &self.tree.group(at).patches.room {
            let table = room.table.clone();
            let mut rest = Vec::new();
            table.borrow_mut().take_rest(|record| rest.push((table.clone(), record)));
            self.count_records(rest);
            table.borrow().abandon(number(at));
            let unheard = table.borrow().unheard();
            let is_possible = table.borrow_mut().allows(unheard);
            match is_possible {
                true => self.builder.lost(Loss::Uncounted, unheard),
                false => self.say_written_over(),
            }
        }
        let is_guest = std::mem::take(&mut self.tree.group(at).patches).host.is_some();
        if let Some(patching) = &mut self.patching {
            patching.tables.retain(|table| Rc::strong_count(table) > 1);
        }
        if is_guest && let Some(host) = memory {
            let guests = &mut self.tree.group(host).patches.guests;
            *guests = guests.saturating_sub(1);
            self.switch(host);
        }
    }

    /// The process whose memory the one at `at` uses, while that lives.
    pub(super) fn memory_of(&mut self, at: usize) -> Option<usize> {
        let Some((host, tgid)) = self.tree.group(at).patches.host else { return Some(at) };
        (self.tree.is_live(host) && self.tree.group(host).tgid == tgid).then_some(host)
    }

    /// `tid` is stopped before a call: if sites cannot stay in its memory after that, they become what they were.
    pub(crate) fn look_before(&mut self, tid: Tid, at: usize, info: &SyscallInfo) {
        if self.patching.is_none() {
            return;
        }
        let Some((call, is_64bit)) = self.calls.call(info.arch, info.nr()) else { return };
        let (args, memory) = (info.args(), self.memory_of(at));
        match (Ending::of(&call, is_64bit), memory) {
            (Some(Ending::Restricts(when)), _) if when.holds(&args) && restricts(&call, &args) => {
                self.tree.group(at).no_clock |= forbids_clock(&call, &args);
                self.take_back(tid, at, None);
            }
            (Some(Ending::Shares(flags)), Some(memory))
                if flags_of(tid, flags, info).is_some_and(shares) =>
            {
                self.take_back(tid, memory, Some(THREADS));
            }
            (Some(Ending::Changes(ranges)), Some(memory))
                if self.are_ours(memory, ranges, &args) =>
            {
                self.take_back(tid, memory, Some(ADDRESS));
            }
            _ => {}
        }
    }

    /// The process at `at` has a second thread.
    pub(crate) fn has_threads(&mut self, tid: Tid, at: usize) {
        self.take_back(tid, at, Some(THREADS));
    }

    /// Whether something of ours is in these ranges of the memory of the process at `at`.
    fn are_ours(&mut self, at: usize, ranges: &[Range], args: &[u64; 6]) -> bool {
        let Some(room) = &self.tree.group(at).patches.room else { return false };
        ranges.iter().filter_map(|range| range.of(args)).any(|(start, length)| {
            let reaches = |from, end| start < end && start.saturating_add(length) > from;
            reaches(l::REGION, l::END) || reaches(room.near, room.near + 4096)
        })
    }

    /// Leaves the process at `at` to ptrace from here on, whose memory is that of the stopped thread `tid`: its sites
    /// become what they were. `why` is noted, if it makes many calls.
    pub(crate) fn take_back(&mut self, tid: Tid, at: usize, why: Option<&'static str>) {
        if self.patching.is_none() || self.tree.group(at).patches.off {
            return;
        }
        let patches = &mut self.tree.group(at).patches;
        (patches.off, patches.unsaid) = (true, why);
        let Some(room) = patches.room.clone() else { return };
        self.switch(at);
        for site in &room.sites {
            // It may be gone with its library.
            let mut there = [0; l::JUMP as usize];
            read_memory(tid, site.start, &mut there);
            if there == site.jump {
                let _ = thread::write(tid, site.start, &site.instruction);
            }
        }
        if let Some(why) = self.tree.group(at).patches.unsaid.take() {
            self.say_stops(at, why);
        }
    }

    /// Writes into the control page whether the stub makes calls.
    pub(super) fn switch(&mut self, at: usize) {
        let group = self.tree.group(at);
        let patches = &group.patches;
        if patches.room.is_some() {
            let is_on = !patches.off && patches.guests == 0;
            // Fails if it has just ended.
            let value = if is_on { number(at) } else { 0 };
            let _ = thread::write_running(group.tgid, l::CONTROL, value);
        }
    }
}

/// Lets all calls of the stopped thread's process stop, if the stub is there: who counts them is not known.
pub(crate) fn stop_counting(tid: Tid) {
    if has_stub(tid) {
        // Fails if it has just ended.
        let _ = thread::write_running(tid, l::CONTROL, 0);
    }
}
