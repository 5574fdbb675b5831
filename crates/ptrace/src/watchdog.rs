//! The watchdog: a third process, which takes the tracer's place when the supervisor cannot.
//!
//! It sleeps until the tracer has ended. If that was no end in order, the supervisor gets the time to take its place;
//! where the supervisor was killed too, or is stopped, the watchdog does it: no program is left whose calls fail.
//!
//! Each process that watches has a partner that watches it: first these are the supervisor and the watchdog; where the
//! supervisor was killed, two watchdogs.
//!
//! A tracer that notices the supervisor's end could set `PTRACE_O_EXITKILL` instead, but only on threads that are
//! stopped, and too late where both are killed at once. To stop a thread for it makes some waiting calls fail (EINTR,
//! signal(7)).
//!
//! It waits half a second for a supervisor that is stopped. It holds no descriptor but those by which it sees the ends
//! of the two.

use crate::channel::WAKE;
use crate::priority::{OomScore, Scheduling, set_scheduling};
use crate::rescue;
use crate::roster::Roster;
use needless_launch::{pidfd, release_inherited, rename_command_line, wait_for};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::unistd::{ForkResult, Pid, fork, getpid, setpgid};
use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// Its name in `ps`: a signal by the name of needless or of the tracer must not hit it.
const NAME: &CStr = c"nl-watchdog";
/// How long the supervisor may take to seize all threads, milliseconds.
const PATIENCE: u16 = 500;

/// The watchdog, a child of the supervisor. `None`: it could not be started, which matters only if tracer and supervisor
/// are both killed.
pub(crate) struct Watchdog(Option<Pid>);

impl Watchdog {
    /// For a run without a filter: no call fails there.
    pub(crate) fn none() -> Watchdog {
        Watchdog(None)
    }

    /// Starts it, in the supervisor, whose child `tracer` is.
    pub(crate) fn start(tracer: Pid, roster: &Roster) -> Watchdog {
        let (Some(tracer), Some(supervisor)) = (pidfd(tracer.as_raw()), pidfd(getpid().as_raw()))
        else {
            return Watchdog(None);
        };
        // SAFETY: this process has one thread (the documentation of `run` demands this), so no other thread holds
        // a lock whose copy would stay locked in the child.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => watch(&tracer, supervisor, roster),
            Ok(ForkResult::Parent { child }) => Watchdog(Some(child)),
            Err(_) => Watchdog(None),
        }
    }

    /// A child of the supervisor has ended: if it is the watchdog, another is started.
    pub(crate) fn renew(&mut self, tracer: Pid, roster: &Roster) {
        if let Some(pid) = self.0
            && wait_for(pid.as_raw(), libc::WNOHANG).is_some()
        {
            *self = Watchdog::start(tracer, roster);
        }
    }

    /// The supervisor has taken the tracer's place, and the watchdog need not wait for it. If it has begun to take that
    /// itself, it goes on.
    pub(crate) fn dismiss(&self) {
        if let Some(pid) = self.0 {
            // Whoever waits for any child waits for it.
            let _ = kill(pid, WAKE);
        }
    }

    /// Ends it, when nothing is traced any more.
    pub(crate) fn end(&self) {
        if let Some(pid) = self.0 {
            // It was not waited for, so this is still its number.
            let _ = kill(pid, Signal::SIGKILL);
            wait_for(pid.as_raw(), 0);
        }
    }
}

/// In the new process.
fn watch(tracer: &OwnedFd, supervisor: OwnedFd, roster: &Roster) -> ! {
    // SAFETY: PR_SET_NAME reads a string that ends with a NUL, which `NAME` is.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
    rename_command_line(NAME);
    // Who reads from a pipe waits for the last process that has it.
    release_inherited(0..3);
    close_all_but([tracer.as_raw_fd(), supervisor.as_raw_fd()]);
    OomScore::lower();
    stand_apart();
    // It ends this process, until there is something to do.
    let dismissal = SigSet::from(WAKE);
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&dismissal), None);
    let mut partner = Some(supervisor);
    let mut patience = PATIENCE;
    while !tracer_ends_first(tracer, partner.as_ref()) {
        // A former partner may be a child.
        wait_for(-1, libc::WNOHANG);
        partner = fork_partner();
        patience = 0;
    }
    // After an end in order the list is empty.
    if roster.threads().next().is_some() {
        if let Some(partner) = &partner {
            let _ = poll(&mut [end_of(partner)], PollTimeout::from(patience));
        }
        let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&dismissal), None);
        let taken = rescue::take_over(roster, true);
        set_scheduling(Scheduling::Fair);
        taken.carry_on(0);
    }
    // SAFETY: _exit(2) takes an integer only. What the supervisor has not written yet, it writes itself.
    unsafe { libc::_exit(0) }
}

/// Forks: two watchdogs go on, and if one of them ends, the other forks again. Of the two, nobody takes the place first.
fn fork_partner() -> Option<OwnedFd> {
    let this = pidfd(getpid().as_raw())?;
    // SAFETY: the watchdog has one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            stand_apart();
            Some(this)
        }
        Ok(ForkResult::Parent { child }) => pidfd(child.as_raw()),
        Err(_) => None,
    }
}

/// Leaves the process group, whose signals are not for this process, and asks to run at once when it is woken.
fn stand_apart() {
    // A failure does not matter: it then stays in the group.
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    set_scheduling(Scheduling::AtOnce);
}

/// Sleeps until one of them has ended; returns whether the tracer has.
fn tracer_ends_first(tracer: &OwnedFd, partner: Option<&OwnedFd>) -> bool {
    let mut watched: Vec<_> = [tracer].into_iter().chain(partner).map(end_of).collect();
    // All signals but the dismissal are blocked: it is not interrupted.
    let _ = poll(&mut watched, PollTimeout::NONE);
    watched[0].any() == Some(true)
}

fn end_of(process: &OwnedFd) -> PollFd<'_> {
    PollFd::new(process.as_fd(), PollFlags::POLLIN)
}

/// Closes every descriptor but these and the standard ones.
fn close_all_but(kept: [RawFd; 2]) {
    let open = fs::read_dir("/proc/self/fd").map(|names| {
        names
            .flatten()
            .filter_map(|name| name.file_name().to_str()?.parse::<RawFd>().ok())
            .collect()
    });
    let open: Vec<RawFd> = open.unwrap_or_default();
    for fd in open.into_iter().filter(|fd| *fd > 2 && !kept.contains(fd)) {
        // SAFETY: this process ends in `watch`, and uses no other descriptor of those that it was forked with.
        unsafe { libc::close(fd) };
    }
}
