//! ## What it finds
//!
//! Programs that open the file named in HOSTALIASES each time they look up a name.
//!
//! ## Why it happens
//!
//! The resolver reads the file again for every query, before it asks the name server.
//!
//! ## Example
//!
//! ```trace
//! env HOSTALIASES=/home/me/aliases
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! openat(AT_FDCWD, "/home/me/aliases", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! host-aliases: 20 of 20
//! manual
//! ```
//!
//! If the file is missing, nothing is lost without the variable:
//!
//! ```trace
//! env HOSTALIASES=/home/me/aliases
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! openat(AT_FDCWD, "/home/me/aliases", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! host-aliases: 20 of 20
//! unset HOSTALIASES
//! ```
//!
//! A name that starts in the working directory, and an empty one, which no file has:
//!
//! ```trace
//! env HOSTALIASES=aliases
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! openat(AT_FDCWD, "aliases", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! host-aliases: 20 of 20
//! unset HOSTALIASES
//! ```
//!
//! ```trace
//! env HOSTALIASES=
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! openat(AT_FDCWD, "", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! host-aliases: 20 of 20
//! unset HOSTALIASES
//! ```
//!
//! ## Not a finding
//!
//! A program that looks up a few names:
//!
//! ```trace
//! env HOSTALIASES=/home/me/aliases
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/home/me/aliases", O_RDONLY|O_CLOEXEC) = 3 x4
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset HOSTALIASES and put the names into /etc/hosts, or use the full names. Keep this order:
//! aliases that are only in the file are not known without the variable.
//!
//! ## References
//!
//! * `man 7 hostname`, HOSTALIASES

use crate::engine::Case;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, Query, Remedy, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "host-aliases",
    summary: "HOSTALIASES names a file that each look-up of a name opens",
    variables: &["HOSTALIASES"],
    ..Rule::PLAIN
};

/// A few look-ups are not worth a change.
const FEWEST: u64 = 10;

/// open, fstat, read and close.
const CALLS: u64 = 4;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let process = view.process(id);
        let again = |row: &Row| row.query == Query::Open && row.count >= FEWEST;
        if view.env_unknown(id) && view.rows_of(id).any(|(_, row)| again(row)) {
            sink.lack(RULE.name, Fact::Environment);
        }
        let value = process.env.value("HOSTALIASES").filter(|_| helpers::heeds_variables(process));
        let Some(file) = value else { continue };
        let named = |row: &Row| row.query == Query::Open && helpers::is_at(view, row, file);
        let rows = view.rows_of(id).filter(|(at, row)| !sink.taken(*at) && named(row));
        let (rows, counts): (Vec<usize>, Vec<u64>) = rows.map(|(at, row)| (at, row.count)).unzip();
        let needless = counts.iter().sum();
        if needless > 0 {
            cases.push(Case { process: id, needless, of: needless, rows });
        }
    }
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} opens of the file that HOSTALIASES names, one per query");
        let why = format!(
            "HOSTALIASES is set, and {program} reads the file each time it looks up a name."
        );
        // A name that only the file has would no longer be found.
        let read = merged.rows.iter().any(|at| view.profile.rows[*at].ok());
        let remedies = vec![if read { by_hand() } else { remedy() }];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

fn by_hand() -> Remedy {
    helpers::by_hand(
        "Put the names into /etc/hosts, or have the program use the full names; then unset HOSTALIASES",
        "Names that only the file has are not found without it.",
    )
}

/// Unsets the variable.
pub(crate) fn remedy() -> Remedy {
    helpers::unset("HOSTALIASES", "The aliases in the file are then no longer known.")
}
