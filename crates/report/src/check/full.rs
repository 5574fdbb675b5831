//! A checked budget for a person at a terminal.

use crate::check_text::{allowed, fix, more, range, title};
use crate::text::{Tint, escape, number, wrap};
use crate::{CheckDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &CheckDocument, style: Style) -> io::Result<()> {
    writeln!(out, "needless check: {}", style.paint(Tint::Name, &title(check)))?;
    let rows: Vec<[String; 4]> = check
        .over()
        .map(|one| [escape(&one.key).into_owned(), range(one), allowed(one), more(one)])
        .collect();
    let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [wide(0), wide(1), wide(3)];
    for [what, is, most, more] in &rows {
        let [a, b, c] = widths;
        writeln!(out, "  {more:>c$}  {what:<a$}  {is:>b$}, allowed: {most}")?;
    }
    let (shown, left_out) = check.shown();
    if !check.within {
        writeln!(out, "why:")?;
    }
    for one in shown {
        let text = format!("+{}  {}", number(one.more), escape(&one.text));
        for (at, line) in wrap(&text, style.width.saturating_sub(8)).iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "  " } else { "      " })?;
        }
        if let Some(fix) = fix(one) {
            writeln!(out, "      {}", style.paint(Tint::Fix, &fix))?;
        }
    }
    if left_out > 0 {
        writeln!(out, "  … and {left_out} more, in --format json")?;
    }
    if !check.within && shown.is_empty() {
        writeln!(out, "  no rule and no file explains it")?;
    }
    for said in &check.environment {
        writeln!(out, "environment: {}", escape(said))?;
    }
    for said in &check.remarks {
        for (at, line) in wrap(&escape(said), style.width.saturating_sub(2)).iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "" } else { "  " })?;
        }
    }
    Ok(())
}
