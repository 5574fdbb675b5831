//! The conversions of strftime(3) that are written here: numbers, names in the locale, zones.
//!
//! Each takes the output by value and gives it back, so that it stays in registers.

use crate::convert::name_after_tzset;
use crate::format::{digits, epoch};
use crate::imports::{self, Tm};
use core::ffi::{CStr, c_void};

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
    fn room(self) -> usize {
        (self.last as usize).wrapping_sub(self.at as usize)
    }

    /// Whether so many bytes and a NUL fit. If not, the C library repeats all, and fails as it does.
    #[inline(always)]
    fn put<const N: usize>(self, bytes: [u8; N]) -> Option<Out> {
        if self.room() < N {
            return None;
        }
        // SAFETY: there is room.
        unsafe { self.at.cast::<[u8; N]>().write(bytes) };
        Some(Out { at: self.at.wrapping_add(N), ..self })
    }

    /// The text, moved to the right of so many bytes.
    fn filled(self, fill: u8, width: usize, text: &[u8]) -> Option<Out> {
        let mut out = self;
        for _ in text.len()..width {
            out = out.put([fill])?;
        }
        out.text(text)
    }

    #[inline]
    fn text(self, bytes: &[u8]) -> Option<Out> {
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

/// "00" to "99"; as many more as make the index a mask.
static PAIRS: [[u8; 2]; 128] = {
    let mut pairs = [*b"??"; 128];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// A number from 0 to 99 in two digits.
#[inline(always)]
fn two(n: i32) -> [u8; 2] {
    PAIRS[n as usize % 128]
}

/// As `two`, below 10 with a blank.
#[inline(always)]
fn blank(n: i32) -> [u8; 2] {
    let [tens, ones] = two(n);
    [if n < 10 { b' ' } else { tens }, ones]
}

/// The words of a locale: nl_langinfo(3) of the calling thread's, where the handle is null.
#[derive(Clone, Copy)]
pub(crate) struct Words(pub(crate) *mut c_void);

/// Items of nl_langinfo(3): `LC_TIME` in the upper half, as in glibc's langinfo.h.
mod item {
    pub(super) const ABBREVIATED_DAY: i32 = 0x2_0000;
    pub(super) const DAY: i32 = 0x2_0007;
    pub(super) const ABBREVIATED_MONTH: i32 = 0x2_000e;
    pub(super) const MONTH: i32 = 0x2_001a;
    pub(super) const AM: i32 = 0x2_0026;
    pub(super) const DATE_AND_TIME: i32 = 0x2_0028;
    pub(super) const DATE: i32 = 0x2_0029;
    pub(super) const TIME: i32 = 0x2_002a;
    pub(super) const TIME_12: i32 = 0x2_002b;
}

impl Words {
    fn get(self, item: i32) -> Option<&'static CStr> {
        let text = imports::langinfo(item, self.0);
        // SAFETY: not null, nl_langinfo(3) gives a text that stays while the locale does.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    }
}

/// Locales' own formats name others; deeper than this, the C library may sort it out.
const DEEPEST: u32 = 3;

/// The whole format, if nothing in it needs the C library, without a NUL.
///
/// # Safety
/// `format` must end with a NUL.
#[inline]
pub(crate) unsafe fn whole(
    mut out: Out,
    mut format: *const u8,
    tm: &Tm,
    words: Words,
    depth: u32,
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
            let conversion = *format.add(1);
            if let Some(n) = plain(conversion, tm) {
                out = out.put(two(n))?;
                format = format.add(2);
                continue;
            }
            if let b'-' | b'_' | b'0'..=b'9' | b'^' | b'#' = conversion {
                (out, format) = flagged(out, format.add(1), tm, words, depth)?;
                continue;
            }
            out = one(out, conversion, tm, words, depth)?;
            format = format.add(2);
        }
    }
}

/// The most frequent conversions, each a field in two digits: which of `Tm`'s ints, and what is added.
static PLAIN: [(u8, u8); 256] = {
    let mut plain = [(NOT_PLAIN, 0); 256];
    plain[b'S' as usize] = (0, 0);
    plain[b'M' as usize] = (1, 0);
    plain[b'H' as usize] = (2, 0);
    plain[b'd' as usize] = (3, 0);
    plain[b'm' as usize] = (4, 1);
    plain
};
const NOT_PLAIN: u8 = u8::MAX;

/// What such a conversion prints.
#[inline(always)]
fn plain(conversion: u8, tm: &Tm) -> Option<i32> {
    let (field, add) = PLAIN[usize::from(conversion)];
    if field == NOT_PLAIN {
        return None;
    }
    // SAFETY: `Tm` begins with nine ints.
    let n = unsafe { (&raw const *tm).cast::<i32>().add(usize::from(field)).read() };
    Some(n + i32::from(add))
}

/// All other conversions. The fields are in their ranges (`usual`).
#[inline(always)]
fn one(out: Out, conversion: u8, tm: &Tm, words: Words, depth: u32) -> Option<Out> {
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
        _ => other(out, conversion, tm, words, depth),
    }
}

/// What takes words of the locale or of the zone.
#[inline(never)]
fn other(out: Out, conversion: u8, tm: &Tm, words: Words, depth: u32) -> Option<Out> {
    let word = |item: i32| out.text(words.get(item)?.to_bytes());
    let half = item::AM + i32::from(tm.hour >= 12);
    match conversion {
        b'a' => word(item::ABBREVIATED_DAY + tm.wday),
        b'A' => word(item::DAY + tm.wday),
        b'b' | b'h' => word(item::ABBREVIATED_MONTH + tm.mon),
        b'B' => word(item::MONTH + tm.mon),
        b'p' => word(half),
        b'P' => {
            let mut out = out;
            for &byte in words.get(half)?.to_bytes() {
                out = out.put([imports::in_case(false, byte, words.0)?])?;
            }
            Some(out)
        }
        b'c' => inner(out, words.get(item::DATE_AND_TIME)?, tm, words, depth),
        b'x' => inner(out, words.get(item::DATE)?, tm, words, depth),
        b'X' => inner(out, words.get(item::TIME)?, tm, words, depth),
        b'r' => inner(out, words.get(item::TIME_12)?, tm, words, depth),
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
fn inner(out: Out, format: &CStr, tm: &Tm, words: Words, depth: u32) -> Option<Out> {
    if depth == DEEPEST || format.is_empty() {
        return None;
    }
    // SAFETY: a text ends with a NUL.
    unsafe { whole(out, format.as_ptr().cast(), tm, words, depth + 1) }
}

/// Flags and a width before a conversion, the last flag of a kind being the one that counts.
#[derive(Default)]
struct Flags {
    /// `-`, `_` or `0`; 0 for none.
    pad: u8,
    upper: bool,
    swapped: bool,
    width: usize,
}

/// The widest field that is written here.
const WIDEST: usize = 120;

/// A conversion with flags or a width, which begin at `format`; with what is behind it.
///
/// # Safety
/// `format` must end with a NUL.
#[inline(never)]
unsafe fn flagged(
    out: Out,
    mut format: *const u8,
    tm: &Tm,
    words: Words,
    depth: u32,
) -> Option<(Out, *const u8)> {
    let mut flags = Flags::default();
    let mut next = || {
        // SAFETY: nothing behind the NUL is read: it is neither flag nor digit, so it is the last.
        let byte = unsafe { *format };
        format = format.wrapping_add(1);
        byte
    };
    let conversion = loop {
        match next() {
            flag @ (b'-' | b'_' | b'0') => flags.pad = flag,
            b'^' => flags.upper = true,
            b'#' => flags.swapped = true,
            digit @ b'1'..=b'9' => {
                // No flag can follow.
                let mut width = usize::from(digit - b'0');
                break loop {
                    match next() {
                        digit @ b'0'..=b'9' => width = width * 10 + usize::from(digit - b'0'),
                        conversion => {
                            flags.width = width;
                            break conversion;
                        }
                    }
                    if width > WIDEST {
                        return None;
                    }
                };
            }
            conversion => break conversion,
        }
    };
    let out = match number(conversion, tm) {
        Some(number) => flags.number(out, number)?,
        None => flags.word(out, conversion, tm, words, depth)?,
    };
    Some((out, format))
}

impl Flags {
    /// A number and its usual width; below 0 that is padded with blanks.
    fn number(&self, out: Out, (n, digits): (i32, i32)) -> Option<Out> {
        let mut text = [0; 4];
        let mut at = text.len();
        let mut rest = n as u32;
        loop {
            at = at.checked_sub(1)?;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let usual = digits.unsigned_abs() as usize;
        let (fill, least) = match self.pad {
            b'-' => (b' ', 0),
            b'_' => (b' ', usual),
            b'0' => (b'0', usual),
            _ if digits < 0 => (b' ', usual),
            _ => (b'0', usual),
        };
        out.filled(fill, self.width.max(least), text.get(at..)?)
    }

    /// All others: as they are without flags, in the case that is asked for, to the right.
    fn word(&self, out: Out, conversion: u8, tm: &Tm, words: Words, depth: u32) -> Option<Out> {
        let mut text = [0; WIDEST + 1];
        let start = text.as_mut_ptr();
        let inner = Out { at: start, last: start.wrapping_add(WIDEST) };
        let end = match conversion {
            b'a' | b'A' | b'b' | b'B' | b'h' | b'p' | b'Z' | b'c' | b'x' | b'X' | b'r' | b'D'
            | b'F' | b'T' | b'R' => one(inner, conversion, tm, words, depth)?.at,
            _ => return None,
        };
        let text = text.get_mut(..end as usize - start as usize)?;
        let is_name = matches!(conversion, b'a' | b'A' | b'b' | b'B' | b'h');
        let lower = self.swapped && matches!(conversion, b'p' | b'Z');
        let upper = self.upper || (self.swapped && is_name);
        if upper || lower {
            for byte in text.iter_mut() {
                *byte = imports::in_case(!lower, *byte, words.0)?;
            }
        }
        out.filled(if self.pad == b'0' { b'0' } else { b' ' }, self.width, text)
    }
}

/// What a conversion of a number prints, and in how many digits at least; below 0: blanks fill them up.
fn number(conversion: u8, tm: &Tm) -> Option<(i32, i32)> {
    let year = tm.year + 1900;
    Some(match conversion {
        b'm' => (tm.mon + 1, 2),
        b'd' => (tm.mday, 2),
        b'e' => (tm.mday, -2),
        b'H' => (tm.hour, 2),
        b'k' => (tm.hour, -2),
        b'I' => (twelve(tm), 2),
        b'l' => (twelve(tm), -2),
        b'M' => (tm.min, 2),
        b'S' => (tm.sec, 2),
        b'j' => (tm.yday + 1, 3),
        b'y' => (year % 100, 2),
        b'C' => (year / 100, 2),
        b'Y' => (year, 4),
        b'U' => ((tm.yday + 7 - tm.wday) / 7, 2),
        b'W' => ((tm.yday + 7 - since_monday(tm)) / 7, 2),
        b'V' => (iso_week(tm).1, 2),
        b'u' => (since_monday(tm) + 1, 1),
        b'w' => (tm.wday, 1),
        _ => return None,
    })
}

/// Of the years from 1000 to 9999.
#[inline(always)]
fn four(year: i32) -> [u8; 4] {
    let ([c, d], [y, z]) = (two(year / 100), two(year % 100));
    [c, d, y, z]
}

/// The hour on a clock of twelve.
#[inline(always)]
fn twelve(tm: &Tm) -> i32 {
    (tm.hour + 11) % 12 + 1
}

/// Days since the week's Monday.
#[inline(always)]
fn since_monday(tm: &Tm) -> i32 {
    (tm.wday + 6) % 7
}

/// Year and week by ISO 8601: those of the Thursday of the same week.
fn iso_week(tm: &Tm) -> (i32, i32) {
    let year = tm.year + 1900;
    let days = |year: i32| 365 + i32::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let thursday = tm.yday + 3 - since_monday(tm);
    if thursday < 0 {
        return (year - 1, (thursday + days(year - 1)) / 7 + 1);
    }
    if thursday >= days(year) {
        return (year + 1, (thursday - days(year)) / 7 + 1);
    }
    (year, thursday / 7 + 1)
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
