//! Two other libraries answer the same where they are defined: jiff (years -9999 to 9999) and tz-rs (years that fit an
//! i32). Neither counts leap seconds, as glibc does in `right/` zones.

use crate::zones::{Random, TEXTS, installed};
use needless_localtime::Zone;

/// What all three know: seconds east of UTC, daylight saving time, abbreviation.
type Answer = (i32, bool, String);

fn ours(zone: &Zone, t: i64) -> Option<Answer> {
    let kind = zone.type_at(t)?;
    Some((kind.gmtoff, kind.isdst, String::from_utf8_lossy(kind.abbr).into_owned()))
}

fn of_jiff(zone: &jiff::tz::TimeZone, t: i64) -> Option<Answer> {
    let info = zone.to_offset_info(jiff::Timestamp::from_second(t).ok()?);
    Some((info.offset().seconds(), info.dst().is_dst(), info.abbreviation().to_owned()))
}

fn of_tz(zone: &tz::TimeZone, t: i64) -> Option<Answer> {
    let kind = zone.find_local_time_type(t).ok()?;
    Some((kind.ut_offset(), kind.is_dst(), kind.time_zone_designation().to_owned()))
}

/// Around each change from 1800 to 2100, and at random.
fn moments(zone: &Zone, random: &mut Random) -> Vec<i64> {
    let mut all = Vec::new();
    let mut t = -5_364_662_400;
    while t < 4_102_444_800 {
        // Where no range is known, before 1970 and with leap seconds, by steps.
        t = zone.type_around(t).map_or(t + 30_000_000, |(_, around)| around.end);
        all.extend([t.saturating_sub(1), t, t.saturating_add(3600)]);
    }
    all.extend((0..300).map(|_| random.below(500_000_000_000) as i64 - 250_000_000_000));
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
        let some: Vec<_> = self.differ.iter().step_by(1 + self.differ.len() / 20).collect();
        assert!(self.differ.is_empty(), "{who} answers differently: {some:#?}");
        assert!(self.compared > 1_000, "{who}: only {}", self.compared);
    }
}

#[test]
fn other_libraries_answer_the_same_for_zone_files() {
    let found = installed();
    let mut random = Random(0x5eed_0006);
    let (mut jiff, mut tz) = (Count::default(), Count::default());
    for (name, bytes) in found.iter().filter(|(name, _)| !name.starts_with("right/")) {
        let zone = Zone::from_tzif(bytes).expect("an installed file");
        let first = zone.type_around(i64::MIN).map_or(i64::MIN, |(_, around)| around.end);
        let of = jiff::tz::TimeZone::tzif(name, bytes).ok();
        let other = tz::TimeZone::from_tz_data(bytes).ok();
        for t in moments(&zone, &mut random) {
            let answer = ours(&zone, t);
            if let Some(of) = &of {
                jiff.compare(name, t, answer.as_ref(), of_jiff(of, t));
            }
            // Before the first transition tz-rs uses the first type, as RFC 9636 says.
            if let Some(of) = &other
                && t >= first
            {
                tz.compare(name, t, answer.as_ref(), of_tz(of, t));
            }
        }
    }
    if !found.is_empty() {
        jiff.check("jiff");
        tz.check("tz-rs");
    }
}

#[test]
fn other_libraries_answer_the_same_for_tz_strings() {
    let mut random = Random(0x5eed_0007);
    let (mut jiff, mut tz) = (Count::default(), Count::default());
    let no_files = tz::TimeZoneSettings::new(&[], |_| Err("no file".into()));
    for text in TEXTS {
        let zone = Zone::from_posix(text.as_bytes());
        let of = jiff::tz::TimeZone::posix(text).ok();
        let other = no_files.parse_posix_tz(text).ok();
        // glibc applies no rules before 1970.
        for t in moments(&zone, &mut random).into_iter().filter(|&t| t > 31_536_000) {
            let answer = ours(&zone, t);
            if let Some(of) = &of {
                jiff.compare(text, t, answer.as_ref(), of_jiff(of, t));
            }
            if let Some(of) = &other {
                tz.compare(text, t, answer.as_ref(), of_tz(of, t));
            }
        }
    }
    jiff.check("jiff");
    tz.check("tz-rs");
}
