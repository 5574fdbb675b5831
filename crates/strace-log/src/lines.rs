//! A stream cut into lines, with one buffer of fixed size.

use memchr::memchr;
use std::io::{self, Read};

/// Most bytes that are read of a line. A longer one (a write of megabytes with `-s`) keeps
/// its start and its end, which has the outcome; the middle is dropped.
pub(crate) const LONGEST: usize = 1 << 20;
/// How much of the end of a longer line is kept.
const TAIL: usize = 4096;
/// Bytes that are read from a stream at once: few enough to stay in the processor's cache.
pub(crate) const CHUNK: usize = 1 << 15;
/// The end of a line is searched without a loop up to here: most lines are shorter.
const NEAR: usize = 192;
/// Bytes after every line in the buffer, so that a line can be read in pieces of fixed size.
pub(crate) const AHEAD: usize = 256;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its bytes, without the end of line.
    pub bytes: &'a [u8],
    /// The same and the bytes stored after it, without meaning: [`AHEAD`] bytes or more, except
    /// for lines that are longer than the buffer.
    pub ahead: &'a [u8],
    /// Whether its middle was dropped.
    pub cut: bool,
    /// Whether the stream ended without an end of line.
    pub last: bool,
}

/// The lines of a stream.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// Where the line is in the buffer.
    line: (usize, usize),
    cut: bool,
    last: bool,
    /// The line so far, while it is longer than the buffer: its start, then its last bytes.
    long: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// `chunk` limits the bytes read at once, for many streams at a time.
    pub(crate) fn new(input: R, chunk: usize) -> Lines<R> {
        Lines {
            input,
            buffer: vec![0; chunk.clamp(64, CHUNK) + AHEAD],
            start: 0,
            end: 0,
            ended: false,
            line: (0, 0),
            cut: false,
            last: false,
            long: Vec::new(),
        }
    }

    /// Goes to the next line; `false` at the end of the stream.
    #[inline]
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        if self.advance_in_buffer() {
            return Ok(true);
        }
        self.advance_and_read()
    }

    /// Goes to the next line, if all of it was read.
    #[inline]
    pub(crate) fn advance_in_buffer(&mut self) -> bool {
        if !self.long.is_empty() {
            return false;
        }
        let unread = &self.buffer[self.start..self.end];
        let near = self.buffer[self.start..].first_chunk().and_then(near);
        let Some(len) = near.or_else(|| memchr(b'\n', unread)) else { return false };
        if len >= unread.len() {
            return false; // an older one, after the bytes that were read
        }
        self.line = (self.start, self.start + len);
        self.start += len + 1;
        self.cut = false;
        true
    }

    #[cold]
    fn advance_and_read(&mut self) -> io::Result<bool> {
        self.long.clear();
        (self.cut, self.last) = (false, false);
        loop {
            let unread = &self.buffer[self.start..self.end];
            let (len, next) = match memchr(b'\n', unread) {
                Some(len) => (len, self.start + len + 1),
                None if self.ended => {
                    self.last = true;
                    (unread.len(), self.end)
                }
                None => {
                    self.cut |= self.fill()?;
                    continue;
                }
            };
            self.line = (self.start, self.start + len);
            self.start = next;
            if !self.long.is_empty() {
                self.cut |= keep(&mut self.long, &self.buffer[self.line.0..self.line.1]);
            }
            return Ok(!self.last || len > 0 || !self.long.is_empty());
        }
    }

    /// The line that [`advance`](Lines::advance) went to.
    #[inline]
    pub(crate) fn line(&self) -> Line<'_> {
        let (bytes, ahead) = if self.long.is_empty() {
            (&self.buffer[self.line.0..self.line.1], &self.buffer[self.line.0..])
        } else {
            (self.long.as_slice(), self.long.as_slice())
        };
        Line { bytes, ahead, cut: self.cut, last: self.last }
    }

    /// Reads more bytes of the current line. Returns whether bytes of it were dropped.
    fn fill(&mut self) -> io::Result<bool> {
        let mut dropped = false;
        let room = self.buffer.len() - AHEAD;
        if self.end - self.start == room {
            dropped = keep(&mut self.long, &self.buffer[..room]);
            self.end = self.start;
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..room]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            return Ok(dropped);
        }
    }
}

/// The first end of line among these bytes.
///
/// Without a branch: where a line ends cannot be predicted, and a wrong prediction costs more than to
/// look at all of them.
#[inline]
fn near(bytes: &[u8; NEAR]) -> Option<usize> {
    static PLACES: [u8; NEAR] = {
        let mut places = [0; NEAR];
        let mut at = 0;
        while at < NEAR {
            places[at] = at as u8;
            at += 1;
        }
        places
    };
    // For each of 16 columns, where its first end of line is; 255 where there is none.
    let mut first = [u8::MAX; 16];
    let (rows, _) = bytes.as_chunks::<16>();
    let (places, _) = PLACES.as_chunks::<16>();
    for (row, places) in rows.iter().zip(places) {
        for (first, (byte, place)) in first.iter_mut().zip(row.iter().zip(places)) {
            let differs = u8::from(*byte != b'\n').wrapping_neg();
            *first = differs.saturating_add(*place).min(*first);
        }
    }
    let first = first.iter().fold(u8::MAX, |least, at| least.min(*at));
    (first < u8::MAX).then_some(usize::from(first))
}

/// Appends to a long line, dropping its middle beyond [`LONGEST`].
fn keep(long: &mut Vec<u8>, more: &[u8]) -> bool {
    let free = LONGEST.saturating_sub(long.len());
    let (head, rest) = more.split_at(free.min(more.len()));
    long.extend_from_slice(head);
    if rest.is_empty() {
        return false;
    }
    long.extend_from_slice(rest);
    let from = long.len() - TAIL;
    long.copy_within(from.., LONGEST - TAIL);
    long.truncate(LONGEST);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces of the sizes of `steps`, in turn.
    struct Pieces<'a>(&'a [u8], &'a [usize], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let step = self.1[self.2 % self.1.len()];
            self.2 += 1;
            let n = step.min(out.len()).min(self.0.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    /// Gives a byte after each signal that interrupts it.
    struct Interrupted<'a>(&'a [u8], bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = out.len().min(self.0.len()).min(1);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn a_signal_ends_no_log() {
        let mut lines = Lines::new(Interrupted(b"one\ntwo\n", false), 64);
        for line in [&b"one"[..], b"two"] {
            assert!(lines.advance().unwrap());
            assert_eq!(lines.line().bytes, line);
        }
        assert!(!lines.advance().unwrap());
    }

    fn all(bytes: &[u8], steps: &[usize], chunk: usize) -> Vec<(Vec<u8>, bool, bool)> {
        let mut lines = Lines::new(Pieces(bytes, steps, 0), chunk);
        let mut out = Vec::new();
        while lines.advance().unwrap() {
            let line = lines.line();
            out.push((line.bytes.to_vec(), line.cut, line.last));
        }
        out
    }

    #[test]
    fn any_pieces_give_the_same_lines() {
        let text = b"one\n\ntwo and more than a buffer of sixty-four bytes, so that it is kept apart\nlast";
        let want = all(text, &[1000], 4096);
        assert_eq!(want.len(), 4);
        assert_eq!(want[3], (b"last".to_vec(), false, true));
        for steps in [&[1][..], &[2, 3], &[64], &[63, 1, 7]] {
            assert_eq!(all(text, steps, 64), want);
        }
    }

    #[test]
    fn the_nearest_end_of_line_is_found() {
        let mut bytes = [b'x'; NEAR];
        assert_eq!(near(&bytes), None);
        for first in (0..NEAR).rev() {
            bytes[first] = b'\n';
            assert_eq!(near(&bytes), Some(first));
        }
        for only in 0..NEAR {
            let mut bytes = [0x0b; NEAR];
            bytes[only] = b'\n';
            assert_eq!(near(&bytes), Some(only));
        }
    }

    #[test]
    fn an_old_end_of_line_behind_what_was_read_ends_no_line() {
        // The second read is shorter than the first, whose rest is still in the buffer.
        let text =
            b"a line of thirty-two bytes......\nb\nc\nd\ne\nf\nand one that comes in two pieces\n";
        let want = all(text, &[1000], 4096);
        assert_eq!(want.len(), 7);
        for first in 32..60 {
            assert_eq!(all(text, &[first, 3, 1], 64), want);
        }
    }

    #[test]
    fn a_line_without_end_keeps_its_start_and_its_end() {
        let mut text = b"write(1, \"".to_vec();
        text.resize(3 * LONGEST, b'x');
        text.extend_from_slice(b"\", 9) = 9\nnext\n");
        let lines = all(&text, &[100_000], CHUNK);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].1);
        assert_eq!(lines[0].0.len(), LONGEST);
        assert!(lines[0].0.starts_with(b"write(1"));
        assert!(lines[0].0.ends_with(b"\", 9) = 9"));
        assert_eq!(lines[1], (b"next".to_vec(), false, false));
    }
}
