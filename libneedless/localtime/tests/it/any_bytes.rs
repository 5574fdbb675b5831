//! The engine answers for any bytes: no panic, and all fields in their ranges.

#[path = "../../../../fuzz/check_zone.rs"]
mod check_zone;

use needless_localtime::{Local, Zone};
use std::path::Path;

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// A version 2 file with these transitions, two types, a leap second and a footer.
fn file(transitions: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for width in [4, 8] {
        bytes.extend(b"TZif2");
        bytes.extend([0; 15]);
        for count in [0, 0, 1, transitions.len() as u32, 2, 8] {
            bytes.extend(count.to_be_bytes());
        }
        for t in transitions {
            bytes.extend(&t.to_be_bytes()[8 - width..]);
        }
        bytes.extend((0..transitions.len()).map(|at| 1 - at as u8 % 2));
        bytes.extend([0, 0, 14, 16, 0, 0, 0, 0, 28, 32, 1, 4]);
        bytes.extend(b"CET\0CES\0");
        bytes.extend(&78_796_800_i64.to_be_bytes()[8 - width..]);
        bytes.extend(1_i32.to_be_bytes());
    }
    bytes.extend(b"\nCET-1CES,M3.5.0,M10.5.0/3\n");
    bytes
}

fn in_range(local: &Local<'_>) -> bool {
    let of = local.civil;
    (0..60).contains(&of.min)
        && (0..24).contains(&of.hour)
        && (1..32).contains(&of.mday)
        && (0..12).contains(&of.mon)
        && (0..7).contains(&of.wday)
        && (0..366).contains(&of.yday)
}

fn convert(zone: &Zone, t: i64) {
    if let Some(local) = zone.local(t) {
        assert!(in_range(&local), "{t}: {local:?}");
        let _ = zone.mktime(&local.civil, -1);
    }
    if let Some(civil) = zone.gmtime(t) {
        let _ = zone.timegm(&civil);
    }
    let _ = zone.globals_at(Some(t));
}

fn convert_all(zone: &Zone, transitions: &[i64], random: &mut Random) {
    let _ = zone.globals_at(None);
    for &t in transitions.iter().chain(&[i64::MIN, i64::MAX, 0, 1 << 55, -1 << 55, 1 << 40]) {
        convert(zone, t);
        convert(zone, t.wrapping_sub(1));
        convert(zone, (random.below(usize::MAX) as i64) << random.below(12) >> random.below(40));
    }
}

#[test]
fn a_valid_file_is_read() {
    let zone = Zone::from_tzif(&file(&[100, 200])).unwrap();
    let at = |t| zone.local(t).map(|local| (local.isdst, local.gmtoff, local.abbr.to_bytes()));
    assert_eq!(at(99), Some((false, 3600, &b"CET"[..])));
    assert_eq!(at(100), Some((true, 7200, &b"CES"[..])));
    // After the last transition the footer applies: July 2024.
    assert_eq!(at(1_720_000_000), Some((true, 7200, &b"CES"[..])));
    assert_eq!(zone.local(78_796_800).unwrap().civil.sec, 60);
}

#[test]
fn files_with_wrong_bytes_do_no_harm() {
    let mut random = Random(0x5eed_0004);
    let mut accepted = 0;
    for round in 0..20_000 {
        let transitions: Vec<i64> = match round % 3 {
            0 => vec![100, 200, 300_000_000],
            1 => vec![i64::MIN, i64::MAX],
            _ => (0..random.below(40)).map(|_| random.below(usize::MAX) as i64).collect(),
        };
        let mut bytes = file(&transitions);
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        if random.below(8) == 0 {
            bytes.truncate(random.below(bytes.len()));
        }
        let Ok(zone) = Zone::from_tzif(&bytes) else { continue };
        accepted += 1;
        convert_all(&zone, &transitions, &mut random);
        if let Some(zone) = Zone::with_posixrules(b"ABC5DEF", &bytes) {
            convert_all(&zone, &transitions, &mut random);
        }
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
            let at = random.below(text.len());
            text[at] = alphabet[random.below(alphabet.len())];
        }
        text.truncate(random.below(text.len() + 1));
        convert_all(&Zone::from_posix(&text), &[], &mut random);
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
