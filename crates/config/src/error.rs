//! What is wrong with a file, in one line.

use std::fmt;

/// `needless.toml:3:8: what is wrong: what to do`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    place: String,
    what: String,
}

impl ConfigError {
    /// About a file as a whole.
    pub(crate) fn of_file(name: &str, what: impl Into<String>) -> ConfigError {
        ConfigError::at(name, what)
    }

    /// About a position: `FILE`, `FILE:LINE` or `FILE:LINE:COLUMN`.
    pub(crate) fn at(place: &str, what: impl Into<String>) -> ConfigError {
        let what: String = what.into();
        // The parser's own messages may have several lines.
        let what = what.lines().map(str::trim).filter(|line| !line.is_empty());
        ConfigError { place: place.to_owned(), what: what.collect::<Vec<_>>().join("; ") }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ConfigError {}
