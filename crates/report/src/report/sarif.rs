//! A report as SARIF 2.1.0: a result for each finding, where its variable is set or should be, else at the file of the
//! command: code hosts show nothing outside of the repository. Without that, at the program.

use crate::annotation::with_line;
use crate::document::ReportFinding;
use crate::sarif::{SarifResult, of_finding};
use crate::{Report, Style, summary};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let results = report
        .document
        .findings
        .iter()
        .map(|finding| result(finding, report.document.source.file.as_deref()));
    let results: Vec<_> = results.collect();
    crate::sarif::write(out, &results, &report.document.needless_version)
}

fn result(finding: &ReportFinding, file: Option<&str>) -> SarifResult {
    let (who, headline) = (summary::who(finding), summary::headline(finding));
    let place = finding.place.as_ref();
    let by_hand = place.and_then(|place| place.by_hand.as_deref());
    let fix = finding.remedies.first().map(|remedy| summary::change(&remedy.change()));
    let fix = fix.map(|fix| with_line(&fix, by_hand) + &summary::caveat(finding, "; "));
    let at = file.or(finding.process.exe.as_deref()).unwrap_or("unknown");
    let place = place.map_or_else(|| (at.to_owned(), 1), |place| (place.file.clone(), place.line));
    of_finding(&finding.rule, format!("{who}: {headline}"), fix.as_deref(), place)
}
