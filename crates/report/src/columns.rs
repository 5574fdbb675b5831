//! Text in columns: wrapped beside a label, or below a heading.

use crate::Style;
use crate::text::{Tint, wrap};
use std::io::{self, Write};

/// Wraps `text`, which begins with `name`; further lines begin with `lead`.
pub(crate) fn print_heading(
    out: &mut dyn Write,
    name: &str,
    text: &str,
    lead: &str,
    style: Style,
) -> io::Result<()> {
    // The name is painted after wrapping: escape sequences have no width.
    for (at, line) in wrap(text, style.width.saturating_sub(lead.len())).iter().enumerate() {
        match line.strip_prefix(name) {
            Some(rest) if at == 0 => writeln!(out, "{}{rest}", style.paint(Tint::Name, name))?,
            _ if at == 0 => writeln!(out, "{line}")?,
            _ => writeln!(out, "{lead}{line}")?,
        }
    }
    Ok(())
}

/// Prints an item of a list: `text` wrapped, from column 2, further lines from column 4.
pub(crate) fn print_item(out: &mut dyn Write, text: &str, style: Style) -> io::Result<()> {
    for (at, line) in wrap(text, style.width.saturating_sub(4)).iter().enumerate() {
        writeln!(out, "{}{line}", if at == 0 { "  " } else { "    " })?;
    }
    Ok(())
}

/// Prints prose: `text` wrapped beside `label`, from column `indent`.
pub(crate) fn print_wrapped(
    out: &mut dyn Write,
    (label, indent): (&str, usize),
    text: &str,
    tint: Option<Tint>,
    style: Style,
) -> io::Result<()> {
    let width = style.width.saturating_sub(indent).max(20);
    print_lines(out, (label, indent), &wrap(text, width), tint, style)
}

/// Prints what users copy or compare: `lines`, not wrapped, beside `label`, from column `indent`, which is at least
/// as wide as the label.
pub(crate) fn print_lines(
    out: &mut dyn Write,
    (label, indent): (&str, usize),
    lines: &[String],
    tint: Option<Tint>,
    style: Style,
) -> io::Result<()> {
    for (at, line) in lines.iter().enumerate() {
        let mut lead = " ".repeat(indent);
        if at == 0 && !label.trim().is_empty() {
            let blanks = " ".repeat(indent - label.len());
            lead = style.paint(Tint::Faint, label) + &blanks;
        }
        let line = tint.map_or_else(|| line.clone(), |tint| style.paint(tint, line));
        writeln!(out, "{lead}{line}")?;
    }
    Ok(())
}
