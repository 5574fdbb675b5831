//! A report as annotations of GitHub: one for each finding, where its variable is set or should be, if that is known.

use crate::annotation::{Level, annotation, with_line};
use crate::{Report, Style, summary};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    for finding in &report.document.findings {
        let title = format!("needless: {}", finding.rule);
        let mut text = format!("{}: {}", summary::who(finding), summary::headline(finding));
        let place = finding.place.as_ref();
        if let Some(remedy) = finding.remedies.first() {
            let by_hand = place.and_then(|place| place.by_hand.as_deref());
            text += &format!("\nfix: {}", with_line(&summary::change(&remedy.change()), by_hand));
            text += &summary::caveat(finding, "\n");
        }
        let place = place.map(|place| (place.file.as_str(), place.line));
        writeln!(out, "{}", annotation(Level::Warning, place, &title, &text))?;
    }
    let text = summary::summary(report);
    writeln!(out, "{}", annotation(Level::Notice, None, "needless", &text))
}
