//! For rules that count rows of one program: which are needless, and which were the first and needed.

use crate::engine::{Case, Merged, PathPattern, is_made_to_wait, merge_by};
use crate::{Sink, View};
use needless_model::{
    Change, Errno, Finding, ProcId, Process, Query, Remedy, Row, RuleName, Safety, Setting, Stage,
    Target,
};
use std::collections::BTreeMap;

/// How a rule classifies a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowClass {
    /// All of its calls could go.
    Needless,
    /// All of its calls but one could go.
    AllButOne,
    /// Its calls count towards the total, and are needed.
    Needed,
    /// The rule is not about it.
    Unrelated,
}

impl RowClass {
    /// This class under a condition; otherwise the rule is not about the row.
    pub(crate) fn when(self, condition: bool) -> RowClass {
        if condition { self } else { RowClass::Unrelated }
    }
}

/// The rows of each process that is `whose`, classified by `class`; a process with nothing needless has
/// no case.
pub(crate) fn cases(
    view: &View<'_>,
    sink: &Sink,
    whose: impl Fn(ProcId) -> bool,
    class: impl Fn(&Row, &str) -> RowClass,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for id in view.ids().filter(|id| whose(*id)) {
        let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            if !matches!(row.target, Target::Path(_)) {
                continue;
            }
            let path = view.profile.path(row);
            let needless = match class(row, path) {
                RowClass::Unrelated => continue,
                RowClass::Needed => 0,
                RowClass::AllButOne => row.count - 1,
                RowClass::Needless => row.count,
            };
            case.of += row.count;
            case.needless += needless;
            if needless > 0 {
                case.rows.push(at);
            }
        }
        if case.needless > 0 {
            cases.push(case);
        }
    }
    cases
}

/// Repeated reads of the same file: the successful opens of a file that is `wanted`, of which each
/// process that is `whose` needs one.
pub(crate) fn rereads(
    view: &View<'_>,
    sink: &Sink,
    whose: impl Fn(ProcId) -> bool,
    wanted: impl Fn(&str) -> bool,
) -> Vec<Case> {
    let class = |row: &Row, path: &str| {
        RowClass::AllButOne.when(row.query == Query::Open && row.ok() && wanted(path))
    };
    cases(view, sink, whose, class)
}

/// Cases by program, with the program's title ([`Process::title`]); scripts of one interpreter are
/// programs of their own. Programs with fewer than `least` needless calls are left out.
///
/// [`Process::title`]: needless_model::Process::title
pub(crate) fn by_program(
    view: &View<'_>,
    cases: Vec<Case>,
    least: u64,
) -> Vec<(String, Vec<Case>)> {
    let mut groups: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in cases {
        groups.entry(view.process(case.process).title()).or_default().push(case);
    }
    let many = |cases: &[Case]| cases.iter().map(|case| case.needless).sum::<u64>() >= least;
    groups.into_iter().filter(|(_, cases)| many(cases)).collect()
}

/// Whether the process may wait between the calls of a row: where their time is not known, by how many other calls wait.
pub(crate) fn may_wait(view: &View<'_>, (at, row): (usize, &Row)) -> bool {
    let waits = |row: &Row| !row.query.names_path() && is_made_to_wait(view.profile.call(row));
    let others = view.rows_of(row.process).filter(|(other, row)| *other != at && waits(row));
    row.sequence.timed == 0 && others.map(|(_, row)| row.count).sum::<u64>() * 2 >= row.count
}

/// Whether so many calls are much of what a process does: a loop, and not one of many things.
pub(crate) fn is_much(view: &View<'_>, id: ProcId, calls: u64) -> bool {
    let all: u64 = view.rows_of(id).map(|(_, row)| row.count).sum();
    calls.saturating_mul(5) >= all
}

/// Counts `each` calls for an open that succeeded, the open included; 1 for any other call.
pub(crate) fn per_open(each: u64) -> impl Fn(&Row, &str) -> u64 {
    move |row, _| if row.query == Query::Open && row.ok() { each } else { 1 }
}

/// The number of calls without a path that come with those of `merged`: an open is followed by
/// fstat, reads and close. `calls` says how many belong to one call of a row, itself included.
pub(crate) fn accompanying(
    view: &View<'_>,
    merged: &Merged,
    calls: impl Fn(&Row, &str) -> u64,
) -> i64 {
    let (mut seen, mut others) = (0, 0);
    for row in merged.rows.iter().map(|at| &view.profile.rows[*at]) {
        seen += row.count;
        others += row.count * calls(row, view.profile.path(row)).saturating_sub(1);
    }
    // Of repeated calls the first is needed, and so are the calls that come with it.
    (others * merged.needless).checked_div(seen).unwrap_or(0) as i64
}

/// The finding with the number of other calls that disappear (or, if negative, appear) with its
/// own.
pub(crate) fn beside(finding: Finding, besides: i64) -> Finding {
    Finding { besides, ..finding }
}

/// The sums of cases, with the evidence by directory if it would otherwise fill the report.
pub(crate) fn merged(view: &View<'_>, cases: Vec<Case>) -> Merged {
    let rows: usize = cases.iter().map(|case| case.rows.len()).sum();
    merge_by(view.profile, cases, |path| match path.rsplit_once('/') {
        Some((dir, _)) if rows > 8 && !dir.is_empty() => PathPattern::below(dir),
        _ => PathPattern::path(path),
    })
}

/// A finding in words.
pub(crate) fn finding(
    merged: Merged,
    rule: impl Into<RuleName>,
    stage: Stage,
    what: String,
    why: String,
    remedies: Vec<Remedy>,
) -> Finding {
    Finding { stage, what, why, remedies, ..merged.finding(rule) }
}

/// A change that a person has to make.
pub(crate) fn by_hand(what: &str, why: &str) -> Remedy {
    Remedy { change: Change::Manual(what.to_owned()), safety: Safety::Manual(why.to_owned()) }
}

/// A change of something else than a variable, which `fix` can make; `what`: what a person would do.
pub(crate) fn setting(setting: Setting, what: &str, caveat: &str) -> Remedy {
    let change = Change::Setting(setting, what.to_owned());
    Remedy { change, safety: Safety::Caveat(caveat.to_owned()) }
}

/// A variable to be set.
pub(crate) fn set(variable: &str, value: &str, safety: Safety) -> Remedy {
    let change = Change::SetEnv { variable: variable.to_owned(), value: Some(value.to_owned()) };
    Remedy { change, safety }
}

/// Adds an option to a variable that may have some already.
pub(crate) fn add(process: &Process, variable: &str, option: &str, caveat: &str) -> Remedy {
    let value = format!("{} {option}", process.env.value(variable).unwrap_or(""));
    set(variable, value.trim(), Safety::Caveat(caveat.to_owned()))
}

/// A variable to be unset.
pub(crate) fn unset(variable: &str, caveat: &str) -> Remedy {
    Remedy {
        change: Change::UnsetEnv { variable: variable.to_owned() },
        safety: Safety::Caveat(caveat.to_owned()),
    }
}

/// Whether the call failed because nothing is there.
pub(crate) fn absent(row: &Row) -> bool {
    row.failed(Errno::ENOENT) || row.failed(Errno::ENOTDIR)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the row is about the file `at`, which may be relative to the working directory.
pub(crate) fn is_at(view: &View<'_>, row: &Row, at: &str) -> bool {
    let path = view.profile.path(row);
    let relative = !at.is_empty() && !at.starts_with('/');
    let below = |path: &str| path.strip_suffix(at).is_some_and(|dir| dir.ends_with('/'));
    path == at && row.target != Target::None || relative && below(path)
}

/// Directories that a distribution's own programs search.
pub(crate) fn of_the_system(dir: &str) -> bool {
    dir.starts_with("/usr/") || dir.starts_with("/lib") || dir.starts_with("/etc/") || dir == "/"
}

/// Whether the loader and libc read their variables: not in a set-user-ID program.
pub(crate) fn heeds_variables(process: &Process) -> bool {
    process.secure != Some(true)
}

/// Whether the executable's file name starts with one of `names`.
pub(crate) fn named(view: &View<'_>, id: ProcId, names: &[&str]) -> bool {
    names.iter().any(|name| view.process(id).name().starts_with(name))
}
