//! Lists of directories that no variable of the process shows: names that are missed in many directories.

use crate::dirs::{Dirs, common_tail};
use crate::helpers;
use crate::list_entries::is_usual;
use crate::search_list::RULE;
use crate::select::{Case, PathPattern, Threshold, merge_by};
use crate::text::{count, number, some};
use crate::{Sink, View};
use needless_model::{Finding, ProcId, Query, Remedy, Row, Target};
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
    things: "Ruby files",
    why: "Each gem adds a directory to Ruby's load path, and `require` looks for each file in each of them in turn.",
    fix: "Add the gem bootsnap, and `require \"bootsnap/setup\"` right after `bundler/setup`: it keeps an index of the load path",
    why_unknown: "They come from RUBYLIB, from -I, or from gems, each of which adds a directory to Ruby's load path. `require` looks for each file in each of them in turn. The environment is not known (`strace -v` logs it).",
    fix_unknown: "If RUBYLIB or -I lists these directories, take them out. If gems do, add the gem bootsnap, and `require \"bootsnap/setup\"` right after `bundler/setup`: it keeps an index of the load path",
    caveat: "Measure it: before bundler/setup, or without Bundler, bootsnap makes more calls than it saves.",
};

/// A name, and where it was missed.
#[derive(Default)]
struct Missed<'p> {
    dirs: BTreeSet<&'p str>,
    rows: Vec<(usize, &'p Row)>,
    found: bool,
}

/// Adds a finding for each program that looks for names in many directories that no variable lists.
pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut of_program: BTreeMap<String, Vec<(ProcId, Searched<'_>)>> = BTreeMap::new();
    for id in view.ids() {
        let runtime = Some(&RUBY).filter(|r| view.process(id).name().starts_with(r.program));
        if let Some(searched) = search(view, sink, id, runtime) {
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

/// The directories in which a process missed names that it also missed in others.
fn search<'p>(
    view: &View<'p>,
    sink: &Sink,
    id: ProcId,
    runtime: Option<&'static Runtime>,
) -> Option<Searched<'p>> {
    let mut hits: HashMap<&str, Vec<&'p str>> = HashMap::new();
    let mut misses: HashMap<&str, Vec<(usize, &'p Row, &'p str)>> = HashMap::new();
    for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
        let path = view.profile.path(row);
        let looks = matches!(row.query, Query::Stat | Query::Lstat | Query::Open | Query::Access);
        if !looks || !matches!(row.target, Target::Path(_)) {
            continue;
        }
        let name = helpers::file_name(path);
        if runtime.is_some_and(|r| !r.ends.iter().any(|end| name.ends_with(end))) {
            continue;
        }
        if row.ok() {
            hits.entry(name).or_default().push(path);
        } else if row.is_missed() {
            misses.entry(name).or_default().push((at, row, path));
        }
    }
    let mut names: BTreeMap<&str, Missed<'p>> = BTreeMap::new();
    for (name, missed) in misses.iter().filter(|(_, missed)| missed.len() >= FEWEST) {
        let found = hits.get(name).map_or(&[][..], Vec::as_slice);
        for (at, row, path) in missed {
            // The longest end that it has in common with another place: the name as the program knows it.
            let others = missed.iter().map(|(_, _, other)| *other).filter(|other| other != path);
            let others = found.iter().copied().chain(others).take(COMPARED);
            let Some(tail) = others.map(|other| common_tail(path, other)).max() else { continue };
            let (dir, tail) = path.split_at(path.len() - tail.len());
            let dir = dir.trim_end_matches('/');
            let known = names.entry(tail).or_default();
            known.found |= found.iter().any(|hit| hit.ends_with(tail));
            known.dirs.insert(dir);
            known.rows.push((*at, row));
        }
    }
    names.retain(|_, missed| missed.dirs.len() >= FEWEST && (runtime.is_none() || missed.found));
    let mut dirs: BTreeSet<&'p str> =
        names.values().flat_map(|missed| missed.dirs.iter().copied()).collect();
    // A runtime whose list is known is recognised by what it looks for. Of others only directories that hold nothing
    // are certain to be needless.
    if runtime.is_none() {
        let all = Dirs::new(dirs.iter().copied().collect::<HashSet<_>>());
        let ok = view.profile.rows.iter().filter(|row| row.ok());
        // What is listed may be wanted; programs also ask whether the directory itself is there, before they look in it.
        let holds = |row: &Row| {
            let (dir, rest) = all.below(view.profile.path(row))?;
            (!rest.is_empty() || row.query == Query::Open).then_some(dir)
        };
        let holding: HashSet<&str> = ok.filter_map(holds).collect();
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
        dirs.retain(|dir| {
            !dir.is_empty() && !holding.contains(dir) && !is_usual(dir) && !listed(dir)
        });
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
    let about = |path| match index.below(path) {
        Some((dir, rest)) if !rest.is_empty() => PathPattern::below(dir),
        _ => PathPattern::path(path),
    };
    let merged = merge_by(view.profile, cases.collect(), about);
    let said = count(dirs.len() as u64, "directory", "directories");
    let things = runtime.map_or("files", |runtime| runtime.things);
    let (list_is, remedy): (&str, Remedy) = match runtime {
        Some(runtime) if known => (runtime.why, helpers::by_hand(runtime.fix, runtime.caveat)),
        Some(runtime) => {
            (runtime.why_unknown, helpers::by_hand(runtime.fix_unknown, runtime.caveat))
        }
        None if known => (
            "No variable of its environment lists them: they come from an option, a configuration or its code.",
            helpers::by_hand(
                "Find where the program gets these directories from, and take those out that hold nothing",
                "The program may look for other names there at other times.",
            ),
        ),
        None => (
            "Which variable lists them is not known, because the environment is not (`strace -v` logs it).",
            helpers::by_hand(
                "Find which variable, option or configuration lists these directories, and take those out that hold nothing",
                "The program may look for other names there at other times.",
            ),
        ),
    };
    let calls = number(merged.needless);
    Finding {
        what: format!("{calls} calls look for {things} in {said} that do not hold them"),
        why: format!(
            "{program} looks for the same names in {said} and misses them: {}. {list_is}",
            some(&dirs)
        ),
        remedies: vec![remedy],
        ..merged.finding(RULE.name)
    }
}
