//! A local time type is in force in the whole range that is reported with it.

use crate::zones::{ODD, TEXTS, installed};
use needless_localtime::Zone;

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
        let length = around.end.saturating_sub(around.start);
        let midst = (1..8).map(|part| around.start + length / 8 * part);
        for t in midst.chain([t, around.start, around.end - 1]) {
            assert_eq!(zone.type_at(t), Some(kind), "{name}: {t} in {around:?}");
        }
    }
    unknown
}

#[test]
fn a_type_is_in_force_in_its_whole_range() {
    for (name, bytes) in installed() {
        let zone = Zone::from_tzif(&bytes).expect("an installed file");
        let unknown = check(&zone, &name);
        assert!(unknown.is_empty() || zone.has_leaps(), "{name}: {unknown:?}");
    }
    for text in TEXTS.into_iter().chain(ODD) {
        // Rules that change the clock apply from 1970 on.
        let unknown = check(&Zone::from_posix(text.as_bytes()), text);
        assert!(unknown.iter().all(|&t| t < 0 && text.contains(',')), "{text}: {unknown:?}");
    }
}

#[test]
fn rules_that_cannot_apply_have_no_type() {
    let zone = Zone::from_posix(b"CET-1CEST,M3.5.0,M10.5.0/3");
    assert_eq!((zone.type_at(-1), zone.type_at(i64::MAX)), (None, None));
    let fixed = Zone::from_posix(b"JST-9").type_at(i64::MAX).map(|kind| kind.gmtoff);
    assert_eq!(fixed, Some(32_400));
}

/// As glibc reads a string with a mistake: what was read up to there applies.
#[test]
fn a_string_with_a_mistake_is_what_was_read_of_it() {
    let at = |text: &str, t| {
        let zone = Zone::from_posix(text.as_bytes());
        zone.type_at(t).map(|kind| (kind.gmtoff, kind.isdst, kind.abbr.to_vec()))
    };
    const JULY: i64 = 1_720_000_000;
    assert_eq!(at("Foo/Bar", JULY), Some((0, false, b"Foo".to_vec())));
    assert_eq!(at("", JULY), Some((0, false, b"UTC".to_vec())));
    assert_eq!(at("EST5EDT,junk", JULY), Some((-14_400, true, b"EDT".to_vec())));
    // As in the United States.
    assert_eq!(at("CET-1CEST", JULY), Some((7200, true, b"CEST".to_vec())));
}
