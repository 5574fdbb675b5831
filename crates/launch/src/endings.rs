//! Waits for a descriptor or for a signal that ends programs.

use crate::LaunchError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT, blocked while this exists: each asks for an orderly end.
#[derive(Debug)]
pub struct TerminationSignals {
    signals: SignalFd,
    before: SigSet,
}

impl TerminationSignals {
    /// Blocks the signals from now on.
    ///
    /// # Errors
    /// Those of sigprocmask(2) and signalfd(2).
    pub fn hold() -> Result<TerminationSignals, LaunchError> {
        let start = |what| move |errno| LaunchError::Start { what, errno };
        let mut held = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
            held.add(signal);
        }
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut before))
            .map_err(start("sigprocmask"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&held, flags).map_err(start("signalfd"))?;
        Ok(TerminationSignals { signals, before })
    }

    /// Waits until `other` is readable or `at_most` has passed. Returns whether one of the signals came.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, at_most: Duration) -> bool {
        let mut watched = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        watched.extend(other.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        let _ = poll(&mut watched, PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX));
        matches!(self.signals.read_signal(), Ok(Some(_)))
    }
}

impl Drop for TerminationSignals {
    fn drop(&mut self) {
        // Fails only for an invalid `how`.
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
