//! The programs that a change reaches, as far as it depends on them whether a value is right: their file system, the
//! value that they have now, which programs they are.

use crate::change_request::{check_target, misread_by_some};
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::local_times::{self, Shift, ZONEINFO};
use crate::locale::is_installed;
use crate::place::{Destination, FilePath};
use crate::redact::may_show;
use crate::running::{property, unit_name};
use crate::trace_variable::value_of_unit;
use needless_host::{ProcInfo, Root, read_environment};
use needless_model::{Value, brief};
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
        let tzdir = read_environment(me.pid, &["TZDIR"].into());
        let tzdir = tzdir.and_then(|(_, env)| env.value("TZDIR").map(str::to_owned));
        let tzdir = tzdir.filter(|dir| !dir.is_empty()).unwrap_or_else(|| ZONEINFO.to_owned());
        Ok(Reached { root, before: before.clone(), tzdir, exes, names, ..Reached::own()? })
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
        let value = if user { None } else { value_of_unit(&name, variable, &own.root) };
        let before = value.map_or(Value::Unset, Value::Set);
        let dir = property(&name, user, "RootDirectory");
        let in_image = !property(&name, user, "RootImage").is_empty();
        let root = match &*dir {
            "" | "/" => own.root,
            dir => {
                let opened = std::fs::File::open(dir);
                Root::of(opened.map_err(|error| format!("{}: {error}", brief(dir)))?.into())
            }
        };
        let names = vec![stem(&name).to_owned()];
        Ok(Reached { root, in_image, before, names, ..Reached::own()? })
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
        Ok(Reached { in_image, before, subject, unread, ..Reached::own()? })
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
        if variable != "TZ" || self.in_image && self.before.is_unset() {
            return None;
        }
        let (subject, of) = (self.subject, "logs, schedules, file names");
        let zone = |value: Option<&str>| local_times::zone(&self.root, &self.tzdir, value);
        let sentence = match &self.before {
            Value::Unknown(why) => format!("{subject} may change ({why}): {of}."),
            before => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
                let now = i64::try_from(now).ok()?;
                match (zone(before.text()), zone(value)) {
                    (Some(old), Some(new)) => {
                        format!("{subject} change {}: {of}.", Shift::between(&old, &new, now)?)
                    }
                    _ => format!("{subject} may change (the zone files cannot be read): {of}."),
                }
            }
        };
        let schedules = self.names.iter().any(|name| SCHEDULERS.contains(&name.as_str()));
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
