//! How rules look at a profile: rows by process and by path, found once; and what they leave.

use needless_model::{
    Ask, CallId, Errno, Evidence, Finding, Libc, ProcId, Process, Profile, Row, Runtime, Stage,
    StrId, Target,
};
use std::collections::{BTreeMap, HashMap, HashSet};
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
    /// Positions of rows with a [`Target::Detail`], by process.
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
                Target::Detail(_) => details.entry(row.process).or_default().push(at as u32),
                _ => {}
            }
        }
        let images: Vec<ProcId> =
            (0..profile.processes.len()).map(|p| profile.image_of(ProcId(p as u32))).collect();
        let mut libcs: Vec<Libc> = profile.processes.iter().map(|p| p.libc.clone()).collect();
        for row in &profile.rows {
            let libc = &mut libcs[images[row.process.index()].index()];
            if *libc == Libc::Unknown && row.ask == Ask::Open && row.ok() {
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
    pub(crate) fn forget_details(&mut self, claims: &Claims) {
        for rows in self.details.values_mut() {
            rows.retain(|row| !claims.taken(*row as usize));
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
        by_process(rows.filter(|(_, row)| row.ask == Ask::Open && ended(row)))
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

/// What the rules so far found, and which rows they can explain.
#[derive(Debug)]
pub struct Claims {
    found: Vec<Finding>,
    taken: Vec<bool>,
}

impl Claims {
    /// None yet, for a profile with this many rows.
    pub fn new(rows: usize) -> Claims {
        Claims { found: Vec::new(), taken: vec![false; rows] }
    }

    /// Leaves a finding. Its rows are then explained.
    pub fn find(&mut self, finding: Finding) {
        self.explain(&finding.rows);
        self.found.push(finding);
    }

    /// Rows that are as they should be: no finding, and no later rule is to make one of them.
    pub fn explain(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = true;
        }
    }

    /// Whether a rule found or explained this row.
    pub fn taken(&self, row: usize) -> bool {
        self.taken[row]
    }

    /// The findings, in the order they were made.
    pub fn into_findings(self) -> Vec<Finding> {
        self.found
    }
}

/// What a rule found in one process, before processes are put together.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) process: ProcId,
    pub(crate) needless: u64,
    pub(crate) of: u64,
    pub(crate) rows: Vec<usize>,
}

/// Cases put together: the sums, and a finding's lists.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) processes: Vec<ProcId>,
    pub(crate) needless: u64,
    pub(crate) of: u64,
    pub(crate) rows: Vec<usize>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) sites: Vec<String>,
}

impl Merged {
    /// A finding of `rule` with all that follows from its cases. What it says (`stage`, `what`,
    /// `why`, `remedies`) is for the rule to write.
    pub(crate) fn finding(self, rule: &'static str) -> Finding {
        Finding {
            rule,
            stage: Stage::Seen,
            processes: self.processes,
            service: None,
            needless: self.needless,
            besides: 0,
            of: self.of,
            kernel_ns: None,
            estimated: false,
            what: String::new(),
            why: String::new(),
            sites: self.sites,
            evidence: self.evidence,
            remedies: Vec::new(),
            rows: self.rows,
        }
    }
}

/// Sums that are at hand.
const AT_HAND: usize = 4;
/// Evidence lines of a finding; more would hide the first ones.
const EVIDENCE: usize = 8;

/// What a line of evidence is about: how the paths begin, what stands for that in which they differ,
/// and how they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct About<'p>(pub(crate) &'p str, pub(crate) &'static str, pub(crate) &'p str);

impl<'p> About<'p> {
    /// This path.
    pub(crate) fn path(path: &'p str) -> About<'p> {
        About(path, "", "")
    }

    /// Whatever was asked for below this directory.
    pub(crate) fn below(dir: &'p str) -> About<'p> {
        About(dir, "/…", "")
    }
}

impl std::fmt::Display for About<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.0, self.1, self.2)
    }
}

pub(crate) fn merge(profile: &Profile, cases: Vec<Case>) -> Merged {
    merge_by(profile, cases, About::path)
}

/// As [`merge`], the evidence put together by what `about` makes of a path.
pub(crate) fn merge_by<'p>(
    profile: &'p Profile,
    mut cases: Vec<Case>,
    about: impl Fn(&'p str) -> About<'p>,
) -> Merged {
    cases.sort_by_key(|case| (std::cmp::Reverse(case.needless), case.process));
    let mut known = HashSet::new();
    let processes = cases.iter().map(|case| case.process).filter(|id| known.insert(*id)).collect();
    let rows: Vec<usize> = cases.iter().flat_map(|case| case.rows.iter().copied()).collect();
    Merged {
        processes,
        needless: cases.iter().map(|case| case.needless).sum(),
        of: cases.iter().map(|case| case.of).sum(),
        evidence: evidence(profile, &rows, about),
        sites: sites(profile, &rows),
        rows,
    }
}

fn evidence<'p>(
    profile: &'p Profile,
    rows: &[usize],
    about: impl Fn(&'p str) -> About<'p>,
) -> Vec<Evidence> {
    let mut sums: HashMap<(CallId, About<'p>, Outcome), u64> = HashMap::new();
    // Rows about the same thing mostly follow one another: a few sums that are at hand spare nearly
    // all look-ups.
    let mut at_hand: [Option<Sum<'p>>; AT_HAND] = [None; AT_HAND];
    let mut oldest = 0;
    for row in rows.iter().map(|at| &profile.rows[*at]) {
        let about = match row.target {
            Target::Detail(detail) => About::path(detail.words()),
            _ => about(profile.path(row)),
        };
        let key = (row.call, about, row.outcome);
        if let Some((_, sum)) = at_hand.iter_mut().flatten().find(|(known, _)| *known == key) {
            *sum += row.count;
            continue;
        }
        if let Some((key, sum)) = at_hand[oldest].replace((key, row.count)) {
            *sums.entry(key).or_default() += sum;
        }
        oldest = (oldest + 1) % AT_HAND;
    }
    for (key, sum) in at_hand.into_iter().flatten() {
        *sums.entry(key).or_default() += sum;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    let name = |call: &CallId| profile.strings.text(call.0);
    let in_order = |((one, path, how), n): &Sum<'_>, ((other, to, end), m): &Sum<'_>| {
        m.cmp(n).then_with(|| (name(one), path, words(*how)).cmp(&(name(other), to, words(*end))))
    };
    if sums.len() > EVIDENCE {
        sums.select_nth_unstable_by(EVIDENCE, in_order);
        sums.truncate(EVIDENCE);
    }
    sums.sort_unstable_by(in_order);
    let to_line = |((call, about, outcome), count): Sum<'_>| Evidence {
        call: name(&call).to_owned(),
        path: about.to_string(),
        outcome: words(outcome).to_owned(),
        count,
    };
    sums.into_iter().map(to_line).collect()
}

/// How a call ended, where that was seen.
type Outcome = Option<Result<(), Errno>>;
/// How many calls of one kind, about one thing, ended alike.
type Sum<'p> = ((CallId, About<'p>, Outcome), u64);

fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Some(Ok(())) => "ok",
        Some(Err(errno)) => errno.name(),
        None => "not seen",
    }
}

fn sites(profile: &Profile, rows: &[usize]) -> Vec<String> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (site, count) in rows.iter().flat_map(|at| &profile.rows[*at].sites) {
        *sums.entry(site.to_string()).or_default() += count;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sums.into_iter().map(|(site, _)| site).collect()
}
