//! ## What it finds
//!
//! Programs that convert between character sets and read the text files of all converters at each
//! start.
//!
//! ## Why it happens
//!
//! glibc has a cache of its converters (`gconv-modules.cache`). glibc does not use it if GCONV_PATH
//! is set, even to the usual directory: every program that converts then reads and parses the files
//! `gconv-modules`.
//!
//! ## Example
//!
//! ```trace
//! env GCONV_PATH=/usr/lib/x86_64-linux-gnu/gconv
//! execve("/usr/bin/iconv", ["iconv"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.d/extra.conf", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! converter-path: 6 of 6
//! besides 61
//! unset GCONV_PATH
//! ```
//!
//! ## Not a finding
//!
//! The cache is used:
//!
//! ```trace
//! env -GCONV_PATH
//! execve("/usr/bin/iconv", ["iconv"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 9
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Without the variable, in an image without the cache:
//!
//! ```trace
//! env -GCONV_PATH
//! execve("/usr/bin/iconv", ["iconv"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 9
//! openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset GCONV_PATH. If it names converters of your own, put them into the cache with `iconvconfig`
//! first: without the variable they are not found.
//!
//! ## References
//!
//! * `man 8 iconvconfig`
//! * `man 1 iconv`, GCONV_PATH
//! * glibc, `iconv/gconv_cache.c`

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, ProcId, Query, Remedy, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "converter-path",
    summary: "GCONV_PATH is set, so each program reads the list of character sets as text",
    variables: &["GCONV_PATH"],
    mentions: &["gconv-modules"],
    ..Rule::PLAIN
};

/// A directory or a short list: open, fstat, two reads and close.
const CALLS: u64 = 5;
/// glibc's long list is 54 KB long, read in blocks of 4 KiB.
const CALLS_LONG: u64 = 18;

/// What glibc calls once to have the list in memory, relative directories made absolute: getcwd and brk.
const ELSE: i64 = 2;
/// The cache, which is read instead: open, fstat, mmap and close.
const CACHE: i64 = 4;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    if view.ids().any(|id| view.env_unknown(id)) {
        sink.lack(RULE.name, Fact::Environment);
    }
    let set = |id: ProcId| {
        let process = view.process(id);
        helpers::heeds_variables(process)
            && process.env.value("GCONV_PATH").is_some_and(|value| !value.is_empty())
    };
    let class = |row: &Row, path: &str| {
        let list = path.ends_with("/gconv-modules") || path.contains("/gconv-modules.d");
        RowClass::Needless.when(list && row.query == Query::Open)
    };
    let calls = |row: &Row, path: &str| match path.ends_with(".conf") {
        _ if !row.ok() => 1,
        true => CALLS_LONG,
        false => CALLS,
    };
    let cases = helpers::cases(view, sink, set, class);
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} opens of lists of character sets instead of one cache");
        let why = format!(
            "GCONV_PATH is set, so {program} reads the lists as text and does not use glibc's cache."
        );
        let remedies = vec![remedy()];
        let starts = merged.processes.len() as i64;
        let besides = helpers::accompanying(view, &merged, calls) + starts * (ELSE - CACHE);
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// Unsets the variable.
pub(crate) fn remedy() -> Remedy {
    helpers::unset("GCONV_PATH", "Converters that are only in that directory are then not found.")
}
