//! Fingerprints of what a command writes to its standard output; the output itself is never kept.

use regex::bytes::Regex;
use std::io::{PipeReader, Read};

/// A longer line is split; the ignored parts of each piece are left out.
const LONGEST_LINE: usize = 1 << 20;

/// How much was written, and what, as a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Bytes, with those that are ignored: for a message only.
    pub(crate) bytes: u64,
    /// FNV-1a of 128 bits over the bytes that are not ignored.
    pub(crate) print: u128,
}

impl Written {
    /// Whether both are the same, except for what is ignored.
    pub(crate) fn same(&self, other: &Written) -> bool {
        self.print == other.print
    }
}

struct Print(u128);

impl Print {
    fn new() -> Print {
        Print(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, bytes: &[u8]) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }
}

/// Reads to the end. Parts of lines that match `ignored` are left out.
pub(crate) fn read(mut pipe: PipeReader, ignored: Option<&Regex>) -> Written {
    let mut written = Written { bytes: 0, print: 0 };
    let mut print = Print::new();
    let mut buffer = vec![0; 1 << 16];
    let mut line = Vec::new();
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        written.bytes += read as u64;
        let Some(ignored) = ignored else {
            print.add(&buffer[..read]);
            continue;
        };
        for part in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") || line.len() > LONGEST_LINE {
                keep(&mut print, &line, ignored);
                line.clear();
            }
        }
    }
    if let Some(ignored) = ignored {
        keep(&mut print, &line, ignored);
    }
    written.print = print.0;
    written
}

fn keep(print: &mut Print, line: &[u8], ignored: &Regex) {
    let (text, end) = match line.strip_suffix(b"\n") {
        Some(text) => (text, &b"\n"[..]),
        None => (line, &b""[..]),
    };
    let mut from = 0;
    for found in ignored.find_iter(text) {
        print.add(&text[from..found.start()]);
        from = found.end();
    }
    print.add(&text[from..]);
    print.add(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn written(text: &[u8], ignored: Option<&str>) -> Written {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let ignored = ignored.map(|regex| Regex::new(regex).unwrap());
        std::thread::scope(|scope| {
            let read = scope.spawn(|| read(reader, ignored.as_ref()));
            writer.write_all(text).unwrap();
            drop(writer);
            read.join().unwrap()
        })
    }

    #[test]
    fn the_fingerprint_is_fnv_1a() {
        // The offset basis, and the published value of "a".
        assert_eq!(written(b"", None).print, 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(written(b"a", None).print, 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn what_is_ignored_does_not_count() {
        let time = Some(r"\d\d:\d\d");
        let same = |a: &[u8], b: &[u8]| written(a, time).same(&written(b, time));
        assert!(same(b"at 12:30\nend", b"at 23:59\nend"));
        assert!(!same(b"at 12:30\nend", b"at 12:30\nEnd"));
        assert!(!same(b"at 12:30\n", b"at \n\n"));
        assert!(same(b"12:30", b"12:31"), "a line without its end");
    }

    #[test]
    fn lines_of_any_length_are_read() {
        let long = vec![b'x'; 3 * LONGEST_LINE];
        let with = [&long[..], b" 12:30\n"].concat();
        let other = [&long[..], b" 12:31\n"].concat();
        let time = Some(r"\d\d:\d\d$");
        assert!(written(&with, time).same(&written(&other, time)));
        assert!(!written(&with, time).same(&written(&long, time)));
        assert_eq!(written(&long, None).bytes, long.len() as u64);
    }
}
