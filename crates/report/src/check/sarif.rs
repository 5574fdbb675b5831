//! A checked budget as SARIF 2.1.0: a result for each count that is over, at its limit, and one for each finding that
//! explains it.

use crate::checked::{cause, causes, findings, fix, grown};
use crate::sarif::{BUDGET, SarifResult, of_finding};
use crate::{Check, Style};
use std::io::{self, Write};

pub(crate) fn write(
    out: &mut dyn Write,
    check: &Check<'_>,
    version: &str,
    _: Style,
) -> io::Result<()> {
    let (shown, _) = causes(check);
    let why: Vec<String> = shown
        .iter()
        .map(|one| {
            let fix = fix(check, one).map_or_else(String::new, |fix| format!("; {fix}"));
            format!("+{} {}{fix}", one.more, cause(check, one))
        })
        .collect();
    let over = check.over().map(|one| {
        let line = one.limit.map_or(check.budget.line, |limit| limit.line);
        SarifResult {
            rule: BUDGET.to_owned(),
            level: "error",
            text: format!("{}. {}", grown(one), why.join(". ")),
            place: (check.budget.file.clone(), line as u32),
        }
    });
    let mut results: Vec<SarifResult> = over.collect();
    let found = findings(check);
    results
        .extend(found.map(|(one, more)| of_finding(one, check.verdict, check.profile, Some(more))));
    crate::sarif::write(out, &results, version)
}
