//! What is in front of the pages of a column.

use super::compact::Compact;
use super::metadata::Chunk;
use super::walk::{Value, Visitor, walk};
use super::{Unsound, grammar};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of a page when it is decompressed. Writers end a page or a dictionary with the value that makes it 1 MiB.
const LARGEST_PAGE: i64 = 8 << 20;
/// Bytes of all pages when they are decompressed: as many, and for each byte of the file as many again. A part has four.
const ALL_PAGES: u64 = 64 << 20;
const FOR_A_BYTE: u64 = 100;
/// Bytes that the smallest value of a dictionary takes.
const SMALLEST_VALUE: i64 = 4;
/// Bytes in front of a page: there are some twenty.
const HEADER: usize = 4096;

/// Parquet's numbers.
mod number {
    pub(super) const UNCOMPRESSED: i64 = 0;
    pub(super) const SNAPPY: i64 = 1;
    pub(super) const ZSTD: i64 = 6;
    pub(super) const DATA_PAGE: i64 = 0;
    pub(super) const DICTIONARY_PAGE: i64 = 2;
    pub(super) const PLAIN: i64 = 0;
    pub(super) const PLAIN_DICTIONARY: i64 = 2;
    pub(super) const RLE: i64 = 3;
    pub(super) const RLE_DICTIONARY: i64 = 8;
}

/// Checks the pages of all columns.
pub(super) fn check(file: &File, chunks: &[Chunk], file_bytes: u64) -> Result<(), Unsound> {
    let mut headers = Headers { file, bytes: Vec::new(), at: 0 };
    let mut left = file_bytes.saturating_mul(FOR_A_BYTE).saturating_add(ALL_PAGES);
    for chunk in chunks {
        // The footer was looked at: neither is below zero, and their sum is within the file.
        let (mut at, end) = (chunk.start() as u64, (chunk.start() + chunk.bytes) as u64);
        let mut values = 0;
        let mut is_first = true;
        while at < end {
            let (page, header) = headers.read(at, end)?;
            at += header as u64;
            values = page.check(chunk, is_first, end - at)?.saturating_add(values);
            // What was checked is not below zero.
            at += page.stored as u64;
            left = left
                .checked_sub(page.plain as u64)
                .ok_or(Unsound("its pages would be too large together"))?;
            is_first = false;
        }
        if values != chunk.values {
            return Err(Unsound("a column has other than its number of values"));
        }
    }
    Ok(())
}

/// What is in front of a page. Numbers that were not there are -1.
struct Page {
    kind: i64,
    /// Bytes when it is decompressed.
    plain: i64,
    /// Bytes in the file.
    stored: i64,
    values: i64,
    encoding: i64,
    levels: i64,
}

impl Page {
    /// Returns how many values of the column it has.
    fn check(&self, chunk: &Chunk, is_first: bool, left: u64) -> Result<i64, Unsound> {
        if u64::try_from(self.stored).map_or(true, |stored| stored > left) {
            return Err(Unsound("a page is not within its column"));
        }
        if self.plain < 0 || self.plain > LARGEST_PAGE {
            return Err(Unsound("a page would be too large"));
        }
        match chunk.codec {
            number::SNAPPY | number::ZSTD => {}
            number::UNCOMPRESSED if self.plain == self.stored => {}
            number::UNCOMPRESSED => return Err(Unsound("a page has two lengths")),
            _ => return Err(Unsound("a column is compressed in a way that agents do not use")),
        }
        match self.kind {
            number::DATA_PAGE => {
                use number::{PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY};
                // Other encodings let a few bytes stand for long texts.
                if !matches!(self.encoding, PLAIN | PLAIN_DICTIONARY | RLE_DICTIONARY)
                    || self.levels != RLE
                {
                    return Err(Unsound("a page is encoded in a way that agents do not use"));
                }
                if !(0..=chunk.values).contains(&self.values) {
                    return Err(Unsound("a page has more values than its column"));
                }
                Ok(self.values)
            }
            number::DICTIONARY_PAGE if is_first => {
                if !(0..=self.plain / SMALLEST_VALUE).contains(&self.values) {
                    return Err(Unsound("a dictionary has more values than fit into it"));
                }
                Ok(0)
            }
            _ => Err(Unsound("a page is of a kind that agents do not write")),
        }
    }
}

/// The paths are of the numbers in `grammar.rs`.
impl<'a> Visitor<'a> for Page {
    fn see(&mut self, path: &[i16], value: Value<'a>) -> Result<(), Unsound> {
        let Value::Number(number) = value else { return Ok(()) };
        match path {
            [1] => self.kind = number,
            [2] => self.plain = number,
            [3] => self.stored = number,
            [5 | 7, 1] => self.values = number,
            [5 | 7, 2] => self.encoding = number,
            [5, 3] => self.levels = number,
            _ => {}
        }
        Ok(())
    }
}

/// Reads headers, of small pages several at once.
struct Headers<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    /// Where in the file these are.
    at: u64,
}

impl Headers<'_> {
    /// The header at a place, and how long it is.
    fn read(&mut self, at: u64, end: u64) -> Result<(Page, usize), Unsound> {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        let skip = at.checked_sub(self.at).and_then(|skip| usize::try_from(skip).ok());
        if let Some(there) = skip.and_then(|skip| self.bytes.get(skip..))
            && let Ok(read) = header(&there[..there.len().min(left)])
        {
            return Ok(read);
        }
        self.bytes.resize(HEADER.min(left), 0);
        self.at = at;
        self.file.read_exact_at(&mut self.bytes, at).map_err(|_| Unsound("cannot be read"))?;
        header(&self.bytes)
    }
}

fn header(bytes: &[u8]) -> Result<(Page, usize), Unsound> {
    let mut page = Page { kind: -1, plain: -1, stored: -1, values: -1, encoding: -1, levels: -1 };
    let mut bytes = Compact::new(bytes);
    walk(&mut bytes, &grammar::PAGE_HEADER, &mut page)?;
    Ok((page, bytes.at))
}
