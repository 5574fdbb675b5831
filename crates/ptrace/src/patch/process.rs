//! Patched sites when a process forks, leaves its memory, or is left to ptrace.

use super::{Patches, labels, layout as l, site};
use crate::ending::{Ending, Range, forbids_clock, restricts, shares};
use crate::memory::{write, write_allowed};
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use crate::untraced::flags_of;

const THREADS: &str = "it has threads, or shares its memory with another process";
const ADDRESS: &str = "it uses the address that needless uses";

impl Tracer<'_> {
    /// The process at `child` was forked by the one at `parent`, which waits for it in its own memory if `waits`
    /// (vfork). To be called while both are stopped.
    pub(crate) fn patches_forked(&mut self, parent: usize, child: usize, waits: bool) {
        if self.patching.is_none() {
            return;
        }
        let memory = self.memory_of(parent);
        let patches = match memory.map(|memory| (memory, self.tree.group(memory))) {
            Some((memory, host)) if waits => {
                host.patches.stopping = host.patches.stopping.max(1);
                Patches { off: true, host: Some((memory, host.tgid)), ..Patches::default() }
            }
            // It has the sites, and gets a table of its own once it makes as many calls as a new process.
            Some((_, host)) if !host.patches.off => {
                let (room, seen) = (host.patches.room.clone(), host.patches.seen.clone());
                Patches { room, seen, ..Patches::default() }
            }
            _ => Patches { off: true, ..Patches::default() },
        };
        let group = self.tree.group(child);
        group.patches = patches;
        // The same word as that of a parent that waits, unless it has memory of its own.
        stop_counting(group.tgid);
    }

    /// The process at `at` leaves its memory, by exec or by its end. What it counted was taken.
    pub(crate) fn memory_left(&mut self, at: usize) {
        let Some(patching) = &mut self.patching else { return };
        patching.tables.retain(|(of, _)| *of != at);
        self.tree.group(at).patches = Patches::default();
    }

    /// The process whose memory the one at `at` uses, while that lives.
    fn memory_of(&mut self, at: usize) -> Option<usize> {
        let Some((host, tgid)) = self.tree.group(at).patches.host else { return Some(at) };
        (self.tree.is_live(host) && self.tree.group(host).tgid == tgid).then_some(host)
    }

    /// `tid` is stopped before a call: if sites cannot stay in its memory after that, they become what they were.
    pub(super) fn look_before(&mut self, tid: Tid, at: usize, info: &SyscallInfo) {
        let Some((call, is_64bit)) = self.calls.call(info.arch, info.nr()) else { return };
        let (args, memory) = (info.args(), self.memory_of(at));
        match (Ending::of(&call, is_64bit), memory) {
            (Some(Ending::Restricts(when)), _) if when.holds(&args) && restricts(&call, &args) => {
                self.tree.group(at).no_clock |= forbids_clock(&call, &args);
                self.take_back(tid, memory.unwrap_or(at), None);
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

    /// Whether something of ours is in these ranges of the memory of the process at `at`, which is on no errand of ours.
    fn are_ours(&mut self, at: usize, ranges: &[Range], args: &[u64; 6]) -> bool {
        let patches = &self.tree.group(at).patches;
        let Some(room) = patches.room.as_ref().filter(|_| !patches.is_on_errand()) else {
            return false;
        };
        ranges.iter().filter_map(|range| range.of(args)).any(|(start, length)| {
            let reaches = |from, end| start < end && start.saturating_add(length) > from;
            reaches(l::REGION, l::REGION + l::REGION_BYTES) || reaches(room.near, room.near + 4096)
        })
    }

    /// Leaves the process at `at` to ptrace from here on, whose memory is that of the stopped thread `tid`: its sites
    /// become what they were. `why` is noted, if it makes many calls.
    pub(crate) fn take_back(&mut self, tid: Tid, at: usize, why: Option<&'static str>) {
        let Some(patching) = self.patching.as_mut() else { return };
        let patches = &mut self.tree.group(at).patches;
        if patches.off {
            return;
        }
        (patches.off, patches.unsaid) = (true, why);
        let Some(room) = patches.room.take() else { return };
        patching.tables.retain(|(of, _)| *of != at);
        restore_sites(tid, Some(room.near));
        self.say_stops(at, "no longer");
    }
}

/// Makes the sites in the memory of the stopped thread `tid` what they were, by what is in that memory. `near`: the page
/// with their code; `None`: it is looked for, since nobody knows who patched them.
pub(crate) fn restore_sites(tid: Tid, near: Option<u64>) {
    const SITE: usize = l::SITE_BYTES as usize;
    if !stop_counting(tid) {
        return;
    }
    for page in near.map_or_else(|| site::near_pages(tid), |page| vec![page]) {
        let mut code = [0; 4096];
        read_memory(tid, page, &mut code);
        for (at, code) in (page..).step_by(SITE).zip(code.chunks_exact(SITE)) {
            let Some((start, instruction, jump)) = site::overwritten(at, code) else { break };
            // It may be gone with its library.
            let mut there = [0; l::JUMP as usize];
            read_memory(tid, start, &mut there);
            if there == jump {
                let _ = write(tid, start, &instruction);
            }
        }
    }
}

/// The same where the tracer has died, once.
pub(crate) fn end_patches(tid: Tid) {
    if stop_counting(tid) {
        restore_sites(tid, None);
        // Nothing jumps to the stub any more.
        let _ = write(tid, l::REGION, &[0; 8]);
    }
}

/// Lets all calls of the process stop, if the stub is there: also where the tracer that patched it has died. Returns
/// whether it is there.
pub(crate) fn stop_counting(tid: Tid) -> bool {
    let mut start = [0; 16];
    read_memory(tid, l::REGION, &mut start);
    // Fails if it has just ended.
    labels::code().starts_with(&start) && write_allowed(tid, l::CONTROL, &[0; 4]).is_ok()
}
