//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod any_bytes;
mod peers;
mod ranges;
mod zones;
