//! The tests of this crate that see it from outside: one program, so that what they share is compiled once.

mod bounds;
mod common;
mod corpus;
mod layouts;
mod live;
mod processes;
mod properties;
mod two_paths;
