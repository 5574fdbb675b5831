//! Nanoseconds per call beside the C library's, in one run on the same inputs:
//! `cargo run --release -p needless-localtime --example bench`. Only the ratios travel.
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "glibc is asked in zones of its TZ, by one thread")]

use needless_localtime::{Civil, Zone};
use std::ffi::CString;
use std::hint::black_box;
use std::time::Instant;

const CALLS: usize = 2_000_000;
const TIMES: usize = 4096;
const ROUNDS: usize = 3;

unsafe extern "C" {
    fn tzset();
}

fn set_tz(value: &str) {
    let value = CString::new(value).expect("no NUL");
    // SAFETY: this program has one thread.
    unsafe {
        libc::setenv(c"TZ".as_ptr(), value.as_ptr(), 1);
        tzset();
    }
}

/// The best of some rounds, in nanoseconds per call.
fn measure(times: &[i64], mut call: impl FnMut(i64)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for at in 0..CALLS {
            call(black_box(times[at % TIMES]));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / CALLS as f64);
    }
    best
}

fn empty() -> libc::tm {
    // SAFETY: all zeros is a `struct tm`.
    unsafe { std::mem::zeroed() }
}

fn row(name: &str, inputs: &str, theirs: f64, ours: f64) {
    println!("{name:<28} {inputs:<9} {theirs:>8.1} {ours:>8.1} {:>7.1}", theirs / ours);
}

fn zone(tz: &str) -> Option<Zone> {
    match tz.strip_prefix(':') {
        Some(name) => {
            let bytes = std::fs::read(format!("/usr/share/zoneinfo/{name}")).ok()?;
            Zone::from_tzif(&bytes).ok()
        }
        None => Some(Zone::from_posix(tz.as_bytes())),
    }
}

fn main() {
    println!("{:<28} {:<9} {:>8} {:>8} {:>7}", "", "times", "glibc ns", "ours ns", "ratio");
    let now = 1_700_000_000;
    let mut random = 88_172_645_463_325_252_u64;
    let mut spread = |seconds: u64| -> Vec<i64> {
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            now + (random % seconds) as i64
        };
        (0..TIMES).map(|_| next()).collect()
    };
    let inputs = [
        ("constant", vec![now; TIMES]),
        ("a year", spread(31_556_952)),
        ("century", spread(3_155_695_200)),
    ];
    for tz in [":Asia/Tokyo", ":Europe/Athens", "JST-9", "EET-2EEST,M3.5.0/3,M10.5.0/4", "UTC0"] {
        let Some(zone) = zone(tz) else {
            println!("{tz}: no such file here");
            continue;
        };
        set_tz(tz);
        for (name, times) in &inputs {
            let mut tm = empty();
            // SAFETY: in each call both pointers are to live variables of the right type.
            let theirs = measure(times, |t| unsafe {
                black_box(libc::localtime_r(&t, &mut tm));
            });
            let ours = measure(times, |t| {
                black_box(zone.local(t));
            });
            row(&format!("localtime_r {tz:.16}"), name, theirs, ours);
            // SAFETY: as above.
            let theirs = measure(times, |t| unsafe {
                black_box(libc::gmtime_r(&t, &mut tm));
            });
            let ours = measure(times, |t| {
                black_box(zone.gmtime(t));
            });
            row(&format!("gmtime_r    {tz:.16}"), name, theirs, ours);
            let fields: Vec<(libc::tm, Civil)> = times.iter().map(|&t| both(&zone, t)).collect();
            let mut at = 0;
            let theirs = measure(times, |_| {
                let mut tm = fields[at % TIMES].0;
                at += 1;
                // SAFETY: as above.
                black_box(unsafe { libc::mktime(&mut tm) });
            });
            let (mut at, mut carried) = (0, 0);
            let ours = measure(times, |_| {
                let civil = fields[at % TIMES].1;
                at += 1;
                black_box(zone.mktime_after(&civil, -1, &mut carried));
            });
            row(&format!("mktime      {tz:.16}"), name, theirs, ours);
        }
    }
}

/// The fields of a moment for both.
fn both(zone: &Zone, t: i64) -> (libc::tm, Civil) {
    let civil = zone.local(t).map(|local| local.civil).unwrap_or_default();
    let mut tm = empty();
    (tm.tm_sec, tm.tm_min, tm.tm_hour) = (civil.sec, civil.min, civil.hour);
    (tm.tm_mday, tm.tm_mon, tm.tm_year) = (civil.mday, civil.mon, civil.year);
    tm.tm_isdst = -1;
    (tm, civil)
}
