//! ## What it finds
//!
//! TZ has a value that the C library understands, and the runtime of this program does not: Java,
//! Node or Go. The times are wrong, without an error or a message.
//!
//! ## Why it happens
//!
//! glibc takes the path of a file and a POSIX text as well as the name of a zone. Other runtimes read
//! TZ themselves:
//!
//! | TZ | Java | Node and others with ICU | Go |
//! |---|---|---|---|
//! | `Europe/Athens`, `:Europe/Athens` | right | right | right |
//! | `:/etc/localtime`, `/etc/localtime`, any other path | no daylight saving | no daylight saving | right |
//! | `JST-9` | right | right | UTC |
//! | `GMT+3` (three hours *behind* UTC) | three hours *ahead of* UTC | right | UTC |
//! | `IST-5:30`, `<+03>-3` | right | the zone of the machine | UTC |
//! | `EET-2EEST`, with or without rules | no daylight saving | the zone of the machine | UTC |
//!
//! "No daylight saving" means the offset of the moment at which the program started, for every date.
//! Printed by OpenJDK 17, Node 20 and Go 1.26 for a day in January and one in July.
//!
//! ## Example
//!
//! Java reads its own zones (`tzdb.dat`) only if the program has to do with local time:
//!
//! ```trace
//! runtime java
//! env TZ=:/etc/localtime
//! zone link Europe/Athens
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/jvm/java-17-openjdk-amd64/lib/tzdb.dat", O_RDONLY) = 4
//! ```
//! ```finding
//! tz-misread: 0 of 1
//! stage explained
//! set TZ=Europe/Athens
//! ```
//!
//! A file of the database instead of its name:
//!
//! ```trace
//! runtime node
//! env TZ=/usr/share/zoneinfo/America/New_York
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/America/New_York", O_RDONLY|O_CLOEXEC) = 18
//! ```
//! ```finding
//! tz-misread: 0 of 1
//! stage explained
//! set TZ=America/New_York
//! ```
//!
//! Go looks for a file of this name, and takes UTC:
//!
//! ```trace
//! runtime go
//! env TZ=JST-9
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo//JST-9", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/lib/zoneinfo//JST-9", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/TZ//JST-9", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/zoneinfo/JST-9", O_RDONLY) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! tz-misread: 4 of 4
//! stage explained
//! set TZ=Etc/GMT-9
//! ```
//!
//! Java takes the sign of `GMT+3` the other way round:
//!
//! ```trace
//! runtime java
//! env TZ=GMT+3
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/jvm/java-17-openjdk-amd64/lib/tzdb.dat", O_RDONLY) = 4
//! ```
//! ```finding
//! tz-misread: 0 of 1
//! set TZ=Etc/GMT+3
//! ```
//!
//! Node in a container, whose zone is UTC:
//!
//! ```trace
//! runtime node
//! env TZ=CET-1CEST,M3.5.0,M10.5.0/3
//! zone link Etc/UTC
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! readlink("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC", 4095) = 27
//! openat(AT_FDCWD, "/usr/share/zoneinfo/CET-1CEST,M3.5.0,M10.5.0/3", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! tz-misread: 0 of 1
//! set TZ
//! ```
//!
//! ## Not a finding
//!
//! A zone without daylight saving, in which a fixed offset is right:
//!
//! ```trace
//! runtime java
//! env TZ=:/etc/localtime
//! zone link Asia/Tokyo
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/jvm/java-17-openjdk-amd64/lib/tzdb.dat", O_RDONLY) = 4
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that does not convert times; a C program, which reads the value as glibc does:
//!
//! ```trace
//! runtime java
//! env TZ=:/etc/localtime
//! zone link Europe/Athens
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! env TZ=:/etc/localtime
//! zone link Europe/Athens
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The name of a zone, and the path of the file in Go; a text that is a file too:
//!
//! ```trace
//! runtime node
//! env TZ=:Europe/Athens
//! zone link Etc/UTC
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athens", O_RDONLY|O_CLOEXEC) = 18
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! runtime go
//! env TZ=:/etc/localtime
//! zone link Europe/Athens
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! runtime go
//! env TZ=EST5EDT
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo//EST5EDT", O_RDONLY) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Java that gets its zone from an option:
//!
//! ```trace
//! runtime java
//! env TZ=EET-2EEST JAVA_TOOL_OPTIONS=-Duser.timezone=Europe/Athens
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/jvm/java-17-openjdk-amd64/lib/tzdb.dat", O_RDONLY) = 4
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set TZ to the name of the zone (`Europe/Athens`): every runtime reads it alike. The times of the
//! program change to those that are meant; check first whether anybody has come to rely on the wrong
//! ones. An option on Java's command line (`-Duser.timezone`) goes before TZ, and is not seen here: a
//! program that has it is right already.
//!
//! ## References
//!
//! * <https://github.com/nodejs/node/issues/37271>: `TZ=:/etc/localtime` in Node
//! * ICU, `putil.cpp`, `uprv_tzname()`; OpenJDK, `TimeZone_md.c`, `findJavaTZ_md()`
//! * Go, package `time`, `zoneinfo_unix.go`: "TZ="foo" or TZ=":foo" if foo is an absolute path …"

use crate::engine::Case;
use crate::engine::helpers;
use crate::mechanism::misread::{Mistake, meant_by_path, mistake, offsets};
use crate::mechanism::zone::{self, LOCALTIME, zone_name};
use crate::{Rule, Sink, View};
use needless_localtime::posix_tz;
use needless_model::{Fact, ProcId, Query, Remedy, Row, Runtime, Safety, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "tz-misread",
    summary: "TZ has a value that Java, Node or Go reads in another way than the C library",
    variables: &["TZ", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"],
    correctness: true,
    ..Rule::PLAIN
};

/// The zones that Java has itself, since version 8; read when a program first wants local time.
const ZONES_OF_JAVA: &str = "/lib/tzdb.dat";
pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<(Runtime, Mistake, &str), Vec<Case>> = BTreeMap::new();
    for id in view.ids() {
        let process = view.process(id);
        if process.runtime == Runtime::Native {
            continue;
        }
        let Some(value) = process.env.value("TZ").filter(|value| !value.is_empty()) else {
            if process.env.get("TZ").is_none() && !signs(view, id, None).is_empty() {
                sink.lack(RULE.name, Fact::Environment);
            }
            continue;
        };
        let text = value.strip_prefix(':').unwrap_or(value);
        let rows = signs(view, id, Some(text));
        let wants_zone =
            text == LOCALTIME || process.runtime == Runtime::Node && posix_tz(text).is_some();
        if wants_zone && !rows.is_empty() && zone::zone_of(view, id).is_none() {
            sink.lack(RULE.name, Fact::HostZone);
        }
        let Some(mistake) = mistake(view, id, text) else { continue };
        let found_by_go = mistake == Mistake::Utc && rows.iter().any(|(_, row)| row.ok());
        if rows.is_empty() || found_by_go {
            continue;
        }
        let of = zone::sum(&rows);
        // Go finds no such file; the others read what they would read with another value.
        let needless = if mistake == Mistake::Utc { of } else { 0 };
        let case = Case { process: id, needless, of, rows: zone::positions(&rows) };
        groups.entry((process.runtime, mistake, value)).or_default().push(case);
    }
    for ((runtime, mistake, value), cases) in groups {
        let first = cases[0].process;
        let merged = helpers::merged(view, cases);
        let (what, why) = text_of(view, first, runtime, mistake, value);
        let remedies = vec![remedy(view, first, value)];
        // Those that are not found are followed by the open, read and close of the one that is.
        let besides = if mistake == Mistake::Utc { -READ } else { 0 };
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// What Go does with a zone that it finds: open, two or three reads, close.
const READ: i64 = 4;

/// The rows that show that the process wants local time; `text`: TZ without its colon.
fn signs<'v>(view: &'v View<'_>, id: ProcId, text: Option<&str>) -> Vec<(usize, &'v Row)> {
    let runtime = view.process(id).runtime;
    let is_sign = |row: &Row| {
        let path = view.profile.path(row);
        match runtime {
            Runtime::Java => row.query == Query::Open && path.ends_with(ZONES_OF_JAVA),
            Runtime::Node => {
                path == LOCALTIME
                    || text.map_or_else(|| zone_name(path).is_some(), |text| text == path)
            }
            Runtime::Go => {
                row.query == Query::Open
                    && match text {
                        Some(text) => {
                            zone_name(path) == Some(text)
                                || path.strip_prefix("/usr/lib/locale/TZ//") == Some(text)
                        }
                        None => zone_name(path).is_some(),
                    }
            }
            Runtime::Native => false,
        }
    };
    let mut rows: Vec<(usize, &Row)> = view.rows_of(id).filter(|(_, row)| is_sign(row)).collect();
    if runtime != Runtime::Go {
        rows.truncate(1);
    }
    rows
}

fn text_of(
    view: &View<'_>,
    id: ProcId,
    runtime: Runtime,
    mistake: Mistake,
    value: &str,
) -> (String, String) {
    let program = view.process(id).name();
    let reader = match runtime {
        Runtime::Java => "Java",
        Runtime::Node => "ICU, which Node and Chromium use,",
        _ => "Go",
    };
    match mistake {
        Mistake::Fixed => (
            format!(
                "{program} has no daylight saving under TZ={value}: its times are wrong for half the year"
            ),
            format!(
                "{reader} does not know TZ={value}, which the C library understands. It takes the \
                 offset of the moment at which the program started for all dates."
            ),
        ),
        Mistake::Sign => (
            format!("{program} takes TZ={value} the other way round"),
            format!(
                "In TZ, + means west of Greenwich. {reader} has a notation of its own that looks the \
                 same, in which it means east."
            ),
        ),
        Mistake::Machine => {
            let machine = zone::zone_of(view, id).and_then(|zone| zone.name.as_deref());
            (
                format!(
                    "{program} uses the zone of this machine, {}, instead of TZ={value}",
                    machine.unwrap_or("UTC")
                ),
                format!(
                    "{reader} does not know TZ={value}, which the C library understands, and ignores it."
                ),
            )
        }
        Mistake::Utc => (
            format!("the times of {program} are UTC under TZ={value}"),
            format!(
                "{reader} knows only names of zones. It looks for a file {value}, finds none, and uses \
                 UTC without an error."
            ),
        ),
    }
}

/// The same meaning in a value that every runtime reads, where there is one.
pub(crate) fn remedy(view: &View<'_>, id: ProcId, value: &str) -> Remedy {
    let text = value.strip_prefix(':').unwrap_or(value);
    let price = "The times of this program change to those that the value means to the C library";
    let caveat = |more: &str| Safety::Caveat(format!("{price}{more}"));
    let change = |value: Option<&str>| needless_model::Change::SetEnv {
        variable: "TZ".to_owned(),
        value: value.map(str::to_owned),
    };
    if let Some(name) = text.starts_with('/').then(|| meant_by_path(view, id, text)).flatten() {
        return Remedy { change: change(Some(name)), safety: caveat(".") };
    }
    let offsets = offsets(text).unwrap_or_default();
    let hours =
        offsets.first().filter(|first| offsets.iter().all(|o| o == *first) && *first % 3600 == 0);
    if let Some(hours) = hours.map(|seconds| -seconds / 3600).filter(|h| (-14..=12).contains(h)) {
        let name = format!("Etc/GMT{hours:+}");
        let more = "; the abbreviation becomes a number. Where a place is meant, its name is better, \
                    such as Asia/Tokyo.";
        return Remedy { change: change(Some(&name)), safety: caveat(more) };
    }
    let more = ". The value is the name of the zone that is meant, from /usr/share/zoneinfo, such as \
                Europe/Athens.";
    Remedy { change: change(None), safety: caveat(more) }
}
