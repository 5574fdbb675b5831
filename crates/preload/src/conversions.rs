//! The conversions of strftime(3) that are written here: numbers, names in the locale, zones.
//!
//! Each takes the output by value and gives it back, so that it stays in registers.

use crate::convert::name_after_tzset;
use crate::flags::flagged;
use crate::format::{digits, epoch};
use crate::imports::Tm;
use crate::numbers::{Number, blank, four, iso_week, number, since_monday, twelve, two};
use crate::words::{Words, formats, in_case, item};
use core::ffi::CStr;

/// Where to write, with room for a final NUL.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    pub(crate) at: *mut u8,
    /// The last writable byte.
    pub(crate) last: *mut u8,
}

impl Out {
    /// Wrapping, since a caller may say that the room goes on beyond the end of memory.
    #[inline(always)]
    pub(crate) fn room(self) -> usize {
        (self.last as usize).wrapping_sub(self.at as usize)
    }

    /// Whether so many bytes and a NUL fit. If not, the C library repeats all, and fails as it does.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(self, bytes: [u8; N]) -> Option<Out> {
        if self.room() < N {
            return None;
        }
        // SAFETY: there is room.
        unsafe { self.at.cast::<[u8; N]>().write(bytes) };
        Some(Out { at: self.at.wrapping_add(N), ..self })
    }

    #[inline]
    pub(crate) fn text(self, bytes: &[u8]) -> Option<Out> {
        if self.room() < bytes.len() {
            return None;
        }
        let mut at = self.at;
        for &byte in bytes {
            // SAFETY: there is room.
            unsafe { at.write(byte) };
            at = at.wrapping_add(1);
        }
        Some(Out { at, ..self })
    }
}

/// Locales' own formats name others; deeper than this, the C library may sort it out.
const DEEPEST: u8 = 3;

/// The whole format, if nothing in it needs the C library, without a NUL.
///
/// # Safety
/// `format` must end with a NUL.
#[inline]
pub(crate) unsafe fn whole(
    mut out: Out,
    mut format: *const u8,
    tm: &Tm,
    words: &Words,
) -> Option<Out> {
    // SAFETY: nothing behind the NUL is read: a NUL is no conversion.
    unsafe {
        loop {
            let byte = *format;
            if byte == 0 {
                return Some(out);
            }
            if byte != b'%' {
                out = out.put([byte])?;
                format = format.add(1);
                continue;
            }
            let mut conversion = *format.add(1);
            match SIMPLE[usize::from(conversion)] {
                Simple::Not => {}
                Simple::Number(of, add) => {
                    out = out.put(two(field(tm, of) + i32::from(add)))?;
                    format = format.add(2);
                    continue;
                }
                Simple::Name(of, base) => {
                    out = words.put::<false>(base, field(tm, of), out)?;
                    format = format.add(2);
                    continue;
                }
            }
            if let b'E' | b'O' = conversion
                && words.are_plain(conversion, *format.add(2))
            {
                format = format.add(1);
                conversion = *format.add(1);
                if let Simple::Number(of, add) = SIMPLE[usize::from(conversion)] {
                    out = out.put(two(field(tm, of) + i32::from(add)))?;
                    format = format.add(2);
                    continue;
                }
            }
            if let b'-' | b'_' | b'0'..=b'9' | b'^' | b'#' | b'E' | b'O' = conversion {
                // A NUL is no conversion of a number either.
                let of = number(*format.add(2), tm);
                if let (b'-', Some(Number { n: n @ 0..=99, .. })) = (conversion, of) {
                    out = if n < 10 { out.put([b'0' + n as u8])? } else { out.put(two(n))? };
                    format = format.add(3);
                    continue;
                }
                let next = SIMPLE[usize::from(*format.add(2))];
                if let (b'^', Simple::Name(of, base)) = (conversion, next) {
                    out = words.put::<true>(base, field(tm, of), out)?;
                    format = format.add(3);
                    continue;
                }
                let (end, rest) = flagged(out, format.add(1), tm, words);
                (out, format) = (Out { at: end?.as_ptr(), ..out }, rest);
                continue;
            }
            out = one(out, conversion, tm, words)?;
            format = format.add(2);
        }
    }
}

/// A conversion of one field.
#[derive(Clone, Copy)]
pub(crate) enum Simple {
    Not,
    /// In two digits: which of `Tm`'s ints, and what is added.
    Number(u8, u8),
    /// A word of the locale: which of `Tm`'s ints, and the word for 0.
    Name(u8, u8),
}

const MON: u8 = 4;
const WDAY: u8 = 6;

pub(crate) static SIMPLE: [Simple; 256] = {
    let mut simple = [Simple::Not; 256];
    simple[b'S' as usize] = Simple::Number(0, 0);
    simple[b'M' as usize] = Simple::Number(1, 0);
    simple[b'H' as usize] = Simple::Number(2, 0);
    simple[b'd' as usize] = Simple::Number(3, 0);
    simple[b'm' as usize] = Simple::Number(MON, 1);
    simple[b'a' as usize] = Simple::Name(WDAY, item::ABBREVIATED_DAY as u8);
    simple[b'A' as usize] = Simple::Name(WDAY, item::DAY as u8);
    simple[b'b' as usize] = Simple::Name(MON, item::ABBREVIATED_MONTH as u8);
    simple[b'h' as usize] = Simple::Name(MON, item::ABBREVIATED_MONTH as u8);
    simple[b'B' as usize] = Simple::Name(MON, item::MONTH as u8);
    simple
};

/// One of `Tm`'s ints.
#[inline(always)]
pub(crate) fn field(tm: &Tm, which: u8) -> i32 {
    // SAFETY: `Tm` begins with nine ints.
    unsafe { (&raw const *tm).cast::<i32>().add(usize::from(which)).read() }
}

/// All other conversions. The fields are in their ranges (`usual`).
#[inline(always)]
pub(crate) fn one(out: Out, conversion: u8, tm: &Tm, words: &Words) -> Option<Out> {
    // Else the compiler works out all conversions before the loop over the format, to have them at hand.
    let tm = core::hint::black_box(tm);
    let year = tm.year + 1900;
    match conversion {
        b'Y' => out.put(four(year)),
        b'e' => out.put(blank(tm.mday)),
        b'k' => out.put(blank(tm.hour)),
        b'I' => out.put(two(twelve(tm))),
        b'l' => out.put(blank(twelve(tm))),
        b'C' => out.put(two(year / 100)),
        b'y' => out.put(two(year % 100)),
        b'U' => out.put(two((tm.yday + 7 - tm.wday) / 7)),
        b'W' => out.put(two((tm.yday + 7 - since_monday(tm)) / 7)),
        b'V' => out.put(two(iso_week(tm).1)),
        // Its first or last days may be of a year that has not four digits.
        b'G' if !(1000..=9999).contains(&iso_week(tm).0) => None,
        b'G' => out.put(four(iso_week(tm).0)),
        b'g' => out.put(two(iso_week(tm).0 % 100)),
        b'j' => {
            let day = tm.yday + 1;
            let [tens, ones] = two(day % 100);
            out.put([b'0' + (day / 100) as u8, tens, ones])
        }
        b'w' => out.put([b'0' + tm.wday as u8]),
        b'u' => out.put([b'1' + since_monday(tm) as u8]),
        b'F' => {
            let ([c, d, y, z], [m, n], [e, f]) = (four(year), two(tm.mon + 1), two(tm.mday));
            out.put([c, d, y, z, b'-', m, n, b'-', e, f])
        }
        b'D' => {
            let ([m, n], [e, f], [y, z]) = (two(tm.mon + 1), two(tm.mday), two(year % 100));
            out.put([m, n, b'/', e, f, b'/', y, z])
        }
        b'T' => {
            let ([h, i], [m, n], [s, t]) = (two(tm.hour), two(tm.min), two(tm.sec));
            out.put([h, i, b':', m, n, b':', s, t])
        }
        b'R' => {
            let ([h, i], [m, n]) = (two(tm.hour), two(tm.min));
            out.put([h, i, b':', m, n])
        }
        b'n' => out.put(*b"\n"),
        b't' => out.put(*b"\t"),
        b'%' => out.put(*b"%"),
        _ => other(out, conversion, tm, words),
    }
}

/// What takes words of the locale or of the zone.
#[inline(never)]
pub(crate) fn other(out: Out, conversion: u8, tm: &Tm, words: &Words) -> Option<Out> {
    let half = item::AM + i32::from(tm.hour >= 12);
    match conversion {
        b'p' => out.text(words.get(half)?.to_bytes()),
        b'P' => {
            let mut out = out;
            for &byte in words.get(half)?.to_bytes() {
                out = out.put([in_case(false, byte, words)?])?;
            }
            Some(out)
        }
        b'c' | b'x' | b'X' => inner(out, words.get(formats(conversion)?.1)?, tm, words),
        b'r' => inner(out, words.get(item::TIME_12)?, tm, words),
        // In which encoding a zone's name is, nobody says.
        b'Z' if words.wide && !zone_name(tm).is_ascii() => None,
        b'Z' => out.text(zone_name(tm)),
        b'z' => offset(out, tm),
        // It sets tzname, which gives the name of a time that has none of its own: to be done once only, so not
        // here, where what follows may have to be handed over with all that is before it.
        b's' if is_nameless(tm) => None,
        b's' => out.text(digits(epoch(tm)?, &mut [0; 20])),
        _ => None,
    }
}

/// A format within a format. An empty one has a default that is the C library's.
pub(crate) fn inner(out: Out, format: &CStr, tm: &Tm, words: &Words) -> Option<Out> {
    if words.depth == DEEPEST || format.is_empty() {
        return None;
    }
    let words = &Words { depth: words.depth + 1, ..*words };
    // SAFETY: a text ends with a NUL.
    unsafe { whole(out, format.as_ptr().cast(), tm, words) }
}

/// Whether the time does not say the name of its zone.
pub(crate) fn is_nameless(tm: &Tm) -> bool {
    // SAFETY: by strftime(3) tm_zone is null or a text.
    tm.zone.is_null() || unsafe { *tm.zone == 0 }
}

/// The name that `%Z` prints.
fn zone_name(tm: &Tm) -> &[u8] {
    let name = match () {
        _ if !is_nameless(tm) => tm.zone,
        _ if tm.isdst < 0 => return b"",
        _ => name_after_tzset(tm.isdst != 0),
    };
    // SAFETY: a text; ours live for ever.
    unsafe { CStr::from_ptr(name) }.to_bytes()
}

fn offset(out: Out, tm: &Tm) -> Option<Out> {
    if tm.isdst < 0 {
        return Some(out);
    }
    let minutes = i32::try_from(tm.gmtoff.unsigned_abs() / 60).ok().filter(|&m| m < 6000)?;
    // "-0000" depends on the version.
    if tm.gmtoff == 0 && zone_name(tm).starts_with(b"-") {
        return None;
    }
    let ([h, i], [m, n]) = (two(minutes / 60), two(minutes % 60));
    out.put([if tm.gmtoff < 0 { b'-' } else { b'+' }, h, i, m, n])
}
