//! The tracer's part of what a thread does in the code of `set_up.rs`.

use super::labels::{self, SetUpPlace};
use super::set_up::Saved;
use super::table::Table;
use super::{AUDIT_ARCH_X86_64, Refusal, Room, Seen, Written, layout as l, site, thread};
use crate::sys::{OP_SECCOMP, SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use std::cell::RefCell;
use std::fs::OpenOptions;
use std::rc::Rc;

/// A thread in this code.
#[derive(Clone, Copy)]
pub(super) struct Errand {
    pub(super) tid: Tid,
    /// The stop at the site from which it was sent.
    info: SyscallInfo,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    /// It maps what the stub needs, and a page for jumps to it.
    SetUp { near: u64 },
    /// It overwrites the instruction by this one.
    Overwrite { jump: [u8; l::JUMP as usize] },
}

impl Errand {
    /// The instruction that is, or will be, overwritten.
    fn start(&self) -> u64 {
        site::start(&self.info)
    }
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
        thread::send(tid, room, start, near).map_err(|_| Refusal::Site)?;
        let patches = &mut self.tree.group(at).patches;
        patches.set_up = Some(room);
        patches.errand = Some(Errand { tid, info: *info, step: Step::SetUp { near } });
        Ok(())
    }

    /// Sends `tid` to write `jump` at its site, in one aligned word. To be called when all that it leads to is there.
    pub(super) fn begin_overwrite(
        &mut self,
        tid: Tid,
        at: usize,
        info: &SyscallInfo,
        jump: [u8; l::JUMP as usize],
    ) -> Result<(), Refusal> {
        let start = site::start(info);
        let address = start & !7;
        let mut word = [0; 8];
        if read_memory(tid, address, &mut word) < word.len() {
            return Err(Refusal::Site);
        }
        word[(start - address) as usize..][..jump.len()].copy_from_slice(&jump);
        let order = [address.to_ne_bytes(), word].concat();
        thread::write_code(tid, l::WORD_TO_WRITE, &order)
            .and_then(|()| thread::send(tid, labels::set_up(), start, 0))
            .map_err(|_| Refusal::Site)?;
        let errand = Errand { tid, info: *info, step: Step::Overwrite { jump } };
        self.tree.group(at).patches.errand = Some(errand);
        Ok(())
    }

    /// `tid` is stopped at a call that a stub could make: whether an errand in its process is over.
    pub(super) fn look_after_errand(&mut self, tid: Tid, at: usize) {
        let patches = &mut self.tree.group(at).patches;
        let Some(errand) = patches.errand else { return };
        if let Step::Overwrite { jump } = errand.step {
            let mut there = [0; l::JUMP as usize];
            read_memory(tid, errand.start(), &mut there);
            if there == jump {
                patches.errand = None;
                patches.seen.insert(errand.start(), Seen::Patched(jump));
                return;
            }
        }
        if errand.tid == tid {
            // It came back, and it is not done.
            self.errand_failed(at);
        }
    }

    /// Whether `tid` is stopped because it asks, on an errand, for what the tracer has to do.
    pub(crate) fn asked(&mut self, tid: Tid, at: usize, info: &SyscallInfo) -> bool {
        let asks = self.patching.is_some()
            && info.op == OP_SECCOMP
            && (info.arch, info.nr()) == (AUDIT_ARCH_X86_64, libc::SYS_mmap as u64)
            && info.args()[..2] == [l::REGION, 0];
        if !asks {
            return false;
        }
        let errand = self.tree.group(at).patches.errand;
        let Some(errand) = errand.filter(|errand| errand.tid == tid) else { return false };
        let Step::SetUp { near } = errand.step else { return false };
        self.tree.group(at).patches.errand = None;
        match self.finish_set_up(tid, at, info.sp, near) {
            Ok(()) if self.tree.is_alone(at) => {
                if let Ok(Written::Now(jump)) = self.patch_site(tid, at, &errand.info) {
                    let seen = &mut self.tree.group(at).patches.seen;
                    seen.insert(errand.start(), Seen::Patched(jump));
                }
            }
            Ok(()) => {}
            Err(why) => self.refuse_process(at, why),
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
        let number = Saved::descriptor(tid, frame).ok_or(NO_TABLE)?;
        let file =
            OpenOptions::new().read(true).write(true).open(format!("/proc/{tid}/fd/{number}"));
        let file = file.and_then(|file| file.set_len(l::TABLE_BYTES as u64).map(|()| file));
        let table = Table::map(&file.map_err(|_| NO_TABLE)?, patching.ticks.of(within));
        let table = Rc::new(RefCell::new(table.map_err(|_| NO_TABLE)?));
        thread::write_code(tid, l::REGION, labels::code())
            .and_then(|()| thread::write_code(tid, labels::set_up(), labels::set_up_code()))
            .and_then(|()| thread::say_yes(tid))
            .map_err(|_| super::WRITTEN)?;
        patching.tables.push(table.clone());
        self.tree.group(at).patches.room = Some(Room { table, sites: Vec::new(), near });
        self.switch(at);
        Ok(())
    }

    fn errand_failed(&mut self, at: usize) {
        const FAILED: &str = "it may not map code or create a file in memory, or the address that needless uses is taken";
        let Some(errand) = self.tree.group(at).patches.errand.take() else { return };
        match errand.step {
            Step::SetUp { .. } => self.refuse_process(at, FAILED),
            Step::Overwrite { .. } => {
                self.tree.group(at).patches.seen.insert(errand.start(), Seen::Refused);
            }
        }
    }

    /// `tid` is stopped for a signal: if it is in the code of `set_up.rs`, moves it to its site, unless signals wait
    /// there. Returns the signal to deliver, if it was in that code.
    pub(super) fn out_of_set_up(
        &mut self,
        tid: Tid,
        at: usize,
        registers: &mut libc::user_regs_struct,
        signal: i32,
    ) -> Option<i32> {
        let patches = &self.tree.group(at).patches;
        let beside_stub = patches.room.as_ref().map(|_| labels::set_up());
        let length = labels::set_up_code().len() as u64;
        let mut bases = [patches.set_up, beside_stub].into_iter().flatten();
        let offset = bases
            .find_map(|base| registers.rip.checked_sub(base).filter(|offset| *offset < length))?;
        let errand = patches.errand.filter(|errand| errand.tid == tid);
        let place = labels::set_up_place(offset);
        if place == SetUpPlace::Blocked {
            return Some(signal);
        }
        Saved::restore(tid, place, registers);
        // Fails if it was killed.
        let _ = thread::set_registers(tid, registers);
        let is_fault = matches!(signal, libc::SIGSEGV | libc::SIGBUS) && thread::is_fault(tid);
        let has_begun = matches!(place, SetUpPlace::Unblocked | SetUpPlace::Restored);
        if let Some(errand) = errand {
            if has_begun || is_fault {
                self.look_after_errand(tid, at);
            } else {
                // Nothing was done: the next stop at the site is as good.
                let patches = &mut self.tree.group(at).patches;
                patches.errand = None;
                patches.seen.insert(errand.start(), Seen::Stopped(0));
            }
        }
        Some(if is_fault { 0 } else { signal })
    }
}
