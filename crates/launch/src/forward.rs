//! What a shell does to the process it started, handed on to the command: signals, stop and
//! continue.

use libc::pid_t;
use nix::errno::Errno;
use nix::poll::PollTimeout;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, raise, signal, sigprocmask};
use nix::sys::signalfd::siginfo;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// How long a continued wrapper waits to hear that the command was continued too, milliseconds.
const CONTINUE_WAIT: u8 = 50;

/// The command, as far as signals go. All signals are to be blocked in the process that has it.
#[derive(Debug)]
pub struct Forward {
    /// A pidfd of the command while it lives.
    command: Option<OwnedFd>,
    /// Whether we stopped with the command and did not yet hear of its going on.
    stopped: bool,
}

impl Forward {
    /// For our child `command`.
    pub fn new(command: Option<pid_t>) -> Forward {
        Forward { command: command.and_then(pidfd), stopped: false }
    }

    /// The command has ended: nothing is handed on any more.
    pub fn ended(&mut self) {
        self.command = None;
    }

    /// Hands on a signal that came to us. What the kernel sends (terminal) goes to the whole group,
    /// the command included. So does what somebody of the command's own tree (`is_ours`) sends to
    /// us: to us as members of the group.
    pub fn signal(&self, about: &siginfo, is_ours: impl FnOnce(u32) -> bool) {
        let from_kernel = about.ssi_code > 0;
        if !from_kernel
            && let Some(command) = &self.command
            && !is_ours(about.ssi_pid)
        {
            send(command, about.ssi_signo as i32);
        }
    }

    /// The command was stopped by signal `number`: so are we, in the same way, and our shell gets
    /// its prompt. `news`: whether something was heard of the command since.
    pub fn stop_too(&mut self, number: i32, news: impl Fn() -> bool) {
        self.stopped = true;
        let Ok(number) = Signal::try_from(number) else { return };
        if news() {
            // It was continued already.
            return;
        }
        // SAFETY: no handler.
        let _ = unsafe { signal(number, SigHandler::SigDfl) };
        // Blocked, hence pending: if the command is continued from here on, SIGCONT removes it.
        // SIGSTOP cannot be blocked and stops us right here.
        let _ = raise(number);
        if number == Signal::SIGSTOP {
            return;
        }
        let mut this = SigSet::empty();
        this.add(number);
        if !news() {
            let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&this), None);
        }
        let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&this), None);
    }

    /// The command goes on.
    pub fn goes_on(&mut self) {
        self.stopped = false;
    }

    /// We were continued. A shell continues the whole group; who continues us alone means the
    /// command. `wait` waits for news of the command, and says whether there are any.
    pub fn continued(&self, wait: impl FnOnce(PollTimeout) -> bool) {
        if !self.stopped || wait(PollTimeout::from(CONTINUE_WAIT)) {
            return;
        }
        if let Some(command) = &self.command {
            send(command, libc::SIGCONT);
        }
    }
}

/// A pipe must break when the command closes it: the wrapper holds none of its ends. Puts
/// `/dev/null` in place of these standard descriptors.
pub fn release_standard_streams(which: std::ops::Range<i32>) {
    let null = File::options().read(true).write(true).open("/dev/null");
    if let Ok(null) = null {
        for fd in which {
            // SAFETY: both are descriptors of ours.
            unsafe { libc::dup2(null.as_raw_fd(), fd) };
        }
    }
}

/// Waits for our child `pid` with these `options` (waitpid(2)); `None` where there is nothing to
/// tell.
pub fn wait_for(pid: pid_t, options: i32) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: writes one integer of ours. (nix knows no real-time signals.)
        match unsafe { libc::waitpid(pid, &raw mut status, options) } {
            0 => return None,
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => return None,
            _ => return Some(status),
        }
    }
}

pub(crate) fn pidfd(pid: pid_t) -> Option<OwnedFd> {
    // SAFETY: integers only; the descriptor is new and ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as i32))
    }
}

pub(crate) fn send(process: &OwnedFd, number: i32) {
    let null = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: integers and a null pointer, which stands for what kill(2) would send.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), number, null, 0) };
}
