//! Relative entries of a list: the directories that they were in the processes that searched them.
//!
//! A profile does not say which the working directory was. Paths of calls are absolute where the backend knew it, so an
//! entry `lib` shows as `/home/me/lib/x`. The working directory is the one below which all relative entries of the list were
//! asked for. Where there are two such directories, nothing is known.

use crate::View;
use crate::search::{Search, Searcher, raw_entries};
use needless_model::{ProcId, Target};
use std::collections::{HashMap, HashSet};

/// The directories of relative entries, by process, each with its entry.
pub(crate) type Relative<'p> = HashMap<ProcId, HashMap<&'p str, &'p str>>;

/// Looks for the directories of relative entries in the processes that make this search. A value is left out if one of
/// its processes leaves a doubt: there an entry may hold something.
pub(crate) fn relative<'p>(view: &View<'p>, search: &Search) -> Relative<'p> {
    let mut found: Relative<'p> = HashMap::new();
    if search.searcher == Searcher::Loader {
        return found;
    }
    let mut doubtful: HashSet<&str> = HashSet::new();
    let value = |id| view.process(id).env.value(search.variable);
    for id in view.ids() {
        let Some(value) = value(id) else { continue };
        let entries: Vec<&str> =
            raw_entries(value, search.searcher).filter(|entry| is_relative(entry)).collect();
        if entries.is_empty() || !(search.who)(view, id) {
            continue;
        }
        match directories(view, id, &entries) {
            Some(dirs) => {
                found.insert(id, dirs);
            }
            None => {
                doubtful.insert(value);
            }
        }
    }
    found.retain(|id, _| value(*id).is_some_and(|value| !doubtful.contains(value)));
    found
}

/// Whether the entry is below the working directory, and not that itself.
fn is_relative(entry: &str) -> bool {
    !entry.is_empty() && entry != "." && entry != ".." && !entry.starts_with(['/', '$', '~'])
}

/// The directories of `entries`, each with its entry, if there is one directory that all of them are below.
fn directories<'p>(
    view: &View<'p>,
    id: ProcId,
    entries: &[&'p str],
) -> Option<HashMap<&'p str, &'p str>> {
    let mut below: HashMap<&str, HashMap<&'p str, &'p str>> = HashMap::new();
    for (_, row) in view.rows_of(id).filter(|(_, row)| matches!(row.target, Target::Path(_))) {
        let path = view.profile.path(row);
        for entry in entries {
            for (at, _) in path.match_indices(entry) {
                let (start, end) = (path[..at].strip_suffix('/'), at + entry.len());
                let ends = path.as_bytes().get(end).is_none_or(|byte| *byte == b'/');
                if let Some(start) = start.filter(|_| ends) {
                    below.entry(start).or_default().insert(&path[..end], entry);
                }
            }
        }
    }
    let searched: HashSet<&str> = below.values().flat_map(HashMap::values).copied().collect();
    let mut whole = below.into_values().filter(|dirs| dirs.len() == searched.len());
    match (whole.next(), whole.next()) {
        (Some(dirs), None) => Some(dirs),
        // None of them was asked for.
        (None, _) if searched.is_empty() => Some(HashMap::new()),
        _ => None,
    }
}
