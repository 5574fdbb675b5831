//! One line per finding, as compilers and `grep -n` print them, and one summary line.

use crate::text::{Tint, clean};
use crate::{Report, Style, tell, window};
use needless_model::Finding;
use std::io::{self, Write};

pub(crate) const NAME: &str = "concise";
pub(crate) const ENDING: Option<&str> = None;

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    for (service, finding) in findings(report) {
        let rate = window::length(report).map(|ns| window::rate(finding.needless, ns));
        let mut line = format!(
            "{service}{}: {}: {}{} ({})",
            tell::who(finding, report.profile),
            style.paint(Tint::Name, finding.rule),
            tell::headline(finding),
            rate.map_or_else(String::new, |rate| format!(", {rate}")),
            finding.stage.word(),
        );
        if let Some(remedy) = finding.remedies.first() {
            line = line + "; fix: " + &style.paint(Tint::Fix, &tell::change(&remedy.change));
        }
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", tell::summary(report))?;
    match report.proof {
        Some(proof) => writeln!(out, "{}", crate::proof::line(proof)),
        None => Ok(()),
    }
}

/// The findings to show, each with what goes before it.
fn findings<'a>(report: &Report<'a>) -> Vec<(String, &'a Finding)> {
    if !window::is_window(&report.source) {
        return report.verdict.findings.iter().map(|finding| (String::new(), finding)).collect();
    }
    let mut findings = Vec::new();
    for group in window::groups(report).0 {
        let service = group.service.map_or_else(String::new, |name| clean(name).into_owned() + ": ");
        findings.extend(group.findings.into_iter().map(|finding| (service.clone(), finding)));
    }
    findings
}
