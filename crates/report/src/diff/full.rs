//! A comparison for a person at a terminal: rows that came, went, grew and shrank; for windows over a service
//! rates too.

use crate::difference::{SHOWN, figures, head, kinds, rate};
use crate::proof_text::{changed, rows};
use crate::text::{Tint, wrap};
use crate::{DiffDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(
    out: &mut dyn Write,
    difference: &DiffDocument,
    style: Style,
) -> io::Result<()> {
    for line in head(difference) {
        for (at, line) in wrap(&line, style.width.saturating_sub(2)).iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "" } else { "  " })?;
        }
    }
    for measure in figures(difference) {
        writeln!(out, "  {}", rate(&measure))?;
    }
    for (kind, changes) in kinds(&difference.rows) {
        if changes.is_empty() {
            continue;
        }
        writeln!(
            out,
            "\n{}",
            style.paint(Tint::Name, &format!("{kind}: {}", rows(changes.len())))
        )?;
        for row in changes.iter().take(SHOWN) {
            writeln!(out, "  {}", changed(row))?;
        }
        if changes.len() > SHOWN {
            writeln!(out, "  … and {} more, in --format json", changes.len() - SHOWN)?;
        }
    }
    Ok(())
}
