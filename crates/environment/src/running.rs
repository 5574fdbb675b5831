//! What is asked of the service manager that runs: main processes, reloads, what a unit will get.

use crate::format::systemd::{Says, says};
use needless_host::{ask, find_unit, processes_of_cgroup, program};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a service manager may take to answer; a restart has longer.
const PATIENCE: Duration = Duration::from_secs(10);
const RESTART: Duration = Duration::from_secs(120);
/// Where administrators' programs are; not the caller's PATH: this may be root.
const SEARCH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";

/// Runs the program of `words`.
///
/// # Errors
/// In a sentence: it is not installed, took too long, or what it complained of.
pub fn run(words: &[String]) -> Result<String, String> {
    let [name, arguments @ ..] = words else { return Ok(String::new()) };
    let said = |why: String| format!("`{}`: {why}", words.join(" "));
    let file = program_of_system(name).ok_or_else(|| said("not installed".into()))?;
    let mut command = Command::new(file);
    command.args(arguments);
    // Where the user's systemd is, also for whoever came by su.
    let runtime = PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()));
    let user = arguments.first().is_some_and(|word| word == "--user");
    if user && std::env::var_os("XDG_RUNTIME_DIR").is_none() && runtime.is_dir() {
        command.env("XDG_RUNTIME_DIR", runtime);
    }
    let patience = if name == "systemctl" && arguments.len() == 1 { PATIENCE } else { RESTART };
    ask(command, patience).map_err(said)
}

/// An administrator's program.
pub(crate) fn program_of_system(name: &str) -> Option<PathBuf> {
    program(name, SEARCH.as_ref())
}

/// Whether systemd is the service manager of this machine (sd_booted(3)).
pub fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// The name of a unit with its suffix.
pub fn unit_name(unit: &str) -> String {
    match unit.rsplit_once('.') {
        Some((_, "service" | "scope" | "socket" | "mount" | "swap")) => unit.to_owned(),
        _ => format!("{unit}.service"),
    }
}

/// The main process of a unit that runs, else the oldest in its control group.
pub fn main_process(unit: &str) -> Option<u32> {
    let name = unit_name(unit);
    if systemd_runs() {
        let words = ["systemctl", "show", "-p", "MainPID", "--value", "--", &name];
        let told = run(&words.map(str::to_owned)).ok();
        if let Some(pid) = told.and_then(|told| told.trim().parse().ok()).filter(|pid| *pid > 0) {
            return Some(pid);
        }
    }
    processes_of_unit(&name).into_iter().min()
}

/// The processes of a unit's control group; none where it does not run.
pub fn processes_of_unit(unit: &str) -> Vec<u32> {
    let dir = find_unit(&unit_name(unit));
    dir.ok().and_then(|dir| processes_of_cgroup(&dir).ok()).unwrap_or_default()
}

/// Whether a unit (`user`: of the caller's own systemd) will be started with the variable so, as systemd
/// itself says after a reload; `None` where that cannot be asked. Variables from files are not among
/// what it says.
pub fn will_have(unit: &str, user: bool, variable: &str, value: Option<&str>) -> Option<bool> {
    let whose = if user { "--user" } else { "--system" };
    let words = ["systemctl", whose, "show", "-p", "Environment,UnsetEnvironment", "--", unit];
    let told = run(&words.map(str::to_owned)).ok()?;
    // Specifiers were expanded: a % that is left is one.
    let told = told.replace('%', "%%");
    let said = says(&format!("[Service]\n{told}"), "Service", "Environment");
    let unset = said.iter().any(|(_, s)| matches!(s, Says::Unset(name, None) if name == variable));
    let last = said.iter().rev().find_map(|(_, said)| match said {
        Says::Set(name, value, _) if name == variable => Some(value.as_str()),
        _ => None,
    });
    Some(if unset { value.is_none() } else { last == value })
}

/// Whether sshd will set the variable so for its sessions, as it says itself (`sshd -T`); `None` where
/// that cannot be asked (no host keys, no right to read them).
pub fn sshd_will_set(variable: &str, value: Option<&str>) -> Option<bool> {
    let told = run(&["sshd", "-T"].map(str::to_owned)).ok()?;
    let said = told.lines().filter_map(|line| line.strip_prefix("setenv "));
    let mut pairs = said.filter_map(|pair| pair.split_once('='));
    let is = pairs.find(|(name, _)| *name == variable).map(|(_, is)| is);
    Some(is == value)
}

/// Where the journal is: of the system for root, else the user's own (XDG Base Directory).
///
/// # Errors
/// In a sentence, where neither XDG_STATE_HOME nor HOME is set.
pub fn state_dir() -> Result<PathBuf, String> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/needless"));
    }
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let dir = of("XDG_STATE_HOME").or_else(|| of("HOME").map(|home| home.join(".local/state")));
    dir.map(|dir| dir.join("needless"))
        .ok_or_else(|| "neither XDG_STATE_HOME nor HOME says where to keep the journal".into())
}
