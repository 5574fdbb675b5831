//! A checked budget as annotations of GitHub: one at the first limit that is exceeded, with all that grew and why, and
//! one for each finding that explains it, at the line that sets its variable. GitHub shows ten of a step at most.

use crate::annotation::{Level, annotation};
use crate::checked::{cause, causes, environment, findings, fix, grown, title};
use crate::{Check, Style, summary};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &Check<'_>, _: &str, _: Style) -> io::Result<()> {
    let (shown, _) = causes(check);
    let mut why: Vec<String> = shown
        .iter()
        .map(|one| {
            let fix = fix(check, one).map_or_else(String::new, |fix| format!("; {fix}"));
            format!("+{} {}{fix}", one.more, cause(check, one))
        })
        .collect();
    why.extend(environment(check));
    let lines: Vec<String> = check.over().map(grown).chain(why).collect();
    let spot = Some((&*check.budget.file, check.line() as u32));
    if !check.holds() {
        let title = format!("needless: over budget: {}", check.budget.name);
        writeln!(out, "{}", annotation(Level::Error, spot, &title, &lines.join("\n")))?;
    }
    for (finding, more) in findings(check) {
        let Some((file, line)) = check.verdict.place_of(finding) else { continue };
        let title = format!("needless: {}", finding.rule);
        let text = format!("+{more} {}", summary::headline(finding));
        writeln!(out, "{}", annotation(Level::Warning, Some((file, line)), &title, &text))?;
    }
    if check.holds() {
        writeln!(out, "{}", annotation(Level::Notice, spot, "needless", &title(check)))?;
    }
    Ok(())
}
