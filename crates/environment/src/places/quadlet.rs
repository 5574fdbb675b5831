//! Quadlets: `NAME.container`, of which podman's generator makes a unit of systemd. podman-systemd.unit(5).

use super::systemd::{self, UnitDirective};
use super::{Edit, FoundValue};
use crate::activation::Activation;
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::running::container_will_get;
use crate::started_by::StartedBy;
use crate::unit::{self, Unit};
use needless_host::Root;
use needless_model::Confidence;

/// The quadlet of a system unit.
pub static QUADLET: Place = Place {
    name: "quadlet",
    files: "/etc/containers/systemd/NAME.container",
    reaches: "the container of that unit; what [Service] sets reaches podman, not the container",
    effect: "systemctl daemon-reload, then a restart of the unit, which makes a new container",
    find,
    put,
    is_file: |path, _| path.ends(".container") && !path.below("/.config/"),
    locate: |query| locate(query).into_iter().collect(),
    reload: &Activation::DaemonReload { user: false },
    refuses: |place, variable, value| {
        let unit = place.activation.unit()?;
        let uses = container_will_get(unit, variable, value)?;
        (!uses).then(|| {
            format!("{unit} still uses another {variable}: PodmanArgs= or a drop-in sets it")
        })
    },
    needs_file: true,
    outside_of_container: true,
    ..DEFAULT
};

/// Whether podman's generator made the unit; of which file.
pub(crate) fn source(unit: &Unit) -> Option<&str> {
    unit.source.as_deref().filter(|file| file.ends_with(".container"))
}

/// `Environment=` of `[Container]`, in the grammar of systemd. A `$` is read by systemd once more, in the command line
/// that the generator makes: `$$` stands for one.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let mut found = systemd::assignments(text, "Container", variable);
    for one in &mut found {
        let value = one.value.take().unwrap_or_default();
        one.certain &= !value.replace("$$", "").contains('$');
        one.value = Some(value.replace("$$", "$"));
    }
    found
}

/// The files of `EnvironmentFile=` in `[Container]`, the strongest last; relative ones are beside the quadlet `file`.
pub(crate) fn env_files(text: &str, file: &str) -> Vec<String> {
    let dir = file.rsplit_once('/').map_or("", |(dir, _)| dir);
    let mut files = Vec::new();
    for (_, said) in systemd::directives(text, "Container", "Environment") {
        match said {
            UnitDirective::ResetFiles => files.clear(),
            UnitDirective::File(path, _) if path.starts_with('/') => files.push(path),
            UnitDirective::File(path, _) => {
                files.push(format!("{dir}/{}", path.trim_start_matches("./")))
            }
            _ => {}
        }
    }
    files
}

/// Adds a line at the end of `[Container]`, or changes the one that has this variable alone.
///
/// # Errors
/// When there is no `[Container]`, or when other variables are set in the same line as the one to remove.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let line =
        edit.value.map(|value| systemd::assignment(edit.variable, &value.replace('$', "$$")));
    systemd::put_in_section(text, "Container", edit, line)
}

fn locate(query: &LocationQuery<'_>) -> Option<Destination> {
    let (StartedBy::Unit { name, .. } | StartedBy::Container { unit: Some(name), .. }) =
        query.started_by
    else {
        return None;
    };
    let root = Root::own().ok()?;
    let unit = unit::read(&root, name, query.variable, None);
    let why = format!("podman makes {name} of it, and starts the container with it");
    let file = source(&unit)?;
    let location = Destination::new(&QUADLET, file.to_owned(), why, Confidence::High);
    let location = location.activation(Activation::restart(name));
    Some(match of_all_instances(file) {
        Some(caveat) => location.caveat(&caveat),
        None => location,
    })
}

/// What a change of a template reaches: `NAME@.container`.
fn of_all_instances(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?.strip_suffix("@.container")?;
    Some(format!("it concerns all instances of {name}@.service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_for_all_instances() {
        let caveat = of_all_instances("/etc/containers/systemd/q14@.container");
        assert_eq!(caveat.as_deref(), Some("it concerns all instances of q14@.service"));
        assert_eq!(of_all_instances("/etc/containers/systemd/q14@a.container"), None);
    }

    #[test]
    fn only_the_container_counts() {
        let text =
            "[Container]\nImage=x\nEnvironment=A=1 TZ=a$$b\n\n[Service]\nEnvironment=TZ=no\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::set(2, "a$b")]);
        let edit = |value| Edit { variable: "TZ", value, part: None };
        let new = put(text, &edit(Some("Asia/Tokyo"))).unwrap();
        let line = "Environment=\"TZ=Asia/Tokyo\"\n";
        assert_eq!(new, text.replace("\n\n[Service]", &format!("\n{line}\n[Service]")));
        let again = put(&new, &edit(Some("UTC"))).unwrap();
        assert_eq!(again, new.replace("Asia/Tokyo", "UTC"));
        assert!(put(text, &edit(None)).is_err());
        assert_eq!(put("[Container]\nEnvironment=TZ=a\n", &edit(None)).unwrap(), "[Container]\n");
        assert!(put("[Service]\n", &edit(Some("UTC"))).is_err());
    }
}
