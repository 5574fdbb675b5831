//! Files that somebody made to do harm, among others: each is named in a line, and the answer is that of the others. All
//! processes have little memory, so that the one which reads dies of what would take a larger machine longer.
//! `NEEDLESS_SEED` repeats a run.

use crate::common::{FLEET, stderr, text};
use needless_synthetic_fleet::{Fleet, file_name};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

const SMALL: Fleet = Fleet { hosts: 5, days: 1, ..FLEET };
/// Bytes of memory that each process may have.
const MEMORY: &str = "--data=1073741824";
/// The mark at both ends of a file.
const MARK: &[u8] = b"PAR1";

fn limited(words: &[&str], places: &[&Path]) -> Output {
    let mut limited = Command::new("prlimit");
    limited.args([MEMORY, env!("CARGO_BIN_EXE_needless-fleet")]).args(words).args(places);
    limited.output().unwrap()
}

fn fleet() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windows");
    SMALL.write(&path).unwrap();
    (folder, path)
}

fn first(folder: &Path) -> Vec<u8> {
    let (window, _) = SMALL.all().next().unwrap();
    std::fs::read(folder.join("day-000").join(file_name(&window))).unwrap()
}

/// Where the footer of a file begins.
fn footer(file: &[u8]) -> usize {
    let end = file.len() - 8;
    end - u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize
}

/// A text and then zeros, so many bytes together, as Zstandard has them: a header with the length, a block as it is, and
/// blocks of one byte that is repeated. Source: RFC 8878, sections 3.1.1.1 and 3.1.1.2.
fn zeros_after(text: &[u8], length: u32) -> Vec<u8> {
    const BLOCK: u32 = 128 << 10;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend(length.to_le_bytes());
    let header = |block: u32, kind: u32, is_last: bool| {
        (block << 3 | kind << 1 | u32::from(is_last)).to_le_bytes()
    };
    frame.extend(&header(text.len() as u32, 0, false)[..3]);
    frame.extend(text);
    let mut left = length - text.len() as u32;
    while left > 0 {
        let block = left.min(BLOCK);
        left -= block;
        frame.extend(&header(block, 1, left == 0)[..3]);
        frame.push(0);
    }
    frame
}

/// Rows of a page.
const ROWS: i64 = 2048;

/// A page of rows without a value, which is so long when it is decompressed. In front of values are the levels: four bytes
/// with their length, twice the number of rows, and the level of a value that is not there.
fn page(length: u32) -> CompressedPage {
    let page = Page::DataPage {
        buf: zeros_after(&[3, 0, 0, 0, 0x80, 0x20, 0], length).into(),
        num_values: ROWS as u32,
        encoding: Encoding::PLAIN,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    CompressedPage::new(page, length as usize)
}

/// A dictionary that says how long it is when it is decompressed, and how many values it has.
fn dictionary(length: u32, values: u32) -> CompressedPage {
    let (num_values, encoding) = (values, Encoding::PLAIN);
    let buf = zeros_after(&[], 64).into();
    let page = Page::DictionaryPage { buf, num_values, encoding, is_sorted: false };
    CompressedPage::new(page, length as usize)
}

/// A window whose one column has these pages, and whose footer says that it has so many rows, and so many bytes more than
/// it has.
fn window(column: &str, pages: Vec<CompressedPage>, rows: i64, more: i64) -> Vec<u8> {
    let schema = format!("message rows {{ OPTIONAL BYTE_ARRAY {column} (STRING); }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let schema = Arc::new(SchemaDescriptor::new(schema));
    let mut file = MARK.to_vec();
    let mut out = TrackedWrite::new(&mut file);
    for page in pages {
        SerializedPageWriter::new(&mut out).write_page(page).unwrap();
    }
    drop(out);
    let bytes = (file.len() - MARK.len()) as i64 + more;
    let chunk = ColumnChunkMetaData::builder(schema.column(0))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_num_values(rows)
        .set_total_compressed_size(bytes)
        .set_total_uncompressed_size(bytes)
        .set_data_page_offset(MARK.len() as i64)
        .build()
        .unwrap();
    let group = RowGroupMetaData::builder(schema.clone())
        .set_num_rows(rows)
        .set_total_byte_size(bytes)
        .set_column_metadata(vec![chunk])
        .build()
        .unwrap();
    let version = KeyValue::new("needless.schema".to_owned(), "needless.rows/1".to_owned());
    let about = FileMetaData::new(1, rows, None, Some(vec![version]), schema, None);
    let about = ParquetMetaData::new(about, vec![group]);
    ParquetMetaDataWriter::new(&mut file, &about).finish().unwrap();
    file
}

/// The files that an answer is without, each with the reason.
fn left_out(done: &Output) -> BTreeMap<String, String> {
    let said = stderr(done);
    let mut lines: Vec<&str> = said.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("needless-fleet: ")), "{said}");
    let last = lines.pop().unwrap_or_default();
    assert!(last.starts_with(&format!("needless-fleet: skipped {} of ", lines.len())), "{said}");
    let names = lines.iter().map(|line| {
        let (path, why) = line["needless-fleet: skipped ".len()..].split_once(": ").unwrap();
        let name = Path::new(path).file_stem().unwrap().to_str().unwrap();
        (name.to_owned(), why.to_owned())
    });
    let names: BTreeMap<_, _> = names.collect();
    assert_eq!(names.len(), lines.len(), "{said}");
    names
}

#[test]
fn a_hostile_file_is_named_and_the_others_answer() {
    let (_folder, path) = fleet();
    let whole = text(&["causes"], &path);
    let good = first(&path);
    let (end, footer) = (good.len() - 8, footer(&good));
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    const MOST: u32 = i32::MAX as u32;
    // What asks for more memory than there is ends the reader; what can be seen in the footer does not come so far.
    let memory = "its reader ran out of memory";
    let fit = "it says that it has more rows than fit into it";
    let all: [(&str, Vec<u8>, &str); 12] = [
        ("page", window("cause", vec![page(MOST)], ROWS, 0), memory),
        ("dictionary", window("cause", vec![dictionary(MOST, 1), page(64)], ROWS, 0), memory),
        ("values", window("cause", vec![dictionary(64, MOST), page(64)], ROWS, 0), ""),
        ("rows", window("cause", vec![page(64)], 1 << 40, 0), fit),
        ("less", window("cause", vec![page(64)], -5, 0), "a group has less than no rows"),
        ("long", window("cause", vec![page(64)], ROWS, 4 << 30), "a column is not within the file"),
        ("list", with(footer + 3, &[0xfc, 0xff, 0xff, 0xff, 0x7f]), "not a whole Parquet file: "),
        ("footer", with(end, &[0xff; 4]), "not a whole Parquet file: "),
        ("half", good[..good.len() / 2].to_vec(), "not a whole Parquet file: "),
        ("mark", with(end + 4, b"PAR9"), "not a whole Parquet file: "),
        ("text", vec![b' '; 200], "not a whole Parquet file: "),
        ("name", window("\u{1b}[2J", vec![page(64)], ROWS, 0), ""),
    ];
    for (name, bytes, _) in &all {
        std::fs::write(path.join(format!("{name}.parquet")), bytes).unwrap();
    }
    // A pipe that nobody writes to.
    let pipe = path.join("pipe.parquet");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let done = limited(&["causes"], &[&path]);
    assert!(done.status.success(), "{}: {}", done.status, stderr(&done));
    let names = left_out(&done);
    for (name, _, why) in &all {
        assert!(why.is_empty() || names[*name].starts_with(why), "{name}: {names:?}");
    }
    assert_eq!(names["pipe"], "not a regular file");
    assert_eq!(String::from_utf8(done.stdout).unwrap(), whole);

    // Into parts none of them comes, whatever its name.
    let named = path.join("needless-1793491200000000-evil.parquet");
    std::fs::rename(path.join("page.parquet"), &named).unwrap();
    let parts = path.with_file_name("parts");
    let done = limited(&["compact"], &[&path, &parts]);
    let said = stderr(&done);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("-evil.parquet: {memory}\n")), "{said}");
    assert_eq!(text(&["causes"], &parts), whole);
    // Where there is nothing else, there is no answer.
    let done = limited(&["causes"], &[&named]);
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).contains("none of 1 can be read"), "{}", stderr(&done));
}

/// One text that all rows have: each is small where it is read, and large where a question makes a text of it.
fn one_text(length: u32) -> Vec<CompressedPage> {
    let dictionary = Page::DictionaryPage {
        buf: zeros_after(&length.to_le_bytes(), length + 4).into(),
        num_values: 1,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    // The levels of values that are there, then the first of the dictionary as often, in one bit.
    let rows = Page::DataPage {
        buf: zeros_after(&[3, 0, 0, 0, 0x80, 0x20, 1, 1, 0x80, 0x20, 0], 12).into(),
        num_values: ROWS as u32,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    vec![CompressedPage::new(dictionary, length as usize + 4), CompressedPage::new(rows, 12)]
}

/// What is harmful is found by the question that it harms, and is no harm to others.
#[test]
fn a_file_that_makes_a_question_large_is_left_out() {
    let (folder, path) = fleet();
    let (sql, count) = (folder.path().join("texts.sql"), folder.path().join("count.sql"));
    std::fs::write(&sql, "SELECT max(cause) AS cause FROM (SELECT cause || '!' AS cause, row_number() OVER (ORDER BY calls) AS n FROM needless_rows)").unwrap();
    std::fs::write(&count, "SELECT count(cause) AS causes FROM needless_rows").unwrap();
    let asked = |sql: &Path| limited(&["query", sql.to_str().unwrap()], &[&path]);
    let whole = asked(&sql);
    assert!(whole.status.success() && whole.stderr.is_empty(), "{}", stderr(&whole));
    let before = String::from_utf8(asked(&count).stdout).unwrap();
    let long = window("cause", one_text(768 << 10), ROWS, 0);
    std::fs::write(path.join("long.parquet"), long).unwrap();
    let done = asked(&sql);
    assert_eq!(left_out(&done)["long"], "its reader ran out of memory");
    assert_eq!(done.stdout, whole.stdout);
    let done = asked(&count);
    assert!(done.status.success() && done.stderr.is_empty(), "{}", stderr(&done));
    assert_ne!(String::from_utf8(done.stdout).unwrap(), before);
}

/// A short file that is long to read: the limit is one of the processor's time.
#[test]
fn a_file_that_takes_too_long_is_left_out() {
    let (_folder, path) = fleet();
    let whole = text(&["causes"], &path);
    const PAGES: i64 = 30_000;
    let pages = (0..PAGES).map(|_| page(16 << 20)).collect();
    std::fs::write(path.join("slow.parquet"), window("cause", pages, PAGES * ROWS, 0)).unwrap();
    let done = limited(&["causes"], &[&path]);
    assert_eq!(left_out(&done)["slow"], "its reader ran out of time");
    assert_eq!(String::from_utf8(done.stdout).unwrap(), whole);
}

/// What was found by fuzzing, and what was made by hand to mislead readers.
#[test]
fn known_files_do_no_harm() {
    let (_folder, path) = fleet();
    let whole = text(&["causes"], &path);
    let known = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fleet/hostile");
    for file in std::fs::read_dir(known).unwrap() {
        let from = file.unwrap().path();
        std::fs::copy(&from, path.join(from.file_name().unwrap()).with_extension("parquet"))
            .unwrap();
    }
    let done = limited(&["causes"], &[&path]);
    let names = left_out(&done);
    assert!(!names.contains_key("whole"), "{names:?}");
    assert_eq!(String::from_utf8(done.stdout).unwrap(), whole);
}

/// Numbers that look like chance: xorshift (Marsaglia, 2003).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// Changes some bytes, mostly to what thrift reads as large numbers.
fn damage(bytes: &mut [u8], dice: &mut Dice) {
    let footer = footer(bytes);
    for _ in 0..=dice.below(3) {
        // The footer, or the start of a column, where its page's header is.
        let at = if dice.below(2) == 0 {
            footer + dice.below(bytes.len() - 8 - footer)
        } else {
            4 + dice.below(footer - 4)
        };
        match dice.below(4) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.below(256) as u8,
            2 => {
                let large = [0xff, 0xff, 0xff, 0xff, 0x0f];
                let end = (at + large.len()).min(bytes.len() - 8);
                bytes[at..end].copy_from_slice(&large[..end - at]);
            }
            _ => bytes[at] = 0xfc,
        }
    }
}

#[test]
fn damage_at_random_is_survived() {
    let (_folder, path) = fleet();
    let good = first(&path);
    let seed = std::env::var("NEEDLESS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("NEEDLESS_SEED={seed}");
    let mut dice = Dice(seed | 1);
    for n in 0..500 {
        let mut bytes = good.clone();
        damage(&mut bytes, &mut dice);
        std::fs::write(path.join(format!("{n}.parquet")), bytes).unwrap();
    }
    let done = limited(&["causes"], &[&path]);
    assert!(done.status.success(), "seed {seed}: {}: {}", done.status, stderr(&done));
    let refused = left_out(&done).len();
    assert!((25..475).contains(&refused), "seed {seed}: {refused}");
}

#[test]
fn only_the_program_itself_starts_a_reader() {
    let done = limited(&["--reader", "1", "answer", "causes"], &[Path::new("/")]);
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).contains("--reader: the process that started it is gone"));
}
