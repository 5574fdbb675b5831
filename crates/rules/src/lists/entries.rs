//! The entries of a variable's list in which a program looked: which hold nothing, and the calls that belong to them.
//!
//! An entry may be a file (KUBECONFIG, an archive in PYTHONPATH). A call about it that succeeded keeps it in the list,
//! unless something shows that it is a directory: a name that was looked for below it, `O_DIRECTORY` in a log, or a
//! look at the machine after the run (`Host::directories`). Where nothing shows it, nothing is advised.
//! `tests/taken_out.rs` checks this for the remedies of all rules.

use crate::engine::helpers::of_the_system;
use crate::lists::dirs::Shown;
use crate::{Sink, View};
use needless_model::{Directory, EntryIndex, ListEntry, ProcId, Query, Row, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is counted of one entry of one variable.
#[derive(Default)]
pub(crate) struct Tried<'p> {
    /// Something was found there.
    pub(crate) hit: bool,
    /// What calls of all processes show of it.
    shown: Shown,
    /// It was opened, to be listed or to look below it.
    pub(crate) opened: bool,
    /// The rows about it.
    pub(crate) rows: Vec<Asked<'p>>,
    /// Calls by the name that was not there.
    pub(crate) missed: BTreeMap<&'p str, u64>,
}

/// A row about an entry.
pub(crate) struct Asked<'p> {
    pub(crate) at: usize,
    pub(crate) row: &'p Row,
    /// Whether it is about the directory itself.
    pub(crate) itself: bool,
}

pub(crate) type Entries<'p> = BTreeMap<&'p ListEntry, Tried<'p>>;

impl Tried<'_> {
    /// Whether it is known to be meant as a directory: something was looked for in it, or it was opened as one.
    pub(crate) fn is_directory(&self) -> bool {
        self.opened || self.missed.keys().any(|name| !name.is_empty())
    }
}

/// Finds out in which entries any process of the profile found or made something. An entry that may be a file, and was
/// found, is what was looked for itself.
pub(crate) fn mark_hits(view: &View<'_>, entries: &mut Entries<'_>) {
    let all: Vec<ListEntry> = entries.keys().map(|entry| (*entry).clone()).collect();
    let index = EntryIndex::new(&all);
    for (_, row) in view.rows() {
        if !matches!(row.target, Target::Path(_)) {
            continue;
        }
        if let Some((entry, rest)) = index.find(view.profile.path(row))
            && let Some(tried) = entries.get_mut(entry)
        {
            tried.hit |= row.ok() && !rest.is_empty();
            tried.shown.take(row, rest);
        }
    }
    for (entry, tried) in entries {
        tried.hit |= tried.shown.may_be_a_file(view, &entry.dir);
    }
}

/// Whether the entry holds nothing that was asked for.
pub(crate) fn is_dead(view: &View<'_>, entry: &ListEntry, tried: &Tried<'_>) -> bool {
    let holds = view.profile.host.directories.get(&entry.dir);
    // What is there, and no directory, may have been made just now.
    if tried.hit || holds == Some(&Directory::File) {
        return false;
    }
    // What was listed may have been wanted, if there was anything.
    let named = tried.missed.keys().any(|name| !name.is_empty());
    let nothing = match holds {
        Some(Directory::Missing | Directory::Empty) => true,
        Some(Directory::Filled) => false,
        Some(Directory::Listed | Directory::File) | None => named,
    };
    let asked = !tried.missed.is_empty() || tried.opened;
    asked && (nothing || !tried.opened) && !is_usual(&entry.dir)
}

/// Directories that programs search by default: they are in the list only because a program's default is.
pub(crate) fn is_usual(dir: &str) -> bool {
    let kernel = ["/proc", "/sys", "/dev", "/etc", "/bin", "/sbin", "/usr"];
    of_the_system(dir) || kernel.contains(&dir) || dir.starts_with("/proc/")
}

/// Keeps the entries that are searched for names which are asked for elsewhere, too.
pub(crate) fn keep_searched(view: &View<'_>, entries: &mut Entries<'_>) {
    let mut places: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (entry, tried) in entries.iter() {
        let opened = tried.opened.then_some(&"");
        for name in tried.missed.keys().chain(opened) {
            places.entry(name).or_default().insert(&entry.dir);
        }
    }
    let once: HashMap<&str, &str> = places
        .iter()
        .filter(|(name, dirs)| dirs.len() == 1 && !name.is_empty())
        .filter_map(|(name, dirs)| Some((*name, *dirs.iter().next()?)))
        .collect();
    let processes: BTreeSet<ProcId> = entries
        .values()
        .flat_map(|tried| tried.rows.iter().map(|asked| asked.row.process))
        .collect();
    let mut elsewhere: HashSet<&str> = HashSet::new();
    for id in processes.iter().filter(|_| !once.is_empty()) {
        for (_, row) in view.rows_of(*id) {
            let path = view.profile.path(row);
            for (at, _) in path.match_indices('/') {
                let Some((name, dir)) = once.get_key_value(&path[at + 1..]) else { continue };
                let same = path.strip_prefix(*dir).is_some_and(|rest| rest.starts_with('/'));
                if !same && row.query.asks() {
                    elsewhere.insert(*name);
                }
            }
        }
    }
    let searched = |name: &str| {
        elsewhere.contains(name) || places.get(name).is_some_and(|dirs| dirs.len() > 1)
    };
    // Two patterns of one directory are two ways to write one name.
    let mut of_dir: BTreeMap<&str, (u64, u64, bool)> = BTreeMap::new();
    for (entry, tried) in entries.iter() {
        let (all, of, listed) = of_dir.entry(&entry.dir).or_default();
        *all += tried.missed.values().sum::<u64>();
        *of += tried.missed.iter().filter(|(name, _)| searched(name)).map(|(_, n)| n).sum::<u64>();
        *listed |= tried.opened && searched("");
    }
    let keep = |(all, of, listed): &(u64, u64, bool)| 2 * of >= *all && (*all > 0 || *listed);
    let kept: HashSet<String> =
        of_dir.iter().filter(|(_, sums)| keep(sums)).map(|(dir, _)| (*dir).to_owned()).collect();
    entries.retain(|entry, _| kept.contains(&entry.dir));
}

/// Calls about the directories above the entries, by a program that walks each path from the root to resolve links or
/// to compare directories: as many as such calls about the entries.
pub(crate) fn walked(
    view: &View<'_>,
    sink: &Sink,
    id: ProcId,
    looks: &[(&str, &Row)],
) -> Vec<(usize, u64)> {
    type Kind = (Query, Option<Result<(), needless_model::Errno>>);
    let mut above: BTreeMap<(&str, Kind), u64> = BTreeMap::new();
    let walks = |query| matches!(query, Query::Stat | Query::Lstat | Query::Readlink);
    for (dir, row) in looks.iter().filter(|(_, row)| walks(row.query)) {
        // The directories above one that does not exist do, as a rule; no link is one.
        let outcome = if row.is_missed() { Some(Ok(())) } else { row.outcome };
        if row.is_missed() && row.query == Query::Readlink {
            continue;
        }
        for (at, _) in dir.match_indices('/').skip(1) {
            *above.entry((&dir[..at], (row.query, outcome))).or_default() += row.count;
        }
    }
    let mut found: HashMap<(&str, Kind), (usize, u64)> = HashMap::new();
    for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
        let key = (view.profile.path(row), (row.query, row.outcome));
        if above.contains_key(&key) && matches!(row.target, Target::Path(_)) {
            found.entry(key).or_insert((at, row.count));
        }
    }
    // Somebody who walks asks for every directory on the way.
    let whole = |kind: &Kind| {
        above
            .iter()
            .filter(|((_, of), _)| of == kind)
            .all(|(key, needed)| found.get(key).is_some_and(|(_, count)| count >= needed))
    };
    let kinds: HashSet<Kind> = above.keys().map(|(_, kind)| *kind).filter(whole).collect();
    let counted = above.iter().filter(|((_, kind), _)| kinds.contains(kind));
    counted.filter_map(|(key, needed)| Some((found.get(key)?.0, *needed))).collect()
}

/// Calls about directories above the entries that do not exist themselves: there a walk ends.
pub(crate) fn stopped(
    view: &View<'_>,
    sink: &Sink,
    id: ProcId,
    entries: &Entries<'_>,
) -> Vec<(usize, u64)> {
    let mut above: HashMap<&str, u64> = HashMap::new();
    for (entry, tried) in entries {
        let own = tried.rows.iter().filter(|asked| asked.row.process == id);
        let missed: u64 = own.map(|asked| asked.row.count).sum();
        for (at, _) in entry.dir.match_indices('/').skip(1) {
            *above.entry(&entry.dir[..at]).or_default() += missed;
        }
    }
    let walks = |row: &Row| {
        let asks = matches!(row.query, Query::Stat | Query::Lstat | Query::Readlink);
        asks && row.is_missed() && matches!(row.target, Target::Path(_))
    };
    let rows = view.rows_of(id).filter(|(at, row)| !sink.taken(*at) && walks(row));
    let counted = rows.filter_map(|(at, row)| {
        let below = *above.get(view.profile.path(row))?;
        (below > 0).then(|| (at, row.count.min(below)))
    });
    counted.collect()
}

/// What the entries are on this machine, as a sentence, where all of it is known.
pub(crate) fn state(view: &View<'_>, entries: &Entries<'_>) -> &'static str {
    let known = |entry: &ListEntry| view.profile.host.directories.get(&entry.dir);
    let all = |state| entries.keys().all(|entry| known(entry) == Some(&state));
    // One that was there is gone by now.
    let missing = all(Directory::Missing) && entries.values().all(|tried| !tried.shown.exists);
    let one = entries.keys().map(|entry| &entry.dir).collect::<BTreeSet<_>>().len() == 1;
    match () {
        _ if missing && one => "It does not exist. ",
        _ if missing => "None of them exists. ",
        _ if all(Directory::Empty) && one => "It is empty. ",
        _ if all(Directory::Empty) => "All of them are empty. ",
        _ => "",
    }
}

/// Whether one of the directories holds files, which something else may look for.
pub(crate) fn is_filled(view: &View<'_>, dirs: &BTreeSet<&str>) -> bool {
    let holds = |dir| view.profile.host.directories.get(dir) == Some(&Directory::Filled);
    dirs.iter().any(|dir| holds(*dir))
}
