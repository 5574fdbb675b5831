//! Where a variable of a process comes from: from the first ancestor to the process, with the files that set it.

use crate::channel::{self, Channel, Launcher, Started, is_login};
use crate::config_format::{ConfigLocation, LocationQuery};
use crate::format::apache::NOT_PASSED_ON;
use crate::format::shell;
use crate::format_list::{locations, search_files};
use crate::pam::{ENVIRONMENT, pam_reads_file};
use crate::surrounding_unit;
use crate::unit::{self, SettingKind};
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Provenance, Step, Value, Visibility};

/// Where a variable comes from, and where a change would be made.
#[derive(Debug)]
pub struct VariableTrace {
    /// Where it comes from.
    pub provenance: Provenance,
    /// Where a change belongs, best first.
    pub locations: Vec<ConfigLocation>,
}

/// Where `variable` of the last process of `chain` comes from. `root`: the file system as that process sees it.
pub(crate) fn trace_variable(chain: &[ProcInfo], variable: &str, root: &Root) -> VariableTrace {
    let channel = channel::of(chain);
    let uid = chain.last().map_or(0, |process| process.uid);
    let sources = search_files(root, variable, &channel, uid);
    let (mut found, mut unread) = (sources.assignments, sources.unread);
    let by_unit = unit_assignments(root, variable, &channel, uid, &mut found, &mut unread);
    found.extend(surrounding_unit::assignments(root, variable, &channel, chain));
    let locations = locations(&LocationQuery { root, chain, variable, channel: &channel });
    files_of_locations(root, variable, &locations, &mut found, &mut unread);
    let steps = steps(chain, &channel);
    unread.extend(unreadable(chain));
    let (answer, or) = answer(chain, variable, &channel, &found, by_unit);
    let belongs = locations.iter().map(ConfigLocation::summary).collect();
    let variable = variable.to_owned();
    let provenance = Provenance { variable, answer, or, steps, mentions: found, belongs, unread };
    VariableTrace { provenance, locations }
}

/// The same for a unit that does not run: from its files only. `None`: there is no unit of that name.
pub(crate) fn trace_unit(name: &str, variable: &str, root: &Root) -> Option<VariableTrace> {
    unit::read(root, name, variable, None).fragment?;
    let channel = Channel::Unit { name: name.to_owned(), how: Started::Directly };
    let sources = search_files(root, variable, &channel, 0);
    let (mut mentions, mut unread) = (sources.assignments, sources.unread);
    let by_unit = unit_assignments(root, variable, &channel, 0, &mut mentions, &mut unread);
    let answer = match by_unit {
        Some((Some(value), from)) => {
            format!("{name} does not run; it would start with {variable}={value}, from {from}")
        }
        Some((None, from)) => format!("{name} does not run; {variable} would be removed by {from}"),
        None => format!("{name} does not run; nothing in its files sets {variable}"),
    };
    let locations = locations(&LocationQuery { root, chain: &[], variable, channel: &channel });
    let belongs = locations.iter().map(ConfigLocation::summary).collect();
    let (variable, or, steps) = (variable.to_owned(), Vec::new(), Vec::new());
    let provenance = Provenance { variable, answer, or, steps, mentions, belongs, unread };
    Some(VariableTrace { provenance, locations })
}

/// The value that the files of the unit `name` give it; `None` where they give none, or an unknown one.
pub fn value_of_unit(name: &str, variable: &str, root: &Root) -> Option<String> {
    unit::read(root, name, variable, None).effective()?.value.clone()
}

/// Adds the assignments in the files of the unit. Returns the one that counts: its value, and the file with its line.
fn unit_assignments(
    root: &Root,
    variable: &str,
    channel: &Channel,
    uid: u32,
    mentions: &mut Vec<Assignment>,
    unread: &mut Vec<String>,
) -> Option<(Option<String>, String)> {
    let (name, home) = match channel {
        Channel::Unit { name, .. } => (name, None),
        Channel::UserUnit { name, .. } => (name, crate::sources::home(root, uid)),
        _ => return None,
    };
    let unit = unit::read(root, name, variable, home.as_deref());
    unread.extend(unit.unread.iter().cloned());
    let effective = unit.effective().cloned();
    for setting in &unit.settings {
        let says = match (&setting.value, setting.kind) {
            (Some(value), SettingKind::Default) => {
                format!("DefaultEnvironment: {variable}={value}")
            }
            (Some(value), _) => format!("{variable}={value}"),
            (None, SettingKind::Pass) => {
                format!("{variable} passed on from the environment of PID 1")
            }
            (None, _) => format!("{variable} removed"),
        };
        let reaches = if effective.as_ref() == Some(setting) {
            Visibility::Yes(format!("{name} is started with it"))
        } else {
            Visibility::No("a later setting takes its place".into())
        };
        // The file of an EnvironmentFile= may have been read for itself already.
        mentions.retain(|other| (&other.file, other.line) != (&setting.file, setting.line));
        let (file, line) = (setting.file.clone(), setting.line);
        mentions.push(Assignment { file, line, says, reaches });
    }
    if let Some(service) = &unit.pam {
        let reads = pam_reads_file(root, service, None) == Some(true);
        let pam = mentions.iter_mut().filter(|mention| mention.file == ENVIRONMENT);
        pam.filter(|_| reads).for_each(|mention| {
            mention.reaches =
                Visibility::Yes(format!("{name} has PAMName={service}, which reads it"));
        });
    }
    let effective = effective?;
    Some((effective.value, format!("{}:{}", effective.file, effective.line)))
}

/// Reads the files in which a change would be made, if they were not read yet: only this way of starting reads them.
fn files_of_locations(
    root: &Root,
    variable: &str,
    locations: &[ConfigLocation],
    found: &mut Vec<Assignment>,
    unread: &mut Vec<String>,
) {
    for location in locations {
        let Some(file) = &location.file else { continue };
        if found.iter().any(|assignment| assignment.file == *file) {
            continue;
        }
        match root.read(file) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let mut add = |line, says, reaches| {
                    found.push(Assignment { file: file.clone(), line, says, reaches });
                };
                for value in location.format.find(&text, variable, location.part.as_deref()) {
                    let says = match &value.value {
                        Some(value) => format!("{variable}={value}"),
                        None => format!("{variable} removed"),
                    };
                    add(value.line, says, Visibility::Yes(location.why.clone()));
                }
                if location.format.needs_export
                    && let Some(line) = shell::unexported(&text, variable)
                {
                    let why = "a variable that is not exported reaches no program";
                    let says = format!("{variable} set, not exported");
                    add(line, says, Visibility::No(why.into()));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => unread.push(format!("{file}: {error}")),
        }
    }
}

/// The values that a process may have passed on: at its start, and now.
fn passed_on(info: &ProcInfo) -> Vec<&Value> {
    let mut values = vec![&info.initial];
    if info.live != info.initial {
        values.push(&info.live);
    }
    values.retain(|value| value.is_known());
    values
}

fn steps(chain: &[ProcInfo], channel: &Channel) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, info) in chain.iter().enumerate() {
        let mut says = Vec::new();
        if let Some(up) = at.checked_sub(1).map(|at| &chain[at]) {
            says.extend(transition(up, info, channel));
        }
        says.extend(own_change(info));
        steps.push(Step {
            pid: info.pid,
            program: info.exe.clone().unwrap_or_else(|| info.comm.clone()),
            role: role(info),
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
fn transition(up: &ProcInfo, info: &ProcInfo, channel: &Channel) -> Option<String> {
    let had = passed_on(up);
    let who = format!("{}[{}]", up.name(), up.pid);
    if had.is_empty() || !info.initial.is_known() || had.contains(&&info.initial) {
        return None;
    }
    let now_only = up.live.is_known() && up.initial.is_known() && up.live != up.initial;
    Some(match (had[0], &info.initial) {
        (_, Value::Set(_)) if had[0].is_unset() => match giver(up, channel) {
            Some(giver) => format!("set here: {giver}"),
            None => format!(
                "set between {who} and here: by {who}, or by a program in between that has \
                 since become this one (env, a shell)"
            ),
        },
        (Value::Set(_), Value::Unset) => match taker(up, info) {
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

/// Why a child of `up` has a variable that `up` does not have.
fn giver(up: &ProcInfo, channel: &Channel) -> Option<String> {
    let launcher = Launcher::of(up)?;
    Some(match launcher {
        Launcher::Systemd | Launcher::UserSystemd => match channel {
            Channel::Unit { name, .. } | Channel::UserUnit { name, .. } => {
                format!("systemd gives {name} the variables of its files")
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
fn taker(up: &ProcInfo, info: &ProcInfo) -> Option<String> {
    let launcher = Launcher::of(up);
    if info.comm.starts_with("php-fpm") {
        return Some("php-fpm clears the environment of its workers (clear_env)".into());
    }
    if up.name() == "apache2" && info.marks.contains_key("GATEWAY_INTERFACE") {
        return Some(NOT_PASSED_ON.into());
    }
    Some(match launcher? {
        Launcher::Sudo => {
            "sudo resets the environment (env_reset), and lets a time zone through only \
                           if its value is safe: `:/etc/localtime` never is"
                .into()
        }
        Launcher::Su if up.argv.iter().skip(1).any(|w| w == "-" || w == "-l" || w == "--login") => {
            "su - starts a new environment".into()
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

/// What the program itself did to the variable after its start.
fn own_change(info: &ProcInfo) -> Option<String> {
    match (&info.initial, &info.live) {
        (Value::Set(_), Value::Unset) => {
            Some("it removed the variable itself, after its start".into())
        }
        (Value::Unset, Value::Set(value)) => {
            Some(format!("it set the variable itself, after its start: {value}"))
        }
        (Value::Set(was), Value::Set(is)) if was != is => {
            Some(format!("it changed the variable itself, after its start: {was} then, {is} now"))
        }
        _ => None,
    }
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

/// The answer, and other possible explanations.
fn answer(
    chain: &[ProcInfo],
    variable: &str,
    channel: &Channel,
    mentions: &[Assignment],
    unit: Option<(Option<String>, String)>,
) -> (String, Vec<String>) {
    let Some(me) = chain.last() else { return (String::new(), Vec::new()) };
    let name = format!("{}[{}]", me.name(), me.pid);
    // The value that the program has now counts; the value that it was given explains it.
    if let Some(how) = own_change(me) {
        let is = me.live.text().map_or("is not set".to_owned(), |value| format!("is {value}"));
        // A program may follow its own configuration.
        let written = me.live.text().map(|value| format!("{variable}={value}"));
        let by = mentions.iter().find(|m| reaches(m) && Some(&m.says) == written.as_ref());
        let how = match by {
            Some(by) => format!("{how}, as {}:{} says", by.file, by.line),
            None => match chain.iter().rev().nth(1).and_then(|up| taker(up, me)) {
                Some(taker) if me.live.is_unset() => format!("{how}: {taker}"),
                _ => how,
            },
        };
        return (format!("{variable} {is} in {name}: {how}"), Vec::new());
    }
    let (value, when) = match (&me.initial, &me.live) {
        (Value::Unknown(_), live) if live.is_known() => (live, ""),
        (initial, Value::Unknown(_)) => (initial, " at its start"),
        (initial, _) => (initial, ""),
    };
    match value {
        Value::Unknown(_) => {
            (format!("it is not known whether {variable} is set in {name}"), Vec::new())
        }
        Value::Set(value) => set(chain, variable, channel, mentions, &name, when, value),
        Value::Unset => {
            let mut or = Vec::new();
            let lost = chain.windows(2).rev().find_map(|pair| {
                let had = passed_on(&pair[0]).iter().any(|value| value.text().is_some());
                (had && pair[1].initial.is_unset()).then(|| transition(&pair[0], &pair[1], channel))
            });
            let reached: Vec<_> = mentions.iter().filter(|m| reaches(m) && sets(m)).collect();
            let why = match (lost.flatten(), reached.first()) {
                (Some(lost), _) => lost,
                (None, Some(_)) => match channel {
                    Channel::Unit { name, how: Started::Rebuilt } => format!(
                        "a program in {name} built a new environment (env -i, su, a script), \
                         after systemd"
                    ),
                    _ => {
                        or.push(format!(
                            "a program between {} and it may have removed it (env -u, a script)",
                            channel.label()
                        ));
                        "the files were different when it was started".to_owned()
                    }
                },
                (None, None) => format!("{} does not give it that variable", channel.subject()),
            };
            if let Some((None, from)) = unit {
                return (format!("{variable} is not set in {name}{when}: {from} removes it"), or);
            }
            let elsewhere: Vec<_> = mentions.iter().filter(|m| !reaches(m) && sets(m)).collect();
            for mention in elsewhere {
                or.push(match &mention.reaches {
                    Visibility::No(why) => format!(
                        "{} in {}:{} does not reach it: {why}",
                        mention.says, mention.file, mention.line
                    ),
                    Visibility::Perhaps(why) | Visibility::Yes(why) => format!(
                        "{} in {}:{} would reach it {why}",
                        mention.says, mention.file, mention.line
                    ),
                });
            }
            (format!("{variable} is not set in {name}{when}: {why}"), or)
        }
    }
}

fn set(
    chain: &[ProcInfo],
    variable: &str,
    channel: &Channel,
    mentions: &[Assignment],
    name: &str,
    when: &str,
    value: &str,
) -> (String, Vec<String>) {
    // The first of the unbroken line of ancestors with this value.
    let has = |info: &&ProcInfo| passed_on(info).iter().any(|v| v.text() == Some(value));
    // cron and at pass on nothing: the same value above them is a coincidence.
    let passes_on =
        |info: &&ProcInfo| !matches!(Launcher::of(info), Some(Launcher::Cron | Launcher::At));
    let first = chain.iter().rev().take_while(|info| has(info) && passes_on(info)).last();
    let written = format!("{variable}={value}");
    let fits = |mention: &&Assignment| mention.says.ends_with(&written);
    let sure: Vec<_> = mentions.iter().filter(fits).filter(|m| reaches(m)).collect();
    let perhaps: Vec<_> = mentions
        .iter()
        .filter(fits)
        .filter(|mention| matches!(mention.reaches, Visibility::Perhaps(_)))
        .collect();
    let mut all: Vec<String> = Vec::new();
    let at = |m: &Assignment| match &m.reaches {
        Visibility::Yes(why) => format!("{}:{} sets it, and {why}", m.file, m.line),
        Visibility::Perhaps(why) => {
            format!("{}:{} sets it, which reaches it {why}", m.file, m.line)
        }
        Visibility::No(why) => format!("{}:{}: {why}", m.file, m.line),
    };
    all.extend(sure.into_iter().map(at));
    all.extend(perhaps.into_iter().map(at));
    let me = chain.last().map_or(0, |info| info.pid);
    if let Some(first) =
        first.filter(|first| first.pid != me && Launcher::of(first) != Some(Launcher::Systemd))
    {
        let inherited = format!("inherited: {}[{}] has it already", first.name(), first.pid);
        all.insert(0, inherited);
    }
    if all.is_empty() {
        all.push(format!(
            "no file that was read sets it: {} set it, or a program in between",
            channel.label()
        ));
    }
    let first = all.remove(0);
    (format!("{variable} is {value} in {name}{when}: {first}"), all)
}

fn reaches(mention: &Assignment) -> bool {
    matches!(mention.reaches, Visibility::Yes(_))
}

fn sets(mention: &Assignment) -> bool {
    mention.says.contains('=') || mention.says.ends_with("not exported")
}
