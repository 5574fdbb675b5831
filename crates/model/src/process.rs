//! The processes.
//!
//! Nothing of a command line but the name of what was executed enters a profile: the rest may hold a password. Two
//! scripts of one interpreter are two programs all the same (`ts (perl)`), because the kernel's name of a script is its
//! own. Where [`Process::shares_root`] is false, zones and libraries are looked up below the process's root, locales
//! are not, `fix` refuses, and the report says whose paths they are.

use crate::{Above, Libc, SearchList};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A process *between two execs*: a pid that execs another program becomes another [`Process`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcId(pub u32);

impl ProcId {
    /// The position in [`Profile::processes`](crate::Profile::processes).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a process came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spawn {
    /// It ran before the observation: the start of a log, an attached process.
    Seen,
    /// By fork, vfork or clone: it shares its parent's memory image, and so what libc has loaded.
    Fork,
    /// By exec: a new image.
    Exec,
}

/// The watched variables of a process as they were at exec. Others are never read: a profile can
/// be mailed without leaking a password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Env {
    /// The environment was not seen.
    #[default]
    Unknown,
    /// The watched variables that were set; a watched variable that is absent was unset.
    Known(BTreeMap<String, String>),
}

impl Env {
    /// `Some(Some(value))` set, `Some(None)` known to be unset, `None` not known.
    pub fn get(&self, name: &str) -> Option<Option<&str>> {
        match self {
            Env::Unknown => None,
            Env::Known(vars) => Some(vars.get(name).map(String::as_str)),
        }
    }

    /// The value, where it is known and set.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name).flatten()
    }

    /// Whether the variable is known to be unset.
    pub fn is_unset(&self, name: &str) -> bool {
        self.get(name) == Some(None)
    }
}

/// What interprets the environment besides the C library. It decides which values of TZ are
/// right: Java and Node lose DST under `:/etc/localtime`, Go takes POSIX strings for UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runtime {
    /// C, C++ or anything that leaves time zones to the C library.
    #[default]
    Native,
    /// Go.
    Go,
    /// A Java virtual machine.
    Java,
    /// Node.js, Chromium, Electron or another program with ICU and V8.
    Node,
}

impl Runtime {
    /// The runtime of a program by the file name of its executable; [`Runtime::Native`] where the
    /// name does not show it. Go programs cannot be recognized by name.
    pub fn of_exe(path: &str) -> Runtime {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "java" | "javaw" | "javac" | "jshell" => Runtime::Java,
            "node" | "nodejs" | "chrome" | "chromium" | "chromium-browser" | "electron"
            | "code" | "deno" | "google-chrome" | "headless_shell" => Runtime::Node,
            _ => Runtime::Native,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// `exit(status)`.
    Code(i32),
    /// Killed by this signal number.
    Signal(i32),
}

/// A process: one pid between two execs.
#[derive(Clone, Debug)]
pub struct Process {
    /// Process id (tgid) as the observer saw it.
    pub pid: u32,
    /// The process that forked it, or its image before exec.
    pub parent: Option<ProcId>,
    /// What started it, if it has no parent here.
    pub above: Above,
    /// Whether it passes on an environment from a configuration (init, cron, a login shell): a
    /// change belongs there. Known only for processes that ran before the observation.
    pub launcher: bool,
    /// How it came to be.
    pub born: Spawn,
    /// The executable's path, as resolved by the kernel where known, else as given to exec.
    pub exe: Option<String>,
    /// The name that the kernel gave it at exec (`comm`, proc(5)): the file name of what was executed, of a
    /// script its own and not its interpreter's, at most [`COMMAND_BYTES`] bytes. For a process that ran
    /// already, the name when it was first seen; of a program that `#!/usr/bin/env` started, that of the script.
    /// Nothing else of its command line is read.
    pub command: Option<String>,
    /// Watched variables at exec.
    pub env: Env,
    /// Watched variables that the script or makefile which it runs gives a value, where it ran another program and
    /// that file could be read.
    pub assigns: BTreeSet<String>,
    /// Variables that list directories in which processes of the profile found nothing; `None` where its environment
    /// was not seen.
    pub lists: Option<Arc<[SearchList]>>,
    /// C library.
    pub libc: Libc,
    /// Language runtime.
    pub runtime: Runtime,
    /// What runs it, by its control group ("dnsmasq.service", "container 3f2a9c1b7d4e (docker)"),
    /// else its executable's name. `None`: not looked up. Children have their parent's.
    pub service: Option<String>,
    /// `AT_SECURE`: set-user-ID or with file capabilities; the loader and libc then ignore LD_*,
    /// LOCPATH, TZDIR, MALLOC_* and others (man 8 ld.so, secure-execution mode).
    pub secure: Option<bool>,
    /// Whether it lacks the privilege that its file asks for (set-user-ID, set-group-ID, capabilities), because it is
    /// traced, or was started by a program that lacks it: it may do what it does not do otherwise.
    pub lacks_privilege: bool,
    /// The user and the group as which its program was started, where known; not what it took later.
    pub user: Option<(u32, u32)>,
    /// Whether it may write what it compiled beside the sources of Python modules, of which it found no compiled form;
    /// `None`: not known.
    pub writes_bytecode: Option<bool>,
    /// Whether its pointers have 64 bits, where known: a 32-bit program makes other calls for the
    /// same question than the machine's own programs.
    pub is_64bit: Option<bool>,
    /// CPU time, nanoseconds, where known; inflated by a ptrace tracer's stops. It may be known where the two parts
    /// are not.
    pub cpu_ns: Option<u64>,
    /// CPU time in user mode, nanoseconds, where known.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel, nanoseconds, where known; inflated by a ptrace tracer's stops.
    pub cpu_sys_ns: Option<u64>,
    /// Page faults that needed no input, where known; under ptrace those since it first gave memory back.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for input, likewise.
    pub major_faults: Option<u64>,
    /// Bytes of memory that it gave back to the kernel by calls of the classes
    /// [`HeapShrinks`](crate::ArgClass::HeapShrinks) and [`BlockUnmapped`](crate::ArgClass::BlockUnmapped), where known.
    pub given_back: Option<u64>,
    /// The soft limit of open files (`RLIMIT_NOFILE`, getrlimit(2)) at its exec; for a
    /// process that ran already, when it was first seen. A limit that it sets later does not count. Never
    /// unlimited: the kernel allows no more than /proc/sys/fs/nr_open.
    pub open_files: Option<u64>,
    /// Whether both its root directory and its mount namespace are the observer's: then the same path
    /// is the same file for both. If not, a path of the process is a path in its own
    /// tree, and must not be looked up or changed in ours. For a log, which does not show it: `true`.
    pub shares_root: bool,
    /// When it was started, in clock ticks since the machine started (field 22 of proc_pid_stat(5)); for a process
    /// that still ran when the observation ended. With the id it identifies a process even if the id is used again.
    pub started: Option<u64>,
    /// How it ended, where seen.
    pub exit: Option<Exit>,
}

impl Process {
    /// A process with a known pid, and nothing else known.
    pub fn new(pid: u32, parent: Option<ProcId>, born: Spawn) -> Process {
        Process {
            pid,
            parent,
            above: Above::Nothing,
            launcher: false,
            born,
            exe: None,
            command: None,
            env: Env::Unknown,
            assigns: BTreeSet::new(),
            lists: None,
            libc: Libc::Unknown,
            runtime: Runtime::Native,
            service: None,
            secure: None,
            lacks_privilege: false,
            user: None,
            writes_bytecode: None,
            is_64bit: None,
            cpu_ns: None,
            cpu_user_ns: None,
            cpu_sys_ns: None,
            minor_faults: None,
            major_faults: None,
            given_back: None,
            open_files: None,
            shares_root: true,
            started: None,
            exit: None,
        }
    }

    /// A fork of it: same image, same environment, same service.
    pub fn forked(&self, pid: u32, parent: ProcId) -> Process {
        Process {
            pid,
            parent: Some(parent),
            above: Above::Nothing,
            born: Spawn::Fork,
            cpu_ns: None,
            cpu_user_ns: None,
            cpu_sys_ns: None,
            minor_faults: None,
            major_faults: None,
            given_back: None,
            started: None,
            exit: None,
            ..self.clone()
        }
    }

    /// How many bytes its texts take, roughly, for a limit.
    pub(crate) fn bytes(&self) -> usize {
        let env = match &self.env {
            Env::Unknown => 0,
            Env::Known(vars) => vars.iter().map(|(name, value)| name.len() + value.len()).sum(),
        };
        let texts = [&self.exe, &self.command, &self.service].into_iter().flatten();
        env + texts.map(String::len).sum::<usize>()
    }

    /// The executable's file name, or "?" where it is not known.
    pub fn name(&self) -> &str {
        let exe = self.exe.as_deref().unwrap_or("?");
        exe.rsplit('/').next().unwrap_or(exe)
    }

    /// The command's name if it names another program than the executable's name does: a script by its own
    /// name when an interpreter runs it, an applet of busybox. Not if one is the start of the other, as
    /// of `python3` and python3.11 or of a name that was cut.
    pub fn script(&self) -> Option<&str> {
        let (command, name) = (self.command.as_deref()?, self.name());
        let same = name.starts_with(command) || command.starts_with(name);
        (self.exe.is_some() && !same).then_some(command)
    }

    /// The program as people call it: `ts (perl)`, `awk (busybox)`, `perl`, "?" where it is not known.
    pub fn title(&self) -> String {
        match (self.script(), &self.exe, &self.command) {
            (Some(script), ..) => format!("{script} ({})", self.name()),
            (None, None, Some(command)) => command.clone(),
            _ => self.name().to_owned(),
        }
    }
}

/// Most bytes that the kernel keeps of a command's name (`TASK_COMM_LEN` without its NUL).
pub const COMMAND_BYTES: usize = 15;

/// The name that the kernel gives a process which executes `file`: what follows the last slash, cut.
pub fn command_of(file: &[u8]) -> String {
    let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
    String::from_utf8_lossy(&name[..name.len().min(COMMAND_BYTES)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(exe: Option<&str>, command: Option<&str>) -> Process {
        let (exe, command) = (exe.map(str::to_owned), command.map(str::to_owned));
        Process { exe, command, ..Process::new(1, None, Spawn::Exec) }
    }

    #[test]
    fn a_command_is_shown_where_it_names_another_program() {
        let title = |exe, command| process(exe, command).title();
        assert_eq!(title(Some("/usr/bin/perl"), Some("ts")), "ts (perl)");
        assert_eq!(title(Some("/bin/busybox"), Some("awk")), "awk (busybox)");
        assert_eq!(title(Some("/usr/bin/python3.11"), Some("python3")), "python3.11");
        assert_eq!(
            title(Some("/opt/a-name-of-many-bytes"), Some("a-name-of-many-")),
            "a-name-of-many-bytes"
        );
        assert_eq!(title(Some("/usr/bin/perl"), None), "perl");
        assert_eq!(title(None, Some("ts")), "ts");
        assert_eq!(title(None, None), "?");
    }

    #[test]
    fn a_name_is_cut_as_the_kernel_cuts_it() {
        assert_eq!(command_of(b"/usr/bin/annotate-output-of-all"), "annotate-output");
        assert_eq!(command_of(b"ts"), "ts");
        assert_eq!(command_of("/x/äääääääää".as_bytes()), "äääääää\u{fffd}");
    }

    #[test]
    fn a_fork_has_its_parents_name_and_limit() {
        let parent =
            Process { open_files: Some(4096), ..process(Some("/usr/bin/perl"), Some("ts")) };
        let child = parent.forked(2, ProcId(0));
        assert_eq!((child.title().as_str(), child.open_files), ("ts (perl)", Some(4096)));
    }
}
