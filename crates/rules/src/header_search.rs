//! ## What it finds
//!
//! Directories of CPATH, C_INCLUDE_PATH or CPLUS_INCLUDE_PATH in which the C and C++ compilers look
//! for each header, and find none.
//!
//! ## Why it happens
//!
//! They are searched before the system's directories, for each `#include`, in each compilation.
//! Environment modules and package managers add to the list.
//!
//! ## Example
//!
//! ```trace
//! env CPATH=/opt/a/include:/opt/b/include
//! execve("/usr/bin/cc1", ["cc1"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/include/stdio.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/include/stdio.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/stdlib.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/include/stdlib.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/string.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/include/string.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/include/stdio.h", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! header-search: 6 of 6
//! unset CPATH
//! ```
//!
//! A list for one language likewise:
//!
//! ```trace
//! env C_INCLUDE_PATH=/opt/a/include
//! execve("/usr/bin/cc1", ["cc1"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/include/stdio.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/stdlib.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/string.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/errno.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/math.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/time.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/include/stdio.h", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! header-search: 6 of 6
//! unset C_INCLUDE_PATH
//! ```
//!
//! GCC drops a directory that it has from another source as well (`-I`, `-isystem`, another of the lists): only
//! the look at it goes with the variable, and the search goes on for the other. Here the system's chain, of
//! C_INCLUDE_PATH, has it as well as CPATH. Each alone saves a look, and C_INCLUDE_PATH the resolving of links, which is
//! done for the system's chain only:
//!
//! ```trace
//! env CPATH=/opt/a/include C_INCLUDE_PATH=/opt/a/include
//! execve("/usr/lib/gcc/x86_64-linux-gnu/12/cc1", ["cc1"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/include", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/a/include", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! repeat 9
//! readlink("/opt/a/include", 0x7ffed4302150, 1023) = -1 EINVAL (Invalid argument)
//! end
//! openat(AT_FDCWD, "/opt/a/include/stdio.h", O_RDONLY|O_NOCTTY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/stdlib.h", O_RDONLY|O_NOCTTY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/string.h", O_RDONLY|O_NOCTTY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/include/stdio.h", O_RDONLY|O_NOCTTY) = 3
//! ```
//! ```finding
//! header-search: 10 of 14
//! unset C_INCLUDE_PATH
//! ```
//!
//! ## Not a finding
//!
//! A compiler of C++ does not read the list for C; and `-I` names the directory of CPATH as well:
//!
//! ```trace
//! env CPATH=/opt/a/include C_INCLUDE_PATH=/opt/b/include
//! execve("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", ["cc1plus"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/include", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/b/include", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/a/include", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! repeat 20
//! openat(AT_FDCWD, "/opt/a/include/stdio.h", O_RDONLY|O_NOCTTY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/include/stdio.h", O_RDONLY|O_NOCTTY) = -1 ENOENT (No such file or directory)
//! end
//! openat(AT_FDCWD, "/usr/include/stdio.h", O_RDONLY|O_NOCTTY) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A directory with a header that is used; and the directories of `-I`, which the build names for a
//! reason:
//!
//! ```trace
//! env CPATH=/opt/a/include
//! execve("/usr/bin/cc1", ["cc1"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/include/stdio.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/stdlib.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/string.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/a/one.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/b/one.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/c/one.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/d/one.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/e/one.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/f/one.h", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/include/png.h", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/src/g/one.h", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset the variable, or leave only directories with headers that are used. Not where another build,
//! which was not observed, takes headers from them: it would fail, or take a header of the same name
//! from elsewhere.
//!
//! ## References
//!
//! * `man 1 gcc`, CPATH, C_INCLUDE_PATH, CPLUS_INCLUDE_PATH

use crate::again::Again;
use crate::search::{self, Asker, Infer, Search, Words, of_the_system};
use crate::{Rule, Sink, View};
use needless_model::{Fact, ProcId};

pub(crate) const RULE: Rule = Rule {
    name: "header-search",
    summary: "CPATH and its kin list directories that hold none of the headers that are included",
    needs: &[Fact::Paths, Fact::Outcomes],
    variables: &["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"],
    correctness: false,
    pedantic: false,
    page: include_str!("header_search.rs"),
    check,
};

/// A list, what to do where it is not known, and who reads it.
type List = (&'static str, &'static str, fn(&View<'_>, ProcId) -> bool);

/// The list of all languages, then those of one.
const LISTS: [List; 3] = [
    ("CPATH", "Find where CPATH lists these directories, and take them out", compiles),
    (
        "C_INCLUDE_PATH",
        "Find where C_INCLUDE_PATH lists these directories, and take them out",
        |view, id| compiles(view, id) && language(view, id) == Language::C,
    ),
    (
        "CPLUS_INCLUDE_PATH",
        "Find where CPLUS_INCLUDE_PATH lists these directories, and take them out",
        |view, id| compiles(view, id) && language(view, id) == Language::Cplusplus,
    ),
];

fn check(view: &View<'_>, sink: &mut Sink) {
    let mut shared = Vec::new();
    for (variable, manual, who) in LISTS {
        let search = Search {
            rule: RULE.name,
            variable,
            who,
            file: |_| true,
            asker: Asker::Program,
            usual: of_the_system,
            base: |dir| dir,
            infer: Infer::No,
            again: Again::Compiler { system: variable != "CPATH" },
        };
        for found in search::searches(view, sink, &search) {
            let here = found.shared.clone();
            sink.find(search::finding(&search, &words(manual), found));
            // A look at a directory that two of the lists name is in part the next one's.
            sink.leave(&here);
            shared.extend(here);
        }
    }
    sink.explain(&shared);
}

/// What is said of one of the lists.
pub(crate) fn words(manual: &'static str) -> Words {
    Words {
        things: "headers",
        why: "The list comes before the directories of the system, for each header of each compilation.",
        manual,
        caveat: "A compilation that was not observed may use headers of these directories.",
        by_hand: false,
    }
}

/// Whether the process looks for headers. An interpreter that asks in the same directories does not.
fn compiles(view: &View<'_>, id: ProcId) -> bool {
    let header = |path: &str| path.ends_with(".h") || path.ends_with(".gch");
    view.rows_of(id).any(|(_, row)| header(view.profile.path(row)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Cplusplus,
    /// Neither of the lists for one language is read.
    Other,
}

/// What a process compiles: GCC has a program for each language; clang shows it by the headers it reads.
fn language(view: &View<'_>, id: ProcId) -> Language {
    match view.process(id).name() {
        "cc1" => Language::C,
        "cc1plus" => Language::Cplusplus,
        name if name.starts_with("cc1") => Language::Other,
        _ => {
            let mut opened = view.rows_of(id).filter(|(_, row)| row.ok());
            let standard = |path: &str| path.contains("/c++/");
            match opened.any(|(_, row)| standard(view.profile.path(row))) {
                true => Language::Cplusplus,
                false => Language::C,
            }
        }
    }
}
