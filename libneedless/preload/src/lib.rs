//! `libneedless_localtime.so`: glibc's time functions without glibc's system calls.
//!
//! Loaded by `LD_PRELOAD`, it answers `localtime`, `mktime` and their variants from immutable zones of
//! `needless-localtime`. While `TZ` is unset, glibc checks `/etc/localtime` at each conversion; this library checks it
//! at most once per second. Functions that make no system call, such as most of strftime, stay the C library's own.
//!
//! **Invariants.**
//!
//! * A published zone never changes and is never freed. Their number is bounded; for others the C library answers.
//! * A conversion normally takes no lock, allocates nothing and makes no system call.
//! * A system call is made only in functions in which glibc makes one, and only one that glibc makes there; the one
//!   exception is in libc_sync.rs. No file stays open.
//! * Only when a zone is seen for the first time, the C library is made to read it, too, with its lock.
//! * What this library does not do itself, it leaves to the next object that defines the function; to the C library,
//!   if this library was loaded by dlopen. In a process whose C library is not glibc it leaves everything to it.
//!   A function that no other object defines fails with ENOSYS.
//!
//! With `NEEDLESS_PRELOAD_ONCE=1` in the environment, this library removes itself from `LD_PRELOAD`, and the variable
//! from the environment, once it is loaded: child processes run without it.
//!
//! CachedZone limit: on ppc64le `syslog` is the C library's own, which keeps the zone of its first use.
#![no_std]

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "powerpc64", target_endian = "little")
)))]
compile_error!(
    "libneedless_localtime.so knows the system calls of x86-64, aarch64 and ppc64le only; build the others with --package needless"
);

extern crate alloc;

// What `between_threads` is made of; its models have loom's.
use core::sync::atomic;

mod between_threads;
mod clock;
mod convert;
mod current;
mod elf;
mod environ;
mod fields;
mod imports;
mod libc_sync;
#[cfg_attr(
    not(panic = "abort"),
    allow(dead_code, reason = "its allocator is the shared library's only")
)]
mod memory;
mod once;
mod strftime;
mod thread;
mod zone_file;
mod zones;

pub use convert::*;
pub use imports::Tm;
pub use libc_sync::*;
pub use strftime::{__strftime_l, strftime, strftime_l, wcsftime, wcsftime_l};

/// Without the standard library a failed assertion can only end the process.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    imports::abort()
}

// `core` and `alloc` are compiled for unwinding and may refer to the personality routine, which is never called.
// The symbols are hidden: exported ones would be found by the program's own C++ or Rust code when it unwinds.
#[cfg(panic = "abort")]
core::arch::global_asm!(
    ".pushsection .text.needless_unwind,\"ax\"",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    ".globl _Unwind_Resume",
    ".hidden _Unwind_Resume",
    "_Unwind_Resume:",
    ".8byte 0",
    ".popsection",
);
