//! A report as SARIF 2.1.0: a result for each finding, where its variable is set or should be.

use crate::annotation::with_line;
use crate::document::ReportFinding;
use crate::sarif::{SarifResult, of_finding};
use crate::{Report, Style, summary};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let results: Vec<_> = report.document.findings.iter().map(result).collect();
    crate::sarif::write(out, &results, &report.document.needless_version)
}

fn result(finding: &ReportFinding) -> SarifResult {
    let (who, headline) = (summary::who(finding), summary::headline(finding));
    let place = finding.place.as_ref();
    let by_hand = place.and_then(|place| place.by_hand.as_deref());
    let fix = finding.remedies.first().map(|remedy| summary::change(&remedy.change()));
    let fix = fix.map(|fix| with_line(&fix, by_hand) + &summary::caveat(finding, "; "));
    let place = place.map(|place| (place.file.clone(), place.line));
    let program = finding.process.exe.as_deref();
    of_finding(&finding.rule, format!("{who}: {headline}"), fix.as_deref(), place, program)
}
