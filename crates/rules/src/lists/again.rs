//! Directories that a list names and something else names as well: an option, code, another variable, a RUNPATH.
//!
//! If the entry is taken out of the list, the directory is still searched because of the other.
//! Which calls disappear with the entry depends on the searcher, and can be read from the calls of
//! one process.
//!
//! GCC drops the second mention of a directory after one look at it. The loader looks for subdirectories once, and asks
//! for a library again. Perl, Ruby and Python ask for each mention. No command line is read: how often a directory that
//! is named once was asked for the same file shows in the same process.

use crate::View;
use crate::engine::helpers::{absent, file_name};
use crate::lists::dirs::Dirs;
use crate::lists::search::Searcher;
use crate::mechanism::loader::{base, parent};
use needless_model::{ProcId, Query, Row, Target};
use std::collections::{HashMap, HashSet};

/// What a searcher does with a directory that it has from two sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DuplicateEntry {
    /// Not known, or no other source is likely.
    Unknown,
    /// It asks for the name of a library again, but checks the directory only once.
    Loader,
    /// It asks again for each name.
    Names,
    /// It asks the directory again at each import.
    Imports,
    /// For each mention it checks the directory, once or more often, and asks again for each name.
    Looks,
    /// It checks the directory once for each mention and keeps one: it drops the mentions in the
    /// user's chain if the system's chain has the directory too, and the later ones within a chain.
    Compiler {
        /// Whether the variable belongs to the system's chain, where links are resolved for each name.
        system: bool,
    },
}

/// A row of one directory.
pub(crate) struct SearchCall<'p> {
    pub(crate) at: usize,
    pub(crate) row: &'p Row,
    pub(crate) path: &'p str,
    /// The path below the directory; "" is the directory itself.
    pub(crate) rest: &'p str,
    /// How many of its calls the searcher made; later, how many of these would disappear with the
    /// entry of the list.
    pub(crate) count: u64,
}

/// What a process asked in directories outside of the list, for comparison.
pub(crate) struct OutsideList<'p> {
    again: DuplicateEntry,
    /// How often the same was asked in a directory that is not in the list, or that holds
    /// something.
    asked: HashMap<(Query, &'p str), u64>,
}

impl<'p> OutsideList<'p> {
    /// `empty`: the directories of the list that hold nothing.
    pub(crate) fn of(
        view: &View<'p>,
        id: ProcId,
        again: DuplicateEntry,
        empty: HashSet<&'p str>,
    ) -> Self {
        let mut asked: HashMap<(Query, &'p str), u64> = HashMap::new();
        let mut most = |key, count: u64| {
            let known = asked.entry(key).or_default();
            *known = count.max(*known);
        };
        let dirs = Dirs::new(empty.clone());
        for (_, row) in view.rows_of(id).filter(|(_, row)| matches!(row.target, Target::Path(_))) {
            let path = view.profile.path(row);
            match again {
                // A subdirectory for a processor variant may be tried twice for one mention.
                DuplicateEntry::Loader
                    if row.query == Query::Open
                        && base(parent(path)) == parent(path)
                        && !empty.contains(parent(path)) =>
                {
                    most((Query::Open, file_name(path)), row.count);
                }
                DuplicateEntry::Imports if row.query == Query::Stat && !empty.contains(path) => {
                    let standard = path.contains("/lib") && file_name(path).starts_with("python3");
                    let key = if standard { "" } else { path };
                    most((Query::Stat, key), row.count);
                }
                // Each end of the path that may be what was looked for.
                DuplicateEntry::Names if absent(row) || row.ok() => {
                    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
                    if dirs.below(path).is_none() {
                        ends.for_each(|end| most((row.query, end), row.count));
                    }
                }
                _ => {}
            }
        }
        OutsideList { again, asked }
    }

    /// Keeps in `calls`, which are about one directory, only the calls that would disappear with
    /// its entry in `variable`. Returns whether something else names the directory as well.
    pub(crate) fn keep_own(
        &self,
        view: &View<'_>,
        id: ProcId,
        variable: &str,
        dir: &str,
        calls: &mut [SearchCall<'p>],
    ) -> bool {
        let env = &view.process(id).env;
        let value = |variable| env.value(variable).unwrap_or_default();
        let mentions =
            |variable| value(variable).split(':').filter(|entry| same(entry, dir)).count() as u64;
        let mine = mentions(variable);
        let looks: u64 =
            calls.iter().filter(|call| looks_at(call, dir)).map(|call| call.count).sum();
        match self.again {
            DuplicateEntry::Unknown => false,
            DuplicateEntry::Loader => self.keep_libraries(calls),
            DuplicateEntry::Names => self.keep_names(mine, calls),
            DuplicateEntry::Imports => {
                /// Checks of a directory when Python first meets it: they stay, as the listing
                /// does.
                const FIRST: u64 = 2;
                let entries = Searcher::Program.raw_entries(value(variable));
                let kept = entries.filter_map(|entry| self.known(Query::Stat, entry)).max();
                let once = kept.max(self.known(Query::Stat, "")).unwrap_or(looks);
                // Python drops a second mention in the list itself after one check.
                let twice = looks > once + mine && once > FIRST;
                for call in calls.iter_mut().filter(|_| twice) {
                    call.count = if looks_at(call, dir) { call.count.min(once - FIRST) } else { 0 };
                }
                twice
            }
            DuplicateEntry::Looks => keep_mentions(mine, looks, calls),
            DuplicateEntry::Compiler { system } => {
                let twice = mine > 0 && looks > mine;
                // The work for the system's chain disappears only if the other mention is known to
                // be in the user's chain.
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

    /// As [`OutsideList::keep_own`], for the loader.
    fn keep_libraries(&self, calls: &mut [SearchCall<'p>]) -> bool {
        let direct = |call: &SearchCall<'_>| {
            call.row.query == Query::Open && base(parent(call.path)) == parent(call.path)
        };
        let own = |call: &SearchCall<'_>| {
            self.known(Query::Open, file_name(call.path)).map_or(call.count, |n| n.min(call.count))
        };
        let twice = calls.iter().any(|call| direct(call) && own(call) < call.count);
        for call in calls.iter_mut().filter(|_| twice) {
            call.count = if direct(call) { own(call) } else { 0 };
        }
        twice
    }

    /// As [`OutsideList::keep_own`], where each name is asked for again, and the variable mentions the
    /// directory so often.
    fn keep_names(&self, mentions: u64, calls: &mut [SearchCall<'p>]) -> bool {
        let mut sums = (0, 0);
        for call in calls.iter() {
            if let Some(once) = self.known(call.row.query, call.rest) {
                sums = (sums.0 + call.count, sums.1 + once.min(call.count));
            }
        }
        // How often a name is asked for here for each time elsewhere: the factor for names
        // that are asked for only here.
        let times = (sums.0 + sums.1 / 2).checked_div(sums.1).unwrap_or(1);
        let mine = mentions.clamp(1, times);
        // `use lib` asks for this directory, and drops the other mentions: what is asked from then on stays.
        let uses = calls.iter().position(|call| call.rest.ends_with("/auto"));
        let uses = uses.unwrap_or(calls.len());
        let mut twice = uses < calls.len();
        for call in &mut calls[uses..] {
            call.count = 0;
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

    /// How often the same was asked in a directory outside of the list.
    fn known(&self, query: Query, name: &str) -> Option<u64> {
        self.asked.get(&(query, name)).copied()
    }
}

/// As [`OutsideList::keep_own`], where each of the `mine` mentions in the list is checked, and asked for each name.
/// `looks`: checks of the directory.
fn keep_mentions(mine: u64, looks: u64, calls: &mut [SearchCall<'_>]) -> bool {
    // Ruby 3.3 checks the directory more often than once. But for each mention it asks for each name, so most
    // names show how many there are: one that another directory between has is asked for less often, and
    // one that is required again more often.
    let mut names: HashMap<&str, u64> = HashMap::new();
    for call in calls.iter().filter(|call| call.row.query == Query::Open && absent(call.row)) {
        *names.entry(call.path).or_default() += call.count;
    }
    let mut asked: Vec<u64> = names.into_values().collect();
    asked.sort_unstable();
    let all = asked.get(asked.len() / 2).map_or(looks, |often| looks.min(*often));
    let twice = mine > 0 && all > mine;
    for call in calls.iter_mut().filter(|_| twice) {
        call.count = call.count * mine / all;
    }
    twice
}

/// Whether the call checks the directory itself.
fn looks_at(call: &SearchCall<'_>, dir: &str) -> bool {
    call.row.query == Query::Stat && call.path.trim_end_matches('/') == dir
}

fn same(entry: &str, dir: &str) -> bool {
    let entry = entry.trim_end_matches('/');
    let relative = || {
        let base = dir.strip_suffix(entry).filter(|_| !entry.is_empty() && !entry.starts_with('/'));
        base.is_some_and(|base| base.ends_with('/'))
    };
    entry == dir || relative()
}
