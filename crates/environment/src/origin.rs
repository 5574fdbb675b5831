//! The story of a variable: from the first ancestor to the process, with the files that hold it.

use crate::belongs::{ConfigLocation, spots};
use crate::channel::{self, Channel, Launcher, Started, is_login};
use crate::config_format;
use crate::format::shell;
use crate::sources::Sources;
use crate::unit::{self, Kind};
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Provenance, Step, Value, Visibility};

/// A story, and where a change would be made.
#[derive(Debug)]
pub struct Origin {
    /// The story.
    pub story: Provenance,
    /// Where a change belongs, best first.
    pub spots: Vec<ConfigLocation>,
}

/// Where `variable` of the last process of `chain` comes from. `root`: the file system as that
/// process sees it.
pub fn origin(chain: &[ProcInfo], variable: &str, root: &Root) -> Origin {
    let channel = channel::of(chain);
    let uid = chain.last().map_or(0, |kin| kin.uid);
    let mut sources = Sources::new(root, variable, &channel, uid);
    sources.look();
    let (mut mentions, mut unread) = (sources.mentions, sources.unread);
    let unit_says = unit_mentions(root, variable, &channel, uid, &mut mentions, &mut unread);
    mentions.extend(crate::around::mentions(root, variable, &channel, chain));
    own_files(root, variable, &channel, chain, &mut mentions, &mut unread);
    let steps = steps(chain, &channel);
    unread.extend(unreadable(chain));
    let spots = spots(root, chain, variable, &channel);
    let (answer, or) = answer(chain, variable, &channel, &mentions, unit_says);
    let belongs = spots.iter().map(ConfigLocation::told).collect();
    let variable = variable.to_owned();
    Origin { story: Provenance { variable, answer, or, steps, mentions, belongs, unread }, spots }
}

/// The story of a unit that does not run: its files only. `None`: there is no unit of that name.
pub fn origin_of_unit(name: &str, variable: &str, root: &Root) -> Option<Origin> {
    crate::unit::read(root, name, variable, None).fragment?;
    let channel = Channel::Unit { name: name.to_owned(), how: Started::Directly };
    let mut sources = Sources::new(root, variable, &channel, 0);
    sources.look();
    let (mut mentions, mut unread) = (sources.mentions, sources.unread);
    let says = unit_mentions(root, variable, &channel, 0, &mut mentions, &mut unread);
    let answer = match says {
        Some((Some(value), from)) => {
            format!("{name} does not run; it would start with {variable}={value}, from {from}")
        }
        Some((None, from)) => format!("{name} does not run; {variable} would be removed by {from}"),
        None => format!("{name} does not run; nothing in its files sets {variable}"),
    };
    let spots = spots(root, &[], variable, &channel);
    let belongs = spots.iter().map(ConfigLocation::told).collect();
    let (variable, or, steps) = (variable.to_owned(), Vec::new(), Vec::new());
    Some(Origin {
        story: Provenance { variable, answer, or, steps, mentions, belongs, unread },
        spots,
    })
}

/// The value that the files of the unit `name` give it; `None` where they give none, or none that is known.
pub fn value_of_unit(name: &str, variable: &str, root: &Root) -> Option<String> {
    unit::read(root, name, variable, None).holds()?.value.clone()
}

/// What the files of the unit say, and which of it holds: the value, and the file with its line.
fn unit_mentions(
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
    let holds = unit.holds().cloned();
    for setting in &unit.settings {
        let says = match (&setting.value, setting.kind) {
            (Some(value), Kind::Default) => format!("DefaultEnvironment: {variable}={value}"),
            (Some(value), _) => format!("{variable}={value}"),
            (None, Kind::Pass) => {
                format!("{variable} passed on from systemd's own, as PID 1 has it")
            }
            (None, _) => format!("{variable} removed"),
        };
        let reaches = match holds.as_ref() == Some(setting) {
            true => Visibility::Yes(format!("{name} is started with it")),
            false => Visibility::No("a later setting takes its place".into()),
        };
        // A file that EnvironmentFile= names may also be one that was looked into for itself.
        mentions.retain(|other| (&other.file, other.line) != (&setting.file, setting.line));
        let (file, line) = (setting.file.clone(), setting.line);
        mentions.push(Assignment { file, line, says, reaches });
    }
    if let Some(service) = &unit.pam {
        let reads = crate::pam::pam_reads(root, service) == Some(true);
        let pam = mentions.iter_mut().filter(|mention| mention.file == "/etc/environment");
        pam.filter(|_| reads).for_each(|mention| {
            mention.reaches =
                Visibility::Yes(format!("{name} has PAMName={service}, which reads it"));
        });
    }
    let holds = holds?;
    Some((holds.value, format!("{}:{}", holds.file, holds.line)))
}

/// Files that only this program's way of starting reads.
fn own_files(
    root: &Root,
    variable: &str,
    channel: &Channel,
    chain: &[ProcInfo],
    mentions: &mut Vec<Assignment>,
    unread: &mut Vec<String>,
) {
    for spot in spots(root, chain, variable, channel) {
        let Some(file) = &spot.file else { continue };
        if mentions.iter().any(|mention| mention.file == *file) {
            continue;
        }
        match root.read(file) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                for found in (spot.place.find)(&text, variable, spot.part.as_deref()) {
                    let says = match &found.value {
                        Some(value) => format!("{variable}={value}"),
                        None => format!("{variable} removed"),
                    };
                    let reaches = Visibility::Yes(spot.why.clone());
                    mentions.push(Assignment {
                        file: file.clone(),
                        line: found.line,
                        says,
                        reaches,
                    });
                }
                if spot.place == &config_format::DEFAULTS
                    && let Some(line) = shell::unexported(&text, variable)
                {
                    let says = format!("{variable} set, not exported");
                    let reaches = Visibility::No("what is not exported reaches no program".into());
                    mentions.push(Assignment { file: file.clone(), line, says, reaches });
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => unread.push(format!("{file}: {error}")),
        }
    }
}

/// The values that a process may have handed on: as it was started, and as it is now.
fn handed_on(kin: &ProcInfo) -> Vec<&Value> {
    let mut values = vec![&kin.initial];
    if kin.live != kin.initial {
        values.push(&kin.live);
    }
    values.retain(|value| value.is_known());
    values
}

fn steps(chain: &[ProcInfo], channel: &Channel) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, kin) in chain.iter().enumerate() {
        let mut says = Vec::new();
        if let Some(up) = at.checked_sub(1).map(|at| &chain[at]) {
            says.extend(transition(up, kin, channel));
        }
        says.extend(own_change(kin));
        steps.push(Step {
            pid: kin.pid,
            program: kin.exe.clone().unwrap_or_else(|| kin.comm.clone()),
            role: role(kin),
            initial: kin.initial.clone(),
            live: kin.live.clone(),
            says,
        });
    }
    steps
}

fn role(kin: &ProcInfo) -> Option<&'static str> {
    match Launcher::of(kin) {
        Some(Launcher::Shell) if is_login(kin) => Some("a login shell"),
        Some(launcher) => Some(launcher.says()),
        None if kin.own_pid == 1 => Some("PID 1"),
        None => None,
    }
}

/// What happened between a process and its parent.
fn transition(up: &ProcInfo, kin: &ProcInfo, channel: &Channel) -> Option<String> {
    let had = handed_on(up);
    let who = format!("{}[{}]", up.name(), up.pid);
    if had.is_empty() || !kin.initial.is_known() || had.contains(&&kin.initial) {
        return None;
    }
    let now_only = up.live.is_known() && up.initial.is_known() && up.live != up.initial;
    Some(match (had[0], &kin.initial) {
        (_, Value::Set(_)) if had[0].is_unset() => match giver(up, channel) {
            Some(giver) => format!("set here: {giver}"),
            None => format!(
                "set between {who} and here: by {who}, or by a program in between that \
                             has since become this one (env, a shell)"
            ),
        },
        (Value::Set(_), Value::Unset) => match taker(up, kin) {
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

/// Why a child of `up` has a variable that `up` has not.
fn giver(up: &ProcInfo, channel: &Channel) -> Option<String> {
    let launcher = Launcher::of(up)?;
    Some(match launcher {
        Launcher::Systemd | Launcher::UserSystemd => match channel {
            Channel::Unit { name, .. } | Channel::UserUnit { name, .. } => {
                format!("systemd gives {name} what its files say")
            }
            _ => return None,
        },
        Launcher::Cron => "cron gives a job what PAM and the crontab say".into(),
        Launcher::At => "at gives a job what its submitter had".into(),
        Launcher::Ssh => "sshd gives a session what the client sent, PAM and SetEnv say".into(),
        Launcher::Su => "su gives a session what PAM says".into(),
        Launcher::Sudo => "sudo gives its command what PAM, env_file or its own words say".into(),
        Launcher::Supervisord => "supervisord gives a program what its configuration says".into(),
        Launcher::Container => "the container's configuration".into(),
        _ => return None,
    })
}

/// Why a child of `up` lacks a variable that `up` has.
fn taker(up: &ProcInfo, kin: &ProcInfo) -> Option<String> {
    let launcher = Launcher::of(up);
    if kin.comm.starts_with("php-fpm") {
        return Some("php-fpm clears the environment of its workers (clear_env)".into());
    }
    if up.name() == "apache2" && kin.marks.contains_key("GATEWAY_INTERFACE") {
        return Some(crate::apache::NOT_HANDED_ON.into());
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
            "cron builds a job's environment anew, and hands on nothing of its own".into()
        }
        Launcher::At => {
            "at gives a job what its submitter had, and hands on nothing of its own".into()
        }
        Launcher::Systemd | Launcher::UserSystemd => {
            "systemd hands on nothing of its own environment".into()
        }
        Launcher::Ssh => "sshd builds a session's environment anew".into(),
        Launcher::Container => "a container has the environment of its configuration only".into(),
        _ => return None,
    })
}

/// What the program did to the variable itself, after its start.
fn own_change(kin: &ProcInfo) -> Option<String> {
    match (&kin.initial, &kin.live) {
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
    for kin in chain {
        if let Value::Unknown(why) = &kin.initial {
            said.push(format!("{}[{}], the block of its start: {why}", kin.name(), kin.pid));
        }
    }
    if let Some(ProcInfo { live: Value::Unknown(why), .. }) = chain.last() {
        let me = chain.last().map_or("", |kin| kin.name());
        said.push(format!("{me}, its environment now: {why}"));
    }
    said
}

/// The answer, and what else would explain it.
fn answer(
    chain: &[ProcInfo],
    variable: &str,
    channel: &Channel,
    mentions: &[Assignment],
    unit: Option<(Option<String>, String)>,
) -> (String, Vec<String>) {
    let Some(me) = chain.last() else { return (String::new(), Vec::new()) };
    let name = format!("{}[{}]", me.name(), me.pid);
    // What the program has now counts; what it was given explains it.
    if let Some(how) = own_change(me) {
        let is = me.live.text().map_or("is not set".to_owned(), |value| format!("is {value}"));
        // A program may do so by what its own configuration says.
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
            (format!("whether {variable} is set in {name} cannot be told"), Vec::new())
        }
        Value::Set(value) => set(chain, variable, channel, mentions, &name, when, value),
        Value::Unset => {
            let mut or = Vec::new();
            let lost = chain.windows(2).rev().find_map(|pair| {
                let had = handed_on(&pair[0]).iter().any(|value| value.text().is_some());
                (had && pair[1].initial.is_unset()).then(|| transition(&pair[0], &pair[1], channel))
            });
            let reached: Vec<_> = mentions.iter().filter(|m| reaches(m) && sets(m)).collect();
            let why = match (lost.flatten(), reached.first()) {
                (Some(lost), _) => lost,
                (None, Some(_)) => match channel {
                    Channel::Unit { name, how: Started::Rebuilt } => format!(
                        "something in {name} made its environment anew (env -i, su, a script), \
                         after systemd"
                    ),
                    _ => {
                        or.push(format!(
                            "a program between {} and it may have taken it away (env -u, a script)",
                            channel.who()
                        ));
                        "what is set in the files now was not there, or not so, when it was started"
                            .to_owned()
                    }
                },
                (None, None) => format!("{} gives it nothing of the kind", channel.says()),
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
    // The first of the unbroken line of ancestors that have this very value.
    let has = |kin: &&ProcInfo| handed_on(kin).iter().any(|v| v.text() == Some(value));
    // cron and at hand on nothing: the same value above them is a coincidence.
    let hands_on =
        |kin: &&ProcInfo| !matches!(Launcher::of(kin), Some(Launcher::Cron | Launcher::At));
    let first = chain.iter().rev().take_while(|kin| has(kin) && hands_on(kin)).last();
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
    let me = chain.last().map_or(0, |kin| kin.pid);
    if let Some(first) =
        first.filter(|first| first.pid != me && Launcher::of(first) != Some(Launcher::Systemd))
    {
        let inherited = format!("inherited: {}[{}] has it already", first.name(), first.pid);
        all.insert(0, inherited);
    }
    if all.is_empty() {
        all.push(format!(
            "none of the files that were read sets it: {} gave it, or a program between that and it",
            channel.who()
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
