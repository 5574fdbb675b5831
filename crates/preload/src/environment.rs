//! `TZ` in the process's environment, and a cheap test that it is what it was.
//!
//! No call is interposed to learn of a change, as programs also edit `environ` themselves.

use crate::imports::environ;
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// `environ` in the upper 48 bits; below, the index of `TZ`, or of the final null where `TZ` is unset.
/// One word, so that an index is never used with another array.
static PLACE: AtomicU64 = AtomicU64::new(0);
/// Where `TZ` is unset: the last variable. One that is added follows it or takes its place.
static LAST: AtomicPtr<c_char> = AtomicPtr::new(null_mut());

/// Whether `TZ` still has the text `known` (`None`: unset).
///
/// A set `TZ` is compared byte by byte, hence exactly; and whether the environment was emptied by
/// `environ[0] = NULL`, as some programs do, is looked at. For an unset one a variable added at the end is
/// noticed, which is where setenv(3) and putenv(3) add; one written over an entry in the middle of an
/// array that is otherwise as it was, is noticed at the next `find`.
#[inline]
pub(crate) fn unchanged(known: Option<&[u8]>) -> bool {
    let env = environ();
    if env.is_null() {
        return known.is_none();
    }
    let place = PLACE.load(Ordering::Acquire);
    if place >> 16 != env as u64 {
        return false;
    }
    let index = (place & 0xffff) as usize;
    // SAFETY: the array had at least `index + 1` words when `find` walked it, and is still in use.
    // Entries are NUL-terminated texts, as for getenv(3).
    unsafe {
        let entry = env.add(index).read_volatile();
        match known {
            Some(text) => !entry.is_null() && is(entry, text) && !env.read_volatile().is_null(),
            None => {
                entry.is_null()
                    && (index == 0
                        || env.add(index - 1).read_volatile() == LAST.load(Ordering::Relaxed))
            }
        }
    }
}

/// Whether `entry` is `TZ=` and `text`.
///
/// # Safety
/// `entry` must be a NUL-terminated text.
#[inline]
unsafe fn is(entry: *const c_char, text: &[u8]) -> bool {
    let entry = entry.cast::<u8>();
    // SAFETY: each byte is read only after the ones before it were found to be no NUL: `text` has none.
    unsafe {
        if *entry != b'T' || *entry.add(1) != b'Z' || *entry.add(2) != b'=' {
            return false;
        }
        let value = entry.add(3);
        for (i, &byte) in text.iter().enumerate() {
            if *value.add(i) != byte {
                return false;
            }
        }
        *value.add(text.len()) == 0
    }
}

/// The value of `TZ`, `None` if unset; remembers where it was found.
pub(crate) fn find_tz<'e>() -> Option<&'e [u8]> {
    let env = environ();
    if env.is_null() {
        return None;
    }
    let mut last = null_mut();
    let mut index = 0usize;
    // SAFETY: `environ` is an array of texts that ends with null (environ(7)).
    let (value, index) = unsafe {
        loop {
            let entry = env.add(index).read_volatile();
            if entry.is_null() {
                break (None, index);
            }
            if let Some(value) = value_of(entry, b"TZ") {
                break (Some(value), index);
            }
            last = entry;
            index += 1;
        }
    };
    LAST.store(last, Ordering::Relaxed);
    let fits = (env as u64) >> 48 == 0 && index <= 0xffff;
    PLACE.store(if fits { (env as u64) << 16 | index as u64 } else { 0 }, Ordering::Release);
    value
}

/// The value of any variable, as getenv(3), which needs no lock either.
pub(crate) fn get<'e>(name: &[u8]) -> Option<&'e [u8]> {
    let mut env = environ();
    if env.is_null() {
        return None;
    }
    // SAFETY: as in `find_tz`.
    unsafe {
        loop {
            let entry = env.read_volatile();
            if entry.is_null() {
                return None;
            }
            if let Some(value) = value_of(entry, name) {
                return Some(value);
            }
            env = env.add(1);
        }
    }
}

/// The value, if `entry` is `name=value`.
///
/// # Safety
/// `entry` must be a NUL-terminated text that stays as it is while the value is used.
pub(crate) unsafe fn value_of<'e>(entry: *const c_char, name: &[u8]) -> Option<&'e [u8]> {
    let start = entry.cast::<u8>();
    for (i, &byte) in name.iter().enumerate() {
        // SAFETY: the bytes before were no NUL.
        if unsafe { *start.add(i) } != byte {
            return None;
        }
    }
    // SAFETY: as above; the text ends with a NUL.
    unsafe {
        (*start.add(name.len()) == b'=')
            .then(|| CStr::from_ptr(entry.add(name.len() + 1)).to_bytes())
    }
}
