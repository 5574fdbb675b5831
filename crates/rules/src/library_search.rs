//! ## What it finds
//!
//! Directories of LD_LIBRARY_PATH in which the loader looks for every library of every program and
//! finds none.
//!
//! ## Why it happens
//!
//! The loader searches the variable's directories before its cache. In each it first tries the
//! subdirectories for processor variants, once: 22 to 38 calls with glibc 2.36, depending on the
//! processor, 8 at most since glibc 2.37. Then it tries the directory itself, for each library. Every
//! program that inherits the variable pays, at every start.
//!
//! ## Example
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a/lib:/opt/b/lib
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/glibc-hwcaps/x86-64-v3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/opt/b/lib/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/glibc-hwcaps/x86-64-v3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-search: 8 of 8
//! stage explained
//! unset LD_LIBRARY_PATH
//! ```
//!
//! One of them holds a library, the others none:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a/lib:/opt/b/lib/:/opt/c/lib
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/libp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libp.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/b/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libs.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/libs.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! library-search: 6 of 10
//! set LD_LIBRARY_PATH=/opt/b/lib
//! ```
//!
//! ## Not a finding
//!
//! The one directory that holds the library that the program came with:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/app/lib
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/app/lib/glibc-hwcaps/x86-64-v4/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/glibc-hwcaps/x86-64-v3/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/glibc-hwcaps/x86-64-v2/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/tls/haswell/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/tls/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/x86_64/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libapp.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A directory in which a program looks for its own files, as a compiler does that follows the way to each:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/build/target/deps
//! execve("/usr/bin/gcc", ["gcc"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! readlink("/build/target/deps", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! readlink("/build/target/deps/one.o", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A set-user-ID program ignores the variable: what it looks for, it looks for by itself.
//!
//! ```trace
//! secure
//! env LD_LIBRARY_PATH=/opt/a/lib
//! execve("/usr/bin/su", ["su"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/liba.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libc.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libd.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libe.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libf.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libg.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libh.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset LD_LIBRARY_PATH, or leave only the directories that hold something. Not where a program
//! that was not observed needs a library from them, or one that it loads later by `dlopen()`. Where
//! one program needs a directory, a RUNPATH serves that program alone. The order of the entries that
//! stay is kept: it decides which of two libraries of one name is loaded.
//!
//! ## References
//!
//! * `man 8 ld.so`, LD_LIBRARY_PATH
//! * glibc, `elf/dl-load.c`
//! * <https://github.com/gluster/glusterfs/issues/2348>: a test suite that took a third longer

use crate::search::{self, Infer, Search, Words};
use crate::{Claims, Rule, View};
use needless_model::{Ask, Fact};

pub(crate) const RULE: Rule = Rule {
    name: "library-search",
    summary: "LD_LIBRARY_PATH lists directories that hold none of the libraries that programs load",
    needs: &[Fact::Paths, Fact::Outcomes],
    variables: &["LD_LIBRARY_PATH"],
    correctness: false,
    pedantic: false,
    page: include_str!("library_search.rs"),
    check,
};

const SEARCH: Search = Search {
    rule: RULE.name,
    variable: "LD_LIBRARY_PATH",
    who: |view, id| search::heeds_variables(view.process(id)),
    file: is_library,
    asks: loader_asks,
    usual: |dir| dir == "/",
    base,
    infer: Infer::No,
};

pub(crate) const WORDS: Words = Words {
    things: "libraries",
    why: "The loader tries each directory of the list for each library, the first time with subdirectories for processor variants.",
    manual: "Find out what makes the loader search these directories: LD_LIBRARY_PATH in the environment, or the RUNPATH of the program (readelf -d)",
    caveat: "A program that was not observed may need a library of these directories, or one that is loaded later by dlopen().",
    by_hand: false,
};

fn check(view: &View<'_>, claims: &mut Claims) {
    search::check(view, claims, &SEARCH, &WORDS);
}

/// The loader opens libraries, and asks once for the status of a directory and of its subdirectories for
/// processor variants. All else is the program's own: a compiler follows the way to each of its files.
fn loader_asks(ask: Ask, path: &str, dir: &str) -> bool {
    match ask {
        Ask::Open => is_library(path),
        Ask::Stat => base(path.trim_end_matches('/')) == dir || dir.starts_with(path),
        _ => false,
    }
}

const VARIANTS: [&str; 9] =
    ["tls", "haswell", "xeon_phi", "avx512_1", "x86_64", "i686", "sse2", "atomics", "glibc-hwcaps"];

/// A directory without the subdirectories for processor variants that the loader tries in it.
pub(crate) fn base(dir: &str) -> &str {
    let mut dir = dir;
    while let Some((up, name)) = dir.rsplit_once('/') {
        if !VARIANTS.contains(&name) && !up.ends_with("/glibc-hwcaps") {
            break;
        }
        dir = up;
    }
    dir
}

pub(crate) fn is_library(path: &str) -> bool {
    // Asked of every path: a search for so short a text takes longer to set up than to do.
    crate::tally::file_name(path).as_bytes().windows(3).any(|part| part == b".so")
}
