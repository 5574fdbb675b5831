//! ## What it finds
//!
//! TZ names a zone that does not exist where the program runs. The program's times are UTC, without
//! an error or a message.
//!
//! ## Why it happens
//!
//! The name is misspelt, or the tz database is not installed (slim images), or the zone is not in
//! the program's own root, or TZDIR names another directory, which does not exist or lacks the zone:
//! glibc then looks nowhere else. Or TZ names a directory (`Europe`) or a file that is no zone
//! (`zone.tab`). POSIX has no way to report it: glibc tries the file once and goes
//! on in UTC. It costs one failed open; it is reported because the times are wrong.
//!
//! ## Example
//!
//! ```trace
//! env TZ=Europe/Athen
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athen", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! tz-not-found: 1 of 1
//! stage explained
//! set TZ
//! ```
//!
//! A directory of zones that has not been installed:
//!
//! ```trace
//! env TZ=Europe/Berlin TZDIR=/opt/app/tz
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 22 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/tz/Europe/Berlin", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! tz-not-found: 1 of 1
//! stage explained
//! unset TZDIR
//! ```
//!
//! If the zone is not below /usr/share/zoneinfo either, another directory does not help alone:
//!
//! ```trace
//! env TZ=Europe/Nowhere TZDIR=/opt/app/tz
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 22 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/tz/Europe/Nowhere", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! zonefile /usr/share/zoneinfo/Europe/Nowhere no
//! ```
//! ```finding
//! tz-not-found: 1 of 1
//! stage explained
//! manual
//! ```
//!
//! A directory of zones, or another file, is no zone:
//!
//! ```trace
//! env TZ=Europe
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe", O_RDONLY|O_CLOEXEC) = 3
//! zonefile /usr/share/zoneinfo/Europe no
//! ```
//! ```finding
//! tz-not-found: 1 of 1
//! stage explained
//! set TZ
//! ```
//!
//! TZDIR may start in the working directory:
//!
//! ```trace
//! env TZ=Europe/Berlin TZDIR=tz
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 22 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "tz/Europe/Berlin", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! tz-not-found: 1 of 1
//! stage explained
//! unset TZDIR
//! ```
//!
//! Without tzdata, and from a log. The environment is not known, but only glibc looks for one name in
//! one directory and for nothing else.
//!
//! ```trace
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athens", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! tz-not-found: 1 of 1
//! stage seen
//! ```
//!
//! ## Not a finding
//!
//! A POSIX string is looked for as a file first, and needs none:
//!
//! ```trace
//! env TZ=JST-9
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/JST-9", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! env TZ=<+03>-3
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/<+03>-3", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A string with a mistake, of which glibc understands enough: the times are those of New York, and
//! in Japan they are not UTC either.
//!
//! ```trace
//! env TZ=EST5EDT,M3.2.0
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/EST5EDT,M3.2.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! env TZ=JST-9JDT,M99
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/JST-9JDT,M99", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A directory of its own that holds the zone:
//!
//! ```trace
//! env TZ=Europe/Berlin TZDIR=/opt/app/tz
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 22 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/tz/Europe/Berlin", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A zone that is found:
//!
//! ```trace
//! env TZ=Europe/Berlin
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Berlin", O_RDONLY|O_CLOEXEC) = 3
//! zonefile /usr/share/zoneinfo/Europe/Berlin yes
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A library that looks for its zone in several directories, and finds it in one:
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3", "x.py"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/zoneinfo/Asia/Tokyo", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Asia/Tokyo", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Correct the name (`ls /usr/share/zoneinfo` where the program runs), or install tzdata there. The
//! program's times change from UTC to that zone: check first whether anybody relies on UTC. Where
//! TZDIR is set, unset it (if the zone is below /usr/share/zoneinfo), or put the zones where it points to; programs for which it was set may
//! need zones that only that directory has.
//!
//! ## References
//!
//! * `man 3 tzset`
//! * glibc, `time/tzset.c`

use crate::engine::helpers;
use crate::engine::{Case, merge};
use crate::mechanism::zone::{self, LOCALTIME, positions, sum, zone_name};
use crate::mechanism::zone_wanted::{AREAS, elsewhere, is_none, may_be_zone, named, tzdir};
use crate::{Rule, Sink, View};
use needless_model::{
    Change, Errno, Fact, Finding, Libc, ProcId, Process, Query, Remedy, Row, Safety, Stage,
};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "tz-not-found",
    summary: "TZ names a zone that does not exist, so the times are UTC",
    variables: &["TZ", "TZDIR"],
    correctness: true,
    ..Rule::PLAIN
};

/// A zone that was not found, and the directory that TZDIR names for it.
type Wanted<'p> = (String, Option<&'p str>);

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut opens = view.opens_where(|path| zone_name(path).is_some(), |_| true);
    for id in view.ids() {
        let Some(path) = elsewhere(view.process(id)) else { continue };
        let named = |row: &Row| row.query == Query::Open && helpers::is_at(view, row, &path);
        let rows = view.rows_of(id).filter(|(_, row)| named(row));
        let rows = rows.filter(|(_, row)| zone_name(view.profile.path(row)).is_none());
        let mut rows = rows.peekable();
        if rows.peek().is_some() {
            opens.entry(id).or_default().extend(rows);
        }
    }
    let mut groups: BTreeMap<Wanted<'_>, Vec<Case>> = BTreeMap::new();
    let reads_localtime = view.rows_at(LOCALTIME);
    for (id, opens) in opens {
        let process = view.process(id);
        let name = match process.env.get("TZ") {
            Some(None) => continue,
            Some(Some(value)) => by_value(view, process, value, &opens),
            None if reads_localtime.contains_key(&id) => continue,
            None => by_pattern(view, id, &opens),
        };
        let Some(name) = name else { continue };
        let failed: Vec<(usize, &Row)> = opens
            .iter()
            .copied()
            .filter(|(_, row)| is_none(view, process, row) && named(view, process, row, &name))
            .collect();
        let needless = sum(&failed);
        let case = Case { process: id, needless, of: needless, rows: positions(&failed) };
        groups.entry((name, tzdir(process))).or_default().push(case);
    }
    let unsure = |row: &Row| {
        let path = view.profile.path(row);
        row.query == Query::Open
            && match row.ok() {
                true => zone_name(path).is_some_and(|name| AREAS.contains(&name)),
                false => row.failed(Errno::ENOENT) && may_be_zone(path),
            }
    };
    let unknown = |id: &ProcId| view.env_unknown(*id);
    if view.ids().filter(unknown).any(|id| view.rows_of(id).any(|(_, row)| unsure(row))) {
        sink.lack(RULE.name, Fact::Environment);
    }
    for ((name, dir), cases) in groups {
        sink.find(finding(view, &name, dir, cases));
    }
}

/// The name in TZ, if it was looked for as a file and not found.
fn by_value(
    view: &View<'_>,
    process: &Process,
    value: &str,
    opens: &[(usize, &Row)],
) -> Option<String> {
    let value = value.strip_prefix(':').unwrap_or(value);
    let value = zone_name(value).unwrap_or(value);
    let mut found = opens.iter().filter(|(_, row)| named(view, process, row, value)).peekable();
    found.peek()?;
    (zone::is_utc_by_mistake(value)
        && !means_utc(value)
        && found.all(|(_, row)| is_none(view, process, row)))
    .then(|| value.to_owned())
}

/// Where TZ is not known: glibc looks for one name, in one directory, and for nothing else. A
/// library with a search path of its own looks in several.
fn by_pattern(view: &View<'_>, process: ProcId, opens: &[(usize, &Row)]) -> Option<String> {
    let [(_, only)] = opens else { return None };
    let name = zone_name(view.profile.path(only))?;
    let glibc = matches!(view.libc(process), Libc::Glibc(_));
    let is_file = ["posixrules", "localtime", "leapseconds", "+VERSION"].contains(&name)
        || name.ends_with(".tab")
        || name.ends_with(".zi")
        || name.ends_with(".list");
    (glibc
        && !is_file
        && !means_utc(name)
        && only.failed(Errno::ENOENT)
        && zone::is_utc_by_mistake(name))
    .then(|| name.to_owned())
}

/// Whether UTC was asked for: then the missing file changes no time. glibc looks for Universal if
/// TZ is empty.
fn means_utc(name: &str) -> bool {
    let name = name.strip_prefix("Etc/").unwrap_or(name);
    ["UTC", "UCT", "Universal", "Zulu"].contains(&name)
}

/// Calls for a zone that is found: open, two fstats, two reads with a seek between them, close.
const READ: i64 = 7;
/// Calls that follow the open of a file that is no zone: two fstats, read, close.
const REFUSED: i64 = 4;

fn finding(view: &View<'_>, name: &str, dir: Option<&str>, cases: Vec<Case>) -> Finding {
    let merged = merge(view.profile, cases);
    let first = merged.processes[0];
    let known = view.process(first).env.value("TZ").is_some();
    let no_tzdata = zone::zone_of(view, first).is_some_and(|zone| !zone.tzdata);
    let opened: u64 = merged
        .rows
        .iter()
        .map(|at| &view.profile.rows[*at])
        .filter(|row| row.ok())
        .map(|row| row.count)
        .sum();
    let (place, where_to) = match dir {
        Some(dir) => (
            format!(" in {dir}"),
            format!(" in {dir}, the only directory in which TZDIR lets glibc look"),
        ),
        None if no_tzdata => (String::new(), ", because tzdata is not installed here".to_owned()),
        None => (String::new(), String::new()),
    };
    let remedies = match dir {
        Some(_) if usual_is_missing(view, first, name) => vec![helpers::by_hand(
            "Unset TZDIR, and set TZ to a zone that exists below /usr/share/zoneinfo: without TZDIR alone the times stay UTC",
            "Times change from UTC to the zone that is meant.",
        )],
        Some(dir) => vec![without_tzdir(dir), another_zone()],
        None if no_tzdata => vec![tzdata(), another_zone()],
        None if opened > 0 => vec![another_zone()],
        None => vec![another_zone(), tzdata()],
    };
    Finding {
        stage: if known { Stage::Explained } else { Stage::Seen },
        what: format!("no zone {name}{place}: the times of this program are UTC"),
        why: format!(
            "{} names {name}, and {}{where_to}. glibc then uses UTC and reports no error.",
            if known { "TZ" } else { "TZ (known from the file that was looked for)" },
            if opened > 0 { "the file of this name is no zone" } else { "there is no such file" },
        ),
        remedies,
        // The right times matter here, not the calls: a zone that is found is read.
        besides: REFUSED * opened as i64 - READ * merged.needless as i64,
        ..merged.finding(RULE.name)
    }
}

/// Whether the zone is not in the usual directory either: then TZDIR alone is not the cause.
fn usual_is_missing(view: &View<'_>, process: ProcId, name: &str) -> bool {
    let usual = format!("/usr/share/zoneinfo/{name}");
    view.process(process).shares_root && view.profile.host.zone_files.get(&usual) == Some(&false)
}

fn another_zone() -> Remedy {
    Remedy {
        change: Change::SetEnv { variable: "TZ".to_owned(), value: None },
        safety: Safety::Caveat(
            "Times change from UTC to the zone that is meant; the number of calls does not fall, \
             because its file is then read. The value is a name that exists below \
             /usr/share/zoneinfo where the program runs, such as Europe/Athens."
                .to_owned(),
        ),
    }
}

fn tzdata() -> Remedy {
    let price = "Times change from UTC to the zone in TZ.";
    helpers::by_hand("Install tzdata where the program runs", price)
}

/// Lets glibc look in its own directory.
pub(crate) fn without_tzdir(dir: &str) -> Remedy {
    Remedy {
        change: Change::UnsetEnv { variable: "TZDIR".to_owned() },
        safety: Safety::Caveat(format!(
            "Times change from UTC to the zone that is meant, if it exists below /usr/share/zoneinfo; \
             the number of calls does not fall, because its file is then read. Programs that need \
             zones which only {dir} should have no longer find them."
        )),
    }
}
