//! A local time type is in force in the whole range that is reported with it.

use needless_localtime::{LocalTimeType, Zone};
use std::path::{Path, PathBuf};

const TEXTS: [&str; 9] = [
    "UTC0",
    "JST-9",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "EST5EDT,0/0,J365/25",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "XXX0YYY,J60/0,59/23",
    "AAA12BBB,J1/0,J365/23",
    "AAA-14BBB,J1/0,J1/2",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Compares the type in the whole range around many moments. Returns the moments without a known range.
fn check(zone: &Zone, name: &str) -> Vec<i64> {
    let mut unknown = Vec::new();
    // From 1880 on, in steps that hit each month and each hour of a day.
    for step in 0..4000 {
        let t = -2_840_140_800 + step * (1_234_567 + 3600 * (step % 24));
        let Some((kind, around)) = zone.type_around(t) else {
            unknown.push(t);
            continue;
        };
        assert!(around.contains(&t), "{name}: {around:?} is not around {t}");
        let now = zone.local_time_type(t);
        assert_eq!(now, Some(kind), "{name}: at {t}");
        let same = |t: i64, what: &str| {
            assert_eq!(zone.local_time_type(t), now, "{name}: {what} of {around:?}, {t}");
        };
        same(around.start, "the start");
        same(around.end - 1, "the end");
        let length = around.end.saturating_sub(around.start);
        for part in 1..8 {
            same(around.start + length / 8 * part, "the midst");
        }
    }
    unknown
}

#[test]
fn a_type_is_in_force_in_its_whole_range() {
    let mut found = Vec::new();
    files(Path::new("/usr/share/zoneinfo"), &mut found);
    let mut zones = 0;
    for path in &found {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let Ok(zone) = Zone::from_tzif(&bytes) else { continue };
        let name = path.display().to_string();
        let unknown = check(&zone, &name);
        assert!(unknown.is_empty() || name.contains("/right/"), "{name}: {unknown:?}");
        zones += 1;
    }
    assert!(zones > 300 || found.is_empty(), "{zones} zones of {} files", found.len());
    for text in TEXTS {
        // For rules with transitions the table begins in 1970.
        let unknown = check(&Zone::from_posix(text.as_bytes()), text);
        assert!(unknown.iter().all(|&t| t < 0 && text.contains(',')), "{text}: {unknown:?}");
    }
}

#[test]
fn where_the_year_does_not_fit_a_tz_string_has_no_type() {
    let zone = Zone::from_posix(b"JST-9");
    assert_eq!(zone.local_time_type(i64::MAX), None::<LocalTimeType<'_>>);
    assert_eq!(zone.type_around(i64::MAX), None);
}

/// Two rules whose order differs from year to year: then the time changes at new year, and a year that is wrongly held
/// for a leap year (2100) shows in January.
#[test]
fn the_fast_answer_is_the_answer_where_the_order_of_the_rules_changes() {
    for text in ["ABC5DEF,M2.5.0,M2.5.1", "AAA3BBB,M11.3.1,J321/10", "CET-1CEST,M3.5.0,M10.5.0/3"] {
        let zone = Zone::from_posix(text.as_bytes());
        let mut answered = 0;
        // Each hour from 1999 to 2101.
        for t in (915_148_800..4_133_980_800).step_by(3600) {
            let Some(near) = zone.local_near(t) else { continue };
            answered += 1;
            assert_eq!(zone.local_time_type(t), Some(near.local_type), "{text}: at {t}");
            let (around, _) = zone.type_around(t).expect("a range in these years");
            assert_eq!(around, near.local_type, "{text}: around {t}");
        }
        assert!(answered > 880_000, "{text}: {answered}");
    }
}
