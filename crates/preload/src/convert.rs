//! localtime, gmtime, mktime, timegm, tzset and their kin.

use crate::elf::hand_over;
use crate::gate;
use crate::imports::{self, Tm};
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI64, Ordering};
use needless_localtime::{Civil, Local};

/// The value does not fit (errno(3)).
pub(crate) const EOVERFLOW: i32 = 75;

/// What localtime, gmtime and ctime share, as in the C library.
pub(crate) static mut SHARED: Tm = Tm {
    sec: 0,
    min: 0,
    hour: 0,
    mday: 0,
    mon: 0,
    year: 0,
    wday: 0,
    yday: 0,
    isdst: 0,
    gmtoff: 0,
    zone: core::ptr::null(),
};

/// # Safety
/// `tm` must be writable.
#[inline]
unsafe fn fill(tm: *mut Tm, c: &Civil, isdst: bool, gmtoff: i32, zone: *const c_char) {
    // Volatile, so that each int is copied by itself: the engine has just stored them one by one, and
    // a processor waits for its stores when it loads several at once.
    // SAFETY: the caller's.
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
        (*tm).zone = zone;
    }
}

/// # Safety
/// `tm` must be writable.
#[inline]
unsafe fn fill_local(tm: *mut Tm, local: &Local<'_>) {
    // SAFETY: the caller's.
    unsafe { fill(tm, &local.civil, local.isdst, local.gmtoff, local.abbr.as_ptr()) }
}

/// # Safety
/// `tm` must be readable.
unsafe fn civil_of(tm: *const Tm) -> (Civil, i32) {
    // SAFETY: the caller's.
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

fn overflow() -> *mut Tm {
    imports::set_errno(EOVERFLOW);
    null_mut()
}

/// # Safety
/// `tm` must be writable.
#[inline]
unsafe fn local(known: &'static crate::zones::Known, t: i64, tm: *mut Tm) -> *mut Tm {
    // Before it is known whether the year fits, as glibc.
    gate::set(&known.zone.globals_at(Some(t)));
    let Some(local) = known.zone.local(t) else { return overflow() };
    // SAFETY: the caller's.
    unsafe { fill_local(tm, &local) };
    tm
}

/// # Safety
/// `tm` must be writable.
#[inline]
unsafe fn universal(known: &'static crate::zones::Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let Some(civil) = known.zone.gmtime(t) else { return overflow() };
    // SAFETY: the caller's.
    unsafe { fill(tm, &civil, false, 0, c"GMT".as_ptr()) };
    tm
}

/// localtime(3).
///
/// # Safety
/// `time` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn localtime(time: *const i64) -> *mut Tm {
    let Some(known) = gate::checked() else {
        return hand_over!(c"localtime", fn(*const i64) -> *mut Tm, null_mut(), time);
    };
    // SAFETY: the caller's; the shared structure is for one thread at a time by localtime(3).
    unsafe { local(known, *time, &raw mut SHARED) }
}

/// localtime_r(3): does not look whether the zone changed, as glibc's.
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn localtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    let Some(known) = gate::settled() else {
        return hand_over!(
            c"localtime_r",
            fn(*const i64, *mut Tm) -> *mut Tm,
            null_mut(),
            time,
            tm
        );
    };
    // SAFETY: the caller's.
    unsafe { local(known, *time, tm) }
}

/// gmtime(3).
///
/// # Safety
/// `time` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gmtime(time: *const i64) -> *mut Tm {
    let Some(known) = gate::settled() else {
        return hand_over!(c"gmtime", fn(*const i64) -> *mut Tm, null_mut(), time);
    };
    // SAFETY: as in `localtime`.
    unsafe { universal(known, *time, &raw mut SHARED) }
}

/// gmtime_r(3).
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gmtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    let Some(known) = gate::settled() else {
        return hand_over!(c"gmtime_r", fn(*const i64, *mut Tm) -> *mut Tm, null_mut(), time, tm);
    };
    // SAFETY: the caller's.
    unsafe { universal(known, *time, tm) }
}

/// glibc's other name of [`gmtime_r`].
///
/// # Safety
/// As [`gmtime_r`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __gmtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: the caller's.
    unsafe { gmtime_r(time, tm) }
}

/// What mktime remembers from call to call, of all zones and threads: see `Zone::mktime_after`.
static CARRIED: AtomicI64 = AtomicI64::new(0);

/// mktime(3).
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mktime(tm: *mut Tm) -> i64 {
    let Some(known) = gate::checked() else {
        return hand_over!(c"mktime", fn(*mut Tm) -> i64, -1, tm);
    };
    // SAFETY: the caller's.
    let (civil, isdst) = unsafe { civil_of(tm) };
    let mut carried = CARRIED.load(Ordering::Relaxed);
    let found = known.zone.mktime_after(&civil, isdst, &mut carried);
    CARRIED.store(carried, Ordering::Relaxed);
    let Some((t, local)) = found else {
        imports::set_errno(EOVERFLOW);
        return -1;
    };
    gate::set(&known.zone.globals_at(Some(t)));
    // SAFETY: the caller's.
    unsafe { fill_local(tm, &local) };
    t
}

/// timelocal(3), which is mktime.
///
/// # Safety
/// As [`mktime`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timelocal(tm: *mut Tm) -> i64 {
    // SAFETY: the caller's.
    unsafe { mktime(tm) }
}

/// timegm(3).
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timegm(tm: *mut Tm) -> i64 {
    let Some(known) = gate::settled() else {
        return hand_over!(c"timegm", fn(*mut Tm) -> i64, -1, tm);
    };
    // SAFETY: the caller's.
    let (civil, _) = unsafe { civil_of(tm) };
    let converted = known.zone.timegm(&civil).and_then(|t| Some((t, known.zone.gmtime(t)?)));
    let Some((t, civil)) = converted else {
        // SAFETY: the caller's. glibc says "no summer time" before it finds that nothing fits.
        unsafe { (*tm).isdst = 0 };
        imports::set_errno(EOVERFLOW);
        return -1;
    };
    // SAFETY: the caller's.
    unsafe { fill(tm, &civil, false, 0, c"GMT".as_ptr()) };
    t
}

/// tzset(3).
#[unsafe(no_mangle)]
pub extern "C" fn tzset() {
    let Some(known) = gate::checked() else {
        return hand_over!(c"tzset", fn(), ());
    };
    // Else they stay those of the last conversion.
    if !known.keeps_names {
        gate::set(&known.zone.globals_at(None));
    }
}

/// `tzname[summer]` after tzset(3).
pub(crate) fn name_after_tzset(summer: bool) -> *const c_char {
    tzset();
    let name = imports::tzname(summer);
    if name.is_null() { CStr::as_ptr(c"") } else { name }
}
