//! ## What it finds
//!
//! Programs that look up many users or groups, and read the file from its start each time.
//!
//! ## Why it happens
//!
//! getpwuid(), getpwnam() and their like keep nothing from one call to the next. A program that
//! lists many files, or checks the owner of each request, reads the whole file as often; where
//! nsswitch.conf names more sources than files, an unknown user costs many calls more.
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
//! user-lookup: 1794 of 1800
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
//! Look up each user once, and remember it, in the program; or start nscd (or sssd), which answers
//! from a table in memory. What is kept is old when an account changes.
//!
//! ## References
//!
//! * `man 3 getpwnam`
//! * `man 8 nscd`

use crate::tally::{self, Part};
use crate::text::number;
use crate::{Claims, Rule, View};
use needless_model::{Ask, Fact, ProcId, Row, Stage};

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
/// open, a look, to the start, a read and close.
const CALLS: u64 = 5;

fn check(view: &View<'_>, claims: &mut Claims) {
    if !view.may_mention("/etc/") {
        return;
    }
    let again = |row: &Row, path: &str| {
        row.ask == Ask::Open && row.ok() && (path == "/etc/passwd" || path == "/etc/group")
    };
    let asks = |id: ProcId| view.rows_of(id).any(|(_, row)| again(row, view.profile.path(row)));
    // Before each look-up glibc asks whether the list of sources has changed.
    let part = |row: &Row, path: &str| {
        let switch = row.ask == Ask::Stat && path == "/etc/nsswitch.conf";
        if switch || again(row, path) { Part::Again } else { Part::Not }
    };
    let cases = tally::cases_with(view, claims, asks, part, tally::per_open(CALLS));
    for (program, cases) in tally::by_program(view, cases, CALLS * FEWEST) {
        let merged = tally::merged(view, cases);
        let what = format!(
            "{} of {} calls read the list of users or groups from its start again",
            number(merged.needless),
            number(merged.of)
        );
        let why = format!(
            "{program} looks up users or groups one by one; libc keeps nothing from one look-up to \
             the next, and no nscd answers for it.{}",
            tally::IN_THEIR_TRAIN
        );
        let remedies = vec![tally::by_hand(
            "Look up each user once in the program, or start nscd",
            "What is remembered is old when an account changes; nscd's answers are, too, until they expire.",
        )];
        claims.find(tally::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}
