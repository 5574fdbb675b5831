//! Lists of any variable: which one lists the directories that the calls show, and which of these hold nothing.

use crate::engine::Threshold;
use crate::lists::entries::{Asked, Entries, is_dead, keep_searched, mark_hits};
use crate::lists::finding::{finding, lists_of};
use crate::lists::load_path;
use crate::{Sink, View};
use needless_model::{EntryIndex, Query, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// From so many directories on the usual threshold holds; one or two have to cost more.
const SEVERAL: usize = 3;

/// Checks the lists of all variables without a rule of their own, then directories that no variable shows.
pub(crate) fn check_any(view: &View<'_>, sink: &mut Sink) {
    let mut variables: BTreeMap<&str, Entries<'_>> = BTreeMap::new();
    for id in view.ids() {
        let lists: Vec<(&str, EntryIndex<'_>)> = lists_of(view, id)
            .map(|list| (&*list.variable, EntryIndex::new(&list.entries)))
            .collect();
        if lists.is_empty() {
            continue;
        }
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            let path = view.profile.path(row);
            if !matches!(row.target, Target::Path(_)) || !row.query.asks() {
                continue;
            }
            for (variable, index) in &lists {
                let Some((entry, rest)) = index.find(path) else { continue };
                let tried = variables.entry(*variable).or_default().entry(entry).or_default();
                tried.opened |= row.ok() && rest.is_empty() && row.query == Query::Open;
                if row.is_missed() {
                    *tried.missed.entry(rest).or_default() += row.count;
                }
                tried.rows.push(Asked { at, row, itself: rest.is_empty() });
            }
        }
    }
    for entries in variables.values_mut() {
        mark_hits(view, entries);
        entries.retain(|entry, tried| is_dead(view, entry, tried));
        keep_searched(view, entries);
    }
    // If two variables list the same directory, the one with more of them explains the calls.
    let mut by_size: Vec<(&str, Entries<'_>)> =
        variables.into_iter().filter(|(_, entries)| !entries.is_empty()).collect();
    by_size.sort_by_key(|(_, entries)| std::cmp::Reverse(entries.len()));
    let mut explained: HashMap<usize, &str> = HashMap::new();
    let mut also: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (variable, entries) in &mut by_size {
        for tried in entries.values_mut() {
            tried.rows.retain(|asked| match explained.get(&asked.at) {
                Some(first) if first != variable => {
                    also.entry(*first).or_default().insert(*variable);
                    false
                }
                _ => {
                    explained.insert(asked.at, *variable);
                    true
                }
            });
        }
    }
    for (variable, entries) in &by_size {
        let others = also.get(variable).cloned().unwrap_or_default();
        if let Some(finding) = finding(view, sink, variable, entries, &others) {
            let several = entries.len() >= SEVERAL;
            let threshold = if several { Threshold::Usual } else { Threshold::Hundreds };
            sink.find_beyond(threshold, finding);
        }
    }
    load_path::check(view, sink);
}
