//! A report as annotations of GitHub: one for each finding, where its variable is set or should be, if that is known.

use crate::annotation::{Level, annotation};
use crate::{Report, Style, summary};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    for finding in &report.verdict.findings {
        let title = format!("needless: {}", finding.rule);
        let mut text =
            format!("{}: {}", summary::who(finding, report.profile), summary::headline(finding));
        if let Some(remedy) = finding.remedies.first() {
            text += &format!("\nfix: {}", summary::change(&remedy.change));
        }
        let place = report.verdict.place_of(finding);
        writeln!(out, "{}", annotation(Level::Warning, place, &title, &text))?;
    }
    let text = summary::summary(report);
    writeln!(out, "{}", annotation(Level::Notice, None, "needless", &text))
}
