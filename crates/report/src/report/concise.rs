//! One line per finding, as compilers and `grep -n` print them, the most expensive first, and one summary line.

use crate::document::ReportFinding;
use crate::overview::{Overview, more_small};
use crate::text::Tint;
use crate::{Report, Style, account, summary, window_text};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let overview = Overview::of(report);
    let (large, left_out) = overview.shown(report);
    for finding in large.iter().flat_map(|line| &line.findings) {
        writeln!(out, "{}", line(finding, report, style))?;
    }
    if left_out > 0 {
        writeln!(out, "and findings of {left_out} more remedies: -v shows all")?;
    }
    let (small, rest) = overview.listed(report);
    for finding in small.iter().flat_map(|line| &line.findings) {
        writeln!(out, "small: {}", line(finding, report, style))?;
    }
    if let Some(more) = more_small(rest) {
        writeln!(out, "small: {more}: -v shows all")?;
    }
    // Here, unlike in the full report, only those that the user asks for.
    if report.details.unexplained {
        for unexplained in account::unexplained(report).0 {
            writeln!(out, "not explained: {}", account::line(report, unexplained))?;
        }
    }
    writeln!(out, "{}", summary::summary(report))?;
    match &report.document.proof {
        Some(proof) => writeln!(out, "{}", crate::proof_text::line(proof)),
        None => Ok(()),
    }
}

/// `about 92 ms, 81.2 % of the CPU time: sample[4711]: tz-unset: … (explained); fix: TZ=UTC; caveat: …`.
fn line(finding: &ReportFinding, report: &Report<'_>, style: Style) -> String {
    let time = account::saved(report, finding).map(|time| time + ": ");
    let rate = report.document.window_ns().map(|ns| window_text::rate(finding.needless, ns));
    let mut line = format!(
        "{}{}{}: {}: {}{} ({})",
        time.unwrap_or_default(),
        summary::who(finding),
        summary::in_service(finding),
        style.paint(Tint::Name, &finding.rule_name()),
        summary::headline(finding),
        rate.map_or_else(String::new, |rate| format!(", {rate}")),
        finding.stage().word(),
    );
    if let Some(remedy) = finding.remedies.first() {
        line = line + "; fix: " + &style.paint(Tint::Fix, &summary::change(&remedy.change()));
        line += &summary::caveat(finding, "; ");
    }
    line
}
