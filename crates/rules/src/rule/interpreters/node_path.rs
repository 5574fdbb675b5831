//! ## What it finds
//!
//! Directories of NODE_PATH in which Node looks for packages that it found nowhere else, and finds
//! nothing.
//!
//! ## Why it happens
//!
//! They come after all `node_modules` directories. For each name that is not found there, Node asks
//! in each directory for the package, its `package.json` and three endings: six calls where the
//! directory exists, one where it does not. Many programs look for optional packages that are not
//! installed.
//!
//! ## Example
//!
//! ```trace
//! env NODE_PATH=/opt/a:/opt/b
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/fast", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/fast.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/b/fast", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/fast.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! ```
//! ```finding
//! node-path: 8 of 8
//! unset NODE_PATH
//! ```
//!
//! In a log without the environment:
//!
//! ```trace
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/app/node_modules/fast/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/fast/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/fast/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c/fast/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/d/fast/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/d/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/e/fast/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/e/fast.js", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! node-path: 10 of 10
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A directory from which a package is loaded; and the walk up to `node_modules`:
//!
//! ```trace
//! env NODE_PATH=/opt/a
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/p/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/q/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/r/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/s/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/t/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/u/package.json", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/p/index.js", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset NODE_PATH, or leave only directories that hold packages. Do not do this if a program that
//! was not observed loads packages from them. Node's authors advise against the variable: install
//! dependencies beside the program.
//!
//! ## References
//!
//! * <https://nodejs.org/api/modules.html#loading-from-the-global-folders>

use crate::engine::helpers;
use crate::engine::helpers::named;
use crate::lists::{Infer, Search};
use crate::{Rule, View};
use needless_model::ProcId;
use std::collections::{HashMap, HashSet};

pub(crate) const RULE: Rule = Rule {
    name: "node-path",
    summary: "NODE_PATH lists directories that hold none of the packages that Node programs require",
    variables: &["NODE_PATH"],
    lists: &[LIST],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "NODE_PATH",
    who: |view, id| named(view, id, &["node", "electron"]),
    infer: Infer::By(dirs),
    things: "packages",
    why: "Node asks in each directory of the list, by five names, for every package that no node_modules directory holds.",
    manual: "Find where NODE_PATH lists these directories, and unset it there",
    caveat: "Another run of this program, or another program, may load packages from these directories: look into them first.",
    user_ns: Some(2_000),
    ..Search::BY_PROGRAM
};

/// A name that is missing in this many directories was looked for in a list.
const FEWEST_DIRS: usize = 5;

/// Directories below which the same package was asked for by its `package.json`, except those that
/// Node walks through by itself.
fn dirs<'p>(view: &View<'p>, id: ProcId) -> HashSet<&'p str> {
    let mut missed: HashMap<&str, HashSet<&'p str>> = HashMap::new();
    for (_, row) in view.rows_of(id).filter(|(_, row)| helpers::absent(row)) {
        let path = view.profile.path(row);
        let Some(package) = path.strip_suffix("/package.json") else { continue };
        if let Some((dir, name)) = package.rsplit_once('/')
            && !dir.is_empty()
            && !path.contains("/node_modules")
        {
            missed.entry(name).or_default().insert(dir);
        }
    }
    // A walk upwards asks in directories that lie within one another.
    let list = |dirs: &HashSet<&str>| {
        let below = |dir: &str, up: &str| dir.strip_prefix(up).is_some_and(|d| d.starts_with('/'));
        let within = |dir: &str| dirs.iter().any(|up| below(dir, up));
        dirs.len() >= FEWEST_DIRS && !dirs.iter().any(|dir| within(dir))
    };
    missed.into_values().filter(list).flatten().collect()
}
