//! How far a long question has come, on the line of a terminal that it is asked at.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Says nothing where standard error is no terminal, and nothing in the first second.
#[derive(Debug)]
pub(crate) struct Progress {
    next: Cell<Option<Instant>>,
    written: Cell<bool>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let first =
            std::io::stderr().is_terminal().then(|| Instant::now() + Duration::from_secs(1));
        Progress { next: Cell::new(first), written: Cell::new(false) }
    }

    /// Writes the text that `how_far` makes, five times in a second at most.
    pub(crate) fn say(&self, how_far: impl FnOnce() -> String) {
        if self.next.get().is_none_or(|next| Instant::now() < next) {
            return;
        }
        self.next.set(Some(Instant::now() + Duration::from_millis(200)));
        self.written.set(true);
        // Nothing can be done where the terminal is gone.
        let _ = write!(std::io::stderr(), "\r\x1b[Kneedless-fleet: {}", how_far());
    }

    /// Leaves an empty line to what is printed next.
    pub(crate) fn end(&self) {
        if self.written.replace(false) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
