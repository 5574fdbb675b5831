//! ## What it finds
//!
//! git that looks for `.git` in each directory up to the root, because it runs outside of a
//! repository or deep within a tree (from a prompt, an editor, a build).
//!
//! ## Why it happens
//!
//! For each directory git looks for `.git`, and checks whether the directory itself is a
//! repository: three or four calls. A prompt does this before each line.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/x/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! git-discovery: 20 of 20
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A repository two directories up:
//!
//! ```trace
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/src/a/b/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x3
//! newfstatat(AT_FDCWD, "/src/a/b/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x3
//! newfstatat(AT_FDCWD, "/src/a/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x3
//! newfstatat(AT_FDCWD, "/src/a/HEAD", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x3
//! newfstatat(AT_FDCWD, "/src/.git", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The directories of a work tree, in which git looks for repositories of their own (`git ls-files -o`):
//!
//! ```trace
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/src/.git", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! repeat 4
//! newfstatat(AT_FDCWD, "/src/un/1/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/un/1/.git/HEAD", O_RDONLY) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/src/un/2/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/un/2/.git/HEAD", O_RDONLY) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/src/un/3/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/un/3/.git/HEAD", O_RDONLY) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/src/un/4/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/un/4/.git/HEAD", O_RDONLY) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/src/un/5/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/un/5/.git/HEAD", O_RDONLY) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/src/un/6/.git", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/un/6/.git/HEAD", O_RDONLY) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set GIT_CEILING_DIRECTORIES to the directory that holds your repositories: the search ends below
//! it. Or name one repository with GIT_DIR and GIT_WORK_TREE. A repository above the ceiling is
//! then not found.
//!
//! ## References
//!
//! * `man 1 git`, GIT_CEILING_DIRECTORIES
//! * <https://github.com/starship/starship/pull/3591>: a prompt on a network file system

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Row, Stage};
use std::collections::BTreeSet;

pub(crate) const RULE: Rule = Rule {
    name: "git-discovery",
    summary: "git looks for a repository in many directories above the one it runs in",
    ..Rule::PLAIN
};

/// Most repositories are nearer.
const FEWEST_DIRS: usize = 6;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let git = |id: ProcId| view.process(id).name() == "git";
    let class = |row: &Row, path: &str| {
        let asked = ["/.git", "/HEAD", "/.git/HEAD"].iter().any(|end| path.ends_with(end));
        RowClass::Needless.when(asked && helpers::absent(row))
    };
    let mut cases = helpers::cases(view, sink, git, class);
    cases.retain(|case| {
        let paths = case.rows.iter().map(|at| view.profile.path(&view.profile.rows[*at]));
        is_discovery(&paths.collect())
    });
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} calls look for a repository in directory after directory");
        let why = format!(
            "{program} was started outside of any repository, or far below one, and looks in each \
             directory up to the root."
        );
        let remedies = vec![helpers::by_hand(
            "Set GIT_CEILING_DIRECTORIES to the directory above your repositories",
            "A repository above that directory is then not found.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}

/// Whether git looked upwards from one directory: each directory is the parent of the one before, and in each git asks
/// whether it is a bare repository. A look for a repository inside of the work tree asks for `.git` only.
fn is_discovery(missed: &BTreeSet<&str>) -> bool {
    let mut dirs: Vec<&str> = missed.iter().filter_map(|path| path.strip_suffix("/.git")).collect();
    dirs.sort_by_key(|dir| std::cmp::Reverse(dir.len()));
    let upwards = |pair: &[&str]| pair[0].rsplit_once('/').is_some_and(|(up, _)| up == pair[1]);
    dirs.len() >= FEWEST_DIRS
        && dirs.windows(2).all(upwards)
        && dirs.iter().all(|dir| missed.contains(&*format!("{dir}/HEAD")))
}
