//! What keeps this machine from a full report, each with the command that changes it.

mod counting;
mod machine;
mod tracing;

use std::fs;
use std::path::PathBuf;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// As it should be.
    Good,
    /// needless cannot do something; the remedy says what to change.
    Bad,
    /// A fact, neither good nor bad.
    Info,
}

/// One check of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCheck {
    /// What was checked, in a word or two ("ptrace").
    pub name: &'static str,
    /// The result.
    pub state: CheckState,
    /// What was found, in one sentence.
    pub says: String,
    /// The command, or the setting, that would change it.
    pub remedy: Option<String>,
}

impl HostCheck {
    /// Whether nothing needs to be done about it.
    pub fn ok(&self) -> bool {
        self.state != CheckState::Bad
    }

    fn new(name: &'static str, state: CheckState, says: impl Into<String>) -> HostCheck {
        HostCheck { name, state, says: says.into(), remedy: None }
    }

    fn good(name: &'static str, says: impl Into<String>) -> HostCheck {
        HostCheck::new(name, CheckState::Good, says)
    }

    fn bad(name: &'static str, says: impl Into<String>) -> HostCheck {
        HostCheck::new(name, CheckState::Bad, says)
    }

    fn info(name: &'static str, says: impl Into<String>) -> HostCheck {
        HostCheck::new(name, CheckState::Info, says)
    }

    fn remedy(self, command: impl Into<String>) -> HostCheck {
        HostCheck { remedy: Some(command.into()), ..self }
    }
}

/// Checks everything that decides what needless can observe here. Starts three short programs
/// (`true` under our tracers, `strace -V` and `locale -a`) and changes nothing.
///
/// No other thread may fork meanwhile: the next process that this one forks is counted.
pub fn doctor() -> Vec<HostCheck> {
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

/// A program that does almost nothing.
fn true_program() -> Option<PathBuf> {
    ["/bin/true", "/usr/bin/true"].map(PathBuf::from).into_iter().find(|path| path.exists())
}
