//! What was counted in a window or a run, without its processes: to be saved and compared.
//!
//! A snapshot beside a budget has the names of all variables of the command ([`Snapshot::variables`]), and no value;
//! and the names of its programs ([`Snapshot::callers`]).

use crate::{Backend, Fact, Profile, Row};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// One question, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The call by its kernel name.
    pub call: String,
    /// Its path, "" where it has none.
    pub path: String,
    /// `ok`, the error's name, or "" where it was not seen.
    pub outcome: String,
    /// How often before.
    pub before: u64,
    /// How often after.
    pub after: u64,
}

/// Sums and rows of a window or a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// What was observed, in words.
    pub name: String,
    /// What observed.
    pub backend: Backend,
    /// Whether every call was counted.
    pub complete: bool,
    /// Whether `rows` has all rows, and not only those of findings.
    pub all_rows: bool,
    /// Length of the window, nanoseconds, where known.
    pub window_ns: Option<u64>,
    /// CPU time, user and system, nanoseconds, where known and not distorted by a tracer.
    pub cpu_ns: Option<u64>,
    /// Requests that were served in that time, if they were counted.
    pub requests: Option<f64>,
    /// Calls counted.
    pub calls: u64,
    /// (call, path, outcome) → how often.
    pub rows: BTreeMap<(String, String, String), u64>,
    /// Calls that were not seen, by name.
    pub lost: BTreeMap<String, u64>,
    /// Names of the variables that the command had, sorted; empty where nobody kept them. Never values.
    pub variables: BTreeSet<String>,
    /// (program, call) → how many calls without a path that are not a matter of time; empty where nobody kept them.
    pub callers: BTreeMap<(String, String), u64>,
}

impl Snapshot {
    /// The call, path and outcome of a row, as in [`Snapshot::rows`].
    pub fn key(profile: &Profile, row: &Row) -> (String, String, String) {
        let outcome = match row.outcome {
            Some(Ok(())) => "ok".to_owned(),
            Some(Err(errno)) => errno.name().to_owned(),
            None => String::new(),
        };
        (profile.call(row).to_owned(), profile.path(row).to_owned(), outcome)
    }

    /// The snapshot of `profile`.
    pub fn of(profile: &Profile, name: impl Into<String>) -> Snapshot {
        let mut rows = BTreeMap::new();
        for row in &profile.rows {
            *rows.entry(Snapshot::key(profile, row)).or_default() += row.count;
        }
        let totals = &profile.totals;
        let cpu = totals.cpu_user_ns.zip(totals.cpu_sys_ns);
        let cpu = cpu.filter(|_| !profile.backend.distorts_cpu_time());
        Snapshot {
            name: name.into(),
            backend: profile.backend.clone(),
            complete: profile.facts.has(Fact::AllCalls),
            all_rows: true,
            window_ns: profile.window.length_ns,
            cpu_ns: cpu.map(|(user, system)| user + system),
            requests: None,
            calls: totals.calls,
            rows,
            lost: profile.lost.iter().map(|(loss, n)| (loss.name().to_owned(), *n)).collect(),
            variables: BTreeSet::new(),
            callers: BTreeMap::new(),
        }
    }
}

/// The rows of two snapshots whose counts differ, largest difference first.
pub fn changed_rows(before: &Snapshot, after: &Snapshot) -> Vec<RowChange> {
    let keys = before.rows.keys().chain(after.rows.keys());
    let keys: BTreeSet<_> = keys.collect();
    let count = |of: &Snapshot, key| of.rows.get(key).copied().unwrap_or(0);
    let mut rows: Vec<RowChange> = keys
        .into_iter()
        .map(|key| RowChange {
            call: key.0.clone(),
            path: key.1.clone(),
            outcome: key.2.clone(),
            before: count(before, key),
            after: count(after, key),
        })
        .filter(|row| row.before != row.after)
        .collect();
    // Of two equal ones, the one with a path says more.
    rows.sort_by_key(|row| (Reverse(row.before.abs_diff(row.after)), row.path.is_empty()));
    rows
}

/// A fall of calls by less than this part is not proof: there is one window of each, and a
/// service's load is never twice the same.
pub const PROVEN_FALL: f64 = 0.1;

/// Calls in two windows, by one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The unit: "second", "second of CPU", "request".
    pub per: &'static str,
    /// Calls before.
    pub before: f64,
    /// Calls after.
    pub after: f64,
}

impl Compared {
    /// Whether they fell by enough.
    pub fn fell(&self) -> bool {
        self.after <= self.before * (1.0 - PROVEN_FALL) && self.before > 0.0
    }
}

/// Calls of two windows per second, per second of CPU and per request, where both know them.
/// The last is the best measure: it does not depend on the load.
pub fn compare(before: &Snapshot, after: &Snapshot) -> Vec<Compared> {
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let measures = [
        ("second", seconds(before.window_ns), seconds(after.window_ns)),
        ("second of CPU", seconds(before.cpu_ns), seconds(after.cpu_ns)),
        ("request", before.requests, after.requests),
    ];
    let known = |(per, b, a): (&'static str, Option<f64>, Option<f64>)| {
        let (b, a) = b.zip(a).filter(|(b, a)| *b > 0.0 && *a > 0.0)?;
        Some(Compared { per, before: before.calls as f64 / b, after: after.calls as f64 / a })
    };
    measures.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(calls: u64, seconds: u64, requests: Option<f64>) -> Snapshot {
        Snapshot {
            calls,
            window_ns: Some(seconds * 1_000_000_000),
            cpu_ns: Some(seconds * 10_000_000),
            requests,
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_of_what_both_know() {
        // The production table of the first source: 14,925 stats in 30 seconds, then 8.
        let all = compare(&window(14_925, 30, None), &window(8, 30, Some(4.0)));
        let names: Vec<&str> = all.iter().map(|one| one.per).collect();
        assert_eq!(names, ["second", "second of CPU"]);
        assert_eq!(all[0].before, 497.5);
        assert!(all.iter().all(Compared::fell));
    }

    #[test]
    fn half_the_load_is_no_proof_where_requests_are_known() {
        let all = compare(&window(1_000, 10, Some(100.0)), &window(500, 10, Some(50.0)));
        assert!(all[0].fell());
        assert_eq!((all[2].per, all[2].fell()), ("request", false));
    }
}
