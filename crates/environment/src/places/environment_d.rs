//! environment.d(5): like the files of `EnvironmentFile=`, with variables expanded.

use super::environment_file::{env_lines, word};
use super::{Edit, FoundValue, put_line};
use crate::activation::Activation;
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::sources::User;
use crate::started_by::StartedBy;
use crate::unit;
use needless_model::{Confidence, Visibility};

/// Variables of a user's service manager.
pub static ENVIRONMENT_D: Place = Place {
    name: "environment.d",
    files: "~/.config/environment.d/zz-needless.conf, /etc/environment.d/*.conf",
    reaches: "units of users (user@UID.service), not of the system",
    read_by: ReadBy::Everybody("user unit"),
    effect: "systemctl --user daemon-reload, then a restart of the unit",
    find,
    put,
    is_file: |path, _| path.below("/environment.d/") && path.ends(".conf"),
    scan: |sources| {
        let reaches = match sources.started_by {
            StartedBy::UserUnit { .. } => Visibility::Yes("the user's systemd reads it".into()),
            _ => Visibility::No("only systemd of users reads it, for their units".into()),
        };
        let home = sources.home.iter().map(|home| format!("{home}/.config/environment.d"));
        let dirs: Vec<String> = home.chain(["/etc/environment.d".to_owned()]).collect();
        for dir in dirs {
            for file in sources.in_dir(&dir, ".conf") {
                sources.file(&file, find, None, reaches.clone());
            }
        }
    },
    // A drop-in of a unit is stronger and reaches no other unit; but a transient unit keeps none.
    locate: |query| match query.started_by {
        StartedBy::UserUnit { name, uid } => {
            of_transient_unit(query, name, *uid).into_iter().collect()
        }
        _ => Vec::new(),
    },
    ..DEFAULT
};

fn of_transient_unit(query: &LocationQuery<'_>, name: &str, uid: u32) -> Option<Destination> {
    let user = User::of(query.root, uid)?;
    let unit = unit::read(query.root, name, query.variable, Some(&user));
    if !unit.is_transient() {
        return None;
    }
    let of_its_own =
        unit.settings.iter().any(|setting| unit.fragment.as_ref() == Some(&setting.file));
    let (confidence, why) = if of_its_own {
        let why = format!("the command that made {name} sets it: change it there");
        (Confidence::Low, why)
    } else {
        let why = format!(
            "{name} was made by a command and has no file of its own: it has the variables of the user's systemd"
        );
        (Confidence::High, why)
    };
    let file = format!("{}/.config/environment.d/zz-needless.conf", user.home);
    let location = Destination::new(&ENVIRONMENT_D, file, why, confidence);
    Some(
        location
            .activation(Activation::DaemonReload { user: true })
            .caveat("It reaches every unit of the user that is started from now on."),
    )
}

/// Where `text` sets `variable`. A value with `$` depends on other variables.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = env_lines(text).into_iter().filter(|entry| entry.name == variable);
    all.map(|entry| FoundValue {
        certain: !entry.value.contains('$'),
        ..FoundValue::set(entry.from, entry.value)
    })
    .collect()
}

/// # Errors
/// When the value holds `$`, which is expanded even inside quotes, `\`, or control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if edit.value.is_some_and(|value| value.contains(['$', '\\'])) {
        return Err("environment.d expands $ and \\ in every value: set it by hand".into());
    }
    let all = env_lines(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.name == edit.variable).map(|e| (e.from, e.to)).collect();
    let line = edit.value.map(|value| format!("{}={}", edit.variable, word(value)));
    Ok(put_line(text, edit, &found, line))
}
