//! What a command asks more than before, summed up by what it is about.

use super::causes::{Cause, CauseKind};
use needless_model::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// The calls that execute a program: execve(2), execveat(2).
pub(super) const EXECS: [&str; 2] = ["execve", "execveat"];

/// (call, path, outcome).
pub(super) type Key = (String, String, String);

/// Calls about one place, while they are summed up.
#[derive(Default)]
pub(super) struct Group {
    more: u64,
    new: bool,
    /// As [`CauseKind::Calls`] has it.
    files: usize,
    paths: BTreeSet<String>,
    kinds: BTreeMap<(String, String), u64>,
}

impl Group {
    /// The call and outcome that most of its calls have; that a program was executed comes before all.
    pub(super) fn most_frequent(&self) -> (String, String) {
        let most = |((call, outcome), n): &(&(String, String), &u64)| {
            (EXECS.contains(&call.as_str()) && outcome == "ok", **n)
        };
        self.kinds.iter().max_by_key(most).map(|(kind, _)| kind.clone()).unwrap_or_default()
    }

    /// Adds the calls about one more file of the same directory.
    fn take(&mut self, other: Group) {
        self.more += other.more;
        self.new = true;
        self.files += 1;
        self.paths.extend(other.paths);
        for (kind, n) in other.kinds {
            *self.kinds.entry(kind).or_default() += n;
        }
    }
}

/// The paths of the runs of the budget.
pub(super) struct Known<'s> {
    /// Every path, and every directory above one, without a slash at its end.
    pub(super) places: BTreeSet<&'s str>,
}

impl<'s> Known<'s> {
    pub(super) fn of(rows: impl Iterator<Item = &'s Key>) -> Known<'s> {
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
    pub(super) fn nearest<'p>(&self, path: &'p str) -> &'p str {
        let mut at = path;
        while !at.is_empty() && !self.places.contains(at) {
            at = above(at);
        }
        at
    }

    /// What is new of a path: the path, or the directory below the nearest known one, with a slash at its end. `None`
    /// where the path is known.
    pub(super) fn new_place(&self, path: &str) -> Option<String> {
        if path.is_empty() || self.places.contains(path) {
            return None;
        }
        let nearest = self.nearest(path).len();
        let end = path.get(nearest + 1..).and_then(|rest| rest.find('/'));
        Some(end.map_or(path, |end| &path[..=nearest + 1 + end]).to_owned())
    }

    /// Adds calls to those about the same place: what is new is summed up by the directory that is new.
    pub(super) fn add(&self, groups: &mut BTreeMap<String, Group>, key: Key, more: u64) {
        let (call, path, outcome) = key;
        let place = self.new_place(&path);
        let new = place.is_some();
        let name = match place {
            Some(place) => place.strip_suffix('/').unwrap_or(&place).to_owned(),
            None if path.is_empty() => format!(" {call}"),
            None => path.clone(),
        };
        let group = groups.entry(name).or_default();
        group.more += more;
        group.new |= new;
        group.paths.insert(path);
        *group.kinds.entry((call, outcome)).or_default() += more;
    }
}

/// From so many new files in a directory on, they are one cause.
const MANY: usize = 4;

/// The groups, those of many new files in one directory as one.
pub(super) fn siblings(groups: BTreeMap<String, Group>) -> impl Iterator<Item = (String, Group)> {
    let alike = |(name, group): (&String, &Group)| {
        let one = group.new && group.paths.len() == 1 && group.paths.contains(name);
        let kind = group.most_frequent();
        (one && !EXECS.contains(&kind.0.as_str()))
            .then(|| (above(name).to_owned(), is_missing(&kind.1)))
    };
    let mut many: BTreeMap<(String, bool), usize> = BTreeMap::new();
    for key in groups.iter().filter_map(alike) {
        *many.entry(key).or_default() += 1;
    }
    many.retain(|_, n| *n >= MANY);
    let mut merged: BTreeMap<(String, bool), Group> = BTreeMap::new();
    let mut left = Vec::new();
    for (name, group) in groups {
        match alike((&name, &group)).filter(|key| many.contains_key(key)) {
            Some(key) => merged.entry(key).or_default().take(group),
            None => left.push((name, group)),
        }
    }
    left.into_iter().chain(merged.into_iter().map(|((dir, _), group)| (dir, group)))
}

/// Whether an outcome says that the path is not there.
pub fn is_missing(outcome: &str) -> bool {
    matches!(outcome, "ENOENT" | "ENOTDIR")
}

/// The directory above a path, without a slash at its end; "" where there is none.
pub(super) fn above(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

pub(super) fn calls(group: Group, profile: &Profile, portable: &dyn Fn(&str) -> String) -> Cause {
    let place = place_of(&group.paths);
    let (call, outcome) = group.most_frequent();
    let listed_in = group.new.then(|| listed_in(&place, profile, portable)).flatten();
    let (more, new, files) = (group.more, group.new, group.files);
    let programs = Vec::new();
    Cause { more, kind: CauseKind::Calls { place, new, files, programs, listed_in, call, outcome } }
}

/// The path, or the directory of all paths.
pub(super) fn place_of(paths: &BTreeSet<String>) -> String {
    match paths.first() {
        Some(only) if paths.len() == 1 => only.clone(),
        _ => common(paths),
    }
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
    use needless_model::Snapshot;

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
    fn many_new_files_of_a_directory_are_one_cause() {
        let rows = [(key("openat", "/lib/old.py"), 1)].into();
        let before = Snapshot { rows, ..Snapshot::default() };
        let known = Known::of(before.rows.keys());
        let mut groups = BTreeMap::new();
        for name in ["a", "b", "c", "d", "e"] {
            known.add(&mut groups, key("openat", &format!("/lib/{name}.py")), 2);
        }
        known.add(&mut groups, key("execve", "/lib/run"), 1);
        known.add(&mut groups, key("openat", "/lib/run"), 5);
        let profile = Profile::default();
        let found: Vec<(u64, String, usize, bool)> = siblings(groups)
            .map(|(_, group)| {
                let Cause { more, kind } = calls(group, &profile, &|path| path.to_owned());
                let program = kind.is_new_program();
                let CauseKind::Calls { place, files, .. } = kind else { panic!("{kind:?}") };
                (more, place, files, program)
            })
            .collect();
        let wanted = [(6, "/lib/run".to_owned(), 0, true), (10, "/lib/".to_owned(), 5, false)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_common_directory_ends_with_a_slash() {
        assert_eq!(common(&paths(&["/a/b/c", "/a/b/d/e"])), "/a/b/");
        assert_eq!(common(&paths(&["/a/bc", "/a/bd"])), "/a/");
        assert_eq!(common(&paths(&["/a/b", "/a/b/c", "/a/b/d"])), "/a/b/");
        assert_eq!(common(&paths(&["x", "y"])), "");
    }
}
