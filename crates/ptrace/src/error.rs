//! Why a command could not be run or traced, in one line each.

use nix::errno::Errno;
use std::fmt;
use std::path::Path;

/// Why a command could not be run or traced. [`Display`](fmt::Display) is one line with what to
/// do about it.
#[derive(Debug)]
pub enum TraceError {
    /// The command could not be started.
    Launch(needless_launch::LaunchError),
    /// The kernel or the container forbids tracing.
    Forbidden(String),
    /// needless does not know this machine's system calls.
    Architecture,
}

impl From<needless_launch::LaunchError> for TraceError {
    fn from(error: needless_launch::LaunchError) -> TraceError {
        TraceError::Launch(error)
    }
}

impl TraceError {
    /// A step of needless failed before the command ran.
    pub(crate) fn start(what: &'static str, errno: Errno) -> TraceError {
        TraceError::Launch(needless_launch::LaunchError::Start { what, errno })
    }

    /// The exit status for it: see [`needless_launch::LaunchError::status`].
    pub fn status(&self) -> i32 {
        match self {
            TraceError::Launch(error) => error.status(),
            TraceError::Forbidden(_) | TraceError::Architecture => needless_model::status::OURS,
        }
    }

    /// `PTRACE_SEIZE` of our own child failed with `errno`: finds what forbids it.
    pub(crate) fn forbidden(errno: Errno) -> TraceError {
        let tracer = status_field("TracerPid:").filter(|pid| pid != "0");
        let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
        let yama = yama.map(|text| text.trim().to_owned()).unwrap_or_default();
        let filtered = status_field("Seccomp:").is_some_and(|mode| mode != "0");
        TraceError::Forbidden(forbidden_because(errno, tracer.as_deref(), &yama, filtered))
    }
}

fn forbidden_because(errno: Errno, tracer: Option<&str>, yama: &str, filtered: bool) -> String {
    if let Some(pid) = tracer {
        return format!(
            "cannot trace: needless is itself traced by process {pid} (strace, gdb?); run needless outside of it"
        );
    }
    match yama {
        "2" => return "cannot trace: kernel.yama.ptrace_scope is 2 (root only); run needless as root, or: sudo sysctl kernel.yama.ptrace_scope=1".into(),
        "3" => return "cannot trace: kernel.yama.ptrace_scope is 3 (no process may trace, until reboot); use `strace -f -o LOG` elsewhere and `needless read LOG`".into(),
        _ => {}
    }
    if filtered {
        return format!(
            "cannot trace ({errno}): the container's seccomp profile forbids ptrace; start it with --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined"
        );
    }
    format!(
        "cannot trace ({errno}): a security module forbids ptrace; see `dmesg` and `cat /proc/self/attr/current`"
    )
}

fn status_field(name: &str) -> Option<String> {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Launch(error) => error.fmt(f),
            TraceError::Forbidden(why) => f.write_str(why),
            TraceError::Architecture => write!(
                f,
                "cannot trace on {}: only x86-64 and aarch64 are known; use `strace -f -o LOG` and `needless read LOG`",
                std::env::consts::ARCH
            ),
        }
    }
}

impl std::error::Error for TraceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_what_would_help() {
        let why = |tracer, yama, filtered| forbidden_because(Errno::EPERM, tracer, yama, filtered);
        assert!(why(Some("17"), "2", true).contains("traced by process 17"));
        assert!(why(None, "2", false).contains("sysctl kernel.yama.ptrace_scope=1"));
        assert!(why(None, "3", false).contains("needless read"));
        assert!(why(None, "1", true).contains("--cap-add=SYS_PTRACE"));
        assert!(why(None, "", false).contains("security module"));
    }
}
