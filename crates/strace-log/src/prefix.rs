//! The start of a line, before its payload: pid, time, call number, instruction pointer.

use crate::text::{decimal, digits_of_word, fraction_ns, skip_spaces};
use memchr::memmem;

/// When a line was written, as the line shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// `-t`, `-tt`: nanoseconds since midnight, no date.
    OfDay(u64),
    /// `-ttt`: nanoseconds since 1970.
    Unix(u64),
    /// `-r`: nanoseconds since the line before, of any process.
    SinceLast(u64),
}

/// The parts of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prefix<'a> {
    /// The thread, where the line names it.
    pub tid: Option<u32>,
    /// Whether it is named as `[pid N]`, which strace prints only while it traces more than one.
    pub bracketed: bool,
    /// The time, where the line has one.
    pub time: Option<Time>,
    /// The rest.
    pub payload: &'a [u8],
}

/// Prefixes of up to this many bytes are remembered.
const LONGEST: usize = 32;
/// How many.
const PLACES: usize = 64;

/// A prefix that ended in six digits of a second's fraction and a blank.
#[derive(Clone, Copy)]
struct CachedCall {
    /// Its bytes, and a mask of those that must be equal: all except the six digits.
    text: [u64; LONGEST / 8],
    mask: [u64; LONGEST / 8],
    /// Where the six digits start; beyond any line if this place has no prefix.
    digits: usize,
    tid: Option<u32>,
    bracketed: bool,
    /// The time without its fraction.
    base: Time,
}

const UNKNOWN: CachedCall = CachedCall {
    text: [0; LONGEST / 8],
    mask: [0; LONGEST / 8],
    digits: usize::MAX,
    tid: None,
    bracketed: false,
    base: Time::OfDay(0),
};

/// Prefixes of recent lines. The next line mostly is from one of the same threads in the same
/// second; one comparison shows this.
pub(crate) struct Recent {
    known: Box<[CachedCall; PLACES]>,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { known: Box::new([UNKNOWN; PLACES]) }
    }
}

impl Recent {
    /// Splits a line into prefix and payload.
    #[inline]
    pub(crate) fn parse<'a>(&mut self, line: &'a [u8]) -> Prefix<'a> {
        match self.again(line) {
            Some(prefix) => prefix,
            None => self.parse_new(line),
        }
    }

    /// The prefix of a line that has a known prefix with another fraction, and the start of a payload
    /// behind it.
    #[inline]
    fn again<'a>(&self, line: &'a [u8]) -> Option<Prefix<'a>> {
        let words = words(line.first_chunk()?);
        let known = &self.known[place(&words)];
        let all = words.iter().zip(known.text).zip(known.mask);
        if all.fold(0, |differ, ((word, text), mask)| differ | (word & mask) ^ text) != 0 {
            return None;
        }
        let rest = line.get(known.digits..)?;
        let fraction: &[u8; 8] = rest.first_chunk()?;
        if !matches!(fraction[7], b'a'..=b'z' | b'<') {
            return None;
        }
        let ns = u64::from(digits_of_word(u64::from_le_bytes(*fraction), 6)?) * 1000;
        let time = match known.base {
            Time::Unix(base) => Time::Unix(base + ns),
            Time::OfDay(base) => Time::OfDay(base + ns),
            Time::SinceLast(_) => return None,
        };
        let CachedCall { tid, bracketed, .. } = *known;
        Some(Prefix { tid, bracketed, time: Some(time), payload: &rest[7..] })
    }

    #[cold]
    fn parse_new<'a>(&mut self, line: &'a [u8]) -> Prefix<'a> {
        let prefix = parse(line);
        if let Some((place, known)) = learn(line, &prefix) {
            self.known[place] = known;
        }
        prefix
    }
}

/// What to remember of a prefix, and where.
fn learn(line: &[u8], prefix: &Prefix<'_>) -> Option<(usize, CachedCall)> {
    let base = match prefix.time? {
        Time::Unix(ns) => Time::Unix(ns - ns % SECOND),
        Time::OfDay(ns) => Time::OfDay(ns - ns % SECOND),
        Time::SinceLast(_) => return None,
    };
    let len = line.len() - prefix.payload.len();
    let digits = len.checked_sub(7)?;
    if len > LONGEST || line[..len].iter().rposition(|b| *b == b'.')? + 1 != digits {
        return None;
    }
    let (mut text, mut mask) = ([0; LONGEST], [0; LONGEST]);
    mask[..len].fill(0xff);
    mask[digits..digits + 6].fill(0);
    text[..digits].copy_from_slice(&line[..digits]);
    text[len - 1] = line[len - 1];
    let (text, mask) = (words(&text), words(&mask));
    let Prefix { tid, bracketed, .. } = *prefix;
    let place = place(&words(line.first_chunk()?));
    Some((place, CachedCall { text, mask, digits, tid, bracketed, base }))
}

#[inline]
fn words(bytes: &[u8; LONGEST]) -> [u64; LONGEST / 8] {
    let (chunks, _) = bytes.as_chunks();
    [0, 1, 2, 3].map(|at| u64::from_le_bytes(chunks[at]))
}

/// The place of a prefix, by the bytes of its pid: the first ones, except in `[pid 12345]`.
#[inline]
fn place(words: &[u64; LONGEST / 8]) -> usize {
    let key = if words[0] as u8 == b'[' { words[1] } else { words[0] };
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % PLACES
}

const SECOND: u64 = 1_000_000_000;

/// Splits a line into prefix and payload.
pub(crate) fn parse(line: &[u8]) -> Prefix<'_> {
    let (tid, bracketed, rest) = pid(line);
    let (time, rest) = time(rest);
    let mut payload = skip_spaces(rest);
    if time.is_some()
        && payload.starts_with(b"(+")
        && let Some(end) = memchr::memchr(b')', payload)
    {
        payload = skip_spaces(&payload[end + 1..]);
    }
    while payload.first() == Some(&b'[') {
        let Some(rest) = bracket(payload) else { break };
        payload = rest;
    }
    Prefix { tid, bracketed, time, payload }
}

/// `123 `, `123<comm> `, `[pid  123] `, `[pid 123<comm>] `.
fn pid(line: &[u8]) -> (Option<u32>, bool, &[u8]) {
    let bracketed = line.starts_with(b"[pid ");
    let s = if bracketed { skip_spaces(&line[5..]) } else { line };
    let (value, digits) = decimal(s);
    let Ok(tid) = u32::try_from(value) else { return (None, false, line) };
    if digits == 0 || digits > 9 {
        return (None, false, line);
    }
    let mut rest = &s[digits..];
    if rest.first() == Some(&b'<') {
        let end: &[u8] = if bracketed { b">]" } else { b"> " };
        let Some(at) = memmem::find(&rest[..rest.len().min(64)], end) else {
            return (None, false, line);
        };
        rest = &rest[at + 1..];
    }
    match (bracketed, rest) {
        (true, [b']', b' ', rest @ ..]) | (false, [b' ', rest @ ..]) => {
            (Some(tid), bracketed, skip_spaces(rest))
        }
        // Only `1685`: a line that was cut.
        _ => (None, false, line),
    }
}

fn time(s: &[u8]) -> (Option<Time>, &[u8]) {
    let start = skip_spaces(s);
    let (first, digits) = decimal(start);
    if digits == 0 {
        return (None, s);
    }
    let mut rest = &start[digits..];
    let mut seconds = first;
    let clock = rest.first() == Some(&b':');
    if clock {
        let [b':', m1, m2, b':', s1, s2, tail @ ..] = rest else { return (None, s) };
        if ![m1, m2, s1, s2].iter().all(|b| b.is_ascii_digit()) || first > 23 {
            return (None, s);
        }
        let two = |a: &u8, b: &u8| u64::from(a - b'0') * 10 + u64::from(b - b'0');
        seconds = first * 3600 + two(m1, m2) * 60 + two(s1, s2);
        rest = tail;
    }
    let mut ns = 0;
    let pointed = rest.first() == Some(&b'.');
    if pointed {
        let (_, digits) = decimal(&rest[1..]);
        ns = fraction_ns(&rest[1..1 + digits]);
        rest = &rest[1 + digits..];
    }
    if rest.first() != Some(&b' ') {
        return (None, s);
    }
    let total = seconds.saturating_mul(SECOND).saturating_add(ns);
    // Seconds since 1970 have nine digits from 1973 on; times between lines are shorter.
    let time = match (clock, digits >= 9, pointed) {
        (true, ..) => Time::OfDay(total),
        (_, true, _) => Time::Unix(total),
        (_, _, true) => Time::SinceLast(total),
        _ => return (None, s),
    };
    (Some(time), &rest[1..])
}

/// `-n`'s `[ 262] `, `-i`'s `[00007f9496b5492a] ` or `[????????????????] `.
fn bracket(s: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b']', &s[..s.len().min(24)])?;
    let inside = &s[1..end];
    let known = |b: &u8| b.is_ascii_hexdigit() || *b == b' ' || *b == b'?' || *b == b'x';
    if inside.is_empty() || !inside.iter().all(known) {
        return None;
    }
    Some(skip_spaces(s[end + 1..].strip_prefix(b" ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_of_every_version() {
        const S: u64 = 1_000_000_000;
        let day =
            |h: u64, m: u64, s: u64, ns: u64| Some(Time::OfDay((h * 3600 + m * 60 + s) * S + ns));
        let cases: &[(&str, Option<u32>, Option<Time>)] = &[
            ("close(3) = 0", None, None),
            ("16945 close(3) = 0", Some(16945), None),
            ("16945  close(3) = 0", Some(16945), None),
            ("[pid 16945] close(3) = 0", Some(16945), None),
            ("[pid   945] close(3) = 0", Some(945), None),
            ("[pid 945<my comm>] close(3) = 0", Some(945), None),
            ("17145<mt2> close(3) = 0", Some(17145), None),
            ("17145<a> b> close(3) = 0", None, None), // ambiguous: not read
            ("01:51:36 close(3) = 0", None, day(1, 51, 36, 0)),
            ("7 01:51:36.126758 close(3) = 0", Some(7), day(1, 51, 36, 126_758_000)),
            ("01:51:36.773695844 close(3) = 0", None, day(1, 51, 36, 773_695_844)),
            ("1795225896.154805 close(3) = 0", None, Some(Time::Unix(1_795_225_896_154_805_000))),
            ("1795257466 close(3) = 0", None, Some(Time::Unix(1_795_257_466 * S))),
            ("7  1795257466 close(3) = 0", Some(7), Some(Time::Unix(1_795_257_466 * S))),
            ("     0.000084 close(3) = 0", None, Some(Time::SinceLast(84_000))),
            ("1736       0.000334 close(3) = 0", Some(1736), Some(Time::SinceLast(334_000))),
            ("01:51:36.207139 (+     0.000098) close(3) = 0", None, day(1, 51, 36, 207_139_000)),
            ("[  12] [00007f93d649bc47] close(3) = 0", None, None),
            ("7 01:51:36 [????????????????] close(3) = 0", Some(7), day(1, 51, 36, 0)),
        ];
        let mut recent = Recent::default();
        for (line, tid, time) in cases.iter().flat_map(|case| [case, case]) {
            let got = recent.parse(line.as_bytes());
            if line.contains("a> b>") {
                assert_ne!(got.payload, b"close(3) = 0");
                continue;
            }
            assert_eq!((got.tid, got.time), (*tid, *time), "{line}");
            assert_eq!(got.payload, b"close(3) = 0", "{line}");
        }
    }

    #[test]
    fn what_the_line_before_had_is_read_anew() {
        let mut recent = Recent::default();
        for line in [
            "7 1795225896.154805 close(3) = 0",
            "7 1795225896.154806 close(3) = 0",
            "7 1795225896.154806 (+ 0.1) close(3) = 0",
            "7 1795225896.15480 close(3) = 0",
            "7 1795225896.154806789 close(3) = 0",
            "7 1795225897.000000 <... close resumed>) = 0",
            "71795225896.154806 close(3) = 0",
            "7 1795225897.00000x close(3) = 0",
            "7 1795225897.000001",
            "7 01:02:03.000004 close(3) = 0",
            "7 01:02:03.000005 [  12] close(3) = 0",
            "7 01:02:03.000006 close(3) = 0",
            "8 01:02:03.000006 close(3) = 0",
            "01:02:03.000006 close(3) = 0",
            "8  01:02:03.000006 close(3) = 0",
            "8<x> 01:02:03.000006 close(3) = 0",
            "123456789 01:02:03.000006 close(3) = 0",
            "1234567890 01:02:03.000006 close(3) = 0",
            "8 x 01:02:03.000006 close(3) = 0",
            "[pid 8] 01:02:03.000006 close(3) = 0",
            "[pid 8] 01:02:03.000007 close(3) = 0",
        ] {
            assert_eq!(recent.parse(line.as_bytes()), parse(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_prefix_is_left() {
        for line in
            ["[ Process PID=3 runs in 32 bit mode. ]", "12", "1:2 x", "25:00:00 x", "[pid x]"]
        {
            let got = parse(line.as_bytes());
            assert_eq!((got.tid, got.time, got.payload), (None, None, line.as_bytes()), "{line}");
        }
    }
}
