//! The tests of this crate: one program, so that what they share is compiled once.

mod boundary;
mod calls;
mod common;
mod cpython;
mod same;
