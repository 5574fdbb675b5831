//! Windows as a table for a terminal.

use crate::text::escape;
use crate::{Style, Timeline};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, timeline: &Timeline, _: Style) -> io::Result<()> {
    let mut table = timeline.table();
    for name in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
        *name = escape(name).into_owned();
    }
    table.write_text(out)?;
    if table.note.is_empty() { Ok(()) } else { writeln!(out, "{}", escape(&table.note)) }
}
