//! Runs another program for its output; if it fails, the error is its complaint in one line.

use crate::HostError;
use std::ffi::OsStr;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The most that is read of an answer, bytes.
const LARGEST: u64 = 4 << 20;

/// The executable `name` in a directory of `path`, a `PATH`. Relative directories do not count:
/// this may run with more rights than the directory's owner.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    let usable = |file: &PathBuf| {
        file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    dirs.map(|dir| dir.join(name)).find(usable)
}

/// The standard output of a program that runs in the C locale. After `patience` it is killed.
///
/// # Errors
/// Why it did not start, that it took too long, or what it complained about.
pub fn run_for_output(mut command: Command, patience: Duration) -> Result<String, HostError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LC_ALL", "C");
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // Both are read at once: a full pipe would stop the program.
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let end = Instant::now() + patience;
    let late = || HostError::from(format!("no answer within {} s", patience.as_secs_f32()));
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() >= end => {
                // It may have ended just now, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                return Err(late());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    // A process that it left running may hold the pipes open.
    let left = || end.saturating_duration_since(Instant::now());
    if status.success() {
        return out.recv_timeout(left()).map_err(|_| late());
    }
    let complaint = err.recv_timeout(left()).unwrap_or_default();
    Err(one_line(&complaint).unwrap_or_else(|| status.to_string()).into())
}

/// Reads to the end on a thread of its own.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What came before an error is still worth showing.
            let _ = pipe.take(LARGEST).read_to_end(&mut bytes);
        }
        // The receiver is gone if it took too long.
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

/// The first line of a complaint, at most 160 characters.
fn one_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_end_matches('.');
    Some(line.chars().filter(|c| !c.is_control()).take(160).collect())
}
