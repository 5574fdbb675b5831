//! A report as SARIF 2.1.0: a result for each finding, where its variable is set or should be.

use crate::sarif::of_finding;
use crate::{Report, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let findings = report.verdict.findings.iter();
    let results: Vec<_> =
        findings.map(|one| of_finding(one, report.verdict, report.profile, None)).collect();
    crate::sarif::write(out, &results, report.version)
}
