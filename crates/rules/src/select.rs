//! How rules look at a profile: rows by process and by path, found once; and what they leave.

use needless_model::{
    Env, Fact, Finding, Libc, ProcId, Process, Profile, Query, Row, Runtime, StrId, Target,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

pub(crate) use crate::merged::{About, Case, Merged, merge, merge_by, merge_shared};

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
        let mut spans = vec![0..0; profile.processes.len()];
        for (at, row) in order.iter().enumerate() {
            let span = &mut spans[profile.rows[*row as usize].process.index()];
            let start = if span.end == 0 { at } else { span.start };
            *span = start..at + 1;
        }
        let mut by_path: HashMap<StrId, Vec<u32>> = HashMap::new();
        let mut details: BTreeMap<ProcId, Vec<u32>> = BTreeMap::new();
        for (at, row) in profile.rows.iter().enumerate() {
            match row.target {
                Target::Path(path) => by_path.entry(path).or_default().push(at as u32),
                Target::ArgClass(_) => details.entry(row.process).or_default().push(at as u32),
                _ => {}
            }
        }
        let images: Vec<ProcId> =
            (0..profile.processes.len()).map(|p| profile.image_of(ProcId(p as u32))).collect();
        let mut libcs: Vec<Libc> = profile.processes.iter().map(|p| p.libc.clone()).collect();
        for row in &profile.rows {
            let libc = &mut libcs[images[row.process.index()].index()];
            if *libc == Libc::Unknown && row.query == Query::Open && row.ok() {
                *libc = libc_by_path(profile.path(row));
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

    /// Whether nothing is known of the process's variables.
    pub(crate) fn env_unknown(&self, id: ProcId) -> bool {
        self.process(id).env == Env::Unknown
    }

    /// The rows of a process in the order of their first call, with their positions.
    pub fn rows_of(&self, id: ProcId) -> impl Iterator<Item = (usize, &'p Row)> + '_ {
        self.order[self.spans[id.index()].clone()].iter().map(|at| self.at(*at))
    }

    /// The rows of a process about calls without a path whose arguments rules ask about.
    pub(crate) fn details_of(&self, id: ProcId) -> impl Iterator<Item = (usize, &'p Row)> + '_ {
        self.details.get(&id).into_iter().flatten().map(|at| self.at(*at))
    }

    /// Leaves rows out of [`View::details_of`] that a rule found or explained: those who ask it do not
    /// ask what is taken, for no two built-in rules are about the same detail.
    pub(crate) fn forget_details(&mut self, sink: &Sink) {
        for rows in self.details.values_mut() {
            rows.retain(|row| !sink.taken(*row as usize));
        }
    }

    /// Whether `part` may occur in a path. Asked by rules that would else look at every row.
    pub(crate) fn may_mention(&self, part: &str) -> bool {
        self.profile.strings.may_mention(part)
    }

    /// The rows about an absolute path, by process.
    pub fn rows_at(&self, path: &str) -> BTreeMap<ProcId, Vec<(usize, &'p Row)>> {
        let rows = self.profile.strings.find(path).and_then(|id| self.by_path.get(&id));
        by_process(rows.into_iter().flatten().map(|at| self.at(*at)))
    }

    /// The opens for reading of absolute paths whose text fulfils `wanted`, by process, as far as
    /// they `ended` as the rule wants it. No process without any.
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

fn by_process<'p>(
    rows: impl Iterator<Item = (usize, &'p Row)>,
) -> BTreeMap<ProcId, Vec<(usize, &'p Row)>> {
    let mut found: BTreeMap<ProcId, Vec<(usize, &Row)>> = BTreeMap::new();
    for (at, row) in rows {
        found.entry(row.process).or_default().push((at, row));
    }
    found
}

fn libc_by_path(path: &str) -> Libc {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "libc.so.6" || name == "libc.so.6.1" {
        return Libc::Glibc(None);
    }
    let musl = name.starts_with("libc.musl-") || name.starts_with("ld-musl-");
    if musl { Libc::Musl } else { Libc::Unknown }
}

/// What rules lacked, by their names.
pub(crate) type Lacks = BTreeMap<&'static str, Vec<Fact>>;

/// From when on a finding is worth a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// As the head of this crate says.
    Usual,
    /// Where it takes hundreds of calls and a share of the run that somebody would notice: what is right
    /// in a loop and pedantic of an ordinary start.
    Hundreds,
    /// Nobody can help it, or only by other code than the user's: as for a rule that is
    /// [`pedantic`](crate::Rule), shown on demand.
    OnDemand,
}

/// What the rules so far found, and which rows they can explain.
#[derive(Debug)]
pub struct Sink {
    found: Vec<(Finding, Threshold)>,
    lacked: Lacks,
    taken: Vec<bool>,
}

impl Sink {
    /// None yet, for a profile with this many rows.
    pub fn new(rows: usize) -> Sink {
        Sink { found: Vec::new(), lacked: BTreeMap::new(), taken: vec![false; rows] }
    }

    /// Leaves a finding. Its rows are then explained.
    pub fn find(&mut self, finding: Finding) {
        self.find_beyond(Threshold::Usual, finding);
    }

    /// As [`find`](Sink::find), of what is worth a change only beyond this.
    pub(crate) fn find_beyond(&mut self, bar: Threshold, finding: Finding) {
        self.explain(&finding.rows);
        self.found.push((finding, bar));
    }

    /// Rows that are as they should be: no finding, and no later rule is to make one of them.
    pub fn explain(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = true;
        }
    }

    /// Leaves rows of a finding to later rules: some of their calls are another's.
    pub(crate) fn leave(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = false;
        }
    }

    /// Whether a rule found or explained this row.
    pub fn taken(&self, row: usize) -> bool {
        self.taken[row]
    }

    /// The rule saw what may be its matter, and could not tell without this fact. Where it finds nothing, it
    /// was not checked.
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
