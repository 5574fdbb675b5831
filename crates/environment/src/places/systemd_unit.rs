//! Units of systemd, of the system and of users, and the files that their `EnvironmentFile=` names.

use super::unit_command::on_the_way;
use super::{environment_file, php_fpm, quadlet, shared_file, systemd};
use crate::activation::Activation;
use crate::answer::hint;
use crate::last_change::own_change;
use crate::pam::{pam_location, pam_sets};
use crate::place::{CheckStyle, DEFAULT, Destination, LocationQuery, Place};
use crate::places::pam_env::{DEFAULT_LOCALE, PAM_ENV};
use crate::readers::{ReadBy, reach_of_drop_in};
use crate::running::{
    main_process, main_process_of, systemd_runs, template_of_connections, unit_will_use,
};
use crate::sources::User;
use crate::start_path::StartPath;
use crate::started_by::{Launcher, Started, StartedBy};
use crate::unit::{self, SettingKind, Unit, UnitSetting};
use needless_host::ProcInfo;
use needless_model::Confidence;

/// A drop-in of a system unit.
pub static SYSTEMD_UNIT: Place = Place {
    name: "systemd unit",
    files: "/etc/systemd/system/UNIT.d/zz-needless.conf",
    reaches: "the unit's processes, unless a program in it builds a new environment",
    read_by: ReadBy::DropIn,
    effect: "systemctl daemon-reload, then a restart of the unit",
    check: &["systemd-analyze", "verify"],
    check_style: CheckStyle::UnitDropIn,
    find: systemd::find,
    put: systemd::put,
    // Not system.conf or journald.conf, which have no [Service].
    is_file: |path, _| path.below("/systemd/system/") && path.below(".d/") && path.ends(".conf"),
    locate: |query| match query.started_by {
        StartedBy::Unit { name, how } => system_unit(query, name, *how).into_iter().collect(),
        _ => Vec::new(),
    },
    reload: &Activation::DaemonReload { user: false },
    refuses,
    ..DEFAULT
};

/// A file that a unit's `EnvironmentFile=` names. Which units do, their own format finds out.
pub static ENVIRONMENT_FILE: Place = Place {
    name: "EnvironmentFile",
    files: "what EnvironmentFile= of a unit names",
    reaches: "the units that name it; stronger than Environment=",
    read_by: ReadBy::Anyone(shared_file::place_for),
    effect: "a restart of the unit",
    find: environment_file::find,
    put: environment_file::put,
    ..DEFAULT
};

/// A drop-in of a user's unit.
pub static USER_UNIT: Place = Place {
    name: "systemd user unit",
    files: "~/.config/systemd/user/UNIT.d/zz-needless.conf",
    reaches: "the unit's processes",
    read_by: ReadBy::DropIn,
    effect: "systemctl --user daemon-reload, then a restart of the unit",
    check: &["systemd-analyze", "--user", "verify"],
    check_style: CheckStyle::UnitDropIn,
    find: systemd::find,
    put: systemd::put,
    is_file: |path, _| path.below("/systemd/user/") && path.below(".d/") && path.ends(".conf"),
    locate: |query| match query.started_by {
        StartedBy::UserUnit { name, uid } => user_unit(query, name, *uid).into_iter().collect(),
        _ => Vec::new(),
    },
    reload: &Activation::DaemonReload { user: true },
    refuses,
    ..DEFAULT
};

/// Where files are made anew, at least at each boot (file-hierarchy(7)).
const VOLATILE: [&str; 4] = ["/run/", "/var/run/", "/tmp/", "/dev/shm/"];
/// The name of our drop-in: systemd reads drop-ins in the order of their names, and the last one counts.
pub(crate) const DROP_IN: &str = "zz-needless.conf";
const RIVAL: &str = "perhaps a file that sorts after zz-needless.conf sets it or drops all settings (`Environment=`), or \
                     systemd refuses a line of the unit (systemctl status)";

fn refuses(place: &Destination, variable: &str, value: Option<&str>) -> Option<String> {
    let Activation::Restart { unit, user } = &place.activation else { return None };
    let uses = systemd_runs().then(|| unit_will_use(unit, *user, variable, value)).flatten()?;
    (!uses).then(|| format!("{unit} still uses another {variable}: {RIVAL}"))
}

/// The place for a variable of a unit; `None` where a format of its own knows it.
fn system_unit(query: &LocationQuery<'_>, name: &str, how: Started) -> Option<Destination> {
    let unit = unit::read(query.root, name, query.variable, None);
    let of_unit = || own_location(query, &unit, name, how);
    quadlet::source(&unit).is_none().then(of_unit)
}

fn own_location(query: &LocationQuery<'_>, unit: &Unit, name: &str, how: Started) -> Destination {
    use Confidence::{High, Low};
    let connections = query.root.is_ours().then(|| template_of_connections(name)).flatten();
    // What a connection started ends with it; which instances of a template run is found out later.
    let restart = match connections.is_some() || name.contains("@.") {
        true => Activation::Unknown,
        false => Activation::restart(name),
    };
    let (confidence, why) =
        how_sure(query, unit, name, how, &|pid| main_process(name) == Some(pid));
    if let Some(why) = by_hand(unit, name, query.variable) {
        return Destination::new(&SYSTEMD_UNIT, None, why, Low);
    }
    if let Some(service) = &unit.pam
        && pam_sets(query.root, service, query.variable)
    {
        let who =
            format!("{name} has PAMName={service}, which is stronger than its own variables, and");
        let formats = [&PAM_ENV, &DEFAULT_LOCALE];
        return pam_location(query.root, service, query.variable, &who, formats)
            .activation(restart);
    }
    if let Some(file) = from_file(unit) {
        if VOLATILE.iter().any(|dir| file.starts_with(dir)) {
            let why = format!(
                "{file} sets it (EnvironmentFile=), and a program makes that file anew: change that program"
            );
            return Destination::new(&ENVIRONMENT_FILE, None, why, Low);
        }
        // What reaches the process is as uncertain as what the unit itself sets.
        let why = if confidence == High { reads(name) } else { why };
        return Destination::new(&ENVIRONMENT_FILE, file, why, confidence).activation(restart);
    }
    if let Some(location) = on_the_way(query, unit, name, &SYSTEMD_UNIT) {
        return location.activation(restart);
    }
    let (confidence, why) = doubted(query, unit, name, confidence, why);
    // A unit that is gone after the next boot leaves no drop-in behind.
    let gone =
        unit.fragment.as_deref().is_some_and(|file| file.starts_with("/run/systemd/system/"));
    let dir = if gone { "/run/systemd/system" } else { "/etc/systemd/system" };
    let file = drop_in(unit, dir, connections.as_deref().unwrap_or(name));
    let location = Destination::new(&SYSTEMD_UNIT, file, why, confidence).activation(restart);
    let passed = query.process().and_then(|process| process.initial.text());
    let in_its_files = |value| unit.settings.iter().any(|s| s.value.as_deref() == Some(value));
    if passed.is_some_and(|value| !in_its_files(value)) {
        return from_elsewhere(query, how, location);
    }
    if connections.is_some() {
        return location.caveat(
            "Each connection starts an instance of its own: the next ones get it, those that run do not.",
        );
    }
    match query.process().and_then(|process| for_its_children(query, process)) {
        Some(caveat) => location.caveat(&caveat),
        None => location,
    }
}

/// The place where the process was started with a value that none of the unit's files has.
fn from_elsewhere(query: &LocationQuery<'_>, how: Started, location: Destination) -> Destination {
    match query.process().filter(|_| how == Started::Rebuilt) {
        // A restart would only show it once more.
        Some(process) => {
            let why = format!(
                "{}, with a value that is in none of its files ({})",
                location.why,
                hint(process)
            );
            Destination::new(&SYSTEMD_UNIT, None, why, Confidence::Low)
        }
        None => location.caveat(
            "It was started with a value that is in none of its files: if its command sets the variable, that is \
             stronger.",
        ),
    }
}

/// How sure it is, and why, in view of what the program and the files of the unit do.
fn doubted(
    query: &LocationQuery<'_>,
    unit: &Unit,
    name: &str,
    mut confidence: Confidence,
    mut why: String,
) -> (Confidence, String) {
    use Confidence::{High, Medium};
    let passed = query.process().and_then(|process| process.initial.text());
    let given = unit.effective().and_then(|setting| setting.value.as_deref());
    let way = StartPath::of_unit(query.root, query.variable, unit);
    let has_script = way.script_between(query.process()).is_some();
    if query.process().is_some_and(|process| own_change(process).is_some()) {
        if confidence == High {
            confidence = Medium;
        }
        why = format!("{why}; but the program changes {} itself, after its start", query.variable);
    } else if confidence == Medium && passed.is_some() && passed == given && !has_script {
        confidence = High;
        why =
            format!("{name} sets the value that the process has: what is in between passes it on");
    } else if confidence == High && !unit.unread.is_empty() {
        confidence = Medium;
        why = format!("{why}; but a file of it that may be stronger could not be read");
    }
    (confidence, why)
}

/// How sure it is that a variable of the unit reaches the process, and why; `is_main`: whether a process is the unit's
/// main one.
fn how_sure(
    query: &LocationQuery<'_>,
    unit: &Unit,
    name: &str,
    how: Started,
    is_main: &dyn Fn(u32) -> bool,
) -> (Confidence, String) {
    use Confidence::{High, Low, Medium};
    let way = StartPath::of_unit(query.root, query.variable, unit);
    let is_known = query.process().and_then(|me| way.has_program(me));
    let script = way.script_between(query.process());
    if let Some(script) = script.filter(|_| how != Started::Rebuilt) {
        let why = format!(
            "{name} starts the script {script}, which may change the variable before its program has it"
        );
        return (Medium, why);
    }
    match how {
        Started::Directly if is_known == Some(false) => {
            let program = way.programs.last().map_or("", String::as_str);
            let runs = query.process().map_or("another program", ProcInfo::name);
            (
                Medium,
                format!(
                    "{name} starts {program}, and its process runs {runs}: perhaps the one became the other and changed the variable, or the unit was edited since"
                ),
            )
        }
        Started::Directly if matches!(query.started_by, StartedBy::UserUnit { .. }) => {
            (High, format!("the user's systemd starts {name}"))
        }
        Started::Directly => (High, format!("systemd itself starts it, as {name}")),
        Started::ByAnother | Started::Unknown
            if is_known == Some(true)
                && query.root.is_ours()
                && query.process().is_some_and(|me| is_main(me.pid)) =>
        {
            (
                High,
                format!(
                    "it is the main process of {name}, and the program that systemd starts: it has only forked"
                ),
            )
        }
        Started::ByAnother => (
            Medium,
            format!(
                "it belongs to {name}, but another program in that unit started it, which may not pass the variable on"
            ),
        ),
        Started::Unknown => {
            (Medium, format!("it belongs to {name}; how it was started could not be read"))
        }
        Started::Rebuilt => (
            Low,
            format!(
                "it belongs to {name}, but its environment does not come from systemd: another program built it"
            ),
        ),
    }
}

/// What is to be known of a change for a program that starts others.
fn for_its_children(query: &LocationQuery<'_>, process: &ProcInfo) -> Option<String> {
    if let Some(caveat) = php_fpm::workers_without_it(query.root, process) {
        return Some(caveat);
    }
    let caveat = match Launcher::of(process)? {
        Launcher::Cron | Launcher::At => {
            "Its jobs do not get it: they have an environment of their own."
        }
        Launcher::Supervisord => "Every program that it starts gets it, too.",
        Launcher::Ssh if query.variable == "TZ" => "Every session of it gets it, too.",
        _ => return None,
    };
    Some(caveat.to_owned())
}

fn user_unit(query: &LocationQuery<'_>, name: &str, uid: u32) -> Option<Destination> {
    use Confidence::{High, Low};
    let user = User::of(query.root, uid)?;
    let unit = unit::read(query.root, name, query.variable, Some(&user));
    let restart = Activation::Restart { unit: name.to_owned(), user: true };
    if unit.is_transient() {
        return None;
    }
    // One that does not run will be started.
    let direct = |process: &ProcInfo| {
        process.marks.get("SYSTEMD_EXEC_PID") == Some(&process.own_pid.to_string())
    };
    let how =
        if query.process().is_none_or(direct) { Started::Directly } else { Started::ByAnother };
    let mine = uid == rustix::process::geteuid().as_raw();
    let is_main = |pid| mine && main_process_of(name, true) == Some(pid);
    let (confidence, why) = how_sure(query, &unit, name, how, &is_main);
    if let Some(why) = by_hand(&unit, name, query.variable) {
        return Some(Destination::new(&USER_UNIT, None, why, Low));
    }
    if let Some(file) = quadlet::source(&unit) {
        let why =
            format!("{file} makes {name}: change Environment= of its [Container] there by hand");
        return Some(Destination::new(&USER_UNIT, None, why, Low));
    }
    if let Some(file) = from_file(&unit) {
        let why = if confidence == High { reads(name) } else { why };
        let location = Destination::new(&ENVIRONMENT_FILE, file, why, confidence);
        return Some(location.activation(restart));
    }
    if let Some(location) = on_the_way(query, &unit, name, &USER_UNIT) {
        return Some(location.activation(restart));
    }
    let (confidence, why) = doubted(query, &unit, name, confidence, why);
    let file = drop_in(&unit, &format!("{}/.config/systemd/user", user.home), name);
    Some(Destination::new(&USER_UNIT, file, why, confidence).activation(restart))
}

/// The file of `EnvironmentFile=` that sets the variable, if that is the setting that counts.
fn from_file(unit: &Unit) -> Option<String> {
    let setting = unit.effective().filter(|setting| setting.kind == SettingKind::File)?;
    Some(setting.file.clone())
}

fn reads(unit: &str) -> String {
    format!("{unit} reads it (EnvironmentFile=), and it is stronger than Environment=")
}

/// Why no drop-in of ours helps: the unit is made by a command, or a file of others has the last word.
fn by_hand(unit: &Unit, name: &str, variable: &str) -> Option<String> {
    if unit.is_transient() {
        return Some(format!(
            "{name} is transient: what started it (systemd-run) gives it its variables (--setenv={variable}=…)"
        ));
    }
    let setting = unit.effective()?;
    let at = format!("{}:{}", setting.file, setting.line);
    let (dir, file) = setting.file.rsplit_once('/')?;
    let own = format!("/{name}.d");
    match setting.kind {
        SettingKind::Unset if !file.ends_with(DROP_IN) => {
            let reach = match dir.ends_with(".d") && !dir.ends_with(&own) {
                true => format!(", which reaches {}", reach_of_drop_in(&setting.file)),
                false => String::new(),
            };
            Some(format!(
                "{at} removes it (UnsetEnvironment=), whatever is set: change it there{reach}"
            ))
        }
        // What others share is overruled by a later name.
        SettingKind::Environment
            if dir.ends_with(&own) && file > DROP_IN && !file.ends_with(DROP_IN) =>
        {
            Some(format!(
                "{at} sets it, and sorts after {DROP_IN}: change it there (--in {})",
                setting.file
            ))
        }
        _ => None,
    }
}

/// Our drop-in of the unit `name`, in a directory of units. Where one that several units share, or one that drops all
/// settings (`Environment=`), sorts after its usual name, it gets a later name: theirs reach others, too.
fn drop_in(unit: &Unit, units: &str, name: &str) -> String {
    fn last(files: Vec<&str>) -> Option<&str> {
        files.into_iter().filter_map(|file| file.rsplit('/').next()).max()
    }
    let own = format!("{units}/{name}.d/");
    let of_unit = |setting: &&UnitSetting| {
        matches!(setting.kind, SettingKind::Environment | SettingKind::Unset)
    };
    let sets = unit.settings.iter().filter(of_unit).map(|setting| setting.file.as_str());
    let in_drop_in = |file: &&str| file.rsplit('/').nth(1).is_some_and(|dir| dir.ends_with(".d"));
    let is_ours = |file: &&str| file.strip_prefix(&own).is_some_and(|name| name.ends_with(DROP_IN));
    let all = sets.chain(unit.resets.iter().map(String::as_str)).filter(in_drop_in);
    let (ours, others): (Vec<&str>, Vec<&str>) = all.partition(is_ours);
    let ours = last(ours).unwrap_or(DROP_IN);
    let file = match last(others).filter(|other| *other > ours) {
        Some(other) => format!("{}{DROP_IN}", other.trim_end_matches(".conf")),
        None => ours.to_owned(),
    };
    own + &file
}
