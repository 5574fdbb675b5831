//! Which file TZ and TZDIR name, and whether a call is about it.

use crate::View;
use crate::engine::helpers;
use crate::engine::helpers::heeds_variables;
use crate::mechanism::zone::zone_name;
use needless_model::{Errno, Process, Row};

/// Whether this may be a zone in a directory that TZDIR names.
pub(crate) fn may_be_zone(path: &str) -> bool {
    zone_name(path).is_none() && path.split('/').any(|part| AREAS.contains(&part))
}

/// The directories of the tz database.
pub(crate) const AREAS: [&str; 10] = [
    "Africa",
    "America",
    "Antarctica",
    "Asia",
    "Atlantic",
    "Australia",
    "Etc",
    "Europe",
    "Indian",
    "Pacific",
];

/// The directory in which the C library looks for the zone in TZ, if it is not the usual one.
/// Set-user-ID programs ignore the variable.
pub(crate) fn tzdir(process: &Process) -> Option<&str> {
    let dir = process.env.value("TZDIR").filter(|dir| !dir.is_empty())?;
    let usual = dir.trim_end_matches('/') == "/usr/share/zoneinfo";
    let relative = !tz(process)?.starts_with('/');
    (relative && !usual && heeds_variables(process)).then_some(dir)
}

/// TZ without the colon that it may start with.
fn tz(process: &Process) -> Option<&str> {
    let value = process.env.value("TZ").filter(|value| !value.is_empty())?;
    Some(value.strip_prefix(':').unwrap_or(value))
}

/// The file that TZ names, if its path does not show that it is a zone's: TZ is an absolute path, or
/// TZDIR names the directory.
pub(crate) fn elsewhere(process: &Process) -> Option<String> {
    let name = tz(process)?;
    let path = match tzdir(process) {
        Some(dir) => format!("{dir}/{name}"),
        None if name.starts_with('/') => name.to_owned(),
        None => return None,
    };
    zone_name(&path).is_none().then_some(path)
}

/// Whether the row is about the zone `name`.
pub(crate) fn named(view: &View<'_>, process: &Process, row: &Row, name: &str) -> bool {
    let path = view.profile.path(row);
    let elsewhere = || elsewhere(process).is_some_and(|at| helpers::is_at(view, row, &at));
    path == name || zone_name(path) == Some(name) || elsewhere()
}

/// Whether there is no zone: no file, or one that is known to be something else.
pub(crate) fn is_none(view: &View<'_>, process: &Process, row: &Row) -> bool {
    row.failed(Errno::ENOENT)
        || row.ok()
            && process.shares_root
            && view.profile.host.zone_files.get(view.profile.path(row)) == Some(&false)
}
