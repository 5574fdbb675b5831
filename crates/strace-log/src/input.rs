//! The bytes of a log: plain, gzip or zstd, recognized by the first bytes.

use crate::error::{Compression, LogError};
use std::io::{self, Chain, Cursor, Read};

/// A log's bytes, decoded.
pub(crate) struct Input<'a> {
    reader: Box<dyn Read + 'a>,
    compression: Compression,
    name: String,
}

impl<'a> Input<'a> {
    /// Looks at the first bytes of `input`; messages call it `name`.
    pub(crate) fn new(mut input: impl Read + 'a, name: &str) -> Result<Input<'a>, LogError> {
        let name = name.to_owned();
        let mut magic = Vec::with_capacity(4);
        if let Err(why) = input.by_ref().take(4).read_to_end(&mut magic) {
            return Err(unreadable(name, why));
        }
        let compression = match magic.as_slice() {
            [] => return Err(LogError::Empty { name }),
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
            _ => Compression::Plain,
        };
        let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(magic).chain(input);
        let reader: Box<dyn Read + 'a> = match compression {
            Compression::Plain => Box::new(whole),
            Compression::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::new(whole)))
            }
            Compression::Zstd => match zstd::stream::read::Decoder::new(whole) {
                Ok(decoder) => Box::new(decoder),
                Err(why) => return Err(LogError::Damaged { name, compression, why }),
            },
        };
        Ok(Input { reader, compression, name })
    }

    /// The error of a failed read.
    pub(crate) fn failed(name: &str, compression: Compression, why: io::Error) -> LogError {
        match compression {
            Compression::Plain => unreadable(name.to_owned(), why),
            _ => LogError::Damaged { name: name.to_owned(), compression, why },
        }
    }

    /// The bytes, their compression and the name.
    pub(crate) fn parts(self) -> (Box<dyn Read + 'a>, Compression, String) {
        (self.reader, self.compression, self.name)
    }
}

fn unreadable(name: String, why: io::Error) -> LogError {
    match why.kind() {
        io::ErrorKind::IsADirectory => LogError::Directory { name },
        _ => LogError::Unreadable { name, why },
    }
}
