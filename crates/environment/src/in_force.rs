//! Whether a change reached the process of its unit: looked for in the process itself, not in files.

use crate::merge::{ChangeRequest, label};
use crate::redact::redact;
use crate::request::origin_of_process;
use crate::running::{main_process, run, systemd_runs};
use needless_host::start_time;
use needless_model::{Confidence, Value};
use serde::{Deserialize, Serialize};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a unit has until its process counts: a script may set variables and only then become the program.
const SETTLES: Duration = Duration::from_secs(1);
/// And how long a process that lacks the change has to get it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Units without which people and other services lose the machine.
const VITAL: [&str; 14] = [
    "dbus",
    "dbus-broker",
    "systemd-logind",
    "polkit",
    "ssh",
    "sshd",
    "NetworkManager",
    "systemd-networkd",
    "networking",
    "wpa_supplicant",
    "display-manager",
    "gdm",
    "lightdm",
    "sddm",
];

/// What a change is to bring about in the main process of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The unit, of the system's systemd.
    pub unit: String,
    variable: String,
    value: Option<String>,
    /// The process that ran before the change: its id, and its start in clock ticks since boot.
    before: Option<(u32, u64)>,
}

/// What was seen in the process. Each has a sentence, with the process's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It has the change.
    InForce(String),
    /// It runs since before the change.
    Pending(String),
    /// It does not have it, and why.
    Missing(String),
    /// There is no process, or it cannot be read.
    Unknown(String),
}

impl Expected {
    /// What to look for after a change of a unit; `None` where the change is not one that a restart of a unit makes
    /// take effect.
    pub fn of(change: &ChangeRequest) -> Option<Expected> {
        let [program, verb, unit] = &change.location.restart[..] else { return None };
        let known = program == "systemctl" && verb == "restart" && systemd_runs();
        known.then(|| Expected {
            unit: unit.clone(),
            variable: change.variable.clone(),
            value: change.value.clone(),
            before: main_process(unit).and_then(|pid| Some((pid, start_time(pid)?))),
        })
    }

    /// The same change at a place that is not certain, if the look at the main process decides about it: it is what
    /// the change is for.
    pub fn tried(&self, change: &ChangeRequest) -> Option<ChangeRequest> {
        let (pid, _) = self.before?;
        let main = format!("[{pid}]");
        let decides = change.targets.iter().all(|one| *one == self.unit || one.ends_with(&main));
        let location = &change.location;
        let doubtful = location.confidence != Confidence::High && location.file.is_some();
        (doubtful && decides && !change.targets.is_empty()).then(|| {
            let mut change = change.clone();
            change.location.confidence = Confidence::High;
            change.caveats.push(format!(
                "It is not certain that it arrives ({}): it is taken back if the new process does not have it.",
                change.location.why
            ));
            change
        })
    }

    /// What a restart of the unit may take with it.
    pub fn restart_caveat(&self) -> Option<String> {
        let name = self.unit.trim_end_matches(".service");
        let ours = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let lost = if ours.contains(&format!("/{}\n", self.unit))
            || ours.contains(&format!("/{}/", self.unit))
        {
            "this very command, which runs in it"
        } else if VITAL.contains(&name) || name.starts_with("user@") || name.starts_with("getty@") {
            "sessions, connections and other services of this machine"
        } else {
            return None;
        };
        Some(format!("Restarting {} may end {lost}.", self.unit))
    }

    /// The change in words.
    pub fn label(&self) -> String {
        label(&self.variable, self.value.as_deref())
    }

    /// Looks after a restart: at what the process is when it has settled.
    pub fn look_after_restart(&self) -> Seen {
        let words = ["systemctl", "show", "-p", "ActiveState", "--value", "--", &self.unit];
        let failed = || run(&words.map(str::to_owned)).is_ok_and(|state| state.trim() == "failed");
        match self.settled() {
            Seen::Unknown(_)
                if main_process(&self.unit).is_none() && (self.before.is_some() || failed()) =>
            {
                Seen::Missing(format!("{} does not run with it", self.unit))
            }
            seen => seen,
        }
    }

    fn settled(&self) -> Seen {
        let begin = Instant::now();
        sleep(SETTLES);
        loop {
            let seen = self.look();
            if matches!(seen, Seen::InForce(_)) || begin.elapsed() > PATIENCE {
                return seen;
            }
            sleep(SETTLES / 4);
        }
    }

    /// Looks at the main process as it is now: at the environment it was started with, and at the one it has.
    pub fn look(&self) -> Seen {
        let unit = &self.unit;
        let Some(pid) = main_process(unit) else {
            return Seen::Unknown(format!("{unit} does not run"));
        };
        let (chain, mut trace) = match origin_of_process(pid, &self.variable) {
            Ok(found) => found,
            Err(why) => return Seen::Unknown(why.to_string()),
        };
        let Some(me) = chain.last() else { return Seen::Unknown(format!("{unit} does not run")) };
        let who = format!("{}[{pid}]", me.name());
        let has = |value: &Value| match value {
            Value::Unknown(_) => None,
            value => Some(value.text() == self.value.as_deref()),
        };
        match (has(&me.initial), has(&me.live)) {
            (None, None) => Seen::Unknown(format!("the environment of {who} cannot be read")),
            (Some(true) | None, Some(true) | None) => Seen::InForce(who),
            _ if self.before == Some((pid, me.started)) => {
                Seen::Pending(format!("{who} was started before the change"))
            }
            (Some(true), Some(false)) => Seen::Missing(format!(
                "{who} was started with it, and then changed {} itself",
                self.variable
            )),
            _ => {
                redact(&mut trace.provenance);
                Seen::Missing(format!("{who} does not have it: {}", trace.provenance.answer))
            }
        }
    }
}
