//! Why a log could not be read, each in one line.

use std::fmt;

/// How a log is compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Text.
    Plain,
    /// gzip (RFC 1952), one member or several.
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Plain => "text",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
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
        /// The system's error.
        why: std::io::Error,
    },
    /// A directory was named.
    Directory {
        /// Its name.
        name: String,
    },
    /// The log is empty.
    Empty {
        /// The log's name.
        name: String,
    },
    /// The log is not text.
    Binary {
        /// The log's name.
        name: String,
    },
    /// The compressed data is cut or wrong.
    Damaged {
        /// The log's name.
        name: String,
        /// How it seems to be compressed.
        compression: Compression,
        /// The decoder's error.
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
    /// An example, in the notation of rule pages, is not understood.
    Example {
        /// Which line, and why.
        why: String,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const RECORD: &str = "record one with: strace -f -tt -T -y -v -s 4096 -o FILE COMMAND";
        match self {
            LogError::Unreadable { name, why } => write!(f, "cannot read {name}: {why}"),
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
            LogError::Damaged { name, compression, why }
                if why.kind() == std::io::ErrorKind::UnexpectedEof =>
            {
                write!(
                    f,
                    "{name}: the {compression} data end too early, or something follows them; compress the log again"
                )
            }
            LogError::Damaged { name, compression, why } => {
                write!(
                    f,
                    "{name}: the {compression} data are damaged ({why}); compress the log again"
                )
            }
            LogError::NotStrace { name, first } if first.starts_with('{') => {
                write!(
                    f,
                    "{name}: is JSON, not a strace log; a report of needless is shown by: needless show {name}"
                )
            }
            LogError::NotStrace { name, first } => {
                write!(f, "{name}: is not a strace log, it starts \"{first}\"; {RECORD}")
            }
            LogError::NoFiles => write!(f, "no log was named; {RECORD}"),
            LogError::Example { why } => f.write_str(why),
        }
    }
}

/// Without a source: the text already names the cause.
impl std::error::Error for LogError {}
