//! Calls that no rule explains although the kernel's answer was "no", or nothing new.

use crate::Amount;
use needless_model::{CallSite, Errno, Query, Row, Target};
use std::collections::{BTreeMap, BTreeSet};

/// From this count on, further opens of one file by one process are not explained.
const OPENED_AGAIN: u64 = 10;
/// From this count on, further questions about one path by one process are not explained.
const ASKED_AGAIN: u64 = 100;
/// From this count on, sched_yield(2) of one process is a loop.
const SPINNING: u64 = 1000;
/// The least part of the calls of a line that its directory or file has.
const COMMON: f64 = 0.5;
/// Where no directory has so many: the least part.
const SOME: f64 = 0.2;

/// Why a call is not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unanswered {
    /// It failed.
    Failed(Errno),
    /// It asked again what had been answered.
    Again,
    /// It gave the processor away for a moment: a loop that waits for another thread without sleeping.
    Spinning,
}

/// Calls of one kind that no rule explains: a fact, no advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// The program, as [`Process::title`](needless_model::Process::title).
    pub program: String,
    /// How many processes.
    pub processes: u64,
    /// The kernel's name of the call.
    pub call: String,
    /// The question behind it.
    pub query: Query,
    /// Why it is listed.
    pub reason: Unanswered,
    /// How many, and what they took.
    pub amount: Amount,
    /// A file, a directory with a slash at its end, or the ending of files (`*.pmc`) that many of them
    /// are about; and how many.
    pub place: Option<(String, u64)>,
    /// The most frequent place in the program, where sampled.
    pub site: Option<Site>,
}

/// The place in a program from which most of some calls came, as far as their stacks were looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The place, as [`CallSite`] is written.
    pub place: String,
    /// How many of the looks found this place.
    pub samples: u64,
    /// How many looks there were.
    pub of: u64,
}

/// How often each place was found.
#[derive(Default)]
pub(crate) struct Sites(BTreeMap<String, u64>);

impl Sites {
    pub(crate) fn add(&mut self, row: &Row) {
        for (site, n) in &row.sites {
            *self.0.entry(CallSite::to_string(site)).or_default() += n;
        }
    }

    pub(crate) fn most(self) -> Option<Site> {
        let of = self.0.values().sum();
        let (place, samples) = self.0.into_iter().max_by_key(|(_, n)| *n)?;
        Some(Site { place, samples, of })
    }
}

impl Site {
    /// Of two groups of calls, put together.
    pub(crate) fn of_both(one: Option<Site>, other: Option<Site>) -> Option<Site> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other),
        };
        let of = one.of + other.of;
        Some(match one.place == other.place {
            true => Site { samples: one.samples + other.samples, of, ..one },
            false if one.samples < other.samples => Site { of, ..other },
            false => Site { of, ..one },
        })
    }
}

impl Unexplained {
    pub(crate) fn is_of_the_kind_of(&self, other: &Unexplained) -> bool {
        let kind = |line: &Unexplained| (line.query, line.reason);
        kind(self) == kind(other) && self.program == other.program && self.call == other.call
    }

    pub(crate) fn add(&mut self, other: Unexplained) {
        self.processes += other.processes;
        self.amount.add(other.amount);
        let places: BTreeMap<&str, u64> = [&self.place, &other.place].into_iter().flatten().fold(
            BTreeMap::new(),
            |mut sum, of| {
                *sum.entry(of.0.as_str()).or_default() += of.1;
                sum
            },
        );
        self.place = common(&places, self.amount.calls);
        self.site = Site::of_both(self.site.take(), other.site);
    }
}

/// Program, call, question and reason.
pub(crate) type Kind<'p> = (&'p str, &'p str, Query, Unanswered);

/// Unexplained calls of one kind, while they are summed up.
#[derive(Default)]
pub(crate) struct Group<'p> {
    processes: BTreeSet<u32>,
    amount: Amount,
    paths: BTreeMap<&'p str, u64>,
    sites: Sites,
}

impl<'p> Group<'p> {
    /// Calls of a row of process `pid` about `path`, which is empty where it has none.
    pub(crate) fn add(&mut self, row: &Row, pid: u32, path: &'p str, amount: Amount) {
        self.processes.insert(pid);
        self.amount.add(amount);
        if let Target::Path(_) = row.target {
            *self.paths.entry(path).or_default() += amount.calls;
        }
        self.sites.add(row);
    }
}

/// Errors that are the end of a wait or its interruption: signals, timeouts, connections on their
/// way, and what a program has to ask the kernel to learn. The kernel's own numbers (ERESTARTSYS and
/// its kind) are from 512 to 516. What rt_sigreturn returns belongs to the interrupted call.
pub(crate) fn is_an_answer(call: &str, errno: Errno) -> bool {
    match (call, errno.name()) {
        (_, "EINPROGRESS" | "EINTR" | "ETIMEDOUT") => true,
        ("futex" | "rt_sigtimedwait", "EAGAIN") | ("wait4" | "waitid", "ECHILD") => true,
        ("rt_sigreturn", _) => true,
        _ => (512..=516).contains(&errno.0),
    }
}

/// Why calls of a row that no rule took are not explained, and how many.
pub(crate) fn unanswered(call: &str, row: &Row) -> Option<(Unanswered, u64)> {
    if let Some(Err(errno)) = row.outcome {
        return (!is_an_answer(call, errno)).then_some((Unanswered::Failed(errno), row.count));
    }
    if call == "sched_yield" && row.count >= SPINNING {
        return Some((Unanswered::Spinning, row.count));
    }
    let asks = matches!(row.query, Query::Stat | Query::Lstat | Query::Access | Query::Readlink);
    let absolute = matches!(row.target, Target::Path(_));
    let again = match row.query {
        Query::Open if absolute && row.count >= OPENED_AGAIN => row.count - 1,
        _ if asks && absolute && row.count >= ASKED_AGAIN => row.count - 1,
        _ if asks => row.repeated,
        _ => 0,
    };
    (again > 0).then_some((Unanswered::Again, again))
}

pub(crate) fn line((program, call, query, reason): Kind<'_>, group: Group<'_>) -> Unexplained {
    Unexplained {
        program: program.to_owned(),
        processes: group.processes.len() as u64,
        call: call.to_owned(),
        query,
        reason,
        amount: group.amount,
        place: common(&group.paths, group.amount.calls),
        site: group.sites.most(),
    }
}

/// The file that at least [`COMMON`] of `calls` are about; else the deepest such directory that is
/// not one of the root's (`/usr/` says nothing); else the ending of such files (`*.pmc`); else the
/// deepest directory that at least [`SOME`] are about.
fn common(paths: &BTreeMap<&str, u64>, calls: u64) -> Option<(String, u64)> {
    let has = |part: f64, n: u64| n as f64 >= part * calls as f64;
    let (file, most) = paths.iter().max_by_key(|(_, n)| **n)?;
    if has(COMMON, *most) {
        return Some(((*file).to_owned(), *most));
    }
    let mut dirs: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, n) in paths {
        for (at, _) in path.match_indices('/').skip(2) {
            *dirs.entry(&path[..=at]).or_default() += n;
        }
    }
    let deepest = |part: f64| {
        let common = dirs.iter().filter(|(_, n)| has(part, **n));
        common.max_by_key(|(dir, n)| (dir.len(), **n)).map(|(dir, n)| ((*dir).to_owned(), *n))
    };
    let mut endings: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, n) in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some((1.., ending)) = name.rsplit_once('.').map(|(stem, end)| (stem.len(), end)) {
            *endings.entry(ending).or_default() += n;
        }
    }
    let ending = endings.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| has(COMMON, *n));
    let ending = || ending.map(|(ending, n)| (format!("*.{ending}"), n));
    deepest(COMMON).or_else(ending).or_else(|| deepest(SOME))
}
