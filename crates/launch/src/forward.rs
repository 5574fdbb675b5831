//! Passes on to the command what a shell does to the process it started: signals, stop and
//! continue.

use libc::pid_t;
use nix::errno::Errno;
use nix::poll::PollTimeout;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, raise, signal, sigprocmask};
use nix::sys::signalfd::siginfo;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long a continued wrapper waits for the news that the command was continued, too, milliseconds.
const CONTINUE_WAIT: u8 = 50;

/// The command, as a receiver of signals. All signals must be blocked in the process that has this.
#[derive(Debug)]
pub struct Forward {
    /// A pidfd of the command while it lives.
    command: Option<OwnedFd>,
    /// Whether this process stopped with the command and did not yet get the news that it goes on.
    stopped: bool,
}

impl Forward {
    /// For the child `command`.
    pub fn new(command: Option<pid_t>) -> Forward {
        Forward { command: command.and_then(pidfd), stopped: false }
    }

    /// The command has ended: nothing is passed on any more.
    pub fn ended(&mut self) {
        self.command = None;
    }

    /// Passes on a signal. The kernel sends signals of the terminal to the whole group,
    /// with the command. Processes of the command's own tree (`is_ours`) also send to
    /// the whole group.
    pub fn signal(&self, about: &siginfo, is_ours: impl FnOnce(u32) -> bool) {
        let from_kernel = about.ssi_code > 0;
        if !from_kernel
            && let Some(command) = &self.command
            && !is_ours(about.ssi_pid)
        {
            send(command, about.ssi_signo as i32);
        }
    }

    /// The command was stopped by signal `number`: this process stops in the same way, and the shell gets
    /// its prompt. `news`: whether there is news of the command since.
    pub fn stop_too(&mut self, number: i32, news: impl Fn() -> bool) {
        self.stopped = true;
        let Ok(number) = Signal::try_from(number) else { return };
        // A SIGCONT is read next where a stop of the whole group stopped this process, too, and has ended: a second stop
        // would be seen by the shell.
        if news() || is_pending(Signal::SIGCONT) {
            // It was already continued.
            return;
        }
        // SAFETY: the action is SIG_DFL: no code runs as a handler.
        let _ = unsafe { signal(number, SigHandler::SigDfl) };
        // Blocked, and so pending: if the command is continued from here on, SIGCONT removes it.
        // SIGSTOP cannot be blocked and stops this process here.
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

    /// This process was continued. A shell continues the whole group; a SIGCONT for this process alone is meant for the
    /// command. `wait` waits for news of the command, and returns whether there is any.
    pub fn continued(&self, wait: impl FnOnce(PollTimeout) -> bool) {
        if !self.stopped || wait(PollTimeout::from(CONTINUE_WAIT)) {
            return;
        }
        if let Some(command) = &self.command {
            send(command, libc::SIGCONT);
        }
    }
}

/// Whether the signal waits for this thread or process, which blocks it.
fn is_pending(number: Signal) -> bool {
    let mut pending = std::mem::MaybeUninit::uninit();
    // SAFETY: sigpending(2) fills in the set, and fails for a bad address only; sigismember(3) reads it.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && libc::sigismember(pending.as_ptr(), number as i32) == 1
    }
}

/// The descriptors from 3 on with which this program was started.
static INHERITED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

fn inherited() -> MutexGuard<'static, Vec<RawFd>> {
    INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers which descriptors this program was started with. Call it before any is opened.
pub fn note_inherited() {
    let names = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open = names.filter_map(|name| name.file_name().to_str()?.parse().ok());
    let open: Vec<RawFd> = open.filter(|fd| *fd > 2).collect();
    // That of the directory itself is closed by now.
    // SAFETY: F_GETFD looks at a number, which may be of no descriptor.
    let is_open = |fd: &RawFd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0;
    *inherited() = open.into_iter().filter(is_open).collect();
}

/// Keeps the descriptor that a path names (`/dev/fd/3`): a file of ours is written through it after the command.
pub fn keep_inherited(path: &Path) {
    let number = |folder| path.strip_prefix(folder).ok()?.to_str()?.parse::<RawFd>().ok();
    let kept = ["/dev/fd", "/proc/self/fd"].into_iter().find_map(number);
    inherited().retain(|fd| Some(*fd) != kept);
}

/// A pipe must break when the command closes it, so no process of ours may hold one of its ends. Puts `/dev/null` in place
/// of these standard descriptors, and closes those that [`note_inherited`] remembered.
pub fn release_inherited(standard: std::ops::Range<RawFd>) {
    let null = File::options().read(true).write(true).open("/dev/null");
    if let Ok(null) = null {
        for fd in standard {
            // SAFETY: `null` is open, and `fd` is a standard descriptor (0 to 2), which no `OwnedFd` of this
            // process owns.
            unsafe { libc::dup2(null.as_raw_fd(), fd) };
        }
    }
    for fd in std::mem::take(&mut *inherited()) {
        // SAFETY: it was open before this program opened one, so no `OwnedFd` owns it; it is closed once.
        unsafe { libc::close(fd) };
    }
}

/// Waits for the child `pid` with these `options` (waitpid(2)); `None` if there is no
/// news.
pub fn wait_for(pid: pid_t, options: i32) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: waitpid(2) writes one integer, and `status` is one. (nix knows no real-time signals.)
        match unsafe { libc::waitpid(pid, &raw mut status, options) } {
            0 => return None,
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => return None,
            _ => return Some(status),
        }
    }
}

/// A descriptor of process `pid`, readable when that has ended: pidfd_open(2), Linux 5.3.
pub fn pidfd(pid: pid_t) -> Option<OwnedFd> {
    // SAFETY: pidfd_open(2) takes integers only. The descriptor is not negative, new, and owned by nothing
    // else.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as i32))
    }
}

pub(crate) fn send(process: &OwnedFd, number: i32) {
    let null = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: all arguments are integers except the null pointer; with it the kernel fills in the same signal
    // information as for kill(2), and reads no memory.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), number, null, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_continued_does_not_stop_again() {
        let all = SigSet::all();
        let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&all), None);
        assert!(!is_pending(Signal::SIGCONT));
        raise(Signal::SIGCONT).unwrap();
        assert!(is_pending(Signal::SIGCONT));
        // Else this process would stop here.
        let mut forward = Forward::new(None);
        forward.stop_too(libc::SIGSTOP, || false);
        assert!(forward.stopped);
    }
}
