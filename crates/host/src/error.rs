//! The crate's one error: a sentence for the user. No caller distinguishes between causes.

use std::fmt;

/// Why a fact could not be found out, and what to do, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError(String);

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HostError {}

impl From<String> for HostError {
    fn from(sentence: String) -> HostError {
        HostError(sentence)
    }
}

impl From<&str> for HostError {
    fn from(sentence: &str) -> HostError {
        HostError(sentence.to_owned())
    }
}

impl From<HostError> for String {
    fn from(error: HostError) -> String {
        error.0
    }
}
