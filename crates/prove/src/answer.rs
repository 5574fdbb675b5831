//! A command whose output is an answer.

use crate::ProveError;
use needless_launch::{Launch, Original, Stdio};
use needless_model::Exit;
use needless_observe::Caller;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Runs `text` with `sh -c`, without input, for `caller` if there is one. Returns its standard output, and how it
/// ended.
///
/// # Errors
/// When it cannot be run.
pub(crate) fn answer(text: &OsStr, caller: Option<Caller>) -> Result<(Vec<u8>, Exit), ProveError> {
    let words = ["/bin/sh".into(), "-c".into(), text.to_owned()];
    let launch = needless_observe::launch(&words, caller)?;
    let null = std::fs::File::open("/dev/null").map_err(ProveError::io("cannot open /dev/null"))?;
    let (mut reader, writer) = std::io::pipe().map_err(ProveError::io("cannot make a pipe"))?;
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    let stderr = stderr.map_err(ProveError::io("cannot hand on standard error"))?;
    let given = [null.into(), writer.into(), stderr].map(Arc::new);
    let launch = Launch { stdio: Stdio::Given(given), ..launch };
    let running =
        needless_launch::start(&launch, Original::record()).map_err(ProveError::launch)?;
    // Our copy of the write end: the read end reports no end before it is closed.
    drop(launch);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).map_err(ProveError::io("cannot read the output"))?;
    let (exit, _) = running.end().map_err(ProveError::launch)?;
    Ok((output, exit))
}
