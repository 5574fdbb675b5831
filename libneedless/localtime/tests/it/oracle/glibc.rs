//! The C library's answers, as types of the engine.

use needless_localtime::Civil;
use std::ffi::{CStr, CString, c_char, c_int, c_long};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

unsafe extern "C" {
    fn tzset();
    static tzname: [*const c_char; 2];
    static timezone: c_long;
    static daylight: c_int;
}

/// All fields of a `struct tm`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) civil: Civil,
    pub(crate) isdst: i32,
    pub(crate) gmtoff: i64,
    pub(crate) abbr: Vec<u8>,
}

/// `tzname`, `timezone`, `daylight`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Variables {
    pub(crate) names: [Vec<u8>; 2],
    pub(crate) timezone: i64,
    pub(crate) daylight: i32,
}

fn bytes(text: *const c_char) -> Vec<u8> {
    // SAFETY: `tm_zone` and `tzname` point to strings of the C library, which it never frees.
    unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()
}

fn civil(tm: &libc::tm) -> Civil {
    Civil {
        sec: tm.tm_sec,
        min: tm.tm_min,
        hour: tm.tm_hour,
        mday: tm.tm_mday,
        mon: tm.tm_mon,
        year: tm.tm_year,
        wday: tm.tm_wday,
        yday: tm.tm_yday,
    }
}

fn tm(civil: &Civil, isdst: i32) -> libc::tm {
    // SAFETY: a `struct tm` is integers and a pointer, for which zero is valid.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    tm.tm_sec = civil.sec;
    tm.tm_min = civil.min;
    tm.tm_hour = civil.hour;
    tm.tm_mday = civil.mday;
    tm.tm_mon = civil.mon;
    tm.tm_year = civil.year;
    tm.tm_isdst = isdst;
    tm
}

fn answer(tm: &libc::tm) -> Answer {
    Answer { civil: civil(tm), isdst: tm.tm_isdst, gmtoff: tm.tm_gmtoff, abbr: bytes(tm.tm_zone) }
}

/// Sets `TZ` and makes glibc read it, even if it was the same before. glibc keeps data of the last zone's daylight
/// saving time: a file without transitions clears it first, and the new zone is read twice, since its own takes effect
/// the second time. That file's path is in full, since `TZDIR` may be set.
pub(crate) fn set_tz(value: &[u8]) {
    let value = CString::new(value).expect("no NUL in a TZ");
    for value in [c"/usr/share/zoneinfo/Etc/UTC", &value, &value] {
        // SAFETY: one thread only reads or writes the environment: that of this binary's only test.
        unsafe {
            libc::setenv(c"TZ".as_ptr(), value.as_ptr(), 1);
            tzset();
        }
    }
}

/// Where glibc looks for files, `posixrules` among them; `None`: its own directory.
pub(crate) fn set_tzdir(folder: Option<&Path>) {
    let folder = folder.map(|at| CString::new(at.as_os_str().as_bytes()).expect("no NUL"));
    // SAFETY: as in `set_tz`.
    unsafe {
        match folder {
            Some(at) => libc::setenv(c"TZDIR".as_ptr(), at.as_ptr(), 1),
            None => libc::unsetenv(c"TZDIR".as_ptr()),
        }
    };
}

pub(crate) fn variables() -> Variables {
    // SAFETY: only functions of the C library write these variables, and only this thread calls them.
    unsafe { Variables { names: [bytes(tzname[0]), bytes(tzname[1])], timezone, daylight } }
}

pub(crate) fn localtime(t: i64) -> Option<Answer> {
    let mut out = tm(&Civil::default(), 0);
    // SAFETY: both pointers are to live variables of the right type.
    let found = unsafe { libc::localtime_r(&t, &mut out) };
    (!found.is_null()).then(|| answer(&out))
}

pub(crate) fn gmtime(t: i64) -> Option<Civil> {
    let mut out = tm(&Civil::default(), 0);
    // SAFETY: as in `localtime`.
    let found = unsafe { libc::gmtime_r(&t, &mut out) };
    (!found.is_null()).then(|| civil(&out))
}

/// The moment, and the normalised fields.
pub(crate) fn mktime(fields: &Civil, isdst: i32) -> Option<(i64, Answer)> {
    let mut inout = tm(fields, isdst);
    inout.tm_wday = -1;
    // SAFETY: the pointer is to a live `struct tm`.
    let t = unsafe { libc::mktime(&mut inout) };
    // -1 is a moment as well; only success sets the weekday.
    (inout.tm_wday != -1).then(|| (t, answer(&inout)))
}

pub(crate) fn timegm(fields: &Civil) -> Option<i64> {
    let mut inout = tm(fields, 0);
    inout.tm_wday = -1;
    // SAFETY: as in `mktime`.
    let t = unsafe { libc::timegm(&mut inout) };
    (inout.tm_wday != -1).then_some(t)
}
