//! Formats that are handed to the C library, kept from making it ask for the zone.
//!
//! It looks at the zone file for `%s`, and for the `%Z` of a time without tm_zone: both are answered
//! beforehand. A `%s` with flags, or in a format of more than 500 characters, stays the C library's.

use crate::conversions::is_nameless;
use crate::convert::name_after_tzset;
use crate::format::{digits, epoch};
use crate::gate;
use crate::imports::Tm;

/// A character of a format: of strftime or of wcsftime.
pub(crate) trait Unit: Copy {
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

/// Runs `call` with the arguments that keep the C library from asking for the zone.
///
/// # Safety
/// As strftime(3).
#[cold]
#[inline(never)]
pub(crate) unsafe fn with_prepared<U: Unit>(
    format: *const U,
    tm: *const Tm,
    call: impl Fn(*const U, *const Tm) -> usize,
) -> usize {
    if tm.is_null() || !gate::is_ours() {
        return call(format, tm);
    }
    // SAFETY: the caller's.
    if !unsafe { may_ask(format, &*tm) } {
        return call(format, tm);
    }
    // SAFETY: the caller's.
    match unsafe { prepare(format, &*tm) } {
        Some(new) => {
            call(if new.changed_format { new.format.as_ptr() } else { format }, &raw const new.tm)
        }
        None => call(format, tm),
    }
}

/// Whether the C library could ask for the zone: for the epoch, or for a name that is not given.
///
/// # Safety
/// `format` must end with a NUL.
unsafe fn may_ask<U: Unit>(format: *const U, tm: &Tm) -> bool {
    if is_nameless(tm) {
        return true;
    }
    let mut at = format;
    // SAFETY: nothing behind the NUL is read.
    unsafe {
        loop {
            match (*at).ascii() {
                Some(0) => return false,
                Some(b's') => return true,
                _ => at = at.add(1),
            }
        }
    }
}

/// What the C library is given in place of the caller's arguments, so that it asks no file.
struct Prepared<U> {
    tm: Tm,
    format: [U; 512],
    changed_format: bool,
}

/// `None`: nothing to change.
///
/// # Safety
/// `format` must end with a NUL.
unsafe fn prepare<U: Unit>(format: *const U, tm: &Tm) -> Option<Prepared<U>> {
    let mut new = Prepared { tm: *tm, format: [U::of(0); 512], changed_format: false };
    let nameless = tm.isdst >= 0 && is_nameless(tm);
    let mut named = 0;
    let mut fits = true;
    let mut len = 0;
    let mut put = |new: &mut Prepared<U>, unit: U| {
        // The last place stays NUL.
        fits &= len < new.format.len() - 1;
        if fits {
            new.format[len] = unit;
            len += 1;
        }
    };
    let mut at = format;
    // SAFETY: nothing behind the NUL is read: each step forward follows a unit that was none.
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
            // The NUL of an unfinished one at the end stays where it is.
            if conversion != Some(0) {
                at = at.add(1);
            }
            // The name is that of the first place that asks for it: a later `%s` may change tzname. The
            // locale's own formats may ask for it; few do.
            let asks = match conversion {
                Some(b'Z') => 2,
                Some(b'c' | b'x' | b'X' | b'r') => 1,
                _ => 0,
            };
            if nameless && asks > named {
                named = asks;
                new.tm.zone = name_after_tzset(tm.isdst != 0);
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
    (named > 0 || new.changed_format).then_some(new)
}
