//! What systemd says of a unit before a change restarts it: which edits a reload would put into force, whether it is up,
//! and what is restarted with it.

use crate::activation::Activation;
use crate::in_force::Expected;
use crate::merge::ChangeRequest;
use crate::running::{processes_of_unit, run, systemd_runs};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// What is asked of each unit, in one call.
const FIELDS: &str = "Id,Names,Type,NeedDaemonReload,Job,ActiveState,SubState,Result,FragmentPath,SourcePath,\
                      DropInPaths,RequiredBy,RequisiteOf,BoundBy,ConsistsOf";
/// The loaded units that are asked about. Of devices, mounts and slices there are many, and nobody edits them.
const KINDS: [&str; 5] = ["*.service", "*.socket", "*.target", "*.timer", "*.path"];
/// The dependencies by which systemd restarts a unit with another one, if it is up (systemd.unit(5)).
const WITH_IT: [&str; 4] = ["RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf"];
/// So many names are shown.
const NAMED: usize = 8;
/// How long a unit must stay up after a restart: a program that does not exist is noticed after systemctl has ended.
const STAYS: Duration = Duration::from_secs(1);

/// A unit of systemd as it is before a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// Its name, with its suffix; empty where no unit is restarted.
    name: String,
    /// The file that was edited since systemd read it.
    edited: Option<String>,
    /// Other loaded units of which a file was edited.
    others_edited: Vec<String>,
    /// Whether systemd is starting or stopping it. A command that ends (Type=oneshot) is no such job.
    has_job: bool,
    /// ActiveState, SubState and Result.
    state: [String; 3],
    /// The units that are up and are restarted with it.
    with_it: Vec<String>,
    /// How many processes these have.
    processes: usize,
}

/// The properties of a unit, as `systemctl show` prints them.
type Properties<'a> = HashMap<&'a str, &'a str>;

impl UnitState {
    /// Of the unit that is restarted after `change`; without a name where systemd then only reads the files of units.
    /// `None` where it does neither, or cannot be asked.
    pub fn before(change: &ChangeRequest) -> Option<UnitState> {
        let location = &change.location;
        let (unit, user) = match (&location.activation, location.place.reload) {
            (Activation::Restart { unit, user }, _) => (unit.as_str(), *user),
            (_, Activation::DaemonReload { user }) => ("", *user),
            _ => return None,
        };
        let mut state = UnitState::asked(unit, user)?;
        state.processes = state.with_it.iter().map(|one| processes_of_unit(one).len()).sum();
        Some(state)
    }

    /// What comes into force as well when these are run after a change of the unit was taken back, in sentences.
    pub fn caveats_of_undo(after: &[Activation], expected: &[Expected]) -> Vec<String> {
        let user = after.iter().find_map(|one| match one {
            Activation::DaemonReload { user } => Some(*user),
            _ => None,
        });
        let unit = expected.first().filter(|one| one.is_unit()).map_or("", |one| &one.unit);
        let state = user.and_then(|user| UnitState::asked(unit, user));
        state.map(|state| state.caveats(true, false)).unwrap_or_default()
    }

    /// Asks systemd of the unit, or of all others where it has no name.
    fn asked(unit: &str, user: bool) -> Option<UnitState> {
        let whose = if user { "--user" } else { "--system" };
        let words = ["systemctl", whose, "show", "-p", FIELDS, "--"].into_iter().chain(KINDS);
        let words: Vec<&str> = words.chain((!unit.is_empty()).then_some(unit)).collect();
        UnitState::of(unit, &systemd_runs().then(|| run(&words).ok())??)
    }

    /// From the answer about it and all loaded units.
    fn of(unit: &str, said: &str) -> Option<UnitState> {
        let blocks = said.split("\n\n").map(|block| -> Properties<'_> {
            block.lines().filter_map(|line| line.split_once('=')).collect()
        });
        // A unit is asked for by its name, and is one of all as well.
        let all: HashMap<&str, Properties<'_>> =
            blocks.filter_map(|block| Some((*block.get("Id")?, block))).collect();
        let (none, names_it) = (Properties::new(), |block: &&Properties<'_>| {
            list(block, "Names").any(|name| name == unit)
        });
        let it = if unit.is_empty() { &none } else { all.values().find(names_it)? };
        let of = |name: &str| it.get(name).copied().unwrap_or_default().to_owned();
        let is_stale = |block: &Properties<'_>| block.get("NeedDaemonReload") == Some(&"yes");
        let name = of("Id");
        let stale = all.iter().filter(|(_, block)| is_stale(block)).map(|(id, _)| *id);
        let mut others_edited: Vec<String> =
            stale.filter(|id| *id != name).map(str::to_owned).collect();
        others_edited.sort();
        let runs_command = of("Type") == "oneshot" && of("ActiveState") == "activating";
        Some(UnitState {
            edited: is_stale(it).then(|| edited_file(it)),
            others_edited,
            has_job: !matches!(&*of("Job"), "" | "0") && !runs_command,
            state: ["ActiveState", "SubState", "Result"].map(of),
            with_it: with_it(&name, &all),
            processes: 0,
            name,
        })
    }

    /// Whether systemd reads all files of units again after `change`.
    pub fn is_reloaded_for(change: &ChangeRequest) -> bool {
        matches!(change.location.place.reload, Activation::DaemonReload { .. })
    }

    /// Why nothing may be written now. `reloads`: systemd then reads all files of units again; `restarts`: the unit is
    /// then restarted; `with_pending`: edits of others may come into force.
    pub fn refuses(&self, reloads: bool, restarts: bool, with_pending: bool) -> Option<String> {
        let name = &self.name;
        if let Some(file) = self.edited.as_ref().filter(|_| reloads && !with_pending) {
            return Some(format!(
                "{name} was edited and not reloaded ({file}); a restart would put that into force too: \
                 `systemctl daemon-reload` first, or --with-pending"
            ));
        }
        let [active, sub, _] = &self.state;
        (restarts && self.has_job).then(|| {
            format!("systemd is just starting or stopping {name} ({active}, {sub}): try again when that is done")
        })
    }

    /// What to know before a change of the unit is written.
    pub fn caveats(&self, reloads: bool, restarts: bool) -> Vec<String> {
        let (name, [active, sub, result]) = (&self.name, &self.state);
        let edited = self.edited.as_ref().map(|file| {
            format!("{name} was edited and not reloaded ({file}): that comes into force, too.")
        });
        let others = (!self.others_edited.is_empty()).then(|| {
            let names = shown(&self.others_edited);
            format!(
                "Other units were edited and not reloaded; systemd reads these edits, too: {names}."
            )
        });
        let fails = active == "failed" || sub == "auto-restart";
        let down = fails
            .then(|| format!("{name} is not up now: {active} ({sub}), its last result: {result}."));
        let of_reload = edited.into_iter().chain(others).filter(|_| reloads);
        of_reload.chain(down.filter(|_| restarts)).collect()
    }

    /// What a restart takes with it: the end of a line that names the command; empty where it is nothing.
    pub fn restarts_as_well(&self) -> String {
        let processes = match self.processes {
            0 => String::new(),
            1 => "; 1 process".to_owned(),
            n => format!("; {n} processes"),
        };
        match &self.with_it[..] {
            [] => String::new(),
            names => format!(" (restarts as well: {}{processes})", shown(names)),
        }
    }
}

impl Expected {
    /// Whether the unit, which was up before and has just been restarted, is not up or does not stay up.
    pub fn is_down(&self) -> bool {
        if !self.is_unit() {
            return false;
        }
        let restarts = self.restarts();
        sleep(STAYS);
        self.did_not_last(restarts).is_some()
    }
}

/// The first names, without what all services end with.
fn shown(names: &[String]) -> String {
    let short = names.iter().map(|name| name.strip_suffix(".service").unwrap_or(name));
    let first: Vec<&str> = short.take(NAMED).collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(" "),
        more => format!("{} and {more} more", first.join(" ")),
    }
}

fn list<'a>(unit: &Properties<'a>, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    unit.get(key).copied().unwrap_or_default().split_ascii_whitespace()
}

/// The units that are up and are restarted with `name`, and with these.
fn with_it(name: &str, all: &HashMap<&str, Properties<'_>>) -> Vec<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![name]);
    while let Some(unit) = next.pop().and_then(|one| all.get(one)) {
        for other in WITH_IT.into_iter().flat_map(|key| list(unit, key)) {
            let state = all.get(other).and_then(|unit| unit.get("ActiveState"));
            let is_up = state.is_some_and(|state| !matches!(*state, "inactive" | "failed"));
            if is_up && other != name && found.insert(other) {
                next.push(other);
            }
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The file of a unit that systemd has not read as it is now: one that is gone, else the newest.
fn edited_file(unit: &Properties<'_>) -> String {
    let named = ["FragmentPath", "SourcePath", "DropInPaths"];
    let known: Vec<&str> = named.into_iter().flat_map(|key| list(unit, key)).collect();
    let time = |file: &str| fs::metadata(file).and_then(|about| about.modified()).ok();
    if let Some(gone) = known.iter().find(|file| time(file).is_none()) {
        return format!("{gone} is gone");
    }
    let id = unit.get("Id").copied().unwrap_or_default();
    // systemd knows no drop-in that is new.
    let folders = ["/etc/systemd/system", "/run/systemd/system"].map(|dir| format!("{dir}/{id}.d"));
    let new = folders.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let new = new.map(|file| file.path().to_string_lossy().into_owned());
    let new = new.filter(|file| file.ends_with(".conf"));
    let files = new.chain(known.iter().map(|file| (*file).to_owned()));
    files.max_by_key(|file| time(file)).unwrap_or_else(|| "its file".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(unit: &str, more: &str) -> UnitState {
        let said = format!(
            "Id=db.service\nNames=db.service base.service\nType=simple\nNeedDaemonReload=no\nActiveState=active\n\
             SubState=running\nResult=success\nRequiredBy=app.service off.service\nConsistsOf=part.service\n{more}\n\n\
             Id=app.service\nNames=app.service\nActiveState=active\nBoundBy=web.service\n\n\
             Id=off.service\nNames=off.service\nActiveState=inactive\nBoundBy=lost.service\n\n\
             Id=part.service\nNames=part.service\nActiveState=activating\nRequiredBy=db.service\n\n\
             Id=web.service\nNames=web.service\nActiveState=active\nNeedDaemonReload=yes\n\n\
             Id=lost.service\nNames=lost.service\nActiveState=active\n"
        );
        UnitState::of(unit, &said).unwrap()
    }

    #[test]
    fn what_is_up_and_depends_on_it_is_restarted_with_it() {
        // By another name of it, too.
        for name in ["db.service", "base.service"] {
            let mut state = state(name, "");
            assert_eq!(state.with_it, ["app.service", "part.service", "web.service"]);
            assert_eq!(state.restarts_as_well(), " (restarts as well: app part web)");
            state.processes = 3;
            assert_eq!(state.restarts_as_well(), " (restarts as well: app part web; 3 processes)");
            assert_eq!(state.refuses(true, true, false), None);
        }
        assert_eq!(state("web.service", "").restarts_as_well(), "");
    }

    #[test]
    fn edits_that_wait_are_not_put_into_force() {
        let edited = state("web.service", "");
        let why = edited.refuses(true, false, false).unwrap();
        assert!(
            why.starts_with("web.service was edited and not reloaded (its file); a restart"),
            "{why}"
        );
        assert_eq!(edited.refuses(true, true, true), None);
        // Nothing is reloaded where only a file of variables is written.
        assert_eq!(edited.refuses(false, true, false), None);
        assert_eq!(edited.caveats(true, true).len(), 1);
        let beside = state("db.service", "");
        assert_eq!(
            beside.caveats(true, false),
            ["Other units were edited and not reloaded; systemd reads these edits, too: web."]
        );
        assert!(beside.caveats(false, true).is_empty());
    }

    #[test]
    fn a_unit_that_is_being_started_is_not_restarted() {
        let starts = "ActiveState=activating\nSubState=start-pre\nJob=812";
        let why = state("db.service", starts).refuses(true, true, false).unwrap();
        assert!(why.contains("starting or stopping db.service (activating, start-pre)"), "{why}");
        assert_eq!(state("db.service", starts).refuses(true, false, false), None);
        let once = format!("{starts}\nType=oneshot");
        assert_eq!(state("db.service", &once).refuses(true, true, false), None);
        let failed = "ActiveState=failed\nSubState=failed\nResult=exit-code";
        let said = state("db.service", failed).caveats(false, true);
        assert_eq!(
            said,
            ["db.service is not up now: failed (failed), its last result: exit-code."]
        );
    }
}
