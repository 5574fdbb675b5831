//! The cgroup file systems of this machine: where they are mounted, which processes are in a group, and which group
//! has an ID. cgroups(7), Documentation/admin-guide/cgroup-v2.rst.

use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

/// `f_type` of a cgroup v2 file system, statfs(2).
const CGROUP2_SUPER_MAGIC: u64 = 0x6367_7270;

/// A mounted cgroup hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// Where it is mounted.
    pub dir: PathBuf,
    /// The group that is at the mount point; "/" but for bind mounts and containers.
    pub root: String,
    /// v2, the only one whose groups have the IDs that BPF programs see.
    pub v2: bool,
    /// `name=systemd` of v1: the services, without any controller.
    systemd: bool,
}

impl Hierarchy {
    /// The directory of the group `path`; `None` where it is not below this mount's root.
    pub(super) fn dir_of(&self, path: &str) -> Option<PathBuf> {
        let below = path.strip_prefix(self.root.trim_end_matches('/'))?;
        let inside = below.is_empty() || below.starts_with('/');
        let up = below.split('/').any(|part| part == "..");
        (inside && !up).then(|| self.dir.join(below.trim_start_matches('/')))
    }
}

/// The hierarchies in `text`, that of `/proc/PID/mountinfo`: v2 first, then `name=systemd`, then
/// the others in their order.
pub(super) fn hierarchies_in(text: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = text.lines().filter_map(hierarchy).collect();
    found.sort_by_key(|h| (!h.v2, h.root != "/", !h.systemd));
    found
}

/// `ID PARENT DEV ROOT DIR OPTIONS [TAG…] - TYPE SOURCE SUPER`, proc_pid_mountinfo(5).
fn hierarchy(line: &str) -> Option<Hierarchy> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, dir) = (octal(mount.next()?), octal(mount.next()?));
    let mut file_system = file_system.split(' ');
    let v2 = match file_system.next()? {
        "cgroup2" => true,
        "cgroup" => false,
        _ => return None,
    };
    let systemd = file_system.nth(1)?.split(',').any(|option| option == "name=systemd");
    Some(Hierarchy { dir: dir.into(), root, v2, systemd })
}

/// A field of mountinfo, in which blanks, line ends and backslashes are `\OOO`.
fn octal(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let digits = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits.filter(u8::is_ascii) {
            Some(byte) => {
                text.push(char::from(byte));
                rest = &after[3..];
            }
            None => {
                text.push('\\');
                rest = after;
            }
        }
    }
    text + rest
}

/// The hierarchies mounted here and visible (nothing mounted over them), best first.
pub(super) fn hierarchies() -> Vec<Hierarchy> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut found = hierarchies_in(&String::from_utf8_lossy(&text));
    found.retain(|hierarchy| hierarchy.dir.join("cgroup.procs").exists());
    found
}

/// Where the services of this machine have their cgroups: the mount of cgroup v2, else of
/// `name=systemd`, else of any v1 hierarchy. In the hybrid layout that is `/sys/fs/cgroup/unified`.
/// `None` where no cgroup file system is mounted.
pub fn cgroup_mount() -> Option<PathBuf> {
    hierarchies().into_iter().next().map(|hierarchy| hierarchy.dir)
}

/// The ID that `bpf_get_current_cgroup_id` gives for the cgroup v2 directory `dir`: on 64-bit
/// kernels its inode number.
///
/// # Errors
/// When `dir` is not a cgroup v2 directory (`InvalidInput`), or cannot be read.
pub fn cgroup_id(dir: &Path) -> io::Result<u64> {
    let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", dir.display()));
    let held_by = rustix::fs::statfs(dir).map_err(|errno| at(errno.into()))?;
    // The type of `f_type` differs between architectures; the number does not.
    if held_by.f_type as u64 != CGROUP2_SUPER_MAGIC {
        let says =
            format!("{}: not in a cgroup v2 file system; BPF knows no others", dir.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, says));
    }
    fs::metadata(dir).map(|meta| meta.ino()).map_err(at)
}

/// The processes in the cgroup directory `dir` and everything below it, v1 or v2, sorted, each
/// once. A group that vanishes meanwhile is passed over, and a process that forks or moves
/// meanwhile may be missed: ask again until nothing new appears. Of a threaded group, the
/// processes that have a thread in it.
///
/// # Errors
/// When `dir` is not a cgroup directory or cannot be read; when every process in it belongs to another PID namespace,
/// so that it has no number here.
pub fn processes_of_cgroup(dir: &Path) -> io::Result<Vec<u32>> {
    let (mut pids, mut elsewhere) = (Vec::new(), 0);
    add_processes(dir, &mut pids, &mut elsewhere).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let says = format!("{}: no cgroup directory (no cgroup.procs in it)", dir.display());
            io::Error::new(error.kind(), says)
        }
        kind => io::Error::new(kind, format!("{}: {error}", dir.display())),
    })?;
    walk(dir, &mut |below, _| {
        // Not an error: the group was removed, or is threaded and listed by the group above it.
        let _ = add_processes(below, &mut pids, &mut elsewhere);
        true
    });
    if pids.is_empty() && elsewhere > 0 {
        let says = format!(
            "{}: its {elsewhere} processes are in a PID namespace that is not ours: attach from \
             the host, or with the host's PID namespace",
            dir.display()
        );
        return Err(io::Error::other(says));
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// Adds the processes in `dir` itself. `elsewhere` counts processes of other PID namespaces: the kernel prints 0 for
/// them.
fn add_processes(dir: &Path, pids: &mut Vec<u32>, elsewhere: &mut usize) -> io::Result<()> {
    let mut add = |pid: u32| if pid == 0 { *elsewhere += 1 } else { pids.push(pid) };
    match fs::read_to_string(dir.join("cgroup.procs")) {
        Ok(text) => text.lines().filter_map(|line| line.parse().ok()).for_each(&mut add),
        Err(error) if error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()) => {
            let threads = fs::read_to_string(dir.join("cgroup.threads"))?;
            let threads = threads.lines().filter_map(|line| line.parse().ok());
            threads.filter_map(process_of_thread).for_each(&mut add);
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn process_of_thread(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    crate::status_numbers(&status, "Tgid:").next()
}

/// Calls `visit` with every directory below `dir` and its inode number, those above before those
/// below, until it returns false. What vanishes meanwhile is passed over.
pub(super) fn walk(dir: &Path, visit: &mut dyn FnMut(&Path, u64) -> bool) {
    let mut level = vec![dir.to_owned()];
    while !level.is_empty() {
        let mut next = Vec::new();
        for dir in level {
            let Ok(entries) = fs::read_dir(&dir) else { continue };
            for entry in entries.flatten() {
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                let path = entry.path();
                // The directory entry has the inode number: nothing is mounted over it.
                if !visit(&path, entry.ino()) {
                    return;
                }
                next.push(path);
            }
        }
        level = next;
    }
}
