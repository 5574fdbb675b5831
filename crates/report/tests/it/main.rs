//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod markdown;
mod proofs;
mod reports;
mod rules;
mod samples;
mod schema;
mod shown;
mod stacks;
mod windows;
