//! Loads and attaches the programs, and says in one line why that is not possible.

use crate::wire::{self, Here};
use crate::{Scope, SessionError, SessionOptions};
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder, PrintLevel};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;

/// The program, compiled by build.rs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/needless.bpf.o"));

/// What libbpf complained of last.
static COMPLAINT: Mutex<String> = Mutex::new(String::new());

fn listen(level: PrintLevel, text: String) {
    // Harmless: what matters fails later, with a complaint of its own.
    if level == PrintLevel::Warn
        && !text.contains("RLIMIT_MEMLOCK")
        && let Ok(mut complaint) = COMPLAINT.lock()
        && complaint.is_empty()
    {
        *complaint = text.trim().lines().next().unwrap_or_default().to_owned();
    }
}

/// The programs at work.
pub(crate) struct Attached {
    /// Dropped first: after that nothing counts any more.
    pub(crate) links: Vec<Link>,
    pub(crate) object: Object,
}

/// Loads the programs with these settings, and attaches them.
pub(crate) fn attach(target: &Scope, options: &SessionOptions) -> Result<Attached, SessionError> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
    if let Ok(mut complaint) = COMPLAINT.lock() {
        complaint.clear();
    }
    // libbpf raises it where maps are locked memory (before 5.11); what we launch gets it back.
    let locked = rustix::process::getrlimit(rustix::process::Resource::Memlock);
    let object = load(target, options);
    let _ = rustix::process::setrlimit(rustix::process::Resource::Memlock, locked);
    let object = object.map_err(|error| refused(&error))?;
    if !sizes_agree(&object) {
        return Err(SessionError(
            "internal error: the program in the kernel has other structures".into(),
        ));
    }
    let mut links = Vec::new();
    for program in object.progs_mut() {
        if program.autoload() {
            links.push(program.attach().map_err(|error| refused(&error))?);
        }
    }
    Ok(Attached { links, object })
}

/// Whether both sides of src/bpf/shared.h are of one mind, as far as sizes tell.
fn sizes_agree(object: &Object) -> bool {
    object.maps().all(|map| {
        let (key, value) = (map.key_size() as usize, map.value_size() as usize);
        match map.name().to_str() {
            Some("procs") => (key, value) == (4, wire::PROC_SIZE),
            Some("rows") => (key, value) == (wire::ROW_KEY_SIZE, wire::ROW_SIZE),
            Some("hots") => value == wire::HOT_SIZE,
            Some("plains" | "folded") => (key, value) == (wire::PLAIN_KEY_SIZE, wire::PLAIN_SIZE),
            Some(name) if name.ends_with(".bss") => value == wire::SHARED_SIZE,
            _ => true,
        }
    })
}

fn load(target: &Scope, options: &SessionOptions) -> libbpf_rs::Result<Object> {
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    let settings = wire::settings(*target, options, &here()?);
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata.settings") {
            map.set_initial_value(&settings)?;
        } else if name == "rows" || name == "texts" {
            let rows = u32::try_from(options.limits.rows).unwrap_or(u32::MAX);
            map.set_max_entries(rows.clamp(1, 65_536))?;
        } else if (name == "entered" && !options.latency) || (name == "plains" && !options.all) {
            map.set_max_entries(1)?;
        } else if name == "procs" {
            map.set_max_entries(options.room.processes)?;
        } else if name == "entered" {
            map.set_max_entries(options.room.threads)?;
        }
    }
    for mut program in open.progs_mut() {
        if program.name() == "entering" && !options.latency {
            program.set_autoload(false);
        }
    }
    open.load()
}

fn here() -> libbpf_rs::Result<Here> {
    // Two outputs of a keyed hash, whose key comes from the kernel's source of random numbers.
    let random = RandomState::new();
    Ok(Here {
        key: [random.hash_one(0), random.hash_one(1)],
        pid: std::process::id(),
        pid_namespace: pid_namespace(),
        cpus: libbpf_rs::num_possible_cpus()? as u32,
    })
}

/// The inode number of our own.
pub(crate) fn pid_namespace() -> u32 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino() as u32)
}

/// Why libbpf failed, in words of what would help.
fn refused(error: &libbpf_rs::Error) -> SessionError {
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return SessionError("eBPF is not possible: this kernel tells no types (no /sys/kernel/btf/vmlinux; it needs CONFIG_DEBUG_INFO_BTF, Linux 5.8)".into());
    }
    match error.kind() {
        // EACCES, with the rights, is the verifier's word.
        libbpf_rs::ErrorKind::PermissionDenied if !crate::allowed() => SessionError(
            "eBPF is not allowed: it needs CAP_BPF and CAP_PERFMON; run as root, or: sudo setcap cap_bpf,cap_perfmon+ep on this program".into(),
        ),
        _ => {
            let complaint = COMPLAINT.lock().map(|text| text.clone()).unwrap_or_default();
            let complaint =
                if complaint.is_empty() { String::new() } else { format!(" ({complaint})") };
            SessionError(format!("eBPF is not possible: {error}{complaint}"))
        }
    }
}
