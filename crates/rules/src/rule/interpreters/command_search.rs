//! ## What it finds
//!
//! Directories of PATH that are searched at each start of a program and hold none of these
//! programs: directories of version managers, of removed packages, of another system (Windows,
//! under WSL).
//!
//! ## Why it happens
//!
//! execvp() tries execve in each directory in turn. Shells ask with stat, and remember the answer;
//! env, xargs, make and interpreters do not. One directory on a slow file system can take most of
//! the time: in one measurement 100 failed calls of execve were 2 % of all calls, and 76 % of the
//! time. The directories of the system itself are not counted.
//!
//! ## Example
//!
//! ```trace
//! env PATH=/opt/a/bin:/opt/b/bin:/opt/c/bin:/usr/bin
//! execve("/usr/bin/xargs", ["xargs"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! execve("/opt/a/bin/echo", ["echo"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! execve("/opt/b/bin/echo", ["echo"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! execve("/opt/c/bin/echo", ["echo"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! command-search: 60 of 60
//! stage explained
//! set PATH=/usr/bin
//! ```
//!
//! Two directories that are gone, before each of 200 programs that xargs starts:
//!
//! ```trace
//! env PATH=/opt/old/bin:/opt/older/bin:/usr/bin:/bin
//! execve("/usr/bin/xargs", ["xargs"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 200
//! execve("/opt/old/bin/true", ["true"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! execve("/opt/older/bin/true", ["true"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! command-search: 400 of 400
//! stage explained
//! set PATH=/usr/bin:/bin
//! ```
//!
//! ## Not a finding
//!
//! The usual order, with a home directory first: it holds what it was put there for.
//!
//! ```trace
//! env PATH=/home/me/bin:/usr/local/bin:/usr/bin
//! execve("/usr/bin/xargs", ["xargs"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! execve("/usr/local/bin/echo", ["echo"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! end
//! repeat 9
//! execve("/home/me/bin/echo", ["echo"], 0x7ffd5e8b9d58 /* 20 vars */) = -1 ENOENT (No such file or directory)
//! end
//! newfstatat(AT_FDCWD, "/home/me/bin/tool", {st_mode=S_IFREG|0755, st_size=60, ...}, 0) = 0
//! ```
//! ```finding
//! nothing
//! ```
//!
//! One directory, asked a few times by a shell that remembers:
//!
//! ```trace
//! env PATH=/home/me/bin:/usr/bin
//! execve("/usr/bin/bash", ["bash"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/home/me/bin/ls", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/cat", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/grep", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/sed", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/awk", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/sort", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/uniq", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Directories after those of the system: they are searched only for programs that exist nowhere,
//! as by a configure script that tries one name after another.
//!
//! ```trace
//! env PATH=/usr/bin:/home/me/bin:/opt/rust/bin:/opt/go/bin
//! execve("/usr/bin/cmake", ["cmake"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/usr/bin/cc", {st_mode=S_IFREG|0755, st_size=60, ...}, 0) = 0
//! repeat 20
//! newfstatat(AT_FDCWD, "/usr/bin/gmake", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/bin/gmake", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/rust/bin/gmake", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/go/bin/gmake", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A compiler that looks for its own programs, in directories that it derives from its own:
//!
//! ```trace
//! execve("/usr/bin/gcc", ["gcc"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 40
//! newfstatat(AT_FDCWD, "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../x86_64-linux-gnu/bin/x86_64-linux-gnu/12/as", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../x86_64-linux-gnu/bin/x86_64-linux-gnu/as", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../x86_64-linux-gnu/bin/as", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/bin/as", 0x7ffc0c0a3ee0, 0) = 0
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Take the directories out of PATH where the program is started, or put them after those of the
//! system. A person must decide: the order of PATH decides which of two programs with the same name
//! runs, and programs in a directory that is taken out are no longer found. In a unit or a script,
//! absolute paths avoid the search.
//!
//! ## References
//!
//! * `man 3 execvp`
//! * <https://github.com/microsoft/WSL/issues/5696>: a prompt that took two seconds

use crate::engine::Threshold;
use crate::engine::helpers;
use crate::lists::{Infer, Search, SearchedList, Searcher};
use crate::{Rule, View};
use needless_model::{ProcId, Query};
use std::collections::{HashMap, HashSet};

pub(crate) const RULE: Rule = Rule {
    name: "command-search",
    summary: "PATH lists directories before the right one that hold none of the programs that are started",
    variables: &["PATH"],
    lists: &[LIST],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "PATH",
    usual,
    infer: Infer::By(dirs),
    threshold,
    things: "programs",
    why: "Each start of a program by its bare name tries the directories of the list in turn, up to \
          the right one.",
    manual: "Find where PATH lists these directories, and drop them or put them after those of the system",
    caveat: "The order decides which of two programs of one name runs, and what is dropped is no longer found: find out first what these directories are for.",
    by_hand: true,
    ..Search::BY_PROGRAM
};

/// If PATH is not known, fewer directories do not prove that there is a list.
const FEWEST_DIRS: usize = 3;
/// Most programs are found after one or two directories of the user's own. If PATH is known, these
/// are shown from this number of misses on.
const FEWEST_OF_FEW: u64 = 100;
/// Fewer misses than this in each directory come from a shell that remembers what it found.
const FEWEST_EACH: u64 = 10;

/// From when on the misses are worth a change of PATH; `None` if no empty directory is searched
/// before the right one. Fewer are counted among the small things.
fn threshold(found: &SearchedList<'_>) -> Option<Threshold> {
    let entries = |value| Searcher::Program.entries(value);
    let listed: Vec<&str> = found.value.into_iter().flat_map(entries).collect();
    let empty = |dir: &&str| found.empty.contains(dir);
    // Directories after the last one that holds something are searched only for what exists
    // nowhere: their place in the list changes nothing.
    let before = match listed.iter().rposition(|dir| !empty(dir)) {
        Some(last) => listed[..last].iter().filter(|dir| empty(dir)).count(),
        None => found.empty.len(),
    };
    let needless = found.merged.needless;
    let many = before >= FEWEST_DIRS || needless >= FEWEST_OF_FEW;
    let again = needless >= FEWEST_EACH * found.empty.len() as u64;
    (before > 0).then_some(if many && again { Threshold::Usual } else { Threshold::OnDemand })
}

fn usual(dir: &str) -> bool {
    let dir = dir.strip_prefix("/usr/local").or(dir.strip_prefix("/usr")).unwrap_or(dir);
    ["/bin", "/sbin", "/games"].contains(&dir) || dir == "/snap/bin"
}

/// Directories in which the process asked for the same name, failed, and went on to another.
fn dirs<'p>(view: &View<'p>, id: ProcId) -> HashSet<&'p str> {
    let mut tried: HashMap<&str, HashSet<&'p str>> = HashMap::new();
    let mut usual_too: HashSet<&str> = HashSet::new();
    for (_, row) in view.rows_of(id) {
        let path = view.profile.path(row);
        let Some((dir, name)) = path.rsplit_once('/') else { continue };
        if matches!(row.query, Query::Exec | Query::Stat | Query::Access) {
            if usual(dir) {
                usual_too.insert(name);
            } else if helpers::absent(row)
                && !name.contains('.')
                && !dir.is_empty()
                // Users do not write that into PATH: a compiler makes it from the location of its own files.
                && !dir.contains("/../")
            {
                tried.entry(name).or_default().insert(dir);
            }
        }
    }
    // A child that called exec is another process afterwards; its name shows what it ran.
    let ran = |name: &str| {
        usual_too.contains(name) || view.ids().any(|child| view.process(child).name() == name)
    };
    let chains = tried.into_iter().filter(|(name, dirs)| dirs.len() >= FEWEST_DIRS && ran(name));
    chains.flat_map(|(_, dirs)| dirs).collect()
}
