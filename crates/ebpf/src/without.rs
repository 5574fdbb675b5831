//! In place of the backend where it could not be built.

use crate::{Observed, Scope, SessionError, SessionOptions};
use std::time::Duration;

/// Never made: see [`crate::BUILT`].
#[derive(Debug)]
pub enum Session {}

impl Session {
    /// Says that this build has no eBPF.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &Scope, _: &SessionOptions) -> Result<Session, SessionError> {
        Err(SessionError(
            "this needless was built without eBPF; install clang, libelf-dev and zlib1g-dev and build it again"
                .into(),
        ))
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn observe(&mut self, _: u32) -> Result<bool, SessionError> {
        match *self {}
    }

    /// Never called.
    pub fn drain(&mut self, _: Duration) {
        match *self {}
    }

    /// Never called.
    pub fn readable(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        match *self {}
    }

    /// Never called.
    pub fn observes(&self, _: u32) -> bool {
        match *self {}
    }

    /// Never called.
    pub fn live(&self) -> usize {
        match *self {}
    }

    /// Never called.
    pub fn finish(self) -> Observed {
        match self {}
    }
}
