//! Bytes of a line: numbers, quoted strings, words.

use memchr::{memchr, memchr2};

/// The decimal number at the start of `s`, and how many digits it has. Digits beyond what fits
/// saturate.
pub(crate) fn decimal(s: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut at = 0;
    while at < s.len() && s[at].is_ascii_digit() {
        value = value.saturating_mul(10).saturating_add(u64::from(s[at] - b'0'));
        at += 1;
    }
    (value, at)
}

/// A number as strace prints it: `0x80000`, `0100644`, `12`. `None` if `s` does not start with one.
pub(crate) fn number(s: &[u8]) -> Option<u64> {
    if !s.first()?.is_ascii_digit() {
        return None;
    }
    let (radix, digits) = match s {
        [b'0', b'x', rest @ ..] => (16, rest),
        [b'0', rest @ ..] => (8, rest),
        _ => (10, s),
    };
    let mut value = 0u64;
    for byte in digits {
        let Some(digit) = (*byte as char).to_digit(radix) else { break };
        value = value.wrapping_mul(u64::from(radix)).wrapping_add(u64::from(digit));
    }
    Some(value)
}

/// Nanoseconds of `digits`, a fraction of a second without its point ("000012").
pub(crate) fn fraction_ns(digits: &[u8]) -> u64 {
    let mut ns = 0;
    let mut unit = 100_000_000;
    for digit in digits.iter().take(9) {
        ns += u64::from(digit - b'0') * unit;
        unit /= 10;
    }
    ns
}

/// A one in every byte.
const LOW: u64 = u64::MAX / 255;
/// The highest bit of every byte.
const HIGH: u64 = LOW << 7;
const LOW_16: u128 = u128::MAX / 255;
const HIGH_16: u128 = LOW_16 << 7;

/// The number whose `len` decimal digits (1 to 8) are in the lowest bytes of `word`, the first in
/// the lowest of all.
#[inline(always)]
pub(crate) fn digits_of_word(word: u64, len: usize) -> Option<u32> {
    let digits = (word ^ (LOW * u64::from(b'0'))) << (64 - 8 * len);
    // A byte above 9 reaches its highest bit, or has it set.
    if (digits.wrapping_add(LOW * 0x76) | digits) & HIGH != 0 {
        return None;
    }
    // Neighbours are added: to pairs, to groups of four, to all eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let even = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let odd = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    Some((even.wrapping_add(odd) >> 32) as u32)
}

/// The highest bit of the byte that is the first `byte` in `word`, the lowest being the first, and
/// perhaps of some above it; 0 if there is none.
#[inline]
pub(crate) fn found_in_word(byte: u8, word: u64) -> u64 {
    let zeros = word ^ (LOW * u64::from(byte));
    zeros.wrapping_sub(LOW) & !zeros & HIGH
}

/// The last position of `byte` in `s`, if it is among the last 16 bytes. Loops whose end depends on
/// the data cost more than the whole rest of a line, so this has none.
#[inline]
pub(crate) fn rfind_in_16(byte: u8, s: &[u8]) -> Option<usize> {
    let word = u128::from_le_bytes(*s.last_chunk()?);
    let zeros = word ^ (LOW_16 * u128::from(byte));
    // Exact for every byte; the shorter form is exact only for the first one found.
    let found = !(((zeros & !HIGH_16) + !HIGH_16) | zeros | !HIGH_16);
    (found != 0).then(|| s.len() - 1 - found.leading_zeros() as usize / 8)
}

/// `s` without spaces at its start.
pub(crate) fn skip_spaces(s: &[u8]) -> &[u8] {
    let blanks = s.iter().take_while(|b| **b == b' ').count();
    &s[blanks..]
}

/// `s` without spaces at its end.
#[inline]
pub(crate) fn trim_end(mut s: &[u8]) -> &[u8] {
    // strace aligns the results of short lines with many spaces.
    while let Some(word) = s.last_chunk() {
        let blanks = (u64::from_le_bytes(*word) ^ (LOW * u64::from(b' '))).leading_zeros() / 8;
        s = &s[..s.len() - blanks as usize];
        if blanks < 8 {
            return s;
        }
    }
    while let [rest @ .., b' '] = s {
        s = rest;
    }
    s
}

/// The position of the quote that closes the string whose text starts at `s`.
pub(crate) fn closing_quote(s: &[u8]) -> Option<usize> {
    let first = memchr(b'"', s)?;
    if first == 0 || s[first - 1] != b'\\' {
        return Some(first);
    }
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', s.get(at..)?)?;
        if s[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Appends the text of a string to `out`, its escapes (`\n`, `\"`, `\177`, `\x7f`) resolved.
pub(crate) fn unescape(mut s: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr(b'\\', s) {
        out.extend_from_slice(&s[..at]);
        s = &s[at + 1..];
        let Some((&escape, rest)) = s.split_first() else { return };
        s = rest;
        match escape {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'x' => s = escaped_number(s, 16, 2, 0, out),
            b'0'..=b'7' => s = escaped_number(s, 8, 2, u32::from(escape - b'0'), out),
            other => out.push(other),
        }
    }
    out.extend_from_slice(s);
}

/// Up to `most` more digits of an escape, of which `value` was read.
fn escaped_number<'a>(
    s: &'a [u8],
    radix: u32,
    most: usize,
    mut value: u32,
    out: &mut Vec<u8>,
) -> &'a [u8] {
    let mut at = 0;
    while at < most {
        let Some(digit) = s.get(at).and_then(|b| (*b as char).to_digit(radix)) else { break };
        value = value * radix + digit;
        at += 1;
    }
    out.push(value as u8);
    &s[at..]
}

/// The start of a line for a message: one line, printable, at most 60 characters.
pub(crate) fn sample(line: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MOST)]);
    let mut clean: String =
        text.chars().map(|c| if c.is_control() { '?' } else { c }).take(MOST).collect();
    if text.chars().count() > MOST {
        clean.pop();
        clean.push('…');
    }
    clean
}

/// `line` without the colours that strace 7 can add (`ESC [ … m`), into `out`.
pub(crate) fn strip_colour(line: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut s = line;
    while let Some(at) = memchr(0x1b, s) {
        out.extend_from_slice(&s[..at]);
        s = &s[at + 1..];
        let Some(rest) = s.strip_prefix(b"[") else { continue };
        let codes = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b';').count();
        s = &rest[codes..];
        s = s.strip_prefix(b"m").or_else(|| s.strip_prefix(b"K")).unwrap_or(s);
    }
    out.extend_from_slice(s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_every_kind() {
        for (raw, text) in [
            (r"/etc/\x6c\x6f", &b"/etc/lo"[..]),
            (r"\177ELF\2\1", b"\x7fELF\x02\x01"),
            (r#"a\"b\\c\n\t"#, b"a\"b\\c\n\t"),
            (r"\303\2449", b"\xc3\xa49"),
            (r"end\", b"end"),
            (r"\x", b"\0"),
        ] {
            let mut out = Vec::new();
            unescape(raw.as_bytes(), &mut out);
            assert_eq!(out, text, "{raw}");
        }
    }

    #[test]
    fn the_closing_quote_is_not_an_escaped_one() {
        assert_eq!(closing_quote(br#"a\"b\\", 3"#), Some(6));
        assert_eq!(closing_quote(br#"a\""#), None);
        assert_eq!(closing_quote(br#"a\"#), None);
    }

    #[test]
    fn numbers_in_three_bases() {
        assert_eq!(number(b"0x80000 /* O_CLOEXEC */"), Some(0x80000));
        assert_eq!(number(b"0100644"), Some(0o100644));
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"AT_FDCWD"), None);
        assert_eq!(fraction_ns(b"000012"), 12_000);
        assert_eq!(fraction_ns(b"773695844"), 773_695_844);
    }

    #[test]
    fn a_sample_is_one_short_line() {
        assert_eq!(sample(b"a\x1b[1m\nb"), "a?[1m?b");
        assert_eq!(sample(&[b'x'; 500]).chars().count(), 60);
    }

    #[test]
    fn sixteen_bytes_at_once_find_what_a_loop_finds() {
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bytes: Vec<u8> =
                (0..16).map(|i| b"(=<\0\x80\x01\xff)"[(random >> (i * 4)) as usize % 8]).collect();
            for byte in [b'(', b'=', 0, 0x80, 1, 0xff] {
                let first = u64::from_le_bytes(*bytes.first_chunk().unwrap());
                let found = found_in_word(byte, first).trailing_zeros() as usize / 8;
                let want = bytes[..8].iter().position(|b| *b == byte);
                assert_eq!(found, want.unwrap_or(8), "{byte} {bytes:?}");
                let want = bytes.iter().rposition(|b| *b == byte);
                assert_eq!(rfind_in_16(byte, &bytes), want, "{byte} {bytes:?}");
            }
        }
        assert_eq!(rfind_in_16(b'q', b"q and sixteen more."), None);
        assert_eq!(rfind_in_16(b'.', b"q and sixteen more."), Some(18));
    }

    #[test]
    fn digits_of_a_word_are_read_as_a_loop_reads_them() {
        let mut random = 1u64;
        for round in 0..40_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mut bytes = [0; 8];
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = b'0' + (random >> (8 + at * 7)) as u8 % 10;
            }
            if round % 2 == 0 {
                bytes[(random >> 60) as usize % 8] = (random >> 3) as u8;
            }
            for len in 1..=8 {
                let (value, digits) = decimal(&bytes[..len]);
                let want = (digits == len).then_some(value as u32);
                assert_eq!(digits_of_word(u64::from_le_bytes(bytes), len), want, "{bytes:?} {len}");
            }
        }
    }

    #[test]
    fn colours_go() {
        let mut out = Vec::new();
        strip_colour(b"\x1b[1;34mclose\x1b[0m(3) \x1b[m= 0", &mut out);
        assert_eq!(out, b"close(3) = 0");
    }
}
