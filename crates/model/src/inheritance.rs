//! How a process got the value of a variable: by the environments at each exec that led to it.

use crate::{Env, ProcId, Process, Profile, Spawn};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A chain of programs is followed no further than this: a program may execute itself many times.
const FARTHEST: usize = 256;

/// What is above a process that has no parent in its profile.
#[derive(Clone, Debug, Default)]
pub enum Above {
    /// Nothing that matters: the observer started it, or a launcher that only passes on its configuration.
    #[default]
    Nothing,
    /// A process of which nothing could be read.
    Unread,
    /// The process of this id, not looked at yet.
    Pid(u32),
    /// Its parent, which was not observed: its program, and the watched variables at its last exec.
    Parent(Arc<Process>),
}

/// How a process got the value of a variable, or why it has none.
#[derive(Clone, Copy, Debug)]
pub enum Inheritance<'p> {
    /// The first process had the same value: a change there reaches the process.
    FromFirst,
    /// A program between the first process and this one changed it: a change before the first does not
    /// reach the process.
    Changed(LastChange<'p>),
    /// Some environment on the way could not be read.
    Unknown,
}

/// The last change of a variable before a process got it.
#[derive(Clone, Copy, Debug)]
pub struct LastChange<'p> {
    /// The program that made the change: it executed the next one with another value.
    pub by: Link<'p>,
    /// What it was started with; `None`: the variable was not set.
    pub was: Option<&'p str>,
    /// What the process has; `None`: the variable is not set.
    pub is: Option<&'p str>,
}

/// A program that led to a process: one that was observed, or an ancestor.
#[derive(Clone, Copy, Debug)]
pub struct Link<'p> {
    /// What is known of it.
    pub process: &'p Process,
    /// Its number in the profile, if it was observed.
    pub id: Option<ProcId>,
}

impl<'p> Inheritance<'p> {
    /// The change, if there was one.
    pub fn change(&self) -> Option<LastChange<'p>> {
        match self {
            Inheritance::Changed(change) => Some(*change),
            Inheritance::FromFirst | Inheritance::Unknown => None,
        }
    }
}

impl Profile {
    /// How process `id` got its value of `variable`. Only execs count: a change that a program makes in its
    /// own environment shows in the programs that it executes.
    pub fn inheritance(&self, id: ProcId, variable: &str) -> Inheritance<'_> {
        let mut way = self.way(id);
        let Some(mut last) = way.next() else { return Inheritance::Unknown };
        let Some(is) = last.process.env.get(variable) else { return Inheritance::Unknown };
        for (step, by) in way.enumerate() {
            match by.process.env.get(variable) {
                // A log does not show the environment before its first exec.
                None if by.is_start_of_a_log() => return Inheritance::FromFirst,
                None => return Inheritance::Unknown,
                Some(_) if step >= FARTHEST => return Inheritance::Unknown,
                Some(was) if was != is => return Inheritance::Changed(LastChange { by, was, is }),
                Some(_) => last = by,
            }
        }
        match last.process.above {
            Above::Unread | Above::Pid(_) => Inheritance::Unknown,
            _ => Inheritance::FromFirst,
        }
    }

    /// The program that put entries of a list into `variable` for process `id`; `None` if the first program had them
    /// already, or an environment on the way could not be read.
    pub fn listed_by<'p>(
        &'p self,
        id: ProcId,
        variable: &str,
        entries: &[String],
    ) -> Option<Link<'p>> {
        // A program may write the same directory in another way.
        let dirs = |process: &'p Process| {
            let of = process.lists.iter().flat_map(|lists| lists.iter());
            of.filter(|list| list.variable == variable).flat_map(|list| &list.entries)
        };
        let mut way = self.way(id);
        let own = dirs(way.next()?.process).filter(|entry| entries.contains(&entry.text));
        let own: BTreeSet<&str> = own.map(|entry| entry.dir.as_str()).collect();
        way.take(FARTHEST)
            .map_while(|by| by.process.lists.is_some().then_some(by))
            .find(|by| !own.iter().all(|dir| dirs(by.process).any(|entry| entry.dir == **dir)))
    }

    /// The last program on the way to `id` whose script assigns `variable`: to the value that was there already, if
    /// the environments show no change.
    pub fn assigned_by(&self, id: ProcId, variable: &str) -> Option<Link<'_>> {
        let above = self.way(id).skip(1).take(FARTHEST);
        above.into_iter().find(|link| link.process.assigns.contains(variable))
    }

    /// The last program on the way to `id` that may not hand on what is set above it, and whether that is certain.
    pub fn cleared_by(&self, id: ProcId) -> Option<(Link<'_>, bool)> {
        let mut way = self.way(id).take(FARTHEST);
        let mut next = way.next()?;
        for by in way {
            let (Env::Known(was), Env::Known(is)) = (&by.process.env, &next.process.env) else {
                return None;
            };
            let lost = was.keys().any(|name| !is.contains_key(name));
            let bare = is.keys().all(|name| matches!(&**name, "PATH" | "TERM" | "HOME"));
            match by.process.name() {
                _ if lost && is.is_empty() => return Some((by, true)),
                "sudo" | "doas" | "su" | "runuser" | "pkexec" => return Some((by, false)),
                "env" if lost && bare => return Some((by, false)),
                _ => next = by,
            }
        }
        None
    }

    /// The programs that led to `id`: its own, then the one that executed it, up to the first or to a
    /// launcher.
    fn way(&self, id: ProcId) -> impl Iterator<Item = Link<'_>> {
        let link = |id| Link { process: self.process(id), id: Some(id) };
        std::iter::successors(Some(link(self.image_of(id))), move |at| {
            let up = match (at.process.parent, &at.process.above) {
                (Some(up), _) => link(self.image_of(up)),
                (None, Above::Parent(up)) => Link { process: up, id: None },
                (None, _) => return None,
            };
            (!up.process.launcher).then_some(up)
        })
    }
}

impl Link<'_> {
    fn is_start_of_a_log(self) -> bool {
        let Process { parent, above, born, .. } = self.process;
        parent.is_none() && *born == Spawn::Seen && matches!(above, Above::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: Option<u32>, born: Spawn, tz: Option<&str>) -> Process {
        let set = tz.map(|tz| ("TZ".to_owned(), tz.to_owned()));
        let env = Env::Known(set.into_iter().collect());
        Process { env, ..Process::new(1, parent.map(ProcId), born) }
    }

    fn profile(processes: Vec<Process>) -> Profile {
        Profile { processes, ..Profile::default() }
    }

    /// The program that changed it, the old and the new value; `None`: it is the value of the first process.
    fn change(profile: &Profile, id: u32) -> Option<(u32, Option<&str>, Option<&str>)> {
        match profile.inheritance(ProcId(id), "TZ") {
            Inheritance::FromFirst => None,
            Inheritance::Changed(change) => {
                Some((change.by.id.map_or(9, |id| id.0), change.was, change.is))
            }
            Inheritance::Unknown => panic!("not known"),
        }
    }

    #[test]
    fn the_last_change_counts_and_a_fork_is_none() {
        let profile = profile(vec![
            process(None, Spawn::Exec, Some("UTC")),
            process(Some(0), Spawn::Exec, None),
            process(Some(1), Spawn::Fork, None),
            process(Some(2), Spawn::Exec, Some("Asia/Tokyo")),
            process(Some(3), Spawn::Exec, Some("Asia/Tokyo")),
            process(Some(0), Spawn::Exec, Some("UTC")),
        ]);
        assert_eq!(change(&profile, 0), None);
        assert_eq!(change(&profile, 1), Some((0, Some("UTC"), None)));
        assert_eq!(change(&profile, 2), Some((0, Some("UTC"), None)));
        assert_eq!(change(&profile, 4), Some((1, None, Some("Asia/Tokyo"))));
        assert_eq!(change(&profile, 5), None);
    }

    #[test]
    fn who_was_not_observed_is_asked_as_well() {
        let wrapper = Arc::new(process(None, Spawn::Seen, None));
        let mut profile = profile(vec![process(None, Spawn::Seen, Some("UTC"))]);
        profile.processes[0].above = Above::Parent(wrapper);
        assert_eq!(change(&profile, 0), Some((9, None, Some("UTC"))));
        profile.processes[0].above = Above::Unread;
        assert!(matches!(profile.inheritance(ProcId(0), "TZ"), Inheritance::Unknown));
        let cron = Process { launcher: true, ..process(None, Spawn::Seen, None) };
        let profile = self::profile(vec![cron, process(Some(0), Spawn::Exec, Some("UTC"))]);
        assert_eq!(change(&profile, 1), None);
    }

    #[test]
    fn what_was_not_seen_is_not_guessed() {
        let unknown = Process { env: Env::Unknown, ..process(Some(0), Spawn::Exec, None) };
        let profile = profile(vec![
            process(None, Spawn::Exec, Some("UTC")),
            unknown,
            process(Some(1), Spawn::Exec, Some("UTC")),
            // Of a log: nothing is known of what was before the first exec.
            Process { env: Env::Unknown, ..process(None, Spawn::Seen, None) },
            process(Some(3), Spawn::Exec, Some("UTC")),
        ]);
        for id in [1, 2] {
            assert!(matches!(profile.inheritance(ProcId(id), "TZ"), Inheritance::Unknown));
        }
        assert_eq!(change(&profile, 4), None);
    }
}
