//! The pages of rules.

use crate::Style;
use crate::text::{Tint, escape};
use std::io::{self, Write};

/// Writes the page of a rule, in Markdown, with its headings in bold.
///
/// # Errors
/// When `out` cannot be written to.
pub fn explain(out: &mut dyn Write, page: &str, style: Style) -> io::Result<()> {
    let mut code = false;
    for line in page.trim_end().lines().map(escape) {
        code ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !code {
            writeln!(out, "{}", style.paint(Tint::Name, &line))?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
