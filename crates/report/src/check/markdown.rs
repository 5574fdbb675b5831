//! A checked budget for the summary of a job, an issue or a pull request.

use crate::check_text::{allowed, fix, more, range, title};
use crate::markdown::{code, text};
use crate::text::{escape, number};
use crate::{CheckDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &CheckDocument, _: Style) -> io::Result<()> {
    writeln!(out, "### needless check: {}\n", text(&title(check)))?;
    if !check.within {
        writeln!(out, "| count | now | allowed | more |\n|---|---:|---:|---:|")?;
        for one in check.over() {
            let key = code(&escape(&one.key));
            writeln!(out, "| {key} | {} | {} | {} |", range(one), allowed(one), more(one))?;
        }
        writeln!(out)?;
    }
    let (shown, left_out) = check.shown();
    for one in shown {
        write!(out, "* +{}: {}", number(one.more), text(&escape(&one.text)))?;
        match fix(one) {
            Some(fix) => writeln!(out, "; {}", code(&fix))?,
            None => writeln!(out)?,
        }
    }
    if left_out > 0 {
        writeln!(out, "* and {left_out} more")?;
    }
    for said in check.environment.iter().chain(&check.remarks) {
        writeln!(out, "\n> {}", text(&escape(said)))?;
    }
    Ok(())
}
