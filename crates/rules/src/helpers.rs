//! For rules that count rows of one program: which are needless, and which were the first and needed.

use crate::select::{About, Case, Merged, merge_by};
use crate::{Sink, View};
use needless_model::{
    Change, Errno, Finding, ProcId, Process, Query, Remedy, Row, Safety, Stage, Target,
};
use std::collections::BTreeMap;

/// What a rule makes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it could go.
    Needless,
    /// All but one of it could go.
    Again,
    /// Belongs to the matter, and stays.
    Needed,
    /// Another matter.
    Not,
}

/// The rows of each process that is `whose`, sorted by `part`; a process with nothing needless has
/// no case.
pub(crate) fn cases(
    view: &View<'_>,
    sink: &Sink,
    whose: impl Fn(ProcId) -> bool,
    part: impl Fn(&Row, &str) -> Part,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for id in view.ids().filter(|id| whose(*id)) {
        let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            if !matches!(row.target, Target::Path(_)) {
                continue;
            }
            let path = view.profile.path(row);
            let needless = match part(row, path) {
                Part::Not => continue,
                Part::Needed => 0,
                Part::Again => row.count - 1,
                Part::Needless => row.count,
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

/// Reads of the same file again and again: the opens that succeed of a file that is `wanted`, of which
/// each process that is `whose` needs one.
pub(crate) fn rereads(
    view: &View<'_>,
    sink: &Sink,
    whose: impl Fn(ProcId) -> bool,
    wanted: impl Fn(&str) -> bool,
) -> Vec<Case> {
    let part = |row: &Row, path: &str| match row.query == Query::Open && row.ok() && wanted(path) {
        true => Part::Again,
        false => Part::Not,
    };
    cases(view, sink, whose, part)
}

/// Cases of the same program together, as far as one program has `least` needless calls; scripts of one
/// interpreter are programs of their own. With the name that people call it by ([`Process::title`]).
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

/// `each` calls for an open that succeeded, itself among them; 1 for another.
pub(crate) fn per_open(each: u64) -> impl Fn(&Row, &str) -> u64 {
    move |row, _| if row.query == Query::Open && row.ok() { each } else { 1 }
}

/// Calls that go with those that name a path, and name none themselves: an open is followed by a look at
/// the file, reads, a close. `calls` of a row's question, itself among them.
pub(crate) fn train(view: &View<'_>, merged: &Merged, calls: impl Fn(&Row, &str) -> u64) -> i64 {
    let (mut seen, mut train) = (0, 0);
    for row in merged.rows.iter().map(|at| &view.profile.rows[*at]) {
        seen += row.count;
        train += row.count * calls(row, view.profile.path(row)).saturating_sub(1);
    }
    // Of what is asked again, the first time is needed, and its train.
    (train * merged.needless).checked_div(seen).unwrap_or(0) as i64
}

/// The finding with what else goes (or, negative, comes) when its calls go.
pub(crate) fn beside(finding: Finding, besides: i64) -> Finding {
    Finding { besides, ..finding }
}

/// The sums of cases, the evidence by directory where it would else fill the report.
pub(crate) fn merged(view: &View<'_>, cases: Vec<Case>) -> Merged {
    let rows: usize = cases.iter().map(|case| case.rows.len()).sum();
    merge_by(view.profile, cases, |path| match path.rsplit_once('/') {
        Some((dir, _)) if rows > 8 && !dir.is_empty() => About::below(dir),
        _ => About::path(path),
    })
}

/// A finding in words.
pub(crate) fn finding(
    merged: Merged,
    rule: &'static str,
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

/// A variable to be set.
pub(crate) fn set(variable: &str, value: &str, safety: Safety) -> Remedy {
    let change = Change::SetEnv { variable: variable.to_owned(), value: Some(value.to_owned()) };
    Remedy { change, safety }
}

/// One option more in a variable that the process may have.
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
