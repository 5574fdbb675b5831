//! A table: for a terminal, for Markdown, and (`html::tables`) for a page.

use crate::markdown;
use std::io::{self, Write};

/// A table with its heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What the table answers.
    pub heading: String,
    /// A sentence below the table, or an empty text.
    pub note: String,
    /// The names of the columns, and whether a column has numbers, which are set to the right.
    pub columns: Vec<(String, bool)>,
    /// The rows; each has as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Writes the names of the columns and the rows in columns, without the heading and the note.
    ///
    /// # Errors
    /// Of the writer.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let lines = || std::iter::once(&names).chain(&self.rows);
        let width = |n: usize| lines().map(|line| line[n].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        for line in lines() {
            let mut text = String::new();
            for ((value, width), (_, number)) in line.iter().zip(&widths).zip(&self.columns) {
                if !text.is_empty() {
                    text += "  ";
                }
                text +=
                    &if *number { format!("{value:>width$}") } else { format!("{value:<width$}") };
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }

    /// Writes the names of the columns and the rows as a table of Markdown, without the heading and the note.
    pub(crate) fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let names = self.columns.iter().map(|(name, _)| markdown::text(name)).collect();
        let rule = self.columns.iter().map(|(_, number)| if *number { "---:" } else { "---" });
        writeln!(out, "{}\n{}", line(names), line(rule.map(str::to_owned).collect()))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row.iter().map(|cell| markdown::text(cell)).collect()))?;
        }
        Ok(())
    }
}
