//! localtime, gmtime, mktime, timegm, tzset and their kin.

use crate::elf::hand_over;
use crate::gate;
use crate::imports::{self, Tm};
use crate::thread::{self, SECONDS_PER_DAY, Slot};
use crate::zones::Known;
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI64, Ordering};
use needless_localtime::{Civil, Found, beyond, day_and_second};

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
#[inline(always)]
unsafe fn set(tm: *mut Tm, c: &Civil, isdst: bool, gmtoff: i32, zone: &'static CStr) {
    // Volatile, so that each int is stored by itself: gathered in wider registers first, they would have
    // to wait for one another.
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
        (*tm).zone = zone.as_ptr();
    }
}

/// The same as a value: never read back from the caller's structure, which may be the one that all threads
/// and signal handlers share.
fn value(c: &Civil, isdst: bool, gmtoff: i32, zone: &'static CStr) -> Tm {
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
#[inline]
unsafe fn set_clock(tm: *mut Tm, second: u32) {
    let minutes = second / 60;
    // SAFETY: the caller's.
    unsafe {
        (*tm).sec = (second % 60) as i32;
        (*tm).min = (minutes % 60) as i32;
        (*tm).hour = (minutes / 60) as i32;
    }
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

/// What glibc leaves in `tm` when it finds that the year does not fit.
///
/// # Safety
/// `tm` must be writable.
unsafe fn set_beyond(tm: *mut Tm, t: i64, gmtoff: i32) {
    let c = beyond(t, gmtoff);
    // SAFETY: the caller's.
    unsafe {
        ((*tm).sec, (*tm).min, (*tm).hour) = (c.sec, c.min, c.hour);
        ((*tm).wday, (*tm).year) = (c.wday, c.year);
    }
}

/// Local time.
///
/// # Safety
/// `tm` must be writable.
#[inline(always)]
unsafe fn local(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: the slot is this thread's; the rest is the caller's.
    unsafe {
        let Some(hit) = Slot::find(thread::local(), known, t, tm) else {
            return local_worked_out(known, t, tm);
        };
        set_clock(tm, hit.second);
        gate::set(&hit.globals);
    }
    tm
}

/// # Safety
/// As `local`.
#[inline(never)]
unsafe fn local_worked_out(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &known.zone;
    let found = zone
        .regime(t)
        .and_then(|regime| Some(Found { t, civil: zone.clock(t, regime.gmtoff)?, regime }));
    // SAFETY: the caller's.
    unsafe {
        match found {
            Some(found) => show(known, &found, tm),
            None => local_beyond(known, t, tm),
        }
    }
}

/// Local time that was worked out.
///
/// # Safety
/// As `local`.
#[inline(always)]
unsafe fn show(known: &'static Known, found: &Found<'static>, tm: *mut Tm) -> *mut Tm {
    let Found { t, civil, regime } = found;
    gate::set(&regime.globals);
    // SAFETY: the slot is this thread's; the rest is the caller's.
    unsafe {
        set(tm, civil, regime.isdst, regime.gmtoff, regime.abbr);
        if Slot::is_of_last_day(thread::local(), civil) {
            let day = value(civil, regime.isdst, regime.gmtoff, regime.abbr);
            let around = known.zone.regime_around(*t).map(|(_, around)| around);
            Slot::fill(thread::local(), known, *t, &day, around);
        }
    }
    tm
}

/// The year does not fit: as glibc leaves things then.
///
/// # Safety
/// As `local`.
#[cold]
unsafe fn local_beyond(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &known.zone;
    let globals = zone.globals_at(Some(t));
    // SAFETY: the caller's.
    unsafe {
        if let Some(utc) = needless_localtime::gmtime(t).filter(|_| zone.is_by_rules(t)) {
            ((*tm).mday, (*tm).mon, (*tm).yday) = (utc.mday, utc.mon, utc.yday);
        }
        match zone.regime(t) {
            Some(regime) => {
                let correction = zone.leap_correction(t);
                set_beyond(tm, t, regime.gmtoff - correction);
                (*tm).isdst = i32::from(regime.isdst);
                (*tm).gmtoff = i64::from(regime.gmtoff);
                (*tm).zone = regime.abbr.as_ptr();
            }
            None => set_beyond(tm, t, 0),
        }
    }
    gate::set(&globals);
    imports::set_errno(EOVERFLOW);
    null_mut()
}

/// UTC.
///
/// # Safety
/// `tm` must be writable.
#[inline(always)]
unsafe fn universal(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: the slot is this thread's; the rest is the caller's.
    unsafe {
        let Some(hit) = Slot::find(thread::universal(), known, t, tm) else {
            return universal_worked_out(known, t, tm);
        };
        set_clock(tm, hit.second);
    }
    tm
}

/// # Safety
/// As `universal`.
#[inline(never)]
unsafe fn universal_worked_out(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &known.zone;
    let Some(civil) = zone.gmtime(t) else {
        // SAFETY: the caller's.
        return unsafe { universal_beyond(known, t, tm) };
    };
    // SAFETY: the slot is this thread's; the rest is the caller's.
    unsafe {
        set(tm, &civil, false, 0, c"GMT");
        if Slot::is_of_last_day(thread::universal(), &civil) {
            let around = (!zone.has_leaps()).then_some(t - SECONDS_PER_DAY..t + SECONDS_PER_DAY);
            let day = value(&civil, false, 0, c"GMT");
            Slot::fill(thread::universal(), known, t, &day, around);
        }
    }
    tm
}

/// # Safety
/// As `universal`.
#[cold]
unsafe fn universal_beyond(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: the caller's.
    unsafe {
        set_beyond(tm, t, -known.zone.leap_correction(t));
        if known.zone.is_of_file() {
            ((*tm).isdst, (*tm).gmtoff, (*tm).zone) = (0, 0, c"GMT".as_ptr());
        }
    }
    imports::set_errno(EOVERFLOW);
    null_mut()
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

/// The moment, if it is on the day remembered.
#[inline(always)]
fn today(known: &'static Known, civil: &Civil, isdst: i32, carried: &mut i64) -> Option<i64> {
    let (day, second) = day_and_second(civil)?;
    // SAFETY: the slot is this thread's.
    let t = unsafe { Slot::moment(thread::local(), known, (day, second), isdst)? };
    *carried = t - (day * SECONDS_PER_DAY + i64::from(second));
    Some(t)
}

/// What mktime remembers now, to be put back if a call of it is not to count.
pub(crate) fn carried() -> i64 {
    CARRIED.load(Ordering::Relaxed)
}

/// Makes mktime remember this.
pub(crate) fn carry(this: i64) {
    if carried() != this {
        CARRIED.store(this, Ordering::Relaxed);
    }
}

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
    let before = CARRIED.load(Ordering::Relaxed);
    let mut carried = before;
    if let Some(t) = today(known, &civil, isdst, &mut carried) {
        carry(carried);
        // SAFETY: the caller's.
        unsafe { local(known, t, tm) };
        return t;
    }
    // SAFETY: the caller's; `tm` is no longer needed.
    unsafe { mktime_worked_out(known, &civil, isdst, before, tm) }
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn mktime_worked_out(
    known: &'static Known,
    civil: &Civil,
    isdst: i32,
    mut carried: i64,
    tm: *mut Tm,
) -> i64 {
    if let Some(found) = known.zone.mktime_far_from_changes(civil, isdst, &mut carried) {
        carry(carried);
        // SAFETY: the caller's.
        unsafe { show(known, &found, tm) };
        return found.t;
    }
    let found = known.zone.mktime_after(civil, isdst, &mut carried);
    carry(carried);
    let Some(t) = found else {
        imports::set_errno(EOVERFLOW);
        return -1;
    };
    // SAFETY: the caller's. The engine found its year to fit.
    unsafe { local(known, t, tm) };
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
    let Some(t) = known.zone.timegm(&civil) else {
        // SAFETY: the caller's. glibc says "no summer time" before it finds that nothing fits.
        unsafe { (*tm).isdst = 0 };
        imports::set_errno(EOVERFLOW);
        return -1;
    };
    // SAFETY: the caller's. The engine found its year to fit.
    unsafe { universal(known, t, tm) };
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
