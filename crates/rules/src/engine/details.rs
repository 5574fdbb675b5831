//! For rules about calls without a path: the rows of one class of arguments, by process.

use crate::View;
use crate::engine::Case;
use needless_model::{ArgClass, Finding, ProcId, Row, Target};

/// The rows of a process with this class of arguments.
pub(crate) fn rows_of<'p>(view: &View<'p>, id: ProcId, detail: ArgClass) -> Vec<(usize, &'p Row)> {
    let is = |row: &Row| row.target == Target::ArgClass(detail);
    view.details_of(id).filter(|(_, row)| is(row)).collect()
}

/// Calls of these classes that repeat the one before, for processes in which nearly all of them do.
pub(crate) fn storms(view: &View<'_>, details: &[ArgClass], least: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for id in view.ids() {
        let rows = details.iter().flat_map(|detail| rows_of(view, id, *detail));
        let rows: Vec<(usize, &Row)> = rows.collect();
        let of: u64 = rows.iter().map(|(_, row)| row.count).sum();
        let needless: u64 = rows.iter().map(|(_, row)| row.repeated).sum();
        if needless >= least && needless * 10 >= of * 9 {
            let rows = rows.into_iter().map(|(at, _)| at).collect();
            cases.push(Case { process: id, needless, of, rows });
        }
    }
    cases
}

/// Whether the finding is about calls without a path: these have no share of the calls that name
/// one.
pub(crate) fn about(view_rows: &[Row], finding: &Finding) -> bool {
    finding.rows.iter().all(|at| !view_rows[*at].query.names_path())
}
