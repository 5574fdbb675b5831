//! The time engine: what glibc's `localtime`, `gmtime`, `mktime` and `timegm` answer, from immutable
//! zones, without a system call, a lock or an allocation per conversion.
//!
//! A [`Zone`] is made once from the bytes of a TZif file (RFC 9636, `tzfile(5)`) or from a TZ string
//! (POSIX.1-2024 base definitions clause 8.3, `tzset(3)`); afterwards it answers from tables. The answers
//! are glibc 2.36's, its oddities included. They were found by calling it, and `tests/it/oracle.rs` compares them
//! again. No input makes it panic.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod civil;
mod local_time_type;
mod mktime;
mod posix;
mod posixrules;
mod transitions;
mod tzif;
mod yearly_rules;
mod zone;

pub use civil::{Civil, clock, day_and_second, day_of, gmtime, overflow_fields, timegm};
pub use local_time_type::LocalTimeType;
pub use mktime::LocalMoment;
pub use posix::{PosixTz, posix_tz};
pub use tzif::Malformed;
pub use zone::{Globals, Local, Zone};
