//! strftime and wcsftime: calls of the C library's, with arguments that keep it from checking the zone file.
//!
//! It checks the file for `%s`, and for `%Z` of a time without `tm_zone` (seen with strace). These two are answered
//! here; everything else is passed on unchanged. The C library still checks the file for a `%s` with flags, for a
//! format of more than 500 characters, and for a locale's own format (`%c`) with a `%Z` of such a time.

use crate::convert::{try_mktime, try_tzset};
use crate::elf::call_next;
use crate::imports::{self, Tm};
use core::ffi::{CStr, c_char, c_void};

/// A character of a format of strftime or of wcsftime.
trait Unit: Copy {
    fn ascii(self) -> Option<u8>;
    fn of(byte: u8) -> Self;
}

impl Unit for u8 {
    fn ascii(self) -> Option<u8> {
        Some(self)
    }
    fn of(byte: u8) -> u8 {
        byte
    }
}

impl Unit for u32 {
    fn ascii(self) -> Option<u8> {
        u8::try_from(self).ok()
    }
    fn of(byte: u8) -> u32 {
        u32::from(byte)
    }
}

/// Whether the C library would look up the name: `tm` has none, and its flag says which of the two it is.
fn is_nameless(tm: &Tm) -> bool {
    // SAFETY: tm_zone is checked for null, and otherwise points to a string, by strftime(3).
    tm.isdst >= 0 && (tm.zone.is_null() || unsafe { *tm.zone } == 0)
}

/// Whether the C library may check the zone file: for `%s`, or for a name that `tm` does not have.
///
/// # Safety
/// `format` must end with a NUL, and `tm` be null or readable.
#[inline]
unsafe fn may_check<U: Unit>(format: *const U, tm: *const Tm) -> bool {
    if tm.is_null() {
        return false;
    }
    let mut at = format;
    // SAFETY: nothing after the format's NUL is read; `tm` is not null, hence readable, by `# Safety`.
    unsafe {
        loop {
            match (*at).ascii() {
                Some(0) => return false,
                Some(b's') => return true,
                Some(b'Z') if is_nameless(&*tm) => return true,
                _ => at = at.add(1),
            }
        }
    }
}

/// Arguments for the C library in place of the caller's, with which it does not check the zone file.
struct Substitute<U> {
    tm: Tm,
    format: [U; 512],
    changed_format: bool,
}

/// Runs `call` with arguments that keep the C library from checking the zone file.
///
/// # Safety
/// `format` must end with a NUL, and `tm` be null or readable.
#[inline]
unsafe fn substituted<U: Unit>(
    format: *const U,
    tm: *const Tm,
    call: impl Fn(*const U, *const Tm) -> usize,
) -> usize {
    // SAFETY: the format ends with a NUL and `tm` is null or readable, by `# Safety`.
    if unsafe { may_check(format, tm) } {
        // SAFETY: `may_check` found that `tm` is not null; the format ends with a NUL.
        if let Some(new) = unsafe { substitute(format, &*tm) } {
            let format = if new.changed_format { new.format.as_ptr() } else { format };
            return call(format, &raw const new.tm);
        }
    }
    call(format, tm)
}

/// `None`: nothing to change.
///
/// # Safety
/// `format` must end with a NUL.
#[cold]
#[inline(never)]
unsafe fn substitute<U: Unit>(format: *const U, tm: &Tm) -> Option<Substitute<U>> {
    let mut new = Substitute { tm: *tm, format: [U::of(0); 512], changed_format: false };
    let nameless = is_nameless(tm);
    let mut named = false;
    let mut fits = true;
    let mut len = 0;
    let mut put = |new: &mut Substitute<U>, unit: U| {
        // The last element stays NUL.
        fits &= len < new.format.len() - 1;
        if fits {
            new.format[len] = unit;
            len += 1;
        }
    };
    let mut at = format;
    // SAFETY: `at` moves forward only from a unit that is not the NUL, so that nothing after the NUL is read. `start`
    // and `copied` are between the format's start and `at`.
    unsafe {
        while (*at).ascii() != Some(0) {
            if (*at).ascii() != Some(b'%') {
                put(&mut new, *at);
                at = at.add(1);
                continue;
            }
            let start = at;
            at = at.add(1);
            // Flags and a width, then at most one modifier.
            while let Some(b'_' | b'-' | b'0'..=b'9' | b'^' | b'#') = (*at).ascii() {
                at = at.add(1);
            }
            if let Some(b'E' | b'O') = (*at).ascii() {
                at = at.add(1);
            }
            let conversion = (*at).ascii();
            // A conversion that is cut off by the end of the format: `at` stays at the NUL.
            if conversion != Some(0) {
                at = at.add(1);
            }
            // The name is that of the first `%Z`: a `%s` after it may change tzname.
            if conversion == Some(b'Z')
                && nameless
                && !named
                && let Some(name) = name_after_tzset(tm.isdst)
            {
                named = true;
                new.tm.zone = name;
            }
            if conversion == Some(b's')
                && at.offset_from(start) == 2
                && let Some(t) = epoch(tm)
            {
                for &b in digits(t, &mut [0; 20]) {
                    put(&mut new, U::of(b));
                }
                new.changed_format = true;
                continue;
            }
            let mut copied = start;
            while copied < at {
                put(&mut new, *copied);
                copied = copied.add(1);
            }
        }
    }
    new.changed_format &= fits;
    (named || new.changed_format).then_some(new)
}

/// The name for the flag after tzset(3), which the C library calls first; `None` where it has to do so itself.
fn name_after_tzset(isdst: i32) -> Option<*const c_char> {
    if !try_tzset() {
        return None;
    }
    if isdst > 1 {
        return Some(c"?".as_ptr());
    }
    let name = imports::tzname(isdst != 0);
    Some(if name.is_null() { CStr::as_ptr(c"") } else { name })
}

/// `%s` of `tm`; `None` where mktime fails, or the C library has to answer.
fn epoch(tm: &Tm) -> Option<i64> {
    let mut copy = *tm;
    // SAFETY: `copy` is a variable of ours.
    unsafe { try_mktime(&raw mut copy) }?.ok()
}

/// The decimal digits of `value`, right-aligned in `buffer`.
fn digits(value: i64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    &buffer[at..]
}

/// Declares the functions of one family: its name, the name under which the C library has it, its characters, and
/// the locale if it takes one.
macro_rules! formatting {
    ($(
        $(#[$doc:meta])*
        $name:ident($next:literal, $char:ty as $unit:ty $(, $locale:ident: $of_locale:ty)?);
    )+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `at` must be writable for `room` characters, `format` end with a NUL, `tm` be readable, and a locale be
        /// from newlocale(3).
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            at: *mut $char,
            room: usize,
            format: *const $char,
            tm: *const Tm
            $(, $locale: $of_locale)?
        ) -> usize {
            let call = |format, tm| {
                call_next!(
                    $next,
                    fn(*mut $char, usize, *const $unit, *const Tm $(, $of_locale)?) -> usize,
                    0, at, room, format, tm $(, $locale)?
                )
            };
            // SAFETY: the format ends with a NUL and `tm` is readable, by `# Safety`.
            unsafe { substituted(format.cast::<$unit>(), tm, call) }
        }
    )+};
}

formatting! {
    /// strftime(3).
    strftime(c"strftime", c_char as u8);
    /// strftime_l(3).
    strftime_l(c"strftime_l", c_char as u8, locale: *mut c_void);
    /// glibc's other name of [`strftime_l`], which libstdc++ calls.
    __strftime_l(c"strftime_l", c_char as u8, locale: *mut c_void);
    /// wcsftime(3).
    wcsftime(c"wcsftime", u32 as u32);
    /// `wcsftime_l`, likewise.
    wcsftime_l(c"wcsftime_l", u32 as u32, locale: *mut c_void);
}
