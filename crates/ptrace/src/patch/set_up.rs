//! The code that a thread runs to prepare its own process: it maps what the stub needs; or it overwrites an instruction
//! that other threads may be executing, by one write of an aligned word, which the tracer cannot do.
//!
//! One change of registers sends a thread here from the entry of a call, before anything was done in its memory but to
//! write this code where nothing is. From there on nothing depends on the tracer: the thread keeps its registers and
//! its signal mask itself, asks the tracer by a call that does no harm without one, takes back what it did unless the
//! tracer says yes, and goes to its call. So the tracer may be killed at any moment.
//!
//! The code runs wherever it is. Signals are blocked in it, but for its first and last instructions, from which a
//! thread is moved to its site before it gets one (`leave.rs`).

use super::labels::SetUpPlace;
use super::layout as l;
use crate::memory::read_u64;
use crate::sys::Tid;
use std::arch::global_asm;

/// In a frame of this code.
const RAX: u64 = 0;
const SITE: u64 = 8;
const NEAR: u64 = 16;
const RDI: u64 = 24;
const RSI: u64 = 32;
const RDX: u64 = 40;
const R10: u64 = 48;
const R8: u64 = 56;
const R9: u64 = 64;
const ALL: u64 = 72;
const MASK: u64 = 80;
const NAME: u64 = 88;
/// The file's descriptor.
const FILE: u64 = 104;
const DOWN: u64 = l::RED_ZONE + 112;

/// With this result of the call that asks the tracer, the thread goes on.
pub(super) const YES: u64 = 1;

const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
const SHARED: i32 = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;

global_asm!(
    ".macro needless_map",
    "mov eax, {MMAP}",
    "syscall",
    "cmp rax, rdi",
    ".endm",
    ".macro needless_unmap length",
    "mov esi, \\length",
    "mov eax, {MUNMAP}",
    "syscall",
    ".endm",
    ".pushsection .rodata.needless_set_up,\"a\",@progbits",
    ".balign 16",
    ".globl needless_set_up_start, needless_set_up_down, needless_set_up_saved, needless_set_up_blocked",
    ".globl needless_set_up_unblocked, needless_set_up_restored, needless_set_up_end",
    // r11: the site; rcx: a free page near it, or 0: to overwrite. The others are the site's; rax: its call's number.
    "needless_set_up_start:",
    "lea rsp, [rsp - {DOWN}]",
    "needless_set_up_down:",
    "mov [rsp + {RAX}], rax",
    "mov [rsp + {SITE}], r11",
    "mov [rsp + {NEAR}], rcx",
    "mov [rsp + {RDI}], rdi",
    "mov [rsp + {RSI}], rsi",
    "mov [rsp + {RDX}], rdx",
    "mov [rsp + {R10}], r10",
    "mov [rsp + {R8}], r8",
    "mov [rsp + {R9}], r9",
    "mov qword ptr [rsp + {ALL}], -1",
    "needless_set_up_saved:",
    "mov eax, {MASKS}",
    "mov edi, {SET}",
    "lea rsi, [rsp + {ALL}]",
    "lea rdx, [rsp + {MASK}]",
    "mov r10d, 8",
    "syscall",
    "needless_set_up_blocked:",
    "test rax, rax",
    "jnz needless_set_up_unblocked",
    "cmp qword ptr [rsp + {NEAR}], 0",
    "je 5f",
    "movabs rax, {CALLED}",
    "mov [rsp + {NAME}], rax",
    "mov qword ptr [rsp + {NAME} + 8], 0",
    "lea rdi, [rsp + {NAME}]",
    "mov esi, {CLOEXEC}",
    "mov eax, {MEMFD}",
    "syscall",
    "mov [rsp + {FILE}], rax",
    "test rax, rax",
    "js 9f",
    "movabs rdi, {REGION}",
    "mov esi, {CODE}",
    "mov edx, {READ_EXECUTE}",
    "mov r10d, {PRIVATE}",
    "mov r8, -1",
    "xor r9d, r9d",
    "needless_map",
    "jne 8f",
    "movabs rdi, {CONTROL}",
    "mov esi, 4096",
    "mov edx, {READ_WRITE}",
    "needless_map",
    "jne 4f",
    "mov rdi, [rsp + {NEAR}]",
    "mov edx, {READ_EXECUTE}",
    "needless_map",
    "jne 3f",
    "movabs rdi, {TABLE}",
    "mov esi, {TABLE_BYTES}",
    "mov edx, {READ_WRITE}",
    "mov r10d, {SHARED}",
    "mov r8, [rsp + {FILE}]",
    "needless_map",
    "jne 2f",
    // A mapping of no bytes: it stops for its address, and without a tracer it fails.
    "movabs rdi, {REGION}",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "mov eax, {MMAP}",
    "syscall",
    "cmp rax, {YES}",
    "je 8f",
    "movabs rdi, {TABLE}",
    "needless_unmap {TABLE_BYTES}",
    "2: mov rdi, [rsp + {NEAR}]",
    "needless_unmap 4096",
    "3: movabs rdi, {CONTROL}",
    "needless_unmap 4096",
    "4: movabs rdi, {REGION}",
    "needless_unmap {CODE}",
    "8: mov rdi, [rsp + {FILE}]",
    "mov eax, {CLOSE}",
    "syscall",
    "jmp 9f",
    "5: movabs r8, {WORD}",
    "mov rdi, [r8]",
    "and rdi, -4096",
    "mov esi, 4096",
    "mov edx, {ALL_ACCESS}",
    "mov eax, {MPROTECT}",
    "syscall",
    "test rax, rax",
    "jnz 9f",
    // One write, of an aligned word.
    "mov rdx, [r8]",
    "mov rcx, [r8 + 8]",
    "mov [rdx], rcx",
    "mov edx, {READ_EXECUTE}",
    "mov eax, {MPROTECT}",
    "syscall",
    "9: mov eax, {MASKS}",
    "mov edi, {SET}",
    "lea rsi, [rsp + {MASK}]",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "needless_set_up_unblocked:",
    "mov rdi, [rsp + {RDI}]",
    "mov rsi, [rsp + {RSI}]",
    "mov rdx, [rsp + {RDX}]",
    "mov r10, [rsp + {R10}]",
    "mov r8, [rsp + {R8}]",
    "mov r9, [rsp + {R9}]",
    "mov rax, [rsp + {RAX}]",
    "mov r11, [rsp + {SITE}]",
    "lea rsp, [rsp + {DOWN}]",
    "needless_set_up_restored:",
    "jmp r11",
    "needless_set_up_end:",
    ".popsection",
    REGION = const l::REGION,
    CODE = const l::CODE,
    CONTROL = const l::CONTROL,
    TABLE = const l::TABLE,
    TABLE_BYTES = const l::TABLE_BYTES,
    MMAP = const libc::SYS_mmap,
    MUNMAP = const libc::SYS_munmap,
    MASKS = const libc::SYS_rt_sigprocmask,
    MEMFD = const libc::SYS_memfd_create,
    CLOSE = const libc::SYS_close,
    MPROTECT = const libc::SYS_mprotect,
    ALL_ACCESS = const libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
    WORD = const l::WORD_TO_WRITE,
    SET = const libc::SIG_SETMASK,
    CLOEXEC = const libc::MFD_CLOEXEC,
    CALLED = const u64::from_le_bytes(*b"needless"),
    READ_WRITE = const libc::PROT_READ | libc::PROT_WRITE,
    READ_EXECUTE = const libc::PROT_READ | libc::PROT_EXEC,
    PRIVATE = const PRIVATE | l::OURS,
    SHARED = const SHARED | l::OURS,
    YES = const YES,
    DOWN = const DOWN,
    RAX = const RAX,
    SITE = const SITE,
    NEAR = const NEAR,
    RDI = const RDI,
    RSI = const RSI,
    RDX = const RDX,
    R10 = const R10,
    R8 = const R8,
    R9 = const R9,
    ALL = const ALL,
    MASK = const MASK,
    NAME = const NAME,
    FILE = const FILE,
);

/// The frame of a thread in this code.
pub(super) struct Saved;

impl Saved {
    /// The descriptor of the file that it has created.
    pub(super) fn descriptor(tid: Tid, frame: u64) -> Option<i32> {
        read_u64(tid, frame + FILE).and_then(|number| i32::try_from(number).ok())
    }

    /// Changes the registers of a thread at `place` to those that it had at its site.
    pub(super) fn restore(tid: Tid, place: SetUpPlace, registers: &mut libc::user_regs_struct) {
        if matches!(place, SetUpPlace::Saved | SetUpPlace::Blocked | SetUpPlace::Unblocked) {
            // All of it can be read: the thread wrote it.
            let word = |offset| read_u64(tid, registers.rsp + offset).unwrap_or(0);
            let [rax, site, rdi, rsi, rdx, r10, r8, r9] =
                [RAX, SITE, RDI, RSI, RDX, R10, R8, R9].map(word);
            (registers.rax, registers.r11, registers.rdi, registers.rsi) = (rax, site, rdi, rsi);
            (registers.rdx, registers.r10, registers.r8, registers.r9) = (rdx, r10, r8, r9);
        }
        if !matches!(place, SetUpPlace::Before | SetUpPlace::Restored) {
            registers.rsp += DOWN;
        }
        registers.rip = registers.r11;
        // No call is to be restarted.
        registers.orig_rax = u64::MAX;
    }
}
