//! asctime and ctime: the fixed English text of asctime(3).

use crate::convert::{EOVERFLOW, localtime, localtime_r};
use crate::elf::hand_over;
use crate::imports::{self, Tm};
use core::ffi::c_char;
use core::ptr::null_mut;

const DAYS: &[u8; 21] = b"SunMonTueWedThuFriSat";
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
/// What asctime_r's caller provides.
const CALLERS: usize = 26;
/// Three letters twice, and six numbers of up to eleven characters, with what stands between them.
const LONGEST: usize = 80;

static mut SHARED: [u8; LONGEST] = [0; LONGEST];

struct Text {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Text {
    fn put(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    /// As printf's `%WIDTH.DIGITSd`: at least so many digits, filled with blanks to the width.
    fn number(&mut self, value: i64, digits: usize, width: usize) {
        let mut reversed = [0u8; 24];
        let mut n = 0;
        let mut rest = value.unsigned_abs();
        while rest > 0 || n < digits {
            reversed[n] = b'0' + (rest % 10) as u8;
            rest /= 10;
            n += 1;
        }
        if value < 0 {
            reversed[n] = b'-';
            n += 1;
        }
        for _ in n..width {
            self.put(b" ");
        }
        for i in (0..n).rev() {
            self.put(&reversed[i..=i]);
        }
    }
}

fn name(names: &'static [u8], index: i32) -> &'static [u8] {
    let start = usize::try_from(index).ok().and_then(|i| i.checked_mul(3));
    start.and_then(|s| names.get(s..s + 3)).unwrap_or(b"???")
}

/// The text with its newline; `None`: the year does not fit an int.
#[inline]
fn format(tm: &Tm) -> Option<Text> {
    let year = tm.year.checked_add(1900)?;
    let mut text = Text { bytes: [0; LONGEST], len: 0 };
    let usual = (1..=31).contains(&tm.mday)
        && (0..24).contains(&tm.hour)
        && (0..60).contains(&tm.min)
        && (0..=60).contains(&tm.sec)
        && (1000..=9999).contains(&year);
    if usual {
        let two = |n: i32| [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        let b = &mut text.bytes;
        b[..25].copy_from_slice(b"??? ??? .. ..:..:.. ....\n");
        b[0..3].copy_from_slice(name(DAYS, tm.wday));
        b[4..7].copy_from_slice(name(MONTHS, tm.mon));
        b[8..10].copy_from_slice(&two(tm.mday));
        if tm.mday < 10 {
            b[8] = b' ';
        }
        b[11..13].copy_from_slice(&two(tm.hour));
        b[14..16].copy_from_slice(&two(tm.min));
        b[17..19].copy_from_slice(&two(tm.sec));
        b[20..22].copy_from_slice(&two(year / 100));
        b[22..24].copy_from_slice(&two(year % 100));
        text.len = 25;
        return Some(text);
    }
    text.put(name(DAYS, tm.wday));
    text.put(b" ");
    text.put(name(MONTHS, tm.mon));
    text.number(i64::from(tm.mday), 1, 3);
    for (before, value) in [(b" ", tm.hour), (b":", tm.min), (b":", tm.sec)] {
        text.put(before);
        text.number(i64::from(value), 2, 0);
    }
    text.put(b" ");
    text.number(i64::from(year), 1, 0);
    text.put(b"\n");
    Some(text)
}

/// Writes the text of `tm` to `buffer`, as much as has room; null and `errno` if that is not all.
///
/// # Safety
/// `tm` must be null or readable, `buffer` writable for `size` bytes.
unsafe fn write(tm: *const Tm, buffer: *mut u8, size: usize) -> *mut c_char {
    const EINVAL: i32 = 22;
    // SAFETY: the caller's.
    let Some(tm) = (unsafe { tm.as_ref() }) else {
        imports::set_errno(EINVAL);
        return null_mut();
    };
    let Some(text) = format(tm) else {
        imports::set_errno(EOVERFLOW);
        return null_mut();
    };
    let fits = text.len < size;
    let len = if fits { text.len } else { size - 1 };
    // SAFETY: `len` is less than `size` and than the text's room.
    unsafe {
        buffer.copy_from_nonoverlapping(text.bytes.as_ptr(), len);
        buffer.add(len).write(0);
    }
    if !fits {
        imports::set_errno(EOVERFLOW);
        return null_mut();
    }
    buffer.cast()
}

/// asctime(3).
///
/// # Safety
/// `tm` must be null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn asctime(tm: *const Tm) -> *mut c_char {
    if !imports::suitable() {
        return hand_over!(c"asctime", fn(*const Tm) -> *mut c_char, null_mut(), tm);
    }
    // SAFETY: the shared text is for one thread at a time by asctime(3).
    unsafe { write(tm, (&raw mut SHARED).cast(), LONGEST) }
}

/// asctime_r(3).
///
/// # Safety
/// `tm` must be null or readable, `buffer` writable for 26 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn asctime_r(tm: *const Tm, buffer: *mut c_char) -> *mut c_char {
    if !imports::suitable() {
        return hand_over!(
            c"asctime_r",
            fn(*const Tm, *mut c_char) -> *mut c_char,
            null_mut(),
            tm,
            buffer
        );
    }
    // SAFETY: the caller's.
    unsafe { write(tm, buffer.cast(), CALLERS) }
}

/// ctime(3).
///
/// # Safety
/// `time` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctime(time: *const i64) -> *mut c_char {
    if !imports::suitable() {
        return hand_over!(c"ctime", fn(*const i64) -> *mut c_char, null_mut(), time);
    }
    // SAFETY: the caller's.
    unsafe { asctime(localtime(time)) }
}

/// ctime_r(3).
///
/// # Safety
/// `time` must be readable, `buffer` writable for 26 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctime_r(time: *const i64, buffer: *mut c_char) -> *mut c_char {
    if !imports::suitable() {
        return hand_over!(
            c"ctime_r",
            fn(*const i64, *mut c_char) -> *mut c_char,
            null_mut(),
            time,
            buffer
        );
    }
    let mut tm = core::mem::MaybeUninit::uninit();
    // SAFETY: the caller's; localtime_r writes `tm` whenever it returns it.
    unsafe { asctime_r(localtime_r(time, tm.as_mut_ptr()), buffer) }
}
