//! A part of a profile: the calls of some of its processes, as a separate profile.

use crate::{CallId, Host, Interner, ProcId, Process, Profile, Row, Spawn, Target, Totals, Wait};
use std::collections::BTreeMap;

/// The calls of some processes of a profile, and their positions in the whole.
#[derive(Clone, Debug)]
pub struct SubProfile {
    /// The part, as a separate profile.
    pub profile: Profile,
    /// For each process of the part, its id in the whole; ascending.
    pub processes: Vec<ProcId>,
    /// For each row of the part, its position in the whole; ascending.
    pub rows: Vec<usize>,
}

/// What one part takes from a profile.
#[derive(Default)]
struct Share {
    processes: Vec<ProcId>,
    rows: Vec<usize>,
    /// Positions in [`Host::other_zones`].
    zones: Vec<usize>,
}

/// The number of a process's part, and its id there.
type Place = Option<(usize, ProcId)>;

impl Profile {
    /// The profile of the processes to keep, with the id here of each of its
    /// processes. See [`Profile::parts`].
    pub fn part(&self, keep: &dyn Fn(ProcId) -> bool) -> (Profile, Vec<ProcId>) {
        match self.parts(|id| keep(id).then_some(())).next() {
            Some((_, SubProfile { profile, processes, .. })) => (profile, processes),
            None => (self.cut(&[], 0, Share::default()).profile, Vec::new()),
        }
    }

    /// One profile per key, of the processes with that key, sorted by key; processes without a key are in
    /// none. One pass over all rows, and each part is made only when the iterator reaches it.
    ///
    /// A part has its own totals and texts; facts, window, host, notes and losses are those
    /// of the whole. A process whose parent is not in the same part has no parent there. If it was
    /// forked from it, its start counts as that of its image: what that image loaded is not in the part.
    pub fn parts<K: Ord>(
        &self,
        key: impl Fn(ProcId) -> Option<K>,
    ) -> impl Iterator<Item = (K, SubProfile)> {
        let mut members: BTreeMap<K, Vec<ProcId>> = BTreeMap::new();
        for id in (0..self.processes.len() as u32).map(ProcId) {
            if let Some(key) = key(id) {
                members.entry(key).or_default().push(id);
            }
        }
        let mut places: Vec<Place> = vec![None; self.processes.len()];
        let mut shares: Vec<(K, Share)> = Vec::with_capacity(members.len());
        for (part, (key, processes)) in members.into_iter().enumerate() {
            for (new, id) in processes.iter().enumerate() {
                places[id.index()] = Some((part, ProcId(new as u32)));
            }
            shares.push((key, Share { processes, ..Share::default() }));
        }
        for (at, row) in self.rows.iter().enumerate() {
            if let Some((part, _)) = places[row.process.index()] {
                shares[part].1.rows.push(at);
            }
        }
        for (at, (id, _)) in self.host.other_zones.iter().enumerate() {
            if let Some((part, _)) = places[id.index()] {
                shares[part].1.zones.push(at);
            }
        }
        shares
            .into_iter()
            .enumerate()
            .map(move |(part, (key, share))| (key, self.cut(&places, part, share)))
    }

    /// Part number `part`; `places` says which processes are in it.
    fn cut(&self, places: &[Place], part: usize, share: Share) -> SubProfile {
        let here =
            |id: ProcId| places[id.index()].filter(|(other, _)| *other == part).map(|(_, new)| new);
        let process = |id: &ProcId| {
            let process = self.process(*id);
            let parent = process.parent.and_then(here);
            let cut = process.parent.is_some() && parent.is_none() && process.born == Spawn::Fork;
            let born = if cut { self.process(self.image_of(*id)).born } else { process.born };
            Process { parent, born, ..process.clone() }
        };
        let mut strings = Interner::default();
        let rows: Vec<Row> = share
            .rows
            .iter()
            .map(|at| {
                let row = &self.rows[*at];
                let mut same = |id| strings.id(self.strings.text(id));
                Row {
                    process: here(row.process).expect("its rows are those of its processes"),
                    call: CallId(same(row.call.0)),
                    target: match row.target {
                        Target::Path(path) => Target::Path(same(path)),
                        Target::Cwd(path) => Target::Cwd(same(path)),
                        Target::Dir(path) => Target::Dir(same(path)),
                        Target::None | Target::ArgClass(_) | Target::Folded => row.target,
                    },
                    ..row.clone()
                }
            })
            .collect();
        let waits = self.waits.iter().filter_map(|wait| {
            let process = here(wait.process)?;
            let call = CallId(strings.id(self.strings.text(wait.call.0)));
            Some(Wait { process, call, ..wait.clone() })
        });
        let waits = waits.collect();
        let zones = share.zones.iter().map(|at| &self.host.other_zones[*at]);
        let host = Host {
            machine: self.host.machine.clone(),
            zone: self.host.zone.clone(),
            other_zones: zones
                .filter_map(|(id, zone)| here(*id).map(|id| (id, zone.clone())))
                .collect(),
            locales: self.host.locales.clone(),
            zone_files: self.host.zone_files.clone(),
            directories: self.host.directories.clone(),
            clock_source: self.host.clock_source.clone(),
            costs: self.host.costs,
            mounts: self.host.mounts.clone(),
        };
        let processes: Vec<Process> = share.processes.iter().map(process).collect();
        let profile = Profile {
            backend: self.backend.clone(),
            facts: self.facts,
            window: self.window,
            host,
            strings,
            totals: Totals::of(&processes, &rows),
            processes,
            rows,
            waits,
            lost: self.lost.clone(),
            notes: self.notes.clone(),
        };
        SubProfile { profile, processes: share.processes, rows: share.rows }
    }
}

#[cfg(test)]
mod tests;
