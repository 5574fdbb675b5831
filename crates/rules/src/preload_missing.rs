//! ## What it finds
//!
//! A library named in LD_PRELOAD that does not exist. Every program start searches for it and
//! writes an error to its standard error.
//!
//! ## Why it happens
//!
//! A bare name is searched for in every directory of the system, with the subdirectories for
//! processor variants: 88 to 152 calls per program start on Debian 12 (glibc 2.36), depending on
//! the processor, and about 32 since glibc 2.37, which dropped most of the subdirectories. A path
//! costs one call. All programs that the program starts inherit the variable.
//!
//! ## Example
//!
//! ```trace
//! env LD_PRELOAD=libgone.so.0
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libgone.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libgone.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/libgone.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/libgone.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/libgone.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! preload-missing: 6 of 6
//! stage explained
//! unset LD_PRELOAD
//! ```
//!
//! A path, and a second library that is there:
//!
//! ```trace
//! env LD_PRELOAD=/opt/libgone.so:/opt/libhere.so
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 6
//! openat(AT_FDCWD, "/opt/libgone.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! openat(AT_FDCWD, "/opt/libhere.so", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! preload-missing: 6 of 7
//! set LD_PRELOAD=/opt/libhere.so
//! ```
//!
//! ## Not a finding
//!
//! A library that is found, and `/etc/ld.so.preload`, which every program looks for once:
//!
//! ```trace
//! env LD_PRELOAD=/usr/lib/libjemalloc.so.2
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory) x10
//! openat(AT_FDCWD, "/usr/lib/libjemalloc.so.2", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The C library itself, looked for in the directories of LD_LIBRARY_PATH and found after them, in
//! a log without the environment:
//!
//! ```trace
//! execve("/usr/bin/sh", ["sh"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/b/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/c/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/d/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A plug-in that a running program looks for is not preloaded:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/libplug.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/libplug.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/libplug.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/libplug.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/e/libplug.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/f/libplug.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Take the name out of LD_PRELOAD, where it is set. If the library is wanted (an allocator, a
//! security agent), install it instead, and name it by its path. A set-user-ID program ignores
//! names with a slash, and is not reported.
//!
//! ## References
//!
//! * `man 8 ld.so`, LD_PRELOAD
//! * <https://github.com/lutris/lutris/issues/5658>: the message, from a setting left behind

use crate::search;
use crate::select::{Case, PathPattern, merge_by};
use crate::text::{count, number};

use crate::helpers;
use crate::{Rule, Sink, View};
use needless_model::{Change, Env, Fact, Finding, Query, Remedy, Safety, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "preload-missing",
    summary: "LD_PRELOAD names a library that does not exist, and each program start looks for it",
    variables: &["LD_PRELOAD"],
    page: include_str!("preload_missing.rs"),
    check,
    ..Rule::PLAIN
};

/// A name that is searched for in fewer directories is not a bare name in LD_PRELOAD.
const FEWEST_DIRS: usize = 4;

fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<(Option<&str>, String), Vec<Case>> = BTreeMap::new();
    for id in view.ids().filter(|id| search::heeds_variables(view.process(*id))) {
        let process = view.process(id);
        let value = process.env.value("LD_PRELOAD").filter(|value| !value.is_empty());
        if value.is_none() && process.env != Env::Unknown {
            continue;
        }
        let mut tried: BTreeMap<&str, (Vec<usize>, u64, bool)> = BTreeMap::new();
        let mut variants = Vec::new();
        for (at, row) in view.rows_of(id) {
            let path = view.profile.path(row);
            let name = path.rsplit('/').next().unwrap_or(path);
            // The loader preloads nothing after this.
            if row.query == Query::Open && row.ok() && (name == "libc.so.6" || is_musl(name)) {
                // If it was searched for, it was found.
                tried.remove(name);
                break;
            }
            // The loader checks once whether each directory exists.
            if row.query == Query::Stat && search::of_the_system(path) {
                variants.push(at);
            }
            if row.query != Query::Open || !name.contains(".so") || name == "ld.so.cache" {
                continue;
            }
            let known = value.is_none_or(|value| {
                value.split([':', ' ']).any(|entry| entry == name || entry == path)
            });
            if known {
                let (rows, count, found) = tried.entry(name).or_default();
                rows.push(at);
                *count += row.count;
                *found |= !helpers::absent(row);
            }
        }
        for (name, (mut rows, count, found)) in tried {
            if found {
                continue;
            }
            if value.is_none() && rows.len() < FEWEST_DIRS {
                sink.lack(RULE.name, Fact::Environment);
                continue;
            }
            rows.append(&mut variants);
            let needless = rows.iter().map(|at| view.profile.rows[*at].count).sum();
            let case = Case { process: id, needless, of: needless.max(count), rows };
            groups.entry((value, name.to_owned())).or_default().push(case);
        }
    }
    for ((value, name), mut cases) in groups {
        cases[0].of += found_others(view, &cases[0], value, &name);
        sink.find(finding(view, value, &name, cases));
    }
}

fn is_musl(name: &str) -> bool {
    name.starts_with("libc.musl-")
}

/// Opens of the other entries that exist.
fn found_others(view: &View<'_>, case: &Case, value: Option<&str>, name: &str) -> u64 {
    let others = value.into_iter().flat_map(|value| value.split([':', ' ']));
    let others: Vec<&str> = others.filter(|entry| !ends_with(entry, name)).collect();
    let rows = view.rows_of(case.process).filter(|(_, row)| row.query == Query::Open && row.ok());
    rows.filter(|(_, row)| others.contains(&view.profile.path(row))).map(|(_, r)| r.count).sum()
}

fn ends_with(entry: &str, name: &str) -> bool {
    entry.rsplit('/').next() == Some(name)
}

fn finding(view: &View<'_>, value: Option<&str>, name: &str, cases: Vec<Case>) -> Finding {
    let merged = merge_by(view.profile, cases, |path| {
        if path.ends_with(name) { PathPattern("", "…/", name) } else { PathPattern::path(path) }
    });
    let starts = count(merged.processes.len() as u64, "program start", "program starts");
    let kept: Vec<&str> = value
        .into_iter()
        .flat_map(|value| value.split([':', ' ']))
        .filter(|entry| !entry.is_empty() && !ends_with(entry, name))
        .collect();
    Finding {
        stage: if value.is_some() { Stage::Explained } else { Stage::Seen },
        what: format!("{} failed calls look for {name}, in {starts}", number(merged.needless)),
        why: format!(
            "{} names {name}, which the loader does not find. It looks for the library at every \
             program start, and writes an error each time.",
            if value.is_some() { "LD_PRELOAD" } else { "LD_PRELOAD, as it seems," }
        ),
        remedies: vec![remedy(&kept)],
        ..merged.finding(RULE.name)
    }
}

/// Leaves only the libraries in `kept` in the list.
pub(crate) fn remedy(kept: &[&str]) -> Remedy {
    let variable = "LD_PRELOAD".to_owned();
    let change = if kept.is_empty() {
        Change::UnsetEnv { variable }
    } else {
        Change::SetEnv { variable, value: Some(kept.join(":")) }
    };
    let caveat = "No program that was observed found the library. One that runs with another root, \
                  where the library exists, would lose it.";
    Remedy { change, safety: Safety::Caveat(caveat.to_owned()) }
}
