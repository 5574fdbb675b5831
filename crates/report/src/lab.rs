//! Experiments told: tables of figures, and sentences about them.

use crate::json::print;
use crate::text::{Tint, clean, number, wrap};
use crate::{ProofFormat, Style};
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// An experiment that can be made again.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, one sentence.
    pub summary: &'static str,
    /// Who published it, and when.
    pub source: &'static str,
    /// What it needs of the machine.
    pub needs: &'static str,
}

/// What an experiment gave.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// Which one.
    pub experiment: Experiment,
    /// Its figures.
    pub tables: Vec<Table>,
    /// What they show; each only where they do.
    pub says: Vec<String>,
    /// What could not be measured, and why.
    pub skipped: Vec<String>,
}

/// Figures in rows.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What is measured, and how.
    pub title: String,
    /// One for each cell of a row.
    pub columns: Vec<Column>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// A column's heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What its neighbours of the same group share ("2015"); "" where it stands alone.
    pub group: String,
    /// Its name, with the unit.
    pub name: &'static str,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// How many.
    Count(u64),
    /// A quantity, and how many digits after the point are worth showing.
    Decimal(f64, usize),
    /// Not measured, or not in the source.
    Missing,
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => to.serialize_str(text),
            Cell::Count(n) => to.serialize_u64(*n),
            Cell::Decimal(value, _) => to.serialize_f64(*value),
            Cell::Missing => to.serialize_none(),
        }
    }
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Cell::Text(text) => clean(text).into_owned(),
            Cell::Count(n) => number(*n),
            Cell::Decimal(value, digits) if *digits == 0 => number(value.max(0.0).round() as u64),
            Cell::Decimal(value, digits) => format!("{value:.digits$}"),
            Cell::Missing => "-".to_owned(),
        }
    }
}

/// Writes the list of experiments.
///
/// # Errors
/// When `out` cannot be written to.
pub fn lab_list(out: &mut dyn Write, all: &[Experiment], style: Style) -> io::Result<()> {
    let width = style.width.saturating_sub(10).max(20);
    for one in all {
        writeln!(out, "{}", style.paint(Tint::Name, &format!("needless lab {}", one.name)))?;
        for (label, text) in [("what", one.summary), ("source", one.source), ("needs", one.needs)] {
            labelled(out, label, text, width, style)?;
        }
    }
    Ok(())
}

fn labelled(
    out: &mut dyn Write,
    label: &str,
    text: &str,
    width: usize,
    style: Style,
) -> io::Result<()> {
    let mut label = format!("{label:<8}");
    for line in wrap(&clean(text), width) {
        writeln!(out, "  {}{line}", style.paint(Tint::Faint, &label))?;
        label = " ".repeat(8);
    }
    Ok(())
}

/// Writes what an experiment gave, with a newline at its end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn lab(out: &mut dyn Write, told: &Told, format: ProofFormat, style: Style) -> io::Result<()> {
    match format {
        ProofFormat::Full => full(out, told, style),
        ProofFormat::Markdown => markdown(out, told),
        ProofFormat::Json => {
            #[derive(Serialize)]
            struct Document<'a> {
                schema: &'static str,
                #[serde(flatten)]
                told: &'a Told,
            }
            print(out, &Document { schema: "needless.lab/1", told })
        }
    }
}

fn full(out: &mut dyn Write, told: &Told, style: Style) -> io::Result<()> {
    lab_list(out, &[told.experiment], style)?;
    for table in &told.tables {
        writeln!(out)?;
        for line in wrap(&clean(&table.title), style.width) {
            writeln!(out, "{}", style.paint(Tint::Name, &line))?;
        }
        plain(out, table, style)?;
    }
    writeln!(out)?;
    for text in &told.says {
        let mut lead = "* ";
        for line in wrap(&clean(text), style.width.saturating_sub(2).max(20)) {
            writeln!(out, "{lead}{line}")?;
            lead = "  ";
        }
    }
    skipped(out, told, style)
}

/// Silence would not tell whether something is missing.
fn skipped(out: &mut dyn Write, told: &Told, style: Style) -> io::Result<()> {
    let width = style.width.saturating_sub(14).max(20);
    let nothing = ["nothing".to_owned()];
    let all = if told.skipped.is_empty() { &nothing[..] } else { &told.skipped };
    let mut lead = "skipped:      ";
    for line in all.iter().flat_map(|text| wrap(&clean(text), width)) {
        writeln!(out, "{}{line}", style.paint(Tint::Faint, lead))?;
        lead = "              ";
    }
    Ok(())
}

/// Columns of the width of their widest cell, figures to the right.
fn plain(out: &mut dyn Write, table: &Table, style: Style) -> io::Result<()> {
    let mut shown: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
    let widest = |row: &Vec<String>| row.iter().map(|cell| columns_of(cell) + 2).sum::<usize>();
    if shown.iter().map(widest).max().unwrap_or(0) > style.width + 2 {
        shown = shown.into_iter().flat_map(broken).collect();
    }
    let left: Vec<bool> = (0..table.columns.len())
        .map(|at| table.rows.iter().any(|row| matches!(row.get(at), Some(Cell::Text(_)))))
        .collect();
    let mut widths: Vec<usize> = table.columns.iter().map(|c| columns_of(c.name)).collect();
    for row in &shown {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns_of(cell).max(*width);
        }
    }
    let mut groups = String::new();
    let mut start = 0;
    for (at, column) in table.columns.iter().enumerate() {
        if !column.group.is_empty() && (at == 0 || table.columns[at - 1].group != column.group) {
            // A group's name that is wider than its columns pushes the next one to the right.
            let blanks = start - columns_of(&groups).min(start);
            groups += &" ".repeat(blanks.max(usize::from(!groups.is_empty())));
            groups += &column.group;
        }
        start += widths[at] + 2;
    }
    if !groups.is_empty() {
        writeln!(out, "{}", style.paint(Tint::Faint, &groups))?;
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (at, cell) in cells.enumerate() {
            let blanks = " ".repeat(widths[at].saturating_sub(columns_of(cell)));
            line +=
                &if left[at] { format!("{cell}{blanks}  ") } else { format!("{blanks}{cell}  ") };
        }
        line.trim_end().to_owned()
    };
    let names = line(&mut table.columns.iter().map(|column| column.name));
    writeln!(out, "{}", style.paint(Tint::Faint, &names))?;
    for row in &shown {
        writeln!(out, "{}", line(&mut row.iter().map(String::as_str)))?;
    }
    if shown.is_empty() {
        writeln!(out, "(none)")?;
    }
    Ok(())
}

/// A row on several lines: what is long is broken between words.
fn broken(row: Vec<String>) -> Vec<Vec<String>> {
    const WIDTH: usize = 26;
    let cells: Vec<Vec<String>> = row.iter().map(|cell| wrap(cell, WIDTH)).collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at| cells.iter().map(|cell| cell.get(at).cloned().unwrap_or_default()).collect();
    (0..lines).map(line).collect()
}

fn columns_of(text: &str) -> usize {
    text.chars().count()
}

fn markdown(out: &mut dyn Write, told: &Told) -> io::Result<()> {
    let plain = |text: &str| clean(text).replace('|', "\\|");
    writeln!(out, "# needless lab {}\n", told.experiment.name)?;
    writeln!(out, "{} Source: {}.", told.experiment.summary, told.experiment.source)?;
    for table in &told.tables {
        writeln!(out, "\n**{}**\n", plain(&table.title))?;
        let names = table.columns.iter().map(|column| {
            let name = format!("{} {}", column.group, column.name);
            plain(name.trim())
        });
        writeln!(out, "| {} |", names.collect::<Vec<_>>().join(" | "))?;
        writeln!(out, "|{}", "---|".repeat(table.columns.len()))?;
        for row in &table.rows {
            let cells: Vec<String> = row.iter().map(|cell| plain(&cell.shown())).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
    }
    writeln!(out)?;
    for text in &told.says {
        writeln!(out, "* {}", clean(text))?;
    }
    let all = told.skipped.iter().map(|text| clean(text).into_owned()).collect::<Vec<_>>();
    writeln!(out, "\nSkipped: {}", if all.is_empty() { "nothing".into() } else { all.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Told {
        let column = |group: &str, name| Column { group: group.to_owned(), name };
        let experiment =
            Experiment { name: "x", summary: "Measures.", source: "a blog", needs: "nothing" };
        let row = |name: &str, here, there| vec![Cell::Text(name.to_owned()), here, there];
        Told {
            experiment,
            tables: vec![Table {
                title: "Figures".into(),
                columns: vec![column("", "what"), column("here", "ns"), column("2015", "ns")],
                rows: vec![
                    row("a|\x1b", Cell::Count(1234), Cell::Missing),
                    row("long name", Cell::Decimal(0.5, 2), Cell::Decimal(1234.6, 0)),
                ],
            }],
            says: vec!["It is so.".into()],
            skipped: Vec::new(),
        }
    }

    fn written(format: ProofFormat) -> String {
        let mut out = Vec::new();
        lab(&mut out, &told(), format, Style { colour: false, width: 80 }).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn figures_stand_in_columns() {
        let text = written(ProofFormat::Full);
        let table: Vec<&str> =
            text.lines().skip_while(|line| *line != "Figures").skip(1).take(4).collect();
        assert_eq!(
            table,
            [
                "           here   2015",
                "what          ns     ns",
                "a|\\x1b     1,234      -",
                "long name   0.50  1,235",
            ]
        );
        assert!(text.ends_with("* It is so.\nskipped:      nothing\n"), "{text}");
    }

    #[test]
    fn markdown_escapes_what_would_end_a_cell() {
        let text = written(ProofFormat::Markdown);
        assert!(text.contains("| what | here ns | 2015 ns |\n|---|---|---|\n"), "{text}");
        assert!(text.contains("| a\\|\\x1b | 1,234 | - |"), "{text}");
    }

    #[test]
    fn json_has_numbers() {
        let value: serde_json::Value = serde_json::from_str(&written(ProofFormat::Json)).unwrap();
        assert_eq!(value["schema"], "needless.lab/1");
        assert_eq!(value["tables"][0]["rows"][1], serde_json::json!(["long name", 0.5, 1234.6]));
        assert_eq!(value["tables"][0]["rows"][0][2], serde_json::Value::Null);
    }
}
