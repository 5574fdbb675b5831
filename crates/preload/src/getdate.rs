//! getdate and getdate_r: the templates of the file `DATEMSK`, each tried by the C library's strptime, and
//! what the text leaves open filled in from the present (POSIX getdate(), DESCRIPTION), as glibc was seen to
//! do it.

use crate::convert::{localtime_r, mktime};
use crate::elf::hand_over;
use crate::environment;
use crate::file::{self, Opened, Stat};
use crate::gate;
use crate::imports::{self, Tm};
use crate::step::strptime;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;
use needless_localtime::Civil;

/// The values of `getdate_err` (getdate(3)).
const NO_DATEMSK: c_int = 1;
const CANNOT_OPEN: c_int = 2;
const NO_STATUS: c_int = 3;
const NOT_REGULAR: c_int = 4;
const READ_ERROR: c_int = 5;
const NO_MATCH: c_int = 7;
const INVALID: c_int = 8;

/// So much the allocator gives back in any order (memory.rs).
const PAGES: usize = 16 * 1024;

/// A field that the text did not set.
const UNSET: c_int = c_int::MIN;

const NOTHING: Tm = Tm {
    sec: UNSET,
    min: UNSET,
    hour: UNSET,
    mday: UNSET,
    mon: UNSET,
    year: UNSET,
    wday: UNSET,
    yday: 0,
    isdst: -1,
    gmtoff: 0,
    zone: core::ptr::null(),
};

/// getdate_r, of the GNU system (getdate(3)).
///
/// # Safety
/// `text` must end with a NUL, `tm` be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getdate_r(text: *const c_char, tm: *mut Tm) -> c_int {
    if !gate::is_ours() {
        return hand_over!(c"getdate_r", fn(*const c_char, *mut Tm) -> c_int, INVALID, text, tm);
    }
    // SAFETY: the caller's.
    match unsafe { date(CStr::from_ptr(text)) } {
        Ok(date) => {
            // SAFETY: the caller's.
            unsafe { *tm = date };
            0
        }
        Err(code) => code,
    }
}

/// getdate(3).
///
/// # Safety
/// `text` must end with a NUL; one thread at a time, as by getdate(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getdate(text: *const c_char) -> *mut Tm {
    static mut SHARED: Tm = NOTHING;
    if !gate::is_ours() {
        return hand_over!(c"getdate", fn(*const c_char) -> *mut Tm, null_mut(), text);
    }
    // SAFETY: the caller's; the shared structure is the caller's until the next call.
    let code = unsafe { getdate_r(text, &raw mut SHARED) };
    if code != 0 {
        imports::set_getdate_err(code);
        return null_mut();
    }
    &raw mut SHARED
}

fn date(text: &CStr) -> Result<Tm, c_int> {
    let name = environment::get(b"DATEMSK").filter(|name| !name.is_empty()).ok_or(NO_DATEMSK)?;
    // SAFETY: a value in the environment ends with a NUL.
    let name = unsafe { CStr::from_ptr(name.as_ptr().cast()) };
    let stat = Stat::of(name).ok_or(NO_STATUS)?;
    if !stat.is_regular() {
        return Err(NOT_REGULAR);
    }
    let opened = file::may_be_read(name).then(|| Opened::new(name)).flatten().ok_or(CANNOT_OPEN)?;
    let matched = trimmed(text, |text| opened.read(|templates| first_match(text, templates)));
    let (_, matched) = matched.ok_or(READ_ERROR)?;
    complete(matched.ok_or(NO_MATCH)?).ok_or(INVALID)
}

/// Hands on the text without blanks at its ends.
fn trimmed<T>(text: &CStr, then: impl FnOnce(&CStr) -> T) -> T {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
    let bytes = text.to_bytes();
    let start = bytes.iter().position(|b| !is_space(b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !is_space(b)).map_or(start, |last| last + 1);
    if end == bytes.len() {
        // SAFETY: the end of a text is a text.
        return then(unsafe { CStr::from_ptr(text.as_ptr().wrapping_add(start)) });
    }
    let kept = &bytes[start..end];
    let mut short = [0; 256];
    let mut long = Vec::new();
    let copy = match short.get_mut(..=kept.len()) {
        Some(copy) => copy,
        None => {
            // Large enough for the allocator to give its pages back.
            long.resize((kept.len() + 1).max(PAGES), 0);
            &mut long[..]
        }
    };
    copy[..kept.len()].copy_from_slice(kept);
    then(CStr::from_bytes_until_nul(copy).unwrap_or_default())
}

/// The fields that the whole text sets by one of the templates: lines, and a NUL.
fn first_match(text: &CStr, templates: &mut [u8]) -> Option<Tm> {
    let all = templates.strip_suffix(b"\0").map_or(0, <[u8]>::len);
    let mut start = 0;
    while start < all {
        let end = templates[start..all].iter().position(|&b| b == b'\n').map_or(all, |n| start + n);
        templates[end] = 0;
        // What is behind a NUL in a line is no part of the template.
        let template = CStr::from_bytes_until_nul(&templates[start..=end]).unwrap_or_default();
        if let Some(tm) = matching(text, template) {
            return Some(tm);
        }
        start = end + 1;
    }
    None
}

fn matching(text: &CStr, template: &CStr) -> Option<Tm> {
    let mut tm = NOTHING;
    // SAFETY: two texts, and a structure of our own.
    let rest = unsafe { strptime(text.as_ptr(), template.as_ptr(), &raw mut tm) };
    // SAFETY: strptime(3) gives null or a place in the text.
    (!rest.is_null() && unsafe { *rest == 0 }).then_some(tm)
}

/// What is missing, by the rules of getdate(3); `None` where there is no such time.
fn complete(mut tm: Tm) -> Option<Tm> {
    let now = now()?;
    // Whether the day is one that was worked out, which mktime may carry into the next month.
    let mut sound = false;
    let no_clock = tm.hour == UNSET && tm.min == UNSET && tm.sec == UNSET;
    let names_date = tm.year != UNSET || tm.mon != UNSET || tm.mday != UNSET;
    if (0..7).contains(&tm.wday) && !names_date {
        (tm.year, tm.mon) = (now.year, now.mon);
        tm.mday = now.mday + (tm.wday - now.wday + 7) % 7;
        sound = true;
    }
    if (0..12).contains(&tm.mon) && tm.mday == UNSET {
        if tm.year == UNSET {
            tm.year = now.year + c_int::from(tm.mon < now.mon);
        }
        tm.mday = first(tm.year, tm.mon, tm.wday);
        sound = true;
    }
    if no_clock {
        (tm.hour, tm.min, tm.sec) = (now.hour, now.min, now.sec);
    }
    let or = |field: &mut c_int, default: c_int| {
        if *field == UNSET {
            *field = default;
        }
    };
    or(&mut tm.hour, 0);
    or(&mut tm.min, 0);
    or(&mut tm.sec, 0);
    // A time alone is today's, or tomorrow's if it is over.
    if (0..24).contains(&tm.hour) && tm.mon == UNSET && tm.mday == UNSET && tm.wday == UNSET {
        // Minutes do not count.
        tm.mon = now.mon;
        tm.mday = now.mday + c_int::from(tm.hour < now.hour);
        sound = true;
    }
    or(&mut tm.year, now.year);
    or(&mut tm.mon, now.mon);
    if !sound && !exists(tm.year, tm.mon, tm.mday) {
        return None;
    }
    // SAFETY: a structure of our own.
    let t = unsafe { mktime(&raw mut tm) };
    (t != -1).then_some(tm)
}

/// Whether there is such a day: the calendar leaves it as it is.
fn exists(year: c_int, mon: c_int, mday: c_int) -> bool {
    let day = Civil { year, mon, mday, ..Civil::default() };
    let shown = needless_localtime::timegm(&day).and_then(needless_localtime::gmtime);
    shown.is_some_and(|shown| (shown.year, shown.mon, shown.mday) == (year, mon, mday))
}

/// The first day of a month that falls on a weekday, or simply the first.
fn first(year: c_int, mon: c_int, wday: c_int) -> c_int {
    if wday == UNSET {
        return 1;
    }
    let mut tm = Tm { sec: 0, min: 0, hour: 0, mday: 1, mon, year, wday: 0, isdst: 0, ..NOTHING };
    // SAFETY: a structure of our own.
    unsafe { mktime(&raw mut tm) };
    1 + (wday - tm.wday + 7) % 7
}

fn now() -> Option<Tm> {
    let mut now = NOTHING;
    let t = imports::clock_seconds(0);
    // SAFETY: structures of our own.
    let done = unsafe { localtime_r(&raw const t, &raw mut now) };
    (!done.is_null()).then_some(now)
}
