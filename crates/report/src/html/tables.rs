//! A page of tables that others have filled: the answers of needless-fleet.

use super::{Text, page, section};
use crate::Table;
use std::io::{self, Write};

/// Writes an HTML page that needs no network and no script: `title`, then each table in a section. `version` is that of
/// the program that asks.
///
/// # Errors
/// Of the writer.
pub fn write_tables(
    out: &mut dyn Write,
    title: &str,
    version: &str,
    tables: &[Table],
) -> io::Result<()> {
    page(out, title, version, |out| {
        writeln!(out, "<h1>{}</h1>", Text(title))?;
        for table in tables {
            section(out, &table.heading, |out| write(out, table))?;
        }
        Ok(())
    })
}

/// The rows, and the note below them.
pub(crate) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    if !table.rows.is_empty() {
        let class = |number: bool| if number { " class=\"number\"" } else { "" };
        write!(
            out,
            "<table class=\"cards\" role=\"table\">\n<thead role=\"rowgroup\"><tr role=\"row\">"
        )?;
        for (name, number) in &table.columns {
            write!(
                out,
                "<th scope=\"col\" role=\"columnheader\"{}>{}</th>",
                class(*number),
                Text(name)
            )?;
        }
        writeln!(out, "</tr></thead>\n<tbody role=\"rowgroup\">")?;
        for row in &table.rows {
            write!(out, "<tr role=\"row\">")?;
            for (n, (cell, (name, number))) in row.iter().zip(&table.columns).enumerate() {
                let (cell, name, class) = (Text(cell), Text(name), class(*number));
                match n {
                    0 => write!(out, "<th scope=\"row\" role=\"rowheader\"{class}>{cell}</th>")?,
                    _ => write!(out, "<td role=\"cell\"{class} data-of=\"{name}\">{cell}</td>")?,
                }
            }
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</tbody>\n</table>")?;
    }
    if !table.note.is_empty() {
        writeln!(out, "<p class=\"faint\">{}</p>", Text(&table.note))?;
    }
    Ok(())
}
