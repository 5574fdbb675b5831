//! The supervisor: the process that the shell sees while the tracer works, and the command's parent.
//!
//! It passes signals on, stops and continues with the command, and ends as the command ended, after
//! the report. If it is killed, the tracer goes on resuming the command's calls, so that the command
//! lives on as if nothing had happened; if the tracer is killed, the supervisor takes its place; if both are, the
//! watchdog does.

use crate::channel::{ChannelMessage, REPORT_NOW, WAKE};
use crate::priority::{OomScore, Scheduling, set_scheduling};
use crate::rescue;
use crate::roster::Roster;
use crate::sys::Tid;
use crate::watchdog::Watchdog;
use needless_launch::{Forward, Original, exit_like, release_inherited, wait_for};
use needless_model::Exit;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The statuses of the tracer that are passed on if the command's is 0: more is needless than allowed,
/// or an output could not be written.
const COMPLAINTS: [i32; 2] = [1, 2];
/// How often the tracer is asked for an early report until it answers, milliseconds.
const ASK_AGAIN: u8 = 100;
/// After so long, a message at a terminal explains that the supervisor waits for processes of the command,
/// milliseconds.
const EXPLAIN_AFTER: u16 = 2000;

/// The phase of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The command lives.
    Running,
    /// It has ended; processes that it started have not.
    Lingering,
    /// The same, and a message has explained it.
    Explained,
    /// The tracer was asked for the report of what it has.
    Asked,
    /// The report is being made.
    Reporting,
}

/// The supervisor.
pub(crate) struct Supervisor {
    tracer: Pid,
    socket: OwnedFd,
    /// The command's pid: it stays valid, because only this process can wait for it.
    command: Option<Tid>,
    forward: Forward,
    /// How the command ended.
    ended: Option<Exit>,
    /// Whether the tracer ended tracing in order.
    done: bool,
    phase: Phase,
    /// The status of the process that reported early.
    reported: Option<i32>,
    /// stderr, for messages.
    notices: Option<File>,
    /// The threads that are traced.
    roster: Roster,
    /// Whether calls of the command fail when the tracer has died.
    filtered: bool,
    watchdog: Watchdog,
}

impl Supervisor {
    pub(crate) fn new(
        tracer: Pid,
        socket: OwnedFd,
        command: Option<Tid>,
        roster: Roster,
        filtered: bool,
        watchdog: Watchdog,
    ) -> Supervisor {
        let notices = std::io::stderr().as_fd().try_clone_to_owned().ok().map(File::from);
        Supervisor {
            tracer,
            socket,
            command,
            forward: Forward::new(command),
            ended: None,
            done: false,
            phase: Phase::Running,
            reported: None,
            notices,
            roster,
            filtered,
            watchdog,
        }
    }

    /// Waits until the tracer has ended.
    pub(crate) fn wait(mut self, original: Original) -> ! {
        release_inherited(0..3);
        set_scheduling(Scheduling::AtOnce);
        let score = OomScore::lower();
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let Ok(signals) = SignalFd::with_flags(&SigSet::all(), flags) else {
            self.end(original, &score)
        };
        loop {
            let mut watched = [
                PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            ];
            let patience = match self.phase {
                Phase::Lingering => PollTimeout::from(EXPLAIN_AFTER),
                Phase::Asked => PollTimeout::from(ASK_AGAIN),
                _ => PollTimeout::NONE,
            };
            match poll(&mut watched, patience) {
                Ok(0) => {
                    self.patience_ended();
                    continue;
                }
                Ok(_) => {}
                Err(_) => continue,
            }
            let [socket, signal] = watched.map(|w| w.any() == Some(true));
            if socket && !self.hear() {
                self.end(original, &score);
            }
            if signal {
                while let Ok(Some(about)) = signals.read_signal() {
                    self.hand_on(&about, original);
                }
            }
        }
    }

    fn patience_ended(&mut self) {
        if self.phase == Phase::Asked {
            // The request is sent; the first signal may have come before the tracer waited.
            let _ = kill(self.tracer, WAKE);
            return;
        }
        self.phase = Phase::Explained;
        if self.notices.as_ref().is_some_and(|stderr| stderr.is_terminal()) {
            self.say("the command has ended, processes that it started have not: waiting for them (Ctrl-C: report now)");
        }
    }

    fn say(&mut self, what: &str) {
        if let Some(stderr) = &mut self.notices {
            // An error does not matter: perhaps no one reads it.
            let _ = writeln!(stderr, "needless: {what}");
        }
    }

    /// Takes one message; `false` when the tracer has closed the channel.
    fn hear(&mut self) -> bool {
        let mut bytes = [0; 5];
        match recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::empty()) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(Errno::EINTR | Errno::EAGAIN) => return true,
            Err(_) => return false,
        }
        match ChannelMessage::decode(bytes) {
            Some(ChannelMessage::Stopped(signal)) => {
                let socket = self.socket.as_fd();
                self.forward.stop_too(signal, || has_message(socket, PollTimeout::ZERO));
            }
            Some(ChannelMessage::Continued) => self.forward.goes_on(),
            Some(ChannelMessage::Ended(exit)) => {
                self.phase = Phase::Lingering;
                self.ended = Some(exit);
                self.forward.ended();
            }
            Some(ChannelMessage::Done) => {
                self.phase = Phase::Reporting;
                self.done = true;
            }
            Some(ChannelMessage::Reported(status)) => {
                self.reported = Some(status);
                return false;
            }
            Some(ChannelMessage::Command(_) | ChannelMessage::NoCommand(_)) | None => {}
        }
        true
    }

    fn hand_on(&mut self, about: &siginfo, original: Original) {
        let number = about.ssi_signo as i32;
        let ending = matches!(number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT);
        match self.phase {
            _ if number == libc::SIGCHLD => self.watchdog.renew(self.tracer, &self.roster),
            _ if number == libc::SIGCONT => {
                let socket = self.socket.as_fd();
                self.forward.continued(|wait| has_message(socket, wait));
            }
            Phase::Running => self.forward.signal(about, |pid| self.is_traced(pid)),
            Phase::Lingering | Phase::Explained if ending => {
                self.phase = Phase::Asked;
                let _ = send(self.socket.as_raw_fd(), REPORT_NOW, MsgFlags::MSG_NOSIGNAL);
                let _ = kill(self.tracer, WAKE);
            }
            Phase::Asked if ending => {
                // A second request means: do not wait for the report, either.
                original.restore_mask();
                exit_like(Exit::Signal(number));
            }
            Phase::Reporting if ending => {
                // SAFETY: kill(2) takes integers only. The tracer was not waited for, so this is still its
                // number.
                unsafe { libc::kill(self.tracer.as_raw(), number) };
            }
            _ => {}
        }
    }

    fn is_traced(&self, pid: u32) -> bool {
        let tracer = format!("TracerPid:\t{}", self.tracer);
        std::fs::read_to_string(format!("/proc/{pid}/status"))
            .is_ok_and(|status| status.lines().any(|line| line == tracer))
    }

    /// The report is made, or the tracer has ended in another way: end as the command did or, if
    /// the command never ran, as the tracer.
    fn end(&mut self, original: Original, score: &OomScore) -> ! {
        let status = match self.reported {
            Some(status) => status,
            // Threads can be seized only after its end.
            None => self.reap_tracer(),
        };
        match (self.done, self.reported, self.command) {
            (false, None, Some(command)) => self.replace_tracer(command),
            // The tracer has ended, in order.
            (_, None, _) => self.watchdog.end(),
            // It goes on, and so does the watchdog.
            (_, Some(_), _) => {}
        }
        score.restore();
        if let Some(command) = self.command {
            // It has ended by now. The wait adds its CPU time to that of this process, where tools
            // that measure this process expect it.
            wait_for(command, 0);
        }
        original.restore_mask();
        let tracer = if libc::WIFSIGNALED(status) {
            Exit::Signal(libc::WTERMSIG(status))
        } else {
            Exit::Code(libc::WEXITSTATUS(status))
        };
        let ended = match (self.ended, tracer) {
            // The command succeeded, the tracer did not.
            (Some(Exit::Code(0)), Exit::Code(status)) if COMPLAINTS.contains(&status) => tracer,
            (ended, tracer) => ended.unwrap_or(tracer),
        };
        exit_like(ended)
    }

    /// The tracer was killed: lets the command go on without it, until it has ended.
    fn replace_tracer(&mut self, command: Tid) {
        let taken = rescue::take_over(&self.roster, self.filtered);
        set_scheduling(Scheduling::Fair);
        self.say(match (taken.any(), taken.any_ended(), self.filtered) {
            (_, true, _) => "the tracer was killed: no report; processes that may not be traced by another (ptrace(2)) were ended, because their calls would have failed",
            (true, _, true) => "the tracer was killed: no report; the command goes on while this process lives, and runs slower; calls that it made just before this line may have failed (ENOSYS)",
            (true, _, false) => "the tracer was killed: no report; the command goes on",
            _ if self.ended.is_none() && self.roster.threads().next().is_none() => "the tracer was killed before it had started the command: it was not run",
            _ => "the tracer was killed: no report",
        });
        if taken.is_complete() {
            self.watchdog.dismiss();
        }
        let rescued = taken.carry_on(command);
        self.ended = self.ended.or(rescued);
    }

    fn reap_tracer(&self) -> i32 {
        wait_for(self.tracer.as_raw(), 0)
            .unwrap_or_else(|| std::process::exit(needless_model::status::OURS))
    }
}

fn has_message(socket: BorrowedFd<'_>, wait: PollTimeout) -> bool {
    let mut watched = [PollFd::new(socket, PollFlags::POLLIN)];
    poll(&mut watched, wait).is_ok_and(|ready| ready > 0)
}
