//! Which zone holds now, and when to look again.
//!
//! The kernel is asked only in functions in which glibc asks it, too:
//!
//! * localtime, mktime, ctime, tzset, and strftime for `%s` and a `%Z` without a name, look at `TZ` in each call. A
//!   changed one is seen in that call. With `TZ` unset they ask for `/etc/localtime`, but once in a second of the wall
//!   clock at most.
//! * localtime_r, ctime_r, gmtime, gmtime_r and timegm look once, if nothing else has looked yet.
//!
//! The C library has a zone of its own inside, for functions that are not ours. It reads that when we first see a
//! zone (step.rs), and so whenever it would have by itself: a program may then leave its root directory, or forbid
//! itself system calls.

use crate::zones::Known;
use crate::{clock, environment, imports, libc_sync, zones};
use core::ffi::CStr;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use needless_localtime::Globals;

/// The zone of the last look: null before the first, `LIBC` where the C library answers.
static CURRENT: AtomicPtr<Known> = AtomicPtr::new(null_mut());
const LIBC: *mut Known = without_provenance_mut(1);
/// The second in which the file was last asked for.
static CHECKED: AtomicI64 = AtomicI64::new(i64::MIN);

#[inline(always)]
fn ours(current: *mut Known) -> Option<&'static Known> {
    if current.addr() <= LIBC.addr() {
        return None;
    }
    // SAFETY: it is neither null nor `LIBC`, and all else in `CURRENT` was published complete and is never freed.
    Some(unsafe { &*current })
}

/// The zone for calls that look at changes: localtime, mktime, tzset. `None`: the C library is to answer.
#[inline]
pub(crate) fn checked() -> Option<&'static Known> {
    let Some(known) = ours(CURRENT.load(Ordering::Acquire)) else { return look() };
    let holds = match environment::tz() {
        // SAFETY: a value in the environment ends with a NUL.
        Some(value) => unsafe { environment::is(value, &known.text) },
        None => known.is_default && clock::second() == CHECKED.load(Ordering::Relaxed),
    };
    if holds { Some(known) } else { look() }
}

/// The zone for calls that do not: localtime_r, gmtime. `None`: likewise.
#[inline]
pub(crate) fn settled() -> Option<&'static Known> {
    let current = CURRENT.load(Ordering::Acquire);
    if current.is_null() { look() } else { ours(current) }
}

#[cold]
fn look() -> Option<&'static Known> {
    if !imports::suitable() {
        return None;
    }
    let errno = imports::errno();
    let before = CURRENT.load(Ordering::Acquire);
    let tz = environment::tz();
    if tz.is_none() {
        let now = clock::second();
        // Another thread asks, or has just asked, in this very second; or the C library does, for us all.
        let asked = CHECKED.swap(now, Ordering::Relaxed) == now;
        if asked && (before == LIBC || ours(before).is_some_and(|known| known.is_default)) {
            return ours(before);
        }
    }
    let Some((known, read)) = zones::of(environment::text(tz)) else {
        // Unless another thread has found a zone meanwhile.
        let _ = CURRENT.compare_exchange(before, LIBC, Ordering::AcqRel, Ordering::Acquire);
        imports::set_errno(errno);
        return None;
    };
    let old = CURRENT.swap(core::ptr::from_ref(known).cast_mut(), Ordering::AcqRel);
    if read {
        libc_sync::read_too(known);
    } else if !core::ptr::eq(old, known) {
        // Another name of the same file is no other zone to glibc: the names stay those of the last conversion.
        if !ours(old).is_some_and(|old| old.is_of_same_file(known)) {
            set(&known.zone.globals_at(None));
        }
        libc_sync::changed();
    }
    imports::set_errno(errno);
    Some(known)
}

/// Writes the three variables as after a change of zone.
pub(crate) fn set_fresh() {
    if let Some(known) = ours(CURRENT.load(Ordering::Acquire)) {
        set(&known.zone.globals_at(None));
    }
}

/// Writes `tzname`, `timezone` and `daylight`.
pub(crate) fn set(globals: &Globals<'_>) {
    imports::set_globals(globals.names.map(CStr::as_ptr), globals.timezone, globals.daylight);
}
