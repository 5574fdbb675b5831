//! A process and its ancestors: what /proc shows of them, and the value of one variable in each. proc_pid_environ(5),
//! proc_pid_stat(5), proc_pid_status(5).

use crate::{HostError, live_variable};
use needless_model::{Env, Value, WatchList};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

/// The most that is read of an environment, bytes: more than execve(2) accepts.
const LARGEST: u64 = 6 << 20;
/// A longer chain is a mistake in reading, not a chain of processes.
const MOST: usize = 256;

/// Clock ticks of /proc in a second: USER_HZ, the same on all machines that needless is built for.
const TICKS: f64 = 100.0;

/// Variables that show which launcher started a process. They hold names and numbers, never secrets.
const MARKS: [&str; 8] = [
    "SYSTEMD_EXEC_PID",
    "INVOCATION_ID",
    "SUPERVISOR_PROCESS_NAME",
    "SUPERVISOR_GROUP_NAME",
    "RC_SVCNAME",
    "SSH_CONNECTION",
    "PG_GRANDPARENT_PID",
    "GATEWAY_INTERFACE",
];

/// Those of systemd (systemd.exec(5)).
const SYSTEMD_MARKS: [&str; 2] = ["SYSTEMD_EXEC_PID", "INVOCATION_ID"];

/// A process, as /proc showed it.
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
    /// Its arguments, for recognising scripts and jobs; never printed.
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
    /// The variables of launchers in the initial block; where that is not known, systemd's as they are now.
    pub marks: BTreeMap<String, String>,
    /// Whether its root directory and mount namespace are ours.
    pub shares_root: bool,
    /// Inode of its pid namespace; 0 where it is not known.
    pub pid_namespace: u64,
}

impl ProcInfo {
    /// When it was started, in seconds since 1970.
    pub fn started_at(&self) -> Option<u64> {
        let uptime = text("/proc/uptime".into())?.split_whitespace().next()?.parse::<f64>().ok()?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        let age = uptime - self.started as f64 / TICKS;
        Some((now.as_secs_f64() - age) as u64)
    }

    /// The executable's file name, or what the kernel calls the process.
    pub fn name(&self) -> &str {
        let exe = self.exe.as_deref().map(|exe| exe.strip_suffix(" (deleted)").unwrap_or(exe));
        exe.and_then(|exe| exe.rsplit('/').next()).unwrap_or(&self.comm)
    }

    /// The name by which people know it: what the kernel keeps of it, at most 15 bytes, whole where its first argument
    /// has the rest. The executable may be a link to another name (redis-server), or an interpreter.
    pub fn called(&self) -> &str {
        let first = self.argv.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
        // A title that the program gave itself has blanks.
        let is_rest =
            self.comm.len() == 15 && first.starts_with(&self.comm) && !first.contains(' ');
        if is_rest { first } else { &self.comm }
    }

    /// Whether `path`, which is absolute, is the same for this process as for us, part by part, up to where it
    /// exists: a unit may have mounts of its own and still the same files (`PrivateTmp=` and the like,
    /// systemd.exec(5)).
    pub fn sees_ours(&self, path: &str) -> bool {
        use std::os::unix::fs::MetadataExt;
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        let id = |about: fs::Metadata| (about.dev(), about.ino());
        std::path::Path::new(path).ancestors().all(|part| {
            let Ok(ours) = fs::symlink_metadata(part) else { return true };
            // For "/" this makes a path with a slash at its end, which follows the link of /proc.
            let theirs = root.join(part.strip_prefix("/").unwrap_or(part));
            fs::symlink_metadata(theirs).is_ok_and(|theirs| id(theirs) == id(ours))
        })
    }
}

/// The process `pid` and its ancestors, from the oldest to `pid`. Only the value of `variable` is kept.
///
/// # Errors
/// When there is no such process.
pub fn ancestry(pid: u32, variable: &str) -> Result<Vec<ProcInfo>, HostError> {
    let mut chain = Vec::new();
    let mut at = pid;
    while at != 0 && chain.len() < MOST {
        let Some((mut info, _)) = proc_info(at, Some(variable)) else { break };
        // A program that has written over its block still has systemd's marks in its memory.
        if at == pid && !info.initial.is_known() {
            for mark in SYSTEMD_MARKS {
                if let Value::Set(value) = live_variable::read(pid, mark) {
                    info.marks.entry(mark.to_owned()).or_insert(value);
                }
            }
        }
        at = info.parent;
        chain.push(info);
    }
    if chain.is_empty() {
        return Err(format!("there is no process {pid}").into());
    }
    chain.reverse();
    Ok(chain)
}

/// The same of each of the processes `pids` that runs. Each process is read once.
pub fn ancestries(pids: &[u32], variable: &str) -> Vec<Vec<ProcInfo>> {
    let mut known: HashMap<u32, Option<ProcInfo>> = HashMap::new();
    let mut chain = |pid: u32| {
        let mut chain: Vec<ProcInfo> = Vec::new();
        let mut at = pid;
        while at != 0 && chain.len() < MOST {
            let read = known.entry(at).or_insert_with(|| Some(proc_info(at, Some(variable))?.0));
            let Some(info) = read else { break };
            at = info.parent;
            chain.push(info.clone());
        }
        chain.reverse();
        chain
    };
    let chains = pids.iter().map(|pid| chain(*pid));
    chains.filter(|chain| !chain.is_empty()).collect()
}

/// When process `pid` was started, in clock ticks since boot; `None` where it has ended.
pub fn start_time(pid: u32) -> Option<u64> {
    Some(stat(&text(format!("/proc/{pid}/stat").into())?)?.2)
}

/// The parent of process `pid`.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    Some(stat(&text(format!("/proc/{pid}/stat").into())?)?.1)
}

/// The running descendants of the processes `top`, without `top`, this process and what started it (sudo). A process
/// whose parent has ended is not among them: the kernel has given it another one.
pub fn descendants(top: &[u32]) -> Vec<u32> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: HashMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, parent) in &parents {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut found = top.to_vec();
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        // Taken out: /proc is read while processes come and go, and may show a circle.
        found.extend(children.remove(&pid).unwrap_or_default());
        at += 1;
    }
    let up = std::iter::successors(Some(std::process::id()), |pid| parents.get(pid).copied());
    let ours: Vec<u32> = up.take(MOST).collect();
    found.retain(|pid| !top.contains(pid) && !ours.contains(pid));
    found
}

/// The page faults of process `pid` so far, all threads, without its children: those without and those with input
/// (fields 10 and 12 of proc_pid_stat(5)).
pub fn page_faults(pid: i32) -> Option<(u64, u64)> {
    let text = crate::read_whole(&format!("/proc/{pid}/stat"))?;
    let mut fields =
        std::str::from_utf8(&text).ok()?.rsplit_once(')')?.1.split_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    Some((minor, fields.nth(1)?.parse().ok()?))
}

/// The process `pid`, and the variables of `watch` in the environment that it got at its last exec. The [`ProcInfo`]
/// itself then holds no value of a variable.
pub fn read_environment(pid: u32, watch: &WatchList) -> Option<(ProcInfo, Env)> {
    let (info, block) = proc_info(pid, None)?;
    let env = match block {
        Some(block) if !crate::is_overwritten(&block) => {
            Env::Known(crate::watched_variables(&block, watch))
        }
        _ => Env::Unknown,
    };
    Some((info, env))
}

/// The file system as the process `info` sees it.
///
/// # Errors
/// When its root cannot be opened: no permission, or the process has ended.
pub fn root_of(info: &ProcInfo) -> std::io::Result<crate::Root> {
    if info.shares_root {
        return crate::Root::own();
    }
    let pid = i32::try_from(info.pid).unwrap_or(i32::MAX);
    match crate::open_root(pid) {
        Some(dir) => Ok(crate::Root::of(dir)),
        None => Err(std::io::ErrorKind::PermissionDenied.into()),
    }
}

/// The process, and its environment block of the last exec where that can be read.
fn proc_info(pid: u32, variable: Option<&str>) -> Option<(ProcInfo, Option<Vec<u8>>)> {
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
            crate::watched_variables(block, &MARKS.into()),
        ),
        Err(error) => (Value::Unknown(refused("/proc/PID/environ", pid, error)), BTreeMap::new()),
    };
    let own = crate::RootId::of("self");
    let pid_namespace = fs::read_link(dir.join("ns/pid")).ok();
    let pid_namespace = pid_namespace
        .and_then(|link| link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok());
    let info = ProcInfo {
        pid,
        own_pid: status_numbers(&status, "NSpid:").last().unwrap_or(pid),
        parent: stat.1,
        exe,
        comm: stat.0,
        argv,
        uid: status_numbers(&status, "Uid:").next().unwrap_or(u32::MAX),
        cwd: fs::read_link(dir.join("cwd")).ok().map(|cwd| cwd.to_string_lossy().into_owned()),
        started: stat.2,
        cgroup: text(dir.join("cgroup")).unwrap_or_default(),
        initial,
        live: variable.map_or_else(not_asked, |variable| live_variable::read(pid, variable)),
        marks,
        shares_root: crate::RootId::of(&pid.to_string()) == own,
        pid_namespace: pid_namespace.unwrap_or(0),
    };
    Some((info, block.ok()))
}

/// The variable in an initial block; unknown where the program has overwritten the block.
fn initial(block: &[u8], variable: &str) -> Value {
    if let Some(value) = crate::watched_variables(block, &[variable].into()).remove(variable) {
        return Value::Set(value);
    }
    if crate::is_overwritten(block) {
        Value::Unknown(
            "the program has written over the block it was started with, as programs do to change \
             their title"
                .into(),
        )
    } else {
        Value::Unset
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

/// The numbers of a line of /proc/PID/status.
pub(crate) fn status_numbers(status: &str, key: &str) -> impl Iterator<Item = u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_ascii_whitespace().map_while(|word| word.parse().ok())
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

/// Why a file of /proc could not be read, and what to do.
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
