//! The soft limit of open files (RLIMIT_NOFILE) with which a unit starts its program: `LimitNOFILE=1024:HARD`,
//! systemd.exec(5). 1,024 is systemd's own default, because of select(2); a program that needs more raises it itself, up
//! to the hard limit.

use super::ChangedUnit;
use crate::activation::Activation;
use crate::error::EnvironmentError;
use crate::merge::ChangeRequest;
use crate::place::{CheckStyle, DEFAULT, Destination, LocationQuery, LookAt, Place};
use crate::places::systemd::{LIMIT, UnitDirective, directives, with_line};
use crate::places::systemd_unit::{DROP_IN, SYSTEMD_UNIT, USER_UNIT};
use crate::places::{Edit, FoundValue};
use crate::request::own_root;
use crate::running::{main_process_of, processes_of_unit, property};
use crate::sources::User;
use crate::started_by::{self, Started, StartedBy};
use crate::unit;
use needless_host::{ProcInfo, Root, ancestry, open_files};

/// The usual soft limit.
const USUAL: u64 = 1024;
/// With so many descriptors open, a limit of 1,024 is too near.
const MANY: usize = 512;

const LOOK: LookAt = |pid, wanted| {
    let (soft, _) = wanted.split_once(':').unwrap_or((wanted, ""));
    let has = open_files(pid)?;
    let right = soft.parse() == Ok(has);
    let set = "which it, or what starts it, sets itself";
    Some(if right { Ok(()) } else { Err(format!("a soft limit of {has} open files, {set}")) })
};

const OF_UNIT: Place =
    Place { check_style: CheckStyle::UnitDropIn, find, put, look: Some(LOOK), refuses, ..DEFAULT };

pub(super) static UNIT_LIMIT: Place = Place {
    name: "limit of a systemd unit",
    effect: "systemctl daemon-reload, then a restart of the unit",
    check: &["systemd-analyze", "verify"],
    reload: &Activation::DaemonReload { user: false },
    ..OF_UNIT
};

pub(super) static USER_UNIT_LIMIT: Place = Place {
    name: "limit of a systemd user unit",
    effect: "systemctl --user daemon-reload, then a restart of the unit",
    check: &["systemd-analyze", "--user", "verify"],
    reload: &Activation::DaemonReload { user: true },
    ..OF_UNIT
};

/// Where a text sets the limit; the last one counts.
fn find(text: &str, name: &str, _: Option<&str>) -> Vec<FoundValue> {
    let mut set = Vec::new();
    if name != LIMIT {
        return set;
    }
    for (at, said) in directives(text, "Service", "Environment") {
        match said {
            UnitDirective::Limit(value) if value.is_empty() => set.clear(),
            UnitDirective::Limit(value) => set.push(FoundValue::set(at, value)),
            _ => {}
        }
    }
    set
}

fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let value = edit.value.ok_or("a limit is set, and not removed")?;
    Ok(with_line(text, edit, format!("{LIMIT}={value}"), find(text, LIMIT, None).pop()))
}

/// Asks systemd whether it will start the unit with that soft limit.
fn refuses(place: &Destination, _: &str, value: Option<&str>) -> Option<String> {
    let Activation::Restart { unit, user } = &place.activation else { return None };
    let soft = property(unit, *user, "LimitNOFILESoft");
    let wanted = value?.split(':').next()?;
    let other = !soft.is_empty() && soft != wanted;
    other.then(|| format!("{unit} would still start with a soft limit of {soft} open files"))
}

/// The drop-in with a lower soft limit for the unit of the subject.
pub(super) fn change(of: &ChangedUnit) -> Result<ChangeRequest, EnvironmentError> {
    let (unit, user) = (&*of.name, of.user);
    let of = |name| property(unit, user, name);
    let (soft, hard) = (of("LimitNOFILESoft"), of("LimitNOFILE"));
    if soft.is_empty() || hard.is_empty() {
        return Err(format!("{unit}: systemd cannot be asked for its limit of open files").into());
    }
    // With a drop-in of ours it may be that only the restart is missing.
    let is_low = soft.parse().is_ok_and(|soft: u64| soft <= USUAL);
    if is_low && !of("DropInPaths").contains(DROP_IN) {
        return Err(format!(
            "{unit} starts its program with a soft limit of {soft} open files: the program raises it itself, or closes the same descriptors again and again"
        )
        .into());
    }
    if let Some(why) = uses_many(unit, user, &soft) {
        return Err(why.into());
    }
    let root = own_root()?;
    let me = user.then(|| User::of(&root, rustix::process::geteuid().as_raw())).flatten();
    let chain = match main_process_of(unit, user) {
        Some(pid) => ancestry(pid, LIMIT)?,
        None => Vec::new(),
    };
    let mut caveats = vec![format!(
        "It reaches all that {unit} starts. The hard limit stays {hard}: up to that a program may raise its own."
    )];
    let read = unit::read(&root, unit, LIMIT, me.as_ref());
    if let Some(own) = read.effective().filter(|own| !own.file.ends_with(DROP_IN)) {
        let (file, line, is) = (&own.file, own.line, own.value.as_deref().unwrap_or_default());
        caveats.push(format!(
            "{file}:{line} sets {LIMIT}={is}, and the new drop-in is read after it: find out first why somebody wanted so many."
        ));
    }
    let location = location(&root, &chain, unit, user)?;
    Ok(ChangeRequest {
        location,
        variable: LIMIT.to_owned(),
        value: Some(format!("{USUAL}:{hard}")),
        rules: Vec::new(),
        times: Vec::new(),
        caveats,
        targets: vec![unit.to_owned()],
    })
}

/// A process of the unit that has so many descriptors open, under the limit that it was given, that it needs it.
fn uses_many(unit: &str, user: bool, given: &str) -> Option<String> {
    let pids = match user {
        false => processes_of_unit(unit),
        true => main_process_of(unit, true).into_iter().collect(),
    };
    pids.into_iter().find_map(|pid| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        let raised = given.parse().is_ok_and(|given: u64| open_files(pid) != Some(given));
        (open > MANY && !raised).then(|| {
            format!("process {pid} of {unit} has {open} descriptors open, under the limit that it was started with: {USUAL} may be too few")
        })
    })
}

/// The place for a variable of the unit is the place for its limit, too.
fn location(
    root: &Root,
    chain: &[ProcInfo],
    unit: &str,
    user: bool,
) -> Result<Destination, EnvironmentError> {
    let name = unit.to_owned();
    let started_by = match started_by::of(chain) {
        by @ (StartedBy::Unit { .. } | StartedBy::UserUnit { .. }) => by,
        _ if user => StartedBy::UserUnit { name, uid: rustix::process::geteuid().as_raw() },
        _ if chain.is_empty() => StartedBy::Unit { name, how: Started::Directly },
        _ => StartedBy::Unit { name, how: Started::ByAnother },
    };
    let query = LocationQuery { root, chain, variable: LIMIT, started_by: &started_by };
    let (place, limit) =
        if user { (&USER_UNIT, &USER_UNIT_LIMIT) } else { (&SYSTEMD_UNIT, &UNIT_LIMIT) };
    let found = (place.locate)(&query).into_iter().find(|one| one.place == place);
    let found = found.ok_or_else(|| {
        format!("{unit} is made of another file: set the limit there (PodmanArgs=--ulimit)")
    })?;
    // What it says about variables, and of a file that the user could name.
    let why = found.why.replace("the variable", "the limit");
    let why = why.split_once(" (--in ").map_or(&*why, |(why, _)| why).to_owned();
    // A template has nothing to restart; its caveat is about processes, not about variables.
    let caveat = found.caveat.filter(|_| !found.activation.is_known());
    Ok(Destination { place: limit, why, caveat, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::systemd;

    /// A variable and a limit in our drop-in: a change of one keeps the other.
    #[test]
    fn a_drop_in_has_both() {
        let limit = |value| Edit { variable: LIMIT, value: Some(value), part: None };
        let zone = |value| Edit { variable: "TZ", value, part: None };
        let one = put("", &limit("1024:524288")).unwrap();
        let both = systemd::put(&one, &zone(Some("UTC"))).unwrap();
        let again = put(&both, &limit("1024:infinity")).unwrap();
        assert_eq!(find(&again, LIMIT, None), [FoundValue::set(3, "1024:infinity")]);
        assert_eq!(systemd::find(&again, "TZ", None), [FoundValue::set(2, "UTC")]);
        assert_eq!(again.lines().count(), 4, "{again}");
        let other = systemd::put(&again, &zone(Some("Asia/Tokyo"))).unwrap();
        assert_eq!(find(&other, LIMIT, None).len(), 1, "{other}");
        // The file of somebody else: the line comes last, and is changed there.
        let theirs = "[Service]\nLimitNOFILE=65536\nNice=1\n";
        let below = put(theirs, &limit("1024:65536")).unwrap();
        assert!(below.starts_with(theirs) && find(&below, LIMIT, None).len() == 2, "{below}");
        let changed = put(&below, &limit("1024:4096")).unwrap();
        assert_eq!(changed, below.replace("1024:65536", "1024:4096"));
        assert!(find("[Service]\nLimitNOFILE=5\nLimitNOFILE=\n", LIMIT, None).is_empty());
    }
}
