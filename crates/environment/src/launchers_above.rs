//! The ancestors of the processes of a window: their environments show which variable a process has from its service,
//! and which from a program in between.

use crate::channel::passes_on_configuration;
use needless_host::{ProcInfo, read_environment};
use needless_model::{Above, Env, Process, Profile, Spawn, WatchList};
use std::collections::HashMap;
use std::sync::Arc;

/// A longer chain is a mistake in reading, not a chain of processes.
const MOST: usize = 256;

/// Adds the ancestors of the processes of `profile` that still run. Only the variables of `watch` are
/// kept.
pub fn look_above(profile: &mut Profile, watch: &WatchList) {
    let mut seen = Seen { watch, known: HashMap::new() };
    for process in &mut profile.processes {
        let first = process.parent.is_none();
        if process.born == Spawn::Fork && !first {
            continue;
        }
        let now = read_environment(process.pid, watch).filter(|(info, _)| {
            process.exit.is_none() && info.exe.as_deref() == process.exe.as_deref()
        });
        process.launcher = now.as_ref().is_some_and(|(info, _)| passes_on_configuration(info));
        if first && !process.launcher {
            process.above = match (now, &process.above) {
                (Some((info, _)), _) => seen.above(info.parent, Some(info.cgroup), MOST),
                // It has ended; its parent may still run.
                (None, Above::Pid(up)) => seen.above(*up, None, MOST),
                (None, _) => Above::Unread,
            };
        }
    }
}

/// Each ancestor is read once, for all processes below it.
struct Seen<'a> {
    watch: &'a WatchList,
    known: HashMap<(u32, Option<String>), Above>,
}

impl Seen<'_> {
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
        let found = match read_environment(pid, self.watch) {
            None => Above::Unread,
            Some((up, _)) if passes_on_configuration(&up) || elsewhere(&up) => Above::Nothing,
            Some((up, env)) => {
                let above = self.above(up.parent, Some(up.cgroup.clone()), most - 1);
                Above::Parent(Arc::new(parent(up, env, above)))
            }
        };
        self.known.insert(key, found.clone());
        found
    }
}

fn parent(info: ProcInfo, env: Env, above: Above) -> Process {
    let (exe, command) = (info.exe, Some(info.comm));
    Process { exe, command, env, above, ..Process::new(info.pid, None, Spawn::Seen) }
}
