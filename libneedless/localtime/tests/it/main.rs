//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod any_bytes;
mod local_time_type;
mod max_allocation;
mod oracle;
mod peers;
