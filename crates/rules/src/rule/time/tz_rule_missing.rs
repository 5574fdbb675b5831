//! ## What it finds
//!
//! TZ names a daylight saving zone without saying when daylight saving begins and ends
//! (`CET-1CEST`, `EET-2EEST`, `GMT0BST`). That costs nine system calls per time conversion, and the
//! dates are those of the United States.
//!
//! ## Why it happens
//!
//! glibc looks for a file of that name below `/usr/share/zoneinfo`, finds none, takes the rules of
//! the file `posixrules` (America/New_York where distributions ship it), and remembers nothing: at
//! each `localtime()` it looks for the missing file (stat, open) and reads `posixrules` again
//! (open, fstat, fstat, read, lseek, read, close). Europe changes its clocks two or three weeks
//! later in spring and a week earlier in autumn than the United States: in between the times are an
//! hour wrong.
//!
//! ## Example
//!
//! ```trace
//! env TZ=CET-1CEST
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/CET-1CEST", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x4
//! openat(AT_FDCWD, "/usr/share/zoneinfo/posixrules", O_RDONLY|O_CLOEXEC) = 3 x4
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/CET-1CEST", 0x7ffefaf06180, 0) = -1 ENOENT (No such file or directory) x3
//! ```
//! ```finding
//! tz-rule-missing: 9 of 11
//! stage explained
//! set TZ
//! ```
//!
//! ## Not a finding
//!
//! A POSIX string that says when, or that has no daylight saving, needs no file:
//!
//! ```trace
//! env TZ=CET-1CEST,M3.5.0,M10.5.0/3
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/CET-1CEST,M3.5.0,M10.5.0/3", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! `EST5EDT` is a file of that name, with the right rules in it:
//!
//! ```trace
//! env TZ=EST5EDT
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/EST5EDT", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set TZ to the name of the zone (`Europe/Berlin`), or write the rule out
//! (`CET-1CEST,M3.5.0,M10.5.0/3`; for C programs only: Go takes such a string for UTC, Java for a
//! fixed offset). The program's times will change on the days on which they are wrong now.
//!
//! ## References
//!
//! * `man 3 tzset`
//! * glibc, `time/tzset.c`, `time/tzfile.c`
//! * <https://sourceware.org/bugzilla/show_bug.cgi?id=19253>

use crate::engine::{Case, merge};
use crate::mechanism::zone::{self, positions, sum};
use crate::text::count;
use crate::{Rule, Sink, View};
use needless_localtime::{PosixTz, posix_tz};
use needless_model::{Change, Errno, Finding, ProcId, Query, Remedy, Row, Safety, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "tz-rule-missing",
    summary: "TZ has daylight saving without its dates: nine calls per conversion, and US dates",
    variables: &["TZ"],
    correctness: true,
    ..Rule::PLAIN
};

/// The calls that a conversion makes besides stat, open and open: fstat, fstat, read, lseek, read, close.
const MORE_PER_CONVERSION: u64 = 6;
/// The first conversion's calls that name a path, which are needed: it opens both files.
const FIRST: u64 = 2;

/// Zones that such strings usually mean, by their two abbreviations.
const MEANT: [(&str, &str, &str); 7] = [
    ("WET", "WEST", "Europe/Lisbon"),
    ("GMT", "BST", "Europe/London"),
    ("GMT", "IST", "Europe/Dublin"),
    ("CET", "CEST", "Europe/Berlin"),
    ("MET", "MEST", "Europe/Berlin"),
    ("EET", "EEST", "Europe/Athens"),
    ("AEST", "AEDT", "Australia/Sydney"),
];

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    // With the number of conversions.
    let mut groups: BTreeMap<&str, (u64, Vec<Case>)> = BTreeMap::new();
    let rules = view.opens_where(|path| zone::zone_name(path) == Some("posixrules"), Row::ok);
    for (process, rules) in rules {
        let missing: Vec<(usize, &Row)> =
            view.rows_of(process).filter(|(_, row)| asks_for_string(view, row)).collect();
        let value = match view.process(process).env.value("TZ") {
            Some(value) => Some(value.strip_prefix(':').unwrap_or(value)),
            None => missing.first().and_then(|(_, row)| zone::zone_name(view.profile.path(row))),
        };
        let Some(value) = value.filter(|value| posix_tz(value) == Some(PosixTz::NoRule)) else {
            continue;
        };
        let of = sum(&rules) + sum(&missing);
        let mut rows = positions(&rules);
        rows.extend(positions(&missing));
        let case = Case { process, needless: of.saturating_sub(FIRST), of, rows };
        let (conversions, cases) = groups.entry(value).or_default();
        *conversions += sum(&rules);
        cases.push(case);
    }
    for (value, (conversions, cases)) in groups {
        sink.find(finding(view, value, conversions, cases));
    }
}

/// stat or open of a file whose name is such a string, and which is not there.
fn asks_for_string(view: &View<'_>, row: &Row) -> bool {
    matches!(row.query, Query::Stat | Query::Open)
        && row.failed(Errno::ENOENT)
        && zone::zone_name(view.profile.path(row))
            .is_some_and(|name| posix_tz(name) == Some(PosixTz::NoRule))
}

fn finding(view: &View<'_>, value: &str, conversions: u64, cases: Vec<Case>) -> Finding {
    let merged = merge(view.profile, cases);
    let first = merged.processes[0];
    // Each process needs one.
    let again = conversions.saturating_sub(merged.processes.len() as u64);
    let known = view.process(first).env.value("TZ").is_some();
    Finding {
        stage: if known { Stage::Explained } else { Stage::Seen },
        kernel_ns: kernel_ns(view, again),
        estimated: true,
        besides: (again * MORE_PER_CONVERSION) as i64,
        what: format!(
            "{} at nine calls each under TZ={value}, with the US dates of daylight saving",
            count(conversions, "time conversion", "time conversions")
        ),
        why: format!(
            "TZ={value} has daylight saving but no rule for its dates. glibc takes those of \
             /usr/share/zoneinfo/posixrules, mostly those of America/New_York, and reads it again at \
             every conversion. Outside North America the times are an hour wrong for some weeks in \
             spring and autumn."
        ),
        remedies: remedies(view, first, value),
        ..merged.finding(RULE.name)
    }
}

fn kernel_ns(view: &View<'_>, conversions: u64) -> Option<u64> {
    let costs = view.profile.host.costs?;
    Some(conversions.saturating_mul(2 * costs.failed_open_ns + costs.open_ns))
}

fn remedies(view: &View<'_>, process: ProcId, value: &str) -> Vec<Remedy> {
    // glibc takes an empty rule for January 1.
    let value = value.trim_end_matches(',');
    let warning = "Times will change on the days on which they are wrong now";
    // Only the author of the value knows which zone is meant: the host's own may be another.
    let meant = MEANT.iter().find(|(std, dst, _)| {
        value.strip_prefix(std).is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphabetic()))
            && value.trim_end_matches(|c: char| !c.is_alphabetic()).ends_with(dst)
    });
    let example = meant.map_or_else(String::new, |(_, _, zone)| format!(" (such as {zone})"));
    let own = match zone::zone_of(view, process).and_then(|zone| zone.name.as_deref()) {
        Some(name) => format!(" The zone of this machine is {name}."),
        None => String::new(),
    };
    vec![
        Remedy {
            change: Change::SetEnv { variable: "TZ".to_owned(), value: None },
            safety: Safety::Caveat(format!(
                "{warning}. The value is the name of the zone that is meant{example}, from \
                 /usr/share/zoneinfo.{own}"
            )),
        },
        Remedy {
            change: Change::Manual(format!(
                "Write the rule out: TZ={value},M3.5.0,M10.5.0/3 for the dates of the European \
                 Union where it changes at 2 and 3 o'clock"
            )),
            safety: Safety::Manual(format!(
                "{warning}. Only for programs in C: Go takes such a string for UTC, Java for a \
                 fixed offset."
            )),
        },
    ]
}
