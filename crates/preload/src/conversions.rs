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

/// Items of nl_langinfo(3) as in glibc's langinfo.h, without `LC_TIME` in the upper half.
mod item {
    pub(super) const ABBREVIATED_DAY: i32 = 0x00;
    pub(super) const DAY: i32 = 0x07;
    pub(super) const ABBREVIATED_MONTH: i32 = 0x0e;
    pub(super) const MONTH: i32 = 0x1a;
    pub(super) const AM: i32 = 0x26;
    pub(super) const DATE_AND_TIME: i32 = 0x28;
    pub(super) const DATE: i32 = 0x29;
    pub(super) const TIME: i32 = 0x2a;
    pub(super) const TIME_12: i32 = 0x2b;
}
const LC_TIME: i32 = 0x2_0000;

impl Words {
    fn get(self, item: i32) -> Option<&'static CStr> {
        let text = imports::langinfo(LC_TIME + item, self.0);
        // SAFETY: not null, nl_langinfo(3) gives a text that stays while the locale does.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    }

    /// Writes the word so many behind `base`. They are short: to look for their end first takes longer.
    #[inline(always)]
    fn put<const UPPER: bool>(self, base: u8, n: i32, out: Out) -> Option<Out> {
        let mut text = imports::langinfo(LC_TIME + i32::from(base) + n, self.0).cast::<u8>();
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
            if let b'-' | b'_' | b'0'..=b'9' | b'^' | b'#' = conversion {
                // A NUL is no conversion of a number either.
                if let (b'-', Some((n @ 0..=99, _))) = (conversion, number(*format.add(2), tm)) {
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
                (out, format) = flagged(out, format.add(1), tm, words, depth)?;
                continue;
            }
            out = one(out, conversion, tm, words, depth)?;
            format = format.add(2);
        }
    }
}

/// A conversion of one field.
#[derive(Clone, Copy)]
enum Simple {
    Not,
    /// In two digits: which of `Tm`'s ints, and what is added.
    Number(u8, u8),
    /// A word of the locale: which of `Tm`'s ints, and the word for 0.
    Name(u8, u8),
}

const MON: u8 = 4;
const WDAY: u8 = 6;

static SIMPLE: [Simple; 256] = {
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
fn field(tm: &Tm, which: u8) -> i32 {
    // SAFETY: `Tm` begins with nine ints.
    unsafe { (&raw const *tm).cast::<i32>().add(usize::from(which)).read() }
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
const WIDEST: usize = 1000;

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
    #[inline(always)]
    fn number(&self, out: Out, (n, digits): (i32, i32)) -> Option<Out> {
        let (pairs, ones) = (two(n / 100), two(n % 100));
        let text = [pairs[0], pairs[1], ones[0], ones[1]];
        let length = 1 + usize::from(n > 9) + usize::from(n > 99) + usize::from(n > 999);
        let usual = digits.unsigned_abs() as usize;
        let (fill, least) = match self.pad {
            b'-' => (b' ', 0),
            b'_' => (b' ', usual),
            b'0' => (b'0', usual),
            _ if digits < 0 => (b' ', usual),
            _ => (b'0', usual),
        };
        let mut out = out;
        for _ in length..self.width.max(least) {
            out = out.put([fill])?;
        }
        out.text(text.get(text.len() - length..)?)
    }

    /// All others: as they are without flags, in the case that is asked for, to the right.
    fn word(&self, out: Out, conversion: u8, tm: &Tm, words: Words, depth: u32) -> Option<Out> {
        let end = match conversion {
            b'p' | b'Z' | b'c' | b'x' | b'X' | b'r' => other(out, conversion, tm, words, depth)?,
            b'D' | b'F' | b'T' | b'R' => one(out, conversion, tm, words, depth)?,
            _ => {
                let Simple::Name(of, base) = SIMPLE[usize::from(conversion)] else { return None };
                words.put::<false>(base, field(tm, of), out)?
            }
        };
        let length = out.room() - end.room();
        // SAFETY: just written.
        let text = unsafe { core::slice::from_raw_parts_mut(out.at, length) };
        let is_name = matches!(conversion, b'a' | b'A' | b'b' | b'B' | b'h');
        let lower = self.swapped && matches!(conversion, b'p' | b'Z');
        if lower || self.upper || (self.swapped && is_name) {
            for byte in text.iter_mut() {
                *byte = in_case(!lower, *byte, words)?;
            }
        }
        if length >= self.width {
            return Some(end);
        }
        let before = self.width - length;
        if end.room() < before {
            return None;
        }
        // SAFETY: there is room for the text so many bytes further, and before it for them.
        unsafe {
            out.at.copy_to(out.at.wrapping_add(before), length);
            out.at.write_bytes(if self.pad == b'0' { b'0' } else { b' ' }, before);
        }
        Some(Out { at: end.at.wrapping_add(before), ..out })
    }
}

/// A byte in upper or lower case. ASCII's letters have ASCII's cases in every locale, but for Turkish i.
#[inline(always)]
fn in_case(upper: bool, byte: u8, words: Words) -> Option<u8> {
    match byte {
        b'i' | b'I' | 0x80.. => imports::in_case(upper, byte, words.0),
        _ if upper => Some(byte.to_ascii_uppercase()),
        _ => Some(byte.to_ascii_lowercase()),
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
