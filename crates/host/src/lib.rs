//! Facts about the machine and its processes, read from /proc, the file system and ELF files. No backend is needed for
//! any of them: the backends ask here, and so does the crate that edits configuration.

mod ancestry;
mod call_costs;
mod code_map;
mod elf;
mod error;
mod live_variable;
mod mapped_files;
mod mapping;
mod mounts;
mod pieces;
mod process_image;
mod root;
mod run_for_output;
mod service;
mod stack;
mod tzif;
mod zone;

pub use ancestry::{
    ProcInfo, ancestries, ancestry, descendants, page_faults, read_environment, root_of, start_time,
};
pub(crate) use ancestry::{parent_of, status_numbers};
pub use call_costs::{measure_call_costs, measure_page_cost};
pub use code_map::CodeMap;
pub use elf::{PreloadIsUseless, Programs, fill_libcs, inspect_elf, why_preload_is_useless};
pub use error::HostError;
pub use mapped_files::MappedFiles;
pub use mapping::Mapping;
pub use mounts::mounts;
pub use pieces::Pieces;
pub use process_image::{
    RootId, command, is_overwritten, open_files, open_root, privilege_withheld, read_process,
    read_whole, variables, watched_variables, working_directory,
};
pub use root::{Root, Roots};
pub use run_for_output::{find_program, run_for_output};
pub use service::{
    Pods, Service, ServiceKind, cgroup_id, cgroup_mount, find_cgroup, find_container, find_unit,
    is_container_helper, processes_of_cgroup,
};
pub use stack::{Module, Stack};
pub use zone::{is_zone, read_zone};
