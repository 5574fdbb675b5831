//! `TZ` in the process's environment. Each lookup starts at the first entry, as getenv(3) does.
//!
//! The position of a variable is never remembered: programs also edit `environ` in place, and may then free what
//! was behind its new end. setenv(3) and the like are not interposed.

use crate::imports::environ;
use core::ffi::{CStr, c_char};

/// The value of a variable: a pointer into an entry of `environ`, hence to a string that ends with a NUL. The memory is
/// the program's, which may change or free it later: use it at once, and never store it.
pub(crate) struct EnvValue(*const c_char);

/// The value of a variable; `None` if it is unset.
#[inline(always)]
fn find(name: &[u8]) -> Option<EnvValue> {
    let mut env = environ();
    if env.is_null() {
        return None;
    }
    // SAFETY: `environ` is an array of pointers to strings and ends with null (environ(7)). Nothing after that null,
    // and nothing after the NUL of a string is read. A program whose threads change the array meanwhile breaks the
    // rules of setenv(3), as it would with getenv(3).
    unsafe {
        loop {
            let entry = env.read_volatile();
            if entry.is_null() {
                return None;
            }
            if let Some(value) = value_at(entry, name) {
                return Some(EnvValue(value));
            }
            env = env.add(1);
        }
    }
}

/// A pointer to the value, if `entry` is `name=value`.
///
/// # Safety
/// `entry` must point to a string that ends with a NUL.
#[inline(always)]
unsafe fn value_at(entry: *const c_char, name: &[u8]) -> Option<*const c_char> {
    let start = entry.cast::<u8>();
    for (i, &byte) in name.iter().enumerate() {
        // SAFETY: the bytes before are those of the name, which has no NUL: this one still belongs to the string.
        if unsafe { *start.add(i) } != byte {
            return None;
        }
    }
    // SAFETY: the bytes before are those of the name, which has no NUL: this one still belongs to the string.
    unsafe { (*start.add(name.len()) == b'=').then(|| entry.add(name.len() + 1)) }
}

/// The value of `TZ`; `None` if it is unset.
#[inline(always)]
pub(crate) fn tz() -> Option<EnvValue> {
    find(b"TZ")
}

/// The value of any variable; as with [`EnvValue`], use it at once.
pub(crate) fn get<'e>(name: &[u8]) -> Option<&'e [u8]> {
    find(name).map(EnvValue::bytes)
}

/// The value, if `entry` is `name=value`.
///
/// # Safety
/// `entry` must point to a string that ends with a NUL and does not change while the value is used.
pub(crate) unsafe fn value_of<'e>(entry: *const c_char, name: &[u8]) -> Option<&'e [u8]> {
    // SAFETY: `entry` ends with a NUL, by `# Safety`, and `value_at` returns a pointer into it.
    unsafe { value_at(entry, name).map(|value| CStr::from_ptr(value).to_bytes()) }
}

/// The file that tzset(3) reads while `TZ` is unset.
pub(crate) const DEFAULT_FILE: &CStr = c"/etc/localtime";
/// What an empty `TZ` stands for.
const EMPTY: &[u8] = b"Universal";

/// The name or TZ string that tzset(3) works with: it skips one leading colon.
pub(crate) fn text<'e>(tz: Option<EnvValue>) -> &'e [u8] {
    let Some(value) = tz else { return DEFAULT_FILE.to_bytes() };
    match value.bytes() {
        b"" => EMPTY,
        [b':', rest @ ..] => rest,
        text => text,
    }
}

impl EnvValue {
    fn bytes<'e>(self) -> &'e [u8] {
        // SAFETY: the pointer is to a string that ends with a NUL, by the definition of `EnvValue`.
        unsafe { CStr::from_ptr(self.0) }.to_bytes()
    }

    /// Whether [`text`] of this value is `text`, which has no NUL.
    #[inline(always)]
    pub(crate) fn is(self, text: &[u8]) -> bool {
        let mut value = self.0.cast::<u8>();
        // SAFETY: the pointer is to a string that ends with a NUL, by the definition of `EnvValue`. A byte is read only
        // after those before it were found equal to bytes of `text`, or to the colon: none of them was the NUL.
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
}
