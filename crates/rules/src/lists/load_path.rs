//! Lists of directories that no variable of the process shows: names that are missed in many directories.

use crate::engine::helpers;
use crate::engine::{Case, Threshold, merge_by};
use crate::lists::dirs::{Dirs, common_tail};
use crate::lists::entries::is_usual;
use crate::rule::general::search_list::RULE;
use crate::text::{count, number, some};
use crate::{Sink, View};
use needless_model::{Finding, ProcId, Query, Row, Target};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A name is searched for if it is missed in so many directories.
const FEWEST: usize = 3;
/// Further directories of one name do not change what it is a part of.
const COMPARED: usize = 8;

/// What is known of the list of a runtime.
struct Runtime {
    /// How its program's name starts.
    program: &'static str,
    /// How the names end that it looks for.
    ends: &'static [&'static str],
    said: Words,
}

/// What is said of a list.
struct Words {
    things: &'static str,
    /// What the list is.
    why: &'static str,
    fix: &'static str,
    /// The same where the environment is not known, so that a variable may list the directories.
    why_unknown: &'static str,
    fix_unknown: &'static str,
    caveat: &'static str,
}

const RUBY: Runtime = Runtime {
    program: "ruby",
    ends: &[".rb", ".so"],
    said: Words {
        things: "Ruby files",
        why: "Each gem adds a directory to Ruby's load path, and `require` looks for each file in each of them in turn.",
        fix: "Add the gem bootsnap, and `require \"bootsnap/setup\"` right after `bundler/setup`: it keeps an index of the load path",
        why_unknown: "They come from RUBYLIB, from -I, or from gems, each of which adds a directory to Ruby's load path. `require` looks for each file in each of them in turn. The environment is not known (`strace -v` logs it).",
        fix_unknown: "If RUBYLIB or -I lists these directories, take them out. If gems do, add the gem bootsnap, and `require \"bootsnap/setup\"` right after `bundler/setup`: it keeps an index of the load path",
        caveat: "Measure it: before bundler/setup, or without Bundler, bootsnap makes more calls than it saves.",
    },
};

const ANY_PROGRAM: Words = Words {
    things: "files",
    why: "They come from an option, a configuration, its code, or a variable that lists them by relative paths.",
    fix: "Find where the program gets these directories from, and take those out that hold nothing",
    why_unknown: "Which variable lists them is not known, because the environment is not (`strace -v` logs it).",
    fix_unknown: "Find which variable, option or configuration lists these directories, and take those out that hold nothing",
    caveat: "The program may look for other names there at other times.",
};

/// A list is known by so many searches that ended with a hit.
const FEWEST_FOUND: u64 = 10;

/// A name, and where it was missed.
#[derive(Default)]
struct Missed<'p> {
    dirs: BTreeSet<&'p str>,
    /// Calls by directory.
    counts: BTreeMap<&'p str, u64>,
    rows: Vec<(usize, &'p Row)>,
    found: bool,
}

/// What all processes of a view found.
struct Found<'p> {
    /// What was opened.
    opened: HashSet<&'p str>,
    /// Directories with something in them that was there.
    holding: HashSet<&'p str>,
}

impl<'p> Found<'p> {
    fn by_all(view: &View<'p>) -> Found<'p> {
        let mut found = Found { opened: HashSet::new(), holding: HashSet::new() };
        for (_, row) in view.rows().filter(|(_, row)| row.ok()) {
            let path = view.profile.path(row).trim_end_matches('/');
            if row.query == Query::Open {
                found.opened.insert(path);
            }
            found.holding.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        found
    }
}

/// Adds a finding for each program that looks for names in many directories that no variable lists.
pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut of_program: BTreeMap<String, Vec<(ProcId, Searched<'_>)>> = BTreeMap::new();
    // Few profiles need it.
    let found = LazyCell::new(|| Found::by_all(view));
    for id in view.ids() {
        let runtime = Some(&RUBY).filter(|r| view.process(id).name().starts_with(r.program));
        // Relative entries of RUBYLIB are not matched with the directories: what is of gems is not known.
        let own = view.process(id).env.value("RUBYLIB").unwrap_or("");
        let relative = |entry: &str| !entry.starts_with('/') && !entry.is_empty();
        if runtime.is_some() && own.split(':').any(relative) {
            continue;
        }
        if let Some(searched) = search(view, sink, id, runtime, &found) {
            of_program.entry(view.process(id).title()).or_default().push((id, searched));
        }
    }
    for (program, all) in of_program {
        let finding = finding(view, &program, all);
        sink.find_beyond(Threshold::Hundreds, finding);
    }
}

/// What one process searched.
struct Searched<'p> {
    dirs: BTreeSet<&'p str>,
    rows: Vec<usize>,
    needless: u64,
    of: u64,
    runtime: Option<&'static Runtime>,
}

/// What one process looked for, by the last part of the path.
#[derive(Default)]
struct Lookups<'p> {
    /// Calls, and the path.
    hits: HashMap<&'p str, Vec<(u64, &'p str)>>,
    misses: HashMap<&'p str, Vec<(usize, &'p Row, &'p str)>>,
}

impl<'p> Lookups<'p> {
    fn of(view: &View<'p>, sink: &Sink, id: ProcId, runtime: Option<&Runtime>) -> Lookups<'p> {
        let mut lookups = Lookups::default();
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            let path = view.profile.path(row);
            let looks =
                matches!(row.query, Query::Stat | Query::Lstat | Query::Open | Query::Access);
            if !looks || !matches!(row.target, Target::Path(_)) {
                continue;
            }
            let name = helpers::file_name(path);
            if runtime.is_some_and(|r| !r.ends.iter().any(|end| name.ends_with(end))) {
                continue;
            }
            if row.ok() {
                lookups.hits.entry(name).or_default().push((row.count, path));
            } else if row.is_missed() {
                lookups.misses.entry(name).or_default().push((at, row, path));
            }
        }
        lookups
    }

    /// What was found under this name.
    fn found(&self, name: &str) -> &[(u64, &'p str)] {
        self.hits.get(name).map_or(&[][..], Vec::as_slice)
    }

    /// The names that were missed in several directories, as the program knows them.
    fn names(&self) -> BTreeMap<&'p str, Missed<'p>> {
        let mut names: BTreeMap<&str, Missed<'p>> = BTreeMap::new();
        for (name, missed) in self.misses.iter().filter(|(_, missed)| missed.len() >= FEWEST) {
            let found = self.found(name);
            for &(at, row, path) in missed {
                // The longest end that it has in common with another place: the name as the program knows it.
                let others =
                    missed.iter().map(|(_, _, other)| *other).filter(|other| *other != path);
                let others = found.iter().map(|(_, hit)| *hit).chain(others).take(COMPARED);
                let Some(tail) = others.map(|other| common_tail(path, other)).max() else {
                    continue;
                };
                let (dir, tail) = path.split_at(path.len() - tail.len());
                let dir = dir.trim_end_matches('/');
                let known = names.entry(tail).or_default();
                known.found |= found.iter().any(|(_, hit)| hit.ends_with(tail));
                known.dirs.insert(dir);
                *known.counts.entry(dir).or_default() += row.count;
                known.rows.push((at, row));
            }
        }
        names
    }
}

/// The directories in which a process missed names that it also missed in others.
fn search<'p>(
    view: &View<'p>,
    sink: &Sink,
    id: ProcId,
    runtime: Option<&'static Runtime>,
    found_by_all: &LazyCell<Found<'p>, impl FnOnce() -> Found<'p>>,
) -> Option<Searched<'p>> {
    let lookups = Lookups::of(view, sink, id, runtime);
    let mut names = lookups.names();
    // A list is searched up to a hit. A file that is optional in each directory of a tree is missed in most, and the
    // settings of a directory begin with a dot.
    names.retain(|name, missed| {
        let optional = runtime.is_none() && name.starts_with('.');
        missed.dirs.len() >= FEWEST && missed.found && !optional
    });
    let mut dirs: BTreeSet<&'p str> =
        names.values().flat_map(|missed| missed.dirs.iter().copied()).collect();
    // A runtime whose list is known is recognised by what it looks for. Of others only directories that hold nothing
    // are certain to be needless.
    if runtime.is_none() {
        keep_lists(&mut dirs, &names, &lookups);
        // Few processes have so many: what all of them found is collected only for these.
        if dirs.len() >= FEWEST {
            keep_needless(&mut dirs, view, id, found_by_all);
        }
    }
    if dirs.len() < FEWEST {
        return None;
    }
    let (mut rows, mut needless, mut of) = (Vec::new(), 0, 0);
    let below = Dirs::new(dirs.iter().copied().collect::<HashSet<_>>());
    for (at, row) in names.values().flat_map(|missed| missed.rows.iter()) {
        of += row.count;
        if below.below(view.profile.path(row)).is_some() {
            needless += row.count;
            rows.push(*at);
        }
    }
    Some(Searched { dirs, rows, needless, of, runtime })
}

/// Keeps the directories that hold nothing and that no variable lists.
fn keep_needless(dirs: &mut BTreeSet<&str>, view: &View<'_>, id: ProcId, found_by_all: &Found<'_>) {
    // What a variable lists has a rule of its own, or was judged with its variable; man looks beside the
    // directories of PATH.
    let lists = view.process(id).lists.as_deref().unwrap_or_default();
    let within = |dir: &str, other: &str| {
        other.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let listed = |dir: &str| {
        let entries = lists.iter().flat_map(|list| &list.entries);
        entries.into_iter().any(|e| within(dir, &e.dir) || within(&e.dir, dir))
    };
    // Directories of a directory that was opened come from its list: they are data. What is listed may be wanted;
    // programs also ask whether the directory itself is there, before they look in it.
    dirs.retain(|dir| {
        let up = dir.rsplit_once('/').map_or("", |(up, _)| up);
        let data = found_by_all.opened.contains(up) || found_by_all.opened.contains(dir);
        !dir.is_empty()
            && !data
            && !found_by_all.holding.contains(dir)
            && !is_usual(dir)
            && !listed(dir)
    });
}

/// Keeps the directories that are searched each time: at least half as often as names are found elsewhere (programs ask
/// for a file and then open it), and none of which is inside another, as those of a tree are.
fn keep_lists<'p>(
    dirs: &mut BTreeSet<&'p str>,
    names: &BTreeMap<&str, Missed<'p>>,
    lookups: &Lookups<'p>,
) {
    let mut found = 0;
    let mut searched: HashMap<&str, u64> = HashMap::new();
    for (name, missed) in names {
        let of_name = lookups.found(helpers::file_name(name));
        found += of_name.iter().filter(|(_, hit)| hit.ends_with(name)).map(|(n, _)| n).sum::<u64>();
        for (dir, count) in &missed.counts {
            *searched.entry(dir).or_default() += count;
        }
    }
    let all = dirs.clone();
    let inside =
        |dir: &str, other: &str| dir.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    dirs.retain(|dir| {
        let often = 2 * searched.get(dir).copied().unwrap_or(0) >= found;
        let tree = all.iter().any(|other| inside(dir, other) || inside(other, dir));
        found >= FEWEST_FOUND && often && !tree
    });
}

fn finding(view: &View<'_>, program: &str, all: Vec<(ProcId, Searched<'_>)>) -> Finding {
    let dirs: BTreeSet<&str> = all.iter().flat_map(|(_, one)| one.dirs.iter().copied()).collect();
    let runtime = all.iter().find_map(|(_, one)| one.runtime);
    let known = all.iter().all(|(id, _)| !view.env_unknown(*id));
    let cases = all.into_iter().map(|(process, one)| Case {
        process,
        needless: one.needless,
        of: one.of,
        rows: one.rows,
    });
    let index = Dirs::new(dirs.iter().copied().collect());
    let merged = merge_by(view.profile, cases.collect(), |path| index.pattern(path));
    let directories = count(dirs.len() as u64, "directory", "directories");
    let said = runtime.map_or(&ANY_PROGRAM, |runtime| &runtime.said);
    let (list_is, fix) =
        if known { (said.why, said.fix) } else { (said.why_unknown, said.fix_unknown) };
    let things = said.things;
    let calls = number(merged.needless);
    Finding {
        what: format!("{calls} calls look for {things} in {directories} that do not hold them"),
        why: format!(
            "{program} looks for the same names in {directories} and misses them: {}. {list_is}",
            some(&dirs)
        ),
        remedies: vec![helpers::by_hand(fix, said.caveat)],
        ..merged.finding(RULE.name)
    }
}
