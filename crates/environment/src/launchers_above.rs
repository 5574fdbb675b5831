//! The ancestors of the processes of a window: their environments show which variable a process has from its service,
//! and which from a program in between.

use crate::started_by::passes_on_configuration;
use needless_host::{ProcInfo, read_environment};
use needless_model::{Above, Env, Process, Profile, Spawn, WatchList};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A longer chain is a mistake in reading, not a chain of processes.
const MOST: usize = 256;

/// Adds the ancestors of the processes of `profile` that still run. Only the variables of `watch` are
/// kept.
pub fn look_above(profile: &mut Profile, watch: &WatchList) {
    let mut seen = Seen { watch, read: HashMap::new(), known: HashMap::new() };
    let ended = profile.ended();
    for process in &mut profile.processes {
        let first = process.parent.is_none();
        if process.born == Spawn::Fork && !first {
            continue;
        }
        let now = Some(process.pid).filter(|pid| !ended.contains(pid));
        let now = now.and_then(|pid| seen.read(pid));
        let now = now.filter(|read| read.0.exe.as_deref() == process.exe.as_deref());
        process.launcher = now.as_ref().is_some_and(|read| passes_on_configuration(&read.0));
        if first && !process.launcher {
            process.above = match (now, &process.above) {
                (Some(read), _) => seen.above(read.0.parent, Some(read.0.cgroup.clone()), MOST),
                // It has ended; its parent may still run.
                (None, Above::Pid(up)) => seen.above(*up, None, MOST),
                (None, _) => Above::Unread,
            };
        }
    }
}

/// Each process is read once, for itself and for all processes below it.
struct Seen<'a> {
    watch: &'a WatchList,
    read: HashMap<u32, Option<Rc<(ProcInfo, Env)>>>,
    known: HashMap<(u32, Option<String>), Above>,
}

impl Seen<'_> {
    fn read(&mut self, pid: u32) -> Option<Rc<(ProcInfo, Env)>> {
        let read = self.read.entry(pid);
        read.or_insert_with(|| read_environment(pid, self.watch).map(Rc::new)).clone()
    }

    /// The process `pid` and its ancestors, up to the process that starts the service. `below`: the control group of
    /// the process that it started, where known.
    fn above(&mut self, pid: u32, below: Option<String>, most: usize) -> Above {
        if pid == 0 || most == 0 {
            return Above::Nothing;
        }
        let key = (pid, below);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let elsewhere = |up: &ProcInfo| key.1.as_ref().is_some_and(|below| *below != up.cgroup);
        let found = match self.read(pid) {
            None => Above::Unread,
            Some(up) if passes_on_configuration(&up.0) || elsewhere(&up.0) => Above::Nothing,
            Some(up) => {
                let above = self.above(up.0.parent, Some(up.0.cgroup.clone()), most - 1);
                Above::Parent(Arc::new(parent(&up.0, up.1.clone(), above)))
            }
        };
        self.known.insert(key, found.clone());
        found
    }
}

fn parent(info: &ProcInfo, env: Env, above: Above) -> Process {
    let (exe, command) = (info.exe.clone(), Some(info.comm.clone()));
    Process { exe, command, env, above, ..Process::new(info.pid, None, Spawn::Seen) }
}
