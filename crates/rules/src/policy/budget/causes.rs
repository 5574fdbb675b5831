//! Why a command does more than it did: what its rules find, and what it asks that it did not ask before.

use super::callers::{callers, grown};
use super::groups::{EXECS, Group, Key, Known, calls, place_of, siblings};
use super::{Budget, Counted, is_chance};
use crate::Verdict;
use needless_model::{Finding, Profile, Snapshot, WatchList};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Something that explains more calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// How many more calls.
    pub more: u64,
    /// What it is.
    pub kind: CauseKind,
}

/// What explains more calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// A finding.
    Finding {
        /// Its position among those of the verdict, first the ones worth a change, then the ones below the threshold.
        at: usize,
        /// What its calls are about and nothing was when the budget was written: a file, or a directory with a slash at
        /// its end, as [`CauseKind::Calls`] names them; sorted.
        new: Vec<String>,
    },
    /// Calls that no rule takes.
    Calls {
        /// A file, a directory with a slash at its end, or "" for calls without a path.
        place: String,
        /// Whether nothing was asked about it when the budget was written.
        new: bool,
        /// So many files are new, and their directory `place` is not; 0: the place itself is meant.
        files: usize,
        /// For calls without a path, the programs that make more of them, most calls first; empty where not known.
        programs: Vec<String>,
        /// The variable that lists it, if one does.
        listed_in: Option<String>,
        /// The most frequent call.
        call: String,
        /// How that ended: `ok`, or the error's name.
        outcome: String,
    },
}

impl CauseKind {
    /// Whether a program was executed that was not: what else is new is mostly its.
    pub fn is_new_program(&self) -> bool {
        matches!(self, CauseKind::Calls { new: true, files: 0, call, outcome, .. }
            if EXECS.contains(&call.as_str()) && outcome == "ok")
    }

    /// The finding, if it is one.
    pub fn finding<'v>(&self, verdict: &'v Verdict) -> Option<&'v Finding> {
        let CauseKind::Finding { at, .. } = self else { return None };
        verdict.findings.iter().chain(&verdict.below).nth(*at)
    }
}

/// What of an environment differs from that of the runs of the budget. Names only: values may be secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentChange {
    /// Variables that are set and were not, as far as rules or lists of directories are about them.
    pub came: Vec<String>,
    /// Variables that were set and are not.
    pub went: Vec<String>,
    /// Others that came or went.
    pub others: usize,
}

impl EnvironmentChange {
    /// From the names before and now. A variable matters if a rule reads it, a remedy names it, or it lists directories
    /// that calls of `profile` were about.
    pub fn between(
        before: &BTreeSet<String>,
        now: &BTreeSet<String>,
        watched: &WatchList,
        profile: &Profile,
    ) -> EnvironmentChange {
        let lists = profile.processes.iter().filter_map(|process| process.lists.as_deref());
        let lists: BTreeSet<&str> = lists.flatten().map(|list| &*list.variable).collect();
        let matters = |name: &&String| {
            lists.contains(name.as_str()) || watched.find(name.as_bytes()).is_some()
        };
        let names = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> Vec<String> {
            one.difference(other).filter(matters).cloned().collect()
        };
        let (came, went) = (names(now, before), names(before, now));
        let all = now.symmetric_difference(before).count();
        EnvironmentChange { others: all - came.len() - went.len(), came, went }
    }
}

/// New paths, by the place that is new.
type NewPlaces = BTreeMap<String, BTreeSet<String>>;

/// The calls that are more than before.
#[derive(Default)]
struct Growth {
    /// By position of the finding that takes them: how many, and what they are about.
    by_finding: BTreeMap<usize, (u64, NewPlaces)>,
    /// Those that no rule takes.
    groups: BTreeMap<String, Group>,
}

impl Growth {
    fn since(
        before: &Snapshot,
        profile: &Profile,
        findings: &[&Finding],
        portable: &dyn Fn(&str) -> String,
    ) -> Growth {
        let mut found: Vec<Option<usize>> = vec![None; profile.rows.len()];
        for (at, finding) in findings.iter().enumerate() {
            for row in &finding.rows {
                found[*row].get_or_insert(at);
            }
        }
        let mut now: BTreeMap<Key, (u64, Option<usize>)> = BTreeMap::new();
        for (row, found) in profile.rows.iter().zip(found) {
            if is_chance(profile.call(row), row.outcome) {
                continue;
            }
            let (call, path, outcome) = Snapshot::key(profile, row);
            let sum = now.entry((call, portable(&path), outcome)).or_default();
            sum.0 += row.count;
            sum.1 = sum.1.or(found);
        }
        let known = Known::of(before.rows.keys());
        let mut gone = gone(before, &now);
        let mut growth = Growth::default();
        for (key, (count, finding)) in now {
            let more = count.saturating_sub(before.rows.get(&key).copied().unwrap_or(0));
            match finding {
                _ if more == 0 => {}
                Some(at) => {
                    let (sum, new) = growth.by_finding.entry(at).or_default();
                    *sum += more;
                    if let Some(place) = known.new_place(&key.1) {
                        new.entry(place).or_default().insert(key.1);
                    }
                }
                None => {
                    // A temporary file has another name each time.
                    let (call, path, outcome) = &key;
                    let same = (known.nearest(path).to_owned(), call.clone(), outcome.clone());
                    let left = gone.entry(same).or_default();
                    let renamed = more.min(*left);
                    *left -= renamed;
                    if more > renamed {
                        known.add(&mut growth.groups, key, more - renamed);
                    }
                }
            }
        }
        growth
    }
}

/// What explains that `profile` has more calls than the runs of the budget: first findings and what is new, most calls
/// first; then what is asked more often. `before` is one of those
/// runs; without it, only the rules are known that find more than the budget allows. `portable` names a path as `before`
/// does, where the repository may be elsewhere.
pub fn causes(
    profile: &Profile,
    verdict: &Verdict,
    budget: &Budget,
    before: Option<&Snapshot>,
    portable: &dyn Fn(&str) -> String,
) -> Vec<Cause> {
    let findings: Vec<&Finding> = verdict.findings.iter().chain(&verdict.below).collect();
    let mut growth = before
        .map_or_else(Growth::default, |before| Growth::since(before, profile, &findings, portable));
    let now = callers(profile);
    let none = BTreeMap::new();
    let earlier = before.map_or(&none, |before| &before.callers);
    let mut causes: Vec<Cause> = siblings(growth.groups)
        .map(|(name, group)| {
            let mut cause = calls(group, profile, portable);
            if let (Some(call), CauseKind::Calls { programs, .. }) =
                (name.strip_prefix(' '), &mut cause.kind)
            {
                *programs = grown(call, earlier, &now);
            }
            cause
        })
        .collect();
    let mut over = more_than_allowed(&findings, budget);
    for (at, finding) in findings.iter().enumerate() {
        let left = over.entry(&*finding.rule).or_default();
        let by_rule = finding.needless.min(*left);
        *left -= by_rule;
        let (more, new) = growth.by_finding.remove(&at).unwrap_or_default();
        let more = more.max(by_rule);
        if more > 0 {
            let new = new.values().map(place_of).collect();
            causes.push(Cause { more, kind: CauseKind::Finding { at, new } });
        }
    }
    // What a rule finds and what is new are causes; that the same is asked more often, and calls without a path, go with
    // them.
    let rank = |cause: &Cause| match &cause.kind {
        CauseKind::Finding { .. } => 0,
        CauseKind::Calls { new: true, .. } => 1,
        CauseKind::Calls { place, .. } if !place.is_empty() => 2,
        CauseKind::Calls { .. } => 3,
    };
    causes.sort_by_key(|cause| {
        let first = !cause.kind.is_new_program();
        (first, rank(cause).max(1), Reverse(cause.more), rank(cause))
    });
    causes
}

/// The calls of `before` about paths that are not asked for any more, by the nearest directory that still is.
fn gone(before: &Snapshot, now: &BTreeMap<Key, (u64, Option<usize>)>) -> BTreeMap<Key, u64> {
    let here = Known::of(now.keys());
    let mut gone = BTreeMap::new();
    for ((call, path, outcome), count) in &before.rows {
        if !path.is_empty() && !here.places.contains(path.as_str()) {
            let key = (here.nearest(path).to_owned(), call.clone(), outcome.clone());
            *gone.entry(key).or_default() += count;
        }
    }
    gone
}

/// How many more calls each rule finds than the budget says.
fn more_than_allowed<'f>(findings: &[&'f Finding], budget: &Budget) -> BTreeMap<&'f str, u64> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in findings {
        *sums.entry(&*finding.rule).or_default() += finding.needless;
    }
    let limited = budget.limits.contains_key(&Counted::Needless)
        || budget.limits.keys().any(|key| matches!(key, Counted::Rule(_)));
    sums.retain(|rule, sum| {
        let limit = budget.limits.get(&Counted::Rule((*rule).to_owned()));
        *sum = sum.saturating_sub(limit.map_or(0, |limit| limit.most));
        limited && *sum > 0
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|path| (*path).to_owned()).collect()
    }

    fn key(call: &str, path: &str) -> Key {
        (call.to_owned(), path.to_owned(), "ok".to_owned())
    }

    #[test]
    fn another_name_is_not_more() {
        let named = |name: &str| key("unlink", &format!("/tmp/{name}/x"));
        let rows = [(key("openat", "/tmp"), 1), (named("abc"), 2)].into();
        let before = Snapshot { rows, ..Snapshot::default() };
        let now = [(key("openat", "/tmp"), (1, None)), (named("def"), (3, None))].into();
        let gone = gone(&before, &now);
        assert_eq!(gone.into_iter().collect::<Vec<_>>(), [(key("/tmp", "unlink"), 2)]);
        let known = Known::of(before.rows.keys());
        assert_eq!((known.nearest("/tmp/def/x"), known.nearest("/var/x")), ("/tmp", ""));
    }

    #[test]
    fn only_names_of_variables_are_compared() {
        let names = |all: &[&str]| paths(all);
        let change = EnvironmentChange::between(
            &names(&["HOME", "TZ"]),
            &names(&["HOME", "LANG", "CI"]),
            &["TZ", "LANG"].into(),
            &Profile::default(),
        );
        assert_eq!((change.came, change.went), (vec!["LANG".to_owned()], vec!["TZ".to_owned()]));
        assert_eq!(change.others, 1);
    }
}
