//! The processes of a unit, or below another supervisor: those that get their variables from it, and not from a launcher
//! among them that has a configuration of its own (cron's jobs, sshd's sessions, the workers of a pool).

use crate::last_change::{first_within, is_set_within};
use crate::running::processes_of_unit;
use crate::started_by::{self, Launcher, StartedBy, passes_on_configuration};
use needless_host::{ProcInfo, ancestries, descendants};
use std::collections::BTreeSet;

/// The process `main`, those below it and those in the control group of the unit, each with its ancestors. A session that
/// PAM has moved to another group is below it; a process whose parent has ended is in the group.
pub(crate) fn family(unit: Option<&str>, main: u32, variable: &str) -> Vec<Vec<ProcInfo>> {
    let mut pids: BTreeSet<u32> =
        unit.map(processes_of_unit).unwrap_or_default().into_iter().collect();
    pids.extend(descendants(&[main]));
    pids.insert(main);
    let pids: Vec<u32> = pids.into_iter().collect();
    let mut all = ancestries(&pids, variable);
    let of_main = |chain: &Vec<ProcInfo>| chain.last().is_some_and(|me| me.pid == main);
    let Some(namespace) = all.iter().find(|chain| of_main(chain)).and_then(|chain| chain.last())
    else {
        return Vec::new();
    };
    // What watches over a container is not in it.
    let namespace = namespace.pid_namespace;
    all.retain(|chain| of_main(chain) || is_given(chain, main, namespace));
    all
}

/// Whether nothing between the unit, or `main`, and the last process of `chain` makes a new environment for it.
fn is_given(chain: &[ProcInfo], main: u32, namespace: u64) -> bool {
    let Some((me, above)) = chain.split_last() else { return false };
    // systemd has forked it, and it has not become its program yet.
    let is_forked = me.comm.starts_with('(');
    let own =
        matches!(started_by::of(chain), StartedBy::PhpFpm { .. } | StartedBy::Apache { cgi: true });
    let builds = |info: &ProcInfo| {
        use Launcher::{At, Container, Cron, RunScript, Ssh, Supervisord, UserSystemd};
        Launcher::of(info).is_some_and(|launcher| {
            [At, Container, Cron, RunScript, Ssh, Supervisord, UserSystemd].contains(&launcher)
        })
    };
    !is_forked
        && !own
        && me.pid_namespace == namespace
        && !above.iter().skip(first_within(chain, main)).any(builds)
}

/// The process that decides about a variable of a unit, or of a process: its main one, or where that only starts others, or
/// forks to work, one of these that has another value than the unit can give it.
pub fn deciding(unit: Option<&str>, main: u32, variable: &str) -> u32 {
    deciding_of(&family(unit, main, variable), main)
}

/// The same of a family that was read.
pub(crate) fn deciding_of(family: &[Vec<ProcInfo>], main: u32) -> u32 {
    let of_main = |chain: &&Vec<ProcInfo>| chain.last().is_some_and(|me| me.pid == main);
    let Some(first) = family.iter().find(of_main).and_then(|chain| chain.last()) else {
        return main;
    };
    let starts = |info: &ProcInfo| match Launcher::of(info) {
        // Not one in which a person types.
        Some(Launcher::Shell) => !passes_on_configuration(info),
        launcher => matches!(launcher, Some(Launcher::RunUser | Launcher::Su | Launcher::Sudo)),
    };
    let works = family.iter().filter_map(|chain| Some((chain.last()?, is_set_within(chain, main))));
    let works: Vec<(&ProcInfo, bool)> =
        works.filter(|(me, _)| me.pid != main && !starts(me)).collect();
    let is_fork =
        |me: &ProcInfo| me.exe.is_some() && (&me.exe, &me.comm) == (&first.exe, &first.comm);
    let fork = works.iter().find(|(me, set_within)| *set_within && is_fork(me));
    let only_starts = starts(first) && works.iter().all(|(_, set_within)| *set_within);
    let one = fork.or_else(|| works.first().filter(|_| only_starts));
    one.map_or(main, |(me, _)| me.pid)
}
