//! localtime, gmtime, mktime, timegm, ctime, tzset and their variants.
//!
//! They share functions that are not exported, and do not call each other: a program may define one of the names
//! itself.

use crate::current;
use crate::elf::call_next;
use crate::fields::{civil_of, set, set_overflow, value};
use crate::imports::{self, Tm};
use crate::thread::{self, SECONDS_PER_DAY};
use crate::zones::CachedZone;
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI64, Ordering};
use needless_localtime::{Civil, LocalMoment, day_and_second};

/// The value does not fit (errno(3)).
const EOVERFLOW: i32 = 75;

/// The structure that localtime, gmtime and ctime return, shared as in the C library. In a cache line of its own: a store
/// that crosses two costs several times one that does not.
#[repr(align(64))]
struct Shared(Tm);

// SAFETY: numbers and a pointer, which may all be zero.
static mut SHARED: Shared = unsafe { core::mem::zeroed() };

/// Converts to local time.
///
/// # Safety
/// `tm` must be writable.
#[inline(always)]
unsafe fn local(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        if thread::local().find::<true>(cached, t, tm) {
            return tm;
        }
        compute_local(cached, t, tm)
    }
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn compute_local(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        match cached.zone.local_near(t) {
            Some(found) => write_local(cached, found, tm),
            None => compute_far_local(cached, t, tm),
        }
    }
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn compute_far_local(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &cached.zone;
    let found = zone.local_time_type(t).and_then(|local_type| {
        Some(LocalMoment { t, civil: zone.clock(t, local_type.gmtoff)?, local_type })
    });
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        match found {
            Some(found) => write_local(cached, found, tm),
            None => local_overflow(cached, t, tm),
        }
    }
}

/// Writes a local time that was computed.
///
/// # Safety
/// `tm` must be writable.
#[inline(always)]
unsafe fn write_local(
    cached: &'static CachedZone,
    found: LocalMoment<'static>,
    tm: *mut Tm,
) -> *mut Tm {
    let LocalMoment { t, civil, local_type } = found;
    current::set_globals(&local_type.globals);
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe { set(tm, &civil, local_type.isdst, local_type.gmtoff, local_type.abbr) };
    if thread::local().is_of_last_day(&civil) {
        fill_local(cached, t);
    }
    tm
}

/// Caches the day of `t`. It computes the moment again, so that its callers, where that is rare, keep theirs in registers.
#[cold]
fn fill_local(cached: &'static CachedZone, t: i64) {
    let zone = &cached.zone;
    let Some(local_type) = zone.local_time_type(t) else { return };
    let Some(civil) = zone.clock(t, local_type.gmtoff) else { return };
    let day = value(&civil, local_type.isdst, local_type.gmtoff, local_type.abbr);
    let around = zone.type_around(t).map(|(_, around)| around);
    thread::local().fill(cached, t, &day, around);
}

/// The year does not fit: leaves everything as glibc does.
///
/// # Safety
/// `tm` must be writable.
#[cold]
unsafe fn local_overflow(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    let zone = &cached.zone;
    let globals = zone.globals_at(Some(t));
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        if let Some(utc) = needless_localtime::gmtime(t).filter(|_| zone.is_by_rules(t)) {
            ((*tm).mday, (*tm).mon, (*tm).yday) = (utc.mday, utc.mon, utc.yday);
        }
        match zone.local_time_type(t) {
            Some(local_type) => {
                let correction = zone.leap_correction(t);
                set_overflow(tm, t, local_type.gmtoff - correction);
                (*tm).isdst = i32::from(local_type.isdst);
                (*tm).gmtoff = i64::from(local_type.gmtoff);
                (*tm).zone = local_type.abbr.as_ptr();
            }
            None => set_overflow(tm, t, 0),
        }
    }
    current::set_globals(&globals);
    imports::set_errno(EOVERFLOW);
    null_mut()
}

/// Converts to UTC.
///
/// # Safety
/// `tm` must be writable.
#[inline(always)]
unsafe fn universal(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        if thread::universal().find::<false>(cached, t, tm) {
            return tm;
        }
        compute_universal(cached, t, tm)
    }
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn compute_universal(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        match cached.zone.gmtime_near(t) {
            Some(civil) => write_universal(cached, t, &civil, tm),
            None => compute_far_universal(cached, t, tm),
        }
    }
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn compute_far_universal(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        match cached.zone.gmtime(t) {
            Some(civil) => write_universal(cached, t, &civil, tm),
            None => universal_overflow(cached, t, tm),
        }
    }
}

/// Writes a UTC that was computed.
///
/// # Safety
/// `tm` must be writable.
#[inline(always)]
unsafe fn write_universal(
    cached: &'static CachedZone,
    t: i64,
    civil: &Civil,
    tm: *mut Tm,
) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe { set(tm, civil, false, 0, c"GMT") };
    if thread::universal().is_of_last_day(civil) {
        fill_universal(cached, t);
    }
    tm
}

/// As [`fill_local`].
#[cold]
fn fill_universal(cached: &'static CachedZone, t: i64) {
    let Some(civil) = cached.zone.gmtime(t) else { return };
    let around = (!cached.zone.has_leaps()).then_some(t - SECONDS_PER_DAY..t + SECONDS_PER_DAY);
    thread::universal().fill(cached, t, &value(&civil, false, 0, c"GMT"), around);
}

/// # Safety
/// `tm` must be writable.
#[cold]
unsafe fn universal_overflow(cached: &'static CachedZone, t: i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe {
        set_overflow(tm, t, -cached.zone.leap_correction(t));
        if cached.zone.is_of_file() {
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
    let Some(cached) = current::checked() else {
        return call_next!(c"localtime", fn(*const i64) -> *mut Tm, null_mut(), time);
    };
    // SAFETY: `time` is readable, by `# Safety`. `SHARED` is only written through a raw pointer: threads that call
    // localtime at the same time get mixed fields, as localtime(3) says, and no reference to it exists.
    unsafe { local(cached, *time, &raw mut SHARED.0) }
}

/// localtime_r(3): does not check whether the zone changed, like glibc's.
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn localtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe {
        if thread::local().find::<true>(current::raw(), *time, tm) {
            return tm;
        }
        compute_localtime_r(time, tm)
    }
}

/// As a function of its own it needs no registers of [`localtime_r`]'s, which then saves none.
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[inline(never)]
unsafe extern "C" fn compute_localtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    let Some(cached) = current::last() else {
        return call_next!(
            c"localtime_r",
            fn(*const i64, *mut Tm) -> *mut Tm,
            null_mut(),
            time,
            tm
        );
    };
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe { compute_local(cached, *time, tm) }
}

/// gmtime(3).
///
/// # Safety
/// `time` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gmtime(time: *const i64) -> *mut Tm {
    let Some(cached) = current::last() else {
        return call_next!(c"gmtime", fn(*const i64) -> *mut Tm, null_mut(), time);
    };
    // SAFETY: as in `localtime`.
    unsafe { universal(cached, *time, &raw mut SHARED.0) }
}

/// # Safety
/// `time` must be readable, `tm` writable.
#[inline(always)]
unsafe fn universal_into(time: *const i64, tm: *mut Tm) -> *mut Tm {
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe {
        if thread::universal().find::<false>(current::raw(), *time, tm) {
            return tm;
        }
        compute_gmtime_r(time, tm)
    }
}

/// As [`compute_localtime_r`].
///
/// # Safety
/// `time` must be readable, `tm` writable.
#[inline(never)]
unsafe extern "C" fn compute_gmtime_r(time: *const i64, tm: *mut Tm) -> *mut Tm {
    let Some(cached) = current::last() else {
        return call_next!(c"gmtime_r", fn(*const i64, *mut Tm) -> *mut Tm, null_mut(), time, tm);
    };
    // SAFETY: `time` is readable and `tm` writable, by `# Safety`.
    unsafe { compute_universal(cached, *time, tm) }
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

/// ctime(3): the C library's asctime of local time.
///
/// # Safety
/// `time` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctime(time: *const i64) -> *mut c_char {
    let Some(cached) = current::checked() else {
        return call_next!(c"ctime", fn(*const i64) -> *mut c_char, null_mut(), time);
    };
    // SAFETY: as in `localtime`.
    let tm = unsafe { local(cached, *time, &raw mut SHARED.0) };
    call_next!(c"asctime", fn(*mut Tm) -> *mut c_char, null_mut(), tm)
}

/// ctime_r(3): likewise; does not check whether the zone changed, like glibc's.
///
/// # Safety
/// `time` must be readable, `buffer` writable for 26 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctime_r(time: *const i64, buffer: *mut c_char) -> *mut c_char {
    let Some(cached) = current::last() else {
        return call_next!(
            c"ctime_r",
            fn(*const i64, *mut c_char) -> *mut c_char,
            null_mut(),
            time,
            buffer
        );
    };
    let mut tm = MaybeUninit::uninit();
    // SAFETY: `time` is readable, by `# Safety`; `tm` is a variable of ours. `local` fills it, or returns null.
    let tm = unsafe { local(cached, *time, tm.as_mut_ptr()) };
    call_next!(c"asctime_r", fn(*mut Tm, *mut c_char) -> *mut c_char, null_mut(), tm, buffer)
}

/// What mktime carries from call to call, for all zones and threads together: see `Zone::mktime_after`.
static CARRIED: AtomicI64 = AtomicI64::new(0);

/// The moment, if it is on the day that the thread's slot holds.
#[inline(always)]
fn on_last_day(
    cached: &'static CachedZone,
    civil: &Civil,
    isdst: i32,
    carried: &mut i64,
) -> Option<i64> {
    let (day, second) = day_and_second(civil)?;
    let t = thread::local().moment(cached, (day, second), isdst)?;
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

/// mktime; `None`: the C library has to answer.
///
/// # Safety
/// `tm` must be readable and writable.
#[inline(always)]
pub(crate) unsafe fn try_mktime(tm: *mut Tm) -> Option<Result<i64, Overflow>> {
    let cached = current::checked()?;
    // SAFETY: `tm` is readable, by `# Safety`.
    let (civil, isdst) = unsafe { civil_of(tm) };
    let before = CARRIED.load(Ordering::Relaxed);
    let mut carried = before;
    if let Some(t) = on_last_day(cached, &civil, isdst, &mut carried) {
        carry(carried);
        // SAFETY: `tm` is writable, by `# Safety`.
        unsafe { local(cached, t, tm) };
        return Some(Ok(t));
    }
    // SAFETY: `tm` is writable, by `# Safety`. Its fields have been read above.
    Some(unsafe { compute_mktime(cached, &civil, isdst, before, tm) }.ok_or(Overflow))
}

/// mktime(3).
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mktime(tm: *mut Tm) -> i64 {
    // SAFETY: `tm` is readable and writable, by `# Safety`.
    match unsafe { try_mktime(tm) } {
        None => call_next!(c"mktime", fn(*mut Tm) -> i64, -1, tm),
        Some(moment) => moment.unwrap_or(-1),
    }
}

/// # Safety
/// `tm` must be writable.
#[inline(never)]
unsafe fn compute_mktime(
    cached: &'static CachedZone,
    civil: &Civil,
    isdst: i32,
    mut carried: i64,
    tm: *mut Tm,
) -> Option<i64> {
    if let Some(found) = cached.zone.mktime_far_from_changes(civil, isdst, &mut carried) {
        let t = found.t;
        carry(carried);
        // SAFETY: `tm` is writable, by `# Safety`.
        unsafe { write_local(cached, found, tm) };
        return Some(t);
    }
    let found = cached.zone.mktime_after(civil, isdst, &mut carried);
    carry(carried);
    let Some(t) = found else {
        imports::set_errno(EOVERFLOW);
        return None;
    };
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe { local(cached, t, tm) };
    Some(t)
}

/// timelocal(3), which is mktime.
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timelocal(tm: *mut Tm) -> i64 {
    // SAFETY: `tm` is readable and writable, by `# Safety`.
    match unsafe { try_mktime(tm) } {
        None => call_next!(c"timelocal", fn(*mut Tm) -> i64, -1, tm),
        Some(moment) => moment.unwrap_or(-1),
    }
}

/// timegm(3).
///
/// # Safety
/// `tm` must be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timegm(tm: *mut Tm) -> i64 {
    let Some(cached) = current::last() else {
        return call_next!(c"timegm", fn(*mut Tm) -> i64, -1, tm);
    };
    // SAFETY: `tm` is readable, by `# Safety`.
    let (civil, _) = unsafe { civil_of(tm) };
    let Some(t) = cached.zone.timegm(&civil) else {
        // glibc clears the flag before it finds that the year does not fit.
        // SAFETY: `tm` is writable, by `# Safety`.
        unsafe { (*tm).isdst = 0 };
        imports::set_errno(EOVERFLOW);
        return -1;
    };
    // SAFETY: `tm` is writable, by `# Safety`.
    unsafe { universal(cached, t, tm) };
    t
}

/// tzset; false: the C library has to do it.
pub(crate) fn try_tzset() -> bool {
    let Some(cached) = current::checked() else { return false };
    // Otherwise the variables keep the values of the last conversion.
    if !cached.keeps_names {
        current::set_globals(&cached.zone.globals_at(None));
    }
    true
}

/// tzset(3).
#[unsafe(no_mangle)]
pub extern "C" fn tzset() {
    if !try_tzset() {
        call_next!(c"tzset", fn(), ());
    }
}
