//! localtime, gmtime, mktime, timegm, ctime, tzset and their kin.
//!
//! They call each other by functions that are not exported: a program may define one of the names itself.

use crate::elf::hand_over;
use crate::gate;
use crate::imports::{self, Tm};
use crate::thread::{self, SECONDS_PER_DAY};
use crate::zones::Known;
use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI64, Ordering};
use needless_localtime::{Civil, Found, beyond, day_and_second};

/// The value does not fit (errno(3)).
const EOVERFLOW: i32 = 75;

/// What localtime, gmtime and ctime share, as in the C library.
static mut SHARED: Tm = Tm {
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
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        (*tm).sec = (second % 60) as i32;
        (*tm).min = (minutes % 60) as i32;
        (*tm).hour = (minutes / 60) as i32;
    }
}

/// # Safety
/// `tm` must be readable.
unsafe fn civil_of(tm: *const Tm) -> (Civil, i32) {
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

/// What glibc leaves in `tm` when it finds that the year does not fit.
///
/// # Safety
/// `tm` must be writable.
unsafe fn set_beyond(tm: *mut Tm, t: i64, gmtoff: i32) {
    let c = beyond(t, gmtoff);
    // SAFETY: `tm` is writable, by `# Safety`.
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
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        let Some(hit) = thread::local().find(known, t, tm) else {
            return local_worked_out(known, t, tm);
        };
        set_clock(tm, hit.second);
        hit.set_globals();
    }
    tm
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn local_worked_out(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &known.zone;
    let found = zone
        .regime(t)
        .and_then(|regime| Some(Found { t, civil: zone.clock(t, regime.gmtoff)?, regime }));
    // SAFETY: `tm` is writable, by `# Safety`.
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
/// `tm` must be writable.
#[inline(always)]
unsafe fn show(known: &'static Known, found: &Found<'static>, tm: *mut Tm) -> *mut Tm {
    let Found { t, civil, regime } = found;
    gate::set(&regime.globals);
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        set(tm, civil, regime.isdst, regime.gmtoff, regime.abbr);
        if thread::local().is_of_last_day(civil) {
            let day = value(civil, regime.isdst, regime.gmtoff, regime.abbr);
            let around = known.zone.regime_around(*t).map(|(_, around)| around);
            thread::local().fill(known, *t, &day, around);
        }
    }
    tm
}

/// The year does not fit: as glibc leaves things then.
///
/// # Safety
/// `tm` must be writable.
#[cold]
unsafe fn local_beyond(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &known.zone;
    let globals = zone.globals_at(Some(t));
    // SAFETY: `tm` is writable, by `# Safety`.
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
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        let Some(hit) = thread::universal().find(known, t, tm) else {
            return universal_worked_out(known, t, tm);
        };
        set_clock(tm, hit.second);
    }
    tm
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn universal_worked_out(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &known.zone;
    let Some(civil) = zone.gmtime(t) else {
        // SAFETY: `tm` is writable, by `# Safety`.
        return unsafe { universal_beyond(known, t, tm) };
    };
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        set(tm, &civil, false, 0, c"GMT");
        if thread::universal().is_of_last_day(&civil) {
            let around = (!zone.has_leaps()).then_some(t - SECONDS_PER_DAY..t + SECONDS_PER_DAY);
            let day = value(&civil, false, 0, c"GMT");
            thread::universal().fill(known, t, &day, around);
        }
    }
    tm
}

/// # Safety
/// `tm` must be writable.
#[cold]
unsafe fn universal_beyond(known: &'static Known, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
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
    // SAFETY: `time` is readable; the shared structure is for one thread at a time by localtime(3).
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
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
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
    // SAFETY: `time` is readable; the shared structure is for one thread at a time by gmtime(3).
    unsafe { universal(known, *time, &raw mut SHARED) }
}

/// # Safety
/// `time` must be readable, `tm` writable.
#[inline(always)]
unsafe fn universal_into(time: *const i64, tm: *mut Tm) -> *mut Tm {
    let Some(known) = gate::settled() else {
        return hand_over!(c"gmtime_r", fn(*const i64, *mut Tm) -> *mut Tm, null_mut(), time, tm);
    };
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe { universal(known, *time, tm) }
}

/// gmtime_r(3).
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gmtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe { universal_into(time, tm) }
}

/// glibc's other name of [`gmtime_r`].
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __gmtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe { universal_into(time, tm) }
}

/// ctime(3): asctime, the C library's, of local time.
///
/// # Safety
/// `time` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctime(time: *const i64) -> *mut c_char {
    let Some(known) = gate::checked() else {
        return hand_over!(c"ctime", fn(*const i64) -> *mut c_char, null_mut(), time);
    };
    // SAFETY: `time` is readable; the shared structure is for one thread at a time by ctime(3).
    let tm = unsafe { local(known, *time, &raw mut SHARED) };
    hand_over!(c"asctime", fn(*mut Tm) -> *mut c_char, null_mut(), tm)
}

/// ctime_r(3): likewise, without a look whether the zone changed, as glibc's.
///
/// # Safety
/// `time` must be readable, `buffer` writable for 26 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctime_r(time: *const i64, buffer: *mut c_char) -> *mut c_char {
    let Some(known) = gate::settled() else {
        return hand_over!(
            c"ctime_r",
            fn(*const i64, *mut c_char) -> *mut c_char,
            null_mut(),
            time,
            buffer
        );
    };
    let mut tm = MaybeUninit::uninit();
    // SAFETY: `time` is readable; `local` writes `tm` whenever it returns it.
    let tm = unsafe { local(known, *time, tm.as_mut_ptr()) };
    hand_over!(c"asctime_r", fn(*mut Tm, *mut c_char) -> *mut c_char, null_mut(), tm, buffer)
}

/// What mktime remembers from call to call, of all zones and threads: see `Zone::mktime_after`.
static CARRIED: AtomicI64 = AtomicI64::new(0);

/// The moment, if it is on the day remembered.
#[inline(always)]
fn today(known: &'static Known, civil: &Civil, isdst: i32, carried: &mut i64) -> Option<i64> {
    let (day, second) = day_and_second(civil)?;
    let t = thread::local().moment(known, (day, second), isdst)?;
    *carried = t - (day * SECONDS_PER_DAY + i64::from(second));
    Some(t)
}

fn carry(this: i64) {
    if CARRIED.load(Ordering::Relaxed) != this {
        CARRIED.store(this, Ordering::Relaxed);
    }
}

/// The year does not fit.
pub(crate) struct Overflow;

/// What mktime does; `None`: the C library is to do it.
///
/// # Safety
/// `tm` must be readable and writable.
#[inline(always)]
pub(crate) unsafe fn moment_of(tm: *mut Tm) -> Option<Result<i64, Overflow>> {
    let known = gate::checked()?;
    // SAFETY: `tm` is readable, by `# Safety`.
    let (civil, isdst) = unsafe { civil_of(tm) };
    let before = CARRIED.load(Ordering::Relaxed);
    let mut carried = before;
    if let Some(t) = today(known, &civil, isdst, &mut carried) {
        carry(carried);
        // SAFETY: `tm` is writable, by `# Safety`.
        unsafe { local(known, t, tm) };
        return Some(Ok(t));
    }
    // SAFETY: `tm` is writable, by `# Safety`; what it held has been read.
    Some(unsafe { mktime_worked_out(known, &civil, isdst, before, tm) }.ok_or(Overflow))
}

/// mktime(3).
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mktime(tm: *mut Tm) -> i64 {
    // SAFETY: `tm` is readable and writable, by `# Safety`.
    match unsafe { moment_of(tm) } {
        None => hand_over!(c"mktime", fn(*mut Tm) -> i64, -1, tm),
        Some(moment) => moment.unwrap_or(-1),
    }
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
) -> Option<i64> {
    if let Some(found) = known.zone.mktime_far_from_changes(civil, isdst, &mut carried) {
        carry(carried);
        // SAFETY: `tm` is writable, by `# Safety`.
        unsafe { show(known, &found, tm) };
        return Some(found.t);
    }
    let found = known.zone.mktime_after(civil, isdst, &mut carried);
    carry(carried);
    let Some(t) = found else {
        imports::set_errno(EOVERFLOW);
        return None;
    };
    // SAFETY: `tm` is writable, by `# Safety`. The engine found its year to fit.
    unsafe { local(known, t, tm) };
    Some(t)
}

/// timelocal(3), which is mktime.
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timelocal(tm: *mut Tm) -> i64 {
    // SAFETY: `tm` is readable and writable, by `# Safety`.
    match unsafe { moment_of(tm) } {
        None => hand_over!(c"timelocal", fn(*mut Tm) -> i64, -1, tm),
        Some(moment) => moment.unwrap_or(-1),
    }
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
    // SAFETY: `tm` is readable, by `# Safety`.
    let (civil, _) = unsafe { civil_of(tm) };
    let Some(t) = known.zone.timegm(&civil) else {
        // SAFETY: `tm` is writable, by `# Safety`.
        // glibc says "no summer time" before it finds that nothing fits.
        unsafe { (*tm).isdst = 0 };
        imports::set_errno(EOVERFLOW);
        return -1;
    };
    // SAFETY: `tm` is writable, by `# Safety`. The engine found its year to fit.
    unsafe { universal(known, t, tm) };
    t
}

/// What tzset does; false: the C library is to do it.
pub(crate) fn refresh() -> bool {
    let Some(known) = gate::checked() else { return false };
    // Else they stay those of the last conversion.
    if !known.keeps_names {
        gate::set(&known.zone.globals_at(None));
    }
    true
}

/// tzset(3).
#[unsafe(no_mangle)]
pub extern "C" fn tzset() {
    if !refresh() {
        hand_over!(c"tzset", fn(), ());
    }
}
