//! What rules must know of a process as it is now, and of its machine, to derive a remedy: a profile of one
//! process, without calls.

use crate::run::Failure;
use crate::{Caller, launch, locale_probe};
use needless_host::{Roots, ancestry, fill_libcs, read_zone};
use needless_model::{Env, LocaleProbe, ProcId, Process, Profile, Spawn, Value, WatchList, status};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Looks at processes; what is the same for all of them is looked up once.
#[derive(Debug)]
pub struct LiveFacts {
    watch: WatchList,
    /// Names of locales that were tried on this machine.
    tried: HashMap<String, Option<LocaleProbe>>,
}

impl LiveFacts {
    /// `watch` names the only variables that are kept.
    pub fn new(watch: WatchList) -> LiveFacts {
        LiveFacts { watch, tried: HashMap::new() }
    }

    /// The process `pid`, with its `variable`.
    ///
    /// # Errors
    /// One line where there is no such process, or its root cannot be opened.
    pub fn running(&mut self, pid: u32, variable: &str) -> Result<Profile, String> {
        let mut process = Process::new(pid, None, Spawn::Seen);
        needless_host::read_process(&mut process, &self.watch);
        let chain = ancestry(pid, variable)?;
        let me = chain.last().ok_or_else(|| format!("there is no process {pid}"))?;
        // The value at its start; a program may have written over the block that holds it.
        let value = if me.initial.is_known() { &me.initial } else { &me.live };
        process.env = with(process.env, variable, value);
        process.shares_root = me.shares_root;
        let other = if me.shares_root {
            None
        } else {
            i32::try_from(pid).ok().and_then(needless_host::open_root)
        };
        let roots = Roots::new(other.map(|root| (ProcId(0), root)).into_iter().collect());
        self.look(process, variable, &roots.map_err(|error| format!("/: {error}"))?)
    }

    /// The program that would run for the command `words`, with the environment that it would get.
    ///
    /// # Errors
    /// As for a run: there is no such command.
    pub fn command(
        &mut self,
        words: &[OsString],
        caller: Option<Caller>,
        variable: &str,
    ) -> Result<Profile, Failure> {
        let launch = launch(words, caller)?;
        let mut process = Process::new(0, None, Spawn::Exec);
        let program = std::fs::canonicalize(&launch.program).unwrap_or(launch.program);
        process.exe = Some(program.to_string_lossy().into_owned());
        let all = launch.env.unwrap_or_else(|| std::env::vars_os().collect());
        let watched = all.iter().filter_map(|(name, value)| {
            let asked = Some(variable).filter(|variable| name.as_bytes() == variable.as_bytes());
            let name = self.watch.find(name.as_bytes()).or(asked)?;
            Some((name.to_owned(), value.to_string_lossy().into_owned()))
        });
        process.env = Env::Known(watched.collect());
        let failed = |why: String| Failure::new(status::OURS, why);
        let roots = Roots::new(Vec::new()).map_err(|error| failed(format!("/: {error}")))?;
        self.look(process, variable, &roots).map_err(failed)
    }

    /// A program that is not running. At most one variable of its environment is known.
    ///
    /// # Errors
    /// When the root directory cannot be opened.
    pub fn stopped(&mut self, variable: &str, value: Option<String>) -> Result<Profile, String> {
        let mut process = Process::new(0, None, Spawn::Exec);
        if let Some(value) = value {
            process.env = Env::Known(BTreeMap::from([(variable.to_owned(), value)]));
        }
        let roots = Roots::new(Vec::new()).map_err(|error| format!("/: {error}"))?;
        self.look(process, variable, &roots)
    }

    fn look(&mut self, process: Process, variable: &str, roots: &Roots) -> Result<Profile, String> {
        let value = process.env.value(variable).map(str::to_owned);
        let mut now = Profile { processes: vec![process], ..Profile::default() };
        fill_libcs(&mut now, roots);
        let (_, root) =
            roots.of(&now, ProcId(0)).ok_or("its root directory is closed to this user")?;
        if variable == "TZ" {
            let zone = read_zone(root);
            if now.processes[0].shares_root {
                now.host.zone = Some(zone)
            } else {
                now.host.other_zones.push((ProcId(0), zone))
            }
        }
        let is_locale = variable == "LANG" || variable.starts_with("LC_");
        if let Some(name) =
            value.filter(|name| is_locale && !name.is_empty() && !name.contains('/'))
        {
            let tried = self.tried.entry(name).or_insert_with_key(|name| locale_probe::probe(name));
            now.host.locales.extend(tried.clone());
        }
        Ok(now)
    }
}

/// `env` with one variable replaced by what another source says.
fn with(env: Env, variable: &str, value: &Value) -> Env {
    let Env::Known(mut all) = env else { return Env::Unknown };
    match value {
        Value::Set(text) => drop(all.insert(variable.to_owned(), text.clone())),
        Value::Unset => drop(all.remove(variable)),
        Value::Unknown(_) => return Env::Unknown,
    }
    Env::Known(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_a_command_as_they_are() {
        let mut now = LiveFacts::new(["PATH", "TZ"].into());
        let path = std::env::var("PATH").unwrap();
        let me = now.running(std::process::id(), "PATH").unwrap();
        assert_eq!(me.processes[0].env.value("PATH"), Some(&*path));
        assert!(me.processes[0].shares_root && me.rows.is_empty() && me.host.zone.is_none());
        let command = now.command(&["true".into()], None, "TZ").unwrap();
        assert_eq!(command.processes[0].env.value("PATH"), Some(&*path));
        assert!(command.processes[0].exe.as_deref().unwrap().starts_with('/'));
        assert!(command.host.zone.is_some());
        assert!(now.command(&["no-such-program".into()], None, "TZ").is_err());
        assert!(now.running(u32::MAX - 1, "TZ").unwrap_err().contains("no process"));
    }

    #[test]
    fn what_could_not_be_read_is_not_unset() {
        let known = || Env::Known(BTreeMap::from([("A".to_owned(), "1".to_owned())]));
        assert_eq!(with(known(), "A", &Value::Unknown(String::new())), Env::Unknown);
        assert!(with(known(), "A", &Value::Unset).is_unset("A"));
        assert_eq!(with(known(), "A", &Value::Set("2".into())).value("A"), Some("2"));
        let mut now = LiveFacts::new(WatchList::default());
        assert_eq!(now.stopped("A", None).unwrap().processes[0].env, Env::Unknown);
        let set = now.stopped("A", Some("x".into())).unwrap();
        assert_eq!(set.processes[0].env.value("A"), Some("x"));
    }
}
