//! One line per remedy, as compilers and `grep -n` print them, the most expensive first, and one summary line.

use crate::document::ReportFinding;
use crate::overview::{Line, Overview, more_small};
use crate::text::{Tint, count, escape};
use crate::{Report, Style, account, summary, window_text};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let overview = Overview::of(report);
    let (large, left_out) = overview.shown(report);
    for text in large.iter().flat_map(|remedy| lines(remedy, report, style)) {
        writeln!(out, "{text}")?;
    }
    if left_out > 0 {
        let more = count(left_out as u64, "more remedy", "more remedies");
        writeln!(out, "and {more}: -v shows all")?;
    }
    let (small, rest) = overview.listed(report);
    for text in small.iter().flat_map(|remedy| lines(remedy, report, style)) {
        writeln!(out, "small: {text}")?;
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
    for note in report.document.notes.iter().filter(|_| report.details.full) {
        writeln!(out, "note: {}", escape(note))?;
    }
    writeln!(out, "{}", summary::summary(report))?;
    match &report.document.proof {
        Some(proof) => writeln!(out, "{}", crate::proof_text::line(proof)),
        None => Ok(()),
    }
}

/// A remedy in a line; with -v, each of its findings.
fn lines(remedy: &Line<'_>, report: &Report<'_>, style: Style) -> Vec<String> {
    match &remedy.findings[..] {
        [most, _, ..] if !report.details.full => vec![together(remedy, most, report, style)],
        all => all.iter().map(|finding| line(finding, report, style)).collect(),
    }
}

/// `about 53 ms, 1.7 % of a core: mount, mkdir and 29 more: library-search: 24,367 calls, 8,122 per second, in 31 findings;
/// most by mount[812]: 4,732 calls look for … (explained); fix: unset LD_LIBRARY_PATH`.
fn together(remedy: &Line<'_>, most: &ReportFinding, report: &Report<'_>, style: Style) -> String {
    /// Columns for the programs or services.
    const WHO: usize = 60;
    let time = remedy.saves.time_ns().map(|ns| account::time(report, ns, remedy.precision) + ": ");
    let calls = remedy.saves.calls;
    let rate = report.document.window_ns().map(|ns| format!(", {},", window_text::rate(calls, ns)));
    let text = format!(
        "{}{}: {}: {}{} in {} findings; most by {}{}: {} ({})",
        time.unwrap_or_default(),
        remedy.who(WHO),
        style.paint(Tint::Name, &remedy.rules()),
        count(calls, "call", "calls"),
        rate.unwrap_or_default(),
        remedy.findings.len(),
        summary::who(most),
        summary::in_service(most),
        summary::headline(most),
        most.stage().word(),
    );
    with_fix(text, most, style)
}

/// `about 92 ms, 81.2 % of the CPU time: sample[4711]: tz-unset: … (explained); fix: TZ=UTC; caveat: …`.
fn line(finding: &ReportFinding, report: &Report<'_>, style: Style) -> String {
    let time = account::saved(report, finding).map(|time| time + ": ");
    let rate = report.document.window_ns().map(|ns| window_text::rate(finding.needless, ns));
    let line = format!(
        "{}{}{}: {}: {}{} ({})",
        time.unwrap_or_default(),
        summary::who(finding),
        summary::in_service(finding),
        style.paint(Tint::Name, &finding.rule_name()),
        summary::headline(finding),
        rate.map_or_else(String::new, |rate| format!(", {rate}")),
        finding.stage().word(),
    );
    with_fix(line, finding, style)
}

/// The line with what to do behind it.
fn with_fix(mut line: String, finding: &ReportFinding, style: Style) -> String {
    if let Some(remedy) = finding.remedies.first() {
        line = line + "; fix: " + &style.paint(Tint::Fix, &summary::change(&remedy.change()));
        line += &summary::caveat(finding, "; ");
    }
    line
}
