//! Why a command could not be started, in one line each.

use needless_model::status;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// needless needs at least so many open files to start a command under ptrace.
const OPEN_FILES: u32 = 10;

/// Why a command could not be started. [`Display`](fmt::Display) is one line with what to do about
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// A step of needless failed before the command ran.
    Start {
        /// What ("fork").
        what: &'static str,
        /// Why.
        errno: Errno,
    },
    /// A signal ended the command before it was executed.
    Killed {
        /// Its number.
        signal: i32,
    },
    /// The seccomp filter could not be installed.
    Filter {
        /// Why.
        errno: Errno,
    },
    /// The command exists, and the program that runs it does not.
    Interpreter {
        /// The file.
        program: PathBuf,
        /// The interpreter that a script names; `None` for other programs, which name a loader.
        interpreter: Option<Vec<u8>>,
    },
    /// There is no such user.
    User {
        /// The name or number.
        name: String,
    },
    /// The groups of a user could not be read.
    Groups {
        /// The user.
        name: String,
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

impl LaunchError {
    /// execve(2) of `program` failed with `errno`.
    pub(crate) fn exec(program: &Path, errno: Errno) -> LaunchError {
        let program = program.to_owned();
        if errno != Errno::ENOENT || !program.exists() {
            return LaunchError::Exec { program, errno };
        }
        // The kernel does not read more of it.
        let mut start = Vec::new();
        if let Ok(file) = File::open(&program) {
            let _ = file.take(256).read_to_end(&mut start);
        }
        let interpreter = start.strip_prefix(b"#!").map(|rest| {
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or(rest);
            let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
            words.find(|word| !word.is_empty()).unwrap_or_default().to_owned()
        });
        LaunchError::Interpreter { program, interpreter }
    }

    /// The exit status for it, one of [`status`].
    pub fn status(&self) -> i32 {
        match self {
            LaunchError::Exec { errno: Errno::ENOENT, .. } => status::NOT_FOUND,
            // The kernel reports a missing interpreter in the same way.
            LaunchError::Interpreter { .. } => status::NOT_FOUND,
            LaunchError::Exec { .. } => status::NOT_EXECUTABLE,
            LaunchError::Start { .. }
            | LaunchError::Killed { .. }
            | LaunchError::Filter { .. }
            | LaunchError::User { .. }
            | LaunchError::Groups { .. } => status::OURS,
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Start { errno: Errno::EMFILE, .. } => {
                f.write_str("cannot start the command: the limit of open files")?;
                if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
                    write!(f, ", {soft} (ulimit -n),")?;
                }
                write!(f, " is too low for needless, which needs at least {OPEN_FILES}")
            }
            LaunchError::Start { what, errno } => {
                write!(f, "cannot start the command: {what}: {}", errno.desc())
            }
            LaunchError::Killed { signal } => {
                write!(
                    f,
                    "the command was ended by signal {signal} before it was executed: no report"
                )
            }
            LaunchError::Filter { errno } => write!(
                f,
                "cannot install a seccomp filter ({}); use --all, which needs none",
                errno.desc()
            ),
            LaunchError::Interpreter { program, interpreter: Some(interpreter) } => {
                write!(f, "cannot run {}: its interpreter ", program.display())?;
                write!(f, "{} is missing", interpreter.escape_ascii())?;
                if interpreter.ends_with(b"\r") {
                    f.write_str(
                        " (\\r: its lines end as in a file of Windows; dos2unix changes that)",
                    )?;
                }
                Ok(())
            }
            LaunchError::Interpreter { program, interpreter: None } => write!(
                f,
                "cannot run {0}: the loader that it names is missing; `file {0}` shows which",
                program.display()
            ),
            LaunchError::User { name } => write!(f, "there is no user {name:?}"),
            LaunchError::Groups { name, errno } => {
                write!(f, "the groups of user {name}: {errno}")
            }
            LaunchError::Exec { program, errno } => {
                write!(f, "cannot run {}: {}", program.display(), errno.desc())
            }
        }
    }
}

impl std::error::Error for LaunchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses_are_as_of_env() {
        let exec = |errno| LaunchError::Exec { program: "x".into(), errno }.status();
        assert_eq!(
            (exec(Errno::ENOENT), exec(Errno::EACCES), exec(Errno::ENOEXEC)),
            (127, 126, 126)
        );
        assert_eq!(LaunchError::Filter { errno: Errno::EINVAL }.status(), 125);
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        let says = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let error = LaunchError::exec(&file, Errno::ENOENT);
            assert_eq!(error.status(), 127);
            error.to_string()
        };
        assert!(says("#! /no/interp -x\n").ends_with("its interpreter /no/interp is missing"));
        assert!(says("#!/bin/sh\r\n").contains(r"its interpreter /bin/sh\r is missing (\r: "));
        assert!(says("\x7fELF").contains("the loader that it names is missing"));
        std::fs::remove_file(&file).unwrap();
        let gone = LaunchError::exec(&file, Errno::ENOENT).to_string();
        assert!(gone.ends_with("No such file or directory"), "{gone}");
    }

    #[test]
    fn too_few_descriptors_are_the_limits_fault() {
        let says = LaunchError::Start { what: "pipe", errno: Errno::EMFILE }.to_string();
        assert!(says.contains("(ulimit -n), is too low"), "{says}");
    }
}
