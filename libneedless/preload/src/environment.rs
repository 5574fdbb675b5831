//! `TZ` in the process's environment, looked at from the first entry each time, as getenv(3) does.
//!
//! Nothing is remembered of where a variable was: programs also edit `environ` themselves, in place, and what
//! was behind its end is not theirs any more. No call is interposed to learn of a change.

use crate::imports::environ;
use core::ffi::{CStr, c_char};

/// Where the value of a variable begins; `None` if it is unset.
#[inline(always)]
fn find(name: &[u8]) -> Option<*const c_char> {
    let mut env = environ();
    if env.is_null() {
        return None;
    }
    // SAFETY: `environ` is an array of texts that ends with null (environ(7)); nothing behind that null, and
    // nothing behind the NUL of a text is read. Another thread that changes it meanwhile breaks the rules of
    // setenv(3), as it does for getenv(3).
    unsafe {
        loop {
            let entry = env.read_volatile();
            if entry.is_null() {
                return None;
            }
            if let Some(value) = value_at(entry, name) {
                return Some(value);
            }
            env = env.add(1);
        }
    }
}

/// Where the value begins, if `entry` is `name=value`.
///
/// # Safety
/// `entry` must be a text that ends with a NUL.
#[inline(always)]
unsafe fn value_at(entry: *const c_char, name: &[u8]) -> Option<*const c_char> {
    let start = entry.cast::<u8>();
    for (i, &byte) in name.iter().enumerate() {
        // SAFETY: the bytes before were those of the name, hence no NUL.
        if unsafe { *start.add(i) } != byte {
            return None;
        }
    }
    // SAFETY: the bytes before are those of the name, hence no NUL: this one still belongs to the text.
    unsafe { (*start.add(name.len()) == b'=').then(|| entry.add(name.len() + 1)) }
}

/// Where the value of `TZ` begins; `None` if it is unset.
#[inline(always)]
pub(crate) fn tz() -> Option<*const c_char> {
    find(b"TZ")
}

/// The value of any variable. It is the program's: it must be used at once.
pub(crate) fn get<'e>(name: &[u8]) -> Option<&'e [u8]> {
    // SAFETY: the rest of an entry is a text that ends with a NUL.
    find(name).map(|value| unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// The value, if `entry` is `name=value`.
///
/// # Safety
/// `entry` must be a text that ends with a NUL and stays as it is while the value is used.
pub(crate) unsafe fn value_of<'e>(entry: *const c_char, name: &[u8]) -> Option<&'e [u8]> {
    // SAFETY: the entry is a text; the rest of it behind the name is one, too.
    unsafe { value_at(entry, name).map(|value| CStr::from_ptr(value).to_bytes()) }
}

/// What tzset(3) makes of no value, and of one: empty means `Universal`, one leading colon is skipped.
pub(crate) const DEFAULT_FILE: &CStr = c"/etc/localtime";
const EMPTY: &[u8] = b"Universal";

/// The text that tzset(3) works with.
pub(crate) fn text<'e>(tz: Option<*const c_char>) -> &'e [u8] {
    let Some(value) = tz else { return DEFAULT_FILE.to_bytes() };
    // SAFETY: a value in the environment ends with a NUL.
    match unsafe { CStr::from_ptr(value) }.to_bytes() {
        b"" => EMPTY,
        [b':', rest @ ..] => rest,
        text => text,
    }
}

/// Whether that text is `text`, which has no NUL.
///
/// # Safety
/// `value` must be a text that ends with a NUL.
#[inline(always)]
pub(crate) unsafe fn is(value: *const c_char, text: &[u8]) -> bool {
    let mut value = value.cast::<u8>();
    // SAFETY: each byte is read only after the ones before it were found to be no NUL: `text` has none.
    unsafe {
        match *value {
            0 => return text == EMPTY,
            b':' => value = value.add(1),
            _ => {}
        }
        for &byte in text {
            if *value != byte {
                return false;
            }
            value = value.add(1);
        }
        *value == 0
    }
}
