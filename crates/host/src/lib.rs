//! Facts of the machine and of its processes, read from /proc, the file system and ELF files. No backend is needed for any
//! of them: every backend, and what edits configuration, asks here.

mod ancestry;
mod costs;
mod elf;
mod live;
mod modules;
mod process;
mod root;
mod service;
mod stack;
mod tzif;
mod zone;

pub use ancestry::{ProcInfo, ancestry, root_of, started, started_with};
pub use costs::calibrate;
pub use elf::{fill, inspect, why_preload_is_useless};
pub use modules::Files;
pub use process::{
    RootId, is_overwritten, look, open_root, privilege_withheld, watched, working_directory,
};
pub use root::{Root, Roots};
pub use service::{
    Cgroups, Service, ServiceKind, ask, cgroup_id, cgroup_mount, find_cgroup, find_container,
    find_unit, processes_of_cgroup, program,
};
pub use stack::{Module, Stack};
pub use tzif::{Stored, stored};
pub use zone::look_up;
