//! A command whose output is an answer.

use needless_capture::{Caller, Failure};
use needless_launch::{Launch, Original, Stdio};
use needless_model::Exit;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsRawFd;

/// Runs `text` with `sh -c`, without input, for `caller` if there is one: what it writes to standard
/// output, and how it ends.
///
/// # Errors
/// When it cannot be run.
pub fn ask(text: &OsStr, caller: Option<Caller>) -> Result<(Vec<u8>, Exit), Failure> {
    let failed = |why: String| Failure { status: Failure::BAD, message: why };
    let io = |why: std::io::Error| failed(why.to_string());
    let words = ["/bin/sh".into(), "-c".into(), text.to_owned()];
    let launch = needless_capture::launch(&words, caller)?;
    let null = std::fs::File::open("/dev/null").map_err(io)?;
    let (mut reader, writer) = std::io::pipe().map_err(io)?;
    let stdio = Stdio::Given([null.as_raw_fd(), writer.as_raw_fd(), 2]);
    let launch = Launch { stdio, ..launch };
    let running = needless_launch::start(&launch, Original::record());
    let running = running.map_err(|why| failed(why.to_string()))?;
    drop(writer);
    let mut said = Vec::new();
    reader.read_to_end(&mut said).map_err(io)?;
    let (exit, _) = running.end().map_err(|why| failed(why.to_string()))?;
    Ok((said, exit))
}
