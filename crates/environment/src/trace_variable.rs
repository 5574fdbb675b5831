//! Where a variable of a process comes from: from the first ancestor to the process, with the files that set it.

use crate::answer::Facts;
use crate::container;
use crate::coverage::not_looked_at;
use crate::crontab;
use crate::hand_line::VALUE;
use crate::last_change::{judged, own_change, passed_on, source};
use crate::place::{Destination, LocationQuery};
use crate::place_list::{locations, search_files};
use crate::places::Edit;
use crate::places::apache::NOT_PASSED_ON;
use crate::places::cron;
use crate::places::shell;
use crate::places::wrapper::WRAPPER;
use crate::sources::{User, says};
use crate::start_path::{How, StartPath};
use crate::started_by::{self, Launcher, Started, StartedBy, is_login, starts_anew, whitelists};
use crate::surrounding_unit;
use crate::unit;
use crate::unit_assignments::{NOT_EXPORTED, unit_assignments, unit_of, way_assignments};
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Confidence, Location, Provenance, Step, Value, Visibility};

/// Where a variable comes from, and where a change would be made.
#[derive(Debug)]
pub struct VariableTrace {
    /// Where it comes from.
    pub provenance: Provenance,
    /// Where a change belongs, best first.
    pub locations: Vec<Destination>,
}

/// Where `variable` of the last process of `chain` comes from. `root`: the file system as that process sees it.
pub(crate) fn trace_variable(chain: &[ProcInfo], variable: &str, root: &Root) -> VariableTrace {
    let started_by = started_by::of(chain);
    let me = chain.last();
    let uid = chain.last().map_or(0, |process| process.uid);
    let sources = search_files(root, variable, &started_by, uid);
    let (mut found, mut unread) = (sources.assignments, sources.unread);
    let unit = unit_of(root, variable, &started_by, uid);
    let mut by_unit = None;
    if let Some((name, unit)) = &unit {
        unread.extend(unit.unread.iter().cloned());
        let why = "its files have changed since systemd read them (systemctl daemon-reload)";
        unread.extend(unit.stale.then(|| format!("{name} as systemd has it: {why}")));
        by_unit = unit_assignments(root, variable, name, unit, &mut found);
    }
    let found_way =
        unit.as_ref().map(|(name, unit)| (name, StartPath::of_unit(root, variable, unit)));
    let job = matches!(started_by, StartedBy::Cron)
        .then(|| cron::job_assignments(root, chain, variable, &mut found))
        .flatten();
    // Its command may begin with the variable: what it does then is in the way, too.
    let found_way = found_way.map(|(name, way)| (name.as_str(), way));
    let found_way = found_way.or_else(|| job.map(|job| ("cron", job.way(root, variable))));
    let way =
        found_way.and_then(|(name, way)| way_assignments(variable, name, &way, me, &mut found));
    let way =
        way.or_else(|| container::assignments(&started_by, variable, me, &mut found, &mut unread));
    found.extend(surrounding_unit::assignments(root, variable, &started_by, chain));
    // Where su or sudo only passed it on, the place is that of what started them.
    let giver = source(root, chain, variable);
    let query = LocationQuery { root, chain: giver, variable, started_by: &started_by::of(giver) };
    let mut locations = judged(&query, locations(&query), &found);
    locations.splice(0..0, by_arguments(root, chain, variable));
    files_of_locations(root, variable, &locations, &mut found, &mut unread);
    let steps = steps(chain, variable, &started_by, root);
    unread.extend(unreadable(chain));
    let facts = Facts { root, chain, variable, started_by: &started_by, mentions: &found, way };
    let (answer, or) = facts.answer(by_unit);
    let belongs = belongs(root, variable, &locations);
    let not_looked_at = not_looked_at(&started_by, unit.as_ref().map(|(_, unit)| unit), root);
    let variable = variable.to_owned();
    let provenance =
        Provenance { variable, answer, or, steps, mentions: found, belongs, unread, not_looked_at };
    VariableTrace { provenance, locations }
}

/// The same for a unit that does not run: from its files only. `user`: the one whose systemd has it. `None`: there is no
/// unit of that name.
pub(crate) fn trace_unit(
    name: &str,
    variable: &str,
    root: &Root,
    user: Option<&User>,
) -> Option<VariableTrace> {
    let unit = unit::read(root, name, variable, user);
    unit.fragment.as_ref()?;
    let (name, uid) = (name.to_owned(), user.map_or(0, |user| user.uid));
    let started_by = match user {
        None => StartedBy::Unit { name: name.clone(), how: Started::Directly },
        Some(_) => StartedBy::UserUnit { name: name.clone(), uid },
    };
    let sources = search_files(root, variable, &started_by, uid);
    let (mut mentions, mut unread) = (sources.assignments, sources.unread);
    unread.extend(unit.unread.iter().cloned());
    let by_unit = unit_assignments(root, variable, &name, &unit, &mut mentions);
    let way = StartPath::of_unit(root, variable, &unit);
    let way = way_assignments(variable, &name, &way, None, &mut mentions);
    let by_way = way.filter(|way| way.sure).map(|way| (way.value, way.from));
    let answer = match by_way.or(by_unit) {
        Some((Some(value), from)) => {
            format!("{name} does not run; it would start with {variable}={value}, from {from}")
        }
        Some((None, from)) => format!("{name} does not run; {variable} would be removed by {from}"),
        None => format!("{name} does not run; nothing in its files sets {variable}"),
    };
    let locations =
        locations(&LocationQuery { root, chain: &[], variable, started_by: &started_by });
    let belongs = belongs(root, variable, &locations);
    let (variable, or, steps) = (variable.to_owned(), Vec::new(), Vec::new());
    let not_looked_at = not_looked_at(&started_by, Some(&unit), root);
    let provenance =
        Provenance { variable, answer, or, steps, mentions, belongs, unread, not_looked_at };
    Some(VariableTrace { provenance, locations })
}

/// The places as they are shown; of one into which no tool writes, with the line to write by hand.
fn belongs(root: &Root, variable: &str, locations: &[Destination]) -> Vec<Location> {
    let shown = |location: &Destination| {
        let mut shown = location.summary();
        if let Some(file) = location.file.as_ref().filter(|_| location.place.is_by_hand()) {
            let text = root.read(file).unwrap_or_default();
            let edit = Edit { variable, value: Some(VALUE), part: location.part.as_deref() };
            let by_hand = location.place.by_hand(&String::from_utf8_lossy(&text), &edit);
            if let Ok(Some(by_hand)) = by_hand {
                shown.why += &format!("; no tool writes there: {by_hand}");
            }
        }
        shown
    };
    locations.iter().map(shown).collect()
}

/// The value that the files of the unit `name` give it; `None` where they give none, or an unknown one.
pub fn value_of_unit(name: &str, variable: &str, root: &Root) -> Option<String> {
    unit::read(root, name, variable, None).effective()?.value.clone()
}

/// Reads the files in which a change would be made, if they were not read yet: only this way of starting reads them.
fn files_of_locations(
    root: &Root,
    variable: &str,
    locations: &[Destination],
    found: &mut Vec<Assignment>,
    unread: &mut Vec<String>,
) {
    for location in locations {
        let Some(file) = &location.file else { continue };
        let outside = location.place.outside_of_container.then(|| Root::own().ok()).flatten();
        let root = outside.as_ref().unwrap_or(root);
        if found.iter().any(|assignment| assignment.file == *file) {
            continue;
        }
        match crontab::text(root, file) {
            Ok(text) => {
                let mut add = |line, says, reaches| {
                    found.push(Assignment { file: file.clone(), line, says, reaches });
                };
                for value in location.place.find(&text, variable, location.part.as_deref()) {
                    let says = says(variable, value.value.as_deref());
                    let reaches = value.reach.of_line(Visibility::Yes(location.why.clone()));
                    add(value.line, says, reaches);
                }
                if location.place.needs_export
                    && let Some(line) = shell::unexported(&text, variable)
                {
                    let why = "a variable that is not exported reaches no program";
                    let says = format!("{variable}{NOT_EXPORTED}");
                    add(line, says, Visibility::No(why.into()));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => unread.push(format!("{file}: {error}")),
        }
    }
}

fn steps(chain: &[ProcInfo], variable: &str, started_by: &StartedBy, root: &Root) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, info) in chain.iter().enumerate() {
        let mut says = Vec::new();
        if let Some(up) = at.checked_sub(1).map(|at| &chain[at]) {
            says.extend(transition(up, info, variable, started_by, root));
            let kept = Launcher::of(up) == Some(Launcher::Su)
                && whitelists(up, variable)
                && info.initial.text().is_some();
            says.extend(kept.then(|| {
                "kept here: `-w` of su names it, so su passes it on from its caller".to_owned()
            }));
        }
        says.extend(own_change(info));
        steps.push(Step {
            pid: info.pid,
            program: info.exe.clone().unwrap_or_else(|| info.comm.clone()),
            role: role(info).map(str::to_owned),
            initial: info.initial.clone(),
            live: info.live.clone(),
            says,
        });
    }
    steps
}

fn role(info: &ProcInfo) -> Option<&'static str> {
    match Launcher::of(info) {
        Some(Launcher::Shell) if is_login(info) => Some("a login shell"),
        Some(launcher) => Some(launcher.label()),
        None if info.own_pid == 1 => Some("PID 1"),
        None => None,
    }
}

/// What happened between a process and its parent.
pub(crate) fn transition(
    up: &ProcInfo,
    info: &ProcInfo,
    variable: &str,
    started_by: &StartedBy,
    root: &Root,
) -> Option<String> {
    let had = passed_on(up);
    let who = format!("{}[{}]", up.name(), up.pid);
    if had.is_empty() || !info.initial.is_known() || had.contains(&&info.initial) {
        return None;
    }
    let now_only = up.live.is_known() && up.initial.is_known() && up.live != up.initial;
    let own_words = StartPath::of_words(root, variable, &up.argv);
    if let Some(step) = own_words.last().filter(|step| step.value.as_deref() == info.initial.text())
        && let How::Words(words) = step.how
    {
        let does = if step.value.is_some() { "set" } else { "lost" };
        return Some(format!("{does} here: by `{words}` among {who}'s own arguments"));
    }
    Some(match (had[0], &info.initial) {
        (_, Value::Set(_)) if had[0].is_unset() => match giver(up, started_by) {
            Some(giver) => format!("set here: {giver}"),
            None => format!(
                "set between {who} and here: by {who}, or by a program in between that has \
                 since become this one (env, a shell)"
            ),
        },
        (Value::Set(_), Value::Unset) => match taker(up, info, variable) {
            Some(taker) => format!("lost here: {taker}"),
            None if now_only => format!(
                "lost between {who} and here; {who} changed its own environment since its start, so \
                 it may not have had it then"
            ),
            None => format!(
                "lost between {who} and here: {who} took it away, or a program in between that has \
                 since become this one (env -i, service)"
            ),
        },
        _ => format!("another value than {who} has"),
    })
}

/// The place, if the arguments of an ancestor set or remove the variable: they are stronger than any file.
fn by_arguments(root: &Root, chain: &[ProcInfo], variable: &str) -> Option<Destination> {
    let me = chain.last()?;
    chain.windows(2).rev().find_map(|pair| {
        let way = StartPath::of_words(root, variable, &pair[0].argv);
        let last = way
            .last()
            .filter(|last| me.initial.is_known() && last.value.as_deref() == me.initial.text())?;
        let How::Words(words) = last.how else { return None };
        let who = format!("{}[{}]", pair[0].name(), pair[0].pid);
        let why = format!("`{words}` among the arguments of {who} decides: change that command");
        let location = Destination::new(&WRAPPER, None, why, Confidence::Low);
        Some(Destination { label: "the command".into(), ..location })
    })
}

/// Why a child of `up` has a variable that `up` does not have.
fn giver(up: &ProcInfo, started_by: &StartedBy) -> Option<String> {
    let launcher = Launcher::of(up)?;
    Some(match launcher {
        Launcher::Systemd | Launcher::UserSystemd => match started_by {
            StartedBy::Unit { name, .. } | StartedBy::UserUnit { name, .. } => {
                format!("systemd gives {name} its variables")
            }
            _ => return None,
        },
        Launcher::Cron => "cron gives a job the variables of PAM and the crontab".into(),
        Launcher::At => "at gives a job the environment of the user who submitted it".into(),
        Launcher::Ssh => "sshd gives a session the variables of the client, PAM and SetEnv".into(),
        Launcher::Su => "su gives a session the variables of PAM".into(),
        Launcher::Sudo => {
            "sudo gives its command the variables of PAM, env_file or its command line".into()
        }
        Launcher::Supervisord => {
            "supervisord gives a program the variables of its configuration".into()
        }
        Launcher::Container => "the container's configuration".into(),
        _ => return None,
    })
}

/// Why a child of `up` lacks a variable that `up` has.
pub(crate) fn taker(up: &ProcInfo, info: &ProcInfo, variable: &str) -> Option<String> {
    let launcher = Launcher::of(up);
    if info.comm.starts_with("php-fpm") {
        return Some("php-fpm clears the environment of its workers (clear_env)".into());
    }
    if up.name() == "apache2" && info.marks.contains_key("GATEWAY_INTERFACE") {
        return Some(NOT_PASSED_ON.into());
    }
    Some(match launcher? {
        Launcher::Sudo if variable != "TZ" => {
            "sudo resets the environment (env_reset), but for what env_keep names".into()
        }
        Launcher::Sudo if passed_on(up).iter().all(|zone| zone.text().is_none_or(is_safe_zone)) => {
            "sudo does not let it through (env_check or env_delete in sudoers), or a program between sudo and here \
             took it away"
                .into()
        }
        Launcher::Sudo => {
            "sudo resets the environment (env_reset), and lets a time zone through only if its value is safe: a path \
             outside of /usr/share/zoneinfo, such as `:/etc/localtime`, never is, nor is a blank"
                .into()
        }
        Launcher::Su | Launcher::RunUser if starts_anew(up) => {
            format!("{} - starts a new environment", up.name())
        }
        Launcher::Cron => {
            "cron builds a new environment for a job, and passes on nothing of its own".into()
        }
        Launcher::At => {
            "at gives a job the environment of the user who submitted it, and passes on nothing of its own".into()
        }
        Launcher::Systemd | Launcher::UserSystemd => {
            "systemd passes on nothing of its own environment".into()
        }
        Launcher::Ssh => "sshd builds a new environment for a session".into(),
        Launcher::Container => "a container has the environment of its configuration only".into(),
        _ => return None,
    })
}

/// Whether sudo lets a time zone through (sudoers(5), "Command environment").
fn is_safe_zone(zone: &str) -> bool {
    let path = zone.strip_prefix(':').unwrap_or(zone);
    let inside = !path.starts_with('/') || path.starts_with("/usr/share/zoneinfo/");
    inside
        && !path.split('/').any(|part| part == "..")
        && path.chars().all(|c| c.is_ascii_graphic())
}

/// What could not be read of the chain.
fn unreadable(chain: &[ProcInfo]) -> Vec<String> {
    let mut said = Vec::new();
    for info in chain {
        if let Value::Unknown(why) = &info.initial {
            said.push(format!("{}[{}], its environment at start: {why}", info.name(), info.pid));
        }
    }
    if let Some(ProcInfo { live: Value::Unknown(why), .. }) = chain.last() {
        let me = chain.last().map_or("", |info| info.name());
        said.push(format!("{me}, its environment now: {why}"));
    }
    said
}
