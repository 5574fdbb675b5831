//! A report as SARIF 2.1.0: a result for each finding, where its variable is set or should be.

use crate::annotation::with_line;
use crate::sarif::{SarifResult, of_finding};
use crate::{Report, Style, summary};
use needless_model::Finding;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let results: Vec<_> =
        report.verdict.findings.iter().map(|finding| result(report, finding)).collect();
    crate::sarif::write(out, &results, report.version)
}

fn result(report: &Report<'_>, finding: &Finding) -> SarifResult {
    let (who, headline) = (summary::who(finding, report.profile), summary::headline(finding));
    let fix = finding.remedies.first().map(|remedy| summary::change(&remedy.change));
    let place = report.verdict.place_of(finding);
    let fix = fix.map(|fix| with_line(&fix, place.and_then(|place| place.by_hand.as_deref())));
    let place = place.map(|place| (place.file.clone(), place.line));
    let program = finding.processes.first();
    let program = program.and_then(|id| report.profile.process(*id).exe.as_deref());
    of_finding(&finding.rule, format!("{who}: {headline}"), fix.as_deref(), place, program)
}
