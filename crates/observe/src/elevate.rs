//! `--elevate`: needless starts itself again with root's rights.

use crate::Failure;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes `sudo needless …` with the same arguments without `--elevate`; sudo asks for the password if it
/// needs one. The command then runs as the current user: see
/// [`behind`](needless_launch::behind). Returns `None` for root, and the error if sudo cannot be started.
///
/// sudo keeps options and drops settings in `NEEDLESS_…` variables.
pub fn elevate() -> Option<Failure> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let ours = |message: String| Some(Failure::new(needless_model::status::OURS, message));
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

/// Our own arguments without the first `--elevate`: a later one belongs to the command.
fn without_elevate() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--elevate") {
        arguments.remove(at);
    }
    arguments
}
