//! The words and formats of a locale, by nl_langinfo(3).

use crate::conversions::Out;
use crate::imports;
use core::ffi::{CStr, c_void};

/// The words of a locale.
pub(crate) struct Words {
    /// Of newlocale(3); null for the calling thread's.
    pub(crate) locale: *mut c_void,
    /// Whether the text is for wcsftime(3), to which a letter of more than one byte is one that has cases and
    /// takes one column.
    pub(crate) wide: bool,
    /// How many of the locale's own formats this one is in.
    pub(crate) depth: u8,
}

/// Items of nl_langinfo(3) as in glibc's langinfo.h, without `LC_TIME` in the upper half.
pub(crate) mod item {
    pub(crate) const ABBREVIATED_DAY: i32 = 0x00;
    pub(crate) const DAY: i32 = 0x07;
    pub(crate) const ABBREVIATED_MONTH: i32 = 0x0e;
    pub(crate) const MONTH: i32 = 0x1a;
    pub(crate) const AM: i32 = 0x26;
    pub(crate) const DATE_AND_TIME: i32 = 0x28;
    pub(crate) const DATE: i32 = 0x29;
    pub(crate) const TIME: i32 = 0x2a;
    pub(crate) const TIME_12: i32 = 0x2b;
    pub(crate) const ERA: i32 = 0x2c;
    pub(crate) const ERA_DATE: i32 = 0x2e;
    pub(crate) const ALTERNATIVE_DIGITS: i32 = 0x2f;
    pub(crate) const ERA_DATE_AND_TIME: i32 = 0x30;
    pub(crate) const ERA_TIME: i32 = 0x31;
    /// The encoding of all of them.
    pub(crate) const CODESET: i32 = 0x6e;
}
const LC_TIME: i32 = 0x2_0000;

impl Words {
    pub(crate) fn get(&self, item: i32) -> Option<&'static CStr> {
        let text = imports::langinfo(LC_TIME + item, self.locale);
        // SAFETY: not null, nl_langinfo(3) gives a text that stays while the locale does.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    }

    /// Whether all are in UTF-8.
    pub(crate) fn are_utf8(&self) -> bool {
        self.get(item::CODESET) == Some(c"UTF-8")
    }

    /// Whether a number is written with this modifier as without: the locale has no eras, or no digits of its own.
    pub(crate) fn are_plain(&self, modifier: u8, conversion: u8) -> bool {
        let lacks = |item| {
            let text = imports::langinfo(LC_TIME + item, self.locale);
            // SAFETY: as in `get`.
            !text.is_null() && unsafe { *text == 0 }
        };
        match (modifier, conversion) {
            (b'E', b'C' | b'y' | b'Y') => lacks(item::ERA),
            (b'O', b'd' | b'e' | b'H' | b'I' | b'm' | b'M' | b'S') => {
                lacks(item::ALTERNATIVE_DIGITS)
            }
            (b'O', b'u' | b'U' | b'V' | b'w' | b'W' | b'y') => lacks(item::ALTERNATIVE_DIGITS),
            _ => false,
        }
    }

    /// Writes the word so many behind `base`. They are short: to look for their end first takes longer.
    #[inline(always)]
    pub(crate) fn put<const UPPER: bool>(&self, base: u8, n: i32, out: Out) -> Option<Out> {
        let mut text = imports::langinfo(LC_TIME + i32::from(base) + n, self.locale).cast::<u8>();
        if text.is_null() {
            return None;
        }
        let mut at = out.at;
        loop {
            // SAFETY: as in `get`, up to the NUL; there is room.
            unsafe {
                let byte = *text;
                if byte == 0 {
                    return Some(Out { at, ..out });
                }
                if at == out.last {
                    return None;
                }
                at.write(if UPPER { in_case(true, byte, self)? } else { byte });
            }
            (text, at) = (text.wrapping_add(1), at.wrapping_add(1));
        }
    }
}

/// The locale's formats of a conversion: with `E`, and without, which holds where the first is empty.
pub(crate) fn formats(conversion: u8) -> Option<(i32, i32)> {
    Some(match conversion {
        b'c' => (item::ERA_DATE_AND_TIME, item::DATE_AND_TIME),
        b'x' => (item::ERA_DATE, item::DATE),
        b'X' => (item::ERA_TIME, item::TIME),
        _ => return None,
    })
}

/// A byte in upper or lower case. ASCII's letters have ASCII's cases in every locale, but for Turkish i.
#[inline(always)]
pub(crate) fn in_case(upper: bool, byte: u8, words: &Words) -> Option<u8> {
    match byte {
        b'i' | b'I' | 0x80.. if words.wide => None,
        b'i' | b'I' | 0x80.. => imports::in_case(upper, byte, words.locale),
        _ if upper => Some(byte.to_ascii_uppercase()),
        _ => Some(byte.to_ascii_lowercase()),
    }
}
