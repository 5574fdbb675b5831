//! Loads and attaches the programs.

use crate::session::kernel_types;
use crate::session::wire::{self, Here};
use crate::{Scope, SessionError, SessionOptions};
use libbpf_rs::{ErrorKind, Link, Object, ObjectBuilder, PrintLevel};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use zerocopy::IntoBytes;

/// The programs, compiled by build.rs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/needless.bpf.o"));

/// The first complaint of libbpf.
static COMPLAINT: Mutex<String> = Mutex::new(String::new());

fn listen(level: PrintLevel, text: String) {
    // The warning is harmless: what matters fails later, with another complaint.
    if level == PrintLevel::Warn
        && !text.contains("RLIMIT_MEMLOCK")
        && let Ok(mut complaint) = COMPLAINT.lock()
        && complaint.is_empty()
    {
        *complaint = text.trim().lines().next().unwrap_or_default().to_owned();
    }
}

/// Room for the calls without a path of all processes of a machine: about fifty kinds each.
const COUNTERS_OF_A_HOST: u32 = 1 << 17;

/// The kernel gives up checking a program when a signal arrives (EAGAIN), also where it only stops us and lets us go on.
const TRIES: usize = 20;

/// The programs at work.
pub(crate) struct Attached {
    /// Dropped first: then nothing is counted any more.
    pub(crate) links: Vec<Link>,
    pub(crate) object: Object,
}

/// Loads the programs with these settings, and attaches them.
pub(crate) fn attach(target: &Scope, options: &SessionOptions) -> Result<Attached, SessionError> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
    if let Ok(mut complaint) = COMPLAINT.lock() {
        complaint.clear();
    }
    let object = with_locked_memory(|| {
        let mut tries = TRIES;
        loop {
            match load(target, options) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && tries > 1 => tries -= 1,
                done => break done,
            }
        }
    });
    let object = object.map_err(|error| refused(&error))?;
    let mut attached = Attached { links: Vec::new(), object };
    attached.begin()?;
    Ok(attached)
}

impl Attached {
    /// Attaches the programs.
    pub(crate) fn begin(&mut self) -> Result<(), SessionError> {
        for program in self.object.progs_mut() {
            if program.autoload() {
                self.links.push(program.attach().map_err(|error| refused(&error))?);
            }
        }
        Ok(())
    }
}

/// Runs `load` with no limit on locked memory, which maps are before Linux 5.11; what is launched later gets the old
/// limit. libbpf raises it, too, but only once in a process. Without the right to raise it, `load` says what is missing.
fn with_locked_memory<T>(load: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Memlock);
    let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
    let loaded = load();
    let _ = setrlimit(Resource::Memlock, before);
    loaded
}

fn load(target: &Scope, options: &SessionOptions) -> libbpf_rs::Result<Object> {
    let mut builder = ObjectBuilder::default();
    let types = kernel_types::file();
    if let Some((_, path)) = &types {
        builder.btf_custom_path(path)?;
    }
    let mut open = builder.open_memory(OBJECT)?;
    let settings = wire::settings(*target, options, &here()?);
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata.settings") {
            map.set_initial_value(settings.as_bytes())?;
        } else if name == "rows" {
            let rows = u32::try_from(options.limits.rows).unwrap_or(u32::MAX);
            map.set_max_entries(rows.clamp(1, 65_536))?;
        } else if (matches!(&*name, "entries" | "waits") && !options.latency)
            || (name == "counters" && !options.all)
            || (name == "chosen_pids" && *target != Scope::Chosen)
        {
            map.set_max_entries(1)?;
        } else if name == "counters" && *target == Scope::Everyone {
            map.set_max_entries(COUNTERS_OF_A_HOST)?;
        } else if name == "procs" {
            map.set_max_entries(options.room.processes)?;
        } else if name == "entries" {
            map.set_max_entries(options.room.threads)?;
        }
    }
    for mut program in open.progs_mut() {
        if program.name() == "sys_enter" && !options.latency {
            program.set_autoload(false);
        }
    }
    open.load()
}

fn here() -> libbpf_rs::Result<Here> {
    // Two outputs of a keyed hash; its key comes from the kernel's random numbers.
    let random = RandomState::new();
    let mounted = needless_host::cgroup_mount();
    Ok(Here {
        key: [random.hash_one(0), random.hash_one(1)],
        pid: std::process::id(),
        pid_namespace: pid_namespace(),
        cgroup_root: mounted.and_then(|dir| needless_host::cgroup_id(&dir).ok()).unwrap_or(0),
        cpus: libbpf_rs::num_possible_cpus()? as u32,
    })
}

/// The inode number of the pid namespace of needless.
pub(crate) fn pid_namespace() -> u32 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino() as u32)
}

/// Why libbpf failed.
fn refused(error: &libbpf_rs::Error) -> SessionError {
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return SessionError::NoTypes;
    }
    let complaint = COMPLAINT.lock().map(|text| text.clone()).unwrap_or_default();
    let complaint = if complaint.is_empty() { complaint } else { format!(" ({complaint})") };
    SessionError::Load(format!("{error:#}{complaint}"))
}
