//! Which zone holds now, and when to look again.
//!
//! * A changed `TZ` is seen in the call itself.
//! * With `TZ` unset, `/etc/localtime` is asked for at most once in a second of the wall clock, and
//!   only by a call that glibc would ask in, too.
//! * A check that was skipped is a debt: a program may call tzset() once when it sees the file change,
//!   and localtime_r(), which never asks, ever after. The first localtime_r() of a later second pays.

use crate::zones::Known;
use crate::{clock, environment, imports, step, zones};
use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, Ordering};
use needless_localtime::Globals;

static CURRENT: AtomicPtr<Known> = AtomicPtr::new(null_mut());
/// The second in which the file was last asked for.
static CHECKED: AtomicI64 = AtomicI64::new(i64::MIN);
static DEBT: AtomicBool = AtomicBool::new(false);

#[inline]
fn current() -> Option<&'static Known> {
    // SAFETY: published complete, never freed.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Whether this process is one that this library is for.
#[inline]
pub(crate) fn is_ours() -> bool {
    current().is_some() || imports::suitable()
}

/// The zone for calls that look at changes: localtime, mktime, tzset. `None`: the process is none of ours.
#[inline]
pub(crate) fn checked() -> Option<&'static Known> {
    let Some(known) = current() else { return look() };
    if !environment::unchanged(known.tz.as_ref()) {
        return look();
    }
    if known.tz.is_some() {
        return Some(known);
    }
    let now = clock::second();
    if now == CHECKED.load(Ordering::Relaxed) {
        if !DEBT.load(Ordering::Relaxed) {
            DEBT.store(true, Ordering::Relaxed);
        }
        return Some(known);
    }
    look()
}

/// The zone for calls that do not: localtime_r, gmtime.
#[inline]
pub(crate) fn settled() -> Option<&'static Known> {
    let Some(known) = current() else { return look() };
    if DEBT.load(Ordering::Relaxed) { pay(known) } else { Some(known) }
}

#[cold]
fn pay(known: &'static Known) -> Option<&'static Known> {
    if known.tz.is_some() {
        DEBT.store(false, Ordering::Relaxed);
        return Some(known);
    }
    let now = clock::second();
    let checked = CHECKED.load(Ordering::Relaxed);
    let ours = now != checked
        && CHECKED.compare_exchange(checked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !ours {
        return Some(known);
    }
    DEBT.store(false, Ordering::Relaxed);
    // Not the environment: localtime_r does not look at it, so the debt is the file's alone.
    let errno = imports::errno();
    let known = publish(zones::of(None));
    imports::set_errno(errno);
    Some(known)
}

#[cold]
fn look() -> Option<&'static Known> {
    if !imports::suitable() {
        return None;
    }
    let errno = imports::errno();
    let tz = environment::find_tz();
    if tz.is_none() {
        let now = clock::second();
        let checked = CHECKED.swap(now, Ordering::Relaxed);
        // Another thread asks, or has just asked, in this very second.
        if checked == now
            && let Some(known) = current()
            && known.tz.is_none()
        {
            return Some(known);
        }
        DEBT.store(false, Ordering::Relaxed);
    }
    let known = publish(zones::of(tz));
    imports::set_errno(errno);
    Some(known)
}

fn publish(known: &'static Known) -> &'static Known {
    let new = core::ptr::from_ref(known).cast_mut();
    // SAFETY: published complete, never freed.
    let old = unsafe { CURRENT.swap(new, Ordering::AcqRel).as_ref() };
    // Another name of the same file is no other zone to glibc: the names stay those of the last conversion.
    if !old.is_some_and(|old| core::ptr::eq(old, known) || old.is_of_same_file(known)) {
        set(&known.zone.globals_at(None));
        step::changed();
    }
    known
}

/// Writes the three variables as after a change of zone.
pub(crate) fn set_fresh() {
    if let Some(known) = current() {
        set(&known.zone.globals_at(None));
    }
}

/// Writes `tzname`, `timezone` and `daylight`.
pub(crate) fn set(globals: &Globals<'_>) {
    imports::set_globals(globals.names.map(CStr::as_ptr), globals.timezone, globals.daylight);
}
