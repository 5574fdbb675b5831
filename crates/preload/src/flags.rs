//! Flags, widths and modifiers of strftime(3), and the numbers that they fill up.

use crate::conversions::{Out, SIMPLE, Simple, field, inner, one, other};
use crate::imports::Tm;
use crate::numbers::{Number, Places, number, two};
use crate::words::{Words, formats, in_case};
use core::ptr::NonNull;

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

/// A conversion with flags, a width or a modifier, which begin at `format`: where its text ends, and what is
/// behind it. So that both are in registers, no `Option` of all.
///
/// # Safety
/// `format` must end with a NUL.
#[inline(never)]
pub(crate) unsafe fn flagged(
    out: Out,
    mut format: *const u8,
    tm: &Tm,
    words: &Words,
) -> (Option<NonNull<u8>>, *const u8) {
    let end = flags_and_conversion(out, &mut format, tm, words);
    (end.and_then(|out| NonNull::new(out.at)), format)
}

/// As `flagged`.
#[inline(always)]
fn flags_and_conversion(out: Out, format: &mut *const u8, tm: &Tm, words: &Words) -> Option<Out> {
    let mut flags = Flags::default();
    let mut next = || {
        // SAFETY: nothing behind the NUL is read: it is neither flag nor digit, so it is the last.
        let byte = unsafe { **format };
        *format = format.wrapping_add(1);
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
    let conversion = match conversion {
        modifier @ (b'E' | b'O') => {
            let conversion = next();
            if let (b'E', Some((own, usual))) = (modifier, formats(conversion)) {
                if flags.are_any() {
                    return None;
                }
                let own = Some(words.get(own)?).filter(|format| !format.is_empty());
                return inner(out, own.or(words.get(usual))?, tm, words);
            }
            if !words.are_plain(modifier, conversion) {
                return None;
            }
            conversion
        }
        conversion => conversion,
    };
    match number(conversion, tm) {
        Some(number) => flags.number(out, number),
        None => flags.word(out, conversion, tm, words),
    }
}

impl Flags {
    fn are_any(&self) -> bool {
        self.pad != 0 || self.upper || self.swapped || self.width != 0
    }

    #[inline(always)]
    fn number(&self, out: Out, Number { n, places }: Number) -> Option<Out> {
        let length = 1 + usize::from(n > 9) + usize::from(n > 99) + usize::from(n > 999);
        let (usual, blanks) = match places {
            Places::One => (1, false),
            Places::Two => (2, false),
            Places::TwoOrBlank => (2, true),
            Places::Three => (3, false),
            Places::Four => (4, false),
        };
        let least = if self.pad == b'-' { 0 } else { usual };
        let fill = match self.pad {
            b'0' => b'0',
            0 if !blanks => b'0',
            _ => b' ',
        };
        let all = length.max(self.width).max(least);
        if out.room() < all {
            return None;
        }
        let (end, [c, d], [y, z]) = (out.at.wrapping_add(all), two(n / 100), two(n % 100));
        let mut at = end.wrapping_sub(length);
        // SAFETY: there is room for all of them.
        unsafe {
            match length {
                1 => at.write(z),
                2 => at.cast::<[u8; 2]>().write([y, z]),
                3 => at.cast::<[u8; 3]>().write([d, y, z]),
                _ => at.cast::<[u8; 4]>().write([c, d, y, z]),
            }
            while at != out.at {
                at = at.wrapping_sub(1);
                // Volatile, else it is a call of memset, which takes longer for the usual few.
                at.write_volatile(fill);
            }
        }
        Some(Out { at: end, ..out })
    }

    /// All others: as they are without flags, in the case that is asked for, to the right.
    fn word(&self, out: Out, conversion: u8, tm: &Tm, words: &Words) -> Option<Out> {
        let end = match conversion {
            b'p' | b'Z' | b'c' | b'x' | b'X' | b'r' => other(out, conversion, tm, words)?,
            b'D' | b'F' | b'T' | b'R' => one(out, conversion, tm, words)?,
            _ => {
                let Simple::Name(of, base) = SIMPLE[usize::from(conversion)] else { return None };
                words.put::<false>(base, field(tm, of), out)?
            }
        };
        let length = out.room() - end.room();
        // SAFETY: just written.
        let text = unsafe { core::slice::from_raw_parts_mut(out.at, length) };
        let is_name = matches!(conversion, b'a' | b'A' | b'b' | b'B' | b'h');
        if words.wide && self.are_any() && !text.is_ascii() {
            return None;
        }
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
