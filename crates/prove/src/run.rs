//! One run: counted or timed. Its output is read and not kept.

use crate::ProveError;
use crate::output::{self, Written};
use needless_launch::{Launch, LaunchError, Original, Running, Stdio, TerminationSignals};
use needless_model::{Exit, Usage};
use regex::bytes::Regex;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a command is given to end after Ctrl-C, before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// Longer than any command runs.
pub(crate) const EVER: Duration = Duration::from_secs(1 << 20);

/// The standard streams of a run, and how its output is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandIo {
    /// Its input, which every run reads from the start; `/dev/null` if `None`.
    pub(crate) stdin: Option<PathBuf>,
    /// The part of each line of its output that is not compared.
    pub(crate) ignored: Option<Regex>,
}

/// What a user notices of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behaviour {
    pub(crate) exit: Exit,
    pub(crate) written: Written,
}

impl Behaviour {
    /// How `other` differs, as the end of a sentence; `None` if it does not.
    pub(crate) fn difference(&self, other: &Behaviour) -> Option<String> {
        if self.exit != other.exit {
            return Some(format!("it {} instead of {}", ended(other.exit), ending(self.exit)));
        }
        if self.written.same(&other.written) {
            return None;
        }
        let (was, is) = (self.written.bytes, other.written.bytes);
        Some(if was == is {
            format!("its standard output differs ({is} bytes both times)")
        } else {
            format!("its standard output differs ({is} bytes instead of {was})")
        })
    }
}

pub(crate) fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exits with status {code}"),
        Exit::Signal(number) => format!("is killed by signal {number}"),
    }
}

fn ending(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("status {code}"),
        Exit::Signal(number) => format!("signal {number}"),
    }
}

impl CommandIo {
    /// Calls `act` with descriptors for the standard streams of a command, then reads its output to the end, or
    /// until `enough` says that the user does not want to wait for it.
    pub(crate) fn with<T>(
        &self,
        enough: impl Fn(BorrowedFd<'_>) -> bool,
        act: impl FnOnce([Arc<OwnedFd>; 3]) -> Result<T, ProveError>,
    ) -> Result<(T, Written), ProveError> {
        let null = ProveError::io("cannot open /dev/null");
        let stdin = match &self.stdin {
            Some(file) => {
                let cannot = |why: &dyn std::fmt::Display| {
                    ProveError::Stdin(format!("cannot open {}: {why}", file.display()))
                };
                // A pipe would be empty for the second run.
                let about = file.metadata().map_err(|e| cannot(&e))?;
                if !about.is_file() && !about.file_type().is_char_device() {
                    return Err(cannot(
                        &"it is not a file, which each run could read from its start",
                    ));
                }
                File::open(file).map_err(|e| cannot(&e))?
            }
            None => File::open("/dev/null").map_err(&null)?,
        };
        let stderr = File::options().write(true).open("/dev/null").map_err(null)?;
        let pipe = || std::io::pipe().map_err(ProveError::io("cannot make a pipe"));
        let ((reader, writer), (ended, end)) = (pipe()?, pipe()?);
        let ignored = self.ignored.clone();
        // The new thread inherits the mask: signals go to the thread that waits for them.
        let blocked = Original::record_and_block();
        let original = blocked.map_err(|errno| {
            ProveError::launch(LaunchError::Start { what: "sigprocmask", errno })
        })?;
        let read = std::thread::spawn(move || {
            let written = output::read(reader, ignored.as_ref());
            drop(end);
            written
        });
        original.restore_mask();
        // Our copies are closed when the command has its own, so the output ends with the command.
        let io: [OwnedFd; 3] = [stdin.into(), writer.into(), stderr.into()];
        let done = act(io.map(Arc::new));
        if done.is_ok() && enough(ended.as_fd()) {
            // Another process still has the other end: the thread reads on until that closes it, or we end.
            return Err(ProveError::Interrupted);
        }
        let done = done?;
        let written = read.join().map_err(|_| ProveError::Reader)?;
        Ok((done, written))
    }
}

/// A timed run, untraced. `None` if the user ended it.
///
/// # Errors
/// When it cannot be started, or has not ended after `at_most`.
pub(crate) fn timed(
    launch: Launch,
    original: Original,
    io: &CommandIo,
    endings: &TerminationSignals,
    at_most: Duration,
) -> Result<Option<(Behaviour, Usage)>, ProveError> {
    let ran = io.with(
        |ended| endings.wait(Some(ended), EVER),
        |fds| {
            let launch = Launch { stdio: Stdio::Given(fds), ..launch };
            let running = needless_launch::start(&launch, original).map_err(ProveError::launch)?;
            wait_at_most(running, endings, at_most)
        },
    );
    match ran {
        Ok(((exit, usage), written)) => Ok(Some((Behaviour { exit, written }, usage))),
        Err(ProveError::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for the end of `running`. `None` if the user ended it.
///
/// # Errors
/// When it could not be executed.
pub(crate) fn wait(
    running: Running,
    endings: &TerminationSignals,
) -> Result<Option<(Exit, Usage)>, ProveError> {
    match wait_at_most(running, endings, EVER) {
        Err(ProveError::Interrupted) => Ok(None),
        other => other.map(Some),
    }
}

/// Waits for the end of `running`, or ends it after `at_most`.
fn wait_at_most(
    running: Running,
    endings: &TerminationSignals,
    at_most: Duration,
) -> Result<(Exit, Usage), ProveError> {
    let begun = Instant::now();
    let interrupted = endings.wait(Some(running.readable()), at_most);
    if !interrupted && begun.elapsed() < at_most {
        return running.end().map_err(ProveError::launch);
    }
    // A terminal sends this signal to the command too; `kill` sends it to us only.
    running.signal(SIGINT);
    endings.wait(Some(running.readable()), GRACE);
    // Dropping it kills it, if it still runs.
    Err(if interrupted { ProveError::Interrupted } else { ProveError::TooLong })
}

/// signal(7); the same number on every architecture.
pub(crate) const SIGINT: i32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(exit: Exit, bytes: u64, print: u128) -> Behaviour {
        Behaviour { exit, written: Written { bytes, print } }
    }

    #[test]
    fn issue_39_a_run_that_does_not_end_is_ended() {
        let launch = Launch {
            program: "/bin/sh".into(),
            argv: ["sh", "-c", "exec sleep 1000"].map(Into::into).to_vec(),
            env: None,
            stdio: Stdio::Null,
            caller: None,
        };
        let endings = crate::experiment::hold().unwrap();
        let at_most = Duration::from_millis(50);
        let ran = timed(launch, Original::record(), &CommandIo::default(), &endings, at_most);
        assert!(matches!(ran, Err(ProveError::TooLong)), "{ran:?}");
    }

    #[test]
    fn a_difference_is_described() {
        let one = behaviour(Exit::Code(0), 10, 1);
        assert_eq!(one.difference(&one), None);
        let difference = |other| one.difference(&other).unwrap();
        assert_eq!(
            difference(behaviour(Exit::Signal(11), 10, 1)),
            "it is killed by signal 11 instead of status 0"
        );
        assert_eq!(
            difference(behaviour(Exit::Code(0), 12, 2)),
            "its standard output differs (12 bytes instead of 10)"
        );
        assert!(difference(behaviour(Exit::Code(0), 10, 2)).contains("10 bytes both times"));
    }
}
