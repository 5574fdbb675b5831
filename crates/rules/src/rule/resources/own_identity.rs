//! ## What it finds
//!
//! Programs that ask the kernel for their own process id or user id again and again: a library that checks for a fork in
//! each of its operations, a logger that writes the id in each line.
//!
//! ## Why it happens
//!
//! glibc remembered the process id until 2.24 (2017); since then each `getpid()` is a call. Who wants to notice a fork asks
//! for it each time. The answer changes only after fork(2) or, for user ids, after the program changes them itself. That of
//! getppid(2) changes when the parent ends, and is not looked at here.
//!
//! ## Example
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! getpid() = 4711 x20000
//! ```
//! ```finding
//! own-identity: 19999 of 20000
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A few hundred:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! getpid() = 4711 x300
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A thousand beside much else, as SQLite asks at the start of each transaction:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! getpid() = 4711 x1500
//! lseek(3, 0, SEEK_CUR) = 0 x9000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that changes its user, and looks whether it did:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/sbin/server", ["server"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2000
//! setresuid(-1, 1000, -1) = 0
//! geteuid() = 1000
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Let the program keep the answer, and ask again in a handler of pthread_atfork(3), which runs in the child after fork().
//! A child that was made by clone(2) or vfork(2) directly does not run it.
//!
//! ## References
//!
//! * `man 2 getpid`: C library/kernel differences
//! * `man 3 pthread_atfork`

use crate::engine::Case;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, ProcId, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "own-identity",
    summary: "A program asks for its own process or user id again and again",
    needs: &[Fact::Outcomes, Fact::AllCalls],
    ..Rule::PLAIN
};

/// Fewer cost no noticeable time.
const FEWEST: u64 = 1000;
/// Which calls ask for an id, and which change it. getppid(2) is not among them: who asks again may wait for the end of
/// the parent.
const ASKS: [(&str, &[&str]); 5] = [
    ("getpid", &[]),
    ("getuid", CHANGE),
    ("geteuid", CHANGE),
    ("getgid", CHANGE),
    ("getegid", CHANGE),
];
const CHANGE: &[&str] =
    &["setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid"];

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    for (call, changes) in ASKS {
        let mut cases = Vec::new();
        for id in view.ids() {
            let rows =
                view.rows_of(id).filter(|(at, row)| !row.query.names_path() && !sink.taken(*at));
            for (at, row) in rows.filter(|(_, row)| view.profile.call(row) == call) {
                if row.count >= FEWEST
                    && helpers::is_much(view, id, row.count)
                    && !makes(view, id, changes)
                {
                    let needless = row.count - 1;
                    cases.push(Case { process: id, needless, of: row.count, rows: vec![at] });
                }
            }
        }
        for (program, cases) in helpers::by_program(view, cases, FEWEST) {
            let merged = helpers::merged(view, cases);
            let what = format!("{} {call} calls, whose answer does not change", number(merged.of));
            let why =
                format!("{program} asks the kernel each time where it could keep the answer.");
            let remedies = vec![helpers::by_hand(
                "Let the program keep the answer, and ask again after a fork (pthread_atfork)",
                "A change of the program or of a library; a child of clone(2) does not run the handler.",
            )];
            sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
        }
    }
}

fn makes(view: &View<'_>, id: ProcId, calls: &[&str]) -> bool {
    !calls.is_empty() && view.rows_of(id).any(|(_, row)| calls.contains(&view.profile.call(row)))
}
