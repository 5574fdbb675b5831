//! The channel between the tracer and the supervisor, and the tracer's end of it.

use crate::error::TraceError;
use crate::priority::OomScore;
use crate::roster::Roster;
use crate::supervisor::Supervisor;
use crate::sys::Tid;
use crate::watchdog::Watchdog;
use needless_launch::{Child, Original, Prepared, release_inherited, rename_command_line};
use needless_model::Exit;
use nix::errno::Errno;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, kill, sigaction, signal,
    sigprocmask,
};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid, setpgid};
use std::os::fd::{AsRawFd, OwnedFd};

/// The tracer's name in `ps`: `killall needless` must not hit it.
const TRACER_NAME: &std::ffi::CStr = c"nl-tracer";

/// The messages between supervisor and tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelMessage {
    /// To the tracer: the command waits, with this pid.
    Command(i32),
    /// To the tracer: it could not be forked, with this errno.
    NoCommand(i32),
    /// The command was stopped by this signal.
    Stopped(i32),
    /// It was continued.
    Continued,
    /// It has ended; processes that it started may go on.
    Ended(Exit),
    /// They have ended, too, and the report is being made: signals are for the tracer.
    Done,
    /// The report was made early, by a process that ended with this wait status: that is the end.
    Reported(i32),
}

impl ChannelMessage {
    pub(crate) fn encode(self) -> [u8; 5] {
        let (kind, number) = match self {
            ChannelMessage::Command(pid) => (b'P', pid),
            ChannelMessage::NoCommand(errno) => (b'N', errno),
            ChannelMessage::Stopped(signal) => (b'S', signal),
            ChannelMessage::Continued => (b'C', 0),
            ChannelMessage::Ended(Exit::Code(code)) => (b'E', code),
            ChannelMessage::Ended(Exit::Signal(signal)) => (b'K', signal),
            ChannelMessage::Done => (b'D', 0),
            ChannelMessage::Reported(status) => (b'R', status),
        };
        let [a, b, c, d] = number.to_ne_bytes();
        [kind, a, b, c, d]
    }

    pub(crate) fn decode(bytes: [u8; 5]) -> Option<ChannelMessage> {
        let [kind, number @ ..] = bytes;
        let number = i32::from_ne_bytes(number);
        Some(match kind {
            b'P' => ChannelMessage::Command(number),
            b'N' => ChannelMessage::NoCommand(number),
            b'S' => ChannelMessage::Stopped(number),
            b'C' => ChannelMessage::Continued,
            b'E' => ChannelMessage::Ended(Exit::Code(number)),
            b'K' => ChannelMessage::Ended(Exit::Signal(number)),
            b'D' => ChannelMessage::Done,
            b'R' => ChannelMessage::Reported(number),
            _ => return None,
        })
    }
}

/// What the supervisor writes when it wants the report now. It also sends [`WAKE`], repeatedly
/// until it gets an answer.
pub(crate) const REPORT_NOW: &[u8] = b"report";
/// Interrupts the tracer's wait.
pub(crate) const WAKE: Signal = Signal::SIGUSR1;

/// The tracer's end of the channel to the supervisor.
pub(crate) struct ToSupervisor {
    socket: OwnedFd,
    pid: Pid,
    score: OomScore,
}

/// Forks twice. Returns in a new process, which is to trace the command; the old one forks the
/// command too, so that it stays its parent, becomes the supervisor and ends with it. `filtered`: whether
/// calls fail without a tracer. The roster is for the threads that will be traced.
pub(crate) fn split(
    prepared: Prepared,
    original: Original,
    filtered: bool,
) -> Result<(ToSupervisor, Child, Roster), TraceError> {
    let start = |what| move |errno| TraceError::start(what, errno);
    let roster = Roster::new().map_err(start("mmap"))?;
    let (ours, tracers) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
            .map_err(start("socketpair"))?;
    let pid = getpid();
    // SAFETY: this process has one thread (the documentation of `run` demands this), so no other thread holds
    // a lock whose copy would stay locked in the child.
    match unsafe { fork() }.map_err(start("fork"))? {
        ForkResult::Child => {
            drop(ours);
            let supervisor = ToSupervisor { socket: tracers, pid, score: OomScore::lower() };
            let command = supervisor.command()?;
            supervisor.take_leave(prepared.inherits());
            Ok((supervisor, prepared.held(command), roster))
        }
        ForkResult::Parent { child: tracer } => {
            drop(tracers);
            let command = prepared.fork(Some(tracer.as_raw()));
            // The tracer's ends of the pipes are to be the only ones.
            drop(prepared);
            let (message, command) = match command {
                Ok(pid) => (ChannelMessage::Command(pid), Some(pid)),
                Err(needless_launch::LaunchError::Start { errno, .. }) => {
                    (ChannelMessage::NoCommand(errno as i32), None)
                }
                Err(_) => (ChannelMessage::NoCommand(0), None),
            };
            // Before the command is executed.
            let watchdog = if filtered && command.is_some() {
                Watchdog::start(tracer, &roster)
            } else {
                Watchdog::none()
            };
            let _ = send(ours.as_raw_fd(), &message.encode(), MsgFlags::MSG_NOSIGNAL);
            Supervisor::new(tracer, ours, command, roster, filtered, watchdog).wait(original)
        }
    }
}

impl ToSupervisor {
    /// The command's pid, from the supervisor.
    fn command(&self) -> Result<Tid, TraceError> {
        let mut bytes = [0; 5];
        let heard = recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::empty());
        let errno = match (heard, ChannelMessage::decode(bytes)) {
            (Ok(5), Some(ChannelMessage::Command(pid))) => return Ok(pid),
            (Ok(5), Some(ChannelMessage::NoCommand(errno))) => Errno::from_raw(errno),
            (Err(errno), _) => errno,
            _ => Errno::EPIPE,
        };
        Err(TraceError::start("fork", errno))
    }

    /// Leaves the supervisor's process group, so that signals from the terminal or to the group
    /// do not reach the tracer, and changes the name, so that signals by name do not, either. `inherits`: whether the command's
    /// standard streams are those of this process.
    fn take_leave(&self, inherits: bool) {
        // A failure does not matter: the tracer then stays in the group.
        let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
        // Each stop would also queue a SIGCHLD for the tracer.
        let quiet = SigAction::new(SigHandler::SigDfl, SaFlags::SA_NOCLDSTOP, SigSet::empty());
        let wake = SigAction::new(SigHandler::Handler(woken), SaFlags::empty(), SigSet::empty());
        let mut awake = SigSet::empty();
        awake.add(WAKE);
        // SAFETY: the handler `woken` does nothing, so it is safe at any point. PR_SET_NAME reads a string
        // that ends with a NUL, which `TRACER_NAME` is.
        unsafe {
            let _ = sigaction(Signal::SIGCHLD, &quiet);
            let _ = sigaction(WAKE, &wake);
            libc::prctl(libc::PR_SET_NAME, TRACER_NAME.as_ptr());
        }
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&awake), None);
        rename_command_line(TRACER_NAME);
        release_inherited(0..if inherits { 2 } else { 1 });
    }

    pub(crate) fn command_stopped(&self, signal: i32) {
        self.send(ChannelMessage::Stopped(signal));
    }

    pub(crate) fn command_continued(&self) {
        self.send(ChannelMessage::Continued);
        if self.alive() {
            let _ = kill(self.pid, Signal::SIGCONT);
        }
    }

    pub(crate) fn command_ended(&self, exit: Exit) {
        self.send(ChannelMessage::Ended(exit));
    }

    /// Whether the supervisor asked for the report since the last call. Check it when the wait
    /// was interrupted.
    pub(crate) fn wants_report(&self) -> bool {
        let mut wish = [0; 16];
        recv(self.socket.as_raw_fd(), &mut wish, MsgFlags::MSG_DONTWAIT)
            .is_ok_and(|length| &wish[..length] == REPORT_NOW)
    }

    /// The early report was made, by a child of the tracer that ended with `status`.
    pub(crate) fn reported(&self, status: i32) {
        self.send(ChannelMessage::Reported(status));
    }

    /// After the last process has ended. Does not return if the supervisor is gone: then no one waits for a report.
    pub(crate) fn finish(&self, original: Original) {
        if !self.alive() {
            std::process::exit(0);
        }
        self.give_up(original);
    }

    /// Nothing is traced any more, or was traced at all: a report or an error message follows.
    pub(crate) fn give_up(&self, original: Original) {
        self.send(ChannelMessage::Done);
        self.be_reporter(original);
    }

    /// This process makes the report and is not a tracer any more.
    pub(crate) fn be_reporter(&self, original: Original) {
        self.score.restore();
        forget_signals(original);
    }

    fn alive(&self) -> bool {
        getppid() == self.pid
    }

    fn send(&self, message: ChannelMessage) {
        // The supervisor may be gone; then the message is not needed.
        let _ = send(self.socket.as_raw_fd(), &message.encode(), MsgFlags::MSG_NOSIGNAL);
    }
}

/// From here on, signals are for this process.
fn forget_signals(original: Original) {
    // A signal that came in the meantime, such as one to all children of the supervisor, was meant for the
    // command, which got it, too.
    for number in Signal::iterator().filter(|s| !matches!(s, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: SIG_IGN, which discards a pending signal, and then the former action: that one was
        // installed before, so its handler is still valid.
        unsafe {
            if let Ok(before) = signal(number, SigHandler::SigIgn) {
                let _ = signal(number, before);
            }
        }
    }
    // SAFETY: the actions are SIG_IGN and SIG_DFL: no code runs as a handler. (SIGTTOU: we are not in the
    // foreground, and must write the report to the terminal all the same, see `stty tostop`.)
    unsafe {
        let _ = signal(Signal::SIGTTOU, SigHandler::SigIgn);
        let _ = signal(WAKE, SigHandler::SigDfl);
        let _ = signal(Signal::SIGCHLD, SigHandler::SigDfl);
    }
    original.restore_mask();
}

extern "C" fn woken(_: i32) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_line() {
        for message in [
            ChannelMessage::Command(1 << 22),
            ChannelMessage::NoCommand(11),
            ChannelMessage::Stopped(20),
            ChannelMessage::Continued,
            ChannelMessage::Ended(Exit::Code(3)),
            ChannelMessage::Ended(Exit::Signal(9)),
            ChannelMessage::Done,
            ChannelMessage::Reported(0x0700),
        ] {
            assert_eq!(ChannelMessage::decode(message.encode()), Some(message));
        }
        assert_eq!(ChannelMessage::decode([0; 5]), None);
    }
}
