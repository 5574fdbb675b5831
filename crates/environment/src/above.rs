//! Who is above the processes of a window: their environments tell which variable a process has from its
//! service, and which a program in between gave it.

use crate::channel::gives_what_it_is_told;
use needless_host::{ProcInfo, started_with};
use needless_model::{Above, Env, Process, Profile, Spawn};
use std::collections::HashMap;
use std::sync::Arc;

/// Longer chains than this are no chains of processes.
const MOST: usize = 256;

/// Completes what `profile` knows of those above its processes, of those that still run. `watch` names the only
/// variables that are kept.
pub fn look_above(profile: &mut Profile, watch: &[&str]) {
    let mut seen = Seen { watch, known: HashMap::new() };
    for process in &mut profile.processes {
        let first = process.parent.is_none();
        if process.born == Spawn::Fork && !first {
            continue;
        }
        let now = started_with(process.pid, watch).filter(|(kin, _)| {
            process.exit.is_none() && kin.exe.as_deref() == process.exe.as_deref()
        });
        process.launcher = now.as_ref().is_some_and(|(kin, _)| gives_what_it_is_told(kin));
        if first && !process.launcher {
            process.above = match (now, &process.above) {
                (Some((kin, _)), _) => seen.above(kin.parent, Some(kin.cgroup), MOST),
                // It has ended; who started it may still be there.
                (None, Above::Pid(up)) => seen.above(*up, None, MOST),
                (None, _) => Above::Unread,
            };
        }
    }
}

/// Each process above is read once, for all that are below it.
struct Seen<'a> {
    watch: &'a [&'a str],
    known: HashMap<(u32, Option<String>), Above>,
}

impl Seen<'_> {
    /// The process `pid` and who is above it, as far as that is not what starts a service. `below`: the control
    /// group of what it started, where known.
    fn above(&mut self, pid: u32, below: Option<String>, most: usize) -> Above {
        if pid == 0 || most == 0 {
            return Above::Nobody;
        }
        let key = (pid, below);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let elsewhere = |up: &ProcInfo| key.1.as_ref().is_some_and(|below| *below != up.cgroup);
        let found = match started_with(pid, self.watch) {
            None => Above::Unread,
            Some((up, _)) if gives_what_it_is_told(&up) || elsewhere(&up) => Above::Nobody,
            Some((up, env)) => {
                let above = self.above(up.parent, Some(up.cgroup.clone()), most - 1);
                Above::Parent(Arc::new(parent(up, env, above)))
            }
        };
        self.known.insert(key, found.clone());
        found
    }
}

fn parent(kin: ProcInfo, env: Env, above: Above) -> Process {
    let (exe, command) = (kin.exe, Some(kin.comm));
    Process { exe, command, env, above, ..Process::new(kin.pid, None, Spawn::Seen) }
}
