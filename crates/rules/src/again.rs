//! Directories that a list names and something else names as well: an option, code, another variable, a RUNPATH.
//!
//! Take the list's entry away and the other still has the directory searched. What goes with the entry depends
//! on who searches, and shows in the calls of one process.

use crate::View;
use crate::dirs::Dirs;
use crate::helpers::{absent, file_name};
use crate::loader::{base, parent};
use crate::search::{Asker, raw_entries};
use needless_model::{ProcId, Query, Row, Target};
use std::collections::{HashMap, HashSet};

/// What a searcher does with a directory that it has from two sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Not known, or no other source is likely.
    Unknown,
    /// It asks for the name of a library again, but looks at the directory only once.
    Loader,
    /// It asks again for each name.
    Names,
    /// It asks the directory again at each import.
    Imports,
    /// It looks once at the directory for each mention, and asks again for each name.
    Looks,
    /// It looks once at the directory for each mention and drops all but one: those of the user's chain where the
    /// system's chain has it too, and the later ones within a chain.
    Compiler {
        /// Whether the variable belongs to the system's chain, where links are resolved for each name.
        system: bool,
    },
}

/// A row of one directory.
pub(crate) struct Call<'p> {
    pub(crate) at: usize,
    pub(crate) row: &'p Row,
    pub(crate) path: &'p str,
    /// The path below the directory; "" is the directory itself.
    pub(crate) rest: &'p str,
    /// How many of its calls are the searcher's; what goes with the entry of the list, when that is known.
    pub(crate) count: u64,
}

/// What a process asked outside of the list, to compare with.
pub(crate) struct Others<'p> {
    again: Again,
    /// How often the same was asked of a directory that is not of the list, or holds something.
    asked: HashMap<(Query, &'p str), u64>,
}

impl<'p> Others<'p> {
    /// `vain`: the directories of the list that hold nothing.
    pub(crate) fn of(view: &View<'p>, id: ProcId, again: Again, vain: HashSet<&'p str>) -> Self {
        let mut asked: HashMap<(Query, &'p str), u64> = HashMap::new();
        let mut most = |key, count: u64| {
            let known = asked.entry(key).or_default();
            *known = count.max(*known);
        };
        let dirs = Dirs::new(vain.clone());
        for (_, row) in view.rows_of(id).filter(|(_, row)| matches!(row.target, Target::Path(_))) {
            let path = view.profile.path(row);
            match again {
                Again::Loader if row.query == Query::Open && !vain.contains(base(parent(path))) => {
                    most((Query::Open, file_name(path)), row.count);
                }
                Again::Imports if row.query == Query::Stat && !vain.contains(path) => {
                    let standard = path.contains("/lib") && file_name(path).starts_with("python3");
                    let key = if standard { "" } else { path };
                    most((Query::Stat, key), row.count);
                }
                // Each end of the path that may be what was looked for.
                Again::Names if absent(row) || row.ok() => {
                    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
                    if dirs.below(path).is_none() {
                        ends.for_each(|end| most((row.query, end), row.count));
                    }
                }
                _ => {}
            }
        }
        Others { again, asked }
    }

    /// Leaves in `calls`, of one directory, only what goes with its entry in `variable`, and tells whether
    /// something else names it as well.
    pub(crate) fn keep_own(
        &self,
        view: &View<'_>,
        id: ProcId,
        variable: &str,
        dir: &str,
        calls: &mut [Call<'p>],
    ) -> bool {
        let env = &view.process(id).env;
        let mentions = |variable| {
            let value = env.value(variable).unwrap_or_default();
            value.split(':').filter(|entry| same(entry, dir)).count() as u64
        };
        let looks: u64 =
            calls.iter().filter(|call| looks_at(call, dir)).map(|call| call.count).sum();
        match self.again {
            Again::Unknown => false,
            Again::Loader => {
                let direct = |call: &Call<'_>| {
                    call.row.query == Query::Open && base(parent(call.path)) == parent(call.path)
                };
                let own = |call: &Call<'_>| {
                    self.known(Query::Open, file_name(call.path))
                        .map_or(call.count, |n| n.min(call.count))
                };
                let twice = calls.iter().any(|call| direct(call) && own(call) < call.count);
                for call in calls.iter_mut().filter(|_| twice) {
                    call.count = if direct(call) { own(call) } else { 0 };
                }
                twice
            }
            Again::Names => {
                let mut sums = (0, 0);
                for call in calls.iter() {
                    if let Some(once) = self.known(call.row.query, call.rest) {
                        sums = (sums.0 + call.count, sums.1 + once.min(call.count));
                    }
                }
                // As often as each of the names was, for what only this directory is asked for.
                let times = (sums.0 + sums.1 / 2).checked_div(sums.1).unwrap_or(1);
                let mine = mentions(variable).clamp(1, times);
                let mut twice = false;
                // `use lib` asks for this directory, and drops the other mentions: what is asked from then on stays.
                let uses = calls
                    .iter()
                    .position(|call| call.rest.ends_with("/auto"))
                    .unwrap_or(calls.len());
                for call in &mut calls[uses..] {
                    call.count = 0;
                    twice = true;
                }
                for call in calls.iter_mut() {
                    let own = match self.known(call.row.query, call.rest) {
                        Some(once) => (once * mine).min(call.count),
                        None => call.count * mine / times,
                    };
                    twice |= own < call.count;
                    call.count = own;
                }
                twice
            }
            Again::Imports => {
                /// Looks at a directory when Python first meets it: they stay, as the listing does.
                const FIRST: u64 = 2;
                let entries = raw_entries(env.value(variable).unwrap_or_default(), Asker::Program);
                let kept = entries.filter_map(|entry| self.known(Query::Stat, entry)).max();
                let once = kept.max(self.known(Query::Stat, "")).unwrap_or(looks);
                // A second mention in the list itself is dropped, after one look.
                let twice = looks > once + mentions(variable) && once > FIRST;
                for call in calls.iter_mut().filter(|_| twice) {
                    call.count = if looks_at(call, dir) { call.count.min(once - FIRST) } else { 0 };
                }
                twice
            }
            Again::Looks => {
                let mine = mentions(variable);
                let twice = mine > 0 && looks > mine;
                for call in calls.iter_mut().filter(|_| twice) {
                    call.count = call.count * mine / looks;
                }
                twice
            }
            Again::Compiler { system } => {
                let mine = mentions(variable);
                let twice = mine > 0 && looks > mine;
                // Only where the other is known to be in the user's chain does the work of the system's go.
                let users = system && looks == mine + mentions("CPATH");
                let mut left = mine;
                for call in calls.iter_mut().filter(|_| twice) {
                    call.count = match call.row.query {
                        Query::Stat if looks_at(call, dir) => call.count.min(left),
                        Query::Readlink if users => call.count,
                        _ => 0,
                    };
                    if call.row.query == Query::Stat {
                        left -= call.count;
                    }
                }
                twice
            }
        }
    }
}

impl Others<'_> {
    /// How often it was asked of a directory that the list is not about.
    fn known(&self, query: Query, name: &str) -> Option<u64> {
        self.asked.get(&(query, name)).copied()
    }
}

/// Whether it is a look at the directory itself.
fn looks_at(call: &Call<'_>, dir: &str) -> bool {
    call.row.query == Query::Stat && call.path.trim_end_matches('/') == dir
}

fn same(entry: &str, dir: &str) -> bool {
    entry.trim_end_matches('/') == dir
}
