//! Waits for a command that is a child of this process and runs by itself: an observer that does not stop
//! it does not have to stand between.

use crate::forward::{release_inherited, wait_for};
use crate::{Forward, LaunchError, Original, Prepared};
use libc::pid_t;
use needless_model::{Exit, status};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How often the observer looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After so long, a message at a terminal explains that needless waits for processes of the command.
const EXPLAIN_AFTER: Duration = Duration::from_secs(2);

/// The observer of a command.
pub trait Watch {
    /// The command has been forked with all its rights, and waits to be released: what the observer
    /// changes in this process from here on does not affect it.
    fn forked(&mut self) {}
    /// Readable when the observer should look at once.
    fn readable(&self) -> Option<BorrowedFd<'_>>;
    /// Looks: called about ten times a second.
    fn look(&mut self);
    /// Whether a process of the command's tree other than the command may still live.
    fn others_live(&mut self) -> bool;
    /// Whether process `pid` belongs to the command's tree.
    fn is_ours(&self, pid: u32) -> bool;
}

/// How a supervised command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The command itself.
    pub exit: Exit,
    /// CPU time of the command and of what it waited for, in user mode and in the kernel,
    /// nanoseconds (getrusage(2)).
    pub cpu_ns: (u64, u64),
    /// Whether the user asked for the report before the last of its descendants had ended.
    pub early: bool,
}

/// Forks the prepared command, and waits for it and the processes it started. Call it while this
/// process has one thread and the signals are blocked as `original` recorded; they are restored
/// when it returns.
///
/// # Errors
/// When the command cannot be forked or executed.
pub fn supervise(
    prepared: Prepared,
    original: Original,
    watch: &mut dyn Watch,
) -> Result<Ended, LaunchError> {
    let start = |what| move |errno| LaunchError::Start { what, errno };
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signals = SignalFd::with_flags(&SigSet::all(), flags).map_err(start("signalfd"))?;
    // The program that became needless may have had children.
    let before = cpu_of_children();
    let pid = prepared.fork(None)?;
    let inherits = prepared.inherits();
    let mut child = prepared.held(pid);
    child.ready();
    watch.forked();
    child.release();
    if inherits {
        release_inherited(0..2);
    }
    let mut wait = Wait { pid, forward: Forward::new(Some(pid)), exit: None, ended_at: None };
    let mut early = false;
    let mut looked = Instant::now();
    let mut explained = false;
    while wait.exit.is_none() || (!early && watch.others_live()) {
        let mut watched = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        watched.extend(watch.readable().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        let left = LOOK_EVERY.saturating_sub(looked.elapsed());
        let _ = poll(&mut watched, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO));
        let full = watched.get(1).is_some_and(|fd| fd.any() == Some(true));
        while let Ok(Some(about)) = signals.read_signal() {
            early |= wait.hear(&about, watch);
        }
        // Several stops or ends may have come with one SIGCHLD.
        wait.reap();
        if full || looked.elapsed() >= LOOK_EVERY {
            watch.look();
            looked = Instant::now();
        }
        if !explained && wait.ended_at.is_some_and(|at| at.elapsed() > EXPLAIN_AFTER) {
            explained = true;
            explain();
        }
    }
    let exit = wait.exit.unwrap_or(Exit::Code(status::OURS));
    if let Some(error) = child.failure() {
        original.restore_mask();
        return Err(error);
    }
    // From here on a signal means us.
    original.restore_mask();
    let after = cpu_of_children();
    let cpu_ns = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    Ok(Ended { exit, cpu_ns, early })
}

/// CPU time of all children that were waited for, nanoseconds: in user mode and in the kernel.
fn cpu_of_children() -> (u64, u64) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return (0, 0) };
    let ns = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0) * 1000;
    (ns(usage.user_time()), ns(usage.system_time()))
}

fn explain() {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        // An error does not matter: perhaps no one reads it.
        let _ = writeln!(
            stderr,
            "needless: the command has ended, processes that it started have not: waiting for them (Ctrl-C: report now)"
        );
    }
}

struct Wait {
    pid: pid_t,
    forward: Forward,
    exit: Option<Exit>,
    ended_at: Option<Instant>,
}

impl Wait {
    /// Takes one signal; `true` if it asks for the report now.
    fn hear(&mut self, about: &siginfo, watch: &dyn Watch) -> bool {
        let number = about.ssi_signo as i32;
        let ending = matches!(number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT);
        match number {
            libc::SIGCHLD => {}
            libc::SIGCONT => {
                let pid = self.pid;
                self.forward.continued(|wait| {
                    std::thread::sleep(Duration::from_millis(wait.as_millis().unwrap_or(0).into()));
                    has_news(pid)
                });
            }
            _ if self.exit.is_some() => return ending,
            _ => self.forward.signal(about, |pid| watch.is_ours(pid)),
        }
        false
    }

    /// Takes the news of the command.
    fn reap(&mut self) {
        let options = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED;
        while self.exit.is_none()
            && let Some(status) = wait_for(self.pid, options)
        {
            if libc::WIFSTOPPED(status) {
                let pid = self.pid;
                self.forward.stop_too(libc::WSTOPSIG(status), || has_news(pid));
            } else if libc::WIFCONTINUED(status) {
                self.forward.goes_on();
            } else {
                self.forward.ended();
                self.ended_at = Some(Instant::now());
                self.exit = Some(if libc::WIFSIGNALED(status) {
                    Exit::Signal(libc::WTERMSIG(status))
                } else {
                    Exit::Code(libc::WEXITSTATUS(status))
                });
            }
        }
    }
}

/// Whether there is news of the child; it stays available.
fn has_news(pid: pid_t) -> bool {
    let options = libc::WNOHANG | libc::WSTOPPED | libc::WCONTINUED | libc::WEXITED | libc::WNOWAIT;
    // SAFETY: zero bytes are a valid `siginfo_t`; waitid(2) writes one, and `about` is one. On success it has
    // set si_pid, or left it zero.
    unsafe {
        let mut about = std::mem::zeroed::<libc::siginfo_t>();
        libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut about, options) == 0
            && about.si_pid() == pid
    }
}
