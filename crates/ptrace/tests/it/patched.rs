//! With call sites that count themselves from their first call on.
#![allow(clippy::duplicate_mod, reason = "the same tests as in `stopped`")]

pub(crate) const PATCHED: bool = true;

#[path = "clone_and_seccomp.rs"]
mod clone_and_seccomp;
#[path = "common.rs"]
mod common;
#[path = "conformance.rs"]
mod conformance;
#[path = "killed_children.rs"]
mod killed_children;
#[path = "killed_together.rs"]
mod killed_together;
#[path = "processes.rs"]
mod processes;
#[path = "signals.rs"]
mod signals;
#[path = "transparency.rs"]
mod transparency;
