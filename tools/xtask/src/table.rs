//! A table in a page of the book, whose rows are measured.

use anyhow::{Context, Result};
use std::path::Path;

/// What ends the table in the page.
const END: &str = "\n<!-- end of the table -->";

/// A row, Markdown, and the text in its first code span.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Row {
    /// With these cells behind the name.
    pub(crate) fn new(name: &str, cells: &[String]) -> Row {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let text = format!("| `{}` | {} |", name.replace('|', "\\|"), cells.join(" | "));
        Row { name: name.to_owned(), text }
    }
}

/// Replaces these rows of the table; the others stay, new ones come last.
pub(crate) fn write(page: &Path, rows: &[Row]) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("{}", page.display()))?;
    let (before, after) = text.split_once(END).context("the page has no table")?;
    let begin = before.rfind("\n| ---").context("the table has no head")?;
    let begin = begin + 1 + before[begin + 1..].find('\n').context("the head has no end")?;
    let (before, old) = before.split_at(begin);
    let mut all: Vec<String> =
        old.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    for row in rows {
        let start = format!("| `{}` |", row.name.replace('|', "\\|"));
        match all.iter_mut().find(|line| line.starts_with(&start)) {
            Some(line) => line.clone_from(&row.text),
            None => all.push(row.text.clone()),
        }
    }
    std::fs::write(page, format!("{before}\n{}\n{END}{after}", all.join("\n")))?;
    Ok(())
}
