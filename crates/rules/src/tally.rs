//! For rules that count rows of one program: which are needless, and which were the first and needed.

use crate::select::{Case, Merged, merge_by};
use crate::{Claims, View};
use needless_model::{Change, Errno, Finding, ProcId, Remedy, Row, Safety, Stage, Target};
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
    claims: &Claims,
    whose: impl Fn(ProcId) -> bool,
    part: impl Fn(&Row, &str) -> Part,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for id in view.ids().filter(|id| whose(*id)) {
        let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
        for (at, row) in view.rows_of(id).filter(|(at, _)| !claims.taken(*at)) {
            if !matches!(row.target, Target::Path(_)) {
                continue;
            }
            let needless = match part(row, view.profile.path(row)) {
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

/// Cases of the same executable together, as far as one executable has `least` needless calls.
pub(crate) fn by_program<'p>(
    view: &View<'p>,
    cases: Vec<Case>,
    least: u64,
) -> Vec<(&'p str, Vec<Case>)> {
    let mut groups: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    for case in cases {
        groups.entry(view.process(case.process).name()).or_default().push(case);
    }
    let many = |cases: &[Case]| cases.iter().map(|case| case.needless).sum::<u64>() >= least;
    groups.into_iter().filter(|(_, cases)| many(cases)).collect()
}

/// The sums of cases, the evidence by directory where it would else fill the report.
pub(crate) fn merged(view: &View<'_>, cases: Vec<Case>) -> Merged {
    let rows: usize = cases.iter().map(|case| case.rows.len()).sum();
    merge_by(view.profile, cases, |path| match path.rsplit_once('/') {
        Some((dir, _)) if rows > 8 && !dir.is_empty() => format!("{dir}/…"),
        _ => path.to_owned(),
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
