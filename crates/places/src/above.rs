//! Who is above the processes of a window: their environments tell which variable a process has from its
//! service, and which a program in between gave it.

use crate::channel::gives_what_it_is_told;
use needless_capture::{Kin, started_with};
use needless_model::{Above, Born, Env, Process, Profile};
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
        if process.born == Born::Fork && !first {
            continue;
        }
        let now = started_with(process.pid, watch).filter(|(kin, _)| {
            process.exit.is_none() && kin.exe.as_deref() == process.exe.as_deref()
        });
        process.launcher = now.as_ref().is_some_and(|(kin, _)| gives_what_it_is_told(kin));
        if first && !process.launcher {
            process.above = now.map_or(Above::Unread, |(kin, _)| seen.above(&kin, MOST));
        }
    }
}

/// Each process above is read once, for all that are below it.
struct Seen<'a> {
    watch: &'a [&'a str],
    known: HashMap<(u32, String), Above>,
}

impl Seen<'_> {
    /// Who started `kin`, as far as that is not what its service is started by.
    fn above(&mut self, kin: &Kin, most: usize) -> Above {
        if kin.parent == 0 || most == 0 {
            return Above::Nobody;
        }
        let key = (kin.parent, kin.cgroup.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = match started_with(kin.parent, self.watch) {
            None => Above::Unread,
            Some((up, _)) if gives_what_it_is_told(&up) || up.cgroup != kin.cgroup => Above::Nobody,
            Some((up, env)) => {
                let above = self.above(&up, most - 1);
                Above::Parent(Arc::new(parent(up, env, above)))
            }
        };
        self.known.insert(key, found.clone());
        found
    }
}

fn parent(kin: Kin, env: Env, above: Above) -> Process {
    let (exe, command) = (kin.exe, Some(kin.comm));
    Process { exe, command, env, above, ..Process::new(kin.pid, None, Born::Seen) }
}
