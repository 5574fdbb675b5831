//! How the most common calls end, by the last bytes of their line.

use crate::payload::{self, Returned};
use crate::text::{digits_of_word, rfind_in_16, trim_end};
use needless_model::Errno;

/// Longer texts are not remembered.
const LONGEST: usize = 62;
const SLOTS: usize = 128;

/// The text of what a call returned that ends in a parenthesis, with its equals sign:
/// `= -1 ENOENT (No such file or directory)`, `= 0x8000 (flags O_RDONLY|O_LARGEFILE)`.
#[derive(Clone, Copy)]
struct Tail {
    outcome: Result<(), Errno>,
    len: u8,
    bytes: [u8; LONGEST],
}

/// Such texts that were seen lately. A log has few.
pub(crate) struct Tails {
    slots: Box<[Option<Tail>; SLOTS]>,
}

impl Default for Tails {
    fn default() -> Tails {
        Tails { slots: Box::new([None; SLOTS]) }
    }
}

impl Tails {
    /// The end of a call and its outcome, if `rest`, the line after the opening
    /// parenthesis, ends in `) = 0`, `) = 0x7f`, or `) ` and a text that was
    /// [learned](Tails::learn), with or without a time: the same as [`payload::ending`] and
    /// [`payload::outcome`] return. `None`: call these.
    #[inline(always)]
    pub(crate) fn ending<'a>(&self, rest: &'a [u8]) -> Option<(Returned<'a>, Result<(), Errno>)> {
        let (body, kernel_ns) = timed(rest)?;
        self.ending_of(body, body, kernel_ns)
    }

    /// As [`ending`](Tails::ending), with the result of [`timed`]; `line` is the line up to there, or
    /// its last part.
    #[inline(always)]
    pub(crate) fn ending_of<'a>(
        &self,
        line: &[u8],
        body: &'a [u8],
        kernel_ns: Option<u64>,
    ) -> Option<(Returned<'a>, Result<(), Errno>)> {
        let (equals, outcome) = match body.last()? {
            b')' => {
                let tail = self.slots[slot(body)?].as_ref()?;
                let bytes = &tail.bytes[..usize::from(tail.len)];
                (body.strip_suffix(bytes)?.len(), tail.outcome)
            }
            b'0'..=b'9' | b'a'..=b'f' => {
                // In the line, because it has 16 bytes even if the body has fewer.
                let behind = line.len() - rfind_in_16(b'=', line)?;
                let equals = body.len().checked_sub(behind)?;
                match body.get(equals + 1..)? {
                    [b' ', b'0'..=b'9', ..] => (equals, Ok(())),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let ret = body.get(equals + 2..)?;
        // strace aligns the equals signs of short lines.
        let closed = match &body[..equals] {
            [closed @ .., b' '] if closed.ends_with(b")") => closed,
            [spaces @ .., b' '] => trim_end(spaces),
            _ => return None,
        };
        let [args @ .., b')'] = closed else { return None };
        // `<unfinished ...>) = ?`, or a blank to trim. One test for nearly all lines.
        if matches!(args, [.., b'>' | b' '])
            && !matches!(args, [.., b'!'..=b'-' | b'/'..=b'~', b'>'])
        {
            return None;
        }
        Some((Returned { text: body, args, ret, kernel_ns }, outcome))
    }

    /// Remembers the end of a call: `ret` as [`payload::ending`] returned it.
    pub(crate) fn learn(&mut self, ret: &[u8]) {
        let len = ret.len() + 2;
        let (Some(outcome), Some(b')')) = (payload::outcome(ret), ret.last()) else { return };
        if len > LONGEST {
            return;
        }
        let mut bytes = [0; LONGEST];
        bytes[..2].copy_from_slice(b"= ");
        bytes[2..len].copy_from_slice(ret);
        if let Some(at) = slot(&bytes[..len]) {
            self.slots[at] = Some(Tail { outcome, len: len as u8, bytes });
        }
    }
}

/// The place of a text that `body` ends with.
#[inline]
fn slot(body: &[u8]) -> Option<usize> {
    let word = u64::from_le_bytes(*body.last_chunk()?);
    // The upper bits depend on all bytes.
    Some((word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % SLOTS)
}

/// A line after the opening parenthesis without the time at its end, and that time in
/// nanoseconds. `None` if it ends in a bracket that is not a time of less than a second.
#[inline]
pub(crate) fn timed(rest: &[u8]) -> Option<(&[u8], Option<u64>)> {
    match rest.last()? {
        b'>' => {
            let micros = micros(rest)?;
            Some((&rest[..rest.len() - 11], Some(u64::from(micros) * 1000)))
        }
        _ => Some((rest, None)),
    }
}

/// How many digits a call's text ends with as `= 3` or `= 12`. Any number is a success, and says
/// nothing else about a call with a path: it is the new descriptor. Without a branch: whether a
/// call succeeds cannot be predicted.
#[inline]
pub(crate) fn digits_of_descriptor(text: &[u8]) -> usize {
    let Some(&[a, b, c, d]) = text.last_chunk() else { return 0 };
    let one = (b == b'=') & (c == b' ') & d.is_ascii_digit();
    let two = (a == b'=') & (b == b' ') & matches!(c, b'1'..=b'9') & d.is_ascii_digit();
    usize::from(one) + 2 * usize::from(two)
}

/// The digits of ` <0.000012>`, a time of `-T` of less than a second, at the end of `s`.
#[inline]
fn micros(s: &[u8]) -> Option<u32> {
    let [b' ', b'<', b'0', b'.', digits @ .., b'>'] = s.last_chunk::<11>()? else { return None };
    let mut word = [0; 8];
    word[..6].copy_from_slice(digits);
    digits_of_word(u64::from_le_bytes(word), 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Ending;

    #[test]
    fn a_known_end_equals_what_the_whole_line_says() {
        let rets = [
            "0",
            "3",
            "0x7f12",
            "-1 ENOENT (No such file or directory)",
            "-1 ENOENT (No such file or directory) (INJECTED)",
            "-1 EINVAL (Invalid argument)",
            "0x8000 (flags O_RDONLY|O_LARGEFILE)",
            "1 ([{fd=3, revents=POLLIN}])",
            "0 (Timeout)",
            "1 (a = b) = 2)",
            "-1 (errno 123)",
            "-1",
            "?",
            "? ERESTARTSYS (To be restarted)",
            "3</a) = 4>",
            "4660 (I am a text of more than sixty-two bytes, which is too long to keep)",
        ];
        let args =
            ["", "3", "\"a) = 3\", 1", "3</x>", "\"x\">", " ", " <unfinished ...>", "a = 0x12"];
        let gaps = [") = ", ")      = ", ")= ", " = ", ") =", ")  =  "];
        let times =
            ["", " <0.000012>", " <1.000012>", "  <0.000012>", " <0.00001x>", " ", "\" <0.5>"];
        let (mut known, mut asked) = (0, 0);
        let mut tails = Tails::default();
        for _ in 0..2 {
            for ret in rets {
                for line in args.iter().flat_map(|arg| {
                    let one = move |gap| times.map(|time| format!("{arg}{gap}{ret}{time}"));
                    gaps.iter().flat_map(one)
                }) {
                    let whole = payload::ending(line.as_bytes());
                    match (tails.ending(line.as_bytes()), whole) {
                        (Some((end, outcome)), Ending::Returned(whole)) => {
                            assert_eq!(payload::outcome(whole.ret), Some(outcome), "{line}");
                            assert_eq!(end, whole, "{line}");
                            known += 1;
                        }
                        (Some(end), other) => panic!("{line}: {end:?}, {other:?}"),
                        (None, Ending::Returned(whole)) => {
                            tails.learn(whole.ret);
                            asked += 1;
                        }
                        (None, _) => {}
                    }
                }
            }
        }
        assert!(known > 300 && asked > 300, "{known} {asked}");
        let end = tails.ending(b"\"/x\") = -1 ENOENT (No such file or directory) <0.000003>");
        assert_eq!(end.unwrap().1, Err(Errno::ENOENT));
    }
}
