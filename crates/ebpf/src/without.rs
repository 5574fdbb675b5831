//! In place of session.rs, where the backend could not be built.
#![allow(missing_docs, clippy::missing_errors_doc, reason = "only `start` can be called")]

use crate::{Observed, Scope, SessionError, SessionOptions};
use needless_model::WatchList;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Never made.
#[derive(Debug)]
pub enum Session {}

impl Session {
    pub fn start(_: &Scope, _: &SessionOptions) -> Result<Session, SessionError> {
        Err(SessionError::NotBuilt)
    }

    pub fn observe(&mut self, _: u32) -> Result<bool, SessionError> {
        match *self {}
    }

    pub fn drain(&mut self, _: Duration) {
        match *self {}
    }

    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        match *self {}
    }

    pub fn observes(&self, _: u32) -> bool {
        match *self {}
    }

    pub fn live(&self) -> usize {
        match *self {}
    }

    pub fn window(&mut self) -> Observed {
        match *self {}
    }

    pub fn pause(&mut self) -> Observed {
        match *self {}
    }

    pub fn resume(&mut self) -> Result<(), SessionError> {
        match *self {}
    }

    pub fn watch(&mut self, _: WatchList) {
        match *self {}
    }

    pub fn run_time(&self) -> Duration {
        match *self {}
    }

    pub fn finish(self) -> Observed {
        match self {}
    }
}
