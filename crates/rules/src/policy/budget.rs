//! Budgets: how much of each kind of work a command may do, and whether it did more.
//!
//! Counts repeat from run to run, times do not. Some counts do not repeat either: how often a program waits for another
//! is up to the scheduler. So calls that wait, and calls that were interrupted or came too early, are in no count here
//! ([`is_chance`]); every other count has the range of its runs as tolerance.

mod baseline;
mod callers;
mod causes;
mod groups;

pub use callers::callers;
pub use causes::{Cause, CauseKind, EnvironmentChange, causes};
pub use groups::is_missing;

use crate::Verdict;
use crate::engine::is_an_answer;
use needless_model::{Errno, Profile, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a budget limits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// Calls in all.
    Calls,
    /// Calls that name a path.
    PathCalls,
    /// Calls that failed.
    Failed,
    /// Calls that findings name, over all rules.
    Needless,
    /// Processes; one that execs another program counts as another.
    Processes,
    /// CPU time of untraced runs, milliseconds.
    CpuMs,
    /// Calls of this name.
    Call(String),
    /// Calls that findings of this rule name.
    Rule(String),
}

impl fmt::Display for Counted {
    /// The key in needless.toml, below the budget's table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counted::Calls => f.write_str("calls"),
            Counted::PathCalls => f.write_str("path-calls"),
            Counted::Failed => f.write_str("failed"),
            Counted::Needless => f.write_str("needless"),
            Counted::Processes => f.write_str("processes"),
            Counted::CpuMs => f.write_str("cpu-ms"),
            Counted::Call(name) => write!(f, "call.{name}"),
            Counted::Rule(name) => write!(f, "rule.{name}"),
        }
    }
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// The most that was seen when the budget was written.
    pub most: u64,
    /// So much more is chance.
    pub vary: u64,
    /// The line in the file, from 1; 0: not written yet.
    pub line: usize,
}

/// The budget of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Its name.
    pub name: String,
    /// The file that it is in.
    pub file: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// What it limits.
    pub limits: BTreeMap<Counted, Limit>,
    /// Whether an earlier report stands for it: `--update` does not write it.
    pub of_report: bool,
}

/// What one run did.
pub type Counts = BTreeMap<Counted, u64>;

/// A count of several runs, and what the budget allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What was counted.
    pub counted: Counted,
    /// The least of the runs.
    pub lowest: u64,
    /// The most of the runs.
    pub highest: u64,
    /// What the budget allows; `None`: it does not limit this.
    pub limit: Option<Limit>,
}

impl Measured {
    /// Whether it differed between the runs.
    pub fn varies(&self) -> bool {
        self.lowest < self.highest
    }

    /// The most that is within the budget: what differs between the runs of now is chance, too.
    pub fn allowed(&self) -> Option<u64> {
        let limit = self.limit?;
        let vary = limit.vary.max(self.highest - self.lowest);
        Some(limit.most.saturating_add(vary))
    }

    /// Whether every run did more than the budget allows.
    pub fn is_over(&self) -> bool {
        self.allowed().is_some_and(|allowed| self.lowest > allowed)
    }

    /// Whether every run did less than the budget was written for.
    pub fn fell(&self) -> bool {
        self.limit.is_some_and(|limit| self.highest.saturating_add(limit.vary) < limit.most)
    }
}

/// Calls whose number the scheduler decides, sorted.
const BY_SCHEDULER: [&str; 24] = [
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "futex_wait",
    "futex_waitv",
    "futex_wake",
    "io_getevents",
    "io_uring_enter",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "restart_syscall",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_yield",
    "select",
    "tgkill",
    "wait4",
    "waitid",
];

/// Whether the number of such calls is a matter of time, not of the program: calls that wait, and calls that were
/// interrupted or came before there was something to get.
pub fn is_chance(call: &str, outcome: Option<Result<(), Errno>>) -> bool {
    let early = |errno: Errno| errno.name() == "EAGAIN" || is_an_answer(call, errno);
    BY_SCHEDULER.binary_search(&call).is_ok() || outcome.and_then(Result::err).is_some_and(early)
}

/// The rows that a budget counts.
fn counted_rows(profile: &Profile) -> impl Iterator<Item = (usize, &Row)> {
    let rows = profile.rows.iter().enumerate();
    rows.filter(|(_, row)| !is_chance(profile.call(row), row.outcome))
}

/// What a run did. `verdict` is of this profile, without a threshold.
pub fn counts(profile: &Profile, verdict: &Verdict) -> Counts {
    let mut counts = Counts::new();
    for always in
        [Counted::Calls, Counted::PathCalls, Counted::Failed, Counted::Needless, Counted::Processes]
    {
        counts.insert(always, 0);
    }
    let mut add = |what: Counted, n: u64| *counts.entry(what).or_default() += n;
    for (_, row) in counted_rows(profile) {
        add(Counted::Calls, row.count);
        add(Counted::Call(profile.call(row).to_owned()), row.count);
        if row.query.names_path() {
            add(Counted::PathCalls, row.count);
        }
        if matches!(row.outcome, Some(Err(_))) {
            add(Counted::Failed, row.count);
        }
    }
    for finding in verdict.findings.iter().chain(&verdict.below) {
        add(Counted::Needless, finding.needless);
        add(Counted::Rule(finding.rule.to_string()), finding.needless);
    }
    add(Counted::Processes, profile.processes.len() as u64);
    counts
}

/// Every count of the runs, with what `budget` allows. A count that a run does not have is 0 there.
pub fn measured_counts(budget: Option<&Budget>, runs: &[Counts]) -> Vec<Measured> {
    let limits = budget.map(|budget| &budget.limits);
    let mut all: BTreeSet<&Counted> = runs.iter().flat_map(BTreeMap::keys).collect();
    all.extend(limits.into_iter().flat_map(BTreeMap::keys));
    let of = |counted: &Counted| {
        let each = || runs.iter().map(|run| run.get(counted).copied().unwrap_or(0));
        Measured {
            counted: counted.clone(),
            lowest: each().min().unwrap_or(0),
            highest: each().max().unwrap_or(0),
            limit: limits.and_then(|limits| limits.get(counted)).copied(),
        }
    };
    all.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(most: u64, vary: u64) -> Budget {
        let limits = [(Counted::Calls, Limit { most, vary, line: 2 })].into();
        Budget { name: "x".into(), file: "needless.toml".into(), line: 1, limits, of_report: false }
    }

    fn calls(of: &[u64]) -> Vec<Counts> {
        of.iter().map(|n| Counts::from([(Counted::Calls, *n)])).collect()
    }

    fn judged(budget: &Budget, of: &[u64]) -> Measured {
        measured_counts(Some(budget), &calls(of)).remove(0)
    }

    #[test]
    fn one_more_call_in_every_run_is_over() {
        assert!(judged(&budget(100, 0), &[101, 101, 101]).is_over());
        assert!(!judged(&budget(100, 0), &[100, 100, 100]).is_over());
        assert!(!judged(&budget(100, 0), &[100, 105, 101]).is_over(), "one run had no more");
    }

    #[test]
    fn what_differed_is_tolerance() {
        assert!(!judged(&budget(100, 5), &[105, 105, 105]).is_over());
        assert!(judged(&budget(100, 5), &[106, 106, 106]).is_over());
        assert!(!judged(&budget(100, 0), &[103, 110, 104]).is_over(), "they differ by 7 now");
        assert!(judged(&budget(100, 0), &[103, 103, 104]).is_over());
        assert!(judged(&budget(100, 5), &[90, 94, 94]).fell());
        assert!(!judged(&budget(100, 5), &[90, 95, 94]).fell());
    }

    #[test]
    fn what_is_new_and_what_is_gone_is_counted() {
        let limits = [(Counted::Rule("tz-unset".into()), Limit::default())].into();
        let budget = Budget { limits, ..budget(0, 0) };
        let run = Counts::from([(Counted::Rule("tz-unset".into()), 7)]);
        assert!(measured_counts(Some(&budget), &[run])[0].is_over());
        assert!(!measured_counts(Some(&budget), &[Counts::new()])[0].is_over());
    }

    #[test]
    fn the_scheduler_is_not_the_program() {
        assert!(BY_SCHEDULER.is_sorted());
        assert!(is_chance("futex", Some(Ok(()))) && is_chance("read", Some(Err(errno("EAGAIN")))));
        assert!(
            !is_chance("read", Some(Ok(()))) && !is_chance("openat", Some(Err(errno("ENOENT"))))
        );
    }

    fn errno(name: &str) -> Errno {
        Errno::of_name(name)
    }
}
