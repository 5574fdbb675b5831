//! The time engine: what glibc's `localtime`, `gmtime`, `mktime` and `timegm` answer, from immutable
//! zones, without a system call, a lock or an allocation per conversion.
//!
//! A [`Zone`] is made once from the bytes of a TZif file (RFC 9636, `tzfile(5)`) or the text of a
//! POSIX `TZ` (POSIX.1-2024 base definitions clause 8.3, `tzset(3)`); afterwards it answers from
//! tables. The answers are those of glibc 2.36, its oddities included; they were found by asking it,
//! and `tests/oracle.rs` asks it again. No input makes it panic.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod civil;
mod mktime;
mod posix;
mod posixrules;
mod regime;
mod spans;
mod tail;
mod tzif;
mod zone;

pub use civil::{Civil, beyond, day_and_second, day_of, gmtime, timegm};
pub use mktime::Found;
pub use regime::Regime;
pub use tzif::Malformed;
pub use zone::{Globals, Local, Zone};
