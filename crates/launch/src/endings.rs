//! Waits for a descriptor or for a signal that ends or stops programs.

use crate::LaunchError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// An orderly end: SIGINT, SIGTERM, SIGQUIT.
    End,
    /// SIGHUP: an orderly end, as the terminal is gone; of a service, to read its configuration again.
    HangUp,
    /// A stop from the terminal: SIGTSTP. The process has to stop itself, with SIGSTOP.
    Stop,
    /// Nothing: the process was stopped, and goes on: SIGCONT.
    Resumed,
}

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
        Self::hold_these(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT])
    }

    /// The same, and also blocks SIGTSTP and SIGCONT: for a program that has changed its terminal.
    ///
    /// # Errors
    /// As for [`hold`](TerminationSignals::hold).
    pub fn hold_with_stops() -> Result<TerminationSignals, LaunchError> {
        use Signal::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        Self::hold_these(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])
    }

    fn hold_these(signals: &[Signal]) -> Result<TerminationSignals, LaunchError> {
        let start = |what| move |errno| LaunchError::Start { what, errno };
        let held: SigSet = signals.iter().copied().collect();
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut before))
            .map_err(start("sigprocmask"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&held, flags).map_err(start("signalfd"))?;
        Ok(TerminationSignals { signals, before })
    }

    /// Waits until `other` is readable or `at_most` has passed. Returns whether one of the signals came.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, at_most: Duration) -> bool {
        self.wait_for_any(other.as_slice(), at_most).is_some()
    }

    /// Waits until one of the `others` is readable, a signal comes or `at_most` has passed. Returns what the signal asks
    /// for, if one came.
    pub fn wait_for_any(&self, others: &[BorrowedFd<'_>], at_most: Duration) -> Option<Asked> {
        let mut watched = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        watched.extend(others.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)));
        let _ = poll(&mut watched, PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX));
        let came = self.signals.read_signal().ok().flatten()?;
        Some(match Signal::try_from(came.ssi_signo as i32) {
            Ok(Signal::SIGHUP) => Asked::HangUp,
            Ok(Signal::SIGTSTP) => Asked::Stop,
            Ok(Signal::SIGCONT) => Asked::Resumed,
            _ => Asked::End,
        })
    }
}

impl Drop for TerminationSignals {
    fn drop(&mut self) {
        // Fails only for an invalid `how`.
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
