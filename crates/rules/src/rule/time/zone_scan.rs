//! ## What it finds
//!
//! Java, Node and other programs with a time library of their own that search the whole tz database
//! at their start, for the name of the zone.
//!
//! ## Why it happens
//!
//! They need the name of the zone, not its rules. If /etc/localtime is a symbolic link, its target
//! shows the name. If it is a regular file (a copy, as in many container images, or a bind mount),
//! they compare it with the files of the database until one is the same. How many calls that takes
//! depends on the zone: 1,446 in one start of Java 17, 2,791 in one of Node 20, over 6,000 in the
//! proof below.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! readlink("/etc/localtime", 0x7ffc0c0a3ee0, 4095) = -1 EINVAL (Invalid argument)
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region0/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region1/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region2/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region3/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region4/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region5/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! runtime java
//! zone file Europe/Athens
//! ```
//! ```finding
//! zone-scan: 120 of 121
//! set TZ=Europe/Athens
//! ```
//!
//! ## Not a finding
//!
//! A program that works with many zones; and PHP as Debian builds it, which lists the database at
//! each start in any case:
//!
//! ```trace
//! execve("/usr/bin/php8.2", ["php8.2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Region0/City", 0x7ffc0c0a3ee0, 0) = 0 x20
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Region1/City", 0x7ffc0c0a3ee0, 0) = 0 x20
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Region2/City", 0x7ffc0c0a3ee0, 0) = 0 x20
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Region3/City", 0x7ffc0c0a3ee0, 0) = 0 x20
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Region4/City", 0x7ffc0c0a3ee0, 0) = 0 x20
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Region5/City", 0x7ffc0c0a3ee0, 0) = 0 x20
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Another program, which did not read the link:
//!
//! ```trace
//! execve("/usr/bin/worldclock", ["worldclock"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region0/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region1/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region2/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region3/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region4/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region5/City", O_RDONLY|O_CLOEXEC) = 3 x20
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Make /etc/localtime a symbolic link into the database, as `timedatectl set-timezone` does, or
//! set TZ to the name of the zone. With TZ, a change of the zone is seen only at the next start. The
//! link leads nowhere in a container without tzdata: there, TZ has to name a zone that the runtime
//! brings itself.
//!
//! ## References
//!
//! * <https://www.freedesktop.org/software/systemd/man/latest/localtime.html>
//! * <https://github.com/nodejs/node/issues/26880>: the comparison, described by an author of ICU
//! * <https://github.com/dotnet/corefx/issues/2489>: the same in .NET, fixed

use crate::engine::helpers::{self, RowClass};
use crate::mechanism::zone::{self, LOCALTIME};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Row, Runtime, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "zone-scan",
    summary: "/etc/localtime is a copy, so a runtime reads the whole zone database to find its name",
    variables: &["TZ"],
    mentions: &["/zoneinfo"],
    ..Rule::PLAIN
};

/// A program that reads fewer zones wants these zones.
const FEWEST: u64 = 100;

/// What Node does with each file: open, two fstats, lseek, read and close.
const CALLS: u64 = 6;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let in_database = |path: &str| zone::zone_name(path).is_some() || path.ends_with("/zoneinfo");
    let class = |row: &Row, path: &str| match in_database(path) && asks(row) {
        true => RowClass::Needless,
        false if path == LOCALTIME && row.query == Query::Open => RowClass::Needed,
        false => RowClass::Unrelated,
    };
    let php = |id: ProcId| view.process(id).name().starts_with("php");
    for case in helpers::cases(view, sink, php, class) {
        // Debian's build reads the database instead of PHP's own: nothing that a user could set.
        sink.explain(&case.rows);
    }
    let searches = |id: ProcId| {
        let process = view.process(id);
        matches!(process.runtime, Runtime::Java | Runtime::Node)
            && process.env.value("TZ").is_none()
    };
    let cases = helpers::cases(view, sink, searches, class);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let first = cases[0].process;
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} calls search the zone database for the zone's name");
        let why = format!(
            "{program} needs the name of the zone. /etc/localtime is not a symbolic link, which \
             would show it, so the program compares the file with those of the database one by one."
        );
        let link = helpers::by_hand(
            "Make /etc/localtime a symbolic link into the zone database: timedatectl set-timezone, \
             or ln -sf in the image",
            "Changes the system; where the file is mounted from outside, what mounts it must change.",
        );
        let remedies = vec![zone::set_tz(view, first), link];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

fn asks(row: &Row) -> bool {
    matches!(row.query, Query::Open | Query::Stat | Query::Lstat | Query::Readlink)
}
