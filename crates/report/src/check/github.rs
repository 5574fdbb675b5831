//! A checked budget as annotations of GitHub: one for each count that is over, at the line of its limit, and one for
//! each variable that explains it, at the line that sets it.

use crate::annotation::{Level, annotation};
use crate::checked::{cause, causes, environment, escape_key, findings, fix, grown, title};
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
    for one in check.over() {
        let line = one.limit.map_or(check.budget.line, |limit| limit.line);
        let title = format!("needless: {} over budget", escape_key(&one.counted));
        let text = format!("{}\n{}", grown(one), why.join("\n"));
        let spot = Some((&*check.budget.file, line as u32));
        writeln!(out, "{}", annotation(Level::Error, spot, &title, &text))?;
    }
    for (finding, more) in findings(check) {
        let Some((file, line)) = check.verdict.place_of(finding) else { continue };
        let title = format!("needless: {}", finding.rule);
        let text = format!("+{more} {}", summary::headline(finding));
        writeln!(out, "{}", annotation(Level::Warning, Some((file, line)), &title, &text))?;
    }
    if check.holds() {
        let spot = Some((&*check.budget.file, check.budget.line as u32));
        writeln!(out, "{}", annotation(Level::Notice, spot, "needless", &title(check)))?;
    }
    Ok(())
}
