//! What processes did besides what rules judge: facts, made once from a profile, stated and not judged.

use crate::{
    Many, ProgramCpu, SlowMount, Waits, connections, cpu_by_program, slow_mount, started, waits,
};
use needless_model::{Process, Profile, Spawn};
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
        }
    }
}
