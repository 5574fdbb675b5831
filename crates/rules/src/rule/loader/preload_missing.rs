//! ## What it finds
//!
//! A library named in LD_PRELOAD, or in the file `/etc/ld.so.preload`, that does not exist. Every
//! program start searches for it and writes an error to its standard error.
//!
//! ## Why it happens
//!
//! A bare name is searched for in every directory of the system, with the subdirectories for
//! processor variants: 64 to 152 calls per program start on Debian 12 (glibc 2.36), depending on
//! the processor, and about 32 since glibc 2.37, which dropped most of the subdirectories. A path
//! costs one call. All programs that the program starts inherit the variable; the file is for every
//! program of the machine, and of an image or a container that has one of its own.
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
//! The file names a library that an agent left behind:
//!
//! ```trace
//! env LANG=C
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! access("/etc/ld.so.preload", R_OK) = 0
//! openat(AT_FDCWD, "/etc/ld.so.preload", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/agent/libhook.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x6
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! preload-missing: 6 of 6
//! stage explained
//! setting preload-file
//! ```
//!
//! Two libraries, of which neither exists:
//!
//! ```trace
//! env LD_PRELOAD=/opt/libgone.so:/opt/libaway.so
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! openat(AT_FDCWD, "/opt/libgone.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/libaway.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! preload-missing: 6 of 6
//! besides 6
//! unset LD_PRELOAD
//! ```
//!
//! ## Not a finding
//!
//! The file names a library that is there:
//!
//! ```trace
//! env LANG=C
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! access("/etc/ld.so.preload", R_OK) = 0
//! openat(AT_FDCWD, "/etc/ld.so.preload", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libhook.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x6
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libhook.so", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
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
//! Take the name out of LD_PRELOAD, where it is set, or out of `/etc/ld.so.preload`; if that file is
//! then empty, remove it, and each program start saves three calls more. If the library is wanted (an allocator, a
//! security agent), install it instead, and name it by its path. A set-user-ID program ignores
//! names with a slash, and is not reported.
//!
//! ## References
//!
//! * `man 8 ld.so`, LD_PRELOAD
//! * <https://github.com/lutris/lutris/issues/5658>: the message, from a setting left behind

use crate::engine::{Case, PathPattern, merge_by};
use crate::text::{count, list, number};

use crate::engine::helpers;
use crate::mechanism::loader::is_libc;
use crate::{Rule, Sink, View};
use needless_model::{
    Change, Env, Fact, Finding, Libc, ProcId, Query, Remedy, Safety, Setting, Stage,
};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "preload-missing",
    summary: "A library to preload does not exist, and each program start looks for it",
    variables: &["LD_PRELOAD"],
    setting: Some(|_| Ok(of_file())),
    ..Rule::PLAIN
};

/// What the loader preloads in every program of the machine.
const FILE: &str = "/etc/ld.so.preload";
/// A name that is searched for in fewer directories is not a bare name in LD_PRELOAD.
const FEWEST_DIRS: usize = 4;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<(Source<'_>, Vec<String>), Group> = BTreeMap::new();
    let read_file = view.rows_at(FILE);
    for id in view.ids() {
        let process = view.process(id);
        let heeds = helpers::heeds_variables(process);
        let value = process.env.value("LD_PRELOAD").filter(|value| heeds && !value.is_empty());
        let by_file = read_file
            .get(&id)
            .is_some_and(|rows| rows.iter().any(|(_, row)| row.query == Query::Open && row.ok()));
        if !by_file && (!heeds || value.is_none() && process.env != Env::Unknown) {
            continue;
        }
        let (tried, mut variants) = tried(view, id, value.filter(|_| !by_file));
        // All missing libraries of one list are one remedy.
        let mut missing: BTreeMap<Source<'_>, (Vec<String>, Vec<usize>, u64)> = BTreeMap::new();
        for (name, (rows, _)) in tried.into_iter().filter(|(_, (_, found))| !found) {
            // The value has names and paths; of these rows all have one name.
            let path = view.profile.path(&view.profile.rows[rows[0]]);
            let source = match value {
                Some(value) if lists(value, name, path) => Source::Variable(value),
                _ if by_file => Source::File,
                _ => Source::Unknown,
            };
            if source == Source::Unknown && rows.len() < FEWEST_DIRS {
                sink.lack(RULE.name, Fact::Environment);
                continue;
            }
            // Each search ends with a message; musl writes none.
            let searches = rows.iter().map(|at| view.profile.rows[*at].count).max();
            let silent = matches!(view.libc(id), Libc::Musl);
            let all = missing.entry(source).or_default();
            all.0.push(name.to_owned());
            all.1.extend(rows);
            all.2 += searches.filter(|_| !silent).unwrap_or(0);
        }
        for (source, (names, mut rows, messages)) in missing {
            rows.append(&mut variants);
            let needless = rows.iter().map(|at| view.profile.rows[*at].count).sum();
            let group = groups.entry((source, names)).or_default();
            group.cases.push(Case { process: id, needless, of: needless, rows });
            group.messages += messages;
        }
    }
    for ((source, names), mut group) in groups {
        if let Source::Variable(value) = source {
            let first = &mut group.cases[0];
            first.of += found_others(view, first, value, &names);
        }
        sink.find(finding(view, source, &names, group));
    }
}

/// Libraries by name: the rows of the opens, and whether one found it.
type Tried<'p> = BTreeMap<&'p str, (Vec<usize>, bool)>;

/// The libraries that the loader may have preloaded; and the rows of its checks of directories. `value`, if it
/// is the only source, is the list that has them.
fn tried<'p>(view: &View<'p>, id: ProcId, value: Option<&str>) -> (Tried<'p>, Vec<usize>) {
    let mut tried = Tried::new();
    let mut variants = Vec::new();
    for (at, row) in view.rows_of(id) {
        let path = view.profile.path(row);
        let name = helpers::file_name(path);
        // The loader preloads nothing after this.
        if row.query == Query::Open && row.ok() && is_libc(name) {
            // If it was searched for, it was found.
            tried.remove(name);
            break;
        }
        // The loader checks once whether each directory exists.
        if row.query == Query::Stat && helpers::of_the_system(path) {
            variants.push(at);
        }
        if row.query != Query::Open || !name.contains(".so") || name == "ld.so.cache" {
            continue;
        }
        if value.is_none_or(|value| lists(value, name, path)) {
            let (rows, found) = tried.entry(name).or_default();
            rows.push(at);
            *found |= !helpers::absent(row);
        }
    }
    (tried, variants)
}

/// Program starts that miss the same libraries.
#[derive(Default)]
struct Group {
    cases: Vec<Case>,
    /// Messages that the loader wrote: one for each search.
    messages: u64,
}

/// What names the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source<'v> {
    /// LD_PRELOAD, which has this value.
    Variable(&'v str),
    /// The file.
    File,
    /// It is not known, but looks like LD_PRELOAD.
    Unknown,
}

/// Whether the value of LD_PRELOAD has this library, by its name or its path.
fn lists(value: &str, name: &str, path: &str) -> bool {
    value.split([':', ' ']).any(|entry| entry == name || entry == path)
}

/// Opens of the other entries that exist.
fn found_others(view: &View<'_>, case: &Case, value: &str, names: &[String]) -> u64 {
    let others: Vec<&str> =
        value.split([':', ' ']).filter(|entry| !is_one_of(entry, names)).collect();
    let rows = view.rows_of(case.process).filter(|(_, row)| row.query == Query::Open && row.ok());
    rows.filter(|(_, row)| others.contains(&view.profile.path(row))).map(|(_, r)| r.count).sum()
}

fn is_one_of(entry: &str, names: &[String]) -> bool {
    names.iter().any(|name| helpers::file_name(entry) == name)
}

fn finding(view: &View<'_>, source: Source<'_>, names: &[String], group: Group) -> Finding {
    let merged = merge_by(view.profile, group.cases, |path| {
        let name = helpers::file_name(path);
        if is_one_of(name, names) { PathPattern("", "…/", name) } else { PathPattern::path(path) }
    });
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = list(&all);
    let starts = count(merged.processes.len() as u64, "program start", "program starts");
    let (stage, by, fix) = match source {
        Source::Variable(value) => {
            let entries = value.split([':', ' ']);
            let kept: Vec<&str> =
                entries.filter(|entry| !entry.is_empty() && !is_one_of(entry, names)).collect();
            (Stage::Explained, "LD_PRELOAD", remedy(&kept))
        }
        Source::File => (Stage::Explained, FILE, of_file()),
        Source::Unknown => (Stage::Seen, "LD_PRELOAD, as it seems,", remedy(&[])),
    };
    Finding {
        stage,
        what: format!("{} failed calls look for {name}, in {starts}", number(merged.needless)),
        why: format!(
            "{by} names {name}, which the loader does not find. It looks for {} at every program \
             start, and writes an error each time.",
            if all.len() == 1 { "the library" } else { "each of them" },
        ),
        remedies: vec![fix],
        besides: group.messages as i64,
        ..merged.finding(RULE.name)
    }
}

/// Leaves only the libraries that exist in the file.
fn of_file() -> Remedy {
    helpers::setting(
        Setting::PreloadFile,
        "Take the libraries that do not exist out of /etc/ld.so.preload",
        "Every program of the machine reads this file. If what the library belongs to (a security agent) is still \
         wanted, install the library again instead.",
    )
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
