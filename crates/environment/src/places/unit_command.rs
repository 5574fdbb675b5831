//! The place for a variable of a unit whose command line, or a script that it starts, has the last word about it.

use super::env_file::ENV_FILE;
use super::init_script::DEFAULTS;
use super::quadlet;
use super::systemd_unit::SYSTEMD_UNIT;
use super::wrapper::WRAPPER;
use crate::activation::Activation;
use crate::last_change::is_younger;
use crate::place::{Destination, LocationQuery, Place};
use crate::start_path::{How, StartPath};
use crate::unit::{self, Unit};
use needless_host::{ProcInfo, Root};
use needless_model::Confidence;

/// The place where the unit's command line or a script of it sets or removes the variable, after systemd.
/// `format`: that of the unit.
pub(super) fn on_the_way(
    query: &LocationQuery<'_>,
    unit: &Unit,
    name: &str,
    place: &'static Place,
) -> Option<Destination> {
    use Confidence::{High, Low, Medium};
    let way = StartPath::of_unit(query.root, query.variable, unit);
    let plain =
        |file: &str| ["/etc/default/", "/etc/sysconfig/"].iter().any(|dir| file.starts_with(dir));
    if let Some(location) = into_container(query, &way, name) {
        return Some(location);
    }
    let Some(last) = way.last() else {
        let (file, _) = way.unexported.last().filter(|(file, _)| plain(file))?;
        let why =
            format!("a script that {name} starts sources it, and there it is set without `export`");
        return Some(Destination::new(&DEFAULTS, file.clone(), why, Medium));
    };
    // It may have been changed since the process was started: then that has what it said before. What a line does that is
    // not sure explains nothing.
    let is_other = |me: &ProcInfo| {
        let has_other = me.initial.is_known() && me.initial.text() != last.value.as_deref();
        has_other && !(last.sure && is_younger(query.root, Some(&last.file), me))
    };
    if query.process().is_some_and(is_other) {
        return None;
    }
    let does = if last.value.is_some() { "sets" } else { "removes" };
    let confidence = if last.sure { High } else { Medium };
    let file = last.file.clone();
    Some(match last.how {
        How::Sourced if plain(&file) => {
            let why = format!("the script that {name} starts sources it, after systemd");
            Destination::new(&DEFAULTS, file, why, Medium)
        }
        How::Script => {
            let why = format!(
                "{name} starts this script, and its line {} {does} it, after systemd",
                last.line
            );
            Destination::new(&WRAPPER, file, why, confidence)
        }
        How::Sourced | How::Words(_) | How::EnvFile | How::Quadlet => {
            let what = if let How::Words(words) = last.how {
                format!(" (`{words}`)")
            } else {
                String::new()
            };
            let why = format!(
                "{file}:{} {does} it{what}, after systemd: change it there by hand",
                last.line
            );
            Destination::new(place, None, why, Low)
        }
    })
}

/// The place where the command of a unit gives its container the variable: whatever the unit itself sets reaches only the
/// program that starts the container.
fn into_container(
    query: &LocationQuery<'_>,
    way: &StartPath<'_>,
    name: &str,
) -> Option<Destination> {
    let (file, line) = way.container.as_ref()?;
    if let Some(last) = way.last().filter(|last| last.how == How::EnvFile && last.sure) {
        let why = format!("{name} starts its container with it (--env-file)");
        return Some(Destination::new(&ENV_FILE, last.file.clone(), why, Confidence::High));
    }
    let variable = query.variable;
    let why = match way.made_elsewhere {
        true => format!(
            "{file}:{line} starts a container that is described elsewhere: set {variable} there by hand (its compose \
             file, or -e {variable}=… where it is made) and make it again"
        ),
        false => format!(
            "{file}:{line} starts a container, which gets only what is said there: change it there by hand \
             (-e {variable}=…)"
        ),
    };
    Some(Destination::new(&SYSTEMD_UNIT, None, why, Confidence::Low))
}

/// The same for a process in the container that a unit of the system has started.
pub(crate) fn location_of_container(
    root: &Root,
    query: &LocationQuery<'_>,
    name: &str,
) -> Option<Destination> {
    let unit = unit::read(root, name, query.variable, None);
    let way = StartPath::of_unit(root, query.variable, &unit);
    let known = quadlet::source(&unit).is_none();
    let location = known.then(|| into_container(query, &way, name)).flatten()?;
    Some(location.activation(Activation::restart(name)))
}
