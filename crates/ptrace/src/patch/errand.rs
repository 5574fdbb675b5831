//! The tracer's part of what a thread does in the code of `set_up.rs`.

use super::table::Table;
use super::{AUDIT_ARCH_X86_64, Refusal, Room, Seen, labels, layout as l, set_up, site, thread};
use crate::sys::{OP_SECCOMP, SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::rc::Rc;

/// A thread in this code: it maps what the stub needs, and a page for jumps to it.
#[derive(Clone, Copy)]
pub(super) struct Errand {
    /// The stop at the site from which it was sent.
    info: SyscallInfo,
    near: u64,
    /// Its registers at the start of that site.
    registers: libc::user_regs_struct,
    /// Whether all is there.
    is_done: bool,
}

impl Tracer<'_> {
    /// Sends `tid`, which is stopped at the entry of a call, to prepare its process, whose map has just been read.
    pub(super) fn begin_set_up(
        &mut self,
        tid: Tid,
        at: usize,
        info: &SyscallInfo,
    ) -> Result<(), Refusal> {
        const FULL: &str = "there is no room for code in what it has mapped";
        const RESERVED: &str = "no page is free that a jump from its code reaches";
        let map = self.tree.group(at).patches.map.clone();
        let start = site::start(info);
        let near = map.page_near(start).ok_or(Refusal::Process(RESERVED))?;
        let code = labels::set_up_code();
        let read = |address, into: &mut [u8]| read_memory(tid, address, into);
        let room = map.after_code(start, code, read).ok_or(Refusal::Process(FULL))?;
        thread::write_code(tid, room, code).map_err(|_| Refusal::Process(super::WRITTEN))?;
        let registers = thread::send(tid, room, start, near).map_err(|_| Refusal::Site)?;
        let patches = &mut self.tree.group(at).patches;
        patches.set_up = Some(room);
        patches.errand = Some(Errand { info: *info, near, registers, is_done: false });
        Ok(())
    }

    /// The process at `at` is stopped at a call that a stub could make: if it was on an errand, it came back without
    /// having asked.
    pub(super) fn look_after_errand(&mut self, tid: Tid, at: usize) {
        const FAILED: &str = "it may not map code or create a file in memory, or the address that needless uses is taken";
        if self.tree.group(at).patches.errand.take().is_some_and(|errand| !errand.is_done) {
            self.take_back(tid, at, Some(FAILED));
        }
    }

    /// Whether `tid` is stopped because it asks, on an errand, for what the tracer has to do.
    pub(crate) fn asked(&mut self, tid: Tid, at: usize, entry: &SyscallInfo) -> bool {
        let asks = self.patching.is_some()
            && entry.op == OP_SECCOMP
            && (entry.arch, entry.nr()) == (AUDIT_ARCH_X86_64, libc::SYS_mmap as u64)
            && entry.args()[..2] == [l::REGION, 0];
        if !asks {
            return false;
        }
        let Some(errand) = &mut self.tree.group(at).patches.errand else { return false };
        errand.is_done = true;
        let Errand { info, near, .. } = *errand;
        match self.finish_set_up(tid, at, entry.sp, near) {
            Ok(()) => {
                // Else it is tried at the next stop there.
                let _ = self.patch_site(tid, at, &info);
            }
            Err(why) => self.take_back(tid, at, Some(why)),
        }
        true
    }

    /// The process has mapped what the stub needs: writes it, and lets it stay. Unless this succeeds, the process
    /// takes everything back.
    fn finish_set_up(
        &mut self,
        tid: Tid,
        at: usize,
        frame: u64,
        near: u64,
    ) -> Result<(), &'static str> {
        const NO_TABLE: &str = "its table cannot be opened";
        let within = self.options.limits.repeat_within_ns;
        let Some(patching) = &mut self.patching else { return Err(NO_TABLE) };
        let number = set_up::descriptor(tid, frame).ok_or(NO_TABLE)?;
        let file =
            OpenOptions::new().read(true).write(true).open(format!("/proc/{tid}/fd/{number}"));
        let file = file.and_then(sealed).map_err(|_| NO_TABLE)?;
        let table = Table::map(&file, patching.ticks.of(within));
        let table = Rc::new(RefCell::new(table.map_err(|_| NO_TABLE)?));
        thread::write_code(tid, l::REGION, labels::code())
            .and_then(|()| thread::say_yes(tid))
            .map_err(|_| super::WRITTEN)?;
        patching.tables.push(table.clone());
        self.tree.group(at).patches.room = Some(Room { table, sites: Vec::new(), near });
        self.switch(at);
        Ok(())
    }

    /// `tid` is stopped for a signal: if it is in the code of `set_up.rs`, moves it to its site, unless signals wait
    /// there. Returns the signal to deliver, if it was in that code.
    pub(super) fn out_of_set_up(
        &mut self,
        tid: Tid,
        at: usize,
        rip: u64,
        signal: i32,
    ) -> Option<i32> {
        let patches = &self.tree.group(at).patches;
        let (base, errand) = (patches.set_up?, patches.errand?);
        let length = labels::set_up_code().len() as u64;
        let offset = rip.checked_sub(base).filter(|offset| *offset < length)?;
        if labels::blocked().contains(&offset) {
            return Some(signal);
        }
        // Fails if it was killed.
        let _ = thread::set_registers(tid, &errand.registers);
        let is_fault = matches!(signal, libc::SIGSEGV | libc::SIGBUS) && thread::is_fault(tid);
        if offset >= labels::blocked().end || is_fault {
            self.look_after_errand(tid, at);
        } else {
            // Nothing was done. Not from here again: a signal may come at each instruction.
            let patches = &mut self.tree.group(at).patches;
            patches.errand = None;
            patches.seen.insert(site::start(&errand.info), Seen::Refused);
        }
        Some(if is_fault { 0 } else { signal })
    }
}

/// The file with its size, which nobody can change any more: to read beyond its end would end the tracer.
fn sealed(file: File) -> io::Result<File> {
    file.set_len(l::TABLE_BYTES as u64)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    match file.metadata()?.len() == l::TABLE_BYTES as u64 {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}
