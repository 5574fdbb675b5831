//! strftime and wcsftime.
//!
//! Numbers and names of zones are written here; what depends on the locale, or has flags, is handed
//! to the C library. Its `%s` and `%Z` may look at the zone file, so those two are answered beforehand.

use crate::convert::{mktime, name_after_tzset};
use crate::elf::hand_over;
use crate::handed::with_prepared;
use crate::imports::{self, Tm};
use core::ffi::{CStr, c_char, c_void};

/// The output, with room for a final NUL.
struct Out {
    start: *mut u8,
    at: *mut u8,
    /// The last writable byte.
    last: *mut u8,
}

impl Out {
    /// Whether so many bytes and a NUL fit. If not, the C library repeats all, and fails as it does.
    #[inline(always)]
    fn room(&self, bytes: usize) -> Option<()> {
        (self.last as usize - self.at as usize >= bytes).then_some(())
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) -> Option<()> {
        self.room(1)?;
        // SAFETY: there is room.
        unsafe { self.at.write(byte) };
        self.at = self.at.wrapping_add(1);
        Some(())
    }

    fn text(&mut self, bytes: &[u8]) -> Option<()> {
        bytes.iter().try_for_each(|&b| self.byte(b))
    }

    /// A number below 100, its tens given as `fill` if there are none.
    #[inline(always)]
    fn two(&mut self, n: i32, fill: u8) -> Option<()> {
        self.room(2)?;
        let [tens, ones] = PAIRS[n as usize % 128];
        // SAFETY: there is room.
        unsafe {
            self.at.write(if n < 10 { fill } else { tens });
            self.at.add(1).write(ones);
        }
        self.at = self.at.wrapping_add(2);
        Some(())
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

/// Decimal digits of any `i64`, right-aligned.
pub(crate) fn digits(value: i64, buffer: &mut [u8; 20]) -> &[u8] {
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

/// `%s` of `tm`; `None` where mktime fails.
pub(crate) fn epoch(tm: &Tm) -> Option<i64> {
    let mut copy = *tm;
    copy.wday = -1;
    // SAFETY: a structure of our own.
    let t = unsafe { mktime(&raw mut copy) };
    // mktime leaves tm_wday alone when it fails.
    (copy.wday >= 0).then_some(t)
}

/// The name that `%Z` prints.
fn zone_name(tm: &Tm) -> &[u8] {
    // SAFETY: by strftime(3) tm_zone is null or a text; ours lives for ever.
    unsafe {
        if !tm.zone.is_null() && *tm.zone != 0 {
            return CStr::from_ptr(tm.zone).to_bytes();
        }
        if tm.isdst < 0 {
            return b"";
        }
        CStr::from_ptr(name_after_tzset(tm.isdst != 0)).to_bytes()
    }
}

/// Whether each field is where every version of every C library prints it alike.
fn usual(tm: &Tm) -> bool {
    (0..=60).contains(&tm.sec)
        && (0..60).contains(&tm.min)
        && (0..24).contains(&tm.hour)
        && (1..=31).contains(&tm.mday)
        && (0..12).contains(&tm.mon)
        && (-900..=8099).contains(&tm.year)
        && (0..7).contains(&tm.wday)
        && (0..366).contains(&tm.yday)
}

/// The whole format, if nothing in it needs the C library; the length without the NUL.
///
/// # Safety
/// `format` must end with a NUL.
#[inline]
unsafe fn ours(out: &mut Out, mut format: *const u8, tm: &Tm) -> Option<usize> {
    // SAFETY: nothing behind the NUL is read: `one` refuses a NUL as a conversion.
    unsafe {
        while *format != 0 {
            if *format != b'%' {
                out.byte(*format)?;
                format = format.add(1);
                continue;
            }
            one(out, *format.add(1), tm)?;
            format = format.add(2);
        }
        // The last byte of the room is never written by `byte` and `two`.
        out.at.write(0);
    }
    Some(out.at as usize - out.start as usize)
}

#[inline(always)]
fn one(out: &mut Out, conversion: u8, tm: &Tm) -> Option<()> {
    let year = tm.year + 1900;
    match conversion {
        b'Y' => {
            out.two(year / 100, b'0')?;
            out.two(year % 100, b'0')
        }
        b'm' => out.two(tm.mon + 1, b'0'),
        b'd' => out.two(tm.mday, b'0'),
        b'e' => out.two(tm.mday, b' '),
        b'H' => out.two(tm.hour, b'0'),
        b'k' => out.two(tm.hour, b' '),
        b'I' => out.two((tm.hour + 11) % 12 + 1, b'0'),
        b'l' => out.two((tm.hour + 11) % 12 + 1, b' '),
        b'M' => out.two(tm.min, b'0'),
        b'S' => out.two(tm.sec, b'0'),
        b'C' => out.two(year / 100, b'0'),
        b'y' => out.two(year % 100, b'0'),
        b'U' => out.two((tm.yday + 7 - tm.wday) / 7, b'0'),
        b'W' => out.two((tm.yday + 7 - (tm.wday + 6) % 7) / 7, b'0'),
        b'j' => {
            let day = tm.yday + 1;
            out.byte(b'0' + (day / 100) as u8)?;
            out.two(day % 100, b'0')
        }
        b'w' => out.byte(b'0' + tm.wday as u8),
        b'u' => out.byte(b'0' + ((tm.wday + 6) % 7 + 1) as u8),
        b'F' => {
            out.two(year / 100, b'0')?;
            out.two(year % 100, b'0')?;
            out.byte(b'-')?;
            pair(out, [tm.mon + 1, tm.mday], b'-')
        }
        b'D' => {
            pair(out, [tm.mon + 1, tm.mday], b'/')?;
            out.byte(b'/')?;
            out.two(year % 100, b'0')
        }
        b'T' => {
            pair(out, [tm.hour, tm.min], b':')?;
            out.byte(b':')?;
            out.two(tm.sec, b'0')
        }
        b'R' => pair(out, [tm.hour, tm.min], b':'),
        b'n' => out.byte(b'\n'),
        b't' => out.byte(b'\t'),
        b'%' => out.byte(b'%'),
        b'Z' => out.text(zone_name(tm)),
        b'z' => offset(out, tm),
        b's' => out.text(digits(epoch(tm)?, &mut [0; 20])),
        _ => None,
    }
}

/// Two numbers with a character between them.
#[inline]
fn pair(out: &mut Out, [first, second]: [i32; 2], between: u8) -> Option<()> {
    out.two(first, b'0')?;
    out.byte(between)?;
    out.two(second, b'0')
}

fn offset(out: &mut Out, tm: &Tm) -> Option<()> {
    if tm.isdst < 0 {
        return Some(());
    }
    let minutes = i32::try_from(tm.gmtoff.unsigned_abs() / 60).ok().filter(|&m| m < 6000)?;
    // "-0000" depends on the version.
    if tm.gmtoff == 0 && zone_name(tm).starts_with(b"-") {
        return None;
    }
    out.byte(if tm.gmtoff < 0 { b'-' } else { b'+' })?;
    out.two(minutes / 60, b'0')?;
    out.two(minutes % 60, b'0')
}

/// Writes it here, if possible.
///
/// # Safety
/// As strftime(3).
#[inline]
unsafe fn try_ours(
    at: *mut u8,
    room: usize,
    format: *const c_char,
    tm: *const Tm,
) -> Option<usize> {
    if room == 0 || tm.is_null() || !imports::suitable() {
        return None;
    }
    // SAFETY: the caller's.
    let tm = unsafe { &*tm };
    if !usual(tm) {
        return None;
    }
    let mut out = Out { start: at, at, last: at.wrapping_add(room - 1) };
    // SAFETY: the caller's.
    unsafe { ours(&mut out, format.cast(), tm) }
}

/// strftime(3).
///
/// # Safety
/// `at` must be writable for `room` bytes, `format` end with a NUL, `tm` be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strftime(
    at: *mut c_char,
    room: usize,
    format: *const c_char,
    tm: *const Tm,
) -> usize {
    // SAFETY: the caller's.
    if let Some(len) = unsafe { try_ours(at.cast(), room, format, tm) } {
        return len;
    }
    let call = |format, tm| {
        hand_over!(
            c"strftime",
            fn(*mut c_char, usize, *const u8, *const Tm) -> usize,
            0,
            at,
            room,
            format,
            tm
        )
    };
    // SAFETY: the caller's.
    unsafe { with_prepared(format.cast::<u8>(), tm, call) }
}

/// strftime_l(3). Nothing that is written here depends on the locale.
///
/// # Safety
/// As [`strftime`]; `locale` must be one of newlocale(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strftime_l(
    at: *mut c_char,
    room: usize,
    format: *const c_char,
    tm: *const Tm,
    locale: *mut c_void,
) -> usize {
    // SAFETY: the caller's.
    if let Some(len) = unsafe { try_ours(at.cast(), room, format, tm) } {
        return len;
    }
    let call = |format, tm| {
        hand_over!(
            c"strftime_l",
            fn(*mut c_char, usize, *const u8, *const Tm, *mut c_void) -> usize,
            0,
            at,
            room,
            format,
            tm,
            locale
        )
    };
    // SAFETY: the caller's.
    unsafe { with_prepared(format.cast::<u8>(), tm, call) }
}

/// glibc's other name of [`strftime_l`], which libstdc++ calls.
///
/// # Safety
/// As [`strftime_l`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __strftime_l(
    at: *mut c_char,
    room: usize,
    format: *const c_char,
    tm: *const Tm,
    locale: *mut c_void,
) -> usize {
    // SAFETY: the caller's.
    unsafe { strftime_l(at, room, format, tm, locale) }
}

/// wcsftime(3): the C library's, kept from asking for the zone.
///
/// # Safety
/// As [`strftime`], in wide characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wcsftime(
    at: *mut u32,
    room: usize,
    format: *const u32,
    tm: *const Tm,
) -> usize {
    let call = |format, tm| {
        hand_over!(
            c"wcsftime",
            fn(*mut u32, usize, *const u32, *const Tm) -> usize,
            0,
            at,
            room,
            format,
            tm
        )
    };
    // SAFETY: the caller's.
    unsafe { with_prepared(format, tm, call) }
}

/// `wcsftime_l`, likewise.
///
/// # Safety
/// As [`wcsftime`]; `locale` must be one of newlocale(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wcsftime_l(
    at: *mut u32,
    room: usize,
    format: *const u32,
    tm: *const Tm,
    locale: *mut c_void,
) -> usize {
    let call = |format, tm| {
        hand_over!(
            c"wcsftime_l",
            fn(*mut u32, usize, *const u32, *const Tm, *mut c_void) -> usize,
            0,
            at,
            room,
            format,
            tm,
            locale
        )
    };
    // SAFETY: the caller's.
    unsafe { with_prepared(format, tm, call) }
}
