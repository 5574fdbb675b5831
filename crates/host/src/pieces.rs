//! A file that is read in large pieces, however small the reads are: `object::ReadCache` asks for one name of a symbol
//! table at a time, with two system calls.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Bytes of a piece.
const PIECE: usize = 16 * 1024;
/// Most pieces kept.
const MOST: usize = 256;

/// A file of which each piece is read once.
#[derive(Debug)]
pub struct Pieces<F> {
    file: F,
    at: u64,
    pieces: HashMap<u64, Vec<u8>>,
}

impl<F: Borrow<File>> Pieces<F> {
    /// The whole of `file`, whatever its position is.
    pub fn of(file: F) -> Pieces<F> {
        Pieces { file, at: 0, pieces: HashMap::new() }
    }
}

impl<F: Borrow<File>> Read for Pieces<F> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let file = self.file.borrow();
        let read = if into.len() >= PIECE {
            file.read_at(into, self.at)?
        } else {
            let number = self.at / PIECE as u64;
            if !self.pieces.contains_key(&number) {
                let mut piece = vec![0; PIECE];
                let read = file.read_at(&mut piece, number * PIECE as u64)?;
                piece.truncate(read);
                if self.pieces.len() >= MOST {
                    self.pieces.clear();
                }
                self.pieces.insert(number, piece);
            }
            let part = self.pieces[&number].get((self.at % PIECE as u64) as usize..);
            let part = part.unwrap_or_default();
            let length = part.len().min(into.len());
            into[..length].copy_from_slice(&part[..length]);
            length
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl<F: Borrow<File>> Seek for Pieces<F> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let (from, distance) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(distance) => (self.at, distance),
            SeekFrom::End(distance) => (self.file.borrow().metadata()?.len(), distance),
        };
        let before_the_start = std::io::ErrorKind::InvalidInput;
        self.at = from.checked_add_signed(distance).ok_or(before_the_start)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_file_is_what_is_there() {
        let path = std::env::current_exe().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let file = File::open(&path).unwrap();
        let mut pieces = Pieces::of(&file);
        let length = whole.len();
        assert_eq!(pieces.seek(SeekFrom::End(0)).unwrap(), length as u64);
        assert_eq!(pieces.read(&mut [0; 8]).unwrap(), 0);
        for (at, size) in [
            (0, 64),
            (PIECE - 3, 8),
            (5, 1),
            (2 * PIECE - 1, PIECE + 2),
            (PIECE, 3 * PIECE),
            (length - 5, 5),
        ] {
            pieces.seek(SeekFrom::Start(at as u64)).unwrap();
            let mut bytes = vec![0; size];
            pieces.read_exact(&mut bytes).unwrap();
            assert!(bytes == whole[at..at + size], "{size} bytes at {at}");
        }
        assert!(pieces.read_exact(&mut [0; 1]).is_err(), "it is at the end");
    }
}
