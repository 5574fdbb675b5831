//! Any bytes do no harm: no panic, and each moment is in the range that is reported for it.

#[path = "../../../../fuzz/check_zone.rs"]
mod check_zone;

use crate::zones::Random;
use needless_localtime::Zone;
use std::path::Path;

/// A version 2 file with these transitions, two types, none or one leap second and a footer.
fn file(transitions: &[i64], leaps: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for width in [4, 8] {
        bytes.extend(b"TZif2");
        bytes.extend([0; 15]);
        for count in [0, 0, leaps, transitions.len() as u32, 2, 8] {
            bytes.extend(count.to_be_bytes());
        }
        for t in transitions {
            bytes.extend(&t.to_be_bytes()[8 - width..]);
        }
        bytes.extend((0..transitions.len()).map(|at| 1 - at as u8 % 2));
        bytes.extend([0, 0, 14, 16, 0, 0, 0, 0, 28, 32, 1, 4]);
        bytes.extend(b"CET\0CES\0");
        if leaps == 1 {
            bytes.extend(&78_796_800_i64.to_be_bytes()[8 - width..]);
            bytes.extend(1_i32.to_be_bytes());
        }
    }
    bytes.extend(b"\nCET-1CES,M3.5.0,M10.5.0/3\n");
    bytes
}

#[test]
fn a_valid_file_is_read() {
    let zone = Zone::from_tzif(&file(&[100, 200], 1)).unwrap();
    let at = |t| zone.type_at(t).map(|kind| (kind.isdst, kind.gmtoff, kind.abbr));
    assert_eq!(at(99), Some((false, 3600, &b"CET"[..])));
    assert_eq!(at(100), Some((true, 7200, &b"CES"[..])));
    // After the last transition the footer applies: July 2024.
    assert_eq!(at(1_720_000_000), Some((true, 7200, &b"CES"[..])));
    assert!(zone.has_leaps() && zone.is_by_rules(200) && !zone.is_by_rules(199));
}

#[test]
fn files_with_wrong_bytes_do_no_harm() {
    let mut random = Random(0x5eed_0004);
    let mut accepted = 0;
    for round in 0..20_000 {
        let transitions: Vec<i64> = match round % 3 {
            0 => vec![100, 200, 300_000_000],
            1 => vec![i64::MIN, i64::MAX],
            _ => (0..random.below(40)).map(|_| random.below(u64::MAX) as i64).collect(),
        };
        let mut bytes = file(&transitions, u32::from(round % 5 == 0));
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        if random.below(8) == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        let Ok(zone) = Zone::from_tzif(&bytes) else { continue };
        accepted += 1;
        check_zone::check_zone(&zone, &bytes);
    }
    assert!(accepted > 5_000, "only {accepted} accepted");
}

#[test]
fn texts_of_any_bytes_do_no_harm() {
    let mut random = Random(0x5eed_0005);
    let valid = b"<+0330>-3:30DEF,M3.5.0/-25,J300/167:59:59";
    let alphabet = b"ABCxyz<>+-:,./0123456789JM \xff\0";
    for _ in 0..20_000 {
        let mut text = valid.to_vec();
        for _ in 0..random.below(20) {
            let at = random.below(text.len() as u64) as usize;
            text[at] = alphabet[random.below(alphabet.len() as u64) as usize];
        }
        text.truncate(random.below(text.len() as u64 + 1) as usize);
        check_zone::check_zone(&Zone::from_posix(&text), &text);
    }
}

/// The inputs that the fuzz targets start from, and those that they found.
#[test]
fn the_fuzz_corpus_does_no_harm() {
    let read = |target: &str| -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let files = std::fs::read_dir(&folder).expect("the corpus").flatten();
        files.map(|file| std::fs::read(file.path()).expect("a file")).collect()
    };
    let files = read("tzif");
    let zones = files.iter().filter_map(|bytes| Some((Zone::from_tzif(bytes).ok()?, bytes)));
    let mut accepted = 0;
    for (zone, bytes) in zones {
        check_zone::check_zone(&zone, bytes);
        accepted += 1;
    }
    assert!(accepted > 5, "{accepted} of {}", files.len());
    let texts = read("posix_tz");
    assert!(texts.len() > 5);
    for text in texts {
        check_zone::check_zone(&Zone::from_posix(&text), &text);
    }
}
