//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod files;
mod manual;
