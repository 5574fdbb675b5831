//! `libneedless_localtime.so`: glibc's time functions without glibc's system calls.
//!
//! Loaded through `LD_PRELOAD`, it answers `localtime`, `mktime` and their kin from immutable zones of
//! `needless-localtime`. Where glibc asks the kernel for `/etc/localtime` at each conversion while `TZ` is unset,
//! this asks once in a second in which such conversions happen. What asks the kernel nothing, as most of strftime, is
//! the C library's own.
//!
//! **Invariants.** A zone, once published, never changes and is never freed; how many there may be is
//! bounded, and the C library answers for the others. The paths taken per conversion take no lock, allocate
//! nothing and make no system call. A system call is made only in functions in which glibc makes one, and only
//! one that glibc makes there; the one exception is in step.rs. Only when a zone is seen for the first time is the
//! C library made to look, too, with its lock. No file stays open. What this library does not do itself it hands to
//! the next object that defines the function (loaded by dlopen, to the C library); in a process whose C library is
//! not glibc it hands over everything. A function that no other object has fails with ENOSYS.
//!
//! `NEEDLESS_PRELOAD_ONCE=1` in the environment takes this library out of `LD_PRELOAD`, and itself out of
//! the environment, once it is loaded: children do without.
//!
//! Known limits: on aarch64 glibc 2.36 refuses to load it by dlopen ("cannot allocate memory in static TLS block");
//! on ppc64le `syslog` is the C library's own, which sees the zone of its first use.
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

mod clock;
mod convert;
mod elf;
mod environment;
mod file;
mod format;
mod gate;
mod imports;
mod libc_sync;
#[cfg_attr(
    not(panic = "abort"),
    allow(dead_code, reason = "its allocator is the shared library's only")
)]
mod memory;
mod once;
mod thread;
mod zones;

pub use convert::*;
pub use format::{__strftime_l, strftime, strftime_l, wcsftime, wcsftime_l};
pub use imports::Tm;
pub use libc_sync::*;

/// Where the standard library is absent, a failed assertion can only end the process.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    imports::abort()
}

// `core` and `alloc` come compiled for unwinding and may name the personality routine; nothing ever
// calls it. Hidden: exported, it would take part in the unwinding of the program's own C++ or Rust.
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
