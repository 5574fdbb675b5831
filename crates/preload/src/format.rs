//! strftime and wcsftime: the functions, and when they are the C library's own.
//!
//! What is usual is written here (conversions.rs), the rest handed to the C library. Its `%s` and `%Z` may
//! look at the zone file, so those two are answered beforehand (handed.rs).

use crate::conversions::{Out, whole};
use crate::convert::{carried, carry, mktime};
use crate::elf::hand_over;
use crate::gate;
use crate::handed::with_prepared;
use crate::imports::Tm;
use crate::words::Words;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;

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

/// The text in `room` bytes, if it can be written here.
///
/// # Safety
/// As strftime(3).
#[inline(always)]
unsafe fn try_ours(
    at: *mut u8,
    room: usize,
    format: *const u8,
    tm: *const Tm,
    words: &Words,
) -> Option<usize> {
    if room == 0 || tm.is_null() || !gate::is_ours() {
        return None;
    }
    // SAFETY: the caller's.
    let tm = unsafe { &*tm };
    if !usual(tm) {
        return None;
    }
    let out = Out { at, last: at.wrapping_add(room - 1) };
    let before = carried();
    // SAFETY: the caller's.
    let Some(Out { at: end, .. }) = (unsafe { whole(out, format, tm, words) }) else {
        // The whole format is done again: its `%s` is to be the first time.
        carry(before);
        return None;
    };
    // SAFETY: `whole` leaves the last byte of the room.
    unsafe { end.write(0) };
    Some(end as usize - at as usize)
}

fn narrow(locale: *mut c_void) -> Words {
    Words { locale, wide: false, depth: 0 }
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
    if let Some(len) = unsafe { try_ours(at.cast(), room, format.cast(), tm, &narrow(null_mut())) }
    {
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

/// strftime_l(3).
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
    if let Some(len) = unsafe { try_ours(at.cast(), room, format.cast(), tm, &narrow(locale)) } {
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

/// The longest format of wide characters, and the longest text, that is written here: CPython, the greatest user
/// of wcsftime, gives short ones.
const WIDE: usize = 256;

/// As `try_ours`, for wcsftime(3): through bytes, if each is a character, or if they are UTF-8.
///
/// # Safety
/// As wcsftime(3).
#[inline(always)]
unsafe fn try_wide(
    at: *mut u32,
    room: usize,
    format: *const u32,
    tm: *const Tm,
    locale: *mut c_void,
) -> Option<usize> {
    let mut bytes = [const { MaybeUninit::<u8>::uninit() }; WIDE];
    let mut length = 0;
    loop {
        // SAFETY: nothing behind the NUL is read.
        let unit = unsafe { *format.add(length) };
        let byte = u8::try_from(unit).ok().filter(u8::is_ascii)?;
        bytes.get_mut(length)?.write(byte);
        if byte == 0 {
            break;
        }
        length += 1;
    }
    let words = &Words { locale, wide: true, depth: 0 };
    let mut text = [const { MaybeUninit::<u8>::uninit() }; WIDE];
    let before = carried();
    // SAFETY: the format has just been copied with its NUL; the rest is the caller's.
    let length =
        unsafe { try_ours(text.as_mut_ptr().cast(), WIDE, bytes.as_ptr().cast(), tm, words)? };
    // SAFETY: just written.
    let text = unsafe { core::slice::from_raw_parts(text.as_ptr().cast::<u8>(), length) };
    // SAFETY: the caller's.
    let written = unsafe { widen(text, words, at, room) };
    if written.is_none() {
        carry(before);
    }
    written
}

/// Writes a text of the locale in wide characters, if that is possible here and there is room.
///
/// # Safety
/// `at` must be writable for `room` characters.
#[inline(always)]
unsafe fn widen(text: &[u8], words: &Words, at: *mut u32, room: usize) -> Option<usize> {
    if text.len() < room {
        let ascii = text.iter().take_while(|byte| byte.is_ascii());
        let mut length = 0;
        for byte in ascii {
            // SAFETY: there is room.
            unsafe { at.add(length).write(u32::from(*byte)) };
            length += 1;
        }
        if length == text.len() {
            // SAFETY: as above.
            unsafe { at.add(length).write(0) };
            return Some(length);
        }
    }
    let text = core::str::from_utf8(text).ok().filter(|_| words.are_utf8())?;
    let length = text.chars().count();
    if length >= room {
        return None;
    }
    for (n, letter) in text.chars().chain(Some('\0')).enumerate() {
        // SAFETY: there is room.
        unsafe { at.add(n).write(u32::from(letter)) };
    }
    Some(length)
}

/// wcsftime(3).
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
    // SAFETY: the caller's.
    if let Some(len) = unsafe { try_wide(at, room, format, tm, null_mut()) } {
        return len;
    }
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
    // SAFETY: the caller's.
    if let Some(len) = unsafe { try_wide(at, room, format, tm, locale) } {
        return len;
    }
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
