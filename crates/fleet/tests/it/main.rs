//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod flushed;
mod killed;
mod schema;
mod sums;
