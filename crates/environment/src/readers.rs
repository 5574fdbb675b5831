//! Who reads a file of this machine: services whose `EnvironmentFile=` names it, scripts that source it and the services
//! that start these, the services whose drop-in it is. They decide the syntax of the file. A change affects
//! them, and they have to be restarted.

use crate::activation::Activation;
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::place::{Destination, Place};
use crate::place_list::place_of_file;
use crate::places::systemd_unit::ENVIRONMENT_FILE;
use crate::running::property;
use crate::sources::user_of_home;

/// Who reads the files of a place.
#[derive(Clone, Copy)]
pub(crate) enum ReadBy {
    /// The program whose file it is.
    Readers,
    /// What is started on this machine, or by the user in whose home it is; what that is: "session".
    Everybody(&'static str),
    /// Each part of the file has a reader of its own; what that is: "job".
    Parts(&'static str),
    /// The services after which the drop-in's directory is named.
    DropIn,
    /// Services and scripts, in several ways: gives the place whose syntax all of them read, or says who disagree.
    Anyone(fn(&Readers) -> Result<&'static Place, String>),
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By systemd: `EnvironmentFile=` names it.
    Systemd,
    /// By a shell that sources it.
    Shell,
    /// By an engine of containers: `--env-file` names it.
    Engine,
    /// It is a program or script, and is started.
    Started,
}

/// Who reads a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readers(pub(crate) Vec<Reader>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reader {
    pub(crate) name: String,
    pub(crate) way: Way,
    /// What restarts it, and whether it runs; `None` for a script, a template and what belongs to another user.
    pub(crate) restart: Option<(Activation, bool)>,
}

impl Readers {
    /// The first that reads it in this way.
    pub(crate) fn by(&self, way: Way) -> Option<&str> {
        self.0.iter().find(|reader| reader.way == way).map(|reader| reader.name.as_str())
    }

    /// The names, each once.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.iter().map(|reader| reader.name.as_str()).collect();
        names.dedup();
        names
    }

    /// "one unit: a.service", "2 units: a.service, b.service, and one script: /etc/init.d/c"; `None` where there is none.
    fn in_words(&self) -> Option<String> {
        let (scripts, units): (Vec<&str>, Vec<&str>) =
            self.names().into_iter().partition(|name| name.starts_with('/'));
        let both = [counted("unit", &units), counted("script", &scripts)];
        let both: Vec<String> = both.into_iter().flatten().collect();
        (!both.is_empty()).then(|| both.join(", and "))
    }

    /// Adds the service or script for which the place was found, and which reads it as the place says, if it is missing.
    fn with(mut self, location: &Destination) -> Readers {
        let way = if location.place.needs_export { Way::Shell } else { Way::Systemd };
        let name = match &location.activation {
            Activation::InitScript { name, .. } => format!("/etc/init.d/{name}"),
            other => other.unit().map_or(String::new(), str::to_owned),
        };
        if name.is_empty() || self.by(way).is_some() {
            return self;
        }
        match self.0.iter_mut().find(|reader| reader.name == name) {
            Some(reader) => reader.way = way,
            None => self.0.push(Reader { name, way, restart: None }),
        }
        self
    }

    /// Those that `restart` does not restart; `None` where there are none.
    fn others(&self, restart: &Activation) -> Option<String> {
        let is_it = |one: &&Reader| {
            let same = one.restart.as_ref().is_some_and(|(other, _)| other == restart);
            same || restart.unit() == Some(&*one.name)
        };
        let others = Readers(self.0.iter().filter(|one| !is_it(one)).cloned().collect());
        let others = others.names().join(", ");
        (!others.is_empty()).then_some(others)
    }

    /// What restarts those that run, or the only one.
    fn restarts(&self) -> Activation {
        let all = || self.0.iter().filter_map(|reader| reader.restart.as_ref());
        let mut running: Vec<Activation> = Vec::new();
        for (restart, _) in all().filter(|(_, runs)| *runs) {
            if !running.contains(restart) {
                running.push(restart.clone());
            }
        }
        match (all().next(), self.names().len()) {
            (Some((only, false)), 1) => only.clone(),
            _ => Activation::of_all(running),
        }
    }
}

/// "one unit: a", "3 units: a, b, c"; `None` for none.
fn counted(noun: &str, names: &[&str]) -> Option<String> {
    const NAMED: usize = 8;
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("one {noun}: {shown}")),
        n @ ..=NAMED => Some(format!("{n} {noun}s: {shown}")),
        n => Some(format!("{n} {noun}s: {shown} and {} more", n - NAMED)),
    }
}

/// Which services a drop-in is for, by the name of its directory (systemd.unit(5)).
enum DropInOf<'a> {
    /// `service.d`
    Every,
    /// `foo-.service.d`: those whose names begin so.
    Prefix(&'a str),
    /// `foo@.service.d`: its instances.
    Template(&'a str),
    /// `foo.service.d`
    One(&'a str),
}

impl DropInOf<'_> {
    fn of(file: &str) -> Option<DropInOf<'_>> {
        let unit = file.rsplit('/').nth(1)?.strip_suffix(".d")?;
        let (stem, _) = unit.rsplit_once('.').unwrap_or(("", unit));
        Some(match stem {
            "" => DropInOf::Every,
            _ if stem.ends_with('-') => DropInOf::Prefix(stem),
            _ if stem.ends_with('@') => DropInOf::Template(unit),
            _ => DropInOf::One(unit),
        })
    }

    /// The services that it affects; `whose`: " of user bob" for units of users.
    fn in_words(&self, whose: &str) -> String {
        match self {
            DropInOf::Every if whose.is_empty() => "every service of this machine".to_owned(),
            DropInOf::Every => format!("every service{whose}"),
            DropInOf::Prefix(prefix) => {
                format!("every service{whose} whose name begins with {prefix}")
            }
            DropInOf::Template(template) => format!("every instance of {template}{whose}"),
            DropInOf::One(unit) => format!("one unit: {unit}{whose}"),
        }
    }
}

/// Whose user units a file is about: "" for those of the system.
fn whose(file: &str) -> String {
    match user_of_home(file) {
        Some(user) => format!(" of user {user}"),
        None if file.contains("/systemd/user/") => " of every user".to_owned(),
        None => String::new(),
    }
}

/// The services that a drop-in affects.
pub(crate) fn reach_of_drop_in(file: &str) -> String {
    DropInOf::of(file).map_or(String::new(), |units| units.in_words(&whose(file)))
}

/// What a change at a place affects, in words.
pub(crate) fn reach(location: &Destination) -> String {
    let Destination { place, part, reach, .. } = location;
    let file = location.file.as_deref().unwrap_or_default();
    if let Some(reach) = reach {
        return reach.clone();
    }
    // What reads a file of another place may read it, too: sudo has /etc/environment as its env_file.
    let by_path = place_of_file(file, "").map(|place| place.read_by);
    let noun = [by_path, Some(place.read_by)].into_iter().flatten().find_map(|by| match by {
        ReadBy::Everybody(noun) => Some(noun),
        _ => None,
    });
    match (place.read_by, noun, part) {
        (ReadBy::Parts(noun), _, None) => format!("every {noun} of {file}"),
        (ReadBy::Parts(_) | ReadBy::Everybody(_), _, Some(part)) => format!("{part} of {file}"),
        (_, Some(noun), _) => match user_of_home(file) {
            Some(user) => format!("every {noun} of user {user}"),
            None => format!("every {noun} of this machine"),
        },
        (ReadBy::DropIn, ..) => reach_of_drop_in(file),
        _ => match location.activation.unit() {
            Some(unit) => format!("one unit: {unit}"),
            None => format!("every program that reads {file}"),
        },
    }
}

/// The place for a file of which no format is known, where a service names it.
pub(crate) fn place_of(file: &str, disk: &Disk) -> Option<&'static Place> {
    disk.census()?.readers(file).by(Way::Systemd).map(|_| &ENVIRONMENT_FILE)
}

/// The destination with what its readers decide: the syntax, the affected services, the restart. A restart that is known
/// already stays: the change is for one unit.
///
/// # Errors
/// When two readers need different syntaxes; the sentence names them.
pub(crate) fn settled(
    mut location: Destination,
    disk: &Disk,
) -> Result<Destination, EnvironmentError> {
    let Some(file) = location.file.clone() else { return Ok(location) };
    let readers = match location.place.read_by {
        ReadBy::DropIn => return Ok(of_drop_in(location, &file, disk)),
        ReadBy::Everybody(_) if user_of_home(&file).is_none() => {
            let units = disk.census().and_then(|census| census.readers(&file).in_words());
            let Some(units) = units else { return Ok(location) };
            location.reach = Some(format!("{}, and {units}", reach(&location)));
            return Ok(location);
        }
        ReadBy::Anyone(place_for) => {
            let Some(census) = disk.census() else { return Ok(location) };
            let readers = census.readers(&file).with(&location);
            let place = place_for(&readers).map_err(|why| format!("{file}: {why}"))?;
            if place != location.place {
                location =
                    Destination { place, label: format!("{}, {file}", place.name), ..location };
            }
            readers
        }
        _ => return Ok(location),
    };
    let Some(reach) = readers.in_words() else { return Ok(location) };
    location.reach = Some(reach);
    if location.activation == Activation::Unknown {
        location.activation = readers.restarts();
        return Ok(location);
    }
    let caveat = readers.others(&location.activation).map(|others| {
        format!(
            "It reaches others that have that file, too, after a restart of their own: {others}."
        )
    });
    Ok(match caveat {
        Some(caveat) => location.caveat(&caveat),
        None => location,
    })
}

/// A drop-in with the services that it reaches. Which one it is for is known from its path.
fn of_drop_in(mut location: Destination, file: &str, disk: &Disk) -> Destination {
    let of_system = whose(file).is_empty() && location.activation == Activation::Unknown;
    let Some(units) = DropInOf::of(file).filter(|_| of_system) else { return location };
    let begin = match units {
        DropInOf::Prefix(prefix) => prefix,
        DropInOf::Template(template) => template.trim_end_matches(".service"),
        DropInOf::One(unit) if disk.is_host() && property(unit, false, "LoadState") == "loaded" => {
            location.activation = Activation::restart(unit);
            return location;
        }
        DropInOf::One(_) | DropInOf::Every => return location,
    };
    let Some(readers) = disk.census().map(|census| census.beginning(begin)) else {
        return location;
    };
    location.reach = readers.in_words().map(|known| format!("{} ({known})", units.in_words("")));
    location.activation = readers.restarts();
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_in_names_the_services_that_it_affects() {
        for (file, reach) in [
            ("/etc/systemd/system/a.service.d/x.conf", "one unit: a.service"),
            ("/etc/systemd/system/a@b.service.d/x.conf", "one unit: a@b.service"),
            ("/run/systemd/system/service.d/x.conf", "every service of this machine"),
            ("/etc/systemd/system/a-.service.d/x.conf", "every service whose name begins with a-"),
            ("/etc/systemd/system/a@.service.d/x.conf", "every instance of a@.service"),
            ("/etc/systemd/user/service.d/x.conf", "every service of every user"),
        ] {
            assert_eq!(reach_of_drop_in(file), reach, "{file}");
        }
    }

    #[test]
    fn readers_in_words() {
        let reader = |name: &str, active| {
            let restart = (!name.starts_with('/')).then(|| (Activation::restart(name), active));
            Reader { name: name.to_owned(), way: Way::Systemd, restart }
        };
        let all = |names: &[(&str, bool)]| {
            Readers(names.iter().map(|(name, active)| reader(name, *active)).collect())
        };
        assert_eq!(all(&[]).in_words(), None);
        let one = all(&[("a.service", false)]);
        assert_eq!(one.in_words().as_deref(), Some("one unit: a.service"));
        assert_eq!(one.restarts().to_string(), "systemctl restart a.service");
        let several = all(&[("a.service", true), ("b.service", false), ("/etc/init.d/c", false)]);
        let words = "2 units: a.service, b.service, and one script: /etc/init.d/c";
        assert_eq!(several.in_words().as_deref(), Some(words));
        // Only one of them runs.
        assert_eq!(several.restarts(), Activation::restart("a.service"));
        let both = all(&[("a.service", true), ("b.service", true)]).restarts();
        assert_eq!(both.left_to_user().len(), 2);
        let names: Vec<String> = (0..10).map(|at| at.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(counted("unit", &names).unwrap().ends_with("6, 7 and 2 more"));
    }
}
