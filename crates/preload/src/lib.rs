//! `libneedless_localtime.so`: glibc's time functions without glibc's system calls.
//!
//! Loaded through `LD_PRELOAD`, it answers `localtime`, `mktime`, `strftime` and their kin from
//! immutable zones of `needless-localtime`. Where glibc asks the kernel for `/etc/localtime` at each
//! conversion while `TZ` is unset, this asks once in a second in which conversions happen.
//!
//! **Invariants.** No lock is taken: a zone, once published, never changes and is never freed. The
//! paths taken per conversion neither allocate nor make a system call. No file stays open. What this
//! library does not do itself it hands to the next object that defines the function; in a process
//! whose C library is not glibc it hands over everything.
//!
//! `NEEDLESS_PRELOAD_ONCE=1` in the environment takes this library out of `LD_PRELOAD`, and itself out of
//! the environment, once it is loaded: children do without.
//!
//! Known limit: on ppc64le `syslog` is the C library's own, which sees the zone of its first use.
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
mod conversions;
mod convert;
mod elf;
mod environment;
mod file;
mod flags;
mod format;
mod gate;
mod getdate;
mod handed;
mod imports;
#[cfg(panic = "abort")]
mod memory;
mod numbers;
mod once;
mod step;
mod text;
mod thread;
mod words;
mod zones;

pub use convert::*;
pub use format::{__strftime_l, strftime, strftime_l, wcsftime, wcsftime_l};
pub use getdate::{getdate, getdate_r};
pub use imports::Tm;
pub use step::*;
pub use text::{asctime, asctime_r, ctime, ctime_r};

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
