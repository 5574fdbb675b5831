//! How the fields of a caller's structure are written and read.

use crate::imports::Tm;
use core::ffi::CStr;
use needless_localtime::{Civil, clock, overflow_fields};

/// # Safety
/// `tm` must be writable.
#[inline(always)]
pub(crate) unsafe fn set(tm: *mut Tm, c: &Civil, isdst: bool, gmtoff: i32, zone: &'static CStr) {
    // Volatile, so that the compiler stores each int by itself: to combine them into wider stores, each would wait
    // for the others.
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        (&raw mut (*tm).sec).write_volatile(c.sec);
        (&raw mut (*tm).min).write_volatile(c.min);
        (&raw mut (*tm).hour).write_volatile(c.hour);
        (&raw mut (*tm).mday).write_volatile(c.mday);
        (&raw mut (*tm).mon).write_volatile(c.mon);
        (&raw mut (*tm).year).write_volatile(c.year);
        (&raw mut (*tm).wday).write_volatile(c.wday);
        (&raw mut (*tm).yday).write_volatile(c.yday);
        (&raw mut (*tm).isdst).write_volatile(i32::from(isdst));
        (*tm).gmtoff = i64::from(gmtoff);
        (*tm).zone = zone.as_ptr();
    }
}

/// The same as a value. It is never read back from the caller's structure, which may be the one that all threads
/// and signal handlers share.
pub(crate) fn value(c: &Civil, isdst: bool, gmtoff: i32, zone: &'static CStr) -> Tm {
    Tm {
        sec: c.sec,
        min: c.min,
        hour: c.hour,
        mday: c.mday,
        mon: c.mon,
        year: c.year,
        wday: c.wday,
        yday: c.yday,
        isdst: i32::from(isdst),
        gmtoff: i64::from(gmtoff),
        zone: zone.as_ptr(),
    }
}

/// # Safety
/// `tm` must be writable.
#[inline(always)]
pub(crate) unsafe fn set_clock(tm: *mut Tm, second: u32) {
    let [hour, min, sec] = clock(second);
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe { ((*tm).sec, (*tm).min, (*tm).hour) = (sec as i32, min as i32, hour as i32) };
}

/// # Safety
/// `tm` must be readable.
pub(crate) unsafe fn civil_of(tm: *const Tm) -> (Civil, i32) {
    // SAFETY: `tm` is readable, by `# Safety`.
    let t = unsafe { tm.read() };
    let civil = Civil {
        sec: t.sec,
        min: t.min,
        hour: t.hour,
        mday: t.mday,
        mon: t.mon,
        year: t.year,
        wday: t.wday,
        yday: t.yday,
    };
    (civil, t.isdst)
}

/// Writes what glibc leaves in `tm` when it finds that the year does not fit.
///
/// # Safety
/// `tm` must be writable.
pub(crate) unsafe fn set_overflow(tm: *mut Tm, t: i64, gmtoff: i32) {
    let c = overflow_fields(t, gmtoff);
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        ((*tm).sec, (*tm).min, (*tm).hour) = (c.sec, c.min, c.hour);
        ((*tm).wday, (*tm).year) = (c.wday, c.year);
    }
}
