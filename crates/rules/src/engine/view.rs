//! How rules read a profile, with indexes of its rows by process and by path.

use crate::engine::Sink;
use needless_model::{
    Env, Libc, ProcId, Process, Profile, Query, Row, Runtime, Spawn, StrId, Target, Totals,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A profile, or the processes of one service in it, with the indexes that rules need. Positions of rows and numbers of
/// processes are always those of the profile.
#[derive(Debug)]
pub struct View<'p> {
    /// The profile. What is said there of all processes, or of all rows, is not of this view: its own are `ids()`,
    /// `rows()` and `totals()`.
    pub profile: &'p Profile,
    part: Part,
    totals: Totals,
    /// Positions of rows, sorted by process and, within one, by first occurrence.
    order: Vec<u32>,
    /// The part of `order` of each process, by [`Known::places`].
    spans: Vec<Range<usize>>,
    by_path: HashMap<StrId, Vec<u32>>,
    /// Positions of rows with a [`Target::ArgClass`], by process.
    details: BTreeMap<ProcId, Vec<u32>>,
    known: Arc<Known>,
}

/// What a view shows, in ascending order.
#[derive(Clone, Debug, Default)]
struct Part {
    processes: Vec<ProcId>,
    rows: Vec<u32>,
}

/// What is found out once for all views of a profile.
#[derive(Debug)]
struct Known {
    /// The number of each process in its view.
    places: Vec<u32>,
    images: Vec<ProcId>,
    libcs: Vec<Libc>,
}

impl<'p> View<'p> {
    /// Indexes `profile`, in one pass over its rows.
    pub fn new(profile: &'p Profile) -> View<'p> {
        let processes = (0..profile.processes.len() as u32).map(ProcId).collect();
        let part = Part { processes, rows: (0..profile.rows.len() as u32).collect() };
        let known = Known {
            places: (0..profile.processes.len() as u32).collect(),
            ..Known::of(profile, profile.images())
        };
        View { totals: profile.totals, ..View::of(profile, part, Arc::new(known)) }
    }

    /// One view per key, of the processes with that key, sorted by key. Two passes over all rows; the indexes of a view
    /// are made when the iterator reaches it.
    ///
    /// A process whose parent is not in its view counts as one that loaded its image: what that loaded is not there.
    pub(crate) fn divided<K: Ord>(
        profile: &'p Profile,
        key: impl Fn(ProcId) -> K,
    ) -> impl Iterator<Item = (K, View<'p>)> {
        let mut parts: BTreeMap<K, Part> = BTreeMap::new();
        for id in (0..profile.processes.len() as u32).map(ProcId) {
            parts.entry(key(id)).or_default().processes.push(id);
        }
        let mut places = vec![0; profile.processes.len()];
        let mut numbers = vec![0; profile.processes.len()];
        let (keys, mut parts): (Vec<K>, Vec<Part>) = parts.into_iter().unzip();
        for (number, part) in parts.iter().enumerate() {
            for (place, id) in part.processes.iter().enumerate() {
                (numbers[id.index()], places[id.index()]) = (number, place as u32);
            }
        }
        for (at, row) in profile.rows.iter().enumerate() {
            parts[numbers[row.process.index()]].rows.push(at as u32);
        }
        let images =
            profile.images_within(|one, other| numbers[one.index()] == numbers[other.index()]);
        let known = Arc::new(Known { places, ..Known::of(profile, images) });
        keys.into_iter().zip(parts).map(move |(key, part)| {
            let view = View::of(profile, part, Arc::clone(&known));
            let processes = view.part.processes.iter().map(|id| profile.process(*id));
            let totals = Totals::of(processes, view.rows().map(|(_, row)| row));
            (key, View { totals, ..view })
        })
    }

    fn of(profile: &'p Profile, part: Part, known: Arc<Known>) -> View<'p> {
        let mut by_path: HashMap<StrId, Vec<u32>> = HashMap::new();
        let mut details: BTreeMap<ProcId, Vec<u32>> = BTreeMap::new();
        for at in &part.rows {
            let row = &profile.rows[*at as usize];
            match row.target {
                Target::Path(path) => by_path.entry(path).or_default().push(*at),
                Target::ArgClass(_) => details.entry(row.process).or_default().push(*at),
                _ => {}
            }
        }
        let mut order = part.rows.clone();
        order.sort_by_key(|row| profile.rows[*row as usize].process);
        let mut view = View {
            profile,
            part,
            totals: Totals::default(),
            order,
            spans: Vec::new(),
            by_path,
            details,
            known,
        };
        view.spans = view.spans();
        view
    }

    /// All processes, in ascending order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ProcId> + '_ {
        self.part.processes.iter().copied()
    }

    /// All rows, with their positions in the profile, in ascending order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, &'p Row)> + '_ {
        self.part.rows.iter().map(|at| self.at(*at))
    }

    /// The sums over its processes and rows.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// A process.
    pub fn process(&self, id: ProcId) -> &'p Process {
        self.profile.process(id)
    }

    /// The process that loaded the image of `id`.
    pub fn image(&self, id: ProcId) -> ProcId {
        self.known.images[id.index()]
    }

    /// How a process came to be. One that was forked from a process which is not in this view is as old as its image.
    pub(crate) fn born(&self, id: ProcId) -> Spawn {
        let born = self.process(id).born;
        let image = if self.image(id) == id { self.profile.image_of(id) } else { id };
        if born == Spawn::Fork { self.process(image).born } else { born }
    }

    /// The C library of a process: as the backend says, else by the file its image loaded.
    pub fn libc(&self, id: ProcId) -> &Libc {
        match &self.process(id).libc {
            Libc::Unknown => &self.known.libcs[self.image(id).index()],
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
        self.order[self.spans[self.place(id)].clone()].iter().map(|at| self.at(*at))
    }

    /// The rows of a process about calls without a path, by the class of their arguments.
    pub(crate) fn details_of(&self, id: ProcId) -> impl Iterator<Item = (usize, &'p Row)> + '_ {
        self.details.get(&id).into_iter().flatten().map(|at| self.at(*at))
    }

    /// Removes the rows that are taken so far, by declared rules above all: built-in rules do not see them, so no call
    /// counts twice. Not all of these rules check [`Sink::taken`].
    pub(crate) fn forget(&mut self, sink: &Sink) {
        if !self.part.rows.iter().any(|row| sink.taken(*row as usize)) {
            return;
        }
        let free = |row: &u32| !sink.taken(*row as usize);
        self.details.values_mut().for_each(|rows| rows.retain(free));
        self.by_path.values_mut().for_each(|rows| rows.retain(free));
        self.order.retain(free);
        self.spans = self.spans();
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

    /// The part of each process in `order`.
    fn spans(&self) -> Vec<Range<usize>> {
        let mut spans = vec![0..0; self.part.processes.len()];
        for (at, row) in self.order.iter().enumerate() {
            let span = &mut spans[self.place(self.profile.rows[*row as usize].process)];
            let start = if span.end == 0 { at } else { span.start };
            *span = start..at + 1;
        }
        spans
    }

    fn place(&self, id: ProcId) -> usize {
        self.known.places[id.index()] as usize
    }

    fn at(&self, row: u32) -> (usize, &'p Row) {
        (row as usize, &self.profile.rows[row as usize])
    }
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

impl Known {
    /// With no places.
    fn of(profile: &Profile, images: Vec<ProcId>) -> Known {
        let mut libcs: Vec<Libc> = profile.processes.iter().map(|p| p.libc.clone()).collect();
        for row in &profile.rows {
            let libc = &mut libcs[images[row.process.index()].index()];
            if *libc == Libc::Unknown && row.query == Query::Open && row.ok() {
                *libc = Libc::of_library(profile.path(row).as_bytes());
            }
        }
        Known { places: Vec::new(), images, libcs }
    }
}
