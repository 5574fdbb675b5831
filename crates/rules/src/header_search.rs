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
//! ## Not a finding
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

use crate::search::{self, Asker, Infer, Search, Words, of_the_system};
use crate::{Claims, Rule, View};
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

/// The list of both languages, then those of one.
const LISTS: [(&str, &str); 3] = [
    ("CPATH", "Find where CPATH lists these directories, and take them out"),
    ("C_INCLUDE_PATH", "Find where C_INCLUDE_PATH lists these directories, and take them out"),
    (
        "CPLUS_INCLUDE_PATH",
        "Find where CPLUS_INCLUDE_PATH lists these directories, and take them out",
    ),
];

fn check(view: &View<'_>, claims: &mut Claims) {
    for (variable, manual) in LISTS {
        let search = Search {
            rule: RULE.name,
            variable,
            who: compiles,
            file: |_| true,
            asker: Asker::Program,
            usual: of_the_system,
            base: |dir| dir,
            infer: Infer::No,
        };
        search::check(view, claims, &search, &words(manual));
    }
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
