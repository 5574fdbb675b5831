//! ## What it finds
//!
//! Programs that make one call for each descriptor that they could have, up to the limit of open files: `fcntl(F_GETFD)`
//! to see which are open, a lock or a signal mask for each, `dup` or `ioctl`. What closes them has a rule of its own,
//! `close-storm`.
//!
//! ## Why it happens
//!
//! The limit of open files (RLIMIT_NOFILE) was 1,024 for decades, so that a loop over all of them was cheap. Containers and
//! services get a million or more, and the same loop then makes a million calls at each start.
//!
//! ## Example
//!
//! ```trace
//! facts +allcalls
//! prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=3000, rlim_max=3000}) = 0
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! each 3 2999 fcntl(%, F_GETFD) = -1 EBADF (Bad file descriptor)
//! ```
//! ```finding
//! descriptor-walk: 1973 of 2997
//! setting open-files
//! ```
//!
//! ## Not a finding
//!
//! Under the usual limit:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! each 3 1023 fcntl(%, F_GETFD) = -1 EBADF (Bad file descriptor)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The same descriptor again and again:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! fcntl(7, F_GETFL) = 0x2 (flags O_RDWR) x5000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Process ids in turn, as a program asks that looks for all processes:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! each 3 2999 kill(%, 0) = -1 ESRCH (No such process)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! As many calls as descriptors are allowed, about one thing:
//!
//! ```trace
//! facts +allcalls
//! prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=3000, rlim_max=3000}) = 0
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! fcntl(7, F_GETFL) = 0x2 (flags O_RDWR) x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Lower the soft limit of open files where the program is started: `LimitNOFILE=1024:524288`, `--ulimit nofile=1024:524288`,
//! `ulimit -Sn 1024`. `needless fix` does it for a unit of systemd. A program that needs more descriptors and does not
//! raise the limit itself then runs out of them.
//!
//! ## References
//!
//! * `man 2 getrlimit`: RLIMIT_NOFILE
//! * `man 2 close_range`

use super::close_storm;
use crate::engine::Case;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, ProcId, Row, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "descriptor-walk",
    summary: "One call is made for each descriptor up to the limit of open files",
    needs: &[Fact::Outcomes, Fact::AllCalls],
    setting: Some(close_storm::lower_here),
    ..Rule::PLAIN
};

/// One walk under the usual soft limit.
const USUAL: u64 = 1024;
/// Calls whose first argument is a descriptor: what else counts up may be process ids or segments.
const OF_DESCRIPTORS: [&str; 12] = [
    "fcntl",
    "fcntl64",
    "ioctl",
    "dup",
    "fstat",
    "lseek",
    "flock",
    "fsync",
    "getsockopt",
    "getsockname",
    "getpeername",
    "close",
];
/// A program may walk several times, or make several calls for each descriptor.
const WALKS: u64 = 4;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut calls: BTreeMap<(bool, &str), Vec<Case>> = BTreeMap::new();
    for id in view.ids() {
        let limit = view.process(id).open_files.filter(|limit| *limit > USUAL);
        for (at, row) in
            view.rows_of(id).filter(|(at, row)| !row.query.names_path() && !sink.taken(*at))
        {
            let of_limit = limit.and_then(|limit| walks(row.count, limit));
            let call = view.profile.call(row);
            let ascends = OF_DESCRIPTORS.contains(&call) && row.sequence.next * 10 >= row.count * 9;
            let walks = match (of_limit, ascends) {
                (Some(walks), true) => walks,
                // A number that is that of the limit may be chance, except where a lock for each is usual.
                (Some(walks), false) if call == "rt_sigprocmask" => walks,
                (None, true) => 1,
                _ => continue,
            };
            let needless = row.count.saturating_sub(walks * USUAL);
            if needless >= USUAL / 2 {
                let case = Case { process: id, needless, of: row.count, rows: vec![at] };
                calls.entry((ascends, call)).or_default().push(case);
            }
        }
    }
    for ((ascends, call), cases) in calls {
        for (program, cases) in helpers::by_program(view, cases, USUAL / 2) {
            find(view, sink, (ascends, call), &program, cases);
        }
    }
}

/// How many walks up to `limit` are so many calls; a few descriptors are left out, or looked at twice. `None`: no number of
/// walks.
fn walks(calls: u64, limit: u64) -> Option<u64> {
    let walks = calls.saturating_add(limit / 2) / limit;
    let near = calls.abs_diff(walks.saturating_mul(limit)) <= walks * 16;
    ((1..=WALKS).contains(&walks) && near).then_some(walks)
}

fn find(
    view: &View<'_>,
    sink: &mut Sink,
    (ascends, call): (bool, &str),
    program: &str,
    cases: Vec<Case>,
) {
    let limit = |id: ProcId| view.process(id).open_files;
    let limit = cases.iter().filter_map(|case| limit(case.process)).max();
    let rows: Vec<&Row> =
        cases.iter().flat_map(|case| &case.rows).map(|at| &view.profile.rows[*at]).collect();
    let reached =
        limit.is_some_and(|limit| rows.iter().any(|row| walks(row.count, limit).is_some()));
    let merged = helpers::merged(view, cases);
    let what = match limit {
        Some(limit) if reached => format!(
            "{} {call} calls, for each descriptor up to a limit of {}",
            number(merged.of),
            number(limit)
        ),
        _ => format!("{} {call} calls, for one descriptor after the other", number(merged.of)),
    };
    let why = match (reached, ascends) {
        (true, true) => format!(
            "{program} goes through all descriptors up to the soft limit of open files (RLIMIT_NOFILE)."
        ),
        (true, false) => format!(
            "The number of calls is that of the descriptors that {program} could have (RLIMIT_NOFILE): it seems to do \
             something for each of them."
        ),
        _ => format!("{program} goes through descriptors up to a number of its own."),
    };
    let stage = if reached && ascends { Stage::Explained } else { Stage::Seen };
    let remedies = match reached {
        true => vec![close_storm::lower()],
        false => vec![helpers::by_hand(
            "Let the program read /proc/self/fd, which lists the open ones",
            "A change of the program.",
        )],
    };
    sink.find(helpers::finding(merged, RULE.name, stage, what, why, remedies));
}
