//! Where a log comes from: plain, gzip or zstd, told by the first bytes.

use crate::error::{Format, LogError};
use std::io::{self, Chain, Cursor, Read};

/// A log's bytes, decoded.
pub(crate) struct Input<'a> {
    reader: Box<dyn Read + 'a>,
    format: Format,
    name: String,
}

impl<'a> Input<'a> {
    /// Looks at the first bytes of `input`, which messages call `name`.
    pub(crate) fn new(mut input: impl Read + 'a, name: &str) -> Result<Input<'a>, LogError> {
        let name = name.to_owned();
        let mut magic = Vec::with_capacity(4);
        if let Err(why) = input.by_ref().take(4).read_to_end(&mut magic) {
            return Err(unreadable(name, why));
        }
        let format = match magic.as_slice() {
            [] => return Err(LogError::Empty { name }),
            [0x1f, 0x8b, ..] => Format::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Format::Zstd,
            _ => Format::Plain,
        };
        let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(magic).chain(input);
        let reader: Box<dyn Read + 'a> = match format {
            Format::Plain => Box::new(whole),
            Format::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::new(whole)))
            }
            Format::Zstd => match zstd::stream::read::Decoder::new(whole) {
                Ok(decoder) => Box::new(decoder),
                Err(why) => return Err(LogError::Damaged { name, format, why }),
            },
        };
        Ok(Input { reader, format, name })
    }

    /// The error of a failed read.
    pub(crate) fn failed(name: &str, format: Format, why: io::Error) -> LogError {
        match format {
            Format::Plain => unreadable(name.to_owned(), why),
            _ => LogError::Damaged { name: name.to_owned(), format, why },
        }
    }

    /// The bytes, their format and the name.
    pub(crate) fn parts(self) -> (Box<dyn Read + 'a>, Format, String) {
        (self.reader, self.format, self.name)
    }
}

fn unreadable(name: String, why: io::Error) -> LogError {
    match why.kind() {
        io::ErrorKind::IsADirectory => LogError::Directory { name },
        _ => LogError::Unreadable { name, why },
    }
}
