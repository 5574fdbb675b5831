//! Why a command does more than it did: what its rules find, and what it asks that it did not ask before.

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
    /// A finding: its position among those of the verdict, first the ones worth a change, then the ones below the
    /// threshold.
    Finding(usize),
    /// Calls that no rule takes.
    Calls {
        /// A file, a directory with a slash at its end, or "" for calls without a path.
        place: String,
        /// Whether nothing was asked about it when the budget was written.
        new: bool,
        /// The variable that lists it, if one does.
        listed_in: Option<String>,
        /// The most frequent call.
        call: String,
        /// How that ended: `ok`, or the error's name.
        outcome: String,
    },
}

impl CauseKind {
    /// The finding, if it is one.
    pub fn finding<'v>(&self, verdict: &'v Verdict) -> Option<&'v Finding> {
        let CauseKind::Finding(at) = self else { return None };
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

/// (call, path, outcome).
type Key = (String, String, String);

/// Calls about one place, while they are summed up.
#[derive(Default)]
struct Group {
    more: u64,
    new: bool,
    paths: BTreeSet<String>,
    kinds: BTreeMap<(String, String), u64>,
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
    let mut found: Vec<Option<usize>> = vec![None; profile.rows.len()];
    let findings: Vec<&Finding> = verdict.findings.iter().chain(&verdict.below).collect();
    for (at, finding) in findings.iter().enumerate() {
        for row in &finding.rows {
            found[*row].get_or_insert(at);
        }
    }
    let mut by_finding = vec![0; findings.len()];
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    if let Some(before) = before {
        let mut now: BTreeMap<Key, (u64, Option<usize>)> = BTreeMap::new();
        for (at, row) in profile.rows.iter().enumerate() {
            if is_chance(profile.call(row), row.outcome) {
                continue;
            }
            let (call, path, outcome) = Snapshot::key(profile, row);
            let sum = now.entry((call, portable(&path), outcome)).or_default();
            sum.0 += row.count;
            sum.1 = sum.1.or(found[at]);
        }
        let known = Known::of(before.rows.keys());
        let mut gone = gone(before, &now);
        for (key, (count, finding)) in now {
            let more = count.saturating_sub(before.rows.get(&key).copied().unwrap_or(0));
            match finding {
                _ if more == 0 => {}
                Some(at) => by_finding[at] += more,
                None => {
                    // A temporary file has another name each time.
                    let (call, path, outcome) = &key;
                    let same = (known.nearest(path).to_owned(), call.clone(), outcome.clone());
                    let left = gone.get_mut(&same);
                    let renamed = left.map_or(0, |left| {
                        let renamed = more.min(*left);
                        *left -= renamed;
                        renamed
                    });
                    if more > renamed {
                        known.add(&mut groups, key, more - renamed);
                    }
                }
            }
        }
    }
    let mut causes: Vec<Cause> =
        groups.into_values().map(|group| calls(group, profile, portable)).collect();
    let mut over = more_than_allowed(&findings, budget);
    for (at, finding) in findings.iter().enumerate() {
        let by_rule = over.get_mut(&*finding.rule).map_or(0, |left| {
            let of_this = (*left).min(finding.needless);
            *left -= of_this;
            of_this
        });
        let more = by_finding[at].max(by_rule);
        if more > 0 {
            causes.push(Cause { more, kind: CauseKind::Finding(at) });
        }
    }
    // What a rule finds and what is new are causes; that the same is asked more often, and calls without a path, go with
    // them.
    let rank = |cause: &Cause| match &cause.kind {
        CauseKind::Finding(_) => 0,
        CauseKind::Calls { new: true, .. } => 1,
        CauseKind::Calls { place, .. } if !place.is_empty() => 2,
        CauseKind::Calls { .. } => 3,
    };
    causes.sort_by_key(|cause| (rank(cause).max(1), Reverse(cause.more), rank(cause)));
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

/// The paths of the runs of the budget.
struct Known<'s> {
    /// Every path, and every directory above one, without a slash at its end.
    places: BTreeSet<&'s str>,
}

impl<'s> Known<'s> {
    fn of(rows: impl Iterator<Item = &'s Key>) -> Known<'s> {
        let mut places = BTreeSet::new();
        for (_, path, _) in rows {
            let mut at = path.as_str();
            while !at.is_empty() && places.insert(at) {
                at = above(at);
            }
        }
        Known { places }
    }

    /// The nearest directory above a path that is known, or the path itself if it is; "" where there is none.
    fn nearest<'p>(&self, path: &'p str) -> &'p str {
        let mut at = path;
        while !at.is_empty() && !self.places.contains(at) {
            at = above(at);
        }
        at
    }

    /// Adds calls to those about the same place: what is new is summed up by the directory that is new.
    fn add(&self, groups: &mut BTreeMap<String, Group>, key: Key, more: u64) {
        let (call, path, outcome) = key;
        let new = !path.is_empty() && !self.places.contains(path.as_str());
        // The directory that is new: the part below the nearest known one.
        let nearest = self.nearest(&path).len();
        let end = path.get(nearest + 1..).and_then(|rest| rest.find('/'));
        let top = end.filter(|_| new).map_or(path.as_str(), |end| &path[..nearest + 1 + end]);
        let name = if path.is_empty() { format!(" {call}") } else { top.to_owned() };
        let group = groups.entry(name).or_default();
        group.more += more;
        group.new |= new;
        group.paths.insert(path);
        *group.kinds.entry((call, outcome)).or_default() += more;
    }
}

/// The directory above a path, without a slash at its end; "" where there is none.
fn above(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

fn calls(group: Group, profile: &Profile, portable: &dyn Fn(&str) -> String) -> Cause {
    let place = match group.paths.iter().next() {
        Some(only) if group.paths.len() == 1 => only.clone(),
        _ => common(&group.paths),
    };
    let ((call, outcome), _) = group.kinds.into_iter().max_by_key(|(_, n)| *n).unwrap_or_default();
    let listed_in = group.new.then(|| listed_in(&place, profile, portable)).flatten();
    let kind = CauseKind::Calls { place, new: group.new, listed_in, call, outcome };
    Cause { more: group.more, kind }
}

/// The deepest directory that all of the paths are below, with a slash at its end.
fn common(paths: &BTreeSet<String>) -> String {
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return String::new() };
    // Of sorted texts, the first and the last differ most.
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
    if same == first.len() && last[same..].starts_with('/') {
        return format!("{first}/");
    }
    let end = first.as_bytes()[..same].iter().rposition(|byte| *byte == b'/');
    end.map_or_else(String::new, |end| first[..=end].to_owned())
}

/// The variable that lists the directory of `place`.
fn listed_in(place: &str, profile: &Profile, portable: &dyn Fn(&str) -> String) -> Option<String> {
    let below = |dir: &str| {
        place
            .strip_prefix(&*portable(dir))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let lists = profile.processes.iter().filter_map(|process| process.lists.as_deref());
    let mut lists = lists.flatten();
    let list = lists.find(|list| list.entries.iter().any(|entry| below(&entry.dir)))?;
    Some(list.variable.clone())
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
    fn what_is_new_is_named_by_its_directory() {
        let rows = [(key("openat", "/usr/lib/a/x.py"), 1), (key("read", ""), 3)].into();
        let before = Snapshot { rows, ..Snapshot::default() };
        let known = Known::of(before.rows.keys());
        let mut groups = BTreeMap::new();
        known.add(&mut groups, key("openat", "/usr/lib/new/one.py"), 1);
        known.add(&mut groups, key("openat", "/usr/lib/new/deep/two.py"), 2);
        known.add(&mut groups, key("openat", "/usr/lib/a/x.py"), 1);
        known.add(&mut groups, key("read", ""), 4);
        let profile = Profile::default();
        let found: Vec<(u64, String, bool)> = groups
            .into_values()
            .map(|group| match calls(group, &profile, &|path| path.to_owned()) {
                Cause { more, kind: CauseKind::Calls { place, new, .. } } => (more, place, new),
                other => panic!("{other:?}"),
            })
            .collect();
        let wanted = [
            (4, String::new(), false),
            (1, "/usr/lib/a/x.py".to_owned(), false),
            (3, "/usr/lib/new/".to_owned(), true),
        ];
        assert_eq!(found, wanted);
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
    fn the_common_directory_ends_with_a_slash() {
        assert_eq!(common(&paths(&["/a/b/c", "/a/b/d/e"])), "/a/b/");
        assert_eq!(common(&paths(&["/a/bc", "/a/bd"])), "/a/");
        assert_eq!(common(&paths(&["/a/b", "/a/b/c", "/a/b/d"])), "/a/b/");
        assert_eq!(common(&paths(&["x", "y"])), "");
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
