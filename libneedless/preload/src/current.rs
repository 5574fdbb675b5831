//! The current zone, and when it is checked for a change.
//!
//! System calls are made only in functions in which glibc makes them, too:
//!
//! * localtime, mktime, ctime, tzset, and strftime for `%s` and a `%Z` without a name, compare `TZ` in each call and
//!   see a change at once. With `TZ` unset they check `/etc/localtime`, at most once per second of the wall clock.
//! * localtime_r, ctime_r, gmtime, gmtime_r and timegm check only if nothing has checked before.
//!
//! The C library keeps its own zone for functions that this library does not replace. It is made to read each zone
//! when this library reads it (libc_sync.rs), which is also when it would do so without this library: afterwards the
//! program may change its root directory or forbid itself system calls.

use crate::between_threads::{Latest, Second};
use crate::zones::CachedZone;
use crate::{clock, environ, imports, libc_sync, zones};
use core::ffi::CStr;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicI64, AtomicPtr};
use needless_localtime::Globals;

/// The zone of the last check: null before the first one, `LIBC` where the C library answers.
static CURRENT: Latest<CachedZone> = Latest { at: AtomicPtr::new(null_mut()) };
const LIBC: *mut CachedZone = without_provenance_mut(1);
/// The second in which `/etc/localtime` was last checked.
static CHECKED: Second = Second { last: AtomicI64::new(i64::MIN) };

#[inline(always)]
fn ours(current: *mut CachedZone) -> Option<&'static CachedZone> {
    if current.addr() <= LIBC.addr() {
        return None;
    }
    // SAFETY: it is neither null nor `LIBC`. All other values of `CURRENT` come from `zones::of`, whose zones are never
    // changed or freed; what `Latest` returns is complete.
    Some(unsafe { &*current })
}

/// The zone for calls that check for a change: localtime, mktime, tzset. `None`: the C library has to answer.
#[inline]
pub(crate) fn checked() -> Option<&'static CachedZone> {
    let Some(cached) = ours(CURRENT.get()) else { return check() };
    let holds = match environ::tz() {
        Some(value) => value.is(&cached.text),
        None => cached.is_default && CHECKED.is(clock::second()),
    };
    if holds { Some(cached) } else { check() }
}

/// The zone for calls that do not: localtime_r, gmtime. `None`: the C library has to answer.
#[inline]
pub(crate) fn last() -> Option<&'static CachedZone> {
    let current = CURRENT.get();
    if current.is_null() { check() } else { ours(current) }
}

/// The zone that [`last`] returns, or null or a mark that no slot of a thread has.
#[inline(always)]
pub(crate) fn raw() -> *const CachedZone {
    CURRENT.get()
}

#[cold]
fn check() -> Option<&'static CachedZone> {
    if !imports::suitable() {
        return None;
    }
    let errno = imports::errno();
    let before = CURRENT.get();
    let tz = environ::tz();
    if tz.is_none() {
        // Another thread has checked, or is checking, in this second; or the C library answers anyway.
        let checked = !CHECKED.begin(clock::second());
        if checked && (before == LIBC || ours(before).is_some_and(|cached| cached.is_default)) {
            return ours(before);
        }
    }
    let Some((cached, read)) = zones::of(environ::text(tz)) else {
        // Another thread may have found a zone meanwhile: that one stays.
        CURRENT.put_mark(before, LIBC);
        imports::set_errno(errno);
        return None;
    };
    let old = CURRENT.put(core::ptr::from_ref(cached).cast_mut());
    let is_new = !core::ptr::eq(old, cached);
    if read {
        libc_sync::read_too();
    } else if is_new {
        libc_sync::changed();
    }
    // To glibc another name of the same file is the same zone: `tzname` keeps the names of the last conversion. What the
    // C library compares with is the zone that it read last, which may be an older one than ours: it is no judge here.
    if is_new && !ours(old).is_some_and(|old| old.is_of_same_file(cached)) {
        set_globals(&cached.zone.globals_at(None));
    }
    imports::set_errno(errno);
    Some(cached)
}

/// Writes the three variables as tzset does after a change of zone.
pub(crate) fn set_globals_after_tzset() {
    if let Some(cached) = ours(CURRENT.get()) {
        set_globals(&cached.zone.globals_at(None));
    }
}

/// Writes `tzname`, `timezone` and `daylight`.
pub(crate) fn set_globals(globals: &Globals<'_>) {
    imports::set_globals(globals.names.map(CStr::as_ptr), globals.timezone, globals.daylight);
}
