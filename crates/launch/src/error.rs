//! Why a command could not be started, in one line each.

use nix::errno::Errno;
use std::fmt;
use std::path::PathBuf;

/// Why a command could not be started. [`Display`](fmt::Display) is one line with what to do about
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Something of ours failed before the command ran.
    Start {
        /// What ("fork").
        what: &'static str,
        /// Why.
        errno: Errno,
    },
    /// The seccomp filter could not be installed.
    Filter {
        /// Why.
        errno: Errno,
    },
    /// The command could not be executed.
    Exec {
        /// The file.
        program: PathBuf,
        /// Why.
        errno: Errno,
    },
}

impl Error {
    /// The exit status for it, as GNU env has them: 127 the command is not there, 126 it is but
    /// cannot be run, 125 the fault is ours.
    pub fn status(&self) -> i32 {
        match self {
            Error::Exec { errno: Errno::ENOENT, .. } => 127,
            Error::Exec { .. } => 126,
            Error::Start { .. } | Error::Filter { .. } => 125,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Start { what, errno } => {
                write!(f, "cannot start the command: {what}: {}", errno.desc())
            }
            Error::Filter { errno } => write!(
                f,
                "cannot install a seccomp filter ({}); use --all, which needs none",
                errno.desc()
            ),
            Error::Exec { program, errno } => {
                write!(f, "cannot run {}: {}", program.display(), errno.desc())
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses_are_those_of_env() {
        let exec = |errno| Error::Exec { program: "x".into(), errno }.status();
        assert_eq!(
            (exec(Errno::ENOENT), exec(Errno::EACCES), exec(Errno::ENOEXEC)),
            (127, 126, 126)
        );
        assert_eq!(Error::Filter { errno: Errno::EINVAL }.status(), 125);
    }
}
