//! Questions to the running service manager: main processes, reloads, the variables that a unit will get.

use crate::error::EnvironmentError;
use crate::places::systemd::{UnitDirective, directives};
use needless_host::{find_program, find_unit, processes_of_cgroup, run_for_output};
use needless_model::{brief, quote};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a service manager may take to answer; a restart has longer, and so has a reload of many units.
const PATIENCE: Duration = Duration::from_secs(10);
const RESTART: Duration = Duration::from_secs(120);
/// Where administrators' programs are. Not the caller's PATH: this may run as root.
const SEARCH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";

/// Runs the program of `words`.
///
/// # Errors
/// When it is not installed, took too long, or failed, with its complaint.
pub(crate) fn run(words: &[&str]) -> Result<String, EnvironmentError> {
    run_as(words, rustix::process::geteuid().as_raw())
}

/// The same as the user `uid`: that user's systemd answers no other one.
pub(crate) fn run_as(words: &[&str], uid: u32) -> Result<String, EnvironmentError> {
    let [name, arguments @ ..] = words else { return Ok(String::new()) };
    let failed = |why: String| EnvironmentError::from(format!("`{}`: {why}", words.join(" ")));
    let file = program_of_system(name).ok_or_else(|| failed("not installed".into()))?;
    let mut command = Command::new(file);
    command.args(arguments);
    // Where the user's systemd listens, also for users who came by su.
    let runtime = PathBuf::from(format!("/run/user/{uid}"));
    let other = uid != rustix::process::geteuid().as_raw();
    let user = arguments.first().is_some_and(|word| *word == "--user");
    if user && (other || std::env::var_os("XDG_RUNTIME_DIR").is_none()) && runtime.is_dir() {
        command.env("XDG_RUNTIME_DIR", runtime).env_remove("DBUS_SESSION_BUS_ADDRESS");
    }
    if other {
        command.uid(uid).gid(uid).current_dir("/");
    }
    let asks = |word: &&str| matches!(*word, "show" | "show-environment");
    let patience = if arguments.iter().any(asks) { PATIENCE } else { RESTART };
    run_for_output(command, patience).map_err(|error| failed(error.to_string()))
}

/// An administrator's program.
pub(crate) fn program_of_system(name: &str) -> Option<PathBuf> {
    find_program(name, SEARCH.as_ref())
}

/// Whether systemd is the service manager of this machine (sd_booted(3)).
pub(crate) fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// The name of a unit with its suffix.
pub(crate) fn unit_name(unit: &str) -> String {
    match unit.rsplit_once('.') {
        Some((_, "service" | "scope" | "socket" | "mount" | "swap")) => unit.to_owned(),
        _ => format!("{unit}.service"),
    }
}

/// The same of one unit whose programs get variables.
///
/// # Errors
/// For a pattern, for an option or a path, and for a kind of unit that runs no such program.
pub fn service_name(unit: &str) -> Result<String, EnvironmentError> {
    if unit.contains(['*', '?', '[', ']']) && !unit.contains(char::is_control) {
        let (pattern, unit) = (quote(unit), brief(unit));
        return Err(format!(
            "{pattern} is a pattern: name one unit (`systemctl list-units '{unit}'` lists them)"
        )
        .into());
    }
    if unit.starts_with('-') || unit.contains('/') {
        let unit = quote(unit);
        return Err(format!(
            "{unit} is not the name of a service: give it as `systemctl` lists it"
        )
        .into());
    }
    let what = match unit.rsplit_once('.') {
        Some((_, "socket" | "timer" | "path")) => "the service that it starts",
        Some((_, "mount" | "automount" | "swap" | "target" | "slice" | "device")) => "a service",
        _ => return Ok(unit_name(unit)),
    };
    Err(format!("{unit} runs no program that gets variables: name {what}").into())
}

/// The running unit that is shown as the service `name`: with what systemd escapes in it (`\x2d`).
pub fn unit_of_service(name: &str) -> String {
    let group = find_unit(name).ok();
    let own = group.as_deref().and_then(Path::file_name).and_then(|own| own.to_str());
    own.unwrap_or(name).to_owned()
}

/// What systemd says of a property of a unit (`user`: of the caller's own systemd); empty where it cannot be asked.
pub(crate) fn property(unit: &str, user: bool, name: &str) -> String {
    let whose = if user { "--user" } else { "--system" };
    let said = systemd_runs()
        .then(|| run(&["systemctl", whose, "show", "-p", name, "--value", "--", unit]).ok());
    said.flatten().map(|said| said.trim().to_owned()).unwrap_or_default()
}

/// The template of `name`, or `name` itself, where one instance of it is started for each connection (Accept=yes,
/// systemd.socket(5)).
pub(crate) fn template_of_connections(name: &str) -> Option<String> {
    let (prefix, _) = name.split_once('@')?;
    let accepts = property(&format!("{prefix}.socket"), false, "Accept") == "yes";
    accepts.then(|| format!("{prefix}@.service"))
}

/// The main process of a running unit, else the oldest in its control group.
pub fn main_process(unit: &str) -> Option<u32> {
    main_process_of(unit, false)
}

/// The same; `user`: of the caller's own systemd, where only a main process counts.
pub fn main_process_of(unit: &str, user: bool) -> Option<u32> {
    let name = unit_name(unit);
    if let Some(pid) = property(&name, user, "MainPID").parse().ok().filter(|pid| *pid > 0) {
        wait_for_exec(pid);
        return Some(first_in_container(pid, &name).unwrap_or(pid));
    }
    if user { None } else { processes_of_unit(&name).into_iter().min() }
}

/// The first process of the container of a unit whose main process `pid` only watches over it (conmon), or waits for its
/// end (podman run).
fn first_in_container(pid: u32, unit: &str) -> Option<u32> {
    let comm = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let watcher = match comm(pid).trim_end() {
        "conmon" => pid,
        "podman" => processes_of_unit(unit).into_iter().find(|pid| comm(*pid) == "conmon\n")?,
        _ => return None,
    };
    let children = std::fs::read_to_string(format!("/proc/{watcher}/task/{watcher}/children"));
    let children = children.ok()?;
    let mut children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    // The first process of a pid namespace: not the runtime that makes the container.
    let is_first = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        ids.is_some_and(|ids| ids.split_ascii_whitespace().count() > 1 && ids.ends_with("\t1"))
    };
    children.find(is_first)
}

/// Waits until the process that systemd has forked for a unit executes the unit's program. Until then it has systemd's
/// environment, and a name in parentheses.
fn wait_for_exec(pid: u32) {
    let is_forked = || {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.starts_with('(') && name.trim_end().ends_with(')'))
    };
    let begin = Instant::now();
    while is_forked() && begin.elapsed() < Duration::from_secs(2) {
        sleep(Duration::from_millis(20));
    }
}

/// Why a change of a unit would reach no process, where systemd says so: it is masked, or it only starts other units.
pub(crate) fn reaches_nobody(unit: &str) -> Option<String> {
    let name = unit_name(unit);
    let of = |key: &str| property(&name, false, key);
    if of("LoadState") == "masked" {
        return Some(format!(
            "{name} is masked, so systemd does not start it: `systemctl unmask {name}` first"
        ));
    }
    let others = of("ConsistsOf");
    (!others.is_empty() && of("ActiveState") == "active").then(|| {
        format!("{name} is active and runs no process; it only starts and stops {others}: change that one")
    })
}

/// The processes of a unit's control group; none where it does not run.
pub(crate) fn processes_of_unit(unit: &str) -> Vec<u32> {
    let dir = find_unit(&unit_name(unit));
    dir.ok().and_then(|dir| processes_of_cgroup(&dir).ok()).unwrap_or_default()
}

/// Whether systemd, after a reload, will start a unit (`user`: of the caller's own systemd) with this value; `None`
/// where it cannot be asked. It does not report variables from files.
pub(crate) fn unit_will_use(
    unit: &str,
    user: bool,
    variable: &str,
    value: Option<&str>,
) -> Option<bool> {
    let whose = if user { "--user" } else { "--system" };
    let words = ["systemctl", whose, "show", "-p", "Environment,UnsetEnvironment", "--", unit];
    let output = run(&words).ok()?;
    // systemd has expanded the specifiers: a % that is left is an ordinary character.
    let output = output.replace('%', "%%");
    let found = directives(&format!("[Service]\n{output}"), "Service", "Environment");
    let unset = found
        .iter()
        .any(|(_, s)| matches!(s, UnitDirective::Unset(name, None) if name == variable));
    let last = found.iter().rev().find_map(|(_, said)| match said {
        UnitDirective::Set(name, value, _) if name == variable => Some(value.as_str()),
        _ => None,
    });
    Some(if unset { value.is_none() } else { last == value })
}

/// Whether the command line that podman's generator made of a quadlet gives the container this value; `None` where
/// systemd cannot be asked.
pub(crate) fn container_will_get(unit: &str, variable: &str, value: Option<&str>) -> Option<bool> {
    let output = property(unit, false, "ExecStart");
    let (_, line) = output.split_once("argv[]=")?;
    let last = last_given(line, variable);
    // systemd shows a dollar as it is written in a unit.
    let value = value.map(|value| format!("{} ", value.replace('$', "$$")));
    Some(match (last, value) {
        (Some(at), Some(value)) => line[at..].starts_with(&value),
        (last, value) => last.is_none() && value.is_none(),
    })
}

/// Where the value begins that the last option of a command line of podman gives the variable.
fn last_given(line: &str, variable: &str) -> Option<usize> {
    let marks = ["--env ", "--env=", "-e ", "-e", "-e="];
    let marks = marks.map(|option| format!(" {option}{variable}="));
    marks.iter().filter_map(|mark| Some(line.rfind(mark)? + mark.len())).max()
}

/// What sshd sets (SetEnv) for a session, as `sshd -T` prints it, with the configuration `config` or its own; `None`
/// where it cannot be asked (no host keys, no permission to read them). `session`: as for its option -C; without it,
/// what it sets where no `Match` fits.
pub(crate) fn sshd_sets(
    config: Option<&str>,
    session: Option<&str>,
) -> Option<Vec<(String, String)>> {
    let mut words = vec!["sshd", "-T"];
    words.extend(config.iter().flat_map(|file| ["-f", file]));
    words.extend(session.iter().flat_map(|session| ["-C", session]));
    let output = run(&words).ok()?;
    let lines = output.lines().filter_map(|line| line.strip_prefix("setenv "));
    let pairs = lines.filter_map(|pair| pair.split_once('='));
    Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Where root's journal is.
pub(crate) const STATE_OF_ROOT: &str = "/var/lib/needless";

/// Where the journal is: the system's for root, else the user's own (XDG Base Directory).
///
/// # Errors
/// When neither XDG_STATE_HOME nor HOME is an absolute path.
pub fn state_dir() -> Result<PathBuf, EnvironmentError> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from(STATE_OF_ROOT));
    }
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let dir = of("XDG_STATE_HOME").or_else(|| of("HOME").map(|home| home.join(".local/state")));
    dir.map(|dir| dir.join("needless")).ok_or_else(|| {
        "neither XDG_STATE_HOME nor HOME is an absolute path: there is no place for the journal"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_podman_in_one_word() {
        for (line, value) in [
            ("podman run --env TZ=a -eTZ=b img ; x", "b img ; x"),
            ("podman run -eTZ=b --env TZ=a img", "a img"),
            ("podman run -e=TZ=b img", "b img"),
        ] {
            assert_eq!(last_given(line, "TZ").map(|at| &line[at..]), Some(value), "{line}");
        }
        assert_eq!(last_given("podman run --env XTZ=a -eXTZ=b img", "TZ"), None);
    }

    #[test]
    fn options_and_paths_are_no_services() {
        for wrong in ["-x", "--help", "/etc/systemd/system/a.service", "a/b", "../a.service"] {
            let why = service_name(wrong).unwrap_err().to_string();
            assert!(why.contains("is not the name of a service") && !why.contains('\n'), "{why}");
        }
        for right in ["a", "a.service", "a-b@c:d.service", "dev-\\x2d.service"] {
            assert_eq!(service_name(right), Ok(unit_name(right)));
        }
    }
}
