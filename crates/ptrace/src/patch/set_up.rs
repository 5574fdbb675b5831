//! The code that the thread of a process runs to prepare it: it maps what the stub needs.
//!
//! One change of registers sends a thread here from the entry of a call, before anything was done in its memory but to
//! write this code where nothing is. From there on nothing depends on the tracer: the thread keeps its registers and
//! its signal mask itself, asks the tracer by a call that does no harm without one, takes back what it did unless the
//! tracer says yes, and goes to its call. So the tracer may be killed at any moment.
//!
//! The code runs wherever it is. Signals are blocked in it, but for its first and last instructions, from which a
//! thread is moved to its site before it gets one (`errand.rs`).
//!
//! A tracer that makes these calls itself, one by one with changed registers, leaves the process with them when it is
//! killed in between. `tests/it/killed.rs` kills it at random calls of its own.

use super::layout as l;
use crate::memory::read_u64;
use crate::sys::Tid;
use std::arch::global_asm;

/// In the frame of this code: the file's descriptor, its name, the signal mask that was and one of all signals, and the
/// page for jumps, which is among the saved registers.
const FILE: u64 = 0;
const NAME: u64 = 8;
const MASK: u64 = 24;
const ALL: u64 = 32;
const NEAR: u64 = 88;

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
    ".globl needless_set_up_start, needless_set_up_blocked, needless_set_up_unblocked, needless_set_up_end",
    // r11: the site; rcx: a free page near it. The others are the site's; rax: its call's number.
    "needless_set_up_start:",
    "lea rsp, [rsp - {RED_ZONE}]",
    "push rax",
    "push r11",
    "push rcx",
    "push rdi",
    "push rsi",
    "push rdx",
    "push r10",
    "push r8",
    "push r9",
    "push -1",
    "sub rsp, {ALL}",
    "mov eax, {MASKS}",
    "mov edi, {SET}",
    "lea rsi, [rsp + {ALL}]",
    "lea rdx, [rsp + {MASK}]",
    "mov r10d, 8",
    "syscall",
    "needless_set_up_blocked:",
    "test rax, rax",
    "jnz needless_set_up_unblocked",
    "movabs rax, {CALLED}",
    "mov [rsp + {NAME}], rax",
    "mov qword ptr [rsp + {NAME} + 8], 0",
    "lea rdi, [rsp + {NAME}]",
    "mov esi, {MEMFD_FLAGS}",
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
    "mov r10d, {FIXED}",
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
    "9: mov eax, {MASKS}",
    "mov edi, {SET}",
    "lea rsi, [rsp + {MASK}]",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "needless_set_up_unblocked:",
    "add rsp, {ALL} + 8",
    "pop r9",
    "pop r8",
    "pop r10",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rcx",
    "pop r11",
    "pop rax",
    "lea rsp, [rsp + {RED_ZONE}]",
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
    SET = const libc::SIG_SETMASK,
    MEMFD_FLAGS = const libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
    CALLED = const u64::from_le_bytes(*b"needless"),
    READ_WRITE = const libc::PROT_READ | libc::PROT_WRITE,
    READ_EXECUTE = const libc::PROT_READ | libc::PROT_EXEC,
    PRIVATE = const PRIVATE,
    SHARED = const SHARED,
    FIXED = const libc::MAP_FIXED,
    YES = const YES,
    RED_ZONE = const l::RED_ZONE,
    NEAR = const NEAR,
    ALL = const ALL,
    MASK = const MASK,
    NAME = const NAME,
    FILE = const FILE,
);

/// The descriptor of the file that a thread in this code has created, whose frame is at `frame`.
pub(super) fn descriptor(tid: Tid, frame: u64) -> Option<i32> {
    read_u64(tid, frame + FILE).and_then(|number| i32::try_from(number).ok())
}
