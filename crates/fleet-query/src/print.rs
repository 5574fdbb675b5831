//! Answers as a table for people, as JSON and as CSV.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder as CsvWriter;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder as JsonWriter;
use datafusion::arrow::json::writer::JsonArray;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
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
    let names = schema.fields().iter().map(|field| shown(field.name()));
    let mut lines: Vec<Vec<String>> = vec![names.collect()];
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
    let widths: Vec<usize> = (0..schema.fields().len())
        .map(|n| lines.iter().map(|line| line[n].chars().count()).max().unwrap_or(0))
        .collect();
    for line in &lines {
        let mut text = String::new();
        for ((value, width), field) in line.iter().zip(&widths).zip(schema.fields()) {
            if !text.is_empty() {
                text += "  ";
            }
            let is_number = field.data_type().is_numeric();
            text +=
                &if is_number { format!("{value:>width$}") } else { format!("{value:<width$}") };
        }
        writeln!(to, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Programs choose their names, and a file may come from anywhere: nothing of it may steer a terminal.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
