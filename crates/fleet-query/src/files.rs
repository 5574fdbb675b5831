//! The files of a question: those of the directories, each looked at by its end, which Parquet writes last.

use crate::Fault;
use crate::columns::{Columns, READ};
use datafusion::arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A file of windows that was found whole by its footer.
#[derive(Clone, Debug)]
pub(crate) struct WindowFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

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
    let mut all = Vec::new();
    for place in places {
        let about = |error| {
            Fault::new(place.display(), error, "name a directory with files of needless agent")
        };
        let place = std::path::absolute(place).map_err(about)?;
        if place.is_file() {
            all.push(place);
        } else {
            walk(&place, &mut all).map_err(about)?;
        }
    }
    if all.is_empty() {
        let names: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        return Err(Fault::new(
            names.join(", "),
            "no file *.parquet is there",
            "name the directory to which the files of needless agent were brought",
        ));
    }
    all.sort_by(|a, b| (a.file_name(), a).cmp(&(b.file_name(), b)));
    all.dedup();
    Ok(all)
}

fn walk(folder: &Path, all: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            walk(&path, all)?;
        } else if path.extension().is_some_and(|ending| ending == "parquet") {
            all.push(path);
        }
    }
    Ok(())
}

/// Looks at the end of each file. `looked` is called with the number of files that were looked at.
pub(crate) fn look(paths: Vec<PathBuf>, columns: &Columns, looked: impl Fn(usize)) -> Found {
    let mut found = Found::default();
    let mut names: HashSet<OsString> = HashSet::new();
    for (n, path) in paths.into_iter().enumerate() {
        looked(n);
        // The name has the host and the start of the window: the same name is the same window.
        let name = path.file_name().unwrap_or_default().to_owned();
        if names.contains(&name) {
            found.copies += 1;
            continue;
        }
        match careful(|| footer(&path, columns)) {
            Ok(file) => {
                names.insert(name);
                found.files.push(file);
            }
            Err(why) => found.skipped.push((path, why)),
        }
    }
    found
}

fn footer(path: &Path, columns: &Columns) -> Result<WindowFile, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    let footer = ArrowReaderMetadata::load(&file, Default::default())
        .map_err(|error| format!("not a whole Parquet file: {error}"))?;
    let facts = footer.metadata().file_metadata().key_value_metadata();
    let schema = facts.into_iter().flatten().find(|fact| fact.key == columns.key);
    match schema.and_then(|fact| fact.value.as_deref()) {
        None => return Err("not written by needless agent".to_owned()),
        Some(version) if READ.contains(&version) => {}
        Some(other) => {
            let (other, known) = (other.escape_debug(), READ.join(", "));
            return Err(format!("its columns are {other}; this program reads {known}"));
        }
    }
    // Within a version columns are only added: an older file may lack some, a newer one may have more.
    for field in footer.schema().fields() {
        let Ok(expected) = columns.schema.field_with_name(field.name()) else { continue };
        if plain(field.data_type()) != plain(expected.data_type()) {
            return Err(format!("its column {} has another type", field.name().escape_debug()));
        }
    }
    let rows = footer.metadata().file_metadata().num_rows();
    Ok(WindowFile { path: path.to_owned(), bytes, rows: rows.try_into().unwrap_or(0) })
}

/// Decodes each file as a whole, and leaves out those of which that fails: after a question failed, to find out why.
pub(crate) fn decode(found: &mut Found, looked: impl Fn(usize)) {
    let files = std::mem::take(&mut found.files);
    for (n, file) in files.into_iter().enumerate() {
        looked(n);
        match careful(|| decodes(&file)) {
            Ok(()) => found.files.push(file),
            Err(why) => found.skipped.push((file.path, why)),
        }
    }
}

fn decodes(file: &WindowFile) -> Result<(), String> {
    let opened = File::open(&file.path).map_err(|error| error.to_string())?;
    let broken = |error: &dyn std::fmt::Display| format!("cannot be decoded: {error}");
    let reader = ParquetRecordBatchReaderBuilder::try_new(opened)
        .and_then(|builder| builder.build())
        .map_err(|error| broken(&error))?;
    let mut rows = 0;
    for batch in reader {
        rows += batch.map_err(|error| broken(&error))?.num_rows() as u64;
    }
    if rows != file.rows {
        return Err(format!("has {rows} rows, and says that they are {}", file.rows));
    }
    Ok(())
}

/// What a decoder does with bytes of no sense is not all foreseen: where it panics, that is an error of the file.
fn careful<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err("cannot be decoded".to_owned()))
}

/// Texts are read in one of two forms.
fn plain(of: &DataType) -> DataType {
    match of {
        DataType::Utf8View => DataType::Utf8,
        other => other.clone(),
    }
}
