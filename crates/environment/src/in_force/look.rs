//! The processes that are to have a change: which they are before a restart, and what they have after it.

use super::{Expected, Seen};
use crate::family::{deciding_of, family};
use crate::last_change::{now, own_change};
use crate::merge::listed;
use crate::redact::redact;
use crate::request::origin_of_process;
use crate::settings;
use needless_host::{ProcInfo, ancestries};
use needless_model::Value;
use serde::{Deserialize, Serialize};

/// A process before a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OldProcess {
    /// The name of its program.
    name: String,
    pid: u32,
    /// Its start in clock ticks since boot.
    started: u64,
}

impl Expected {
    /// The other processes that have the value of the main one are to have the new one, too. Where that one only starts
    /// those that decide, they alone are.
    pub(super) fn remember(&mut self) {
        let Some((main, _)) = self.before else { return };
        let family = self.family(main);
        let last = || family.iter().filter_map(|chain| chain.last());
        let deciding = deciding_of(&family, main);
        self.starter = deciding != main;
        let had = last().find(|one| one.pid == deciding).map(now);
        let same = last().filter(|one| Some(now(one)) == had).map(|one| one.pid);
        self.expect(&family, &same.collect::<Vec<_>>());
    }

    /// These processes, which make the calls that the change is to save, are to have it, too.
    pub fn callers(&mut self, pids: &[u32]) {
        if let Some((main, _)) = self.before {
            let family = self.family(main);
            self.expect(&family, pids);
        }
    }

    fn expect(&mut self, family: &[Vec<ProcInfo>], pids: &[u32]) {
        let main = self.before.map(|(pid, _)| pid);
        let others = family.iter().filter_map(|chain| chain.last());
        let others = others.filter(|one| Some(one.pid) != main && pids.contains(&one.pid));
        for one in others {
            let (name, pid, started) = (one.called().to_owned(), one.pid, one.started);
            let one = OldProcess { name, pid, started };
            if !self.others.contains(&one) {
                self.others.push(one);
            }
        }
    }

    /// The processes that get their variables where `main` does.
    fn family(&self, main: u32) -> Vec<Vec<ProcInfo>> {
        match self.next {
            Some(_) => ancestries(&[main], &self.variable),
            None => {
                let unit = Some(&*self.unit)
                    .filter(|_| self.is_unit() && self.worker.is_none() && !self.user);
                family(unit, main, &self.variable)
            }
        }
    }

    /// Looks at the processes as they are now: at the environment they were started with, and at the one they have.
    pub fn look(&self) -> Seen {
        let unit = &self.unit;
        let Some(pid) = self.process() else {
            return Seen::Unknown(match &self.worker {
                _ if self.next.is_some() => {
                    format!("no {} runs now", self.next.as_deref().unwrap_or_default())
                }
                Some((.., Some(part))) if !self.is_unit() || self.runs() => {
                    format!("{unit} has no process for {part} now")
                }
                // A oneshot that has done its work.
                _ if self.is_unit() && self.is_active() => {
                    format!("{unit} is up ({}), and has no process now", self.show("SubState"))
                }
                _ => format!("{unit} does not run"),
            });
        };
        if let Some(setting) = &self.setting {
            let value = self.value.as_deref().unwrap_or_default();
            return settings::seen((setting, value), pid, self.before, self.worker.is_some());
        }
        let family = self.family(pid);
        let mut all = family.iter().filter_map(|chain| chain.last());
        let Some(main) = all.find(|one| one.pid == pid) else {
            return Seen::Unknown(format!("{unit} does not run"));
        };
        if self.starter && self.before != Some((pid, main.started)) {
            return self.in_others(None, pid, &family);
        }
        match self.in_main(main) {
            Seen::InForce(who) => self.in_others(Some(who), pid, &family),
            seen => seen,
        }
    }

    /// Whether a process has the value at its start, and now; `None` where that cannot be read.
    fn has(&self, info: &ProcInfo, main: bool) -> (Option<bool>, Option<bool>) {
        let has = |value: &Value| match value {
            Value::Unknown(_) => None,
            value => Some(value.text() == self.value.as_deref()),
        };
        // A worker is a fork: the daemon gives it its environment after that.
        let is_fork = main && self.worker.is_some() && self.next.is_none();
        // sudo takes variables out of its own environment, and passes them on.
        let same = info.initial.is_known() && own_change(info).is_none();
        let initial = if is_fork { None } else { has(&info.initial) };
        (initial, if same && !is_fork { None } else { has(&info.live) })
    }

    fn in_main(&self, me: &ProcInfo) -> Seen {
        let who = name_of(me);
        match self.has(me, true) {
            (None, None) => Seen::Unknown(format!("the environment of {who} cannot be read")),
            (Some(true) | None, Some(true) | None) => Seen::InForce(who),
            _ if self.before == Some((me.pid, me.started)) => {
                Seen::Pending(format!("{who} was started before the change"))
            }
            (Some(true), Some(false)) => Seen::Missing(format!(
                "{who} was started with it, and then changed {} itself",
                self.variable
            )),
            _ => match origin_of_process(me.pid, &self.variable) {
                Err(why) => Seen::Unknown(why.to_string()),
                Ok((_, mut trace)) => {
                    redact(&mut trace.provenance);
                    let answer = trace.provenance.answer;
                    Seen::Missing(format!("{who} does not have it: {answer}"))
                }
            },
        }
    }

    /// The same of the other processes that are to have it, where the main one does.
    fn in_others(&self, main: Option<String>, pid: u32, family: &[Vec<ProcInfo>]) -> Seen {
        let all = family.iter().filter_map(|chain| chain.last());
        let wanted = all.filter(|one| {
            let is_old = |old: &OldProcess| (old.pid, old.started) == (one.pid, one.started);
            one.pid != pid
                && self.others.iter().any(|old| old.name == one.called())
                && !self.others.iter().any(is_old)
        });
        let (mut with, mut without): (Vec<String>, Vec<String>) =
            (main.into_iter().collect(), Vec::new());
        for one in wanted {
            match self.has(one, false) {
                (None, None) => {}
                (Some(true) | None, Some(true) | None) => with.push(name_of(one)),
                _ => without.push(name_of(one)),
            }
        }
        if !without.is_empty() {
            let with = if with.is_empty() { "nobody".to_owned() } else { listed(&with) };
            return Seen::Missing(format!("has it: {with}; has not: {}", listed(&without)));
        }
        let Some((first, more)) = with.split_first() else {
            return Seen::Unknown(format!("{} runs none of its programs now", self.unit));
        };
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let of = if self.is_unit() { format!(" ({})", self.unit) } else { String::new() };
        Seen::InForce(format!("{first}{more}{of}"))
    }
}

fn name_of(info: &ProcInfo) -> String {
    format!("{}[{}]", info.called(), info.pid)
}
