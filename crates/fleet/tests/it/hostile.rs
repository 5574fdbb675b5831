//! Files that a stranger may have made: whatever passes the look at their footer and pages is decoded within a bounded
//! memory. `NEEDLESS_SEED` repeats a run.

use needless_fleet::{AgentWindow, Dimensions, Footer, Measures, parquet};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Output};

/// Set in the process whose memory is limited.
const LIMITED: &str = "NEEDLESS_HOSTILE";
/// Bytes of address space for it; a page that a header makes out to be large has 2 GiB.
const MEMORY: &str = "--as=536870912";
const FILES: usize = 4000;

/// Runs a test of this file once more, with limited memory.
fn limited(test: &str, seed: u64) -> Output {
    Command::new("prlimit")
        .args([MEMORY, "--core=0"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(LIMITED, seed.to_string())
        .output()
        .unwrap()
}

fn seed_of_limited() -> Option<u64> {
    std::env::var(LIMITED).ok()?.parse().ok()
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

fn window() -> Vec<u8> {
    let window = AgentWindow {
        end_us: 300_000_000,
        host: "web-1".into(),
        labels: "rack=7".into(),
        sample_scale: 1.0,
        version: "0.1.0".into(),
        ..AgentWindow::default()
    };
    let row = |n: i64| {
        let of = Dimensions { service: Some(format!("{n}.service")), ..Dimensions::default() };
        (of, Measures { calls: n * 12_345, ..Measures::default() })
    };
    parquet(&window, &(0..200).map(row).collect::<Vec<_>>()).unwrap()
}

/// Changes some bytes, mostly to what thrift reads as large numbers.
fn damage(bytes: &mut [u8], dice: &mut Dice) {
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let footer = bytes.len() - 8 - footer;
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

/// Decodes all rows, as far as they can be.
fn decode(file: File) -> Option<usize> {
    let reader = SerializedFileReader::new(file).ok()?;
    let mut rows = 0;
    for row in reader.get_row_iter(None).ok()? {
        row.ok()?;
        rows += 1;
    }
    Some(rows)
}

#[test]
fn what_passes_is_decoded_in_bounded_memory() {
    let Some(seed) = seed_of_limited() else {
        let seed = std::env::var("NEEDLESS_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("NEEDLESS_SEED={seed}");
        let done = limited("hostile::what_passes_is_decoded_in_bounded_memory", seed);
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "seed {seed}: {}: {said}", done.status);
        assert!(said.contains("1 passed"), "{said}");
        return;
    };
    std::panic::set_hook(Box::new(|_| ()));
    let mut dice = Dice(seed | 1);
    let whole = window();
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..FILES {
        let mut bytes = whole.clone();
        damage(&mut bytes, &mut dice);
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        match Footer::of(&file).and_then(|footer| footer.check_pages(&file)) {
            Ok(()) => passed += 1,
            Err(_) => {
                refused += 1;
                continue;
            }
        }
        // A panic is an error of one file; that memory runs out would end the process.
        let _ = catch_unwind(AssertUnwindSafe(|| decode(file)));
    }
    assert!(passed > FILES / 20 && refused > FILES / 20, "{passed} passed, {refused} refused");
}

/// In front of the first page: a dictionary of one value, which says that it has 2 GiB when it is decompressed.
fn with_a_large_page() -> Vec<u8> {
    let mut bytes = window();
    let header =
        [0x15, 4, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 2, 0x4c, 0x15, 2, 0x15, 0, 0, 0];
    bytes[4..4 + header.len()].copy_from_slice(&header);
    bytes
}

/// What the look is for, and that the limit is one. Where the crate survives this, it has learned to look itself.
#[test]
fn without_the_look_a_number_ends_the_process() {
    if seed_of_limited().is_some() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&with_a_large_page(), 0).unwrap();
        let _ = catch_unwind(AssertUnwindSafe(|| decode(file)));
        return;
    }
    let done = limited("hostile::without_the_look_a_number_ends_the_process", 1);
    assert_eq!(done.status.signal(), Some(6), "{done:?}");
}

#[test]
fn what_agents_write_and_wrote_passes() {
    let file = tempfile::tempfile().unwrap();
    for bytes in [
        window(),
        parquet(&AgentWindow::default(), &[]).unwrap(),
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/first.parquet"))
            .unwrap(),
    ] {
        file.set_len(0).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let footer = Footer::of(&file).unwrap();
        footer.check_pages(&file).unwrap();
        assert_eq!(footer.schema.as_deref(), Some(needless_fleet::FILE_SCHEMA));
        assert_eq!(decode(file.try_clone().unwrap()), Some(footer.rows as usize));
    }
}

/// Each number that would make a reader do too much, by itself.
#[test]
fn each_number_is_compared_with_the_file() {
    let whole = window();
    let why = |bytes: &[u8]| {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        let looked = Footer::of(&file).and_then(|footer| footer.check_pages(&file));
        looked.unwrap_err().to_string()
    };
    let end = whole.len();
    let footer = end - 8 - u32::from_le_bytes(whole[end - 8..end - 4].try_into().unwrap()) as usize;
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    assert_eq!(why(&whole[..end - 1]), "not a whole Parquet file");
    assert_eq!(why(b"PAR1"), "not a whole Parquet file");
    assert_eq!(why(&with(end - 8, &[0xff; 4])), "not a whole Parquet file");
    assert_ne!(why(&with(end - 8, &[3])), "");
    // `version`, a number, then `schema`, a list: of so many elements, of a type that is none, longer than the footer.
    assert_eq!(whole[footer..footer + 3], [0x15, 2, 0x19]);
    assert_eq!(
        why(&with(footer + 3, &[0xfc, 0xff, 0xff, 0xff, 0x7f])),
        "a list has more elements than bytes"
    );
    assert_eq!(why(&with(footer, &[0x1b])), "a field has another type than the format says");
    assert_eq!(why(&with_a_large_page()), "a page would be too large");
}
