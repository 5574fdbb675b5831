//! The crate's one error: a sentence for the user. No caller distinguishes between causes.

use needless_host::HostError;
use std::fmt;

/// Why something cannot be done, and what to do by hand, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError(String);

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnvironmentError {}

impl From<String> for EnvironmentError {
    fn from(sentence: String) -> EnvironmentError {
        EnvironmentError(sentence)
    }
}

impl From<&str> for EnvironmentError {
    fn from(sentence: &str) -> EnvironmentError {
        EnvironmentError(sentence.to_owned())
    }
}

impl From<HostError> for EnvironmentError {
    fn from(error: HostError) -> EnvironmentError {
        EnvironmentError(error.into())
    }
}
