//! One run: counted or timed, its output read and forgotten.

use crate::output::{self, Written};
use needless_launch::{Launch, Original, Running, Stdio, TerminationSignals};
use needless_model::{Exit, Usage};
use needless_observe::Failure;
use regex::bytes::Regex;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a command is given to end after Ctrl-C, before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// As long as it takes.
const EVER: Duration = Duration::from_secs(1 << 20);

/// What a run is given and how its output is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// Its input, from the start in every run; `/dev/null` if `None`.
    pub(crate) stdin: Option<PathBuf>,
    /// What of each line of its output is left out.
    pub(crate) ignored: Option<Regex>,
}

/// What a user would notice of a run.
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
        Some(match was == is {
            true => format!("its standard output differs ({is} bytes both times)"),
            false => format!("its standard output differs ({is} bytes instead of {was})"),
        })
    }
}

fn ended(exit: Exit) -> String {
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

impl Streams {
    /// Does `act` with descriptors for the standard streams of a command, until nobody has the
    /// other end of its output, or `enough` says that it need not be waited for.
    pub(crate) fn with<T>(
        &self,
        enough: impl Fn(BorrowedFd<'_>) -> bool,
        act: impl FnOnce([Arc<OwnedFd>; 3]) -> Result<T, Failure>,
    ) -> Result<(T, Written), Failure> {
        let ours = |what: String| Failure { status: Failure::BAD, message: what };
        let null = |e| ours(format!("cannot open /dev/null: {e}"));
        let stdin = match &self.stdin {
            Some(file) => {
                let cannot = |why: &dyn std::fmt::Display| {
                    ours(format!("--stdin: cannot open {}: {why}", file.display()))
                };
                // A pipe would be empty for the second run.
                let about = file.metadata().map_err(|e| cannot(&e))?;
                if !about.is_file() && !about.file_type().is_char_device() {
                    return Err(cannot(&"it is no file, which each run can read from its start"));
                }
                File::open(file).map_err(|e| cannot(&e))?
            }
            None => File::open("/dev/null").map_err(null)?,
        };
        let stderr = File::options().write(true).open("/dev/null").map_err(null)?;
        let pipe = || std::io::pipe().map_err(|e| ours(format!("cannot make a pipe: {e}")));
        let ((reader, writer), (told, teller)) = (pipe()?, pipe()?);
        let ignored = self.ignored.clone();
        // Signals are for the thread that waits for them.
        let original = Original::record_and_block().map_err(|e| ours(e.to_string()))?;
        let read = std::thread::spawn(move || {
            let written = output::read(reader, ignored.as_ref());
            drop(teller);
            written
        });
        original.restore_mask();
        // What is given away is closed when the command has it: the output ends with the command.
        let streams: [OwnedFd; 3] = [stdin.into(), writer.into(), stderr.into()];
        let done = act(streams.map(Arc::new));
        if done.is_ok() && enough(told.as_fd()) {
            // Somebody still has the other end: the thread reads on until they let go, or we end.
            return Err(ours(INTERRUPTED.into()));
        }
        let done = done?;
        let written = read.join().map_err(|_| ours("the reader of the output failed".into()))?;
        Ok((done, written))
    }
}

/// Ended by the user.
const INTERRUPTED: &str = "interrupted";

/// A timed run, untraced. `None` if the user ended it.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn timed(
    launch: Launch,
    original: Original,
    streams: &Streams,
    endings: &TerminationSignals,
) -> Result<Option<(Behaviour, Usage)>, Failure> {
    let failed =
        |e: needless_launch::LaunchError| Failure { status: Failure::BAD, message: e.to_string() };
    let interrupted = || Failure { status: Failure::BAD, message: INTERRUPTED.into() };
    let ran = streams.with(
        |told| endings.wait(Some(told), EVER),
        |fds| {
            let launch = Launch { stdio: Stdio::Given(fds), ..launch };
            let running = needless_launch::start(&launch, original).map_err(failed)?;
            wait(running, endings).map_err(failed)?.ok_or_else(interrupted)
        },
    );
    match ran {
        Ok(((exit, usage), written)) => Ok(Some((Behaviour { exit, written }, usage))),
        Err(failure) if failure.message == INTERRUPTED => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Waits for the end of `running`. `None` if the user ended it.
///
/// # Errors
/// When it could not be executed.
pub(crate) fn wait(
    running: Running,
    endings: &TerminationSignals,
) -> Result<Option<(Exit, Usage)>, needless_launch::LaunchError> {
    if endings.wait(Some(running.readable()), EVER) {
        // From a terminal it has this signal already; from `kill` it has not.
        running.signal(SIGINT);
        endings.wait(Some(running.readable()), GRACE);
        // Dropped: killed, if it still lives.
        return Ok(None);
    }
    running.end().map(Some)
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
    fn a_difference_is_told_in_words() {
        let one = behaviour(Exit::Code(0), 10, 1);
        assert_eq!(one.difference(&one), None);
        let told = |other| one.difference(&other).unwrap();
        assert_eq!(
            told(behaviour(Exit::Signal(11), 10, 1)),
            "it is killed by signal 11 instead of status 0"
        );
        assert_eq!(
            told(behaviour(Exit::Code(0), 12, 2)),
            "its standard output differs (12 bytes instead of 10)"
        );
        assert!(told(behaviour(Exit::Code(0), 10, 2)).contains("10 bytes both times"));
    }
}
