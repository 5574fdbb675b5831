//! Why a log could not be read, each in one line.

use std::fmt;

/// How a log is stored, told by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text.
    Plain,
    /// gzip (RFC 1952), one member or several.
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Plain => "text",
            Format::Gzip => "gzip",
            Format::Zstd => "zstd",
        })
    }
}

/// Why a log could not be read. Its text is one line: which file, what is wrong, what to do.
#[derive(Debug)]
pub enum LogError {
    /// The file cannot be opened or read.
    Unreadable {
        /// The log's name.
        name: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// A directory was named.
    Directory {
        /// Its name.
        name: String,
    },
    /// Nothing in it.
    Empty {
        /// The log's name.
        name: String,
    },
    /// Bytes that are no text.
    Binary {
        /// The log's name.
        name: String,
    },
    /// Compressed data that is cut or wrong.
    Damaged {
        /// The log's name.
        name: String,
        /// What it was taken for.
        format: Format,
        /// What the decoder said.
        why: std::io::Error,
    },
    /// Text without a single system call.
    NotStrace {
        /// The log's name.
        name: String,
        /// The start of its first line, at most 60 characters.
        first: String,
    },
    /// No file was named.
    NoFiles,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const RECORD: &str = "record one with: strace -f -tt -T -y -o FILE COMMAND";
        match self {
            LogError::Unreadable { name, why } => write!(f, "{name}: cannot be read: {why}"),
            LogError::Directory { name } => {
                write!(
                    f,
                    "{name}: is a directory; name the logs in it (a set of strace -ff: {name}/*)"
                )
            }
            LogError::Empty { name } => write!(f, "{name}: is empty; {RECORD}"),
            LogError::Binary { name } => {
                write!(f, "{name}: is not text, so no strace log; {RECORD}")
            }
            LogError::Damaged { name, format, why }
                if why.kind() == std::io::ErrorKind::UnexpectedEof =>
            {
                write!(f, "{name}: the {format} data end too early; compress the log again")
            }
            LogError::Damaged { name, format, why } => {
                write!(f, "{name}: the {format} data are damaged ({why}); compress the log again")
            }
            LogError::NotStrace { name, first } => {
                write!(f, "{name}: is not a strace log, it starts \"{first}\"; {RECORD}")
            }
            LogError::NoFiles => write!(f, "no log was named; {RECORD}"),
        }
    }
}

/// Without a source: the text names the cause already, and would have it twice.
impl std::error::Error for LogError {}
