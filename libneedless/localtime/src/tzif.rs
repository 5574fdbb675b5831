//! Reads the bytes of a TZif file (RFC 8536, RFC 9636, `tzfile(5)`), versions 1 to 4, and refuses what glibc
//! 2.36 refuses.

use std::fmt;

/// Why glibc would not accept the bytes as a TZif file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// They do not begin with `TZif`, or the 64-bit part does not.
    Magic,
    /// They end before the tables that the header counts.
    Short,
    /// There is no local time type, or more indicators than types.
    Count,
    /// A transition or a type refers to something outside its table, or a flag is neither 0 nor 1.
    Index,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Magic => "not a TZif file: it does not begin with TZif",
            Malformed::Short => "TZif file cut short: it ends within its tables",
            Malformed::Count => "TZif file with no local time type or more indicators than types",
            Malformed::Index => "TZif file with an index outside its table",
        })
    }
}

impl std::error::Error for Malformed {}

/// A local time type record (RFC 9636 section 3.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeRecord {
    /// Seconds east of UTC.
    pub(crate) offset: i32,
    pub(crate) isdst: bool,
    /// Where its abbreviation begins in [`Tables::names`].
    pub(crate) name: u8,
}

/// The tables that glibc uses: the 64-bit ones unless the file has none.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) times: Vec<i64>,
    /// For each of `times` the type in force from then on.
    pub(crate) kinds: Vec<u8>,
    pub(crate) types: Vec<TypeRecord>,
    pub(crate) names: Vec<u8>,
    /// Whether it has leap seconds.
    pub(crate) has_leaps: bool,
    /// The TZ string for the time after the last transition.
    pub(crate) footer: Option<Vec<u8>>,
}

struct Header {
    has_64bit_part: bool,
    isut: usize,
    isstd: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Tables {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Tables, Malformed> {
        let mut input = Input(bytes);
        let mut header = input.header()?;
        let is_64bit = header.has_64bit_part;
        if is_64bit {
            input.take(header.size(4))?;
            header = input.header()?;
        }
        input.tables(&header, if is_64bit { 8 } else { 4 })
    }
}

impl Header {
    /// The size of the tables in bytes; with counts of 32 bits this cannot overflow.
    fn size(&self, width: usize) -> u64 {
        let of = |count: usize, width: usize| count as u64 * width as u64;
        of(self.times, width + 1)
            + of(self.types, 6)
            + of(self.chars, 1)
            + of(self.leaps, width + 4)
            + of(self.isstd, 1)
            + of(self.isut, 1)
    }
}

struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take(&mut self, count: u64) -> Result<&'b [u8], Malformed> {
        let count = usize::try_from(count).map_err(|_| Malformed::Short)?;
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn items(&mut self, count: usize, width: usize) -> Result<&'b [u8], Malformed> {
        self.take(count as u64 * width as u64)
    }

    fn header(&mut self) -> Result<Header, Malformed> {
        let head = self.take(44)?;
        if !head.starts_with(b"TZif") {
            return Err(Malformed::Magic);
        }
        let count = |at: usize| int(&head[at..at + 4]) as u32 as usize;
        let header = Header {
            has_64bit_part: head[4] != 0,
            isut: count(20),
            isstd: count(24),
            leaps: count(28),
            times: count(32),
            types: count(36),
            chars: count(40),
        };
        if header.isstd > header.types || header.isut > header.types {
            return Err(Malformed::Count);
        }
        Ok(header)
    }

    fn tables(&mut self, header: &Header, width: usize) -> Result<Tables, Malformed> {
        if header.types == 0 {
            return Err(Malformed::Count);
        }
        let times = self.items(header.times, width)?.chunks_exact(width).map(int).collect();
        let kinds = self.items(header.times, 1)?.to_vec();
        if kinds.iter().any(|&kind| usize::from(kind) >= header.types) {
            return Err(Malformed::Index);
        }
        let raw_types = self.items(header.types, 6)?;
        let names = self.items(header.chars, 1)?.to_vec();
        // Leap seconds and the two kinds of indicators, which change no local time type.
        self.items(header.leaps, width + 4)?;
        self.items(header.isstd + header.isut, 1)?;
        let mut types = Vec::with_capacity(header.types);
        for raw in raw_types.chunks_exact(6) {
            if raw[4] > 1 || usize::from(raw[5]) > header.chars {
                return Err(Malformed::Index);
            }
            types.push(TypeRecord {
                offset: int(&raw[..4]) as i32,
                isdst: raw[4] == 1,
                name: raw[5],
            });
        }
        let has_leaps = header.leaps > 0;
        let footer = if width == 8 { self.footer()? } else { None };
        Ok(Tables { times, kinds, types, names, has_leaps, footer })
    }

    /// What follows a newline, up to a NUL or up to the last byte, whatever that is. Two bytes at least must be
    /// there.
    fn footer(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        let [first, text @ .., _] = self.0 else { return Err(Malformed::Short) };
        let text = text.split(|&b| b == 0).next().unwrap_or_default();
        Ok((*first == b'\n' && !text.is_empty()).then(|| text.to_vec()))
    }
}

/// A signed big-endian number of at most eight bytes.
fn int(bytes: &[u8]) -> i64 {
    let sign = bytes.first().map_or(0, |&b| i64::from(b as i8) >> 7);
    bytes.iter().fold(sign, |value, &byte| (value << 8) | i64::from(byte))
}
