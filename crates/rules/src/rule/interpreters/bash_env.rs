//! ## What it finds
//!
//! Many starts of bash that each open the file which BASH_ENV names.
//!
//! ## Why it happens
//!
//! A bash that runs a script or a command (`bash -c`) first reads the file in BASH_ENV, and runs what
//! is in it. The variable is often set once, for one purpose (environment modules, nvm, a step of a
//! continuous integration), and then inherited by every build tool that starts bash a thousand times.
//! The file costs open, fstat, read, rt_sigprocmask and close, and whatever its commands do; if it does not exist, one
//! call. Bash started as `sh` does not read it. ENV, which interactive POSIX shells read, is a matter of
//! one start per terminal and not reported.
//!
//! ## Example
//!
//! ```trace
//! env BASH_ENV=/opt/ci/env.sh
//! execve("/usr/bin/bash", ["bash", "-c", "true"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/opt/ci/env.sh", O_RDONLY) = 3 x10
//! ```
//! ```finding
//! bash-env: 10 of 10
//! stage explained
//! unset BASH_ENV
//! ```
//!
//! A file that is gone:
//!
//! ```trace
//! env BASH_ENV=$HOME/.bash_env
//! execve("/usr/bin/bash", ["bash", "-c", "true"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/root/.bash_env", O_RDONLY) = -1 ENOENT (No such file or directory) x10
//! ```
//! ```finding
//! bash-env: 10 of 10
//! unset BASH_ENV
//! ```
//!
//! ## Not a finding
//!
//! Another program that reads this file; a single start of bash:
//!
//! ```trace
//! env BASH_ENV=/opt/ci/env.sh
//! execve("/usr/bin/cat", ["cat", "/opt/ci/env.sh"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/opt/ci/env.sh", O_RDONLY) = 3 x10
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! env BASH_ENV=/opt/ci/env.sh
//! execve("/usr/bin/bash", ["bash", "-c", "true"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/opt/ci/env.sh", O_RDONLY) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset BASH_ENV for the command that starts so many shells (`env -u BASH_ENV make`). Do not do this
//! if the scripts need what the file defines: its functions, aliases and variables are then missing.
//! Variables that it exports can be exported once, before the command.
//!
//! ## References
//!
//! * `man 1 bash`, "Invocation" and BASH_ENV

use crate::engine::Case;
use crate::engine::helpers;
use crate::engine::helpers::heeds_variables;
use crate::text::count;
use crate::{Rule, Sink, View};
use needless_model::{Fact, Query, Remedy, Row, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "bash-env",
    summary: "BASH_ENV names a file that each start of bash reads",
    variables: &["BASH_ENV"],
    mentions: &["bash"],
    ..Rule::PLAIN
};

/// What bash does with a file that exists: open, fstat, read and close.
const CALLS: u64 = 4;
/// Fewer starts are not worth a change.
const FEWEST: u64 = 6;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    let mut unknown: BTreeMap<&str, u64> = BTreeMap::new();
    for id in view.ids() {
        let process = view.process(id);
        let bash = process.exe.as_deref().map(helpers::file_name) == Some("bash");
        if bash && view.env_unknown(id) {
            for (_, row) in view.rows_of(id).filter(|(_, row)| row.query == Query::Open) {
                *unknown.entry(view.profile.path(row)).or_default() += row.count;
            }
        }
        let value = process.env.value("BASH_ENV").filter(|value| !value.is_empty());
        let Some(value) = value.filter(|_| bash && heeds_variables(process)) else { continue };
        // Bash expands variables in it.
        let name = helpers::file_name(value);
        let is_file = |row: &Row| {
            row.query == Query::Open && helpers::file_name(view.profile.path(row)) == name
        };
        let rows = view.rows_of(id).filter(|(at, row)| !sink.taken(*at) && is_file(row));
        let rows: Vec<(usize, &Row)> = rows.collect();
        let of = rows.iter().map(|(_, row)| row.count).sum();
        if of > 0 {
            let rows = rows.into_iter().map(|(at, _)| at).collect();
            groups.entry(value).or_default().push(Case { process: id, needless: of, of, rows });
        }
    }
    let system = ["/usr/", "/lib", "/etc/", "/dev/", "/proc/", "/sys/"];
    let may_be = |path: &str| !system.iter().any(|dir| path.starts_with(dir));
    if unknown.iter().any(|(path, opens)| *opens >= FEWEST && may_be(path)) {
        sink.lack(RULE.name, Fact::Environment);
    }
    for (value, cases) in groups {
        let merged = helpers::merged(view, cases);
        if merged.needless < FEWEST {
            continue;
        }
        let missing = merged.rows.iter().all(|at| helpers::absent(&view.profile.rows[*at]));
        let starts = count(merged.needless, "start of bash", "starts of bash");
        let (what, why) = if missing {
            (
                format!("{starts} look for {value}, which does not exist"),
                "BASH_ENV names a file that each bash which runs a script or a command looks for.",
            )
        } else {
            (
                format!("{starts} read {value} first"),
                "BASH_ENV names it: each bash that runs a script or a command reads the file and runs \
                 what is in it, before anything else. What its commands cost is not counted here.",
            )
        };
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(
            merged,
            RULE.name,
            Stage::Explained,
            what,
            why.to_owned(),
            vec![remedy()],
        );
        sink.find(helpers::beside(finding, besides));
    }
}

pub(crate) fn remedy() -> Remedy {
    helpers::unset(
        "BASH_ENV",
        "Scripts no longer have what the file defines: functions, aliases, variables. Where they need \
         these, export the variables once instead, or read the file in the script that needs it.",
    )
}
