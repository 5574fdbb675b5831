//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

#[path = "../../../../fuzz/check_place.rs"]
mod check_place;
mod ci;
mod common;
mod elsewhere;
mod flushed;
mod formats;
mod journal;
mod readers;
mod schemas;
mod secrets;
mod shell_reach;
mod yaml;
