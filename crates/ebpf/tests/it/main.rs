//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod bounds;
mod common;
mod conformance;
mod processes;
mod repetition;
mod rights;
mod windows;
