//! A checked budget for the summary of a job, an issue or a pull request.

use crate::checked::{
    allowed, cause, causes, environment, escape_key, fix, more, range, remarks, title,
};
use crate::markdown::{code, text};
use crate::text::number;
use crate::{Check, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &Check<'_>, _: &str, _: Style) -> io::Result<()> {
    writeln!(out, "### needless check: {}\n", text(&title(check)))?;
    if !check.holds() {
        writeln!(out, "| count | now | allowed | more |\n|---|---:|---:|---:|")?;
        for one in check.over() {
            let key = code(&escape_key(&one.counted));
            writeln!(out, "| {key} | {} | {} | {} |", range(one), allowed(one), more(one))?;
        }
        writeln!(out)?;
    }
    let (shown, left_out) = causes(check);
    for one in shown {
        write!(out, "* +{}: {}", number(one.more), text(&cause(check, one)))?;
        match fix(check, one) {
            Some(fix) => writeln!(out, "; {}", code(&fix))?,
            None => writeln!(out)?,
        }
    }
    if left_out > 0 {
        writeln!(out, "* and {left_out} more")?;
    }
    for said in environment(check).iter().chain(&remarks(check)) {
        writeln!(out, "\n> {}", text(said))?;
    }
    Ok(())
}
