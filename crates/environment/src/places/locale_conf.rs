//! /etc/locale.conf, systemd's file for the locale: locale.conf(5).

use super::environment_file;
use crate::place::{DEFAULT, Place};
use crate::readers::ReadBy;
use crate::started_by::StartedBy;
use needless_model::Visibility;

const FILE: &str = "/etc/locale.conf";

/// systemd's locale.
pub static LOCALE_CONF: Place = Place {
    name: "locale.conf",
    files: FILE,
    reaches: "units of systemd, by PID 1",
    read_by: ReadBy::Everybody("service"),
    effect: "the next boot, or systemctl daemon-reexec",
    find: environment_file::find,
    put: environment_file::put,
    is_file: |path, _| path.is(FILE),
    scan: |sources| {
        let reaches = match sources.started_by {
            StartedBy::Unit { .. } => Visibility::Yes("PID 1 reads it for all units".into()),
            _ => Visibility::No("only PID 1 reads it, for units".into()),
        };
        sources.file(FILE, environment_file::find, None, reaches);
    },
    ..DEFAULT
};
