//! How rules read a profile, with indexes of its rows by process and by path; and how they report
//! what they find.
//!
//! `Sink::explain` takes calls that a rule knows and that nobody can avoid, as PHP's reading of the zone database: they
//! are neither reported nor unexplained.

use needless_model::{
    Env, Fact, Finding, Libc, ProcId, Process, Profile, Query, Row, Runtime, StrId, Target,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

pub(crate) use crate::merged::{Case, Merged, PathPattern, merge, merge_by, merge_shared};

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

/// The facts that rules lacked, by the rules' names.
pub(crate) type Lacks = BTreeMap<&'static str, Vec<Fact>>;

/// What a finding must exceed to be worth a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// As the head of this crate says.
    Usual,
    /// Hundreds of calls, and a noticeable share of the run: for advice that is right for a loop
    /// and pedantic for an ordinary start.
    Hundreds,
    /// It cannot be changed, or only in code that is not the user's, or nearly every program does it a
    /// few times: shown on demand, like findings of a [`pedantic`](crate::Rule) rule.
    OnDemand,
}

/// What the rules so far found, and which rows they can explain.
#[derive(Debug)]
pub struct Sink {
    found: Vec<(Finding, Threshold)>,
    lacked: Lacks,
    taken: Vec<bool>,
    /// Calls of rows that are not taken, which go with those of a finding.
    claimed: HashMap<usize, u64>,
}

impl Sink {
    /// An empty sink for a profile with this many rows.
    pub fn new(rows: usize) -> Sink {
        Sink {
            found: Vec::new(),
            lacked: BTreeMap::new(),
            taken: vec![false; rows],
            claimed: HashMap::new(),
        }
    }

    /// Adds a finding. Its rows are then explained.
    pub fn find(&mut self, finding: Finding) {
        self.find_beyond(Threshold::Usual, finding);
    }

    /// Like [`find`](Sink::find), for a finding that is worth a change only above this threshold.
    pub(crate) fn find_beyond(&mut self, threshold: Threshold, finding: Finding) {
        self.explain(&finding.rows);
        self.found.push((finding, threshold));
    }

    /// Marks rows as explained: they are not a finding, and no later rule reports them.
    pub fn explain(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = true;
        }
    }

    /// Gives rows of a finding to later rules as well: some of their calls belong to something
    /// else.
    pub(crate) fn leave(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = false;
        }
    }

    /// Counts calls of a row as some that go with a finding ([`Finding::besides`]): these are explained, and the row's
    /// others are not.
    pub(crate) fn claim(&mut self, row: usize, calls: u64) {
        *self.claimed.entry(row).or_default() += calls;
    }

    /// How many calls of this row are [claimed](Sink::claim).
    pub(crate) fn claimed(&self, row: usize) -> u64 {
        self.claimed.get(&row).copied().unwrap_or(0)
    }

    /// Whether a rule found or explained this row.
    pub fn taken(&self, row: usize) -> bool {
        self.taken[row]
    }

    /// The rule saw calls that may concern it, and could not decide without this fact. If it finds
    /// nothing, it is listed as not checked.
    pub(crate) fn lack(&mut self, rule: &'static str, fact: Fact) {
        let facts = self.lacked.entry(rule).or_default();
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }

    /// The findings, in the order they were made, each with what it must exceed; and what rules lacked.
    pub(crate) fn into_parts(self) -> (Vec<(Finding, Threshold)>, Lacks) {
        (self.found, self.lacked)
    }
}
