//! The programs that a change reaches, as far as it depends on them whether a value is right: their file system, the
//! value that they have now, which programs they are.

use crate::activation::Activation;
use crate::change_request::{check_target, misread_by_some};
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::local_times::{self, Shift, ZONEINFO};
use crate::locale::is_installed;
use crate::place::{Destination, FilePath};
use crate::readers::settled;
use crate::redact::may_show;
use crate::running::{property, unit_name};
use crate::trace_variable::value_of_unit;
use needless_host::{ProcInfo, Root, read_environment};
use needless_model::{Env, Value, brief};
use std::time::{SystemTime, UNIX_EPOCH};

/// Programs with a schedule in local time: those of units and processes. at is none: it keeps the moment of a job in UTC.
const SCHEDULERS: [&str; 9] = [
    "cron",
    "crond",
    "cronie",
    "anacron",
    "fcron",
    "dcron",
    "bcron-sched",
    "mcron",
    "systemd-cron",
];

/// The programs that a change reaches.
pub(crate) struct Reached {
    /// Their file system; of an image ours, which has zones of the same names.
    root: Root,
    /// Whether they run on another machine, or in an image.
    in_image: bool,
    /// The value that they have now, or that the file gives them.
    before: Value,
    /// The zone that they have now, as far as it is known.
    tz: Value,
    /// Where they look for zones.
    tzdir: String,
    /// Their executables.
    exes: Vec<String>,
    /// Their names and those of their units.
    names: Vec<String>,
    /// The beginning of a sentence about their local times.
    subject: &'static str,
    /// Why the file is not read.
    unread: Option<&'static str>,
}

impl Reached {
    fn own() -> Result<Reached, EnvironmentError> {
        Ok(Reached {
            root: Root::own().map_err(|error| format!("cannot open /: {error}"))?,
            in_image: false,
            before: Value::Unset,
            tz: Value::Unset,
            tzdir: ZONEINFO.to_owned(),
            exes: Vec::new(),
            names: Vec::new(),
            subject: "Its local times",
            unread: None,
        })
    }

    /// A process with its file system, of this unit where it is known; `exes`: the programs that get the value.
    ///
    /// # Errors
    /// When / cannot be opened.
    pub(crate) fn process(
        me: &ProcInfo,
        root: Root,
        unit: Option<&str>,
        exes: Vec<String>,
    ) -> Result<Reached, EnvironmentError> {
        let before = if me.live.is_known() { &me.live } else { &me.initial };
        let words = me.argv.first().and_then(|word| word.rsplit('/').next());
        let names = [me.name(), &me.comm].into_iter().chain(words).chain(unit.map(stem));
        let names = names.map(str::to_owned).collect();
        let env = read_environment(me.pid, &["TZ", "TZDIR"].into()).map(|(_, env)| env);
        let env = env.unwrap_or(Env::Unknown);
        let tz = match env {
            Env::Unknown => Value::Unknown("its environment cannot be read".to_owned()),
            _ => env.value("TZ").map_or(Value::Unset, |zone| Value::Set(zone.to_owned())),
        };
        let tzdir = tzdir(env.value("TZDIR")).to_owned();
        Ok(Reached { root, before: before.clone(), tz, tzdir, exes, names, ..Reached::own()? })
    }

    /// A unit that does not run; `user`: of the caller's own systemd.
    ///
    /// # Errors
    /// When the root directory of the unit cannot be opened.
    pub(crate) fn stopped(
        unit: &str,
        variable: &str,
        user: bool,
    ) -> Result<Reached, EnvironmentError> {
        let own = Reached::own()?;
        let name = unit_name(unit);
        let value = |variable: &str| match user {
            true => None,
            false => value_of_unit(&name, variable, &own.root),
        };
        let [before, tz] = [variable, "TZ"].map(|one| value(one).map_or(Value::Unset, Value::Set));
        let tzdir = tzdir(value("TZDIR").as_deref()).to_owned();
        let names = vec![stem(&name).to_owned()];
        Reached { before, tz, tzdir, names, ..own }.in_root_of(&name, user)
    }

    /// The same in the root directory of a unit.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn in_root_of(mut self, unit: &str, user: bool) -> Result<Reached, EnvironmentError> {
        self.in_image |= !property(unit, user, "RootImage").is_empty();
        match &*property(unit, user, "RootDirectory") {
            "" | "/" => {}
            dir => {
                let opened = std::fs::File::open(dir);
                let opened = opened.map_err(|error| format!("{}: {error}", brief(dir)))?;
                self.root = Root::of(opened.into());
            }
        }
        Ok(self)
    }

    /// What reads a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn readers(
        location: &Destination,
        variable: &str,
        disk: &Disk,
    ) -> Result<Reached, EnvironmentError> {
        let place = location.place;
        let file = location.file.as_deref().map(|path| disk.read_for_change(path)).transpose()?;
        let text = file.flatten().map(|file| file.bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let found = place.find(&text, variable, location.part.as_deref()).pop();
        let before = match found.filter(|_| place.holds_value) {
            Some(found) if !found.certain => Value::Unknown(format!(
                "line {} sets {variable} in a way that depends on its reader",
                found.line
            )),
            found => found.and_then(|found| found.value).map_or(Value::Unset, Value::Set),
        };
        let in_image = place.of_image || place.outside_of_container;
        let path = FilePath(location.file.as_deref().unwrap_or_default());
        let (unread, subject) = ((place.unread)(&path, &text), "The local times of what reads it");
        let set = |variable| place.find(&text, variable, location.part.as_deref()).pop()?.value;
        let (tz, dir) = (set("TZ").map_or(Value::Unset, Value::Set), set("TZDIR"));
        let tzdir = tzdir(dir.as_deref()).to_owned();
        let found = Reached { in_image, before, tz, tzdir, subject, unread, ..Reached::own()? };
        // Where one unit reads it, its root has the zones.
        match settled(location.clone(), disk)?.activation {
            Activation::Restart { unit, user } => found.in_root_of(&unit, user),
            _ => Ok(found),
        }
    }

    /// Refuses a value that these programs would misread.
    ///
    /// # Errors
    /// Which program would misread it, or which file is missing.
    pub(crate) fn check(
        &self,
        variable: &str,
        value: Option<&str>,
    ) -> Result<(), EnvironmentError> {
        let Some(zone) = value.filter(|_| self.in_image && variable == "TZ") else {
            return check_target(variable, value, &self.exes, &self.root);
        };
        // An image has its own files. Its zones have the same names as ours, if we have any.
        let path = zone.strip_prefix(':').unwrap_or(zone);
        if !path.starts_with('/') {
            let known = self.root.is_dir(ZONEINFO);
            return if known {
                check_target(variable, value, &self.exes, &self.root)
            } else {
                Ok(())
            };
        }
        if path == "/etc/localtime" || path.contains("/zoneinfo/") {
            return Ok(());
        }
        Err("that is not the path of a zone file (/usr/share/zoneinfo/AREA/CITY, /etc/localtime): the time would silently be UTC".into())
    }

    /// What the value does to local times, if they change.
    pub(crate) fn times(&self, variable: &str, value: Option<&str>) -> Option<String> {
        let (subject, of) = match variable {
            "TZ" | "TZDIR" => (self.subject, "logs, schedules, file names"),
            // Debian's cron only passes it on to the jobs.
            "CRON_TZ" => (
                "The times of the schedule",
                "every job below it, where cron knows CRON_TZ (cronie)",
            ),
            _ => return None,
        };
        let of_dir = variable == "TZDIR";
        let zone_now = if of_dir { &self.tz } else { &self.before };
        if self.in_image && zone_now.is_unset() {
            return None;
        }
        let zone = |dir: &str, value: Option<&str>| local_times::zone(&self.root, dir, value);
        let sentence = match zone_now {
            Value::Unknown(why) => format!("{subject} may change ({why}): {of}."),
            before => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
                let now = i64::try_from(now).ok()?;
                let new = match of_dir {
                    true => zone(tzdir(value), before.text()),
                    false => zone(&self.tzdir, value),
                };
                match (zone(&self.tzdir, before.text()), new) {
                    (Some(old), Some(new)) => {
                        format!("{subject} change {}: {of}.", Shift::between(&old, &new, now)?)
                    }
                    _ => format!("{subject} may change (the zone files cannot be read): {of}."),
                }
            }
        };
        let schedules = variable != "CRON_TZ"
            && self.names.iter().any(|name| SCHEDULERS.contains(&name.as_str()));
        Some(sentence + if schedules { " The schedule of every job moves." } else { "" })
    }

    /// What else to know of a value before it is set. `named`: a user named it, and no rule advised it.
    pub(crate) fn caveats(&self, variable: &str, value: Option<&str>, named: bool) -> Vec<String> {
        let mut caveats: Vec<String> = self.unread.map(str::to_owned).into_iter().collect();
        let Some(value) = value else { return caveats };
        if variable == "TZ" {
            caveats.extend(misread_by_some(value, &self.root));
            let needs_file = !matches!(value, "" | ":" | "UTC" | ":UTC")
                && needless_localtime::posix_tz(value).is_none();
            if self.in_image && needs_file {
                caveats.push("In an image without tzdata (alpine, ubuntu, distroless, slim ones) it silently means UTC.".into());
            }
        }
        if named && !self.in_image {
            caveats.extend(missing(&self.root, variable, value));
        }
        caveats
    }
}

/// Where programs look for zones, with this value of TZDIR.
fn tzdir(value: Option<&str>) -> &str {
    value.filter(|dir| !dir.is_empty()).unwrap_or(ZONEINFO)
}

fn stem(unit: &str) -> &str {
    unit.strip_suffix(".service").unwrap_or(unit)
}

/// What a value names and what is not there. The value is not in the sentence where it may be a secret.
fn missing(root: &Root, variable: &str, value: &str) -> Option<String> {
    let named = |name: &str| match may_show(variable, name) {
        true => brief(name).into_owned(),
        false => "that it names".to_owned(),
    };
    if matches!(variable, "LANG" | "LC_ALL") || variable.starts_with("LC_") {
        let is_missing = !value.is_empty() && is_installed(root, value) == Some(false);
        return is_missing.then(|| {
            format!("The locale {} is not installed: programs use C, after a search for it at each start.", named(value))
        });
    }
    match variable {
        "LD_LIBRARY_PATH" => {
            let gone =
                value.split([':', ';']).find(|dir| dir.starts_with('/') && !root.is_dir(dir))?;
            Some(format!(
                "There is no directory {}: each start of a program searches it for nothing.",
                named(gone)
            ))
        }
        "LD_PRELOAD" => {
            let gone = value
                .split([':', ' '])
                .find(|file| file.starts_with('/') && root.open(file).is_err())?;
            Some(format!(
                "There is no library {}: each start of a program looks for it and complains.",
                named(gone)
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(names: &[&str], before: Value) -> Reached {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Reached { names, before, ..Reached::own().unwrap() }
    }

    #[test]
    fn other_local_times_are_said_and_the_same_are_not() {
        let before = || Value::Set("JST-9".into());
        let said = reached(&["cron"], before()).times("TZ", Some("UTC")).unwrap();
        assert_eq!(
            said,
            "Its local times change by -9 h from now: logs, schedules, file names. The schedule of every job moves."
        );
        assert!(!reached(&["atd"], before()).times("TZ", None).unwrap().contains("job"));
        assert_eq!(reached(&["cron"], before()).times("TZ", Some("<+09>-9")), None);
        assert_eq!(reached(&["cron"], before()).times("LANG", Some("C")), None);
        let said = reached(&[], Value::Unknown("why".into())).times("TZ", Some("UTC")).unwrap();
        assert!(said.starts_with("Its local times may change (why)"), "{said}");
        let image = Reached { in_image: true, ..reached(&[], Value::Unset) };
        assert_eq!(image.times("TZ", Some("JST-9")), None);
        let caveats = image.caveats("TZ", Some("Europe/Madrid"), true);
        assert!(caveats[0].contains("without tzdata"), "{caveats:?}");
        assert!(image.caveats("TZ", Some("UTC"), true).is_empty());
    }

    /// TZDIR says where the zone of TZ is; without TZ it says nothing.
    #[test]
    fn a_directory_without_the_zone_makes_it_utc() {
        let of = |tz: Value| Reached { tz, ..reached(&["cron"], Value::Unset) };
        let tokyo = || of(Value::Set("Asia/Tokyo".into()));
        let said = tokyo().times("TZDIR", Some("/nonexistent")).unwrap();
        assert!(said.starts_with("Its local times change by -9 h from now"), "{said}");
        assert!(said.ends_with("The schedule of every job moves."), "{said}");
        assert_eq!(tokyo().times("TZDIR", Some(ZONEINFO)), None);
        assert_eq!(tokyo().times("TZDIR", Some("")), None);
        assert_eq!(of(Value::Unset).times("TZDIR", Some("/nonexistent")), None);
        let back = Reached { tzdir: "/nonexistent".into(), ..tokyo() };
        assert!(back.times("TZDIR", None).unwrap().contains("by +9 h from now"));
    }

    #[test]
    fn the_zone_of_a_schedule_is_judged() {
        let one = reached(&["cron"], Value::Set("UTC".into()));
        let said = one.times("CRON_TZ", Some("JST-9")).unwrap();
        assert_eq!(
            said,
            "The times of the schedule change by +9 h from now: every job below it, where cron knows CRON_TZ (cronie)."
        );
        assert_eq!(one.times("CRON_TZ", Some("UTC0")), None);
    }

    #[test]
    fn a_path_in_an_image_is_one_of_a_zone() {
        let image = Reached { in_image: true, ..reached(&[], Value::Unset) };
        for wrong in ["/etc/passwd", ":/nonexistent"] {
            let why = image.check("TZ", Some(wrong)).unwrap_err().to_string();
            assert!(why.contains("silently be UTC") && !why.contains(wrong), "{why}");
        }
        for right in [":/etc/localtime", "/usr/share/zoneinfo/Asia/Tokyo", "UTC"] {
            assert_eq!(image.check("TZ", Some(right)), Ok(()), "{right}");
        }
    }

    #[test]
    fn what_a_value_names_has_to_be_there() {
        let one = reached(&[], Value::Unset);
        for (variable, value, says) in [
            ("LANG", "xx_YY.UTF-8", "The locale xx_YY.UTF-8 is not installed"),
            ("LD_LIBRARY_PATH", "/usr/lib:/nonexist", "There is no directory /nonexist"),
            ("LD_PRELOAD", "libc.so.6 /nope.so", "There is no library /nope.so"),
        ] {
            let caveats = one.caveats(variable, Some(value), true);
            assert!(caveats[0].starts_with(says), "{caveats:?}");
            assert!(one.caveats(variable, Some(value), false).is_empty());
        }
        for (variable, value) in
            [("LANG", "C"), ("LC_ALL", "C.UTF-8"), ("LD_LIBRARY_PATH", "/usr/lib"), ("A", "/nope")]
        {
            assert!(one.caveats(variable, Some(value), true).is_empty(), "{variable}");
        }
    }
}
