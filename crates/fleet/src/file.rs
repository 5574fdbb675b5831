//! A window as a Parquet file: the columns, each with its type, its meaning and where its value comes from.
//!
//! The writer takes columns of plain values. Arrow's arrays would be a second copy of them, and minutes of building.

use crate::rows::{Dimensions, Measures};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The name and version of the columns: what a column means does not change within one version, and columns are only
/// added.
pub const FILE_SCHEMA: &str = "needless.rows/1";

/// The command that prints a host's name in the rows, where `--host` gave none: a hash of its machine id. The number
/// makes it ours: no other program's hash is the same, and the machine id cannot be computed from it.
pub const HASH_OF_MACHINE_ID: [&str; 3] =
    ["systemd-id128", "machine-id", "--app-specific=59105bbaa866430a88318697295475b8"];

/// The key in the file's footer that has [`FILE_SCHEMA`].
const SCHEMA_KEY: &str = "needless.schema";

/// The first and the last bytes of a Parquet file. The footer's length, of four bytes, is in front of the last ones.
const MARK: &[u8] = b"PAR1";
/// Bytes of a footer that is looked at: that of a window has some thousand.
const LARGEST_FOOTER: u64 = 1 << 20;

/// What all rows of a file share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentWindow {
    /// Microseconds since 1970 (UTC) at its start.
    pub start_us: i64,
    /// At its end.
    pub end_us: i64,
    /// Which host.
    pub host: String,
    /// `KEY=VALUE`, sorted, with commas between them.
    pub labels: String,
    /// By how much counts are to be multiplied to be those of the whole window.
    pub sample_scale: f64,
    /// The version of needless.
    pub version: String,
    /// Further facts for the footer, each key with its value: nothing that a question is about.
    pub facts: Vec<(&'static str, String)>,
}

/// A value of a row.
enum Value {
    Time(fn(&AgentWindow) -> i64),
    Real(fn(&AgentWindow) -> f64),
    Of(fn(&AgentWindow) -> &str),
    Text(fn(&Dimensions) -> Option<&str>),
    Word(fn(&Dimensions) -> &str),
    Int(fn(&Measures) -> i64),
}

struct Column {
    name: &'static str,
    meaning: &'static str,
    value: Value,
}

const fn column(name: &'static str, value: Value, meaning: &'static str) -> Column {
    Column { name, meaning, value }
}

/// The columns, in the order of the file.
const COLUMNS: [Column; 19] = [
    column("window_start", Value::Time(|w| w.start_us), "When the window began."),
    column("window_end", Value::Time(|w| w.end_us), "When it ended."),
    column(
        "host",
        Value::Of(|w| &w.host),
        "The host: the name that --host gave, else a hash of its machine id.",
    ),
    column(
        "labels",
        Value::Of(|w| &w.labels),
        "The labels that --label gave: KEY=VALUE, sorted, with commas between them.",
    ),
    column(
        "service",
        Value::Text(|r| r.service.as_deref()),
        "The unit, container, pod or session; the program where it is in none; null: several.",
    ),
    column("program", Value::Text(|r| r.program.as_deref()), "The program; null: several."),
    column(
        "fate",
        Value::Word(|r| r.fate.word()),
        "needed, needless, perhaps (needless at most: the cause was not found), not explained, not judged; applied: a row without calls, `needless fix` on the host changed that variable for the service and had not taken it back when the window ended.",
    ),
    column(
        "cause",
        Value::Text(|r| r.cause.as_deref()),
        "The rule that says so, of needless calls and perhaps needless ones.",
    ),
    column(
        "variable",
        Value::Text(|r| r.variable.as_deref()),
        "The variable that the rule's first remedy changes; never a value.",
    ),
    column(
        "call",
        Value::Text(|r| r.call.as_deref()),
        "The kernel's name of the call; null: several.",
    ),
    column("calls", Value::Int(|s| s.calls), "Calls that were counted."),
    column("failed", Value::Int(|s| s.failed), "Of these, calls that failed."),
    column(
        "needless",
        Value::Int(|s| s.needless),
        "Calls that could go; those that go with others and were not counted one by one have a row without a call, below zero where two causes name the same calls.",
    ),
    column(
        "saves_ns",
        Value::Int(|s| s.saves_ns),
        "Nanoseconds that these take: an estimate, from the cost of such calls on that machine; 0 where that is not known.",
    ),
    column(
        "cpu_ns",
        Value::Int(|s| s.cpu_ns),
        "Nanoseconds of CPU time of the program, in its row of needed calls.",
    ),
    column(
        "lost",
        Value::Int(|s| s.lost),
        "What was not seen, in the row without service, program and cause: each window has one.",
    ),
    column(
        "sample_scale",
        Value::Real(|w| w.sample_scale),
        "By how much the numbers are to be multiplied to be those of the whole window.",
    ),
    column("version", Value::Of(|w| &w.version), "The version of needless that wrote the row."),
    column("schema", Value::Of(|_| FILE_SCHEMA), "The name and version of these columns."),
];

impl Value {
    /// The type in the language of Parquet's schemas: before the name, and after it.
    fn types(&self) -> (&'static str, &'static str) {
        match self {
            Value::Time(_) => ("REQUIRED INT64", " (TIMESTAMP(MICROS,true))"),
            Value::Real(_) => ("REQUIRED DOUBLE", ""),
            Value::Of(_) | Value::Word(_) => ("REQUIRED BYTE_ARRAY", " (STRING)"),
            Value::Text(_) => ("OPTIONAL BYTE_ARRAY", " (STRING)"),
            Value::Int(_) => ("REQUIRED INT64", ""),
        }
    }
}

/// The schema in Parquet's own language, with the meaning of each column in a comment.
pub fn schema() -> String {
    let mut text = format!("// {FILE_SCHEMA}: the rows of a file that `needless agent` writes.\n");
    text += "// Each call, each needless call and each nanosecond is in exactly one row, so that sums over\n";
    text += "// whichever rows are right. The number in the name is the version: within one, columns keep\n";
    text += "// their meaning, and are only added.\n";
    message(text, |column| format!("  // {}\n", column.meaning))
}

fn message(mut text: String, about: impl Fn(&Column) -> String) -> String {
    text += "message rows {\n";
    for column in &COLUMNS {
        let (before, after) = column.value.types();
        text += &format!("{}  {before} {}{after};\n", about(column), column.name);
    }
    text + "}\n"
}

/// The bytes of a file with these rows.
///
/// # Errors
/// When the writer refuses the columns.
pub fn parquet(window: &AgentWindow, rows: &[(Dimensions, Measures)]) -> Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type(&message(String::new(), |_| String::new()))?);
    let fact = |(key, value): &(&str, String)| KeyValue::new((*key).to_owned(), value.clone());
    let mut facts = vec![KeyValue::new(SCHEMA_KEY.to_owned(), FILE_SCHEMA.to_owned())];
    facts.extend(window.facts.iter().map(fact));
    let properties = WriterProperties::builder()
        // A column of a window has some hundred bytes. Setting up zstd for each takes longer than all else (ZSTD_createCCtx asks
        // the processor what it is, which a virtual machine's host answers) and makes the file a tenth smaller.
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(facts))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in &COLUMNS {
        let Some(mut to) = group.next_column()? else { break };
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        match column.value {
            Value::Time(of) => put::<Int64Type>(&mut to, &vec![of(window); rows.len()], None)?,
            Value::Real(of) => put::<DoubleType>(&mut to, &vec![of(window); rows.len()], None)?,
            Value::Of(of) => {
                put::<ByteArrayType>(&mut to, &vec![text(of(window)); rows.len()], None)?;
            }
            Value::Word(of) => {
                let all: Vec<_> = rows.iter().map(|(row, _)| text(of(row))).collect();
                put::<ByteArrayType>(&mut to, &all, None)?;
            }
            Value::Text(of) => {
                let all: Vec<_> = rows.iter().filter_map(|(row, _)| of(row).map(text)).collect();
                let is_there = rows.iter().map(|(row, _)| i16::from(of(row).is_some()));
                put::<ByteArrayType>(&mut to, &all, Some(&is_there.collect::<Vec<_>>()))?;
            }
            Value::Int(of) => {
                let all: Vec<i64> = rows.iter().map(|(_, sums)| of(sums)).collect();
                put::<Int64Type>(&mut to, &all, None)?;
            }
        }
        to.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// Writes the values of a column; `is_there` has 1 for each row with a value, and 0 for each without.
fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    all: &[T::T],
    is_there: Option<&[i16]>,
) -> Result<()> {
    to.typed::<T>().write_batch(all, is_there, None).map(drop)
}

/// Whether a file is whole and one of ours: both its ends are there, and the footer has the name of our columns.
///
/// The footer is not decoded. An agent must survive what a broken disk makes of a window, and a decoder believes numbers
/// in it.
pub fn is_window(file: File) -> bool {
    let name = FILE_SCHEMA.split_once('/').map_or(FILE_SCHEMA, |(name, _)| name);
    let fact = |at: usize, footer: &[u8]| {
        // Between a key and its value are a byte for the field and one for the length.
        let value = footer.get(at + SCHEMA_KEY.len() + 2..)?;
        value.strip_prefix(name.as_bytes())?.starts_with(b"/").then_some(())
    };
    footer(&file).is_some_and(|footer| {
        let mut texts = footer.windows(SCHEMA_KEY.len()).enumerate();
        texts.any(|(at, text)| text == SCHEMA_KEY.as_bytes() && fact(at, &footer).is_some())
    })
}

/// The footer of a Parquet file that is whole.
fn footer(file: &File) -> Option<Vec<u8>> {
    let (mut start, mut length, mut end) = ([0; 4], [0; 4], [0; 4]);
    let length_at = file.metadata().ok()?.len().checked_sub(8)?;
    file.read_exact_at(&mut start, 0).ok()?;
    file.read_exact_at(&mut length, length_at).ok()?;
    file.read_exact_at(&mut end, length_at + 4).ok()?;
    let length = u64::from(u32::from_le_bytes(length));
    let at = length_at.checked_sub(length).filter(|at| *at >= MARK.len() as u64)?;
    if start != MARK || end != MARK || length > LARGEST_FOOTER {
        return None;
    }
    let mut footer = vec![0; usize::try_from(length).ok()?];
    file.read_exact_at(&mut footer, at).ok()?;
    Some(footer)
}
