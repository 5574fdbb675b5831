//! What the end of a Parquet file says, looked at before the `parquet` crate sees it. That crate believes numbers in a file:
//! a hundred bytes keep it busy for minutes, or have it ask for more memory than there is, which ends the process. Here
//! every number is compared with the length of the file, and with what an agent writes.
//! Source: [Parquet's file format](https://parquet.apache.org/docs/file-format/).

mod compact;
mod grammar;
mod metadata;
mod pages;
mod walk;

use crate::file::SCHEMA_KEY;
use compact::Compact;
use metadata::{Chunk, Metadata};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The first and the last bytes of such a file.
const MARK: &[u8] = b"PAR1";
/// At the end are the footer's length and the mark.
const END: u64 = 8;
/// Bytes of a footer. That of a window has some thousand, that of a part some million: the names of its windows.
const LARGEST: u64 = 16 << 20;
/// Rows for each byte of a file: parts have one for ten bytes.
const ROWS_FOR_A_BYTE: u64 = 16;

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsound(&'static str);

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unsound {}

/// What the footer of a file says. All of it fits the file: the file is whole, its columns are within it and are a flat
/// table, and no number asks a reader for more time or memory than the file's length bounds.
#[derive(Clone, Debug)]
pub struct Footer {
    /// The version of the columns, as [`FILE_SCHEMA`](crate::FILE_SCHEMA); `None`: no agent wrote the file.
    pub schema: Option<String>,
    /// Rows of all groups.
    pub rows: u64,
    chunks: Vec<Chunk>,
    file_bytes: u64,
}

impl Footer {
    /// Looks at the end of a file. Takes as much time as the footer is long (16 MiB at most), and as much memory as the footer
    /// and 10 MiB.
    ///
    /// # Errors
    /// When the file is not a whole Parquet file, cannot be read, or its footer does not fit it.
    pub fn of(file: &File) -> Result<Footer, Unsound> {
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Unsound("not a whole Parquet file"),
            _ => Unsound("cannot be read"),
        };
        let file_bytes = file.metadata().map_err(unreadable)?.len();
        let mut end = [0; END as usize];
        let before = file_bytes.checked_sub(END).ok_or(Unsound("not a whole Parquet file"))?;
        file.read_exact_at(&mut end, before).map_err(unreadable)?;
        let (length, mark) = end.split_at(4);
        let length = length.iter().rev().fold(0, |length, byte| length << 8 | u64::from(*byte));
        // The mark is at the beginning, too.
        let start = before.checked_sub(length).filter(|start| *start >= MARK.len() as u64);
        let (true, Some(start)) = (mark == MARK, start) else {
            return Err(Unsound("not a whole Parquet file"));
        };
        if length > LARGEST {
            return Err(Unsound("its footer is too large"));
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, start).map_err(unreadable)?;
        let mut bytes = Compact::new(&bytes);
        let mut metadata = Metadata::new(start);
        walk::walk(&mut bytes, &grammar::FILE_META, &mut metadata)?;
        if bytes.left() > 0 {
            return Err(Unsound("its footer is shorter than the end of the file says"));
        }
        let (schema, rows, chunks) = metadata.finish()?;
        if rows > file_bytes.saturating_mul(ROWS_FOR_A_BYTE) {
            return Err(Unsound("it says that it has more rows than fit into it"));
        }
        Ok(Footer { schema, rows, chunks, file_bytes })
    }

    /// Looks at what is in front of each page of the file, which says how long the page is when it is decompressed. Takes
    /// as much time as the file is long.
    ///
    /// # Errors
    /// When pages cannot be read, do not fit their column, are of a kind that no agent writes, or would be too large.
    pub fn check_pages(&self, file: &File) -> Result<(), Unsound> {
        pages::check(file, &self.chunks, self.file_bytes)
    }
}
