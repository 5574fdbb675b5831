//! ## What it finds
//!
//! Programs that look up many users or groups, and read the file from its start each time.
//!
//! ## Why it happens
//!
//! getpwuid(), getpwnam() and similar functions keep nothing from one call to the next. A program that lists
//! many files, or checks the owner of each request, reads the whole file each time, in six calls. If
//! nsswitch.conf names `systemd` after `files`, an unknown user costs about 60 calls.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! newfstatat(AT_FDCWD, "/etc/nsswitch.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! user-lookup: 299 of 300
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A few look-ups at the start:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! newfstatat(AT_FDCWD, "/etc/nsswitch.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that reads the file itself, without the functions of libc, which look at nsswitch.conf each time:
//!
//! ```trace
//! execve("/bin/sh", ["sh"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Have the program look up each user once, and remember the answer; or start nscd (or sssd), which
//! answers from a table in memory. Do not do this if a removed account must lose its rights at
//! once: a remembered answer is out of date when an account changes.
//!
//! ## References
//!
//! * `man 3 getpwnam`, `man 8 nscd`
//! * glibc, `nss/nss_database.c`

use crate::engine::helpers;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "user-lookup",
    summary: "Each user or group that is looked up opens and reads /etc/passwd or /etc/group",
    mentions: &["/etc/"],
    ..Rule::PLAIN
};

/// Programs that look up fewer are not worth a change.
const FEWEST: u64 = 200;

/// stat of the list of sources; open, fstat, lseek, read and close.
const CALLS: u64 = 6;

/// Whether most opens of these files are by libc, which looks at its list of sources before each (glibc since 2.33).
fn asks_libc(view: &View<'_>, id: ProcId, wanted: fn(&str) -> bool) -> bool {
    let sum = |query, is: &dyn Fn(&str) -> bool| -> u64 {
        let rows = view.rows_of(id).filter(|(_, row)| row.query == query);
        rows.filter(|(_, row)| is(view.profile.path(row))).map(|(_, row)| row.count).sum()
    };
    let looks = sum(Query::Stat, &|path| path == "/etc/nsswitch.conf");
    2 * looks >= sum(Query::Open, &wanted)
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let wanted: fn(&str) -> bool = |path| path == "/etc/passwd" || path == "/etc/group";
    let cases = helpers::rereads(view, sink, |id| asks_libc(view, id, wanted), wanted);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        for (at, row) in cases.iter().flat_map(|case| view.rows_of(case.process)) {
            if row.query == Query::Stat && view.profile.path(row) == "/etc/nsswitch.conf" {
                sink.explain(&[at]);
            }
        }
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} reads of the list of users or groups repeat an earlier one",
            merged.counts()
        );
        let why = format!(
            "{program} looks up users or groups one by one; libc keeps nothing from one look-up to \
             the next, and no nscd answers for it."
        );
        let remedies = vec![helpers::by_hand(
            "Look up each user once in the program, or start nscd",
            "A remembered answer is out of date when an account changes; so are nscd's answers \
             until they expire.",
        )];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
