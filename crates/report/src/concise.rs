//! One line per finding, as compilers and `grep -n` print them, and one summary line.

use crate::text::Tint;
use crate::{Report, Style, tell};
use std::io::{self, Write};

pub(crate) const NAME: &str = "concise";
pub(crate) const ENDING: Option<&str> = None;

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    for finding in &report.verdict.findings {
        let mut line = format!(
            "{}: {}: {} ({})",
            tell::who(finding, report.profile),
            style.paint(Tint::Name, finding.rule),
            tell::headline(finding),
            finding.stage.word(),
        );
        if let Some(remedy) = finding.remedies.first() {
            line = line + "; fix: " + &style.paint(Tint::Fix, &tell::change(&remedy.change));
        }
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", tell::summary(report))
}
