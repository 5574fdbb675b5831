//! A process and its ancestors, as /proc tells of them: who they are, and what one variable was in
//! each. proc_pid_environ(5), proc_pid_stat(5), proc_pid_status(5).

use crate::live;
use needless_model::{Env, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The most that is read of an environment, bytes: what execve(2) lets through.
const LARGEST: u64 = 6 << 20;
/// Longer chains than this are no chains of processes.
const MOST: usize = 256;

/// Variables by which launchers can be told. They hold names and numbers, never secrets.
const MARKS: [&str; 7] = [
    "SYSTEMD_EXEC_PID",
    "INVOCATION_ID",
    "SUPERVISOR_PROCESS_NAME",
    "SUPERVISOR_GROUP_NAME",
    "RC_SVCNAME",
    "PG_GRANDPARENT_PID",
    "GATEWAY_INTERFACE",
];

/// A process, and what was asked about it.
#[derive(Clone, Debug)]
pub struct ProcInfo {
    /// Process id, as we see it.
    pub pid: u32,
    /// Its id in its own pid namespace.
    pub own_pid: u32,
    /// The parent's id; 0 where there is none that we see.
    pub parent: u32,
    /// Path of the executable; `None` without the right to follow the link.
    pub exe: Option<String>,
    /// The name the kernel keeps (`comm`).
    pub comm: String,
    /// Its words; for recognising scripts and jobs, never to be printed.
    pub argv: Vec<String>,
    /// Real user id.
    pub uid: u32,
    /// Its working directory; `None` without the right to follow the link.
    pub cwd: Option<String>,
    /// Start, in clock ticks since boot.
    pub started: u64,
    /// The text of /proc/PID/cgroup, "" where it cannot be read.
    pub cgroup: String,
    /// The variable in the block that the process got at its last exec.
    pub initial: Value,
    /// The variable in the program's own memory, now.
    pub live: Value,
    /// Marks of launchers in the initial block.
    pub marks: BTreeMap<String, String>,
    /// Whether its root directory and mount namespace are ours.
    pub shares_root: bool,
    /// Inode of its pid namespace, 0 where not known.
    pub pid_namespace: u64,
}

impl ProcInfo {
    /// The executable's file name, or what the kernel calls the process.
    pub fn name(&self) -> &str {
        let exe = self.exe.as_deref().map(|exe| exe.strip_suffix(" (deleted)").unwrap_or(exe));
        exe.and_then(|exe| exe.rsplit('/').next()).unwrap_or(&self.comm)
    }

    /// Whether the absolute `path`, as far as it exists, is for this process what it is for us: a unit
    /// may have mounts of its own and the same files (`PrivateTmp=` and the like, systemd.exec(5)).
    pub fn sees_ours(&self, path: &str) -> bool {
        use std::os::unix::fs::MetadataExt;
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        let id = |about: fs::Metadata| (about.dev(), about.ino());
        std::path::Path::new(path).ancestors().all(|part| {
            let Ok(ours) = fs::symlink_metadata(part) else { return true };
            // Of "/" this makes a path with a slash at its end, which leads through the link of /proc.
            let theirs = root.join(part.strip_prefix("/").unwrap_or(part));
            fs::symlink_metadata(theirs).is_ok_and(|theirs| id(theirs) == id(ours))
        })
    }
}

/// The process `pid` and its ancestors, the first of them first. `variable` is the only one whose
/// value is kept.
///
/// # Errors
/// One line where there is no such process.
pub fn ancestry(pid: u32, variable: &str) -> Result<Vec<ProcInfo>, String> {
    let mut chain = Vec::new();
    let mut at = pid;
    while at != 0 && chain.len() < MOST {
        let Some((kin, _)) = kin(at, Some(variable)) else { break };
        at = kin.parent;
        chain.push(kin);
    }
    if chain.is_empty() {
        return Err(format!("there is no process {pid}"));
    }
    chain.reverse();
    Ok(chain)
}

/// When process `pid` was started, in clock ticks since the machine was; `None` where it has ended.
pub fn started(pid: u32) -> Option<u64> {
    Some(stat(&text(format!("/proc/{pid}/stat").into())?)?.2)
}

/// The process `pid`, and the variables of `watch` in the environment that it got at its last exec. Of no
/// variable does the [`ProcInfo`] itself then hold a value.
pub fn started_with(pid: u32, watch: &[&str]) -> Option<(ProcInfo, Env)> {
    let (kin, block) = kin(pid, None)?;
    let env = match block {
        Some(block) if !crate::is_overwritten(&block) => Env::Known(crate::watched(&block, watch)),
        _ => Env::Unknown,
    };
    Some((kin, env))
}

/// The file system as the process `kin` sees it.
///
/// # Errors
/// Those of opening its root: the right to is missing, or it has ended.
pub fn root_of(kin: &ProcInfo) -> std::io::Result<crate::Root> {
    if kin.shares_root {
        return crate::Root::own();
    }
    let pid = i32::try_from(kin.pid).unwrap_or(i32::MAX);
    match crate::open_root(pid) {
        Some(dir) => Ok(crate::Root::of(dir)),
        None => Err(std::io::ErrorKind::PermissionDenied.into()),
    }
}

/// The process, and the block that it got at its last exec, where that can be read.
fn kin(pid: u32, variable: Option<&str>) -> Option<(ProcInfo, Option<Vec<u8>>)> {
    let dir = PathBuf::from(format!("/proc/{pid}"));
    let stat = stat(&text(dir.join("stat"))?)?;
    let status = text(dir.join("status")).unwrap_or_default();
    let exe = fs::read_link(dir.join("exe")).ok().map(|exe| exe.to_string_lossy().into_owned());
    let block = read_bounded(&dir.join("environ"));
    let argv = read_bounded(&dir.join("cmdline")).unwrap_or_default();
    let mut argv: Vec<String> =
        argv.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    argv.pop_if(|last| last.is_empty());
    let not_asked = || Value::Unknown("it was not asked for".into());
    let (initial, marks) = match &block {
        Ok(block) => (
            variable.map_or_else(not_asked, |variable| initial(block, variable)),
            crate::watched(block, &MARKS),
        ),
        Err(error) => (Value::Unknown(refused("/proc/PID/environ", pid, error)), BTreeMap::new()),
    };
    let own = crate::RootId::of("self");
    let pid_namespace = fs::read_link(dir.join("ns/pid")).ok();
    let pid_namespace = pid_namespace
        .and_then(|link| link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok());
    let kin = ProcInfo {
        pid,
        own_pid: last_number(&status, "NSpid:").unwrap_or(pid),
        parent: stat.1,
        exe,
        comm: stat.0,
        argv,
        uid: first_number(&status, "Uid:").unwrap_or(u32::MAX),
        cwd: fs::read_link(dir.join("cwd")).ok().map(|cwd| cwd.to_string_lossy().into_owned()),
        started: stat.2,
        cgroup: text(dir.join("cgroup")).unwrap_or_default(),
        initial,
        live: variable.map_or_else(not_asked, |variable| live::variable(pid, variable)),
        marks,
        shares_root: crate::RootId::of(&pid.to_string()) == own,
        pid_namespace: pid_namespace.unwrap_or(0),
    };
    Some((kin, block.ok()))
}

/// The variable in an initial block, where that still tells.
fn initial(block: &[u8], variable: &str) -> Value {
    if let Some(value) = crate::watched(block, &[variable]).remove(variable) {
        return Value::Set(value);
    }
    match crate::is_overwritten(block) {
        false => Value::Unset,
        true => Value::Unknown(
            "the program has written over the block it was started with (as those do that \
             change their title)"
                .into(),
        ),
    }
}

/// Name, parent and start of /proc/PID/stat; the name may hold blanks and parentheses.
fn stat(text: &str) -> Option<(String, u32, u64)> {
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = after.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    // Field 22 of proc_pid_stat(5); the parent is the 4th.
    let started = fields.nth(17)?.parse().ok()?;
    Some((name, parent, started))
}

fn first_number(status: &str, key: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn last_number(status: &str, key: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

fn text(path: PathBuf) -> Option<String> {
    read_bounded(&path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn read_bounded(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file of /proc could not be read, and what would let it be.
pub(crate) fn refused(what: &str, pid: u32, error: &std::io::Error) -> String {
    let what = what.replace("PID", &pid.to_string());
    match error.kind() {
        std::io::ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => {
            format!(
                "{what} is closed to this root: it lacks CAP_SYS_PTRACE, or a security module forbids it"
            )
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("{what} is closed to this user: ask as root, or as the process's own user")
        }
        std::io::ErrorKind::NotFound => format!("{what}: the process has ended"),
        _ => format!("{what}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_written_over_does_not_say_unset() {
        assert_eq!(initial(b"A=1\0TZ=UTC\0", "TZ"), Value::Set("UTC".into()));
        assert_eq!(initial(b"A=1\0B=\0", "TZ"), Value::Unset);
        assert_eq!(initial(b"", "TZ"), Value::Unset);
        assert!(!initial(b"r process\0\0\0\0\0\0\0\0\0\0\0", "TZ").is_known());
        assert!(!initial(b"\0\0\0\0\0\0", "TZ").is_known());
        assert!(!initial(b"postgres: user db host=x\0A=1\0", "TZ").is_known());
        assert!(!initial(b"nginx: worker process is shutting down\0A=1\0", "TZ").is_known());
    }

    #[test]
    fn names_with_parentheses_are_read() {
        let mut line = "12 (a) b (c)) S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 ".to_owned();
        line += "4242 99 0";
        assert_eq!(stat(&line), Some(("a) b (c)".into(), 7, 4242)));
        assert_eq!(stat("garbage"), None);
    }

    #[test]
    fn our_own_chain_ends_with_us() {
        let chain = ancestry(std::process::id(), "PATH").unwrap();
        let me = chain.last().unwrap();
        assert_eq!(me.pid, std::process::id());
        assert_eq!(me.initial.text(), std::env::var("PATH").ok().as_deref());
        assert!(
            chain[..chain.len() - 1].iter().zip(&chain[1..]).all(|(up, it)| it.parent == up.pid)
        );
        assert!(ancestry(u32::MAX - 1, "TZ").is_err());
        assert!(me.sees_ours("/etc/environment") && me.sees_ours("/no/such/file"));
    }
}
