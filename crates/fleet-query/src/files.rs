//! The files of a question: those of the directories, each looked at by its end, which Parquet writes last. Only a reader
//! opens one.

use crate::Fault;
use crate::columns::{Columns, READ};
use crate::reader::Reader;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaData;
use rustix::fs::{Mode, OFlags};
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of windows that was found whole by its footer.
#[derive(Clone, Debug)]
pub(crate) struct WindowFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    /// Of a part: the names of the files that it was made of.
    pub(crate) part_of: Option<Vec<String>>,
    /// A column that this program does not know.
    pub(crate) unknown: Option<String>,
}

impl WindowFile {
    /// The name, which has the host and the start of the window.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The key in the footer of a part; the value has a line for each file that it was made of.
pub(crate) const PART_KEY: &str = "needless.part-of";
/// The most files that a part is made of, so that their names fit into a footer.
pub(crate) const MOST_NAMES: usize = 100_000;
/// The most rows for each byte of a file: parts have one for ten bytes.
const ROWS_FOR_A_BYTE: u64 = 16;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The files to read, by name.
    pub(crate) files: Vec<WindowFile>,
    /// Files that are left out, each with the reason.
    pub(crate) skipped: Vec<(PathBuf, String)>,
    /// Files that were left out because another with the same window is read.
    pub(crate) copies: usize,
}

/// The files `*.parquet` of directories and of those below them; a file is taken as it is.
///
/// # Errors
/// When a directory cannot be read, or there is no file at all.
pub(crate) fn list(places: &[PathBuf]) -> Result<Vec<PathBuf>, Fault> {
    let all = list_any(places)?;
    if all.is_empty() {
        let names: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        return Err(Fault::new(
            names.join(", "),
            "no file *.parquet is there",
            "name the directory to which the files of needless agent were brought",
        ));
    }
    Ok(all)
}

/// The same, where there may be none.
///
/// # Errors
/// When a directory cannot be read.
pub(crate) fn list_any(places: &[PathBuf]) -> Result<Vec<PathBuf>, Fault> {
    let mut all = Vec::new();
    for given in places {
        // One directory may be named in two ways.
        let place = std::fs::canonicalize(given).map_err(|why| unreadable(given, why))?;
        if place.is_file() {
            all.push(place);
        } else {
            walk(&place, &mut all)?;
        }
    }
    all.sort_by(|a, b| (a.file_name(), a).cmp(&(b.file_name(), b)));
    all.dedup();
    Ok(all)
}

fn unreadable(folder: &Path, why: std::io::Error) -> Fault {
    Fault::new(folder.display(), why, "name a directory with files of needless agent")
}

fn walk(folder: &Path, all: &mut Vec<PathBuf>) -> Result<(), Fault> {
    let failed = |why| unreadable(folder, why);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        if kind.is_dir() {
            walk(&path, all)?;
        } else if path.extension().is_some_and(|ending| ending == "parquet") {
            all.push(path);
        }
    }
    Ok(())
}

/// Looks at the end of each file, and leaves out what is there twice.
pub(crate) fn look(paths: Vec<PathBuf>, columns: &Columns, reader: &Reader) -> Found {
    let mut found = Found::default();
    let (mut parts, mut single) = (Vec::new(), Vec::new());
    let total = paths.len();
    for (n, path) in paths.into_iter().enumerate() {
        reader.say(|| format!("looked at {n} of {total} files"));
        let looked = match reader.left_out(&path) {
            Some(why) => Err(why.to_owned()),
            None => careful(|| footer(&path, columns, reader)),
        };
        match looked {
            Ok(file) if file.part_of.is_some() => parts.push(file),
            Ok(file) => single.push(file),
            Err(why) => found.skipped.push((path, why)),
        }
    }
    // The name has the host and the start of the window: the same name is the same window.
    let mut names: HashSet<String> = HashSet::new();
    for part in parts {
        let of = part.part_of.as_deref().unwrap_or_default();
        match of.iter().filter(|name| names.contains(*name)).count() {
            0 => {
                names.extend(of.iter().cloned());
                found.files.push(part);
            }
            twice if twice == of.len() => found.copies += 1,
            _ => found
                .skipped
                .push((part.path, "some of its windows are in another part, too".into())),
        }
    }
    for file in single {
        if names.insert(file.name()) {
            found.files.push(file);
        } else {
            found.copies += 1;
        }
    }
    found
}

/// Looks at the end of a file, for the sake of what becomes of this process. An error is no harm.
pub(crate) fn try_end(path: &Path, columns: &Columns, reader: &Reader) {
    let _ = careful(|| footer(path, columns, reader));
}

/// Opens a file.
///
/// # Errors
/// Those of the file, and where it is a device or a pipe: to open it would wait for whoever writes to it.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    let checked = |about: Metadata| match about.is_file() {
        true => Ok(()),
        false => Err(std::io::Error::other("not a regular file")),
    };
    checked(std::fs::metadata(path)?)?;
    // There may be another one by now.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    checked(file.metadata()?).map(|()| file)
}

fn footer(path: &Path, columns: &Columns, reader: &Reader) -> Result<WindowFile, String> {
    let file = open(path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    reader.allow(bytes);
    let footer = ArrowReaderMetadata::load(&file, without_types_of_arrow())
        .map_err(|error| format!("not a whole Parquet file: {error}"))?;
    let facts = footer.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let fact = |key: &str| facts.clone().find(|fact| fact.key == key);
    match fact(&columns.key).and_then(|fact| fact.value.as_deref()) {
        None => return Err("not written by needless agent".to_owned()),
        Some(version) if READ.contains(&version) => {}
        Some(other) => {
            let (other, known) = (other.escape_debug(), READ.join(", "));
            return Err(format!("its columns are {other}; this program reads {known}"));
        }
    }
    // The engine would take them for those of the columns.
    if fact(ARROW_SCHEMA_META_KEY).is_some() {
        return Err("its types are written for Arrow, which no agent does".to_owned());
    }
    let rows = rows_that_fit(footer.metadata(), bytes)?;
    let part = fact(PART_KEY);
    let names = part.and_then(|fact| fact.value.as_deref()).unwrap_or_default();
    if names.lines().nth(MOST_NAMES).is_some() {
        return Err("it is a part of more windows than a part has".to_owned());
    }
    let part_of = part
        .map(|fact| fact.value.iter().flat_map(|names| names.lines()).map(str::to_owned).collect());
    // Within a version columns are only added: an older file may lack some, a newer one may have more.
    let mut unknown = None;
    for field in footer.schema().fields() {
        let Ok(expected) = columns.schema.field_with_name(field.name()) else {
            unknown = Some(field.name().escape_debug().to_string());
            continue;
        };
        if plain(field.data_type()) != plain(expected.data_type()) {
            return Err(format!("its column {} has another type", field.name().escape_debug()));
        }
    }
    Ok(WindowFile { path: path.to_owned(), bytes, rows, part_of, unknown })
}

/// How many rows a footer says there are, where its numbers fit the length of the file. These are the numbers that cost
/// most where they are wrong: the engine makes room for a column before it reads it, a few bytes may stand for any number
/// of rows, and columns that overlap make a short file a long one.
fn rows_that_fit(footer: &ParquetMetaData, bytes: u64) -> Result<u64, &'static str> {
    let (mut rows, mut left) = (0_u64, bytes);
    for group in footer.row_groups() {
        for column in group.columns() {
            let (start, length) = column.byte_range();
            if start.checked_add(length).is_none_or(|end| end > bytes) {
                return Err("a column is not within the file");
            }
            left = left.checked_sub(length).ok_or("its columns are longer than the file")?;
            if column.num_values() != group.num_rows() {
                return Err("a group of rows does not have each column of each row");
            }
        }
        let of_group =
            u64::try_from(group.num_rows()).map_err(|_| "a group has less than no rows")?;
        rows = rows.saturating_add(of_group);
    }
    if u64::try_from(footer.file_metadata().num_rows()) != Ok(rows) {
        return Err("the rows of its groups are not all its rows");
    }
    if rows > bytes.saturating_mul(ROWS_FOR_A_BYTE) {
        return Err("it says that it has more rows than fit into it");
    }
    Ok(rows)
}

fn without_types_of_arrow() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_skip_arrow_metadata(true)
}

/// Decodes a file, and gives its rows away.
///
/// # Errors
/// When it cannot be read or decoded, and what `each` returns.
pub(crate) fn batches(
    file: &WindowFile,
    reader: &Reader,
    mut each: impl FnMut(RecordBatch) -> Result<(), String>,
) -> Result<(), String> {
    reader.allow(file.bytes);
    let opened = open(&file.path).map_err(|error| error.to_string())?;
    let broken = |error: &dyn std::fmt::Display| format!("cannot be decoded: {error}");
    let footer = ArrowReaderMetadata::load(&opened, without_types_of_arrow())
        .map_err(|error| broken(&error))?;
    // As views: a long text that many rows share is there once.
    let fields = footer.schema().fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
        _ => field.as_ref().clone(),
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = without_types_of_arrow().with_schema(schema);
    let decoder = ArrowReaderMetadata::try_new(footer.metadata().clone(), options)
        .and_then(|footer| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(opened, footer).build()
        })
        .map_err(|error| broken(&error))?;
    let mut rows = 0;
    for batch in decoder {
        let batch = batch.map_err(|error| broken(&error))?;
        rows += batch.num_rows() as u64;
        each(batch)?;
    }
    if rows != file.rows {
        return Err(format!("has {rows} rows, and says that they are {}", file.rows));
    }
    Ok(())
}

/// What a decoder does with bytes of no sense is not all foreseen: where it panics, that is an error of the file.
pub(crate) fn careful<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err("cannot be decoded".to_owned()))
}

/// Texts are read in one of two forms.
fn plain(of: &DataType) -> DataType {
    match of {
        DataType::Utf8View => DataType::Utf8,
        other => other.clone(),
    }
}
