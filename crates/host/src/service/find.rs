//! Finds the cgroup directory of a service by the name that a user gives.

use super::container::{container_key, is_id};
use super::hierarchy::{Hierarchy, hierarchies, walk};
use super::{Service, ServiceKind, path_part};
use crate::HostError;
use crate::run_for_output::{find_program, run_for_output};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long systemctl or a container runtime may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The directory of the cgroup `name`: a directory, or a path below the cgroup mount as
/// `/proc/PID/cgroup` and `systemctl show -p ControlGroup` print it.
///
/// # Errors
/// When there is no such group.
pub fn find_cgroup(name: &str) -> Result<PathBuf, HostError> {
    // It would be all groups; for that users write `/`, or run `needless host`.
    if name.is_empty() {
        return Err("\"\" is not a cgroup: `systemd-cgls` shows them".into());
    }
    let is_group = |dir: &PathBuf| dir.join("cgroup.procs").exists();
    let given = PathBuf::from(name);
    if name.contains('/') && is_group(&given) {
        return Ok(given);
    }
    let path = format!("/{}", name.trim_start_matches('/'));
    let mounts = hierarchies();
    let Some(first) = mounts.first() else { return Err(no_mount("cgroup", name)) };
    match mounts.iter().filter_map(|mount| mount.dir_of(&path)).find(is_group) {
        Some(dir) => Ok(dir),
        None => {
            let root = first.dir.display();
            Err(format!("no cgroup {name} here, nor below {root}: `systemd-cgls` shows them")
                .into())
        }
    }
}

/// The cgroup directory of the running systemd unit `name`, of the system or of a user;
/// ".service" where it has no suffix. Asks systemctl where systemd runs, else searches the names
/// below the cgroup mounts. A template without instance ("getty@") means its only instance. Units
/// of the system are preferred to those of users, and those to units inside containers.
///
/// # Errors
/// When there is none, it does not run, or there are several.
pub fn find_unit(name: &str) -> Result<PathBuf, HostError> {
    let unit = unit_name(name)?;
    let mounts = hierarchies();
    if mounts.is_empty() {
        return Err(no_mount("unit", name));
    }
    // Only a running instance has a cgroup, and systemctl does not resolve a template.
    let state = if unit.contains("@.") { None } else { ask_systemd(&unit) };
    if let Some(UnitState { group: Some(group), .. }) = &state {
        let dirs = mounts.iter().filter_map(|mount| mount.dir_of(group));
        if let Some(dir) = dirs.into_iter().find(|dir| dir.join("cgroup.procs").exists()) {
            return Ok(dir);
        }
    }
    match search_unit(&mounts, &unit)? {
        Some(dir) => Ok(dir),
        None => Err(match state {
            Some(UnitState { loaded: true, state, .. }) if state == "active" => format!(
                "{unit} is active but has no processes: `systemctl status {unit}` shows more"
            )
            .into(),
            Some(UnitState { loaded: true, state, .. }) => {
                format!("{unit} is not running here ({state}): `systemctl start {unit}` starts it")
                    .into()
            }
            _ => format!("no unit {unit} here: `systemctl list-units` lists them").into(),
        }),
    }
}

/// `name` with a suffix, if it can be a unit with processes.
pub(super) fn unit_name(name: &str) -> Result<String, HostError> {
    let known = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if name.is_empty() || name.starts_with(['-', '.']) || !name.chars().all(known) {
        let name = name.escape_debug();
        return Err(format!(
            "\"{name}\" is not a valid unit name: `systemctl list-units` lists them"
        )
        .into());
    }
    if path_part::is_unit(name) || name.ends_with(".slice") {
        return Ok(name.to_owned());
    }
    for suffix in [".timer", ".target", ".path", ".device", ".automount"] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return Err(
                format!("{name} has no processes: name what it starts ({stem}.service?)").into()
            );
        }
    }
    Ok(format!("{name}.service"))
}

/// A unit as systemd reports it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnitState {
    /// Whether the unit exists.
    pub loaded: bool,
    /// "inactive"
    pub state: String,
    /// The path of its cgroup, while it runs.
    pub group: Option<String>,
}

fn ask_systemd(unit: &str) -> Option<UnitState> {
    let first = std::fs::read_to_string("/proc/1/comm").ok()?;
    if first.trim_end() != "systemd" || !Path::new("/run/systemd/system").is_dir() {
        return None;
    }
    let systemctl = find_program("systemctl", &std::env::var_os("PATH")?)?;
    let mut show = Command::new(systemctl);
    show.args(["show", "-p", "LoadState", "-p", "ActiveState", "-p", "ControlGroup", "--", unit]);
    run_for_output(show, PATIENCE).ok().map(|answer| parse_unit_state(&answer))
}

/// Reads `KEY=value` lines, as `systemctl show` prints them.
pub(super) fn parse_unit_state(answer: &str) -> UnitState {
    let value = |key: &str| {
        let mut lines = answer.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
    };
    UnitState {
        loaded: value("LoadState").is_some_and(|state| state == "loaded"),
        state: value("ActiveState").unwrap_or_default(),
        group: value("ControlGroup").filter(|group| group.len() > 1),
    }
}

/// The directory called `unit` in the first hierarchy that has one.
fn search_unit(mounts: &[Hierarchy], unit: &str) -> Result<Option<PathBuf>, HostError> {
    // "getty@.service": any instance. Names are compared both as they are and as we print them.
    let template = unit.split_once("@.").map(|(stem, suffix)| (format!("{stem}@"), suffix));
    let fits = |part: &str| match &template {
        Some((start, suffix)) => {
            part.starts_with(start.as_str()) && part.strip_suffix(*suffix).is_some()
        }
        None => part == unit || path_part::clean(part) == unit,
    };
    for mount in mounts {
        // By distance from the host's own service manager.
        let mut found: [Vec<PathBuf>; 3] = Default::default();
        walk(&mount.dir, &mut |dir, _| {
            if dir.file_name().and_then(OsStr::to_str).is_some_and(fits) {
                found[distance(&mount.dir, dir)].push(dir.to_owned());
            }
            true
        });
        let Some(dirs) = found.into_iter().find(|dirs| !dirs.is_empty()) else { continue };
        let [dir] = &dirs[..] else {
            let what = if template.is_some() { "instances" } else { "units" };
            return Err(format!(
                "{} {what} of {unit} run here: choose one with --cgroup {}",
                dirs.len(),
                some_of(dirs.iter().map(|dir| dir.display().to_string()))
            )
            .into());
        };
        return Ok(Some(dir.clone()));
    }
    Ok(None)
}

/// 0: the host's unit; 1: a user's; 2: inside a container or machine.
fn distance(mount: &Path, dir: &Path) -> usize {
    let below = dir.strip_prefix(mount).unwrap_or(dir).to_string_lossy();
    match Service::of_path(&below, None).kind {
        ServiceKind::UserUnit | ServiceKind::App => 1,
        ServiceKind::Machine => 2,
        kind if kind.is_container() => 2,
        _ => 0,
    }
}

/// The cgroup directory of a running container: by its ID, by an unambiguous prefix of its ID, by the name of an lxc
/// container or machine, or by a name that a runtime knows (docker, podman, nerdctl and crictl are asked if they are
/// installed).
///
/// # Errors
/// When there is none or there are several, with what each runtime reported.
pub fn find_container(name_or_id: &str) -> Result<PathBuf, HostError> {
    let mounts = hierarchies();
    if mounts.is_empty() {
        return Err(no_mount("container", name_or_id));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    choose_container(&mounts, name_or_id, &path)
}

/// `path`: a `PATH` in which to find the runtimes.
pub(super) fn choose_container(
    mounts: &[Hierarchy],
    name: &str,
    path: &OsStr,
) -> Result<PathBuf, HostError> {
    if name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_control()) {
        let name = name.escape_debug();
        return Err(format!("\"{name}\" is not a container: give its name or ID").into());
    }
    let here = containers(mounts);
    let is_start = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    // As many digits as runtimes print are an ID; fewer may be a name ("cafe").
    if is_start
        && name.len() >= 12
        && let Some(dir) = by_start(&here, name)?
    {
        return Ok(dir);
    }
    let named: Vec<_> = here.iter().filter(|c| !c.has_id && c.key == name).collect();
    match &named[..] {
        [] => {}
        [one] => return Ok(one.dir.clone()),
        several => {
            let dirs = some_of(several.iter().map(|c| c.dir.display().to_string()));
            let count = several.len();
            return Err(
                format!("{count} are called {name}: choose one with --cgroup {dirs}").into()
            );
        }
    }
    let (mut asked, mut said) = (false, String::new());
    for runtime in ["docker", "podman", "nerdctl", "crictl"] {
        let Some(program) = find_program(runtime, path) else { continue };
        asked = true;
        match ids(runtime, &program, name) {
            Ok(ids) => match &ids[..] {
                [] => {}
                [id] => {
                    return by_start(&here, id)?.ok_or_else(|| {
                        let id = &id[..12];
                        format!("{runtime} knows {name} ({id}), but it does not run here: start it")
                            .into()
                    });
                }
                several => {
                    let short = some_of(several.iter().map(|id| id[..12].to_owned()));
                    return Err(format!("{runtime} has several {name}: give one of {short}").into());
                }
            },
            Err(error) => said = format!("{said}; {runtime}: {error}"),
        }
    }
    if is_start && let Some(dir) = by_start(&here, name)? {
        return Ok(dir);
    }
    if !asked {
        said = "; no docker, podman, nerdctl or crictl is installed to ask for a name".into();
    }
    let dir = mounts.first().map(|mount| mount.dir.display().to_string()).unwrap_or_default();
    Err(format!("no container {name} below {dir}{said} (give its ID, or --cgroup PATH)").into())
}

/// A container that has a cgroup.
struct RunningContainer {
    /// The ID, or the name where it has no ID.
    key: String,
    has_id: bool,
    dir: PathBuf,
}

/// The containers below the mounts, each once: in the first hierarchy that has it, at the
/// directory nearest to the root.
fn containers(mounts: &[Hierarchy]) -> Vec<RunningContainer> {
    let mut here: Vec<RunningContainer> = Vec::new();
    for mount in mounts {
        let before = here.len();
        walk(&mount.dir, &mut |dir, _| {
            let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
            let Some(part) = name(dir) else { return true };
            let above = dir.parent().and_then(name).unwrap_or_default();
            let Some((key, has_id)) = container_key(&part, &above) else { return true };
            // The same name is the same container only in another hierarchy.
            let known = |c: &RunningContainer| c.has_id == has_id && c.key == key;
            let among = if has_id { &here[..] } else { &here[..before] };
            if !among.iter().any(known) {
                here.push(RunningContainer { key, has_id, dir: dir.to_owned() });
            }
            true
        });
    }
    here
}

/// The container whose ID starts with `start`.
fn by_start(here: &[RunningContainer], start: &str) -> Result<Option<PathBuf>, HostError> {
    let start = start.to_ascii_lowercase();
    let found: Vec<_> = here.iter().filter(|c| c.has_id && c.key.starts_with(&start)).collect();
    match &found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.dir.clone())),
        several => {
            let ids = some_of(several.iter().map(|c| c.key[..12].to_owned()));
            let count = several.len();
            Err(format!("{count} containers have IDs starting with {start}: give more of {ids}")
                .into())
        }
    }
}

/// The IDs of the containers a runtime knows as `name`.
fn ids(runtime: &str, program: &Path, name: &str) -> Result<Vec<String>, HostError> {
    let mut command = Command::new(program);
    if runtime == "crictl" {
        // Its name filter is a regular expression.
        let exactly = name.replace('.', "\\.");
        command.args(["ps", "-q", "--no-trunc", "--name", &format!("^{exactly}$")]);
        let answer = run_for_output(command, PATIENCE)?;
        return Ok(answer.lines().map(str::trim).filter(|id| is_id(id)).map(Into::into).collect());
    }
    command.args(["container", "inspect", name]);
    let answer = run_for_output(command, PATIENCE)?;
    // The whole output is read, because --format differs between the runtimes.
    let id = answer.split("\"Id\"").skip(1).filter_map(|rest| rest.split('"').nth(1));
    match id.into_iter().find(|id| is_id(id)) {
        Some(id) => Ok(vec![id.to_owned()]),
        None => Err("an answer without an ID".into()),
    }
}

/// At most four of the names, and how many more there are.
fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(4);
    let shown = names.take(4).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn no_mount(what: &str, name: &str) -> HostError {
    HostError::from(format!(
        "cannot look for {what} {name}: no cgroup file system is mounted here; \
         `mount -t cgroup2 cgroup2 /sys/fs/cgroup` mounts one, or give a PID"
    ))
}
