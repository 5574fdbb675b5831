//! What stands between this machine and a full report, each with the command that changes it.

mod counting;
mod machine;
mod tracing;

use std::fs;
use std::path::PathBuf;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// Needless cannot do something; the remedy says what to change.
    Bad,
    /// A fact, neither good nor bad.
    Told,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What: a word or two ("ptrace").
    pub name: &'static str,
    /// How it came out.
    pub state: State,
    /// What was found, in one sentence.
    pub says: String,
    /// The command, or the setting, that would change it.
    pub remedy: Option<String>,
}

impl Check {
    /// Whether nothing needs to be done about it.
    pub fn ok(&self) -> bool {
        self.state != State::Bad
    }

    fn new(name: &'static str, state: State, says: impl Into<String>) -> Check {
        Check { name, state, says: says.into(), remedy: None }
    }

    fn remedy(self, command: impl Into<String>) -> Check {
        Check { remedy: Some(command.into()), ..self }
    }
}

/// Looks at everything that decides what needless can see here. Starts three short programs
/// (`true` under our tracers, `strace -V` and `locale -a`) and changes nothing.
///
/// No other thread may fork meanwhile: what is counted is the next process that ours forks.
pub fn doctor() -> Vec<Check> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut checks = vec![machine::kernel()];
    checks.extend(counting::checks(&status));
    checks.extend(tracing::checks(&status));
    checks.extend(machine::checks());
    checks
}

/// A field of `/proc/PID/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let after_name = |line: &'a str| line.strip_prefix(name)?.strip_prefix(':');
    status.lines().find_map(after_name).map(str::trim)
}

/// A program that does next to nothing.
fn true_program() -> Option<PathBuf> {
    ["/bin/true", "/usr/bin/true"].map(PathBuf::from).into_iter().find(|path| path.exists())
}
