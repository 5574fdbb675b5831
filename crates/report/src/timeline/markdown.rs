//! Windows as a table of Markdown.

use crate::markdown::text;
use crate::{Style, Timeline};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, timeline: &Timeline, _: Style) -> io::Result<()> {
    writeln!(out, "## {}\n", timeline.title())?;
    let table = timeline.table();
    table.write_markdown(out)?;
    if table.note.is_empty() { Ok(()) } else { writeln!(out, "\n{}", text(&table.note)) }
}
