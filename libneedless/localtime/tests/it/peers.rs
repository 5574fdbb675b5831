//! Compares the engine with two other libraries where they are defined: jiff (years -9999 to 9999) and tz-rs (years
//! that fit an i32). Neither counts leap seconds, as glibc does in `right/` zones. They do not copy glibc: an error
//! that the engine shares with glibc would show here.
#![cfg(target_os = "linux")]

use crate::oracle::inputs::{Random, ZONEINFO, transitions, zone_files};
use needless_fixtures::needed;
use needless_localtime::Zone;
use std::path::Path;

/// What all three know: seconds east of UTC, daylight saving time, abbreviation.
type Answer = (i32, bool, String);

fn ours(zone: &Zone, t: i64) -> Option<Answer> {
    let local = zone.local(t)?;
    Some((local.gmtoff, local.isdst, local.abbr.to_str().ok()?.to_owned()))
}

fn of_jiff(zone: &jiff::tz::TimeZone, t: i64) -> Option<Answer> {
    let info = zone.to_offset_info(jiff::Timestamp::from_second(t).ok()?);
    Some((info.offset().seconds(), info.dst().is_dst(), info.abbreviation().to_owned()))
}

fn of_tz(zone: &tz::TimeZone, t: i64) -> Option<Answer> {
    let kind = zone.find_local_time_type(t).ok()?;
    Some((kind.ut_offset(), kind.is_dst(), kind.time_zone_designation().to_owned()))
}

/// Around each transition, and at random within the years that jiff knows.
fn moments(bytes: &[u8], random: &mut Random) -> Vec<i64> {
    let near = transitions(bytes).into_iter().flat_map(|t| [t - 1, t, t + 1, t + 3600, t - 86_400]);
    let mut all: Vec<i64> = near.collect();
    all.extend((0..300).map(|_| random.signed(250_000_000_000)));
    all.extend((0..300).map(|_| random.below(1 << 33) as i64 - (1 << 31)));
    all
}

#[derive(Default)]
struct Count {
    compared: u64,
    differ: Vec<String>,
}

impl Count {
    fn compare(&mut self, name: &str, t: i64, ours: Option<&Answer>, theirs: Option<Answer>) {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { return };
        self.compared += 1;
        if *ours != theirs {
            self.differ.push(format!("{name} {t}: ours {ours:?}, theirs {theirs:?}"));
        }
    }

    fn check(&self, who: &str) {
        println!("{who}: {} comparisons, {} differ", self.compared, self.differ.len());
        for line in self.differ.iter().step_by(1 + self.differ.len() / 20) {
            println!("  {line}");
        }
        assert!(self.compared > 10_000, "{who}: only {}", self.compared);
        assert!(self.differ.is_empty(), "{who} answers differently {} times", self.differ.len());
    }
}

#[test]
fn other_libraries_answer_the_same_for_zone_files() {
    let Some(found) = needed(zone_files(Path::new(ZONEINFO))) else { return };
    let mut random = Random(0x5eed_0006);
    let (mut jiff, mut tz) = (Count::default(), Count::default());
    for (name, bytes) in found.iter().filter(|(name, _)| !name.starts_with("right/")) {
        let zone = Zone::from_tzif(bytes).expect("an installed file");
        let first = transitions(bytes).into_iter().min();
        let of = jiff::tz::TimeZone::tzif(name, bytes).ok();
        let other = tz::TimeZone::from_tz_data(bytes).ok();
        for t in moments(bytes, &mut random) {
            let answer = ours(&zone, t);
            if let Some(of) = &of {
                jiff.compare(name, t, answer.as_ref(), of_jiff(of, t));
            }
            // Before the first transition tz-rs uses the first type, as RFC 9636 says.
            if let Some(of) = &other
                && first.is_none_or(|first| t >= first)
            {
                tz.compare(name, t, answer.as_ref(), of_tz(of, t));
            }
        }
    }
    jiff.check("jiff");
    tz.check("tz-rs");
}

#[test]
fn other_libraries_answer_the_same_for_tz_strings() {
    let mut random = Random(0x5eed_0007);
    let (mut jiff, mut tz) = (Count::default(), Count::default());
    let no_files = tz::TimeZoneSettings::new(&[], |_| Err("no file".into()));
    let made = (0..3000).map(|_| crate::oracle::inputs::text(&mut random)).collect::<Vec<_>>();
    let known = crate::oracle::inputs::TEXTS.iter().map(|text| text.as_bytes().to_vec());
    for text in known.chain(made) {
        let Ok(text) = String::from_utf8(text) else { continue };
        let zone = Zone::from_posix(text.as_bytes());
        let of = jiff::tz::TimeZone::posix(&text).ok();
        // tz-rs accepts names of two letters, which POSIX and the others do not.
        let other = no_files.parse_posix_tz(&text).ok().filter(|_| of.is_some());
        for _ in 0..40 {
            // glibc applies no rules before 1970.
            let t = 31_536_000 + random.below(1 << 33) as i64;
            let answer = ours(&zone, t);
            if let Some(of) = &of {
                jiff.compare(&text, t, answer.as_ref(), of_jiff(of, t));
            }
            if let Some(of) = &other {
                tz.compare(&text, t, answer.as_ref(), of_tz(of, t));
            }
        }
    }
    jiff.check("jiff");
    tz.check("tz-rs");
}
