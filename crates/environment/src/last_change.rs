//! Where in a chain of processes a variable got its value last: a place that acts above that point changes nothing for
//! the process, and may change much for others.

use crate::answer::hint;
use crate::crontab;
use crate::pam::pam_sets;
use crate::place::{Destination, LocationQuery};
use crate::readers::ReadBy;
use crate::sources::AS_WRITTEN;
use crate::sshd_config::ACCEPTED;
use crate::started_by::{self, Launcher, StartedBy, shares_pids, starts_anew, whitelists};
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Confidence, Value, Visibility};

/// A moment in the life of a chain: the start of its process `at`, or one after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    at: usize,
    later: bool,
}

/// The values that a process may have passed on: at its start, and now.
pub(crate) fn passed_on(info: &ProcInfo) -> Vec<&Value> {
    let mut values = vec![&info.initial];
    if info.live != info.initial && !is_sudo(info) {
        values.push(&info.live);
    }
    values.retain(|value| value.is_known());
    values
}

/// sudo goes by what it was given at its start, whatever it does to its own environment: 1.9.16 takes TZ out of that.
fn is_sudo(info: &ProcInfo) -> bool {
    Launcher::of(info) == Some(Launcher::Sudo)
}

/// What the program itself did to the variable after its start.
pub(crate) fn own_change(info: &ProcInfo) -> Option<String> {
    if is_sudo(info) {
        return None;
    }
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

/// The value that a process has now, as far as it can be read.
pub(crate) fn now(info: &ProcInfo) -> &Value {
    if info.live.is_known() && !is_sudo(info) { &info.live } else { &info.initial }
}

/// Whether a process that is a fork, whose block at its start cannot be read, has another value than the process that
/// forked it passed on.
pub(crate) fn changed_as_fork(chain: &[ProcInfo]) -> bool {
    let [.., up, me] = chain else { return false };
    let had = passed_on(up);
    let is_fork = me.exe.is_some() && me.exe == up.exe && !me.initial.is_known();
    is_fork && me.live.is_known() && !had.is_empty() && !had.contains(&&me.live)
}

/// rsyslogd gives itself the machine's zone where it was given none: one that it is given stays.
fn fills_a_gap(info: &ProcInfo) -> bool {
    info.initial.is_unset() && info.live.text().is_some_and(|zone| zone.ends_with("/etc/localtime"))
}

/// Where the last process of `chain` has its value from; `None` where all its ancestors have the same.
fn last_change(chain: &[ProcInfo]) -> Option<Moment> {
    let mut taken: Option<&Value> = None;
    for (at, info) in chain.iter().enumerate().rev() {
        let later = own_change(info).is_some()
            && !fills_a_gap(info)
            && taken.is_none_or(|value| *value == info.live);
        if later || changed_as_fork(&chain[..=at]) {
            return Some(Moment { at, later: true });
        }
        let had = at.checked_sub(1).map(|up| passed_on(&chain[up])).unwrap_or_default();
        let given = if info.initial.is_known() { &info.initial } else { &info.live };
        if given.is_known() && !had.is_empty() && !had.contains(&given) {
            return Some(Moment { at, later: false });
        }
        taken = Some(given);
    }
    None
}

/// When what `started_by` reads first reaches a process of the chain.
fn first_reached(chain: &[ProcInfo], started_by: &StartedBy) -> Moment {
    let last = chain.len().saturating_sub(1);
    let below = |is: &dyn Fn(&ProcInfo) -> bool| {
        chain[..last].iter().rposition(is).map_or(last, |up| up + 1)
    };
    let launched = |wanted: &[Launcher]| {
        below(&|info| Launcher::of(info).is_some_and(|launcher| wanted.contains(&launcher)))
    };
    let first = |is: &dyn Fn(&ProcInfo) -> bool| chain.iter().position(is).unwrap_or(last);
    let at = match started_by {
        StartedBy::Unit { .. } | StartedBy::UserUnit { .. } => {
            launched(&[Launcher::Systemd, Launcher::UserSystemd])
        }
        StartedBy::Cron => launched(&[Launcher::Cron]),
        StartedBy::At => launched(&[Launcher::At]),
        StartedBy::Ssh { .. } => launched(&[Launcher::Ssh]),
        StartedBy::Sudo { .. } => launched(&[Launcher::Sudo]),
        StartedBy::Su { .. } => launched(&[Launcher::Su, Launcher::RunUser]),
        StartedBy::Supervisord => launched(&[Launcher::Supervisord]),
        StartedBy::RunScript { .. } => launched(&[Launcher::RunScript]),
        StartedBy::Container { .. } => {
            first(&|info| chain.last().is_some_and(|me| shares_pids(info, me)))
        }
        StartedBy::PhpFpm { .. } => {
            // The master makes the environment of a worker after it has forked it.
            let pool = |word: &String| word.starts_with("php-fpm: pool ");
            let at = first(&|info| info.argv.first().is_some_and(pool));
            return Moment { at, later: true };
        }
        StartedBy::Postgresql { .. } => first(&|info| info.name() == "postgres"),
        StartedBy::Apache { cgi: false } => first(&|info| info.name() == "apache2"),
        StartedBy::Apache { cgi: true } => below(&|info| info.name() == "apache2"),
        StartedBy::OpenRc { .. } | StartedBy::Program { .. } | StartedBy::Orphan => last,
    };
    Moment { at, later: false }
}

/// Where the process `main` of a unit stands in a chain, else what systemd started.
pub(crate) fn first_within(chain: &[ProcInfo], main: u32) -> usize {
    let of_systemd = |info: &ProcInfo| Launcher::of(info) == Some(Launcher::Systemd);
    let at = chain.iter().position(|info| info.pid == main);
    at.or_else(|| Some(chain.iter().rposition(of_systemd)? + 1)).unwrap_or(0)
}

/// Whether a program below `main`, or below what systemd started, or that program itself set what the last process has.
pub(crate) fn is_set_within(chain: &[ProcInfo], main: u32) -> bool {
    let start = Moment { at: first_within(chain, main), later: false };
    last_change(chain).is_some_and(|change| change > start)
}

/// As much of a chain as decides about the variable: where su or sudo only passed on what they were given, that is what
/// started them.
pub(crate) fn source<'a>(root: &Root, chain: &'a [ProcInfo], variable: &str) -> &'a [ProcInfo] {
    let mut chain = chain;
    while let Some(at) = passing_on(root, chain, variable) {
        chain = &chain[..=at];
    }
    chain
}

/// Where su or sudo stands in a chain, if the last process has from it what it was given itself.
fn passing_on(root: &Root, chain: &[ProcInfo], variable: &str) -> Option<usize> {
    if !matches!(started_by::of(chain), StartedBy::Su { .. } | StartedBy::Sudo { .. }) {
        return None;
    }
    let (me, above) = chain.split_last()?;
    let at = above.iter().rposition(|info| match Launcher::of(info) {
        Some(Launcher::RunUser) => starts_anew(info),
        launcher => matches!(launcher, Some(Launcher::Su | Launcher::Sudo)),
    })?;
    if last_change(chain).is_some_and(|moment| moment.at > at) {
        return None;
    }
    let (up, anew) = (&chain[at], starts_anew(&chain[at]));
    let (service, passes_on) = match Launcher::of(up)? {
        Launcher::Su if anew => ("su-l", whitelists(up, variable)),
        Launcher::Su => ("su", true),
        Launcher::RunUser if anew => ("runuser-l", whitelists(up, variable)),
        // It lets a zone through, and what the policy names: then both have the same value.
        Launcher::Sudo => ("sudo", variable == "TZ" || up.initial.text().is_some()),
        _ => return None,
    };
    if !passes_on || pam_sets(root, service, variable) {
        return None;
    }
    let of_one = |started_by| {
        matches!(
            started_by,
            StartedBy::Unit { .. }
                | StartedBy::UserUnit { .. }
                | StartedBy::Supervisord
                | StartedBy::RunScript { .. }
                | StartedBy::Cron
        )
    };
    // Where nothing is set, PAM's files reach it as well; but they reach everybody.
    let set = now(me).text().is_some();
    (set || of_one(started_by::of(&chain[..=at]))).then_some(at)
}

/// The places, as far as a change of them reaches the process: instead of those that act above the point where the
/// variable got its value last, who set it there. `mentions`: the lines that may set it.
pub(crate) fn judged(
    query: &LocationQuery<'_>,
    locations: Vec<Destination>,
    mentions: &[Assignment],
) -> Vec<Destination> {
    let change = last_change(query.chain);
    let mut judged: Vec<Destination> = Vec::new();
    for location in locations {
        let why =
            location.file.as_ref().and_then(|_| who_sets_it(query, &location, change, mentions));
        let location = match why {
            Some((label, why)) => {
                let place = Destination::new(location.place, None, why, Confidence::Low);
                Destination { label, ..place }
            }
            None => location,
        };
        if !judged.iter().any(|one| one.file.is_none() && one.why == location.why) {
            judged.push(location);
        }
    }
    judged
}

/// Who sets the variable after the reader of a place, as a name and in a sentence.
fn who_sets_it(
    query: &LocationQuery<'_>,
    location: &Destination,
    change: Option<Moment>,
    mentions: &[Assignment],
) -> Option<(String, String)> {
    let (change, me) = (change?, query.process()?);
    let mut reader = first_reached(query.chain, query.started_by);
    let last = query.chain.len() - 1;
    // A file that a shell sources sets what the shell then starts.
    let shell = Launcher::of(&query.chain[reader.at]) == Some(Launcher::Shell);
    reader.at += usize::from(location.place.needs_export && shell && reader.at < last);
    let by_me = change == Moment { at: last, later: true };
    // What a script said before somebody changed it is not known.
    let of_few = !matches!(location.place.read_by, ReadBy::Everybody(_));
    let is_younger = || is_younger(query.root, location.file.as_deref(), me);
    let may_say = || explains(query, location, me) || of_few && is_younger();
    if change > reader && (by_me || !may_say()) {
        return Some(who(query.chain, change));
    }
    let session = matches!(
        query.started_by,
        StartedBy::Su { .. } | StartedBy::Sudo { .. } | StartedBy::Ssh { .. }
    );
    let unknown = session
        && change == reader
        && !is_known(query, mentions, me)
        && !explains(query, location, me)
        && !is_younger();
    unknown.then(|| {
        let by = query.started_by.label();
        let who = format!("what {by} starts");
        let why = format!(
            "no file that was read sets it: perhaps the command that {by} was given, what its shell reads, or \
             a program in between; change it there"
        );
        (who, why)
    })
}

/// Whether the file of a place says what the process was started with.
fn explains(query: &LocationQuery<'_>, location: &Destination, me: &ProcInfo) -> bool {
    let Some(file) = location.file.as_deref().filter(|_| me.initial.is_known()) else {
        return false;
    };
    let text = crontab::text(query.root, file).unwrap_or_default();
    let found = location.place.find(&text, query.variable, location.part.as_deref());
    found.last().is_some_and(|last| last.value.as_deref() == me.initial.text())
}

/// Whether a line may have set what the process was started with, or nothing is set. The client of sshd may send it.
fn is_known(query: &LocationQuery<'_>, mentions: &[Assignment], me: &ProcInfo) -> bool {
    let Some(value) = me.initial.text() else { return true };
    let written = format!("{}={value}", query.variable);
    let may = |one: &&Assignment| !matches!(one.reaches, Visibility::No(_));
    mentions.iter().filter(may).any(|one| {
        let says = one.says.strip_suffix(AS_WRITTEN).unwrap_or(&one.says);
        says == written || says.ends_with(ACCEPTED)
    })
}

/// Whether the file was changed since the process was started, or in the same second: it may have set that value then.
pub(crate) fn is_younger(root: &Root, file: Option<&str>, me: &ProcInfo) -> bool {
    let changed = file.and_then(|file| root.changed(file));
    matches!((changed, me.started_at()), (Some(changed), Some(started)) if changed >= started)
}

/// Who changed the variable at that moment.
fn who(chain: &[ProcInfo], change: Moment) -> (String, String) {
    let who = |info: &ProcInfo| format!("{}[{}]", info.called(), info.pid);
    let info = &chain[change.at];
    let sets = if now(info).is_unset() { "removes" } else { "sets" };
    match change.at.checked_sub(1).filter(|_| !change.later) {
        None => {
            let why = format!("{} {sets} it itself, after its start ({})", who(info), hint(info));
            (who(info), why)
        }
        Some(up) => {
            let up = who(&chain[up]);
            let why = format!(
                "{up} {sets} it itself, or a program between it and {}: change it there",
                who(info)
            );
            (up, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(value: &str) -> Value {
        Value::Set(value.into())
    }

    /// A chain of these programs, each with its value at its start and now.
    fn chain(all: &[(&str, Value, Value)]) -> Vec<ProcInfo> {
        let one = |(at, (words, initial, live)): (usize, &(&str, Value, Value))| {
            let pid = u32::try_from(at).unwrap() + 1;
            let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
            ProcInfo {
                pid,
                own_pid: pid,
                parent: pid - 1,
                exe: Some(argv[0].clone()),
                comm: argv[0].clone(),
                argv,
                uid: 0,
                cwd: None,
                started: 0,
                cgroup: String::new(),
                initial: initial.clone(),
                live: live.clone(),
                marks: std::collections::BTreeMap::new(),
                shares_root: true,
                pid_namespace: 1,
            }
        };
        all.iter().enumerate().map(one).collect()
    }

    fn unset(words: &str) -> (&str, Value, Value) {
        (words, Value::Unset, Value::Unset)
    }

    fn has<'a>(words: &'a str, value: &str) -> (&'a str, Value, Value) {
        (words, set(value), set(value))
    }

    #[test]
    fn the_last_change_of_a_chain() {
        let unknown = || Value::Unknown("overwritten".into());
        let at = |at, later| Some(Moment { at, later });
        for (all, last) in [
            (vec![unset("systemd"), unset("a"), unset("b")], None),
            (vec![unset("systemd"), has("a", "UTC"), has("b", "UTC")], at(1, false)),
            (vec![has("a", "UTC"), unset("b")], at(1, false)),
            (vec![unset("su"), ("zsh", Value::Unset, set("UTC")), has("b", "UTC")], at(1, true)),
            // It was started before the shell changed its own.
            (vec![unset("su"), ("zsh", Value::Unset, set("UTC")), unset("b")], None),
            (vec![unset("su"), ("b", set("UTC"), Value::Unset)], at(1, true)),
            (
                vec![("nginx", unknown(), Value::Unset), ("nginx", unknown(), set("UTC"))],
                at(1, true),
            ),
            // It has written over what it was started with.
            (vec![unset("systemd"), ("titled", unknown(), set("UTC"))], at(1, false)),
            (vec![unset("systemd"), ("rsyslogd", Value::Unset, set("/etc/localtime"))], None),
            (vec![has("sudo x", "UTC"), ("sudo", set("UTC"), Value::Unset), has("x", "UTC")], None),
        ] {
            assert_eq!(last_change(&chain(&all)), last, "{all:?}");
        }
    }

    #[test]
    fn what_su_only_passes_on_comes_from_above() {
        let root =
            Root::of(std::fs::File::open(tempfile::tempdir().unwrap().path()).unwrap().into());
        for (all, left) in [
            (vec![has("sh", "UTC"), has("su bob", "UTC"), has("x", "UTC")], 2),
            (vec![has("sh", "UTC"), has("su - bob", "UTC"), has("x", "UTC")], 3),
            (vec![has("sh", "UTC"), has("su -w TZ - bob", "UTC"), has("x", "UTC")], 2),
            (
                vec![has("sh", "UTC"), has("sudo x", "UTC"), has("sudo x", "UTC"), has("x", "UTC")],
                2,
            ),
            (vec![has("sh", "UTC"), has("su bob", "UTC"), has("x", "Asia/Baku")], 3),
            (vec![unset("sh"), unset("su bob"), unset("x")], 3),
        ] {
            assert_eq!(source(&root, &chain(&all), "TZ").len(), left, "{all:?}");
        }
    }
}
