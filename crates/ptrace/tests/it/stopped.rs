//! Where each call that is traced stops.

pub(crate) const PATCHED: bool = false;

#[path = "clone_and_seccomp.rs"]
mod clone_and_seccomp;
#[path = "common.rs"]
mod common;
#[path = "conformance.rs"]
mod conformance;
#[path = "killed.rs"]
mod killed;
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
#[path = "traps.rs"]
mod traps;
