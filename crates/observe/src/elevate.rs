//! Starting again with root's rights.

use crate::Failure;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes `sudo needless …` with the same arguments but `--elevate`; sudo asks for the password if it
/// wants one. The command is then run as who we are now: see
/// [`behind`](needless_launch::behind). `None` for root, who needs no sudo.
///
/// Settings made by `NEEDLESS_…` variables do not pass sudo; options do.
pub fn elevate() -> Option<Failure> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let ours = |message: String| Some(Failure::new(Failure::OURS, message));
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return ours(format!("cannot find our own program: {error}")),
    };
    let error = Command::new("sudo").arg("--").arg(program).args(without_elevate()).exec();
    ours(match error.kind() {
        std::io::ErrorKind::NotFound => {
            "--elevate needs sudo, which is not installed; run needless as root".into()
        }
        _ => format!("cannot start sudo: {error}"),
    })
}

/// Our own arguments without the first `--elevate`: a later one is the command's.
fn without_elevate() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--elevate") {
        arguments.remove(at);
    }
    arguments
}
