//! From a change that somebody wants to the place where it is made.

use crate::family::deciding;
use crate::fix::{location_of_file, plan};
use crate::ignored::ignored;
use crate::reached::Reached;
use crate::readers::settled;
use crate::running::{main_process, main_process_of, processes_of_unit, reaches_nobody, unit_name};
use crate::settings;
use crate::sources::User;
use crate::trace_variable::{trace_unit, trace_variable};
use crate::{ChangeRequest, Destination, Disk, EnvironmentError, VariableTrace, label};
use needless_host::{ProcInfo, Root, ancestry, root_of};
use needless_model::{Confidence, Setting, brief, quote};
use std::path::PathBuf;

/// A change of a variable, or of another setting, that somebody wants, and for which program.
#[derive(Clone)]
pub struct Request {
    /// The rule whose remedy it is; `None` where the user named the change.
    pub rule: Option<String>,
    /// The variable.
    pub variable: String,
    /// Its value; `None`: to be removed.
    pub value: Option<String>,
    /// What is to be set instead of a variable; its value is worked out where it is made.
    pub setting: Option<Setting>,
    /// The modules that the setting is about, where it is about modules.
    pub modules: Option<Modules>,
    /// What to know before.
    pub caveat: Option<String>,
    /// For which program.
    pub subject: Subject,
}

/// Modules of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modules {
    /// Their directory.
    pub directory: String,
    /// The name of the program that reads them: "python3.11".
    pub interpreter: String,
}

/// What a change is for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A process.
    Process(u32),
    /// A systemd unit.
    Unit(String),
    /// A unit of the caller's own systemd.
    UserUnit(String),
    /// Whatever reads this file, or the named part of it.
    File(PathBuf, Option<String>),
    /// All programs of this machine.
    Machine,
    /// Nothing that can be changed, and why.
    Gone(String),
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.setting {
            Some(setting) => f.write_str(setting.word()),
            None => f.write_str(&label(&self.variable, self.value.as_deref())),
        }
    }
}

/// Checks the name of a variable.
///
/// # Errors
/// When a shell could not set a variable of this name.
pub fn check_variable(variable: &str) -> Result<(), EnvironmentError> {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(known) {
        return Err(format!("{} is not a valid variable name", quote(variable)).into());
    }
    Ok(())
}

pub(crate) fn own_root() -> Result<Root, EnvironmentError> {
    Ok(Root::own().map_err(|error| format!("cannot open /: {error}"))?)
}

/// The ancestors of the process `pid`, itself last, and where its `variable` comes from.
///
/// # Errors
/// In a sentence: there is no such process, or its files are closed to this user.
pub fn origin_of_process(
    pid: u32,
    variable: &str,
) -> Result<(Vec<ProcInfo>, VariableTrace), EnvironmentError> {
    let chain = ancestry(pid, variable)?;
    let me = chain.last().ok_or_else(|| format!("there is no process {pid}"))?;
    let root = root_of(me).map_err(|error| unreadable(me, &error))?;
    let origin = trace_variable(&chain, variable, &root);
    Ok((chain, origin))
}

/// Why the files of a process cannot be read, and what to do.
fn unreadable(process: &ProcInfo, error: &std::io::Error) -> String {
    let who = format!("{}[{}]", process.name(), process.pid);
    match error.kind() {
        std::io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            format!("{who}: cannot read its files: it belongs to another user; run this with sudo")
        }
        std::io::ErrorKind::PermissionDenied => format!(
            "{who}: cannot read its files: this root lacks CAP_SYS_PTRACE, or a security module forbids it"
        ),
        _ => format!("{who}: cannot read its files: {error}"),
    }
}

/// Where `variable` of a unit that does not run would come from; `user`: of the caller's own systemd.
///
/// # Errors
/// In a sentence: there is no such unit.
pub fn origin_of_stopped_unit(
    unit: &str,
    variable: &str,
    user: bool,
) -> Result<VariableTrace, EnvironmentError> {
    let (name, root) = (unit_name(unit), own_root()?);
    let me = user.then(|| User::of(&root, rustix::process::geteuid().as_raw())).flatten();
    let found =
        if user && me.is_none() { None } else { trace_unit(&name, variable, &root, me.as_ref()) };
    found.ok_or_else(|| {
        let option = if user { " --user" } else { "" };
        let list = format!("`systemctl{option} list-unit-files` lists all units");
        format!("there is no unit {}: {list}", brief(&name)).into()
    })
}

/// Finds the place for a change.
///
/// # Errors
/// In a sentence: there is none, the value is wrong for the programs that would get it, or a comment in the place
/// says to leave the rule's finding alone.
pub fn resolve(request: &Request, disk: &Disk) -> Result<ChangeRequest, EnvironmentError> {
    let change = match request.setting {
        Some(setting) => settings::change(setting, request)?,
        None => {
            let mut found = locate(request, disk)?;
            found.location = settled(found.location, disk)?;
            asked_for(request, found)
        }
    };
    match comment_against(request, &change, disk) {
        Some(comment) => Err(format!("not done: {comment}").into()),
        None => Ok(change),
    }
}

/// The change of an image: what it is for is checked, and no place of this machine is looked for.
///
/// # Errors
/// As of [`resolve`].
pub fn resolve_for_image(
    request: &Request,
    disk: &Disk,
) -> Result<ChangeRequest, EnvironmentError> {
    let Request { variable, value, .. } = request;
    if let Some(setting) = request.setting {
        return Err(format!("no variable: {}", settings::in_image(setting)).into());
    }
    let nowhere = || {
        let why = "the image of the container";
        Destination::new(&crate::DOCKERFILE, None, why, Confidence::High)
    };
    let found = match &request.subject {
        Subject::Process(pid) => {
            let chain = ancestry(*pid, variable)?;
            let me = chain.last().ok_or_else(|| format!("there is no process {pid}"))?;
            let reached = reached_by_process(me, None, me.exe.iter().cloned().collect())?;
            reached.check(variable, value.as_deref())?;
            Found { location: nowhere(), named: Some(format!("{}[{pid}]", me.name())), reached }
        }
        Subject::Unit(unit) => {
            let reached = reached_by_unit(unit, variable)?;
            reached.check(variable, value.as_deref())?;
            Found { location: nowhere(), named: Some(unit.clone()), reached }
        }
        Subject::UserUnit(_) | Subject::File(..) | Subject::Machine | Subject::Gone(_) => {
            locate(request, disk)?
        }
    };
    Ok(asked_for(request, found))
}

/// A place that was found for a change.
struct Found {
    location: Destination,
    /// The process or unit as a name for people.
    named: Option<String>,
    reached: Reached,
}

fn asked_for(request: &Request, found: Found) -> ChangeRequest {
    let Request { rule, variable, value, caveat, .. } = request;
    let Found { location, named, reached } = found;
    let value = value.as_deref();
    let caveats = reached.caveats(variable, value, rule.is_none());
    ChangeRequest {
        times: reached.times(variable, value).into_iter().collect(),
        caveats: caveat.iter().cloned().chain(caveats).collect(),
        location,
        variable: variable.clone(),
        value: value.map(str::to_owned),
        rules: rule.iter().cloned().collect(),
        targets: named.into_iter().collect(),
    }
}

fn reached_by_process(
    me: &ProcInfo,
    unit: Option<&str>,
    exes: Vec<String>,
) -> Result<Reached, EnvironmentError> {
    let root = root_of(me).map_err(|error| unreadable(me, &error))?;
    Reached::process(me, root, unit, exes)
}

/// The programs of a unit of the system.
fn reached_by_unit(unit: &str, variable: &str) -> Result<Reached, EnvironmentError> {
    let Some(pid) = main_process(unit) else { return Reached::stopped(unit, variable, false) };
    let chain = ancestry(pid, variable)?;
    let me = chain.last().ok_or_else(|| format!("there is no process {pid}"))?;
    reached_by_process(me, Some(unit), exes_of_unit(unit))
}

/// The programs of the unit's processes.
fn exes_of_unit(unit: &str) -> Vec<String> {
    let exe = |pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let exes = processes_of_unit(unit).into_iter().filter_map(exe);
    exes.map(|exe| exe.to_string_lossy().into_owned()).collect()
}

/// What a comment in the place says, if it says to leave the rule's finding alone.
fn comment_against(request: &Request, change: &ChangeRequest, disk: &Disk) -> Option<String> {
    let rule = request.rule.as_deref().filter(|_| change.location.place.make.is_none())?;
    // A place that is not certain may be tried, too.
    let location = Destination { confidence: Confidence::High, ..change.location.clone() };
    let plan = plan(&location, &change.variable, change.value.as_deref(), disk).ok()?;
    ignored(&plan, rule, disk)
}

/// The place. A value that the programs would misread is refused first.
fn locate(request: &Request, disk: &Disk) -> Result<Found, EnvironmentError> {
    let Request { variable, value, .. } = request;
    let value = value.as_deref();
    match &request.subject {
        Subject::Gone(why) => Err(why.clone().into()),
        Subject::Machine => Err("name what runs it (--unit, --pid, --in)".into()),
        Subject::File(file, part) => {
            let path = file.to_str().ok_or("the file's name is not UTF-8")?;
            let location = location_of_file(path, part.as_deref(), disk)?;
            let reached = Reached::readers(&location, variable, disk)?;
            reached.check(variable, value)?;
            Ok(Found { location, named: None, reached })
        }
        Subject::Process(pid) => {
            let (chain, mut origin) = origin_of_process(*pid, variable)?;
            let me = chain.last().ok_or_else(|| format!("there is no process {pid}"))?;
            let reached = reached_by_process(me, None, me.exe.iter().cloned().collect())?;
            reached.check(variable, value)?;
            let deciding = deciding(None, *pid, variable);
            if deciding != *pid {
                origin = origin_of_process(deciding, variable)?.1;
            }
            let outside = origin.locations.first().is_some_and(|l| l.place.outside_of_container);
            if !me.shares_root && !outside && !sees_our_files(me, &origin) {
                return Err(
                    "it runs in a container or another root: change the file that starts it \
                            (--in FILE), or print the line for its image (--format dockerfile)"
                        .into(),
                );
            }
            Ok(Found {
                location: best(origin)?,
                named: Some(format!("{}[{pid}]", me.name())),
                reached,
            })
        }
        Subject::Unit(unit) => {
            let origin = match main_process(unit) {
                Some(pid) => origin_of_process(deciding(Some(unit), pid, variable), variable)?.1,
                None => match reaches_nobody(unit) {
                    Some(why) => return Err(why.into()),
                    None => origin_of_stopped_unit(unit, variable, false)?,
                },
            };
            let reached = reached_by_unit(unit, variable)?;
            reached.check(variable, value)?;
            Ok(Found { location: best(origin)?, named: Some(unit.clone()), reached })
        }
        Subject::UserUnit(unit) => match main_process_of(unit, true) {
            Some(pid) => {
                locate(&Request { subject: Subject::Process(pid), ..request.clone() }, disk)
            }
            None => {
                let reached = Reached::stopped(unit, variable, true)?;
                reached.check(variable, value)?;
                let location = best(origin_of_stopped_unit(unit, variable, true)?)?;
                Ok(Found { location, named: Some(unit.clone()), reached })
            }
        },
    }
}

/// Whether the process sees our file at the place of the change.
fn sees_our_files(process: &ProcInfo, origin: &VariableTrace) -> bool {
    let file = origin.locations.first().and_then(|location| location.file.as_deref());
    process.sees_ours(file.unwrap_or("/etc"))
}

fn best(origin: VariableTrace) -> Result<Destination, EnvironmentError> {
    let mut locations = origin.locations.into_iter();
    locations.next().ok_or_else(|| "no place is known where a change would reach it".into())
}
