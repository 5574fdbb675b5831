//! `check --baseline`: the findings of a command, compared with those of an earlier report.

use super::runs::{Findings, Runs};
use super::{Checked, repeated};
use crate::cli::CheckArgs;
use crate::commands::diff::saved;
use crate::context::Context;
use anyhow::{Result, bail};
use needless_rules::{Budget, Measured, measured_counts};
use std::collections::BTreeMap;
use std::path::Path;

/// The calls that the findings of a report name, by rule.
///
/// # Errors
/// When the file cannot be read, or is no report of a command.
pub(super) fn read(report: &Path, context: &Context) -> Result<BTreeMap<String, u64>> {
    let saved = saved(report, context)?;
    match saved.needless {
        Some(found) if saved.of_run => Ok(found),
        _ => bail!(
            "{}: not a report of a command; `needless run -o FILE.json -- CMD` writes one",
            report.display()
        ),
    }
}

/// Runs the command and compares what is needless with `found`, what is needless in the report.
///
/// # Errors
/// When the command cannot be observed, or fails.
pub(super) fn check<'p>(
    args: &CheckArgs,
    report: &Path,
    found: &BTreeMap<String, u64>,
    program: &'p str,
    context: &Context,
) -> Result<Checked<'p>> {
    let command = repeated(args, context)?;
    let mut runs = Runs::new(&command, program, false, Findings::OfReports, context);
    let compare = |runs: &Runs<'_>| {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let file = report.to_string_lossy().into_owned();
        let budget = Budget::of_report(name.into_owned(), file, found, runs.counts());
        let measured = measured_counts(Some(&budget), runs.counts());
        (budget, measured)
    };
    runs.warm_up()?;
    runs.more(args.runs)?;
    let (mut budget, mut measured) = compare(&runs);
    if measured.iter().any(Measured::is_over) {
        // What happens by chance does not happen in all of twice as many runs.
        runs.more(args.runs)?;
        (budget, measured) = compare(&runs);
    }
    let mut checked = Checked::of(&budget, program, measured, runs);
    checked.explain(None);
    Ok(checked)
}
