//! What `fix` sets besides variables. Each is a place with a file of its own: it is planned, written through the journal,
//! brought into force, looked at and taken back as a variable is. What is particular to one is in one file here.

mod apache;
mod caches;
mod modules;
mod nginx;
mod open_files;
mod php;
mod preload_file;

use crate::activation::WorkerQuery;
use crate::error::EnvironmentError;
use crate::in_force::Seen;
use crate::merge::ChangeRequest;
use crate::place::{Destination, Place};
use crate::places::Edit;
use crate::places::systemd::LIMIT;
use crate::request::{Modules, Request, Subject};
use crate::running::{main_process, main_process_of, unit_name};
use needless_host::{Service, ServiceKind, ancestry, command, start_time};
use needless_model::{Confidence, Setting};
use std::time::{Duration, SystemTime};

/// The places that a running process is looked at for.
pub(crate) static SETTINGS: &[&Place] = &[
    &open_files::UNIT_LIMIT,
    &open_files::USER_UNIT_LIMIT,
    &nginx::OPEN_FILE_CACHE,
    &php::REALPATH_CACHE,
    &apache::OVERRIDES,
];

/// Whether this is the name of something that we set and that is no variable: its value is no secret.
pub(crate) fn is_name(name: &str) -> bool {
    [LIMIT, nginx::NAME, php::NAME, apache::NAME].contains(&name)
}

/// The change that makes a setting, at its place.
///
/// # Errors
/// In a sentence: there is no place for it, or it would do harm there.
pub(crate) fn change(
    setting: Setting,
    request: &Request,
) -> Result<ChangeRequest, EnvironmentError> {
    let subject = &request.subject;
    let mut change = match setting {
        Setting::OpenFiles => open_files::change(&unit_of(setting, subject)?)?,
        Setting::NginxOpenFileCache => nginx::change(&unit_of(setting, subject)?)?,
        Setting::ApacheOverrides => apache::change(&unit_of(setting, subject)?)?,
        Setting::PhpRealpathCache => php::change(&unit_of(setting, subject)?)?,
        Setting::LoaderCache => of_machine(setting, &caches::LOADER, subject, None)?,
        Setting::FontCache => of_machine(setting, &caches::FONTS, subject, None)?,
        Setting::PreloadFile => of_machine(setting, &preload_file::PRELOAD_FILE, subject, None)?,
        Setting::PythonBytecode => {
            let modules = request.modules.as_ref();
            let modules = modules.ok_or("the finding names no directory of modules")?;
            of_machine(setting, &modules::MODULES, subject, Some(modules))?
        }
    };
    change.rules.extend(request.rule.clone());
    change.caveats.splice(0..0, request.caveat.clone());
    Ok(change)
}

/// What to do by hand for a container, which has files and limits of its own.
pub(crate) fn in_image(setting: Setting) -> &'static str {
    match setting {
        Setting::OpenFiles => "start the container with `--ulimit nofile=1024:524288`",
        Setting::NginxOpenFileCache => "set open_file_cache in the configuration of its image",
        Setting::LoaderCache => "`RUN ldconfig` in its Dockerfile, after the last library",
        Setting::FontCache => "`RUN fc-cache -f` in its Dockerfile, after the last font",
        Setting::PreloadFile => "take the library out of /etc/ld.so.preload of its image",
        Setting::ApacheOverrides => "set AllowOverride None in the configuration of its image",
        Setting::PhpRealpathCache => "set realpath_cache_size in the PHP settings of its image",
        Setting::PythonBytecode => "`RUN python3 -m compileall DIRECTORY` in its Dockerfile",
    }
}

/// A change of the one file that all programs of the machine share, or of a directory of modules.
fn of_machine(
    setting: Setting,
    place: &'static Place,
    subject: &Subject,
    modules: Option<&Modules>,
) -> Result<ChangeRequest, EnvironmentError> {
    let (pid, target) = match subject {
        Subject::Machine => (None, None),
        Subject::Process(pid) => (Some(*pid), command(*pid).map(|name| format!("{name}[{pid}]"))),
        Subject::Unit(unit) => (main_process(unit), Some(unit.clone())),
        Subject::UserUnit(unit) => (main_process_of(unit, true), Some(unit.clone())),
        Subject::File(..) => return Err("--in names a file that sets variables".into()),
        Subject::Gone(why) => return Err(why.clone().into()),
    };
    let file = modules.map_or(place.files, |modules| &modules.directory);
    if pid.map(|pid| sees_ours(pid, file)).transpose()? == Some(false) {
        let by_hand = in_image(setting);
        return Err(format!("it runs in a container or another root: {by_hand}").into());
    }
    let why = match modules {
        Some(_) => {
            "Python found no compiled forms of its modules, and the program could not write them"
        }
        None => "all programs of this machine share it",
    };
    let mut location = Destination::new(place, file.to_owned(), why, Confidence::High);
    location.part = modules.map(|modules| modules.interpreter.clone());
    Ok(ChangeRequest {
        location,
        variable: place.name.to_owned(),
        value: None,
        rules: Vec::new(),
        times: Vec::new(),
        caveats: Vec::new(),
        targets: target.into_iter().collect(),
    })
}

/// A unit, by its name with its suffix.
struct ChangedUnit {
    name: String,
    /// Whether it is one of the caller's own systemd.
    user: bool,
}

/// The unit that the subject is, or belongs to.
fn unit_of(setting: Setting, subject: &Subject) -> Result<ChangedUnit, EnvironmentError> {
    let unit = |name, user| Ok(ChangedUnit { name, user });
    match subject {
        Subject::Unit(name) => unit(unit_name(name), false),
        Subject::UserUnit(name) => unit(unit_name(name), true),
        Subject::Gone(why) => Err(why.clone().into()),
        Subject::File(..) | Subject::Machine => Err("name the unit (--unit)".into()),
        Subject::Process(pid) => {
            let service =
                Service::of_pid(*pid).map_err(|_| format!("there is no process {pid}"))?;
            let me = format!("user@{} ", rustix::process::geteuid().as_raw());
            match (service.kind, service.name.strip_prefix(&me)) {
                (ServiceKind::Unit, _) if service.name.ends_with(".service") => {
                    unit(service.name.clone(), false)
                }
                (ServiceKind::UserUnit, Some(name)) => unit(name.to_owned(), true),
                (kind, _) if kind.is_container() => {
                    Err(format!("it belongs to {service}: {}", in_image(setting)).into())
                }
                _ => Err(format!(
                    "it belongs to {service}, which is no service of this systemd: set it where that is started"
                )
                .into()),
            }
        }
    }
}

/// Whether the process `pid` has what the place named `name` sets to `value`. `before`: the process that ran before the
/// change, and its start; `reloads`: whether a reload of the daemon starts such processes with it.
pub(crate) fn seen(
    (name, value): (&str, &str),
    pid: u32,
    before: Option<(u32, u64)>,
    reloads: bool,
) -> Seen {
    let who = format!("{}[{pid}]", command(pid).unwrap_or_default());
    let same = start_time(pid).is_some_and(|start| before == Some((pid, start)));
    let look = SETTINGS.iter().find(|place| place.name == name).and_then(|place| place.look);
    match look.and_then(|look| look(pid, value)) {
        _ if reloads && !same => Seen::InForce(who),
        Some(Ok(())) => Seen::InForce(who),
        None => Seen::Unknown(format!("{who} cannot be looked at")),
        Some(Err(_)) if same => Seen::Pending(format!("{who} was started before the change")),
        Some(Err(has)) => Seen::Missing(format!("{who} has {has}")),
    }
}

/// The command line of a process; a daemon may have made it a title.
fn title(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ").trim_end().to_owned()
}

/// The process that was started last, of those with such a title: a reload starts new workers.
fn newest(of: &WorkerQuery<'_>, titled: impl Fn(&str) -> bool) -> Option<u32> {
    let all = of.processes.iter().copied();
    all.filter(|pid| titled(&title(*pid))).max_by_key(|pid| start_time(*pid))
}

/// The value to write into a file of ours, which begins with `note`.
fn value_of_ours<'e>(text: &str, note: &str, edit: &Edit<'e>) -> Result<&'e str, EnvironmentError> {
    if !text.is_empty() && !text.starts_with(note) {
        return Err("needless did not write it: look at it by hand".into());
    }
    Ok(edit.value.ok_or("it is set, and not removed")?)
}

/// Whether the process is newer than the file. Both clocks are coarse.
fn is_newer(pid: u32, file: &str) -> Option<bool> {
    let written = std::fs::metadata(file).ok()?.modified().ok()?;
    let started = ancestry(pid, "PATH").ok()?.last()?.started_at()?;
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(started);
    Some(started > written + Duration::from_secs(2))
}

/// Whether a process sees this machine's file at `path`.
fn sees_ours(pid: u32, path: &str) -> Result<bool, EnvironmentError> {
    let chain = ancestry(pid, "PATH")?;
    Ok(chain.last().is_some_and(|me| me.shares_root || me.sees_ours(path)))
}
