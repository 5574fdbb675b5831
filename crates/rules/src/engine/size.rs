//! What a remedy saves, and whether that is small.
//!
//! One change of one variable is one decision, however many programs it helps. So a report has a line for each remedy,
//! not for each rule or service, and smallness is judged for all of its findings together.

use crate::{Amount, View, by_name};
use needless_model::{Change, Fact, Finding, Profile, Totals};
use std::cmp::Reverse;

/// The least share of the CPU time of a run that is not small.
const OF_RUN: f64 = 0.005;
/// From this time in the kernel on, nothing is small in a run. Nanoseconds.
const TIME: u64 = 1_000_000;
/// The least share of a core that is not small in a window.
const OF_CORE: f64 = 0.001;
/// What a call costs where that is not known, nanoseconds: about as much as a stat.
const CALL: u64 = 1000;
/// The least share of the calls with a path that is not small, where CPU time is not known: a
/// start of an ordinary program spends ten to twenty times as long outside these calls as in them.
const OF_CALLS: f64 = 0.1;

/// What a time is compared with: the CPU time of a command, or one core for the length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    whole_ns: Option<u64>,
    is_window: bool,
    path_calls: u64,
    /// Whether every call was counted.
    all: bool,
}

impl Scale {
    /// For a run. Under ptrace and in a log a tracer's stops are most of the CPU time, and what remains
    /// without them is an estimate: good for a threshold of 0.01 %, but it made 63 % to 100 %. So
    /// nothing is compared with it.
    pub fn of_run(profile: &Profile) -> Scale {
        Scale::of(profile, profile.totals)
    }

    /// For the processes of a view, as if they were a run.
    pub(crate) fn of_view(view: &View<'_>) -> Scale {
        Scale::of(view.profile, view.totals())
    }

    fn of(profile: &Profile, totals: Totals) -> Scale {
        let cpu = totals.cpu_ns().filter(|_| !profile.backend.distorts_cpu_time());
        Scale::new(cpu, totals.path_calls, profile.facts.has(Fact::AllCalls))
    }

    /// For a window; one without a known length is judged like a run of unknown CPU time.
    pub fn of_window(profile: &Profile) -> Scale {
        Scale::of_run(profile).in_window(profile.window.length_ns)
    }

    /// For a run that took so much CPU time, nanoseconds, where that is known and not distorted, and made so many calls
    /// with a path. `all`: whether every call was counted.
    pub fn new(cpu_ns: Option<u64>, path_calls: u64, all: bool) -> Scale {
        Scale { whole_ns: cpu_ns.filter(|ns| *ns > 0), is_window: false, path_calls, all }
    }

    /// The same for a window of this length, nanoseconds.
    pub fn in_window(self, length_ns: Option<u64>) -> Scale {
        let whole_ns = length_ns.filter(|ns| *ns > 0);
        Scale { whole_ns, is_window: whole_ns.is_some(), ..self }
    }

    /// Which part of the whole a time is; `None` where the whole is not known.
    pub fn share(&self, ns: u64) -> Option<f64> {
        self.whole_ns.map(|whole| ns as f64 / whole as f64)
    }

    /// Whether times are compared with one core for the length of a window.
    pub fn is_window(&self) -> bool {
        self.is_window
    }

    /// Whether a time is felt in a run: it is a millisecond, and a part of the CPU time.
    pub(crate) fn is_felt(&self, ns: u64) -> bool {
        ns >= TIME && self.share(ns).is_some_and(|share| share >= OF_RUN)
    }

    /// Whether nobody would notice if these calls were gone.
    pub fn is_small(&self, amount: Amount) -> bool {
        let ns = amount.time_ns().unwrap_or(amount.calls.saturating_mul(CALL));
        let share = self.share(ns);
        if self.is_window {
            return share.is_some_and(|share| share < OF_CORE);
        }
        ns < TIME && share.is_none_or(|share| share < OF_RUN)
    }

    /// Whether a remedy, with all its findings, saves too little to be noticed. One against wrong
    /// results never does, nor does one of a rule that the user declared.
    pub fn is_small_remedy(&self, findings: &[&Finding]) -> bool {
        let matters = |f: &&Finding| by_name(&f.rule).is_none_or(|rule| rule.correctness);
        let saves = self.saves(findings);
        let most =
            self.whole_ns.is_none() && saves.calls as f64 >= OF_CALLS * self.path_calls as f64;
        !findings.iter().any(matters) && !most && self.is_small(saves)
    }

    /// What findings save together: their calls, and what goes with these where every call was
    /// counted.
    pub fn saves(&self, findings: &[&impl Priced]) -> Amount {
        let mut sum = Amount::default();
        for finding in findings {
            let besides = if self.all { u64::try_from(finding.besides()).unwrap_or(0) } else { 0 };
            let amount = finding.amount();
            sum.add(Amount { calls: amount.calls + besides, ..amount });
        }
        sum
    }
}

/// What a finding costs and what to do about it: of a verdict, or of a report that was read from a file.
pub trait Priced {
    /// The name of its rule.
    fn rule(&self) -> &str;
    /// What the rule puts first.
    fn change(&self) -> Option<Change>;
    /// The needless calls, and what they take.
    fn amount(&self) -> Amount;
    /// As [`Finding::besides`].
    fn besides(&self) -> i64;
}

impl Priced for Finding {
    fn rule(&self) -> &str {
        &self.rule
    }

    fn change(&self) -> Option<Change> {
        self.remedies.first().map(|remedy| remedy.change.clone())
    }

    fn amount(&self) -> Amount {
        let Finding { needless, kernel_ns, user_ns, .. } = *self;
        Amount { calls: needless, kernel_ns, user_ns }
    }

    fn besides(&self) -> i64 {
        self.besides
    }
}

/// The findings, grouped by the remedy that the rule puts first: one change in several programs or
/// services, or for several rules, is one remedy. Against wrong results first, then those that save
/// most time, then most calls; within a group likewise. No group is empty.
pub fn by_remedy<F: Priced>(findings: &[F]) -> Vec<Vec<&F>> {
    let mut groups: Vec<Vec<&F>> = Vec::new();
    for finding in findings {
        let same = |group: &&mut Vec<&F>| same_remedy(group[0], finding);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    let cost = |group: &[&F]| {
        let warns = |f: &&F| by_name(f.rule()).is_some_and(|rule| rule.correctness);
        let times = group.iter().filter_map(|f| f.amount().time_ns());
        let ns = times.reduce(u64::saturating_add);
        let calls: u64 = group.iter().map(|f| f.amount().calls).sum();
        Reverse((group.iter().any(warns), ns, calls))
    };
    for group in &mut groups {
        group.sort_by_key(|finding| cost(&[*finding]));
    }
    groups.sort_by_key(|group| cost(group));
    groups
}

/// Whether one change is the first remedy of both. What a person has to find out is the same only
/// for one rule.
fn same_remedy(one: &impl Priced, other: &impl Priced) -> bool {
    match (one.change(), other.change()) {
        (Some(change @ (Change::SetEnv { .. } | Change::UnsetEnv { .. })), Some(same)) => {
            change == same
        }
        (one_change, other_change) => one.rule() == other.rule() && one_change == other_change,
    }
}
