//! ## What it finds
//!
//! Directories of CPATH, C_INCLUDE_PATH or CPLUS_INCLUDE_PATH in which the C and C++ compilers look
//! for each header, and find none.
//!
//! ## Why it happens
//!
//! The compilers search them before the system's directories, for each `#include`, in each
//! compilation. Environment modules and package managers add to the list.
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
//! The same with a list for one language:
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
//! GCC drops a directory that it also has from another source (`-I`, `-isystem`, another of the
//! lists): without the variable only one check of the directory is saved, and the search goes on
//! because of the other source. Here C_INCLUDE_PATH (the system's chain) and CPATH both name the
//! directory. Removing either saves a check; removing C_INCLUDE_PATH also saves the resolving of
//! links, which GCC does for the system's chain only:
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
//! A C++ compiler does not read the list for C; and `-I` names the directory of CPATH as well:
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
//! Unset the variable, or leave only directories with headers that are used. Do not do this if
//! another build, which was not observed, takes headers from them: it would fail, or take a header
//! of the same name from elsewhere.
//!
//! ## References
//!
//! * `man 1 gcc`, CPATH, C_INCLUDE_PATH, CPLUS_INCLUDE_PATH

use crate::lists::DuplicateEntry;
use crate::lists::Search;
use crate::{Rule, View};
use needless_model::ProcId;

pub(crate) const RULE: Rule = Rule {
    name: "header-search",
    summary: "CPATH and similar variables list directories that hold none of the included headers",
    variables: &["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"],
    lists: &LISTS,
    ..Rule::PLAIN
};

/// What the three lists share.
const LIST: Search = Search {
    things: "headers",
    why: "The compiler searches the list before the directories of the system, for each header of \
          each compilation.",
    caveat: "Another compilation may use headers from these directories: look into them first.",
    user_ns: Some(1_000),
    ..Search::BY_PROGRAM
};

/// The list of all languages, then those of one.
const LISTS: [Search; 3] = [
    Search {
        variable: "CPATH",
        who: compiles,
        again: DuplicateEntry::Compiler { system: false },
        ..LIST
    },
    Search {
        variable: "C_INCLUDE_PATH",
        who: |view, id| compiles(view, id) && language(view, id) == Language::C,
        again: DuplicateEntry::Compiler { system: true },
        ..LIST
    },
    Search {
        variable: "CPLUS_INCLUDE_PATH",
        who: |view, id| compiles(view, id) && language(view, id) == Language::Cplusplus,
        again: DuplicateEntry::Compiler { system: true },
        ..LIST
    },
];

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
            if opened.any(|(_, row)| standard(view.profile.path(row))) {
                Language::Cplusplus
            } else {
                Language::C
            }
        }
    }
}
