//! Chooses a backend, launches, looks up the host facts and call sites.

mod ancestry;
mod assigned;
mod costs;
mod count;
mod decode;
mod doctor;
mod elevate;
mod enrich;
mod image;
mod kernel;
mod live;
mod locale;
mod module;
mod now;
mod preload;
mod rights;
mod root;
mod run;
mod service;
mod sites;
mod tzif;
mod unwind;
mod window;
mod zone;

pub use ancestry::{Kin, ancestry, root_of, started, started_with};
pub use costs::calibrate;
pub use count::count_command;
pub use doctor::{Check, State, doctor};
pub use elevate::elevate;
pub use enrich::enrich;
pub use image::{fill, inspect};
pub use locale::probe;
pub use needless_launch::{Behind, Caller, behind, survive_file_size_limit};
pub use now::Now;
pub use preload::{preload, preload_library, preloaded};
pub use rights::{Rights, without_capabilities};
pub use root::{Root, Roots};
pub use run::{Backend, Captured, Failure, Options, count, launch, run};
pub use service::{
    Cgroups, Service, ServiceKind, ask, cgroup_id, cgroup_mount, find_cgroup, find_container,
    find_unit, processes_of_cgroup, program,
};
pub use sites::resolve;
pub use tzif::{Stored, stored};
pub use window::{Who, window};
pub use zone::look_up;
