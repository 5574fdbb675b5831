//! Programs that lacked the privilege of their file because they were traced. Without it they do other things: su, for
//! one, reads LD_LIBRARY_PATH then, and cannot read what it is for. So nothing that they did is a finding.

use crate::text::{count, some};
use needless_model::{Process, Profile};
use std::collections::BTreeSet;

/// The rows of such programs and of what they started.
pub(crate) fn rows(profile: &Profile) -> Vec<usize> {
    let rows = profile.rows.iter().enumerate();
    rows.filter(|(_, row)| profile.process(row.process).lacks_privilege).map(|(at, _)| at).collect()
}

/// Says how many calls that were, and why they were not judged.
pub(crate) fn notice(profile: &Profile) -> Option<String> {
    let above = |process: &Process| process.parent.map(|id| profile.process(id));
    let lacking = profile.processes.iter().filter(|process| process.lacks_privilege);
    let first = lacking.filter(|it| !above(it).is_some_and(|above| above.lacks_privilege));
    let titles: Vec<String> = first.map(Process::title).collect();
    if titles.is_empty() {
        return None;
    }
    let calls = rows(profile).iter().map(|at| profile.rows[*at].count).sum();
    let names = titles.iter().map(String::as_str).collect::<BTreeSet<&str>>();
    Some(format!(
        "{} of {} and of what {} started are not judged: under ptrace the kernel ignores the \
         set-user-ID, set-group-ID and capability bits of a program, so the program may do other things; run needless as \
         root to judge them",
        count(calls, "call", "calls"),
        some(&names),
        if names.len() == 1 { "it" } else { "they" },
    ))
}
