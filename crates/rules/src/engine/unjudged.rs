//! Calls that no rule looked at, by kind, and who made them.

use crate::engine::activity::tracing;
use crate::engine::unexplained::Sites;
use crate::{Amount, Site, View};
use needless_model::{Fact, ProcId, Row};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Less CPU time, nanoseconds, is no share of a processor worth a word; nor is a shorter life.
const LEAST: u64 = 100_000_000;

/// Calls of one name that are not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// The kernel's name of the call.
    pub call: String,
    /// How many, and what they took.
    pub amount: Amount,
    /// The program that made most of them, as [`Process::title`](needless_model::Process::title); and how many.
    pub program: (String, u64),
    /// The most frequent place in the programs, where sampled.
    pub site: Option<Site>,
}

/// The kinds of calls of a view, most frequent first.
pub(crate) fn kinds<'p>(
    view: &View<'p>,
    rows: impl Iterator<Item = (&'p Row, Amount)>,
) -> Vec<Unjudged> {
    /// Sum, by process, places.
    type Sum = (Amount, BTreeMap<ProcId, u64>, Sites);
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for (row, amount) in rows {
        let sum = sums.entry(view.profile.call(row)).or_default();
        sum.0.add(amount);
        *sum.1.entry(row.process).or_default() += amount.calls;
        sum.2.add(row);
    }
    let kind = |(call, (amount, processes, sites)): (&str, Sum)| {
        let mut programs: BTreeMap<String, u64> = BTreeMap::new();
        for (id, calls) in processes {
            *programs.entry(view.process(id).title()).or_default() += calls;
        }
        let program = programs.into_iter().max_by_key(|(_, calls)| *calls).unwrap_or_default();
        Unjudged { call: call.to_owned(), amount, program, site: sites.most() }
    };
    let mut kinds: Vec<Unjudged> = sums.into_iter().map(kind).collect();
    rank(&mut kinds);
    kinds
}

/// Adds the kinds of other programs.
pub(crate) fn add(own: &mut Vec<Unjudged>, others: Vec<Unjudged>) {
    for other in others {
        let Some(kind) = own.iter_mut().find(|kind| kind.call == other.call) else {
            own.push(other);
            continue;
        };
        kind.amount.add(other.amount);
        kind.program = match kind.program.0 == other.program.0 {
            true => (other.program.0, kind.program.1 + other.program.1),
            false => std::cmp::max_by_key(other.program, kind.program.clone(), |(_, n)| *n),
        };
        kind.site = Site::of_both(kind.site.take(), other.site);
    }
    rank(own);
}

fn rank(kinds: &mut [Unjudged]) {
    kinds.sort_by_key(|kind| Reverse(kind.amount.calls));
}

/// How busy a process was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The program, as [`Process::title`](needless_model::Process::title).
    pub program: String,
    /// Its process id.
    pub pid: u32,
    /// Its CPU time, nanoseconds, without what a tracer added.
    pub cpu_ns: u64,
    /// How long it lived within the observation at most, nanoseconds: from its first call to the end.
    pub life_ns: u64,
}

impl Busy {
    /// Its part of a processor; of several more than 1.
    pub fn share(&self) -> f64 {
        self.cpu_ns as f64 / self.life_ns.max(1) as f64
    }

    /// The process of the view with most CPU time, if it used a fifth of a processor or more: a busy machine gives a
    /// process that never waits no more.
    pub(crate) fn of(view: &View<'_>) -> Option<Busy> {
        let profile = view.profile;
        let used = |id: &ProcId| view.process(*id).cpu_ns;
        let id = view.ids().filter(|id| used(id).is_some()).max_by_key(used)?;
        let process = view.process(id);
        let times = view.rows_of(id).filter(|_| profile.facts.has(Fact::Clock));
        let first = times.map(|(_, row)| row.first_ns).min().unwrap_or(0);
        let busy = Busy {
            program: process.title(),
            pid: process.pid,
            cpu_ns: process.cpu_ns?.saturating_sub(tracing(profile)),
            life_ns: profile.window.length_ns?.saturating_sub(first),
        };
        let counts = busy.cpu_ns >= LEAST && busy.life_ns >= LEAST && busy.share() >= 0.2;
        counts.then_some(busy)
    }
}
