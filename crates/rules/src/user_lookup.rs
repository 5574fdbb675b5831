//! ## What it finds
//!
//! Programs that look up many users or groups, and read the file from its start each time.
//!
//! ## Why it happens
//!
//! getpwuid(), getpwnam() and their like keep nothing from one call to the next. A program that
//! lists many files, or checks the owner of each request, reads the whole file as often, in six calls
//! each time. Where nsswitch.conf names `systemd` after `files`, an unknown user costs some 60.
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
//! ## Fix and caveat
//!
//! Have the program look up each user once, and remember the answer; or start nscd (or sssd), which
//! answers from a table in memory. Not where a removed account must lose its rights at once: what is
//! kept is old when an account changes.
//!
//! ## References
//!
//! * `man 3 getpwnam`, `man 8 nscd`
//! * glibc, `nss/nss_database.c`

use crate::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, Query, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "user-lookup",
    summary: "Each user or group that is looked up opens and reads /etc/passwd or /etc/group",
    needs: &[Fact::Paths, Fact::Outcomes],
    variables: &[],
    correctness: false,
    pedantic: false,
    page: include_str!("user_lookup.rs"),
    check,
};

/// Programs that look up fewer are not worth a change.
const FEWEST: u64 = 200;

/// A look at the list of sources; open, a look, to the start, a read and close.
const CALLS: u64 = 6;

fn check(view: &View<'_>, sink: &mut Sink) {
    if !view.may_mention("/etc/") {
        return;
    }
    let wanted = |path: &str| path == "/etc/passwd" || path == "/etc/group";
    let cases = helpers::rereads(view, sink, |_| true, wanted);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        for (at, row) in cases.iter().flat_map(|case| view.rows_of(case.process)) {
            if row.query == Query::Stat && view.profile.path(row) == "/etc/nsswitch.conf" {
                sink.explain(&[at]);
            }
        }
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} of {} times the list of users or groups is read from its start",
            number(merged.needless),
            number(merged.of)
        );
        let why = format!(
            "{program} looks up users or groups one by one; libc keeps nothing from one look-up to \
             the next, and no nscd answers for it."
        );
        let remedies = vec![helpers::by_hand(
            "Look up each user once in the program, or start nscd",
            "What is remembered is old when an account changes; nscd's answers are, too, until they expire.",
        )];
        let besides = helpers::train(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
