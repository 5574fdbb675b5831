//! ## What it finds
//!
//! TZ names a zone that does not exist where the program runs. The program's times are UTC, without
//! an error or a message.
//!
//! ## Why it happens
//!
//! The name is misspelt, or the tz database is not installed (slim images), or the zone is not in
//! the program's own root. POSIX has no way to report it: glibc tries the file once and goes on in
//! UTC. It costs one failed open; it is reported because the times are wrong.
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
//! program's times change from UTC to that zone: check first whether anybody relies on UTC.
//!
//! ## References
//!
//! * `man 3 tzset`
//! * glibc, `time/tzset.c`

use crate::select::{Case, merge};
use crate::zone::{self, LOCALTIME, positions, sum, zone_name};
use crate::{Rule, Sink, View};
use needless_model::{
    Change, Errno, Finding, Libc, ProcId, Process, Query, Remedy, Row, Safety, Stage, posix_tz,
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RULE: Rule = Rule {
    name: "tz-not-found",
    summary: "TZ names a zone that does not exist, so the times are UTC",
    variables: &["TZ"],
    correctness: true,
    page: include_str!("tz_not_found.rs"),
    check,
    ..Rule::PLAIN
};

fn check(view: &View<'_>, sink: &mut Sink) {
    let mut opens = view.opens_where(|path| zone_name(path).is_some(), |_| true);
    // TZ may also be the path of a file.
    let paths: BTreeSet<&str> = view.profile.processes.iter().filter_map(tz_path).collect();
    for path in paths {
        for (process, rows) in view.rows_at(path) {
            if tz_path(view.process(process)) == Some(path) {
                let own = opens.entry(process).or_default();
                own.extend(rows.into_iter().filter(|(_, row)| row.query == Query::Open));
            }
        }
    }
    let mut groups: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let reads_localtime = view.rows_at(LOCALTIME);
    for (process, opens) in opens {
        let name = match view.process(process).env.get("TZ") {
            Some(None) => continue,
            Some(Some(value)) => by_value(view, value, &opens),
            None if reads_localtime.contains_key(&process) => continue,
            None => by_pattern(view, process, &opens),
        };
        let Some(name) = name else { continue };
        let failed: Vec<(usize, &Row)> = opens
            .iter()
            .copied()
            .filter(|(_, row)| row.failed(Errno::ENOENT) && named(view, row, &name))
            .collect();
        let needless = sum(&failed);
        let case = Case { process, needless, of: needless, rows: positions(&failed) };
        groups.entry(name).or_default().push(case);
    }
    for (name, cases) in groups {
        sink.find(finding(view, &name, cases));
    }
}

/// The value of TZ if it is an absolute path outside of the zone database.
fn tz_path(process: &Process) -> Option<&str> {
    let value = process.env.value("TZ")?;
    let path = value.strip_prefix(':').unwrap_or(value);
    (path.starts_with('/') && zone_name(path).is_none()).then_some(path)
}

fn named(view: &View<'_>, row: &Row, name: &str) -> bool {
    let path = view.profile.path(row);
    path == name || zone_name(path) == Some(name)
}

/// The name in TZ, if it was looked for as a file and not found.
fn by_value(view: &View<'_>, value: &str, opens: &[(usize, &Row)]) -> Option<String> {
    let value = value.strip_prefix(':').unwrap_or(value);
    let value = zone_name(value).unwrap_or(value);
    let mut found = opens.iter().filter(|(_, row)| named(view, row, value)).peekable();
    found.peek()?;
    (posix_tz(value).is_none()
        && !means_utc(value)
        && found.all(|(_, row)| row.failed(Errno::ENOENT)))
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
        && posix_tz(name).is_none())
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

fn finding(view: &View<'_>, name: &str, cases: Vec<Case>) -> Finding {
    let merged = merge(view.profile, cases);
    let first = merged.processes[0];
    let known = view.process(first).env.value("TZ").is_some();
    let no_tzdata = zone::zone_of(view, first).is_some_and(|zone| !zone.tzdata);
    let set = Remedy {
        change: Change::SetEnv { variable: "TZ".to_owned(), value: None },
        safety: Safety::Caveat(
            "Times change from UTC to the zone that is meant; the number of calls does not fall, \
             because its file is then read. The value is a name that exists below \
             /usr/share/zoneinfo where the program runs, such as Europe/Athens."
                .to_owned(),
        ),
    };
    let install = Remedy {
        change: Change::Manual("Install tzdata where the program runs".to_owned()),
        safety: Safety::Manual("Times change from UTC to the zone in TZ.".to_owned()),
    };
    Finding {
        stage: if known { Stage::Explained } else { Stage::Seen },
        what: format!("no zone {name}: the times of this program are UTC"),
        why: format!(
            "{} names {name}, and there is no such file{}. glibc then uses UTC and reports no \
             error.",
            if known { "TZ" } else { "TZ (known from the file that was looked for)" },
            if no_tzdata { ", because tzdata is not installed here" } else { "" },
        ),
        remedies: if no_tzdata { vec![install, set] } else { vec![set, install] },
        // The right times matter here, not the calls: a zone that is found is read.
        besides: -READ * merged.needless as i64,
        ..merged.finding(RULE.name)
    }
}
