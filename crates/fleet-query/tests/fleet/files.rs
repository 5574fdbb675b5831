//! Files as they come from many hosts: some of them broken, older, newer, twice or not ours.

use crate::common::{FLEET, asked, rows, stderr, text};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use needless_synthetic_fleet::{Fleet, file_name};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SMALL: Fleet = Fleet { hosts: 5, days: 1, ..FLEET };

/// A fleet in a directory whose name has to be taken as it is.
fn fleet() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b%20#é");
    SMALL.write(&path).unwrap();
    (folder, path)
}

fn first(folder: &Path) -> PathBuf {
    let (window, _) = SMALL.all().next().unwrap();
    folder.join("day-000").join(file_name(&window))
}

/// The rows of a file once more, changed, with a version of the columns.
fn rewrite(file: &Path, to: &Path, version: &str, change: impl FnOnce(RecordBatch) -> RecordBatch) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let batch = change(reader.build().unwrap().next().unwrap().unwrap());
    let fact = KeyValue::new("needless.schema".to_owned(), version.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![fact])).build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let to = File::create(to).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(to, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_answers() {
    let (_folder, path) = fleet();
    let whole = text(&["causes"], &path);
    let first = first(&path);
    let bytes = std::fs::read(&first).unwrap();
    let add = |name: &str, bytes: &[u8]| std::fs::write(path.join(name), bytes).unwrap();
    add("half.parquet", &bytes[..bytes.len() / 2]);
    add("empty.parquet", b"");
    add("text.parquet", b"not Parquet at all, but longer than its shortest footer");
    rewrite(&first, &path.join("newer.parquet"), "needless.rows/9", |batch| batch);
    rewrite(&first, &path.join("foreign.parquet"), "something else", |batch| batch);
    // Its end is whole, and its pages are not.
    let mut broken = bytes.clone();
    broken[4..bytes.len() / 2].fill(0x5a);
    add("broken.parquet", &broken);
    let done = asked(&["causes"], &[&path]);
    let said = stderr(&done);
    assert!(done.status.success(), "{said}");
    assert_eq!(String::from_utf8(done.stdout).unwrap(), whole);
    for name in ["half", "empty", "text", "newer", "foreign", "broken"] {
        let named =
            said.lines().filter(|line| line.contains(&format!("/{name}.parquet: "))).count();
        assert_eq!(named, 1, "{name}: {said}");
    }
    assert!(said.ends_with("skipped 6 of 16 files; the answer is without them\n"), "{said}");
    assert_eq!(said.lines().count(), 7);

    // Where nothing can be read there is no answer.
    let done = asked(&["causes"], &[&path.join("half.parquet")]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        stderr(&done).ends_with("none of 1 can be read; bring the files of the agents again\n")
    );
}

/// Whoever may write into the directory gives names, too.
#[test]
fn a_strange_name_costs_one_file() {
    let (_folder, path) = fleet();
    let whole = text(&["causes"], &path);
    let names = ["new\nline\u{1b}[2J.parquet".as_bytes(), b"not\xffutf8.parquet"];
    std::fs::rename(first(&path), path.join(OsStr::from_bytes(names[0]))).unwrap();
    std::fs::write(path.join(OsStr::from_bytes(names[1])), "none").unwrap();
    std::fs::create_dir(path.join("folder.parquet")).unwrap();
    std::os::unix::fs::symlink("loop.parquet", path.join("loop.parquet")).unwrap();
    let done = asked(&["causes"], &[&path]);
    let said = stderr(&done);
    assert!(done.status.success() && !said.contains('\u{1b}'), "{said}");
    assert_eq!(String::from_utf8(done.stdout).unwrap(), whole);
    assert!(said.ends_with("skipped 2 of 12 files; the answer is without them\n"), "{said}");
}

#[test]
fn any_damage_is_survived() {
    let (_folder, path) = fleet();
    let damaged = path.join("needless-damaged.parquet");
    let bytes = std::fs::read(first(&path)).unwrap();
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(File::open(first(&path)).unwrap()).unwrap();
    let column = reader.metadata().row_group(0).column(0);
    // The indices of its pages are between them and the footer.
    let (index, offsets) =
        (column.column_index_offset().unwrap(), column.offset_index_offset().unwrap());
    let anywhere = (0..16).map(|n| n * bytes.len() / 16);
    for at in anywhere.chain([index, offsets].map(|at| at as usize)) {
        let mut bytes = bytes.clone();
        let end = (at + 3).min(bytes.len());
        bytes[at..end].fill(0xff);
        std::fs::write(&damaged, bytes).unwrap();
        let done = asked(&["coverage"], &[&path]);
        let said = stderr(&done);
        assert!(done.status.success(), "{at}: {said}");
        assert!(said.is_empty() || said.lines().count() == 2, "{at}: {said}");
    }
}

#[test]
fn older_and_newer_files_are_read_in_one_scan() {
    let (_folder, path) = fleet();
    let (whole, coverage) = (text(&["causes"], &path), text(&["coverage"], &path));
    let all: Vec<PathBuf> =
        SMALL.all().map(|(window, _)| path.join("day-000").join(file_name(&window))).collect();
    // An agent from before the columns `call` and `variable`, and one that counts something more.
    rewrite(&all[0], &all[0], "needless.rows/1", |batch| {
        let keep = |name: &str| name != "call" && name != "variable";
        let schema = batch.schema();
        let left: Vec<usize> =
            (0..batch.num_columns()).filter(|n| keep(schema.field(*n).name())).collect();
        batch.project(&left).unwrap()
    });
    rewrite(&all[1], &all[1], "needless.rows/1", |batch| {
        let more: ArrayRef = Arc::new(Int64Array::from(vec![7; batch.num_rows()]));
        let schema = batch.schema();
        let old = schema.fields().iter().zip(batch.columns());
        let columns =
            old.map(|(field, column)| (field.name().as_str(), column.clone(), field.is_nullable()));
        RecordBatch::try_from_iter_with_nullable(
            std::iter::once(("more", more, false)).chain(columns),
        )
        .unwrap()
    });
    assert_eq!((text(&["causes"], &path), text(&["coverage"], &path)), (whole, coverage));
    let calls = rows(&["service", "nginx.service"], &path);
    assert!(
        calls.iter().any(|row| row["call"].is_null())
            && calls.iter().any(|row| row["call"] == "newfstatat")
    );
}

/// What the first version of the columns wrote, compressed in another way, stays as it is.
#[test]
fn a_first_file_is_read() {
    let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fleet/tests/it/first.parquet");
    assert_eq!(rows(&["coverage"], &first).len(), 1);
}

#[test]
fn a_window_that_is_there_twice_counts_once() {
    let (folder, path) = fleet();
    let whole = text(&["coverage"], &path);
    let again = folder.path().join("again");
    std::fs::create_dir(&again).unwrap();
    let first = first(&path);
    std::fs::copy(&first, again.join(first.file_name().unwrap())).unwrap();
    let done = asked(&["coverage"], &[&path, &again, &path]);
    assert_eq!(String::from_utf8(done.stdout.clone()).unwrap(), whole);
    assert!(stderr(&done).contains("1 of 11 files are copies of others"), "{}", stderr(&done));
}

#[test]
fn errors_are_one_line_and_questions_change_nothing() {
    let (folder, path) = fleet();
    let fails = |words: &[&str], place: &Path, why: &str| {
        let done = asked(words, &[place]);
        let said = stderr(&done);
        assert_eq!((done.status.code(), said.lines().count()), (Some(1), 1), "{words:?}: {said}");
        assert!(said.starts_with("needless-fleet: ") && said.contains(why), "{words:?}: {said}");
    };
    fails(&["causes"], &path.join("nowhere"), "No such file or directory");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    fails(&["causes"], &empty, "no file *.parquet is there");
    let ask = |sql: &str| {
        let file = folder.path().join("question.sql");
        std::fs::write(&file, sql).unwrap();
        file.display().to_string()
    };
    let one = ask("SELECT sum(calls) AS calls FROM needless_rows;");
    assert_eq!(rows(&["query", &one], &path).len(), 1);
    fails(&["query", &ask("SELECT nothing FROM needless_rows")], &path, "nothing");
    fails(&["query", &ask("SELEC")], &path, "SELEC");
    fails(&["query", &ask("")], &path, "question");
    let to = folder.path().join("out.parquet");
    fails(
        &["query", &ask(&format!("COPY needless_rows TO '{}'", to.display()))],
        &path,
        "question",
    );
    fails(&["query", &ask("CREATE TABLE t AS SELECT 1")], &path, "question");
    fails(&["query", &ask("SELECT 1; SELECT 2")], &path, "question");
    fails(&["query", "nowhere.sql"], &path, "nowhere.sql");
    assert!(!to.exists());
    let done = asked(&["causes", "--since", "yesterday"], &[&path]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("expected 7d, 12h, 30m or a date"));
}

#[test]
fn tables_are_aligned_and_steer_no_terminal() {
    let (folder, path) = fleet();
    let file = folder.path().join("q.sql");
    std::fs::write(
        &file,
        "SELECT 'a\u{1b}[2Jb' AS name, 12 AS n UNION ALL SELECT 'c', 3 ORDER BY n DESC",
    )
    .unwrap();
    let shown = text(&["query", file.to_str().unwrap()], &path);
    assert_eq!(shown, "name     n\na\u{fffd}[2Jb  12\nc        3\n");
}
