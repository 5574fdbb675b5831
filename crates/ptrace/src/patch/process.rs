//! Patched sites when a process forks, leaves its memory, or is left to ptrace.

use super::leave::has_stub;
use super::{AUDIT_ARCH_X86_64, Patches, Room, Seen, layout as l, number, thread};
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use needless_model::Loss;
use nix::errno::Errno;
use std::rc::Rc;

impl Tracer<'_> {
    /// The process at `child` was forked by the one at `parent`. To be called while the parent is stopped.
    pub(crate) fn patches_forked(&mut self, parent: usize, child: usize) {
        if self.patching.is_none() {
            return;
        }
        let (parent_tgid, child_tgid) = (self.tree.group(parent).tgid, self.tree.group(child).tgid);
        if !shares_memory(parent_tgid, child_tgid) {
            let patches = self.tree.group(parent).patches.clone();
            let is_on = patches.room.is_some() && !patches.off;
            let group = self.tree.group(child);
            group.patches = Patches { guests: 0, host: None, errand: None, ..patches };
            let value = if is_on { number(child) } else { 0 };
            if let Some(room) = &group.patches.room
                && write_control(child_tgid, value, room).is_err()
            {
                group.patches.off = true;
            }
            return;
        }
        // The memory's own process, if the parent is a guest itself.
        let host = self.tree.group(parent).patches.host.unwrap_or((parent, parent_tgid));
        let group = self.tree.group(child);
        group.patches = Patches { off: true, host: Some(host), ..Patches::default() };
        if self.tree.is_live(host.0) {
            if self.tree.group(host.0).patches.room.is_some() {
                // Where it is not known whose memory it is; fails if it has just ended.
                let _ = thread::write_running(child_tgid, l::CONTROL, 0);
            }
            self.tree.group(host.0).patches.guests += 1;
            self.switch(host.0);
        }
    }

    /// The stopped process `tgid` was forked by one that has ended: it counts itself for that one, and must not.
    pub(crate) fn patches_orphaned(&mut self, tgid: Tid) {
        if self.patching.is_some() && has_stub(tgid) {
            // Fails if it has just ended.
            let _ = thread::write_running(tgid, l::CONTROL, 0);
        }
    }

    /// The process at `at` leaves its memory, by exec or by its end.
    pub(crate) fn memory_left(&mut self, at: usize) {
        if self.patching.is_none() {
            return;
        }
        if let Some(room) = &self.tree.group(at).patches.room {
            let mut rest = Vec::new();
            room.table.clone().borrow_mut().take_rest(|record| rest.push(record));
            self.count_records(rest);
        }
        let patches = std::mem::take(&mut self.tree.group(at).patches);
        if let Some(room) = &patches.room {
            room.table.borrow().abandon(number(at));
            self.builder.lost(Loss::Uncounted, room.table.borrow().unheard());
        }
        let Patches { room, host, .. } = patches;
        drop(room);
        if let Some(patching) = &mut self.patching {
            patching.tables.retain(|table| Rc::strong_count(table) > 1);
        }
        if let Some((host, tgid)) = host
            && self.tree.is_live(host)
            && self.tree.group(host).tgid == tgid
        {
            let guests = &mut self.tree.group(host).patches.guests;
            *guests = guests.saturating_sub(1);
            self.switch(host);
        }
    }

    /// Leaves the process at `at` to ptrace from here on.
    pub(crate) fn leave_to_ptrace(&mut self, at: usize) {
        if self.patching.is_some() && !self.tree.group(at).patches.off {
            self.tree.group(at).patches.off = true;
            self.switch(at);
        }
    }

    /// `tid` is about to map or unmap memory: if that is where the stub is, its sites become what they were.
    pub(crate) fn make_room(&mut self, tid: Tid, at: usize, info: &SyscallInfo) {
        let [start, length, ..] = info.args();
        let maps = [libc::SYS_mmap, libc::SYS_munmap].contains(&(info.nr() as i64));
        let maps = maps && info.arch == AUDIT_ARCH_X86_64;
        let overlaps = start < l::END && start.saturating_add(length) > l::REGION;
        if self.patching.is_none() || !maps || !overlaps || !self.tree.is_alone(at) {
            return;
        }
        let Some(room) = self.tree.group(at).patches.room.clone() else { return };
        self.leave_to_ptrace(at);
        for site in &room.sites {
            // Fails where the library is gone.
            let mut there = [0; l::JUMP as usize];
            read_memory(tid, site.start, &mut there);
            if let Some(Seen::Patched(jump)) = self.tree.group(at).patches.seen.get(&site.start)
                && there == *jump
            {
                let _ = thread::write(tid, site.start, &site.instruction);
            }
        }
        if let Some(image) = self.tree.group(at).image {
            let name = self.builder.process_ref(image).name();
            let note = format!(
                "{name} is no longer patched, so its calls stop: it uses the address that needless uses"
            );
            self.builder.note(note);
        }
    }

    /// Writes into the control page whether the stub makes calls.
    pub(super) fn switch(&mut self, at: usize) {
        let group = self.tree.group(at);
        let patches = &group.patches;
        if let Some(room) = &patches.room {
            let is_on = !patches.off && patches.guests == 0;
            let value = if is_on { number(at) } else { 0 };
            // Fails if it has just ended.
            let _ = write_control(group.tgid, value, room);
        }
    }
}

/// Writes into the control page of a process, for which all calls stop if `value` is 0. The memory of one that does not
/// want to be dumped (PR_SET_DUMPABLE) is closed to an ordinary user, but for the table: then all that share this stop.
fn write_control(tgid: Tid, value: u32, room: &Room) -> Result<(), Errno> {
    let written = thread::write_running(tgid, l::CONTROL, value);
    if written == Err(Errno::EPERM) {
        room.table.borrow_mut().stop_all();
    }
    written
}

/// Whether two processes have one memory; also if that is not known.
fn shares_memory(one: Tid, other: Tid) -> bool {
    const KCMP_VM: i32 = 1;
    // SAFETY: kcmp(2) takes integers only.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) <= 0 }
}
