//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod calls;
mod common;
mod cpython;
mod daemons;
mod environment;
mod oracle;
mod rights;
mod same;
