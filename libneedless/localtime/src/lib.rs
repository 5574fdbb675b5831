//! Reads time zone files and values of `TZ` as glibc does: which local time type is in force at a moment, and for how
//! long.
//!
//! A [`Zone`] is made of the bytes of a TZif file (RFC 9636, `tzfile(5)`) or of a TZ string (POSIX.1-2024 base
//! definitions clause 8.3, `tzset(3)`). Strings with mistakes are read as glibc 2.36 reads them, which libraries for time
//! zones refuse. No input makes it panic.

mod civil;
mod posix;
mod tzif;
mod zone;

pub use civil::date;
pub use posix::{PosixTz, posix_tz};
pub use tzif::Malformed;
pub use zone::{LocalTimeType, Zone};
