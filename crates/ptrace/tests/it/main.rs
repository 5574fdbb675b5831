//! The tests of this crate that see it from outside: one program, so that what they share is compiled once. What holds
//! where each call stops has to hold where call sites are patched.

mod patched;
mod stopped;
