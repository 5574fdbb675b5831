//! What processes did besides what rules judge: facts, made once from a profile, stated and not judged.

use crate::engine::verdict::call_cost;
use crate::{
    Many, ProgramCpu, SlowMount, Waits, connections, cpu_by_program, slow_mount, started, waits,
};
use needless_model::{Fact, Process, Profile, Spawn};
use std::collections::BTreeSet;

/// What the processes of a profile did: how many there were, what they waited for, spent and started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// How many processes; one that executes another program is one process.
    pub processes: u64,
    /// How many services they belong to, where services were looked up.
    pub services: u64,
    /// What they waited for, the longest first.
    pub waits: Vec<Waits>,
    /// A file system that answers failed look-ups slowly.
    pub slow_mount: Option<SlowMount>,
    /// Their CPU time by program, the most expensive first.
    pub programs: Vec<ProgramCpu>,
    /// Processes that were started.
    pub started: Option<Many>,
    /// Connections that were made.
    pub connections: Option<Many>,
    /// Time in the kernel, nanoseconds, that the counted calls do not explain: where not every call was counted, and most
    /// of the kernel's time is not theirs.
    pub uncounted_ns: Option<u64>,
}

impl Activity {
    /// The activity of `profile`.
    pub fn of(profile: &Profile) -> Activity {
        // A process that execs is one process to users, and two to a profile; pid 0 without a name stands for no process.
        let execs = |process: &Process| {
            let before = process.parent.map(|id| profile.process(id).pid);
            process.born == Spawn::Exec && before == Some(process.pid)
        };
        let processes = &profile.processes;
        let is_one = |process: &Process| process.pid != 0 || process.command.is_some();
        let all = processes.iter().filter(|process| is_one(process) && !execs(process));
        let services: BTreeSet<&str> =
            processes.iter().filter_map(|process| process.service.as_deref()).collect();
        Activity {
            processes: all.count() as u64,
            services: services.len() as u64,
            waits: waits(profile),
            slow_mount: slow_mount(profile),
            programs: cpu_by_program(profile),
            started: started(profile),
            connections: connections(profile),
            uncounted_ns: uncounted(profile),
        }
    }
}

/// What the stops of a tracer took at the calls that were counted, nanoseconds, by estimate. It may stop others, which it
/// does not count, such as kill(2): what these took is theirs.
pub(crate) fn tracing(profile: &Profile) -> u64 {
    /// Two stops of a call take no longer.
    const STOPS: u64 = 100_000;
    profile.totals.tracing_ns.min(profile.totals.calls.saturating_mul(STOPS))
}

/// The time in the kernel that the counted calls do not explain, where that is most of it.
fn uncounted(profile: &Profile) -> Option<u64> {
    /// Less is a program's start and its page faults.
    const LEAST: u64 = 100_000_000;
    /// What a call that names a path takes where nobody measured it, nanoseconds.
    const CALL: u64 = 2000;
    if profile.facts.has(Fact::AllCalls) {
        return None;
    }
    let spent = profile.totals.cpu_sys_ns?.saturating_sub(tracing(profile));
    let costs = profile.host.costs;
    let counted = profile.rows.iter().map(|row| {
        let cost = costs.map_or(CALL, |costs| call_cost(&costs, profile, row));
        row.count.saturating_mul(cost)
    });
    let left = spent.saturating_sub(counted.fold(0, u64::saturating_add));
    (spent >= LEAST && left > spent / 2).then_some(left)
}
