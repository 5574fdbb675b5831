//! What `fix` sets besides variables. Each is a place with a file of its own: it is planned, written through the journal,
//! brought into force, looked at and taken back as a variable is. What is particular to one is in one file here.

mod open_files;

use crate::error::EnvironmentError;
use crate::in_force::Seen;
use crate::merge::ChangeRequest;
use crate::place::Place;
use crate::places::systemd::LIMIT;
use crate::request::{Request, Subject};
use crate::running::unit_name;
use needless_host::{Service, ServiceKind, command, start_time};
use needless_model::Setting;

/// The places that a running process is looked at for.
pub(crate) static SETTINGS: &[&Place] = &[&open_files::UNIT_LIMIT, &open_files::USER_UNIT_LIMIT];

/// Whether this is the name of something that we set and that is no variable: its value is no secret.
pub(crate) fn is_name(name: &str) -> bool {
    name == LIMIT
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
    };
    change.rules.extend(request.rule.clone());
    change.caveats.splice(0..0, request.caveat.clone());
    Ok(change)
}

/// What to do by hand for a container, which has files and limits of its own.
pub(crate) fn in_image(setting: Setting) -> &'static str {
    match setting {
        Setting::OpenFiles => "start the container with `--ulimit nofile=1024:524288`",
    }
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
        Subject::File(..) => Err("name the unit (--unit)".into()),
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
