//! A command whose output is an answer.

use needless_launch::{Launch, Original, Stdio};
use needless_model::Exit;
use needless_observe::{Caller, Failure};
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Runs `text` with `sh -c`, without input, for `caller` if there is one: what it writes to standard
/// output, and how it ends.
///
/// # Errors
/// When it cannot be run.
pub fn ask(text: &OsStr, caller: Option<Caller>) -> Result<(Vec<u8>, Exit), Failure> {
    let failed = |why: String| Failure { status: Failure::BAD, message: why };
    let io = |why: std::io::Error| failed(why.to_string());
    let words = ["/bin/sh".into(), "-c".into(), text.to_owned()];
    let launch = needless_observe::launch(&words, caller)?;
    let null = std::fs::File::open("/dev/null").map_err(io)?;
    let (mut reader, writer) = std::io::pipe().map_err(io)?;
    let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(io)?;
    let given = [null.into(), writer.into(), stderr].map(Arc::new);
    let launch = Launch { stdio: Stdio::Given(given), ..launch };
    let running = needless_launch::start(&launch, Original::record());
    let running = running.map_err(|why| failed(why.to_string()))?;
    // Ours of the pipe, or it never ends.
    drop(launch);
    let mut said = Vec::new();
    reader.read_to_end(&mut said).map_err(io)?;
    let (exit, _) = running.end().map_err(|why| failed(why.to_string()))?;
    Ok((said, exit))
}
