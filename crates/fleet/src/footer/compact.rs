//! Thrift's compact protocol, as far as Parquet uses it. Every length is compared with the bytes that are left before it
//! is believed.
//! Source: [the protocol](https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).

use super::Unsound;

/// The protocol's numbers of types.
pub(super) mod wire {
    pub(crate) const TRUE: u8 = 1;
    pub(crate) const FALSE: u8 = 2;
    pub(crate) const BYTE: u8 = 3;
    pub(crate) const I16: u8 = 4;
    pub(crate) const I32: u8 = 5;
    pub(crate) const I64: u8 = 6;
    pub(crate) const DOUBLE: u8 = 7;
    pub(crate) const BINARY: u8 = 8;
    pub(crate) const LIST: u8 = 9;
    pub(crate) const SET: u8 = 10;
    pub(crate) const STRUCT: u8 = 12;
}

/// Bytes, and how far they were read.
pub(super) struct Compact<'a> {
    bytes: &'a [u8],
    /// How many bytes were read.
    pub(super) at: usize,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Compact<'a> {
        Compact { bytes, at: 0 }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn byte(&mut self) -> Result<u8, Unsound> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Unsound> {
        if length > self.left() {
            return Err(Unsound("a text or number is longer than what is left of the structure"));
        }
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    fn unsigned(&mut self) -> Result<u64, Unsound> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Unsound("a number has more than 64 bits"))
    }

    /// A number whose sign is its lowest bit, from `least` to `most`.
    pub(super) fn signed(&mut self, least: i64, most: i64) -> Result<i64, Unsound> {
        let number = self.unsigned()?;
        let number = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
        if number < least || number > most {
            return Err(Unsound("a number is too large for its type"));
        }
        Ok(number)
    }

    pub(super) fn binary(&mut self) -> Result<&'a [u8], Unsound> {
        let length = self.unsigned()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The type and the number of the next field after `last`; `None` at the end of the structure. Writers have the fields
    /// in the order of their numbers, and a reader that takes the last of two would see another one than this does.
    pub(super) fn field(&mut self, last: i16) -> Result<Option<(u8, i16)>, Unsound> {
        let header = self.byte()?;
        let (step, kind) = (header >> 4, header & 0xf);
        if header == 0 {
            return Ok(None);
        }
        let id = match step {
            0 => self.signed(0, i64::from(i16::MAX))? as i16,
            step => last.checked_add(i16::from(step)).ok_or(Unsound("a field has no number"))?,
        };
        if kind == 0 || id <= last {
            return Err(Unsound("the fields of a structure are not in order"));
        }
        Ok(Some((kind, id)))
    }

    /// The type of the elements of a list, and how many there are: no more than bytes are left, since each has at least one.
    pub(super) fn list(&mut self) -> Result<(u8, usize), Unsound> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => usize::try_from(self.unsigned()?).unwrap_or(usize::MAX),
            short => usize::from(short),
        };
        if length > self.left() {
            return Err(Unsound("a list has more elements than bytes"));
        }
        Ok((header & 0xf, length))
    }
}
