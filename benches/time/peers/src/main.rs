//! Rust libraries: converts moments to all fields. Prints nanoseconds per call. Usage: `time-peers LIBRARY ZONE`.

use chrono::{Datelike, Offset, TimeZone, Timelike};
use std::hint::black_box;
use std::time::Instant;

fn times() -> Vec<i64> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        1_700_000_000 + (state % 31_556_952) as i64
    };
    (0..1024).map(|_| next()).collect()
}

/// Converts all times and prints the best time per call, and the sum of `fields`, which is the same for each library.
fn measure(mut fields: impl FnMut(i64) -> i64) {
    let times = times();
    let (mut best, mut sum) = (f64::INFINITY, 0);
    for _ in 0..400 {
        let start = Instant::now();
        for &t in &times {
            sum += fields(black_box(t));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 1024.0);
    }
    println!("{best:.1} {sum}");
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, library, zone] = &words[..] else { panic!("time-peers LIBRARY ZONE") };
    match library.as_str() {
        "needless" => {
            let bytes = std::fs::read(format!("/usr/share/zoneinfo/{zone}")).expect("the zone");
            let zone = needless_localtime::Zone::from_tzif(&bytes).expect("a zone");
            measure(|t| {
                let l = zone.local(t).expect("in range");
                let c = l.civil;
                let days = c.year + c.yday + c.mon + c.mday + c.wday;
                i64::from(days + c.hour + c.min + c.sec + l.gmtoff)
            });
        }
        "jiff" => {
            let zone = jiff::tz::TimeZone::get(zone).expect("the zone");
            measure(|t| {
                let info = zone.to_offset_info(jiff::Timestamp::from_second(t).expect("in range"));
                let c = info.offset().to_datetime(jiff::Timestamp::from_second(t).expect("in range"));
                let days = i64::from(c.year()) - 1900 + i64::from(c.day_of_year()) - 1 + i64::from(c.month()) - 1
                    + i64::from(c.day())
                    + i64::from(c.weekday().to_sunday_zero_offset());
                days + i64::from(c.hour()) + i64::from(c.minute()) + i64::from(c.second()) + i64::from(info.offset().seconds())
            });
        }
        "chrono-tz" => {
            let zone: chrono_tz::Tz = zone.parse().expect("the zone");
            measure(|t| {
                let c = zone.timestamp_opt(t, 0).single().expect("in range");
                let days = i64::from(c.year()) - 1900 + i64::from(c.ordinal0()) + i64::from(c.month0())
                    + i64::from(c.day())
                    + i64::from(c.weekday().num_days_from_sunday());
                let offset = c.offset().fix().local_minus_utc();
                days + i64::from(c.hour()) + i64::from(c.minute()) + i64::from(c.second()) + i64::from(offset)
            });
        }
        "tz-rs" => {
            let zone = tz::TimeZone::from_posix_tz(zone).expect("the zone");
            let zone = zone.as_ref();
            measure(|t| {
                let c = tz::DateTime::from_timespec(t, 0, zone).expect("in range");
                let days = i64::from(c.year()) - 1900 + i64::from(c.year_day()) + i64::from(c.month()) - 1
                    + i64::from(c.month_day())
                    + i64::from(c.week_day());
                let offset = c.local_time_type().ut_offset();
                days + i64::from(c.hour()) + i64::from(c.minute()) + i64::from(c.second()) + i64::from(offset)
            });
        }
        other => panic!("{other}: expected needless, jiff, chrono-tz or tz-rs"),
    }
}
