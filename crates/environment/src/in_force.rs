//! Whether a change reached the processes of its unit: looked for in the processes themselves, not in files.

mod look;

use crate::activation::{Activation, FindWorker, WorkerQuery, supervised};
use crate::merge::{ChangeRequest, label};
use crate::place_list::PLACES;
use crate::running::{main_process_of, processes_of_unit, property, systemd_runs};
use crate::settings::SETTINGS;
use look::OldProcess;
use needless_host::start_time;
use needless_model::Confidence;
use serde::{Deserialize, Serialize};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a unit has until its process counts: a script may set variables and only then become the program.
const SETTLES: Duration = Duration::from_secs(1);
/// And how long a process that lacks the change has to get it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long systemd may take to stop and start a unit.
const JOB: Duration = Duration::from_secs(120);

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

/// What a change is to bring about in a process of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The unit.
    pub unit: String,
    /// Whether it is a unit of the user's own systemd.
    #[serde(default)]
    pub user: bool,
    /// The variable.
    pub variable: String,
    value: Option<String>,
    /// The process that ran before the change: its id, and its start in clock ticks since boot.
    before: Option<(u32, u64)>,
    /// The other processes that are to have it: those that had the same value before, or made the calls. After a restart
    /// they are known by the name of their program.
    #[serde(default)]
    others: Vec<OldProcess>,
    /// Whether the main process only starts these, and need not have it.
    #[serde(default)]
    starter: bool,
    /// What brings it into force.
    pub activation: Activation,
    /// The format, the file and its part whose worker gets it; by default the main process does.
    #[serde(default)]
    worker: Option<(String, String, Option<String>)>,
    /// The place, where what it sets is no variable.
    #[serde(default)]
    setting: Option<String>,
    /// What gets it when it is started next, without a restart of anything: "session".
    #[serde(default)]
    pub next: Option<String>,
    /// The rules whose needless calls are to stop; none where the user named the change.
    #[serde(default)]
    pub rules: Vec<String>,
    /// The calls before the change, where they were counted.
    #[serde(default)]
    pub calls: Option<Calls>,
}

/// The calls of the processes of a unit in a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Those that the change is to save.
    pub needless: u64,
    /// All others.
    pub others: u64,
    /// Length of the window in nanoseconds, not 0.
    pub length_ns: u64,
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

/// By `ActiveState=` of the unit; it is empty where systemd cannot be asked.
fn was_stopped(state: &str) -> bool {
    matches!(state, "inactive" | "deactivating")
}

impl Expected {
    /// What to look for after a change of a unit; `None` where the change is not one that a restart of a unit makes
    /// take effect.
    pub fn of(change: &ChangeRequest) -> Option<Expected> {
        let location = &change.location;
        let part = location.part.as_deref();
        let next = (location.place.next)(part).filter(|_| location.file.is_some());
        let activation = &location.activation;
        let of_unit = activation.unit().is_some();
        let unit = match next {
            Some(_) => &location.label,
            None => activation.seen_in().filter(|_| !of_unit || systemd_runs())?,
        };
        let user = next.is_none() && activation.is_of_user();
        let reload = next.is_some() || activation.keeps_daemon();
        // After a reload, only a worker that was started since has it.
        let worker = location.place.worker.filter(|_| reload);
        if reload != worker.is_some() {
            return None;
        }
        let file = location.file.clone().unwrap_or_default();
        let mut expected = Expected {
            unit: unit.to_owned(),
            user,
            variable: change.variable.clone(),
            value: change.value.clone(),
            before: None,
            others: Vec::new(),
            starter: false,
            activation: activation.clone(),
            worker: worker.map(|_| (location.place.name.to_owned(), file, location.part.clone())),
            setting: location.place.look.map(|_| location.place.name.to_owned()),
            next: next.map(str::to_owned),
            rules: change.rules.clone(),
            calls: None,
        };
        expected.before = expected.process().and_then(|pid| Some((pid, start_time(pid)?)));
        expected.remember();
        Some(expected)
    }

    /// Whether both are about the same change of the same unit.
    pub fn is_same(&self, other: &Expected) -> bool {
        let key = |one: &Expected| (one.unit.clone(), one.user, one.variable.clone());
        key(self) == key(other) && (&self.value, &self.worker) == (&other.value, &other.worker)
    }

    /// Whether it is about a unit of systemd.
    pub fn is_unit(&self) -> bool {
        self.next.is_none() && self.activation.unit().is_some()
    }

    /// The processes whose calls the change is to save, where that is not all of a unit.
    pub fn only(&self) -> Option<u32> {
        if self.is_unit() { None } else { self.process() }
    }

    /// The process that is to have the change.
    fn process(&self) -> Option<u32> {
        match self.worker_of() {
            Some((find, file, part)) => {
                let of_unit = self.is_unit().then(|| processes_of_unit(&self.unit));
                find(&WorkerQuery { processes: &of_unit.unwrap_or_default(), file, part })
            }
            None if !self.is_unit() => supervised(&self.unit),
            None => main_process_of(&self.unit, self.user),
        }
    }

    fn worker_of(&self) -> Option<(FindWorker, &str, Option<&str>)> {
        let (name, file, part) = self.worker.as_ref()?;
        let place = PLACES.iter().chain(SETTINGS).find(|place| place.name == name)?;
        Some((place.worker?, file, part.as_deref()))
    }

    /// Whether the unit or daemon runs.
    pub fn runs(&self) -> bool {
        if !self.is_unit() {
            return self.process().is_some();
        }
        main_process_of(&self.unit, self.user).is_some()
    }

    /// Whether it is up, or on its way: a restart of it starts nothing that was stopped.
    pub fn is_active(&self) -> bool {
        if !self.is_unit() {
            return self.process().is_some();
        }
        matches!(&*self.show("ActiveState"), "active" | "activating" | "reloading" | "refreshing")
    }

    /// Whether systemd says that the unit is stopped, once what it does with it has ended. A unit that failed, or is on its
    /// way, was being started.
    pub fn is_stopped(&self) -> bool {
        self.wait_for_its_job();
        self.is_unit() && was_stopped(&self.show("ActiveState"))
    }

    /// The same change at a place that is not certain, if the look at the main process decides about it: it is what
    /// the change is for.
    pub fn tried(&self, change: &ChangeRequest) -> Option<ChangeRequest> {
        let (pid, _) = self.before.filter(|_| self.next.is_none())?;
        let main = format!("[{pid}]");
        let decides = change.targets.iter().all(|one| *one == self.unit || one.ends_with(&main));
        let location = &change.location;
        let doubtful = location.confidence != Confidence::High
            && location.file.is_some()
            && !location.place.is_by_hand();
        (doubtful && decides && !change.targets.is_empty()).then(|| {
            let mut change = change.clone();
            change.location.confidence = Confidence::High;
            change.caveats.push(format!(
                "It is not certain that the new process gets it ({}): it is taken back if the new process does not show it.",
                change.location.why
            ));
            change
        })
    }

    /// What a restart of the unit may take with it.
    pub fn restart_caveat(&self) -> Option<String> {
        if self.worker.is_some() {
            return None;
        }
        let name = self.unit.trim_end_matches(".service");
        let ours = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let lost = if ours.contains(&format!("/{}\n", self.unit))
            || ours.contains(&format!("/{}/", self.unit))
        {
            "this very command, which runs in it"
        } else if VITAL.contains(&name) || name.starts_with("user@") || name.starts_with("getty@") {
            "sessions, connections and other services of this machine"
        } else if self.is_unit() && self.is_active() && self.show("Type") == "oneshot" {
            return Some(format!(
                "Restarting {} runs its command once more: it is one that ends (Type=oneshot).",
                self.unit
            ));
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
        match self.settled() {
            Seen::Unknown(_) if !self.runs() && (self.before.is_some() || self.failed()) => {
                self.stopped()
            }
            seen => seen,
        }
    }

    /// How often systemd has restarted the unit by itself (NRestarts=, systemd.service(5)); a restart by hand sets it to
    /// 0, and what counts is only whether it grows after that. Of another supervisor: which process it has.
    pub fn restarts(&self) -> u32 {
        let of_unit = || self.show("NRestarts").parse().ok();
        if self.is_unit() { of_unit() } else { self.process() }.unwrap_or(0)
    }

    /// Why the unit did not last with the change: its supervisor restarted it by itself since `restarts` said what it
    /// did, or it failed, or a daemon that ran before has ended.
    pub fn did_not_last(&self, restarts: u32) -> Option<String> {
        let unit = &self.unit;
        let now = self.restarts();
        if now > restarts || (!self.is_unit() && now != restarts) {
            return Some(format!("{unit} ended with it, and was started again"));
        }
        let daemon = self.is_unit() && self.worker.is_none() && self.before.is_some();
        let ended = daemon && !self.runs() && self.show("Type") != "oneshot";
        (self.failed() || ended).then(|| format!("{unit} ended with it"))
    }

    /// Looks after a restart by a run that was killed, some time ago: somebody may have stopped the unit since.
    pub fn look_late(&self) -> Seen {
        self.wait_for_its_job();
        if let pending @ Seen::Pending(_) = self.look() {
            return pending;
        }
        match self.settled() {
            Seen::Unknown(_) if self.failed() => self.stopped(),
            seen => seen,
        }
    }

    fn stopped(&self) -> Seen {
        Seen::Missing(format!("{} does not run with it", self.unit))
    }

    /// Whether the unit ended with an error.
    fn failed(&self) -> bool {
        if !self.is_unit() {
            return false;
        }
        self.show("ActiveState") == "failed"
    }

    /// A property of the unit; empty where systemd cannot be asked.
    fn show(&self, name: &str) -> String {
        property(&self.unit, self.user, name)
    }

    /// Waits while systemd still stops or starts the unit. The job of Type=oneshot lasts as long as its program.
    fn wait_for_its_job(&self) {
        let begin = Instant::now();
        while self.is_unit()
            && begin.elapsed() < JOB
            && self.show("Job").parse().is_ok_and(|job: u32| job > 0)
            && !(self.show("Type") == "oneshot" && self.show("ActiveState") == "activating")
        {
            sleep(SETTLES / 4);
        }
    }

    fn settled(&self) -> Seen {
        let begin = Instant::now();
        sleep(SETTLES);
        loop {
            let seen = self.look();
            let ended = matches!(seen, Seen::Unknown(_)) && self.failed();
            if matches!(seen, Seen::InForce(_)) || ended || begin.elapsed() > PATIENCE {
                return seen;
            }
            sleep(SETTLES / 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stopped_unit_is_left_stopped() {
        assert!(was_stopped("inactive") && was_stopped("deactivating"));
        for up in ["active", "activating", "reloading", "failed", ""] {
            assert!(!was_stopped(up), "{up}");
        }
    }
}
