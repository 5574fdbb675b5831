//! Lists of directories in which programs search for files, and which of them hold nothing.
//!
//! Where the environment is known, the list is the variable's. Where it is not (most logs), the
//! directories are read back from the calls: a file that was missed in one directory and found
//! under the same name in another was searched for.

use crate::select::{About, Case, Merged, merge_by};
use crate::tally::{self, absent};
use crate::text::{count, list, number};
use crate::{Claims, View};
use needless_model::{Ask, Change, Env, Finding, ProcId, Process, Remedy, Safety, Stage, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A kind of search.
pub(crate) struct Search {
    pub(crate) rule: &'static str,
    /// The variable with the list, separated by colons.
    pub(crate) variable: &'static str,
    /// Whose it is; asked of every process.
    pub(crate) who: fn(&View<'_>, ProcId) -> bool,
    /// Whether a file of this path, missed, may be searched for; `""` is the directory itself.
    pub(crate) file: fn(&str) -> bool,
    /// Whether the searcher may have made a call of this kind with this path, in or below the directory.
    pub(crate) asks: fn(Ask, &str, &str) -> bool,
    /// Directories that every system searches: not reported, whoever lists them.
    pub(crate) usual: fn(&str) -> bool,
    /// The directory of the list that a directory belongs to: without what the searcher appends.
    pub(crate) base: fn(&str) -> &str,
    /// How the directories are found where the variable is not known.
    pub(crate) infer: Infer,
}

/// How directories are read back from calls.
#[derive(Clone, Copy)]
pub(crate) enum Infer {
    /// Not at all.
    No,
    /// From files missed in one directory and found in another.
    Chains,
    /// As this function finds them.
    By(for<'p> fn(&View<'p>, ProcId) -> HashSet<&'p str>),
}

/// Fewer directories without a hit, where the list had to be inferred, prove no list.
const FEWEST_INFERRED: usize = 3;

/// One list, and what was searched for in it in vain.
#[derive(Debug)]
pub(crate) struct Found<'p> {
    /// The variable's value, where known.
    pub(crate) value: Option<&'p str>,
    pub(crate) merged: Merged,
    /// The directories that hold nothing of what was asked for.
    pub(crate) vain: BTreeSet<&'p str>,
    /// Entries of the list that hold something, or were not asked.
    pub(crate) kept: Vec<&'p str>,
    /// Programs, by name.
    pub(crate) programs: BTreeSet<&'p str>,
}

/// What is counted of one directory of one list.
#[derive(Default)]
struct Tried {
    hit: bool,
    /// Process by process.
    rows: Vec<Asked>,
}

/// A row, with what is wanted of it again when all of a list is known.
struct Asked {
    at: usize,
    process: ProcId,
    count: u64,
}

/// What is counted of one list.
struct List<'p> {
    value: Option<&'p str>,
    dirs: BTreeMap<&'p str, Tried>,
    of: BTreeMap<ProcId, u64>,
}

/// Whether the call asks and changes nothing.
fn asks(ask: Ask) -> bool {
    matches!(ask, Ask::Stat | Ask::Lstat | Ask::Open | Ask::Access | Ask::Readlink | Ask::Exec)
}

/// The lists of all processes in which directories were searched in vain.
pub(crate) fn searches<'p>(view: &View<'p>, claims: &Claims, search: &Search) -> Vec<Found<'p>> {
    let mut lists: BTreeMap<String, List<'p>> = BTreeMap::new();
    for id in view.ids().filter(|id| (search.who)(view, *id)) {
        let process = view.process(id);
        let value = process.env.value(search.variable).filter(|value| !value.is_empty());
        let dirs: HashSet<&'p str> = match (value, &process.env) {
            (Some(value), _) => entries(value).filter(|dir| !(search.usual)(dir)).collect(),
            (None, Env::Unknown) => inferred(view, id, search),
            (None, Env::Known(_)) if search.variable.is_empty() => inferred(view, id, search),
            (None, Env::Known(_)) => continue,
        };
        if dirs.is_empty() {
            continue;
        }
        let key = match value {
            Some(value) => value.to_owned(),
            None => dirs.iter().collect::<BTreeSet<_>>().into_iter().copied().collect(),
        };
        let list = lists.entry(key).or_insert_with(|| List {
            value,
            dirs: BTreeMap::new(),
            of: BTreeMap::new(),
        });
        let parents: HashMap<&str, &'p str> =
            dirs.iter().filter_map(|dir| Some((dir.rsplit_once('/')?.0, *dir))).collect();
        let dirs = Dirs::new(dirs);
        let mut of = 0;
        for (at, row) in view.rows_of(id).filter(|(at, _)| !claims.taken(*at)) {
            if !asks(row.ask) || !matches!(row.target, Target::Path(_)) {
                continue;
            }
            let path = view.profile.path(row);
            // Who finds a directory missing may ask for the one above it.
            let above = || parents.get(path).filter(|_| absent(row)).map(|dir| (*dir, ""));
            let Some((dir, rest)) = dirs.below(path).or_else(above) else { continue };
            if !(search.asks)(row.ask, path, dir) {
                continue;
            }
            let tried = list.dirs.entry(dir).or_default();
            of += row.count;
            tried.hit |= row.ok() && !rest.is_empty();
            tried.rows.push(Asked { at, process: id, count: row.count });
        }
        list.of.insert(id, of);
    }
    lists.into_values().filter_map(|list| found(view, search, list)).collect()
}

fn found<'p>(view: &View<'p>, search: &Search, list: List<'p>) -> Option<Found<'p>> {
    let vain: BTreeSet<&str> =
        list.dirs.iter().filter(|(_, tried)| !tried.hit).map(|(dir, _)| *dir).collect();
    if vain.is_empty() || (list.value.is_none() && vain.len() < FEWEST_INFERRED) {
        return None;
    }
    let mut cases: BTreeMap<ProcId, Case> = BTreeMap::new();
    for tried in list.dirs.values().filter(|tried| !tried.hit) {
        for rows in tried.rows.chunk_by(|one, other| one.process == other.process) {
            let process = rows[0].process;
            let of = || list.of.get(&process).copied().unwrap_or(0);
            let fresh = || Case { process, needless: 0, of: of(), rows: Vec::new() };
            let case = cases.entry(process).or_insert_with(fresh);
            case.needless += rows.iter().map(|row| row.count).sum::<u64>();
            case.rows.extend(rows.iter().map(|row| row.at));
        }
    }
    let cases: Vec<Case> = cases.into_values().collect();
    let programs = cases.iter().map(|case| view.process(case.process).name()).collect();
    let kept = list.value.into_iter().flat_map(raw_entries).filter(|e| !vain.contains(&**e));
    let kept = kept.collect();
    // A line of evidence per directory, whatever was asked for in it.
    let dirs = Dirs::new(vain.iter().copied().collect());
    let base = |path| match dirs.below(path) {
        Some((dir, rest)) if !rest.is_empty() => About::below(dir),
        _ => About::path(path),
    };
    let merged = merge_by(view.profile, cases, base);
    debug_assert!(merged.needless > 0, "{}", search.rule);
    Some(Found { value: list.value, merged, vain, kept, programs })
}

/// The absolute directories of a list, without a slash at the end.
pub(crate) fn entries(value: &str) -> impl Iterator<Item = &str> {
    raw_entries(value).filter(|entry| entry.starts_with('/') && entry.len() > 1)
}

/// The entries of a list, each once, without a slash at the end.
pub(crate) fn raw_entries(value: &str) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    let trimmed = value.split(':').map(|entry| match entry.trim_end_matches('/') {
        "" if !entry.is_empty() => "/",
        entry => entry,
    });
    trimmed.filter(move |entry| seen.insert(*entry))
}

/// Directories, to be asked of many paths which of them each lies below.
struct Dirs<'p> {
    all: HashSet<&'p str>,
    /// How all of them begin.
    start: &'p str,
    /// How long they are, longest first: nearly all questions end here.
    lengths: Vec<usize>,
}

impl<'p> Dirs<'p> {
    fn new(all: HashSet<&'p str>) -> Dirs<'p> {
        let lengths: BTreeSet<usize> = all.iter().map(|dir| dir.len()).collect();
        let lengths = lengths.into_iter().rev().collect();
        Dirs { start: common_start(&all), all, lengths }
    }

    /// The innermost directory that `path` is or lies below, and the rest.
    fn below(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        if !path.starts_with(self.start) {
            return None;
        }
        let path = path.trim_end_matches('/');
        let ends = |at: &&usize| path.as_bytes().get(**at).is_none_or(|byte| *byte == b'/');
        let lengths = self.lengths.iter().filter(|at| **at <= path.len()).filter(ends);
        let dir = lengths.map(|at| &path[..*at]).find(|dir| self.all.contains(dir))?;
        Some((dir, path[dir.len()..].trim_start_matches('/')))
    }
}

/// How all of them begin.
fn common_start<'p>(dirs: &HashSet<&'p str>) -> &'p str {
    let shorten = |one: &'p str, other: &&'p str| {
        let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        &one[..(0..=same).rev().find(|at| one.is_char_boundary(*at)).unwrap_or(0)]
    };
    let mut all = dirs.iter();
    let first = all.next().copied().unwrap_or("");
    all.fold(first, shorten)
}

/// The directories in which the process, or its image before it forked, searched, as its calls tell.
pub(crate) fn inferred<'p>(view: &View<'p>, id: ProcId, search: &Search) -> HashSet<&'p str> {
    match search.infer {
        Infer::No => return HashSet::new(),
        Infer::By(find) => return find(view, id),
        Infer::Chains => {}
    }
    let mut missed: HashMap<&str, Vec<&'p str>> = HashMap::new();
    let mut found: HashMap<&str, Vec<&'p str>> = HashMap::new();
    for (_, row) in view.rows_of(id) {
        let path = view.profile.path(row);
        if !asks(row.ask) || !matches!(row.target, Target::Path(_)) || !(search.file)(path) {
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
            let tail = hits.iter().map(|hit| common_tail(path, hit)).max().unwrap_or(0);
            dirs.insert((search.base)(cut(path, tail + 1)));
        }
    }
    dirs.retain(|dir| !dir.is_empty() && !(search.usual)(dir));
    dirs
}

fn cut(path: &str, tail: usize) -> &str {
    &path[..path.len().saturating_sub(tail)]
}

/// The length of the longest end of both paths that consists of whole names.
fn common_tail(one: &str, other: &str) -> usize {
    let same = |(a, b): &(&str, &str)| a == b;
    let names = one.rsplit('/').zip(other.rsplit('/')).take_while(same).map(|(name, _)| name);
    names.map(|name| name.len() + 1).sum::<usize>().saturating_sub(1).min(one.len() - 1)
}

/// Directories that a distribution's own programs search.
pub(crate) fn of_the_system(dir: &str) -> bool {
    dir.starts_with("/usr/") || dir.starts_with("/lib") || dir.starts_with("/etc/") || dir == "/"
}

/// The words that differ between searches.
pub(crate) struct Words {
    /// "Python modules".
    pub(crate) things: &'static str,
    /// Why the search is made, after the sentence that names the variable and the directories. It fits
    /// one directory and many.
    pub(crate) why: &'static str,
    /// What to do where the variable is not known.
    pub(crate) manual: &'static str,
    /// When a shorter list is wrong.
    pub(crate) caveat: &'static str,
    /// Whether a tool may apply it: a path that decides which code runs is a person's matter.
    pub(crate) by_hand: bool,
}

/// The finding of a list.
pub(crate) fn finding(search: &Search, words: &Words, found: Found<'_>) -> Finding {
    let Found { value, merged, vain, kept, programs } = found;
    let variable = search.variable;
    let dirs = count(vain.len() as u64, "directory", "directories");
    let who: Vec<&str> = programs.into_iter().take(3).collect();
    let hold = if vain.len() == 1 { "holds" } else { "hold" };
    let mut shown: Vec<&str> = vain.iter().copied().take(3).collect();
    shown.extend((vain.len() > shown.len()).then_some("others"));
    let things = words.things;
    let cause = match value {
        Some(_) => format!("{variable} lists {dirs} that {hold} none of the {things}"),
        None => format!("{dirs} {hold} none of the {things}"),
    };
    let remedy = match value {
        None => tally::by_hand(words.manual, words.caveat),
        Some(_) => remedy(variable, words, &kept),
    };
    Finding {
        stage: if value.is_some() { Stage::Explained } else { Stage::Seen },
        what: format!(
            "{} calls look for {things} in {dirs} that {hold} none",
            number(merged.needless)
        ),
        why: format!("{cause} that {} asked for: {}. {}", list(&who), list(&shown), words.why),
        remedies: vec![remedy],
        ..merged.finding(search.rule)
    }
}

/// A list that has only the entries in `kept` left.
pub(crate) fn remedy(variable: &str, words: &Words, kept: &[&str]) -> Remedy {
    let variable = variable.to_owned();
    let change = match kept.iter().all(|entry| entry.is_empty()) {
        true => Change::UnsetEnv { variable },
        false => Change::SetEnv { variable, value: Some(kept.join(":")) },
    };
    let caveat = words.caveat.to_owned();
    let safety = if words.by_hand { Safety::Manual(caveat) } else { Safety::Caveat(caveat) };
    Remedy { change, safety }
}

/// Whether the loader, libc and their variables are as for an ordinary program.
pub(crate) fn heeds_variables(process: &Process) -> bool {
    process.secure != Some(true)
}

/// Whether the executable's file name starts with one of `names`.
pub(crate) fn named(view: &View<'_>, id: ProcId, names: &[&str]) -> bool {
    names.iter().any(|name| view.process(id).name().starts_with(name))
}

/// Leaves a finding of each list that was searched in vain.
pub(crate) fn check(view: &View<'_>, claims: &mut Claims, search: &Search, words: &Words) {
    for found in searches(view, claims, search) {
        claims.find(finding(search, words, found));
    }
}
