//! The code that the thread of a process runs to prepare it: it maps what the stub needs.
//!
//! One change of registers sends a thread here from the entry of a call, before anything was done in its memory but to
//! write this code where nothing is, and a frame below its stack. The call becomes one that blocks all signals, and
//! returns here. From there on nothing depends on the tracer: the thread's registers and signal mask are in its frame, it
//! asks the tracer by a call that does no harm without one, and goes to its call. So the tracer may be killed at any
//! moment: then some pages stay mapped that nobody uses.
//!
//! The code runs wherever it is. Signals are blocked in it, but for its last instructions, from which a thread is moved to
//! its site before it gets one (`out_of_set_up`).

use super::layout::*;
use super::table::Table;
use super::{AUDIT_ARCH_X86_64, Room, labels, site};
use crate::memory::{read_u64, write, write_allowed};
use crate::sys::{SyscallInfo, Tid, read_memory};
use crate::tracer::Tracer;
use libc::{
    MAP_FIXED, SIG_SETMASK, SYS_close, SYS_memfd_create, SYS_mmap, SYS_rt_sigprocmask,
    user_regs_struct,
};
use needless_host::CodeMap;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::ptrace::{getregs, setregs};
use nix::unistd::Pid;
use std::fs::{File, OpenOptions};

/// A frame of this code, 64 bits each: the signal mask that was; one of all signals, then the file's descriptor; the
/// file's name; a free page for the code of sites, or 0 if all but the table is there; registers, of which the last is the
/// site.
const WORDS: usize = 13;
const MASK: usize = 0;
const FILE: usize = 8;
const NAME: usize = 16;
const NEAR_PAGE: usize = 32;
const REGISTERS: usize = 40;

const FREE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | MAP_FIXED;
const SHARED: i32 = libc::MAP_SHARED | MAP_FIXED;
const MEMFD_FLAGS: u32 = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const READ_EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;

assemble!(
    REGION REGION_BYTES CONTROL TABLE TABLE_BYTES RED_ZONE SYS_mmap SYS_memfd_create SYS_close SYS_rt_sigprocmask SIG_SETMASK
    MAP_FIXED FREE PRIVATE SHARED MEMFD_FLAGS READ_WRITE READ_EXECUTE MASK FILE NAME NEAR_PAGE REGISTERS;
    ".macro needless_map",
    "mov eax, {SYS_mmap}",
    "syscall",
    "cmp rax, rdi",
    "jne 9f",
    ".endm",
    ".pushsection .rodata.needless_set_up,\"a\",@progbits",
    ".balign 16",
    ".globl needless_set_up_start, needless_set_up_unblocked, needless_set_up_end",
    "needless_set_up_start:",
    "mov rdi, [rsp + {NEAR_PAGE}]",
    "test rdi, rdi",
    "jz 2f",
    "mov esi, 4096",
    "mov edx, {READ_EXECUTE}",
    "mov r10d, {FREE}",
    "mov r8, -1",
    "xor r9d, r9d",
    "needless_map",
    "movabs rdi, {REGION}",
    "mov esi, {REGION_BYTES}",
    "needless_map",
    "movabs rdi, {CONTROL}",
    "mov esi, 4096",
    "mov edx, {READ_WRITE}",
    "mov r10d, {PRIVATE}",
    "needless_map",
    "2: lea rdi, [rsp + {NAME}]",
    "mov esi, {MEMFD_FLAGS}",
    "mov eax, {SYS_memfd_create}",
    "syscall",
    "mov [rsp + {FILE}], rax",
    // Fails if that did.
    "mov r8, rax",
    "movabs rdi, {TABLE}",
    "mov esi, {TABLE_BYTES}",
    "mov edx, {READ_WRITE}",
    "mov r10d, {SHARED}",
    "xor r9d, r9d",
    "needless_map",
    // Asks, by a mapping of no bytes: it stops for its address, and without a tracer it fails. r9: 0 if all is there.
    "9: mov r9, rax",
    "sub r9, rdi",
    "movabs rdi, {REGION}",
    "xor esi, esi",
    "mov r10d, {MAP_FIXED}",
    "mov eax, {SYS_mmap}",
    "syscall",
    "mov rdi, [rsp + {FILE}]",
    "mov eax, {SYS_close}",
    "syscall",
    "mov edi, {SIG_SETMASK}",
    "lea rsi, [rsp + {MASK}]",
    "xor edx, edx",
    "mov r10d, 8",
    "mov eax, {SYS_rt_sigprocmask}",
    "syscall",
    "needless_set_up_unblocked:",
    "add rsp, {REGISTERS}",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop r10",
    "pop r8",
    "pop r9",
    "pop rax",
    "pop r11",
    "lea rsp, [rsp + {RED_ZONE}]",
    "jmp r11",
    "needless_set_up_end:",
    ".popsection",
);

/// Sends a thread that is stopped at the entry of a call to this code, which is at `code`; the call is not made. `near`:
/// as in the frame. Returns the registers that it then has at `start`, its site; `None`: there is no room on its stack,
/// it steps itself (the kernel ends who blocks the signals that come of that), or it was killed.
fn send(tid: Tid, code: u64, start: u64, near: u64) -> Option<user_regs_struct> {
    const TRAP_FLAG: u64 = 1 << 8;
    let mut registers = getregs(Pid::from_raw(tid)).ok()?;
    if registers.eflags & TRAP_FLAG != 0 {
        return None;
    }
    registers.rax = registers.orig_rax;
    let user_regs_struct { rdi, rsi, rdx, r10, r8, r9, rax, rsp, .. } = registers;
    let called = u64::from_le_bytes(*b"needless");
    let frame: [u64; WORDS] =
        [0, u64::MAX, called, 0, near, rdi, rsi, rdx, r10, r8, r9, rax, start];
    let bytes = frame.map(u64::to_ne_bytes);
    let at = rsp.checked_sub(RED_ZONE + size_of_val(&frame) as u64)?;
    write_allowed(tid, at, bytes.as_flattened()).ok()?;
    let block = user_regs_struct {
        rip: code,
        rsp: at,
        orig_rax: SYS_rt_sigprocmask as u64,
        rdi: SIG_SETMASK as u64,
        rsi: at + FILE as u64,
        rdx: at + MASK as u64,
        r10: 8,
        ..registers
    };
    setregs(Pid::from_raw(tid), block).ok()?;
    // No call is to be restarted.
    (registers.orig_rax, registers.rip) = (u64::MAX, start);
    Some(registers)
}

/// A thread in this code.
pub(super) struct Errand {
    /// The stop at the site from which it was sent.
    info: SyscallInfo,
    /// Where the code is.
    code: u64,
    /// Its registers at the start of that site.
    registers: user_regs_struct,
}

impl Tracer<'_> {
    /// Sends `tid`, which is stopped at the entry of a call, to prepare its process, and returns `true`.
    pub(super) fn begin_set_up(
        &mut self,
        tid: Tid,
        at: usize,
        info: &SyscallInfo,
        map: &CodeMap,
    ) -> Option<bool> {
        let patches = &mut self.tree.group(at).patches;
        let start = site::start(info);
        let near = match &patches.room {
            Some(_) => 0,
            None => site::page_near(start)?,
        };
        let (bytes, _) = labels::set_up();
        let read = |address, into: &mut [u8]| read_memory(tid, address, into);
        let code = map.after_code(bytes, read)?;
        write(tid, code, bytes).ok()?;
        let registers = send(tid, code, start, near)?;
        patches.errand = Some(Errand { info: *info, code, registers });
        Some(true)
    }

    /// Whether `tid` is stopped because it asks, on an errand, for what the tracer has to do.
    pub(super) fn asked(&mut self, tid: Tid, at: usize, entry: &SyscallInfo) -> bool {
        const TAKEN: &str = "it may not map code or create a file in memory, or the addresses that needless uses are taken";
        let asks = (entry.arch, entry.nr()) == (AUDIT_ARCH_X86_64, SYS_mmap as u64)
            && entry.args()[..2] == [REGION, 0];
        let patches = &self.tree.group(at).patches;
        let Some(errand) = patches.errand.as_ref().filter(|_| asks && patches.is_on_errand())
        else {
            return false;
        };
        let (info, is_mapped) = (errand.info, entry.args()[5] == 0);
        let done = if is_mapped { self.finish_set_up(tid, at, entry.sp, &info) } else { None };
        match done {
            // Unless its instruction is overwritten already, as in a child.
            Some(()) => _ = self.patch_hot(tid, at, &info),
            None => self.take_back(tid, at, Some(TAKEN)),
        }
        true
    }

    /// The process has mapped what the stub needs: writes it.
    fn finish_set_up(&mut self, tid: Tid, at: usize, frame: u64, info: &SyscallInfo) -> Option<()> {
        let patching = self.patching.as_mut()?;
        let number = read_u64(tid, frame + FILE as u64)?;
        let path = format!("/proc/{tid}/fd/{number}");
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        seal(&file)?;
        let within = patching.clock.now().ticks_of(self.options.limits.repeat_within_ns);
        let table = Table::map(&file, within).ok()?;
        let patches = &mut self.tree.group(at).patches;
        if patches.room.is_none() {
            let near = site::page_near(site::start(info))?;
            write(tid, REGION, labels::code()).ok()?;
            patches.room = Some(Room { sites: Vec::new(), near });
        }
        patches.has_table = true;
        patching.tables.push((at, table));
        write_allowed(tid, CONTROL, &[1]).ok()?;
        Some(())
    }

    /// `tid` is stopped for a signal: where that is not blocked in the code of `set_up.rs`, moves it to its site.
    pub(super) fn out_of_set_up(&mut self, tid: Tid, at: usize) {
        let Some(errand) = &self.tree.group(at).patches.errand else { return };
        let (code, blocked) = labels::set_up();
        // Where it was may be another library by now.
        let mut there = vec![0; code.len()];
        read_memory(tid, errand.code, &mut there);
        let unblocked = errand.code + blocked..errand.code + code.len() as u64;
        if there == code
            && getregs(Pid::from_raw(tid)).is_ok_and(|now| unblocked.contains(&now.rip))
        {
            // Fails if it was killed.
            let _ = setregs(Pid::from_raw(tid), errand.registers);
        }
    }
}

/// Gives the file its size, which nobody can change any more: to read beyond its end would end the tracer.
fn seal(file: &File) -> Option<()> {
    file.set_len(TABLE_BYTES as u64).ok()?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(file, FcntlArg::F_ADD_SEALS(seals)).ok()?;
    (file.metadata().ok()?.len() == TABLE_BYTES as u64).then_some(())
}
