//! The results of an experiment: tables of figures, and sentences about them.

use needless_report::{ProofFormat, escape, number, wrap};
use serde::{Serialize, Serializer};

/// An experiment that can be made again.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Experiment {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it measures, one sentence.
    pub(crate) summary: &'static str,
    /// Who published it, and when.
    pub(crate) source: &'static str,
    /// What it needs of the machine.
    pub(crate) needs: &'static str,
}

/// What an experiment gave.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) experiment: Experiment,
    pub(crate) tables: Vec<Table>,
    /// What the figures show; each sentence only where they do.
    #[serde(rename = "says")]
    pub(crate) notes: Vec<String>,
    /// What could not be measured, and why.
    pub(crate) skipped: Vec<String>,
}

impl Results {
    pub(crate) fn of(experiment: Experiment) -> Results {
        Results { experiment, tables: Vec::new(), notes: Vec::new(), skipped: Vec::new() }
    }
}

/// Figures in rows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    /// What is measured, and how.
    pub(crate) title: String,
    /// One for each cell of a row.
    pub(crate) columns: Vec<Column>,
    /// Each as long as `columns`.
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A column's heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Column {
    /// The heading that it shares with its neighbours ("2015"); "" where it has none.
    pub(crate) group: String,
    /// Its name, with the unit.
    pub(crate) name: &'static str,
}

impl Column {
    pub(crate) fn new(group: &str, name: &'static str) -> Column {
        Column { group: group.to_owned(), name }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A name.
    Text(String),
    /// How many.
    Count(u64),
    /// A quantity, and how many digits after the point to show.
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
            Cell::Text(text) => escape(text).into_owned(),
            Cell::Count(n) => number(*n),
            Cell::Decimal(value, digits) if *digits == 0 => number(value.max(0.0).round() as u64),
            Cell::Decimal(value, digits) => format!("{value:.digits$}"),
            Cell::Missing => "-".to_owned(),
        }
    }
}

/// The list of experiments.
pub(crate) fn list(all: &[Experiment], width: usize) -> String {
    let mut out = String::new();
    for one in all {
        out += &format!("needless-lab {}\n", one.name);
        for (label, text) in [("what", one.summary), ("source", one.source), ("needs", one.needs)] {
            wrapped(&mut out, &format!("  {label:<8}"), text, width);
        }
    }
    out
}

/// The results in `format`, with a newline at the end.
pub(crate) fn results(of: &Results, format: ProofFormat, width: usize) -> String {
    match format {
        ProofFormat::Full | ProofFormat::Html => full(of, width),
        ProofFormat::Markdown => markdown(of),
        ProofFormat::Json => {
            #[derive(Serialize)]
            struct Document<'a> {
                schema: &'static str,
                #[serde(flatten)]
                results: &'a Results,
            }
            let document = Document { schema: "needless.lab/1", results: of };
            // Only maps with keys that are no strings, and writers that fail, give an error.
            serde_json::to_string_pretty(&document).expect("only structs of texts and figures")
                + "\n"
        }
    }
}

/// `lead` and `text`, wrapped; the lines after the first begin below the text.
fn wrapped(out: &mut String, lead: &str, text: &str, width: usize) {
    let mut lead = lead.to_owned();
    for line in wrap(&escape(text), width.saturating_sub(lead.len()).max(20)) {
        *out += &format!("{lead}{line}\n");
        lead = " ".repeat(lead.len());
    }
}

fn full(of: &Results, width: usize) -> String {
    let mut out = list(&[of.experiment], width);
    for table in &of.tables {
        out.push('\n');
        wrapped(&mut out, "", &table.title, width);
        plain(&mut out, table, width);
    }
    out.push('\n');
    for note in &of.notes {
        wrapped(&mut out, "* ", note, width);
    }
    // Said also where it is nothing: a missing line would leave that open.
    let mut lead = "skipped:      ";
    let nothing = ["nothing".to_owned()];
    for text in if of.skipped.is_empty() { &nothing[..] } else { &of.skipped } {
        wrapped(&mut out, lead, text, width);
        lead = "              ";
    }
    out
}

/// A table with columns as wide as their widest cell. Figures are aligned to the right.
fn plain(out: &mut String, table: &Table, width: usize) {
    let mut shown: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
    let widest = |row: &Vec<String>| row.iter().map(|cell| columns_of(cell) + 2).sum::<usize>();
    if shown.iter().map(widest).max().unwrap_or(0) > width + 2 {
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
            // A group's name that is wider than its columns moves the next one to the right.
            let blanks = start - columns_of(&groups).min(start);
            groups += &" ".repeat(blanks.max(usize::from(!groups.is_empty())));
            groups += &column.group;
        }
        start += widths[at] + 2;
    }
    if !groups.is_empty() {
        *out += &format!("{groups}\n");
    }
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (at, cell) in cells.enumerate() {
            let blanks = " ".repeat(widths[at].saturating_sub(columns_of(cell)));
            line +=
                &if left[at] { format!("{cell}{blanks}  ") } else { format!("{blanks}{cell}  ") };
        }
        *out += line.trim_end();
        out.push('\n');
    };
    line(&mut table.columns.iter().map(|column| column.name));
    for row in &shown {
        line(&mut row.iter().map(String::as_str));
    }
    if shown.is_empty() {
        *out += "(none)\n";
    }
}

/// A row on several lines: long cells are broken between words.
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

fn markdown(of: &Results) -> String {
    let plain = |text: &str| escape(text).replace('|', "\\|");
    let Experiment { name, summary, source, .. } = of.experiment;
    let mut out = format!("# needless-lab {name}\n\n{summary} Source: {source}.\n");
    for table in &of.tables {
        out += &format!("\n**{}**\n\n", plain(&table.title));
        let names = table.columns.iter().map(|column| {
            let name = format!("{} {}", column.group, column.name);
            plain(name.trim())
        });
        out += &format!("| {} |\n", names.collect::<Vec<_>>().join(" | "));
        out += &format!("|{}\n", "---|".repeat(table.columns.len()));
        for row in &table.rows {
            let cells: Vec<String> = row.iter().map(|cell| plain(&cell.shown())).collect();
            out += &format!("| {} |\n", cells.join(" | "));
        }
    }
    out.push('\n');
    for note in &of.notes {
        out += &format!("* {}\n", escape(note));
    }
    let all = of.skipped.iter().map(|text| escape(text).into_owned()).collect::<Vec<_>>();
    out + &format!(
        "\nSkipped: {}\n",
        if all.is_empty() { "nothing".into() } else { all.join("; ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: ProofFormat) -> String {
        let experiment =
            Experiment { name: "x", summary: "Measures.", source: "a blog", needs: "nothing" };
        let row = |name: &str, here, there| vec![Cell::Text(name.to_owned()), here, there];
        let table = Table {
            title: "Figures".into(),
            columns: [("", "what"), ("here", "ns"), ("2015", "ns")]
                .map(|(group, name)| Column::new(group, name))
                .into(),
            rows: vec![
                row("a|\x1b", Cell::Count(1234), Cell::Missing),
                row("long name", Cell::Decimal(0.5, 2), Cell::Decimal(1234.6, 0)),
            ],
        };
        let notes = vec!["It is so.".into()];
        let of = Results { tables: vec![table], notes, ..Results::of(experiment) };
        results(&of, format, 80)
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
