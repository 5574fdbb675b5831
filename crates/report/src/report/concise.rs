//! One line per finding, as compilers and `grep -n` print them, and one summary line.

use crate::text::{Tint, escape};
use crate::{Report, Style, summary, window};
use needless_model::Finding;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    for (service, finding) in findings(report) {
        let rate = window::length(report).map(|ns| window::rate(finding.needless, ns));
        let mut line = format!(
            "{service}{}: {}: {}{} ({})",
            summary::who(finding, report.profile),
            style.paint(Tint::Name, &finding.rule),
            summary::headline(finding),
            rate.map_or_else(String::new, |rate| format!(", {rate}")),
            finding.stage.word(),
        );
        if let Some(remedy) = finding.remedies.first() {
            line = line + "; fix: " + &style.paint(Tint::Fix, &summary::change(&remedy.change));
        }
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", summary::summary(report))?;
    match report.proof {
        Some(proof) => writeln!(out, "{}", crate::proof_text::line(proof)),
        None => Ok(()),
    }
}

/// The findings to show, each with its service as a prefix.
fn findings<'a>(report: &Report<'a>) -> Vec<(String, &'a Finding)> {
    if !window::is_window(&report.source) {
        return report.verdict.findings.iter().map(|finding| (String::new(), finding)).collect();
    }
    let mut findings = Vec::new();
    for group in window::groups(report).0 {
        let service =
            group.service.map_or_else(String::new, |name| escape(name).into_owned() + ": ");
        findings.extend(group.findings.into_iter().map(|finding| (service.clone(), finding)));
    }
    findings
}
