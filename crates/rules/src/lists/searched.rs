//! Which directories of a list hold nothing, and the calls that look there.
//!
//! Where the environment is known, the list is the variable's. Where it is not (most logs), the
//! directories are read back from the calls: a file that was missed in one directory and found
//! under the same name in another was searched for.
//!
//! Rules ask for at least three such directories before they say so.

use crate::engine::helpers::absent;
use crate::engine::{Case, Merged, PathPattern, merge_shared};
use crate::lists::again::{OutsideList, SearchCall};
use crate::lists::dirs::{Dirs, Shown, common_tail};
use crate::lists::search::{CURRENT, Infer, Search, Searcher, is_current};
use crate::mechanism::loader::{self, Loader};
use crate::{Sink, View};
use needless_model::{Env, Fact, ProcId, Query, Row, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// If the list has to be inferred, fewer directories without a hit do not prove that there is one.
const FEWEST_INFERRED: usize = 3;

/// One list, and its directories that hold nothing.
#[derive(Debug)]
pub(crate) struct SearchedList<'p> {
    /// The variable's value, where known.
    pub(crate) value: Option<&'p str>,
    pub(crate) merged: Merged,
    /// The directories that hold nothing of what was asked for.
    pub(crate) empty: BTreeSet<&'p str>,
    /// Entries of the list that hold something, or were not searched.
    pub(crate) kept: Vec<&'p str>,
    /// Programs, by name.
    pub(crate) programs: BTreeSet<&'p str>,
    /// Directories that something else names as well.
    pub(crate) twice: BTreeSet<&'p str>,
    /// Rows of which some calls belong to something else.
    pub(crate) shared: Vec<usize>,
    /// How many directories were opened, to be listed.
    pub(crate) listed: u64,
    /// How many calls asked whether a directory above one of them is a link: realpath(3) asks for each
    /// part of a path.
    pub(crate) above: u64,
    /// The rows of these calls, and how many of each.
    above_rows: Vec<(usize, u64)>,
}

/// What is counted of one directory of one list.
#[derive(Default)]
struct Tried {
    hit: bool,
    /// Process by process.
    rows: Vec<Asked>,
}

/// A row, with what is needed of it when the whole list is known.
struct Asked {
    at: usize,
    process: ProcId,
    /// How many of its calls belong to the search.
    count: u64,
    /// Whether that is not all of them.
    shared: bool,
}

/// What is counted of one list.
#[derive(Default)]
struct List<'p> {
    value: Option<&'p str>,
    dirs: BTreeMap<&'p str, Tried>,
    /// What calls show of its entries.
    shown: HashMap<&'p str, Shown>,
    twice: BTreeSet<&'p str>,
    of: BTreeMap<ProcId, u64>,
}

/// A process that searches a list.
struct Searching<'v, 'p> {
    view: &'v View<'p>,
    search: &'v Search,
    id: ProcId,
    /// The variable's value, where known.
    value: Option<&'p str>,
    dirs: HashSet<&'p str>,
    loader: Loader<'p>,
}

/// Whether the call asks and changes nothing.
fn asks(query: Query) -> bool {
    matches!(
        query,
        Query::Stat | Query::Lstat | Query::Open | Query::Access | Query::Readlink | Query::Exec
    )
}

/// The lists of all processes that have directories which hold nothing.
pub(crate) fn searches<'p>(
    view: &View<'p>,
    sink: &mut Sink,
    rule: &'static str,
    search: &Search,
) -> Vec<SearchedList<'p>> {
    let mut lists: BTreeMap<String, List<'p>> = BTreeMap::new();
    for id in view.ids().filter(|id| (search.who)(view, *id)) {
        let unknown = view.process(id).env == Env::Unknown;
        if unknown && !search.variable.is_empty() && misses(view, id, search) {
            sink.lack(rule, Fact::Environment);
        }
        let Some(searching) = Searching::of(view, id, search) else { continue };
        let value = searching.value;
        let list =
            lists.entry(searching.key()).or_insert_with(|| List { value, ..List::default() });
        searching.add_to(list, sink);
    }
    let found: Vec<SearchedList<'p>> =
        lists.into_values().filter_map(|list| found(view, search, list)).collect();
    for (row, calls) in found.iter().flat_map(|list| &list.above_rows) {
        sink.claim(*row, *calls);
    }
    found
}

impl<'v, 'p> Searching<'v, 'p> {
    /// `None` if the process has no such list, or none that the calls show.
    fn of(view: &'v View<'p>, id: ProcId, search: &'v Search) -> Option<Self> {
        let env = &view.process(id).env;
        let value = env.value(search.variable).filter(|value| !value.is_empty());
        let loads = search.searcher == Searcher::Loader;
        let unknown = *env == Env::Unknown;
        let dirs: HashSet<&'p str> = match value {
            Some(value) => {
                search.searcher.entries(value).filter(|dir| !(search.usual)(dir)).collect()
            }
            None if unknown || (search.variable.is_empty() && !loads) => inferred(view, id, search),
            None => return None,
        };
        if dirs.is_empty() && !loads {
            return None;
        }
        let loader = Loader::of(view, id);
        let searches = !dirs.is_empty() || loader.searches_current();
        searches.then_some(Searching { view, search, id, value, dirs, loader })
    }

    /// What is the same for all processes with this list.
    fn key(&self) -> String {
        match self.value {
            Some(value) => value.to_owned(),
            None => self.dirs.iter().collect::<BTreeSet<_>>().into_iter().copied().collect(),
        }
    }

    /// Counts the process's calls in `list`.
    fn add_to(self, list: &mut List<'p>, sink: &Sink) {
        let Searching { view, search, id, value, dirs, loader } = self;
        let loads = search.searcher == Searcher::Loader;
        let parents: HashMap<&str, &'p str> =
            dirs.iter().filter_map(|dir| Some((dir.rsplit_once('/')?.0, *dir))).collect();
        let dirs = Dirs::new(dirs);
        let mut calls: BTreeMap<&'p str, Vec<SearchCall<'p>>> = BTreeMap::new();
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            let path = view.profile.path(row);
            let current = if loads { loader.in_current(row, path) } else { None };
            if !asks(row.query) || !(current.is_some() || matches!(row.target, Target::Path(_))) {
                continue;
            }
            // A searcher that does not find a directory may look for the one above it.
            let above =
                || parents.get(path).filter(|_| absent(row) && !loads).map(|dir| (*dir, ""));
            let found = match current {
                Some(entry) => Some((entry, path)),
                None => dirs.below(path).or_else(above),
            };
            let Some((dir, rest)) = found else { continue };
            list.shown.entry(dir).or_default().take(row, rest);
            let loaders = loader.share(at, row, path);
            let count = if loads { loaders } else { row.count - loaders };
            if count == 0 {
                continue;
            }
            list.dirs.entry(dir).or_default().hit |= row.ok() && !rest.is_empty();
            calls.entry(dir).or_default().push(SearchCall { at, row, path, rest, count });
        }
        list.of.insert(id, calls.values().flatten().map(|call| call.count).sum());
        let empty = calls.keys().copied().filter(|dir| !list.dirs[dir].hit).collect();
        let others = OutsideList::of(view, id, search.again, empty);
        for (dir, mut calls) in calls {
            // If the list is not known, all its calls count.
            if value.is_some() && others.keep_own(view, id, search.variable, dir, &mut calls) {
                list.twice.insert(dir);
            }
            let own = calls.into_iter().filter(|call| call.count > 0);
            let rows = &mut list.dirs.entry(dir).or_default().rows;
            rows.extend(own.map(|SearchCall { at, row, count, .. }| Asked {
                at,
                process: id,
                count,
                shared: count < row.count,
            }));
        }
    }
}

/// Whether the process may have searched without finding.
fn misses(view: &View<'_>, id: ProcId, search: &Search) -> bool {
    // Python checks whether a directory has changed, and looks for nothing in one that it listed as
    // empty.
    let empty = |row: &Row| absent(row) || (row.query == Query::Stat && row.count > 1);
    let searched =
        |row: &Row| asks(row.query) && empty(row) && (search.file)(view.profile.path(row));
    view.rows_of(id).any(|(_, row)| searched(row))
}

/// What was asked in the directories of a list that hold nothing.
#[derive(Default)]
struct Needless<'p> {
    cases: BTreeMap<ProcId, Case>,
    /// Rows of which only so many calls are meant.
    shared: HashMap<usize, u64>,
    listed: u64,
    /// How often a process asked whether a directory above one of them is a link.
    links: HashMap<(ProcId, &'p str), u64>,
}

impl<'p> Needless<'p> {
    fn of(view: &View<'p>, list: &List<'p>) -> Needless<'p> {
        let mut all = Needless::default();
        for (dir, tried) in list.dirs.iter().filter(|(_, tried)| !tried.hit) {
            for rows in tried.rows.chunk_by(|one, other| one.process == other.process) {
                let process = rows[0].process;
                let of = || list.of.get(&process).copied().unwrap_or(0);
                let fresh = || Case { process, needless: 0, of: of(), rows: Vec::new() };
                let case = all.cases.entry(process).or_insert_with(fresh);
                case.needless += rows.iter().map(|row| row.count).sum::<u64>();
                case.rows.extend(rows.iter().map(|row| row.at));
                all.shared
                    .extend(rows.iter().filter(|row| row.shared).map(|row| (row.at, row.count)));
                let open = |row: &&Asked| view.profile.rows[row.at].query == Query::Open;
                let opened = rows.iter().filter(open).filter(|row| view.profile.rows[row.at].ok());
                all.listed += opened.map(|row| row.count).sum::<u64>();
                let link = |row: &&Asked| {
                    let asked = &view.profile.rows[row.at];
                    asked.query == Query::Readlink && view.profile.path(asked) == *dir
                };
                let times: u64 = rows.iter().filter(link).map(|row| row.count).sum();
                for (at, _) in dir.match_indices('/').skip(1).filter(|_| times > 0) {
                    *all.links.entry((process, &dir[..at])).or_default() += times;
                }
            }
        }
        all
    }

    /// The rows of the calls about directories above, and how many of each.
    fn above_rows(&self, view: &View<'p>) -> Vec<(usize, u64)> {
        let asked = self.cases.keys().filter(|_| !self.links.is_empty());
        let asked = asked.flat_map(|id| view.rows_of(*id));
        let asked = asked.filter(|(_, row)| row.query == Query::Readlink);
        let rows = asked.filter_map(|(at, row)| {
            let times = self.links.get(&(row.process, view.profile.path(row)))?;
            Some((at, row.count.min(*times)))
        });
        rows.collect()
    }
}

fn found<'p>(view: &View<'p>, search: &Search, mut list: List<'p>) -> Option<SearchedList<'p>> {
    for (dir, tried) in &mut list.dirs {
        // An archive is opened itself, and nothing is looked for below it.
        tried.hit |= list.shown.get(dir).is_some_and(|shown| shown.may_be_a_file(view, dir));
    }
    let empty: BTreeSet<&str> =
        list.dirs.iter().filter(|(_, tried)| !tried.hit).map(|(dir, _)| *dir).collect();
    let current = empty.iter().any(|dir| is_current(dir));
    let few = list.value.is_none() && empty.len() < FEWEST_INFERRED && !current;
    if empty.is_empty() || few {
        return None;
    }
    let needless = Needless::of(view, &list);
    let above_rows = needless.above_rows(view);
    let Needless { cases, shared, listed, links } = needless;
    let cases: Vec<Case> = cases.into_values().collect();
    // All calls in them are made for another reason.
    if cases.is_empty() {
        return None;
    }
    let twice = list.twice.intersection(&empty).copied().collect();
    let programs = cases.iter().map(|case| view.process(case.process).name()).collect();
    let dead =
        |entry: &&str| empty.contains(*entry) || (entry.is_empty() && empty.contains(CURRENT));
    let kept = list.value.into_iter().flat_map(|value| search.searcher.raw_entries(value));
    let kept = kept.filter(|entry| !dead(entry)).collect();
    // One line of evidence per directory, for all names that were asked for in it.
    let dirs = Dirs::new(empty.iter().copied().collect());
    let base = |path| match dirs.below(path) {
        Some((dir, rest)) if !rest.is_empty() => PathPattern::below(dir),
        None if current => PathPattern::below(match loader::base(loader::parent(path)) {
            "" => ".",
            dir => dir,
        }),
        _ => PathPattern::path(path),
    };
    let merged = merge_shared(view.profile, cases, &shared, base);
    debug_assert!(merged.needless > 0, "{}", search.things);
    let shared = shared.into_keys().collect();
    Some(SearchedList {
        value: list.value,
        merged,
        empty,
        kept,
        programs,
        twice,
        shared,
        listed,
        above: links.values().sum(),
        above_rows,
    })
}

/// The directories in which the process, or its image before the fork, searched, inferred from the
/// calls.
fn inferred<'p>(view: &View<'p>, id: ProcId, search: &Search) -> HashSet<&'p str> {
    match search.infer {
        Infer::No => return HashSet::new(),
        Infer::By(find) => return find(view, id),
        Infer::Chains => {}
    }
    let mut missed: HashMap<&str, Vec<&'p str>> = HashMap::new();
    let mut found: HashMap<&str, Vec<&'p str>> = HashMap::new();
    for (_, row) in view.rows_of(id) {
        let path = view.profile.path(row);
        if !asks(row.query) || !matches!(row.target, Target::Path(_)) || !(search.file)(path) {
            continue;
        }
        let Some((_, name)) = path.rsplit_once('/') else { continue };
        if row.ok() {
            found.entry(name).or_default().push(path);
        } else if absent(row) {
            missed.entry(name).or_default().push(path);
        }
    }
    let mut dirs = HashSet::new();
    for (name, paths) in missed {
        let Some(hits) = found.get(name) else { continue };
        for path in &paths {
            let tail = hits.iter().map(|hit| common_tail(path, hit).len()).max().unwrap_or(0);
            dirs.insert((search.base)(cut(path, tail + 1)));
        }
    }
    dirs.retain(|dir| !dir.is_empty() && !(search.usual)(dir));
    dirs
}

fn cut(path: &str, tail: usize) -> &str {
    &path[..path.len().saturating_sub(tail)]
}
