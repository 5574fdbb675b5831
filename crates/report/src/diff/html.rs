//! A comparison as a page: the figures, and the rows that came, went, grew and shrank.

use crate::difference::{figures, head, kinds, rate};
use crate::html::{Text, page, section};
use crate::proof_text::{changed, rows};
use crate::text::escape;
use crate::{DiffDocument, Style};
use std::io::{self, Write};

/// How many rows of each kind are shown.
const SHOWN: usize = 50;

pub(crate) fn write(out: &mut dyn Write, difference: &DiffDocument, _: Style) -> io::Result<()> {
    let (before, after) = (escape(&difference.before.name), escape(&difference.after.name));
    let title = format!("needless diff: {before}, {after}");
    page(out, &title, &difference.needless_version, |out| {
        writeln!(out, "<h1>{}</h1>", Text(&title))?;
        for line in head(difference) {
            writeln!(out, "<p>{}</p>", Text(&line))?;
        }
        writeln!(out, "<ul>")?;
        for measure in figures(difference) {
            writeln!(out, "<li>{}</li>", Text(&rate(&measure)))?;
        }
        writeln!(out, "</ul>")?;
        for (kind, changes) in
            kinds(&difference.rows).into_iter().filter(|(_, all)| !all.is_empty())
        {
            section(out, &format!("{kind}: {}", rows(changes.len())), |out| {
                writeln!(out, "<ul>")?;
                for row in changes.iter().take(SHOWN) {
                    writeln!(out, "<li><code>{}</code></li>", Text(&changed(row)))?;
                }
                writeln!(out, "</ul>")?;
                if changes.len() > SHOWN {
                    let more = changes.len() - SHOWN;
                    writeln!(out, "<p>and {more} more, in --format json</p>")?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}
