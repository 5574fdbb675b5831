//! ## What it finds
//!
//! A Node program that lies many directories below its `node_modules`: Node looks for each package
//! in every directory on the way up.
//!
//! ## Why it happens
//!
//! `require("x")` looks for `node_modules` in the directory of the file that requires, in the one
//! above it, and so on to the root. To learn the type of each file, Node looks for a `package.json`
//! in the same directories.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/srv/app/a/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/a/b/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/a/b/c/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/a/b/c/d/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/a/b/c/d/e/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/a/b/c/d/e/f/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a/b/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a/b/c/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a/b/c/d/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a/b/c/d/e/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a/b/c/d/e/f/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! module-walk: 12 of 12
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A program beside its packages; their own directories contain no `node_modules`:
//!
//! ```trace
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/srv/app/lib/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/a/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/b/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/c/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/d/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/e/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/f/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/g/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app/node_modules/h/node_modules", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/a/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/b/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/c/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/d/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/e/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/f/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/g/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/node_modules/h/lib/package.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Start the program from a file beside its `node_modules`, put a `package.json` beside that file,
//! or bundle the program into one file. Which copy of a package is loaded may change: this is for
//! the people who build the program.
//!
//! ## References
//!
//! * <https://nodejs.org/api/modules.html#loading-from-node_modules-folders>
//! * <https://github.com/nodejs/node/pull/60425>: what it costs on a slow file system

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Row, Stage};
use std::collections::BTreeSet;

pub(crate) const RULE: Rule = Rule {
    name: "module-walk",
    summary: "Node looks for node_modules and package.json in many directories above the program",
    ..Rule::PLAIN
};

/// Most programs lie a few directories below their packages.
const FEWEST_DIRS: usize = 6;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let node = |id: ProcId| view.process(id).name().starts_with("node");
    // Only the author of a package can say where its own files should lie.
    let walked = |row: &Row, path: &str| {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        helpers::absent(row)
            && !dir.contains("/node_modules")
            && (name == "node_modules" || name == "package.json")
    };
    let class = |row: &Row, path: &str| RowClass::Needless.when(walked(row, path));
    let cases = helpers::cases(view, sink, node, class);
    let mut deep = Vec::new();
    for case in cases {
        let paths = case.rows.iter().map(|at| view.profile.path(&view.profile.rows[*at]));
        let dirs: BTreeSet<&str> = paths.filter(|path| path.ends_with("/node_modules")).collect();
        if dirs.len() >= FEWEST_DIRS {
            deep.push(case);
        }
    }
    for (program, cases) in helpers::by_program(view, deep, 1) {
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} failed calls look for node_modules or package.json above the program",
            number(merged.needless)
        );
        let why = format!(
            "{program} runs files that lie many directories below their packages, and looks in each \
             directory on the way up, again for each package."
        );
        let remedies = vec![helpers::by_hand(
            "Start the program beside its node_modules, give it a package.json there, or bundle it",
            "Which copy of a package is loaded depends on where the program lies.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}
