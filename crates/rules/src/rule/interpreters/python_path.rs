//! ## What it finds
//!
//! Directories of PYTHONPATH that every import checks, and that hold nothing that is imported.
//!
//! ## Why it happens
//!
//! Python searches them before the standard library. For each module that is imported, it checks
//! whether each directory has changed (one stat); it lists each directory once. Directories that do
//! not exist cost two or three calls each at the start.
//!
//! ## Example
//!
//! ```trace
//! env PYTHONPATH=/opt/a:/opt/b
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/b", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! end
//! openat(AT_FDCWD, "/opt/a", O_RDONLY|O_DIRECTORY) = 3
//! openat(AT_FDCWD, "/usr/lib/python3.11/json/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! python-path: 41 of 41
//! stage explained
//! unset PYTHONPATH
//! ```
//!
//! Directories that do not exist, in a log without the environment:
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/gone/p0", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/gone/p1", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/gone/p2", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/gone/p3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/gone/p4", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/gone/p5", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/lib/python311.zip", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/lib/python3.11", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/usr/lib/python3.11/encodings", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/usr/lib/python3.11/encodings/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! python-path: 6 of 6
//! manual
//! ```
//!
//! Directories that exist, in such a log. Python asks for them before its first module, `encodings`; the
//! working directory of `python3 -c`, which it asks for later, has nothing to do with PYTHONPATH:
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3", "-c", "import json"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x3
//! openat(AT_FDCWD, "/opt/a", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/opt/b", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x3
//! openat(AT_FDCWD, "/opt/b", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/opt/c", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x3
//! openat(AT_FDCWD, "/opt/c", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3
//! openat(AT_FDCWD, "/usr/lib/python3.11/encodings/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! getcwd("/srv/work", 1024) = 10
//! newfstatat(AT_FDCWD, "/srv/work", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x12
//! openat(AT_FDCWD, "/srv/work", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x10
//! newfstatat(AT_FDCWD, "/opt/b", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x10
//! newfstatat(AT_FDCWD, "/opt/c", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x10
//! openat(AT_FDCWD, "/usr/lib/python3.11/json/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! python-path: 42 of 42
//! manual
//! ```
//!
//! Python checks each entry of sys.path. If a program adds the directory there once more, only one
//! check for each import is saved without the variable, as many as the standard library gets. The
//! checks with which Python first meets a directory stay.
//!
//! ```trace
//! env PYTHONPATH=/opt/a
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x101
//! openat(AT_FDCWD, "/opt/a", O_RDONLY|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/usr/lib/python3.11", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x55
//! openat(AT_FDCWD, "/usr/lib/python3.11/json/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! python-path: 53 of 102
//! unset PYTHONPATH
//! ```
//!
//! ## Not a finding
//!
//! A directory whose modules are imported, and the directories that every Python has:
//!
//! ```trace
//! env PYTHONPATH=/opt/app
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/app", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x40
//! openat(AT_FDCWD, "/opt/app/tool.py", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/usr/lib/python3.11", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x40
//! newfstatat(AT_FDCWD, "/usr/lib/python3/dist-packages", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x40
//! ```
//! ```finding
//! nothing
//! ```
//!
//! An archive, of which Python opens the file itself for each module:
//!
//! ```trace
//! env PYTHONPATH=/opt/tools.egg
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/tools.egg", {st_mode=S_IFREG|0644, st_size=9000, ...}, 0) = 0 x40
//! openat(AT_FDCWD, "/opt/tools.egg", O_RDONLY|O_CLOEXEC) = 3 x12
//! openat(AT_FDCWD, "/usr/lib/python3.11/json/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that looks for its own directories:
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/python3.11/encodings/__init__.py", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/home/me/.config/a", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/b", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/c", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/d", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/e", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/f", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/g", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/.config/h", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset PYTHONPATH, or leave only the directories that hold modules. Do not do this if a program
//! that was not observed imports from them. Modules of one program are better installed into its
//! virtual environment, or into a directory that a `.pth` file names, which comes after the
//! standard library. If a `.pth` file names the same directory already, Python skips that line, and
//! no call shows it: without the variable Python still searches the directory for modules that the
//! standard library does not hold.
//!
//! ## References
//!
//! * <https://docs.python.org/3/using/cmdline.html#envvar-PYTHONPATH>
//! * <https://github.com/dials/dials/issues/288>: start-up over a network

use crate::engine::helpers;
use crate::engine::helpers::{named, of_the_system};
use crate::lists::DuplicateEntry;
use crate::lists::{Infer, Search};
use crate::{Rule, View};
use needless_model::{ProcId, Query};
use std::collections::HashSet;

pub(crate) const RULE: Rule = Rule {
    name: "python-path",
    summary: "PYTHONPATH lists directories that hold none of the modules that Python imports",
    variables: &["PYTHONPATH"],
    lists: &[LIST],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "PYTHONPATH",
    who: |view, id| named(view, id, &["python", "pypy"]),
    usual: own,
    infer: Infer::By(dirs),
    again: DuplicateEntry::Imports,
    things: "Python modules",
    why: "Python searches the list before the standard library, so every import checks all of it first.",
    manual: "Find out what puts these directories on sys.path before the standard library: PYTHONPATH, or code",
    caveat: "Another run of this program, or another program, may import modules from these directories: look into them first.",
    user_ns: Some(4_000),
    ..Search::BY_PROGRAM
};

/// Fewer checks, or fewer missing directories, may be the program's own.
const FEWEST_ASKED: u64 = 5;

/// Directories that an installation of Python searches by itself.
fn own(dir: &str) -> bool {
    dir.contains("/lib/python") || dir.contains("/lib64/python") || dir.ends_with(".zip")
}

/// Directories that Python asks for before its first module, which it finds in its own: those that it
/// asks about again and again and lists, but of which nothing is opened; and those that are missing.
/// The program's own directory, or the working directory, it asks for later.
fn dirs<'p>(view: &View<'p>, id: ProcId) -> HashSet<&'p str> {
    let mut listed = HashSet::new();
    let mut asked = HashSet::new();
    let mut missing = HashSet::new();
    let mut starting = true;
    for (_, row) in view.rows_of(id) {
        let path = view.profile.path(row);
        starting &= !path.contains("/encodings");
        if own(path) || path.rsplit('/').next().is_none_or(|name| name.contains('.')) {
            continue;
        }
        match row.query {
            Query::Open if row.ok() => drop(listed.insert(path)),
            Query::Stat if starting && row.ok() && row.count >= FEWEST_ASKED => {
                asked.insert(path);
            }
            Query::Stat if starting && helpers::absent(row) => drop(missing.insert(path)),
            _ => {}
        }
    }
    // A child that was forked is not at its start.
    if starting {
        return HashSet::new();
    }
    // Python also looks for the directory of the program itself, and for those above the missing
    // ones.
    let above =
        |dir: &str| missing.iter().any(|d| d.strip_prefix(dir).is_some_and(|r| r.starts_with('/')));
    let missing: Vec<&str> =
        missing.iter().copied().filter(|dir| !above(dir) && !of_the_system(dir)).collect();
    let many = missing.len() as u64 >= FEWEST_ASKED;
    let missing = missing.into_iter().filter(|_| many);
    asked.intersection(&listed).copied().chain(missing).collect()
}
