//! ## What it finds
//!
//! Programs that look for their libraries in every directory of the system, because
//! /etc/ld.so.cache does not exist.
//!
//! ## Why it happens
//!
//! The loader takes the places of libraries from the cache that `ldconfig` writes. Without a cache
//! (in images that were made by copying files) it tries every directory for each library of each program,
//! and once the subdirectories for processor variants.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 4
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! loader-cache: 12 of 13
//! setting loader-cache
//! ```
//!
//! Up to glibc 2.36 there are more subdirectories, and the loader checks each of them once:
//!
//! ```trace
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/tls/haswell/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/lib/x86_64-linux-gnu/tls/haswell", 0x7ffe03e66140, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! loader-cache: 6 of 8
//! setting loader-cache
//! ```
//!
//! ## Not a finding
//!
//! The cache is there:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! `needless fix` does this on a host. In an image: run `ldconfig`, after the last library was installed. A library that is added
//! later, in a directory that is not one of the loader's own, is found only after `ldconfig` has
//! run again.
//!
//! ## References
//!
//! * `man 8 ldconfig`, `man 8 ld.so`
//! * glibc, `elf/dl-load.c`

use crate::engine::helpers::of_the_system;
use crate::engine::helpers::{self, RowClass};
use crate::mechanism::loader::is_library;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Remedy, Row, Setting, Stage};
use std::collections::HashSet;

pub(crate) const RULE: Rule = Rule {
    name: "loader-cache",
    summary: "The cache of libraries is missing, so each program searches the directories of the system",
    mentions: &["/etc/ld.so.cache"],
    setting: Some(|_| Ok(remedy())),
    ..Rule::PLAIN
};

/// What a start costs with the cache: open, fstat, mmap, close and munmap.
const CALLS_WITH: u64 = 5;

fn remedy() -> Remedy {
    helpers::setting(
        Setting::LoaderCache,
        "Run ldconfig, in the image or the root directory of the program",
        "Repeat it when libraries are added.",
    )
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let cache = |path: &str| path == "/etc/ld.so.cache";
    let without = |id: ProcId| -> bool {
        let mut rows = view.rows_of(id).filter(|(_, row)| cache(view.profile.path(row)));
        let any = rows.any(|(_, row)| helpers::absent(row));
        any && !rows.any(|(_, row)| row.ok())
    };
    if !view.ids().any(without) {
        return;
    }
    // The loader checks a directory once, after it did not find a library in it.
    let asked: HashSet<&str> = view
        .rows_where(|path| is_library(path) && of_the_system(path))
        .into_iter()
        .filter(|(_, row)| helpers::absent(row))
        .filter_map(|(_, row)| Some(view.profile.path(row).rsplit_once('/')?.0))
        .collect();
    let class = |row: &Row, path: &str| {
        let library = is_library(path) && of_the_system(path);
        match row.query {
            Query::Open if helpers::absent(row) && (cache(path) || library) => RowClass::Needless,
            Query::Stat if asked.contains(path) => RowClass::Needless,
            Query::Open if library => RowClass::Needed,
            _ => RowClass::Unrelated,
        }
    };
    let cases = helpers::cases(view, sink, without, class);
    for (_, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} calls search for libraries: there is no cache of them");
        let why =
            "/etc/ld.so.cache does not exist, so the loader tries each directory of the system \
                   for each library."
                .to_owned();
        let remedies = vec![remedy()];
        let besides = -((CALLS_WITH * merged.processes.len() as u64) as i64);
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
