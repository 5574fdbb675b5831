//! Many small files become few large ones. A part names the files that it was made of, in its footer: so what is in a part
//! and what is not yet is known from the parts alone, whenever the work was interrupted.
//!
//! A list beside the parts could disagree with them after a kill. A part moves to its name when it is whole. Nothing is
//! removed but what was left unfinished here.

use crate::Fault;
use crate::columns::Columns;
use crate::files::{self, Found, MOST_NAMES, PART_KEY, WindowFile};
use crate::reader::Reader;
use crate::since::DAY;
use datafusion::arrow::array::{ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::{
    SortColumn, cast, concat_batches, lexsort_to_indices, take_record_batch,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A part ends with the group of rows that makes it as large, in bytes.
const PART_BYTES: usize = 128 << 20;
/// Rows that are sorted together, and have one range of values in the footer; fewer where they take as many bytes.
const GROUP_ROWS: usize = 500_000;
const GROUP_BYTES: usize = 512 << 20;
/// In this order neighbours are alike, and a group is of few hosts.
const ORDER: [&str; 7] = ["host", "service", "program", "fate", "cause", "call", "window_start"];
/// What is being written; no pattern for `*.parquet` matches it.
const UNFINISHED: &str = ".unfinished-needless-part";
const LOCK: &str = ".needless-fleet-lock";

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Files that are in a part now, and were in none.
    pub(crate) added: usize,
    /// Files that were in a part before.
    pub(crate) there: usize,
    /// Parts that were written.
    pub(crate) parts: usize,
    /// Files that are in no part, each with the reason.
    pub(crate) skipped: Vec<(PathBuf, String)>,
}

/// Brings the windows of `from` into parts in `to`: those of a day (UTC) together. Files in `from` stay. May be killed at
/// any time, and run again.
///
/// # Errors
/// When another one runs, and when a directory cannot be read or written.
pub(crate) fn compact(from: &Path, to: &Path, reader: &Reader) -> std::result::Result<Done, Fault> {
    let io = |error: std::io::Error| {
        Fault::new(to.display(), error, "name a directory for the parts that can be written")
    };
    if let (Ok(one), Ok(other)) = (from.canonicalize(), to.canonicalize())
        && one == other
    {
        return Err(Fault::new(
            to.display(),
            "it is the directory of the windows",
            "name another one for the parts",
        ));
    }
    fs::DirBuilder::new().recursive(true).mode(0o750).create(to).map_err(io)?;
    let lock = private(&to.join(LOCK)).map_err(io)?;
    // Where the parent of a reader was killed, the kernel ends that one a moment later.
    let locked = (0..20).find_map(|n| match lock.try_lock() {
        Err(TryLockError::WouldBlock) if n < 19 => {
            std::thread::sleep(Duration::from_millis(50));
            None
        }
        done => Some(done),
    });
    match locked.unwrap_or(Err(TryLockError::WouldBlock)) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Fault::new(
                to.display(),
                "another needless-fleet writes there",
                "wait until it has ended",
            ));
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    let columns = Columns::of_the_writer()?;
    let parts = files::list_any(&[to.to_owned()])?;
    let parts = files::look(parts, &columns, reader);
    // A part that cannot be read would be made again, and count twice once it can.
    if let Some((path, why)) = parts.skipped.first() {
        return Err(Fault::new(
            path.display(),
            why,
            "bring it back, or move it away to have it made again",
        ));
    }
    let there: HashSet<String> =
        parts.files.into_iter().flat_map(|part| part.part_of.unwrap_or_default()).collect();
    let paths = files::list(&[from.to_owned()])?;
    let found = files::look(paths, &columns, reader);
    let mut done = Done::default();
    let days = days(found, &there, &mut done);
    let mut part = Part { to, columns: &columns, reader, done };
    for (day, files) in days {
        part.day(day, &files)
            .map_err(|error| Fault::new(to.display(), error, "give it room, and run it again"))?;
    }
    Ok(part.done)
}

/// Makes a part of one window, if it is one, for the sake of what becomes of this process. The part is not kept.
///
/// # Errors
/// When the part cannot be made: no harm.
pub(crate) fn try_window(path: &Path, reader: &Reader) -> std::result::Result<(), Fault> {
    let columns = Columns::of_the_writer()?;
    let found = files::look(vec![path.to_owned()], &columns, reader);
    let mut done = Done::default();
    let files = days(found, &HashSet::new(), &mut done).into_values().flatten();
    let nowhere = Path::new("/dev/null");
    Part { to: nowhere, columns: &columns, reader, done }
        .write(nowhere, &mut files.collect::<Vec<_>>().iter())
        .map(drop)
        .map_err(|error| Fault::new(path.display(), error, "bring it again"))
}

/// A new file which only its user and group can read, as those of windows.
fn private(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o640).open(path)
}

/// The files that are in no part yet, by their day, of each day host by host.
fn days(found: Found, there: &HashSet<String>, done: &mut Done) -> BTreeMap<i64, Vec<WindowFile>> {
    done.skipped = found.skipped;
    let mut days: BTreeMap<i64, Vec<WindowFile>> = BTreeMap::new();
    for file in found.files {
        let name = file.name();
        if there.contains(&name) {
            done.there += 1;
            continue;
        }
        let why = match (start_us(&name), &file.unknown) {
            // Its rows are in memory together. An agent writes a thousand at most.
            _ if file.part_of.is_none() && file.rows > GROUP_ROWS as u64 => {
                "has more rows than a window".to_owned()
            }
            (Some(start), None) => {
                days.entry(start.div_euclid(DAY)).or_default().push(file);
                continue;
            }
            (_, _) if file.part_of.is_some() => "is a part".to_owned(),
            (_, Some(column)) => format!(
                "its column {column} is not known, and would be lost: use a newer needless-fleet"
            ),
            (None, None) => "its name is not that of a window".to_owned(),
        };
        done.skipped.push((file.path, why));
    }
    for files in days.values_mut() {
        files.sort_by_key(|file| (host(&file.name()).to_owned(), file.name()));
    }
    days
}

/// Of `needless-START-HOST.parquet`, as the ring of an agent names it.
fn start_us(name: &str) -> Option<i64> {
    let (start, _) = name.strip_prefix("needless-")?.split_once('-')?;
    start.bytes().all(|b| b.is_ascii_digit()).then(|| start.parse().ok())?
}

fn host(name: &str) -> &str {
    name.splitn(3, '-').nth(2).unwrap_or_default()
}

struct Part<'a> {
    to: &'a Path,
    columns: &'a Columns,
    reader: &'a Reader,
    done: Done,
}

impl Part<'_> {
    /// The parts of a day.
    fn day(&mut self, day: i64, files: &[WindowFile]) -> Result<()> {
        let mut files = files.iter();
        while files.len() > 0 {
            let before = self.done.added;
            let unfinished = self.to.join(UNFINISHED);
            let names = self.write(&unfinished, &mut files)?;
            if names.is_empty() {
                fs::remove_file(&unfinished)?;
                continue;
            }
            let mut hash = DefaultHasher::new();
            names.hash(&mut hash);
            let name = format!("needless-part-{day:05}-{:016x}.parquet", hash.finish());
            fs::rename(&unfinished, self.to.join(name))?;
            File::open(self.to)?.sync_all()?;
            self.done.parts += 1;
            self.done.added = before + names.len();
        }
        Ok(())
    }

    /// Writes files until the part is large enough; the names of those that are in it.
    fn write(
        &mut self,
        path: &Path,
        files: &mut std::slice::Iter<'_, WindowFile>,
    ) -> Result<Vec<String>> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_max_row_group_row_count(None)
            .build();
        // The schema of Parquet says it all; Arrow's own would only be right for this program.
        let options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let mut writer = ArrowWriter::try_new_with_options(
            private(path)?,
            self.columns.schema.clone(),
            options,
        )?;
        let (mut names, mut group) = (Vec::new(), Group::default());
        while writer.bytes_written() < PART_BYTES && names.len() < MOST_NAMES {
            let Some(file) = files.next() else { break };
            let mut of_file = Vec::new();
            let read = files::careful(|| {
                files::batches(file, self.reader, |batch| {
                    of_file.push(
                        aligned(&self.columns.schema, &batch).map_err(|error| error.to_string())?,
                    );
                    Ok(())
                })
            });
            if let Err(why) = read {
                self.done.skipped.push((file.path.clone(), why));
                continue;
            }
            names.push(file.name());
            group.read += file.bytes;
            group.batches.append(&mut of_file);
            if group.is_full() {
                self.group(&mut writer, std::mem::take(&mut group))?;
            }
            let added = self.done.added + names.len();
            self.reader.say(|| format!("{added} files are in parts"));
        }
        self.group(&mut writer, group)?;
        let fact = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        writer.append_key_value_metadata(fact(
            &self.columns.key,
            needless_fleet::FILE_SCHEMA.to_owned(),
        ));
        writer.append_key_value_metadata(fact(PART_KEY, names.join("\n")));
        writer.into_inner()?.sync_all()?;
        Ok(names)
    }

    /// Sorts what waits, and writes it as a group.
    fn group(&self, writer: &mut ArrowWriter<File>, group: Group) -> Result<()> {
        if group.batches.is_empty() {
            return Ok(());
        }
        self.reader.allow(group.read);
        let all = concat_batches(&self.columns.schema, &group.batches)?;
        drop(group);
        let by = ORDER.iter().filter_map(|name| all.column_by_name(name));
        let by: Vec<_> =
            by.map(|values| SortColumn { values: values.clone(), options: None }).collect();
        let order = lexsort_to_indices(&by, None)?;
        writer.write(&take_record_batch(&all, &order)?)?;
        writer.flush()
    }
}

/// Rows that wait to be sorted together.
#[derive(Default)]
struct Group {
    batches: Vec<RecordBatch>,
    /// Bytes of the files that they were read from.
    read: u64,
}

impl Group {
    fn is_full(&self) -> bool {
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        let bytes: usize = self.batches.iter().map(RecordBatch::get_array_memory_size).sum();
        rows >= GROUP_ROWS || bytes >= GROUP_BYTES
    }
}

/// A batch with all columns, in their order; those that the file lacks are null.
fn aligned(
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> std::result::Result<RecordBatch, ArrowError> {
    let columns = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => cast(column, field.data_type()),
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
    });
    let columns: Vec<ArrayRef> = columns.collect::<std::result::Result<_, _>>()?;
    RecordBatch::try_new(schema.clone(), columns)
}
