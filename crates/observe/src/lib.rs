//! Observes a command or what runs already: chooses the backend, starts the command, then looks up call sites and
//! facts of the host.

mod assigned;
mod bytecode;
mod count;
mod decode;
mod directories;
mod doctor;
mod elevate;
mod enrich;
mod kernel;
mod live_facts;
mod locale_probe;
mod module;
mod preload;
mod relative;
mod rights;
mod run;
mod sites;
mod unwind;
mod window;
mod windows;

pub use count::count_command;
pub use doctor::{CheckState, HostCheck, doctor};
pub use elevate::elevate;
pub use enrich::enrich;
pub use live_facts::LiveFacts;
pub use locale_probe::probe;
/// The version of libbpf that counts in the kernel; `None` in a build without eBPF.
pub use needless_ebpf::LIBBPF;
pub use needless_launch::{
    Asked, Behind, Caller, behind, exit_like, keep_inherited, note_inherited, return_free_memory,
    survive_file_size_limit, was_closed,
};
pub use preload::{preload, preload_library, preloaded};
pub use rights::{Rights, without_capabilities};
pub use run::{BackendChoice, Captured, Failure, ObserveOptions, count, launch, run};
pub use sites::resolve;
pub use window::{Observation, Who, window};
pub use windows::Windows;
