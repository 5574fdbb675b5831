//! Answers as a table for people, as JSON, as CSV and as a page of HTML.

use crate::questions::Question;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder as CsvWriter;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder as JsonWriter;
use datafusion::arrow::json::writer::JsonArray;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use needless_report::{Table, number};
use std::io::Write;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Json,
    Csv,
}

impl Format {
    /// Their names on the command line.
    pub(crate) const NAMES: [(&str, Format); 3] =
        [("table", Format::Table), ("json", Format::Json), ("csv", Format::Csv)];
}

/// Prints an answer: all its rows, or in JSON `[]` and in CSV the names of the columns where it has none.
///
/// # Errors
/// Of the stream, as [`ArrowError::IoError`].
pub(crate) fn print(
    to: &mut dyn Write,
    schema: &SchemaRef,
    answer: &[RecordBatch],
    format: Format,
) -> Result<(), ArrowError> {
    match format {
        Format::Table => table(to, schema, answer)?,
        Format::Json => {
            let mut writer =
                JsonWriter::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut *to);
            for batch in answer.iter().filter(|batch| batch.num_rows() > 0) {
                writer.write(batch)?;
            }
            writer.finish()?;
            drop(writer);
            writeln!(to)?;
        }
        Format::Csv => {
            let mut writer = CsvWriter::new().with_header(true).build(&mut *to);
            writer.write(&RecordBatch::new_empty(schema.clone()))?;
            for batch in answer {
                writer.write(batch)?;
            }
        }
    }
    Ok(to.flush()?)
}

fn table(to: &mut dyn Write, schema: &SchemaRef, answer: &[RecordBatch]) -> Result<(), ArrowError> {
    let columns = columns(schema).map(|(name, number)| (shown(name), number)).collect();
    let table = Table { columns, rows: cells(schema, answer)?, ..Table::default() };
    Ok(table.write_text(to)?)
}

/// The names of the columns, and whether they have numbers.
fn columns(schema: &SchemaRef) -> impl Iterator<Item = (&str, bool)> {
    schema.fields().iter().map(|field| (field.name().as_str(), field.data_type().is_numeric()))
}

/// The answer to a question as a table of a page: at most `most` of its rows, and a note where it has more, or none.
///
/// # Errors
/// When a value has no text.
pub(crate) fn section(
    question: &Question,
    schema: &SchemaRef,
    answer: &[RecordBatch],
    most: usize,
) -> Result<Table, ArrowError> {
    let mut rows = cells(schema, answer)?;
    let whole = |n: usize| schema.field(n).data_type().is_integer();
    for (n, cell) in rows.iter_mut().flat_map(|row| row.iter_mut().enumerate()) {
        if let (true, Ok(value)) = (whole(n), cell.parse()) {
            *cell = number(value);
        }
    }
    let note = match rows.len() {
        0 => "Nothing.".to_owned(),
        all if all > most => {
            format!(
                "The first {most} of {all}; needless-fleet {} --format csv has all.",
                question.name
            )
        }
        _ => String::new(),
    };
    rows.truncate(most);
    let columns =
        columns(schema).map(|(name, number)| (shown(&name.replace('_', " ")), number)).collect();
    Ok(Table { heading: question.about.to_owned(), note, columns, rows })
}

fn cells(schema: &SchemaRef, answer: &[RecordBatch]) -> Result<Vec<Vec<String>>, ArrowError> {
    let mut lines = Vec::new();
    let options =
        FormatOptions::default().with_null("-").with_timestamp_tz_format(Some("%Y-%m-%d %H:%M"));
    for batch in answer {
        let columns = batch.columns().iter();
        let columns: Vec<_> = columns
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let mut line = Vec::new();
            for (column, field) in columns.iter().zip(schema.fields()) {
                let value = column.value(row).try_to_string()?;
                line.push(match (field.data_type(), value.parse::<f64>()) {
                    (DataType::Float64, Ok(value)) => format!("{value:.3}"),
                    _ => shown(&value),
                });
            }
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Programs choose their names, and a file may come from anywhere: nothing of it may steer a terminal.
pub(crate) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
