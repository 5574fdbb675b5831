//! Chooses a backend, launches, looks up the host facts and call sites.

mod assigned;
mod count;
mod decode;
mod doctor;
mod elevate;
mod enrich;
mod kernel;
mod locale;
mod module;
mod now;
mod preload;
mod rights;
mod run;
mod sites;
mod unwind;
mod window;

pub use count::count_command;
pub use doctor::{Check, State, doctor};
pub use elevate::elevate;
pub use enrich::enrich;
pub use locale::probe;
pub use needless_launch::{Behind, Caller, behind, survive_file_size_limit};
pub use now::Now;
pub use preload::{preload, preload_library, preloaded};
pub use rights::{Rights, without_capabilities};
pub use run::{Backend, Captured, Failure, ObserveOptions, count, launch, run};
pub use sites::resolve;
pub use window::{Who, window};
