//! How a change of a place comes into force: which command has a process take its environment anew, and in which
//! process the change is then seen.
//!
//! A process keeps the environment that it was started with (execve(2)), and systemd reads the files of a unit for its
//! next start (systemd.exec(5)): a change of a unit needs a restart, and a reload is never enough. A reload is enough
//! only where a daemon then starts other processes with a new environment, as php-fpm does with its workers and
//! supervisord with its programs. The format of such a place says so: it finds such a process ([`Place::worker`]).
//!
//! [`Place::worker`]: crate::place::Place

use crate::error::EnvironmentError;
use crate::running::{property, run, systemd_runs};
use needless_host::start_time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Finds the process that the daemon started last for a part of the file.
pub(crate) type FindWorker = fn(&WorkerQuery<'_>) -> Option<u32>;

/// Which process is looked for.
#[derive(Debug)]
pub(crate) struct WorkerQuery<'a> {
    /// The processes of the daemon's unit, where it is one.
    pub(crate) processes: &'a [u32],
    /// The file, and the part of it.
    pub(crate) file: &'a str,
    pub(crate) part: Option<&'a str>,
}

/// The process of all that `is_its` which was started last.
pub(crate) fn newest(is_its: impl Fn(u32) -> bool) -> Option<u32> {
    let all = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_its(*pid)).max_by_key(|pid| start_time(*pid))
}

/// What brings a change into force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// Nothing that is known.
    #[default]
    Unknown,
    /// systemd reads the files of units again.
    DaemonReload {
        /// Whether it is the user's own systemd.
        user: bool,
    },
    /// A unit of systemd is started anew.
    Restart {
        /// Its name, with its suffix.
        unit: String,
        /// Whether it is a unit of the user's own systemd.
        user: bool,
    },
    /// Each of these. None of them is done by needless, which can look at the process of one.
    Each(Vec<Activation>),
    /// The daemon of a unit reads its files again, and goes on with its environment.
    Reload {
        /// The unit's name, with its suffix.
        unit: String,
        /// Whether systemd is to restart it where it cannot be reloaded, and to leave it alone where it does not run.
        try_or_restart: bool,
    },
    /// supervisord reads its files again.
    Reread,
    /// supervisord removes this group of programs and adds it again.
    Update(String),
    /// The supervisor of the run script in this directory starts its program anew.
    RunScript(Supervisor, String),
    /// An init script starts its daemon anew.
    InitScript {
        /// Its name.
        name: String,
        /// Whether OpenRC runs it.
        openrc: bool,
    },
}

/// Who supervises the program of a run script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Supervisor {
    /// runsv of runit.
    Runit,
    /// s6-supervise.
    S6,
    /// supervise of daemontools.
    Daemontools,
}

impl Activation {
    pub(crate) fn restart(unit: &str) -> Activation {
        Activation::Restart { unit: unit.to_owned(), user: false }
    }

    /// Whether there is something to run.
    pub fn is_known(&self) -> bool {
        !self.words().is_empty()
    }

    /// One of these, or each.
    pub(crate) fn of_all(mut all: Vec<Activation>) -> Activation {
        match all.len() {
            0 => Activation::Unknown,
            1 => all.remove(0),
            _ => Activation::Each(all),
        }
    }

    /// The commands, where each is for the user to run: empty where needless runs the only one.
    pub fn left_to_user(&self) -> &[Activation] {
        match self {
            Activation::Each(all) => all,
            _ => &[],
        }
    }

    /// The command that does it; empty where nothing is known, and where there are several.
    pub fn words<'a>(&'a self) -> Vec<&'a str> {
        let user: &[&str] = if self.is_of_user() { &["--user"] } else { &[] };
        let systemctl = |words: &[&'a str]| [&["systemctl"], user, words].concat();
        match self {
            Activation::Unknown | Activation::Each(_) => Vec::new(),
            Activation::DaemonReload { .. } => systemctl(&["daemon-reload"]),
            Activation::Restart { unit, .. } => systemctl(&["restart", unit]),
            Activation::Reload { unit, try_or_restart: false } => systemctl(&["reload", unit]),
            Activation::Reload { unit, .. } => systemctl(&["try-reload-or-restart", unit]),
            Activation::Reread => vec!["supervisorctl", "reread"],
            Activation::Update(group) => vec!["supervisorctl", "update", group],
            Activation::RunScript(Supervisor::Runit, dir) => vec!["sv", "restart", dir],
            Activation::RunScript(Supervisor::S6, dir) => vec!["s6-svc", "-r", dir],
            Activation::RunScript(Supervisor::Daemontools, dir) => vec!["svc", "-t", dir],
            Activation::InitScript { name, openrc: true } => vec!["rc-service", name, "restart"],
            Activation::InitScript { name, .. } => vec!["service", name, "restart"],
        }
    }

    /// What was done by it: "restarted", or "reloaded".
    pub fn verb(&self) -> &'static str {
        match self {
            Activation::DaemonReload { .. } | Activation::Reload { .. } => "reloaded",
            _ => "restarted",
        }
    }

    /// The unit of systemd that it is about.
    pub(crate) fn unit(&self) -> Option<&str> {
        match self {
            Activation::Restart { unit, .. } | Activation::Reload { unit, .. } => Some(unit),
            _ => None,
        }
    }

    /// The unit, the daemon or the directory of a run script in whose process a change is seen afterwards; `None` where
    /// none is known.
    pub(crate) fn seen_in(&self) -> Option<&str> {
        match self {
            Activation::Update(_) => Some("supervisord"),
            Activation::RunScript(_, dir) => Some(dir),
            _ => self.unit(),
        }
    }

    /// Whether it is of the user's own systemd.
    pub(crate) fn is_of_user(&self) -> bool {
        use Activation::{DaemonReload, Restart};
        matches!(self, DaemonReload { user: true } | Restart { user: true, .. })
    }

    /// Whether the daemon goes on, with its environment, and starts other processes.
    pub(crate) fn keeps_daemon(&self) -> bool {
        matches!(self, Activation::Reload { .. } | Activation::Update(_))
    }

    /// Does it.
    ///
    /// # Errors
    /// When its program is not installed, took too long, or failed, with its complaint.
    pub fn run(&self) -> Result<(), EnvironmentError> {
        let mut words = self.words();
        // systemctl would wait for the end of the program.
        if let Activation::Restart { unit, user: false } = self
            && is_running_oneshot(unit)
        {
            words.insert(2, "--no-block");
        }
        run(&words).map(|_| ())
    }

    /// Does it after a change of a file, such as `systemctl daemon-reload`. Returns a sentence where that has to be done
    /// elsewhere.
    ///
    /// # Errors
    /// As of [`Activation::run`].
    pub fn take_effect(&self) -> Result<Option<String>, EnvironmentError> {
        if self.words().first() == Some(&"systemctl") && !systemd_runs() {
            return Ok(Some(format!("systemd does not run here: run `{self}` where it does")));
        }
        // A unit that failed too often is not started again before this (systemd.unit(5), StartLimitBurst=).
        if let Activation::Restart { unit, user } = self {
            let whose = if *user { "--user" } else { "--system" };
            // It fails where the unit is not loaded, and there is nothing to reset.
            let _ = run(&["systemctl", whose, "reset-failed", "--", unit]);
        }
        self.run().map(|()| None)
    }
}

/// Its command.
impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

/// Whether a unit of Type=oneshot (systemd.service(5)) has not ended yet: it has not "started" until then.
fn is_running_oneshot(unit: &str) -> bool {
    property(unit, false, "Type") == "oneshot"
        && property(unit, false, "ActiveState") == "activating"
}

/// The process that a supervisor of run scripts has in `dir`, from its file of state: that of runit and daemontools has
/// the id in the bytes 12 to 15, the lowest first; that of s6, which is longer, in 24 to 31, the highest first.
pub(crate) fn supervised(dir: &str) -> Option<u32> {
    let bytes = std::fs::read(format!("{dir}/supervise/status")).ok()?;
    let pid = match bytes.len() {
        18..=20 => u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?),
        35.. => u64::from_be_bytes(bytes.get(24..32)?.try_into().ok()?).try_into().ok()?,
        _ => return None,
    };
    (pid > 0).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_where_they_are_seen() {
        let (unit, dir) = ("a.service".to_owned(), "/etc/sv/a".to_owned());
        let reload = |unit, try_or_restart| Activation::Reload { unit, try_or_restart };
        for (activation, words, seen_in) in [
            (Activation::restart("a.service"), "systemctl restart a.service", Some("a.service")),
            (
                Activation::Restart { unit: unit.clone(), user: true },
                "systemctl --user restart a.service",
                Some("a.service"),
            ),
            (reload(unit.clone(), false), "systemctl reload a.service", Some("a.service")),
            (reload(unit, true), "systemctl try-reload-or-restart a.service", Some("a.service")),
            (Activation::Update("web".to_owned()), "supervisorctl update web", Some("supervisord")),
            (
                Activation::RunScript(Supervisor::Runit, dir),
                "sv restart /etc/sv/a",
                Some("/etc/sv/a"),
            ),
            (Activation::DaemonReload { user: true }, "systemctl --user daemon-reload", None),
            (Activation::Unknown, "", None),
        ] {
            assert_eq!((&*activation.to_string(), activation.seen_in()), (words, seen_in));
            assert_eq!(activation.verb() == "reloaded", words.contains("reload"), "{words}");
        }
    }
}
