//! `TZ` in the process's environment, and a cheap test that it is what it was.
//!
//! No call is interposed to learn of a change, as programs also edit `environ` themselves.

use crate::imports::environ;
use alloc::boxed::Box;
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// `environ` in the upper 48 bits; below, the index of `TZ`, or of the final null where `TZ` is unset.
/// One word, so that an index is never used with another array.
static PLACE: AtomicU64 = AtomicU64::new(0);
/// Where `TZ` is unset: the last variable. One that is added follows it or takes its place.
static LAST: AtomicPtr<c_char> = AtomicPtr::new(null_mut());

/// A value of `TZ`.
pub(crate) struct Text {
    pub(crate) value: Box<[u8]>,
    /// Where it was last found, `TZ=` and all: there are as many bytes to be read. Never null.
    entry: AtomicPtr<c_char>,
}

impl Text {
    /// A value that is part of an environment's entry.
    pub(crate) fn new(value: &[u8]) -> Text {
        Text { value: value.into(), entry: AtomicPtr::new(entry_of(value)) }
    }

    /// It has now been found there.
    pub(crate) fn found_at(&self, value: &[u8]) {
        let entry = entry_of(value);
        if self.entry.load(Ordering::Relaxed) != entry {
            self.entry.store(entry, Ordering::Relaxed);
        }
    }
}

fn entry_of(value: &[u8]) -> *mut c_char {
    value.as_ptr().wrapping_sub(b"TZ=".len()).cast_mut().cast()
}

/// Whether `TZ` still has the text `known` (`None`: unset).
///
/// A set `TZ` is compared byte by byte, hence exactly; and whether the environment was emptied by
/// `environ[0] = NULL`, as some programs do, is looked at. For an unset one a variable added at the end is
/// noticed, which is where setenv(3) and putenv(3) add; one written over an entry in the middle of an
/// array that is otherwise as it was, is noticed at the next `find`.
#[inline]
pub(crate) fn unchanged(known: Option<&Text>) -> bool {
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
            Some(text) => {
                let same = if entry == text.entry.load(Ordering::Relaxed) {
                    still(entry, &text.value)
                } else {
                    !entry.is_null() && is(entry, &text.value)
                };
                same && !env.read_volatile().is_null()
            }
            None => {
                entry.is_null()
                    && (index == 0
                        || env.add(index - 1).read_volatile() == LAST.load(Ordering::Relaxed))
            }
        }
    }
}

/// Whether `entry`, at which `TZ=` and `text` were found before, is still that: several bytes at a time, for it
/// is as long as it was.
///
/// # Safety
/// `entry` must be readable for as many bytes as `TZ=`, `text` and a NUL have.
#[inline(always)]
unsafe fn still(entry: *const c_char, text: &[u8]) -> bool {
    let (value, text, len) = (entry.wrapping_add(3).cast::<u8>(), text.as_ptr(), text.len());
    // SAFETY: the caller's; `text` is read within its length.
    unsafe {
        if entry.cast::<u32>().read_unaligned() & NAME_MASK != NAME || value.add(len).read() != 0 {
            return false;
        }
        // The last piece may overlap the one before.
        if len >= 8 {
            let last = same::<u64>(value, text, len - 8);
            return last && (0..len - 8).step_by(8).all(|at| same::<u64>(value, text, at));
        }
        if len >= 4 {
            return same::<u32>(value, text, 0) && same::<u32>(value, text, len - 4);
        }
        (0..len).all(|at| same::<u8>(value, text, at))
    }
}

/// `TZ=` as it is read with the byte behind it.
const NAME: u32 = u32::from_ne_bytes(*b"TZ=\0");
const NAME_MASK: u32 = u32::from_ne_bytes([0xff, 0xff, 0xff, 0]);

/// # Safety
/// Both must be readable for a `T` so many bytes on.
#[inline(always)]
unsafe fn same<T: PartialEq>(one: *const u8, other: *const u8, at: usize) -> bool {
    // SAFETY: the caller's.
    unsafe {
        one.add(at).cast::<T>().read_unaligned() == other.add(at).cast::<T>().read_unaligned()
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
