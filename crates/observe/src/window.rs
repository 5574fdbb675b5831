//! Observing what runs already, for a window of time.

use crate::rights;
use crate::run::{Failure, ObserveOptions, complete};
use needless_ebpf::{Observed, Scope, Session, SessionError, SessionOptions};
use needless_host::{
    Pods, Service, ServiceKind, find_cgroup, find_container, find_unit, processes_of_cgroup,
};
use needless_launch::TerminationSignals;
use needless_model::{ProcId, Profile, Spawn, status};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the kernel's messages are taken.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What to observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// These processes.
    Processes(Vec<u32>),
    /// These processes, and what they have started and still runs.
    WithDescendants(Vec<u32>),
    /// A systemd unit.
    Unit(String),
    /// A container, by name or id.
    Container(String),
    /// A control group: a directory, or a path below where they are mounted.
    Cgroup(String),
    /// Every process of the machine.
    Everyone,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Processes(pids) | Who::WithDescendants(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let noun = if pids.len() == 1 { "process" } else { "processes" };
                write!(f, "{noun} {}", pids.join(", "))
            }
            Who::Unit(name) => write!(f, "unit {name}"),
            Who::Container(name) => write!(f, "container {name}"),
            Who::Cgroup(path) => write!(f, "cgroup {path}"),
            Who::Everyone => f.write_str("host"),
        }
    }
}

/// What was observed.
#[derive(Debug)]
pub struct Observation {
    /// The calls.
    pub profile: Profile,
    /// Whose, in words: "process 812 and 4 processes that it had started".
    pub whose: String,
}

/// Observes for `length`, or until Ctrl-C or, for chosen processes, until the last of them has ended.
/// `tick` gets the time so far, ten times a second.
///
/// # Errors
/// When there is nothing to observe, or observing is not allowed.
pub fn window(
    who: &Who,
    length: Duration,
    options: &ObserveOptions,
    tick: &mut dyn FnMut(Duration),
) -> Result<Observation, Failure> {
    let ours = |message: String| Failure::new(status::FAILED, message);
    let (chosen, mut session) = begin(who, &crate::kernel::for_session(options))?;
    let target = chosen.scope();
    let endings = TerminationSignals::hold().map_err(|error| ours(error.to_string()))?;
    let given_up = options.rights.observe();
    let taken_along = follow(&mut session, &chosen)?;
    let begun = Instant::now();
    while let Some(left) = length.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        let ended = endings.wait(session.readable(), left.min(LOOK_EVERY));
        session.drain(Duration::ZERO);
        tick(begun.elapsed());
        if let Chosen::Group(_) = chosen {
            follow(&mut session, &chosen)?;
        }
        if ended || (target == Scope::Chosen && session.live() == 0) {
            break;
        }
    }
    // A second Ctrl-C is for whoever does not want to wait for the report either.
    drop(endings);
    let mut observed = session.finish();
    rights::note(given_up, &mut observed.profile.notes);
    let whose = words(who, taken_along);
    Ok(Observation { profile: finish(observed, options)?, whose })
}

/// Finds who is to be observed, and starts to count.
pub(crate) fn begin(who: &Who, options: &SessionOptions) -> Result<(Chosen, Session), Failure> {
    let ours = |message: String| Failure::new(status::FAILED, message);
    needless_ebpf::usable().map_err(|error| match error {
        SessionError::NoRights => ours(
            "to observe what runs already needs CAP_BPF and CAP_PERFMON: run it with sudo".into(),
        ),
        error => ours(error.to_string()),
    })?;
    let chosen = choose(who).map_err(ours)?;
    let session =
        Session::start(&chosen.scope(), options).map_err(|error| ours(error.to_string()))?;
    Ok((chosen, session))
}

/// The processes to follow.
pub(crate) enum Chosen {
    Everyone,
    Processes(Vec<u32>),
    WithDescendants(Vec<u32>),
    /// The processes in this control group: listed again and again, because processes join.
    Group(PathBuf),
}

impl Chosen {
    pub(crate) fn scope(&self) -> Scope {
        if let Chosen::Everyone = self { Scope::Everyone } else { Scope::Chosen }
    }

    /// The processes that run now. For everyone, none is chosen.
    fn list(&self) -> Vec<u32> {
        match self {
            Chosen::Everyone => Vec::new(),
            Chosen::Processes(pids) => pids.clone(),
            Chosen::WithDescendants(pids) => {
                [&pids[..], &needless_host::descendants(pids)].concat()
            }
            Chosen::Group(group) => processes_of_cgroup(group).unwrap_or_default(),
        }
    }

    /// Whether this process is listed because one that the user named has started it.
    fn takes_along(&self, pid: u32) -> bool {
        matches!(self, Chosen::WithDescendants(pids) if !pids.contains(&pid))
    }
}

/// Whose calls were counted, where so many processes were taken along.
fn words(who: &Who, taken_along: usize) -> String {
    match who {
        Who::WithDescendants(pids) if taken_along > 0 => {
            let noun = if taken_along == 1 { "process" } else { "processes" };
            let they = if pids.len() == 1 { "it" } else { "they" };
            format!("{who} and {taken_along} {noun} that {they} had started")
        }
        _ => who.to_string(),
    }
}

fn choose(who: &Who) -> Result<Chosen, String> {
    let group = match who {
        Who::Everyone => return Ok(Chosen::Everyone),
        Who::Processes(pids) => return leaders(pids).map(Chosen::Processes),
        Who::WithDescendants(pids) => return leaders(pids).map(Chosen::WithDescendants),
        Who::Unit(name) => find_unit(name)?,
        Who::Container(name) => find_container(name)?,
        Who::Cgroup(path) => find_cgroup(path)?,
    };
    match processes_of_cgroup(&group) {
        Ok(pids) if pids.is_empty() => Err(format!("{who} has no processes now")),
        Ok(_) => Ok(Chosen::Group(group)),
        Err(error) => Err(format!("cannot list the processes of {who}: {error}")),
    }
}

fn leaders(pids: &[u32]) -> Result<Vec<u32>, String> {
    pids.iter().map(|pid| leader(*pid)).collect()
}

/// The process that thread or process `pid` belongs to.
fn leader(pid: u32) -> Result<u32, String> {
    if pid == std::process::id() {
        return Err(format!("process {pid} is needless itself"));
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .map_err(|_| format!("there is no process {pid}"))?;
    let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    tgid.and_then(|tgid| tgid.trim().parse().ok()).ok_or(format!("there is no process {pid}"))
}

/// Observes those who are to be and are not yet. A process may fork between being listed and being
/// observed: hence again until there are no new ones. Returns how many were taken along.
pub(crate) fn follow(session: &mut Session, chosen: &Chosen) -> Result<usize, Failure> {
    let mut taken_along = 0;
    loop {
        let mut more = false;
        for pid in chosen.list() {
            let failed = |error: SessionError| Failure::new(status::FAILED, error.to_string());
            if lives(pid) && session.observe(pid).map_err(failed)? {
                more = true;
                taken_along += usize::from(chosen.takes_along(pid));
            }
        }
        if !more {
            return Ok(taken_along);
        }
    }
}

/// Whether process `pid` runs, and has not ended and only waits for its parent to take notice.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn finish(mut observed: Observed, options: &ObserveOptions) -> Result<Profile, Failure> {
    place(&mut observed, options);
    note_outside(&mut observed.profile);
    complete(observed.profile, &observed.stacks, observed.roots, options.rights)
}

/// Notes how many processes have no number for needless: in a container it sees the calls of the whole machine.
fn note_outside(profile: &mut Profile) {
    let outside = |process: &&needless_model::Process| {
        process.pid == 0 && process.command.is_some() && process.born != Spawn::Exec
    };
    let outside = profile.processes.iter().filter(outside).count();
    if outside > 0 {
        profile.notes.push(format!(
            "Processes outside the PID namespace of needless: {outside}. Their numbers, services and environments are not \
             known: run needless outside of the container, or the container with --pid=host."
        ));
    }
}

/// Says which service each process belongs to, and what is above it.
pub(crate) fn place(observed: &mut Observed, options: &ObserveOptions) {
    let groups: HashMap<_, _> = observed.cgroups.iter().map(|(id, path)| (*id, path)).collect();
    let ended = observed.profile.ended();
    let pods = Pods::of_node();
    for (at, process) in observed.profile.processes.iter_mut().enumerate() {
        let exe = process.exe.as_deref();
        let lives = !ended.contains(&process.pid);
        let service = match lives.then(|| Service::of_pid(process.pid)) {
            Some(Ok(service)) => Some(service),
            _ => groups.get(&ProcId(at as u32)).map(|path| Service::of_path(path, exe)),
        };
        let service = service.map(|service| pods.named(service));
        let known = service.as_ref().filter(|service| service.kind != ServiceKind::Unknown);
        let program = exe.map(|_| process.name()).or(process.command.as_deref());
        let name = known.map(Service::to_string).or(program.map(str::to_owned));
        process.service = name.or_else(|| service.map(|service| service.to_string()));
        process.started = lives.then(|| needless_host::start_time(process.pid)).flatten();
    }
    if let Some(above) = options.above {
        above(&mut observed.profile, &options.watch);
    }
}
