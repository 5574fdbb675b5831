//! A private machine: the real systemd as PID 1 of namespaces, on an overlay of `/` that is deleted at the
//! end, with every change of its /etc.

use crate::common::{NEEDLESS, command, is_root, needed, stderr, stdout};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a machine may take to boot, or a daemon to start, on a busy host.
const PATIENCE: Duration = Duration::from_secs(100);

pub(crate) struct Machine {
    folder: tempfile::TempDir,
    shell: Child,
    /// PID 1 of the machine, as we see it.
    pid: String,
}

impl Machine {
    /// Boots one, with needless and `programs` (name, text) in /usr/local/bin; `None`, and the test counts as
    /// skipped, without root's rights, systemd or namespaces.
    pub(crate) fn boot(programs: &[(&str, &str)]) -> Option<Machine> {
        needed(Machine::try_boot(programs, "debs"))
    }

    /// The same with other packages than the usual ones: those in `target/tools/DEBS`.
    pub(crate) fn boot_with(programs: &[(&str, &str)], debs: &str) -> Option<Machine> {
        needed(Machine::try_boot(programs, debs))
    }

    fn try_boot(programs: &[(&str, &str)], debs: &str) -> Result<Machine, String> {
        if !is_root() {
            return Err("not root".into());
        }
        if !Path::new("/lib/systemd/systemd").exists() {
            return Err("systemd is not installed".into());
        }
        let folder = tempfile::tempdir().unwrap();
        let bring = folder.path().join("bring");
        std::fs::create_dir(&bring).unwrap();
        crate::common::copy(NEEDLESS, &bring.join("needless"));
        for (name, text) in programs {
            let file = bring.join(name);
            std::fs::write(&file, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&file, mode).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/booted/machine.sh");
        let shell = Command::new("bash")
            .arg(script)
            .arg(folder.path())
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"))
            .arg(debs)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut machine = Machine { folder, shell, pid: String::new() };
        let up = wait(|| {
            if machine.shell.try_wait().unwrap().is_some() {
                return Some(false);
            }
            machine.pid = machine.first_process()?;
            let state = machine.run("systemctl is-system-running");
            matches!(stdout(&state).trim(), "running" | "degraded").then_some(true)
        });
        match up {
            Some(true) => Ok(machine),
            _ => {
                let log = std::fs::read_to_string(machine.folder.path().join("log"));
                Err(format!("no systemd in namespaces here: {}", log.unwrap_or_default().trim()))
            }
        }
    }

    /// The child of `unshare`, which is the child of the script.
    fn first_process(&self) -> Option<String> {
        let mut pid = self.shell.id().to_string();
        for _ in 0..2 {
            let children =
                std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
            pid = children.split_ascii_whitespace().next()?.to_owned();
        }
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        (comm.trim() == "systemd").then_some(pid)
    }

    /// The words that run a command in it, for a shell: its own standard streams and terminal are those outside.
    pub(crate) fn entering(&self) -> String {
        format!("nsenter -t {} -m -u -i -n -C -p -r -w", self.pid)
    }

    fn enter(&self) -> Command {
        let entering = self.entering();
        let mut words = entering.split(' ');
        let mut enter = command(words.next().unwrap());
        enter.args(words);
        enter.env_remove("NEEDLESS_BACKEND").env("HOME", "/root");
        enter.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        enter
    }

    /// Runs a script in it, to its end.
    pub(crate) fn run(&self, script: &str) -> Output {
        self.enter().args(["sh", "-c", script]).output().unwrap()
    }

    /// The same; it must succeed. Returns its output.
    pub(crate) fn ok(&self, script: &str) -> String {
        let done = self.run(script);
        assert!(done.status.success(), "{script}: {}{}", stdout(&done), stderr(&done));
        stdout(&done)
    }

    /// Runs a script in it: all that it printed, and its exit status as the last line.
    pub(crate) fn all(&self, script: &str) -> String {
        let done = self.run(script);
        format!("{}{}rc {}", stdout(&done), stderr(&done), done.status.code().unwrap_or(-1))
    }

    /// A program in it; `None`, and the test counts as skipped, where neither the machine nor the unpacked packages have it.
    pub(crate) fn has(&self, name: &str) -> Option<String> {
        let found = stdout(&self.run(&format!("command -v {name}"))).trim().to_owned();
        let missing = format!("{name} is not installed (scripts/install test fetches it)");
        needed(if found.is_empty() { Err(missing) } else { Ok(found) })
    }

    /// Starts a script in it and does not wait; the process ends with the machine.
    pub(crate) fn start(&self, script: &str) -> Child {
        let mut child = self.enter();
        child.args(["sh", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
        child.spawn().unwrap()
    }

    pub(crate) fn write(&self, path: &str, mode: &str, text: &str) {
        let script = format!("mkdir -p $(dirname {path}); cat >{path}; chmod {mode} {path}");
        let mut child =
            self.enter().args(["sh", "-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "{path}");
    }

    /// Copies a program into it.
    pub(crate) fn bring(&self, from: &Path, to: &str) {
        let file = std::fs::File::open(from).unwrap();
        let script = format!("mkdir -p $(dirname {to}); cat >{to}; chmod 755 {to}");
        let done = self.enter().args(["sh", "-c", &script]).stdin(file).status().unwrap();
        assert!(done.success(), "{to}");
    }

    /// The pid, as the machine has it, of the process whose command line is `words` and that is not
    /// `not`.
    pub(crate) fn pid_of(&self, words: &str, not: &str) -> String {
        let find = format!("pgrep -x -f '{words}' | grep -v -x '{not}' | tail -n 1");
        wait(|| Some(stdout(&self.run(&find)).trim().to_owned()).filter(|pid| !pid.is_empty()))
            .unwrap_or_else(|| panic!("{words} does not run: {}", self.ok("ps -ef")))
    }

    /// The main process of a unit.
    pub(crate) fn main_of(&self, unit: &str) -> String {
        self.ok(&format!("systemctl show -p MainPID --value {unit}")).trim().to_owned()
    }

    /// The value of TZ with which a process was started.
    pub(crate) fn zone(&self, pid: &str) -> Option<String> {
        let environ = self.ok(&format!("tr '\\0' '\\n' </proc/{pid}/environ"));
        environ.lines().find_map(|line| line.strip_prefix("TZ=")).map(str::to_owned)
    }

    /// Ends a process, and waits until it has.
    pub(crate) fn end(&self, pid: &str) {
        self.run(&format!("kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.05; done"));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The signal with which systemd halts; then by force. The script removes its control group.
        if !self.pid.is_empty() {
            let _ = command("kill").args(["-s", "KILL", &self.pid]).status();
        }
        let _ = self.shell.wait();
    }
}

/// Repeats `ask` until it has an answer, or the time is over.
pub(crate) fn wait<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Some(answer) => return Some(answer),
            None if Instant::now() > end => return None,
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}
