//! What /proc shows about a process right after exec.

use needless_model::{Above, Env, Process, Runtime, Spawn, WatchList};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

/// getauxval(3): whether the program has more privilege than its caller.
const AT_SECURE: u64 = 23;

/// Root directory and mount namespace of a process, for comparing processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootId {
    device: u64,
    inode: u64,
    namespace: u64,
}

impl RootId {
    /// Of process `pid` ("self" for our own); `None` where /proc does not show it.
    pub fn of(pid: &str) -> Option<RootId> {
        let root = fs::metadata(format!("/proc/{pid}/root/")).ok()?;
        let namespace = fs::metadata(format!("/proc/{pid}/ns/mnt")).ok()?;
        Some(RootId { device: root.dev(), inode: root.ino(), namespace: namespace.ino() })
    }
}

/// An `O_PATH` descriptor of the root directory of `pid`.
pub fn open_root(pid: i32) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/{pid}/root/"), flags, Mode::empty()).ok()
}

/// Fills in what /proc shows of `process`: at exec, or now if it ran before ([`Spawn::Seen`]). Only the variables of
/// `watch` are kept in it. Returns its environment block, if it could be read, for
/// [`Builder::environment`](needless_model::Builder::environment).
pub fn read_process(process: &mut Process, watch: &WatchList) -> Option<Vec<u8>> {
    let pid = process.pid;
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
    process.exe = exe.map(|path| path.to_string_lossy().into_owned());
    if let Some(exe) = &process.exe {
        process.runtime = Runtime::of_exe(exe);
    }
    // At exec nothing has overwritten it yet.
    let overwritten = |text: &Vec<u8>| process.born == Spawn::Seen && is_overwritten(text);
    let block = read_whole(&format!("/proc/{pid}/environ")).filter(|text| !overwritten(text));
    process.env = match &block {
        Some(text) => Env::Known(watched_variables(text, watch)),
        None => Env::Unknown,
    };
    process.secure = auxiliary(pid, AT_SECURE).map(|secure| secure != 0);
    process.command = command(pid);
    process.open_files = open_files(pid);
    // The observer saw the parents of all others.
    if process.born == Spawn::Seen && process.parent.is_none() {
        process.above = crate::parent_of(pid).map_or(Above::Unread, Above::Pid);
    }
    block
}

/// The variables of an environment as the kernel keeps it; those that are no text are left out.
pub fn variables(environ: &[u8]) -> impl Iterator<Item = (&str, &str)> + Clone {
    let texts = environ.split(|byte| *byte == 0);
    texts.filter_map(|text| std::str::from_utf8(text).ok()?.split_once('='))
}

/// A file of /proc, with few calls: most are shorter than a page.
pub fn read_whole(path: &str) -> Option<Vec<u8>> {
    const PAGE: usize = 4096;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = Vec::with_capacity(PAGE);
    while rustix::io::read(&file, rustix::buffer::spare_capacity(&mut text)).ok()? > 0 {
        text.reserve(PAGE);
    }
    Some(text)
}

/// The name of process `pid`: that of its first thread.
pub fn command(pid: u32) -> Option<String> {
    let name = read_whole(&format!("/proc/{pid}/comm"))?;
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    Some(String::from_utf8_lossy(name).into_owned())
}

/// The soft limit of open files of process `pid` (proc(5), /proc/PID/limits).
pub fn open_files(pid: u32) -> Option<u64> {
    let limits = read_whole(&format!("/proc/{pid}/limits"))?;
    let limits = std::str::from_utf8(&limits).ok()?;
    let fields = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    fields.split_whitespace().next()?.parse().ok()
}

/// The working directory of thread `tid`; `None` where it has no path.
pub fn working_directory(tid: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{tid}/cwd")).ok()?;
    let path = path.to_str()?;
    // "(unreachable)/x" in another root; "/x (deleted)".
    let named = path.starts_with('/') && !path.ends_with(" (deleted)");
    named.then(|| path.to_owned())
}

/// The variables that `watch` names, from an environment as the kernel keeps it (`NAME=value`, each ended by a NUL).
/// Nothing else of it is kept.
pub fn watched_variables(environ: &[u8], watch: &WatchList) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for variable in environ.split(|b| *b == 0) {
        let Some(equals) = variable.iter().position(|b| *b == b'=') else { continue };
        let (name, value) = (&variable[..equals], &variable[equals + 1..]);
        let Some(name) = watch.find(name) else { continue };
        // getenv(3) returns the first of several.
        found.entry(name.to_owned()).or_insert_with(|| String::from_utf8_lossy(value).into_owned());
    }
    found
}

/// Whether the program has overwritten its environment block, as setproctitle(3bsd) does in nginx, PostgreSQL, sshd
/// and others. Such a block does not show that a variable is unset.
pub fn is_overwritten(environ: &[u8]) -> bool {
    let nuls = environ.iter().filter(|byte| **byte == 0).count();
    let mut words = environ.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    // A name has no blanks; a title may have an equals sign after a blank.
    let assigns = |word: &[u8]| match word.iter().position(|byte| *byte == b'=') {
        Some(equals) => !word[..equals].contains(&b' '),
        None => false,
    };
    // An intact block has one NUL for each variable.
    nuls * 2 > environ.len() || !words.all(assigns)
}

/// A value of the auxiliary vector of process `pid` (getauxval(3)).
pub(crate) fn auxiliary(pid: u32, kind: u64) -> Option<u64> {
    auxiliary_in(&read_whole(&format!("/proc/{pid}/auxv"))?, kind)
}

/// Reads a vector of 64-bit or 32-bit words. The vector itself shows which: types are small numbers, so if two 32-bit
/// words are read as one type, its upper half is a value and the type is too large.
fn auxiliary_in(vector: &[u8], kind: u64) -> Option<u64> {
    let (words, _) = vector.as_chunks();
    let is_64bit: Vec<u64> = words.iter().copied().map(u64::from_ne_bytes).collect();
    let (words, _) = vector.as_chunks();
    let narrow = || words.iter().map(|word| u32::from_ne_bytes(*word).into()).collect();
    let is_wide = is_64bit.iter().step_by(2).all(|kind| u32::try_from(*kind).is_ok());
    let words: Vec<u64> = if is_wide { is_64bit } else { narrow() };
    let (entries, _) = words.as_chunks();
    entries.iter().find(|[known, _]| *known == kind).map(|[_, value]| *value)
}

/// Whether the program of `process` asks for a privilege at exec that the process did not get because we observe it: we
/// are a tracer without privilege, or gave it `no_new_privs`.
pub fn privilege_withheld(process: &Process) -> bool {
    let pid = process.pid;
    let path = format!("/proc/{pid}/exe");
    let Ok(file) = fs::metadata(&path) else { return false };
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    const GROUP_EXECUTE: u32 = 0o010;
    let set_user = file.mode() & SET_USER != 0;
    let set_group = file.mode() & SET_GROUP != 0 && file.mode() & GROUP_EXECUTE != 0;
    let capable = has_capabilities(&path);
    // Few programs have any: the others' status is not read.
    if !(set_user || set_group || capable) {
        return false;
    }
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let effective = |name: &str| crate::status_numbers(&status, name).nth(1);
    let set_user = set_user && effective("Uid:") != Some(file.uid());
    let set_group = set_group && effective("Gid:") != Some(file.gid());
    let capable = capable && effective("Uid:") != Some(0) && has_none(&status);
    (set_user || set_group || capable) && !mounted_without_setuid(&path) && !no_new_privs()
}

/// Whether we have `no_new_privs` ourselves: then our children get no privilege in any case.
fn no_new_privs() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    crate::status_numbers(&status, "NoNewPrivs:").next() == Some(1)
}

fn has_capabilities(path: &str) -> bool {
    rustix::fs::getxattr_query(path, "security.capability").is_ok_and(|size| size > 0)
}

/// Whether a process with this /proc/PID/status has no capability. The mark `AT_SECURE` does not show that: a file whose
/// capabilities are effective from the start gets it also where the kernel withholds them.
fn has_none(status: &str) -> bool {
    let permitted = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    permitted.is_some_and(|set| set.trim().bytes().all(|digit| digit == b'0'))
}

/// On such a file system the bits have no effect, traced or not.
fn mounted_without_setuid(path: &str) -> bool {
    rustix::fs::statvfs(path)
        .is_ok_and(|about| about.f_flag.contains(rustix::fs::StatVfsMountFlags::NOSUID))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_watched_variables_are_kept_and_the_first_counts() {
        let environ = b"TZ=UTC\0PASSWORD=x\0TZ=Europe/Athens\0LANG\0LC_ALL=\0";
        let found = watched_variables(environ, &["TZ", "LANG", "LC_ALL"].into());
        let expected = [("LC_ALL", ""), ("TZ", "UTC")];
        assert_eq!(found, expected.map(|(n, v)| (n.to_owned(), v.to_owned())).into());
    }

    #[test]
    fn both_widths_of_an_auxiliary_vector() {
        const PAGE_SIZE: u32 = 6;
        const SECURE: u32 = 23;
        const RANDOM: u32 = 25;
        for secure in [0, 1] {
            // At an even and at an odd place: 32-bit entries come two to a 64-bit one.
            let orders = [
                [PAGE_SIZE, 4096, SECURE, secure, RANDOM, 0xffc0_0000, 0, 0],
                [SECURE, secure, RANDOM, 0xffc0_0000, PAGE_SIZE, 4096, 0, 0],
            ];
            for words in orders {
                let narrow = words.map(u32::to_ne_bytes).concat();
                let is_64bit = words.map(|word| u64::from(word).to_ne_bytes()).concat();
                assert_eq!(auxiliary_in(&narrow, AT_SECURE), Some(secure.into()), "{words:?}");
                assert_eq!(auxiliary_in(&is_64bit, AT_SECURE), Some(secure.into()), "{words:?}");
            }
        }
        assert_eq!(auxiliary_in(&[], AT_SECURE), None);
    }

    #[test]
    fn our_own_image_is_known() {
        let mut me = Process::new(std::process::id(), None, needless_model::Spawn::Seen);
        read_process(&mut me, &WatchList::default());
        assert_eq!(me.exe.as_deref(), std::env::current_exe().unwrap().to_str());
        assert_eq!(me.env, Env::Known(BTreeMap::new()));
        assert_eq!(me.secure, Some(false));
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32);
        assert!(matches!(me.above, Above::Pid(pid) if Some(pid) == parent));
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(me.open_files, limit.current);
        let name = needless_model::command_of(me.exe.as_deref().unwrap().as_bytes());
        assert_eq!(me.command, Some(name));
        assert!(!privilege_withheld(&me));
        assert_eq!(RootId::of("self"), RootId::of(&std::process::id().to_string()));
    }
}
