//! ## What it finds
//!
//! A program that asks the kernel the same question about the same path again and again, gets the
//! same answer each time, and has done nothing in between that could have changed it. This is the
//! general case: calls that a more specific rule explains are not reported again here.
//!
//! ## Why it happens
//!
//! Usually a library checks, at every call, something that hardly changes (a configuration file, a
//! directory of plug-ins, a time zone), and its caller assumes that the call is cheap. The finding
//! says what is asked; only the program's code can show why.
//!
//! ## Example
//!
//! A library that looks for its configuration at each of 3,000 calls:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/app/plugin.conf", O_RDONLY) = -1 ENOENT (No such file or directory) x3000
//! access("/etc/app/main.conf", R_OK) = 0 x500
//! facts +answers
//! ```
//! ```finding
//! repeated-question: 3498 of 3500
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A program that waits for a file: it sleeps between two checks, and that is its purpose. Each
//! wait makes the question new.
//!
//! ```trace
//! execve("/usr/bin/wait", ["wait"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! newfstatat(AT_FDCWD, "/run/ready", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=10000000}, NULL) = 0
//! end
//! facts +answers
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A database that checks, before each change of its own, whether another process left a journal,
//! and makes sure twice that its file is still the one it opened:
//!
//! ```trace
//! execve("/usr/bin/sqlite3", ["sqlite3", "x.db"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! newfstatat(AT_FDCWD, "/db/x.db-journal", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/db/x.db-wal", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/db/x.db", {st_mode=S_IFREG|0644, st_size=40960, ...}, 0) = 0 x2
//! openat(AT_FDCWD, "/db/x.db-journal", O_RDWR|O_CREAT|O_NOFOLLOW|O_CLOEXEC, 0644) = 4
//! unlink("/db/x.db-journal") = 0
//! end
//! facts +answers
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The directories that `realpath()` walks through on its way to different files:
//!
//! ```trace
//! execve("/usr/bin/game", ["game"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! readlink("/usr", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! readlink("/usr/share", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! end
//! readlink("/usr/share/one.lua", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! readlink("/usr/share/two.lua", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! facts +answers
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Python's importer, which checks before each module whether a directory that it listed has
//! changed:
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! newfstatat(AT_FDCWD, "/usr/lib/python3.11", {st_mode=S_IFDIR|0755, st_size=20480, ...}, 0) = 0
//! end
//! openat(AT_FDCWD, "/usr/lib/python3.11/__pycache__/json.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/python3.11/email/__pycache__/utils.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! facts +answers
//! ```
//! ```finding
//! nothing
//! ```
//!
//! It is also not a finding if a question is repeated fewer than 200 times, or if fewer than three
//! in four of its calls are repetitions; if its repetitions are less than 5 % of the program's
//! calls that name a path, or more than a millisecond apart; or if the path is relative to an
//! unknown directory.
//!
//! ## Fix and caveat
//!
//! No tool can make the change: the program, or the library it uses, would have to remember the
//! answer, or watch the path with inotify. Its authors have to decide whether a stale answer may be
//! used.
//!
//! ## References
//!
//! * `man 7 inotify`
//! * <https://www.sqlite.org/lockingv3.html>: why a database asks again, and has to

use crate::engine::helpers::named;
use crate::engine::{Case, merge};
use crate::text::count;
use crate::{Rule, Sink, View};
use needless_model::{Change, Fact, Finding, ProcId, Query, Remedy, Row, Safety, Stage, Target};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "repeated-question",
    summary: "The same question about the same path, with the same answer, and nothing changed in between",
    needs: &[Fact::Paths, Fact::Outcomes, Fact::Answers],
    ..Rule::PLAIN
};

/// Any program repeats some question less often than this.
const FEWEST: u64 = 200;
/// At least so many answers were compared, and were the same.
const FEWEST_SEEN: u64 = 10;
/// One question's least share of the image's calls that name a path: one part in this many.
const SHARE: u64 = 20;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut path_calls: BTreeMap<ProcId, u64> = BTreeMap::new();
    for (_, row) in view.rows().filter(|(_, row)| row.query.names_path()) {
        *path_calls.entry(view.image(row.process)).or_default() += row.count;
    }
    let mut images: BTreeMap<ProcId, Vec<Case>> = BTreeMap::new();
    for (at, row) in view.rows() {
        let repeated = row.repeated;
        // An answer that was not compared is no evidence; one in 64 is compared.
        let seen = repeated.saturating_sub(row.assumed) >= FEWEST_SEEN;
        // Careful programs ask twice before each change; a storm asks many times.
        let storm = seen && repeated >= FEWEST && repeated * 4 >= row.count * 3;
        if !storm || sink.taken(at) || !is_question(row) {
            continue;
        }
        let image = view.image(row.process);
        let by_design = || is_component(view, row) || is_imported_from(view, row);
        if repeated * SHARE >= path_calls[&image] && !by_design() {
            let case =
                Case { process: row.process, needless: repeated, of: row.count, rows: vec![at] };
            images.entry(image).or_default().push(case);
        }
    }
    for cases in images.into_values() {
        sink.find(finding(view, cases));
    }
}

/// Questions that change nothing and whose answer could have been remembered.
fn is_question(row: &Row) -> bool {
    let asks = match row.query {
        Query::Stat | Query::Lstat | Query::Access | Query::Readlink => true,
        // An open that succeeds is followed by reading.
        Query::Open => matches!(row.outcome, Some(Err(_))),
        _ => false,
    };
    asks && matches!(row.target, Target::Path(_))
}

/// Whether this is a directory that `realpath()` walks through on the way to many files: it asks of
/// each part of a path whether it is a link.
fn is_component(view: &View<'_>, row: &Row) -> bool {
    let links = |query| matches!(query, Query::Lstat | Query::Readlink);
    let path = view.profile.path(row);
    let below = |other: &str| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    links(row.query)
        && view.rows_of(row.process).any(|(_, r)| links(r.query) && below(view.profile.path(r)))
}

/// Whether this is a directory of Python modules: the importer keeps a listing of each, and checks
/// its age before each module. No variable stops that.
fn is_imported_from(view: &View<'_>, row: &Row) -> bool {
    let path = view.profile.path(row);
    let module = |other: &str| {
        let below = other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        below && [".pyc", ".py", ".so"].iter().any(|end| other.ends_with(end))
    };
    row.query == Query::Stat
        && named(view, row.process, &["python", "pypy"])
        && view
            .rows_of(row.process)
            .any(|(_, r)| r.query == Query::Open && r.ok() && module(view.profile.path(r)))
}

fn finding(view: &View<'_>, mut cases: Vec<Case>) -> Finding {
    cases.sort_by_key(|case| std::cmp::Reverse(case.needless));
    let top = &view.profile.rows[cases[0].rows[0]];
    let (verb, path) = (top.query.verb(), view.profile.path(top));
    let others = match cases.len() as u64 - 1 {
        0 => String::new(),
        n => format!(" and {}", count(n, "other question", "other questions")),
    };
    let merged = merge(view.profile, cases);
    Finding {
        stage: Stage::Seen,
        what: format!(
            "{} calls repeat a question answered before: {verb} {path}{others}",
            merged.counts()
        ),
        why: "The program asks again although it changed nothing, did not wait and started no \
              process since the last answer, which was the same."
            .to_owned(),
        remedies: vec![Remedy {
            change: Change::Manual(
                "Let the program, or the library that asks, remember the answer or watch the path \
                 with inotify"
                    .to_owned(),
            ),
            safety: Safety::Manual(
                "Only the authors can say how old an answer may be; no variable is known to stop \
                 it."
                .to_owned(),
            ),
        }],
        ..merged.finding(RULE.name)
    }
}
