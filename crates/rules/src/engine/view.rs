//! How rules read a profile, with indexes of its rows by process and by path.

use crate::engine::Sink;
use needless_model::{Env, Libc, ProcId, Process, Profile, Query, Row, Runtime, StrId, Target};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A profile with the indexes that rules need.
#[derive(Debug)]
pub struct View<'p> {
    /// The profile.
    pub profile: &'p Profile,
    /// Positions of rows, sorted by process and, within one, by first occurrence.
    order: Vec<u32>,
    /// The part of `order` of each process.
    spans: Vec<Range<usize>>,
    by_path: HashMap<StrId, Vec<u32>>,
    /// Positions of rows with a [`Target::ArgClass`], by process.
    details: BTreeMap<ProcId, Vec<u32>>,
    images: Vec<ProcId>,
    libcs: Vec<Libc>,
}

impl<'p> View<'p> {
    /// Indexes `profile`, in one pass over its rows.
    pub fn new(profile: &'p Profile) -> View<'p> {
        let mut order: Vec<u32> = (0..profile.rows.len() as u32).collect();
        order.sort_by_key(|row| profile.rows[*row as usize].process);
        let spans = spans(profile, &order);
        let mut by_path: HashMap<StrId, Vec<u32>> = HashMap::new();
        let mut details: BTreeMap<ProcId, Vec<u32>> = BTreeMap::new();
        for (at, row) in profile.rows.iter().enumerate() {
            match row.target {
                Target::Path(path) => by_path.entry(path).or_default().push(at as u32),
                Target::ArgClass(_) => details.entry(row.process).or_default().push(at as u32),
                _ => {}
            }
        }
        let images: Vec<ProcId> = profile.images();
        let mut libcs: Vec<Libc> = profile.processes.iter().map(|p| p.libc.clone()).collect();
        for row in &profile.rows {
            let libc = &mut libcs[images[row.process.index()].index()];
            if *libc == Libc::Unknown && row.query == Query::Open && row.ok() {
                *libc = Libc::of_library(profile.path(row).as_bytes());
            }
        }
        View { profile, order, spans, by_path, details, images, libcs }
    }

    /// All processes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ProcId> + use<> {
        (0..self.profile.processes.len() as u32).map(ProcId)
    }

    /// A process.
    pub fn process(&self, id: ProcId) -> &'p Process {
        self.profile.process(id)
    }

    /// The process that loaded the image of `id`.
    pub fn image(&self, id: ProcId) -> ProcId {
        self.images[id.index()]
    }

    /// The C library of a process: as the backend says, else by the file its image loaded.
    pub fn libc(&self, id: ProcId) -> &Libc {
        match &self.process(id).libc {
            Libc::Unknown => &self.libcs[self.image(id).index()],
            known => known,
        }
    }

    /// Whether every process of the profile is known to use glibc and to leave time zones to it.
    pub fn only_glibc(&self) -> bool {
        self.ids().all(|id| {
            matches!(self.libc(id), Libc::Glibc(_)) && self.process(id).runtime == Runtime::Native
        })
    }

    /// Whether the variables of the process are unknown.
    pub(crate) fn env_unknown(&self, id: ProcId) -> bool {
        self.process(id).env == Env::Unknown
    }

    /// The rows of a process in the order of their first call, with their positions.
    pub fn rows_of(&self, id: ProcId) -> impl Iterator<Item = (usize, &'p Row)> + '_ {
        self.order[self.spans[id.index()].clone()].iter().map(|at| self.at(*at))
    }

    /// The rows of a process about calls without a path, by the class of their arguments.
    pub(crate) fn details_of(&self, id: ProcId) -> impl Iterator<Item = (usize, &'p Row)> + '_ {
        self.details.get(&id).into_iter().flatten().map(|at| self.at(*at))
    }

    /// Removes the rows that are taken so far, by declared rules above all: built-in rules do not see them, so no call
    /// counts twice. Not all of these rules check [`Sink::taken`].
    pub(crate) fn forget(&mut self, sink: &Sink) {
        if !sink.taken.contains(&true) {
            return;
        }
        let free = |row: &u32| !sink.taken(*row as usize);
        self.details.values_mut().for_each(|rows| rows.retain(free));
        self.by_path.values_mut().for_each(|rows| rows.retain(free));
        self.order.retain(free);
        self.spans = spans(self.profile, &self.order);
    }

    /// Whether `part` may occur in a path. For rules that would otherwise read every row.
    pub(crate) fn may_mention(&self, part: &str) -> bool {
        self.profile.strings.may_mention(part)
    }

    /// The rows about an absolute path, by process.
    pub fn rows_at(&self, path: &str) -> BTreeMap<ProcId, Vec<(usize, &'p Row)>> {
        let rows = self.profile.strings.find(path).and_then(|id| self.by_path.get(&id));
        by_process(rows.into_iter().flatten().map(|at| self.at(*at)))
    }

    /// The opens for reading of absolute paths whose text fulfils `wanted` and whose outcome
    /// fulfils `ended`, by process. A process without any is left out.
    pub(crate) fn opens_where(
        &self,
        wanted: impl Fn(&str) -> bool,
        ended: impl Fn(&Row) -> bool,
    ) -> BTreeMap<ProcId, Vec<(usize, &'p Row)>> {
        let rows = self.rows_where(wanted).into_iter();
        by_process(rows.filter(|(_, row)| row.query == Query::Open && ended(row)))
    }

    /// All rows about absolute paths whose text fulfils `wanted`, which is asked once per path.
    pub fn rows_where(&self, wanted: impl Fn(&str) -> bool) -> Vec<(usize, &'p Row)> {
        let mut found: Vec<u32> = self
            .by_path
            .iter()
            .filter(|(path, _)| wanted(self.profile.strings.text(**path)))
            .flat_map(|(_, rows)| rows.iter().copied())
            .collect();
        found.sort_unstable();
        found.into_iter().map(|at| self.at(at)).collect()
    }

    /// A process and those it was forked from, up to the one that loaded the image.
    pub fn lineage(&self, id: ProcId) -> impl Iterator<Item = ProcId> + '_ {
        let image = self.image(id);
        std::iter::successors(
            Some(id),
            move |at| {
                if *at == image { None } else { self.process(*at).parent }
            },
        )
    }

    fn at(&self, row: u32) -> (usize, &'p Row) {
        (row as usize, &self.profile.rows[row as usize])
    }
}

/// The part of each process in rows that are sorted by process.
fn spans(profile: &Profile, order: &[u32]) -> Vec<Range<usize>> {
    let mut spans = vec![0..0; profile.processes.len()];
    for (at, row) in order.iter().enumerate() {
        let span = &mut spans[profile.rows[*row as usize].process.index()];
        let start = if span.end == 0 { at } else { span.start };
        *span = start..at + 1;
    }
    spans
}

fn by_process<'p>(
    rows: impl Iterator<Item = (usize, &'p Row)>,
) -> BTreeMap<ProcId, Vec<(usize, &'p Row)>> {
    let mut found: BTreeMap<ProcId, Vec<(usize, &Row)>> = BTreeMap::new();
    for (at, row) in rows {
        found.entry(row.process).or_default().push((at, row));
    }
    found
}
