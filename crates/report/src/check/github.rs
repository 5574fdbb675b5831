//! A checked budget as annotations of GitHub: one at the first limit that is exceeded, with all that grew and why, and
//! one for each finding that explains it, at the line that sets its variable. GitHub shows ten of a step at most.

use crate::annotation::{Level, annotation};
use crate::check_text::{grown, reason, title};
use crate::{CheckDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &CheckDocument, _: Style) -> io::Result<()> {
    let (shown, _) = check.shown();
    let why = shown.iter().map(reason).chain(check.environment.iter().cloned());
    let lines: Vec<String> = check.over().map(grown).chain(why).collect();
    let spot = Some((&*check.file, check.first_line() as u32));
    if !check.within {
        let title = format!("needless: over budget: {}", check.budget);
        writeln!(out, "{}", annotation(Level::Error, spot, &title, &lines.join("\n")))?;
    }
    for (rule, finding, cause) in check.findings() {
        let (Some(file), Some(line)) = (&finding.file, finding.line) else { continue };
        let title = format!("needless: {rule}");
        let mut text = format!("+{} {}", cause.more, finding.headline);
        if let Some(by_hand) = &finding.by_hand {
            text += &format!("\nfix: {by_hand}");
        }
        writeln!(out, "{}", annotation(Level::Warning, Some((file, line as u32)), &title, &text))?;
    }
    if check.within {
        writeln!(out, "{}", annotation(Level::Notice, spot, "needless", &title(check)))?;
    }
    Ok(())
}
