//! All tests of this backend once more, with call sites that count themselves from their first call on.
#![allow(clippy::duplicate_mod, reason = "each of these files has its module `common`")]

#[path = "clone_and_seccomp.rs"]
mod clone_and_seccomp;
#[path = "conformance.rs"]
mod conformance;
#[path = "processes.rs"]
mod processes;
#[path = "signals.rs"]
mod signals;
#[path = "transparency.rs"]
mod transparency;
