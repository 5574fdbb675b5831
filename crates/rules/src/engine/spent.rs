//! Who spent the CPU time, and how many processes and connections there were: facts from a profile, stated and not
//! judged.

use needless_model::{Errno, ProcId, Process, Profile, Spawn};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What all processes of one program spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCpu {
    /// The program, as [`Process::title`].
    pub program: String,
    /// How many processes ran it.
    pub processes: u64,
    /// CPU time, nanoseconds, without that of child processes.
    pub ns: u64,
    /// Of this, the time in user mode, where a process ran long enough to tell.
    pub user_ns: Option<u64>,
}

/// The CPU time by program, the most expensive first. Processes whose time is not known are left out.
pub fn cpu_by_program(profile: &Profile) -> Vec<ProgramCpu> {
    /// Time, user time, kernel time, and processes.
    type Sum = (u64, u64, u64, u64);
    let replaced = replaced(profile);
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for (id, process) in ids(profile) {
        let Some(ns) = process.cpu_ns else { continue };
        let sum = sums.entry(process.title()).or_default();
        sum.0 += ns;
        sum.1 += process.cpu_user_ns.unwrap_or(0);
        sum.2 += process.cpu_sys_ns.unwrap_or(0);
        sum.3 += u64::from(!replaced.contains(&id));
    }
    let program = |(program, (ns, user, system, processes)): (String, Sum)| {
        let split = user.checked_add(system).filter(|both| *both > 0);
        let user_ns = split.map(|both| crate::engine::verdict::scale(ns, user, both));
        ProgramCpu { program, processes, ns, user_ns }
    };
    let mut all: Vec<ProgramCpu> = sums.into_iter().map(program).collect();
    all.sort_by_key(|program| Reverse(program.ns));
    all
}

/// How many there were, and most of them by which program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Many {
    /// How many.
    pub number: u64,
    /// The program with most of them.
    pub program: String,
    /// How many of them are that program's.
    pub of_program: u64,
}

/// Processes that were started during the observation, by what they ran, without the observed command itself; `None`
/// if there were none.
pub fn started(profile: &Profile) -> Option<Many> {
    let replaced = replaced(profile);
    // The command is the first process, whatever it executes later.
    let command = profile.processes.first().filter(|first| first.born == Spawn::Exec);
    let command = command.map(|first| first.pid);
    let started = ids(profile).filter(|(id, process)| {
        let counts = process.born != Spawn::Seen && command != Some(process.pid);
        counts && !replaced.contains(id)
    });
    many(started.map(|(_, process)| (process.title(), 1)))
}

/// Calls of connect(2) that succeeded or went on in the background.
pub fn connections(profile: &Profile) -> Option<Many> {
    let under_way = |errno: Errno| errno.name() == "EINPROGRESS";
    let connects = profile.rows.iter().filter(|row| {
        profile.call(row) == "connect"
            && row.outcome.is_some_and(|outcome| outcome.map_or_else(under_way, |()| true))
    });
    many(connects.map(|row| (profile.process(row.process).title(), row.count)))
}

fn many(each: impl Iterator<Item = (String, u64)>) -> Option<Many> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (program, n) in each {
        *sums.entry(program).or_default() += n;
    }
    let number = sums.values().sum();
    let (program, of_program) = sums.into_iter().max_by_key(|(_, n)| *n)?;
    Some(Many { number, program, of_program })
}

fn ids(profile: &Profile) -> impl Iterator<Item = (ProcId, &Process)> {
    (0..).map(ProcId).zip(&profile.processes)
}

/// The images that executed another program: the process goes on as that one.
fn replaced(profile: &Profile) -> BTreeSet<ProcId> {
    let executed = profile.processes.iter().filter(|process| process.born == Spawn::Exec);
    let before = executed.filter_map(|process| Some((process.pid, process.parent?)));
    before.filter(|(pid, before)| profile.process(*before).pid == *pid).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::{Answer, Backend, Builder, Facts, Limits, Window};

    fn process(pid: u32, parent: Option<u32>, born: Spawn, exe: &str, ns: u64) -> Process {
        let parent = parent.map(ProcId);
        let (exe, cpu_ns) = (Some(exe.to_owned()), Some(ns));
        Process { exe, cpu_ns, ..Process::new(pid, parent, born) }
    }

    #[test]
    fn time_and_starts_are_by_program() {
        let mut builder = Builder::new(Limits::default());
        builder.process(process(1, None, Spawn::Exec, "/bin/sh", 100));
        for pid in 2..5 {
            let fork = builder.process(process(pid, Some(0), Spawn::Fork, "/bin/sh", 1));
            builder.process(process(pid, Some(fork.0), Spawn::Exec, "/bin/true", 50));
        }
        let call = builder.call("connect");
        for (name, n) in [(None, 3), (Some("EINPROGRESS"), 2), (Some("ECONNREFUSED"), 9)] {
            let outcome = name.map_or(Ok(()), |name| Err(Errno::of_name(name)));
            builder.count(ProcId(2), call, n, Answer::outcome(outcome));
        }
        let profile = builder.finish(Backend::Ebpf, Facts::default(), Window::default());
        let cpu = cpu_by_program(&profile);
        let seen: Vec<_> = cpu.iter().map(|p| (&*p.program, p.processes, p.ns)).collect();
        assert_eq!(seen, [("true", 3, 150), ("sh", 1, 103)]);
        let many = |number, program: &str, of_program| {
            Some(Many { number, program: program.to_owned(), of_program })
        };
        assert_eq!(started(&profile), many(3, "true", 3));
        assert_eq!(connections(&profile), many(5, "true", 5));
    }
}
