//! ## What it finds
//!
//! Programs that use the terminal (tput, editors, pagers) and look for its description in
//! directories of TERMINFO_DIRS that do not exist or do not hold it, at each start.
//!
//! ## Why it happens
//!
//! ncurses checks each directory of the list, and looks for the description in each that exists,
//! before it opens one. A script that calls `tput` for each colour pays each time.
//!
//! ## Example
//!
//! ```trace
//! env TERMINFO_DIRS=/opt/a:/opt/b:/opt/c:/lib/terminfo
//! execve("/usr/bin/tput", ["tput"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! newfstatat(AT_FDCWD, "/root/.terminfo", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! access("/lib/terminfo/x/xterm", R_OK) = 0
//! openat(AT_FDCWD, "/lib/terminfo/x/xterm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! terminal-search: 9 of 9
//! set TERMINFO_DIRS=/lib/terminfo
//! ```
//!
//! Directories that exist and do not hold the description cost two calls each:
//!
//! ```trace
//! env TERMINFO_DIRS=/opt/a/:/opt/b:/opt/c:
//! execve("/usr/bin/tput", ["tput"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/root/.terminfo", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/b", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/c", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/lib/terminfo", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! access("/opt/a/x/xterm", R_OK) = -1 ENOENT (No such file or directory)
//! access("/opt/b/x/xterm", R_OK) = -1 ENOENT (No such file or directory)
//! access("/opt/c/x/xterm", R_OK) = -1 ENOENT (No such file or directory)
//! access("/lib/terminfo/x/xterm", R_OK) = 0
//! openat(AT_FDCWD, "/lib/terminfo/x/xterm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! terminal-search: 6 of 6
//! unset TERMINFO_DIRS
//! ```
//!
//! One directory is enough if the variable names it:
//!
//! ```trace
//! env TERMINFO_DIRS=/opt/a:
//! repeat 6
//! execve("/usr/bin/tput", ["tput"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/root/.terminfo", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! access("/lib/terminfo/x/xterm", R_OK) = 0
//! openat(AT_FDCWD, "/lib/terminfo/x/xterm", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! terminal-search: 6 of 6
//! unset TERMINFO_DIRS
//! ```
//!
//! ## Not a finding
//!
//! The usual search, with one check of the home directory:
//!
//! ```trace
//! env -TERMINFO_DIRS
//! execve("/usr/bin/tput", ["tput"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 6
//! newfstatat(AT_FDCWD, "/root/.terminfo", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! access("/lib/terminfo/x/xterm", R_OK) = 0
//! openat(AT_FDCWD, "/lib/terminfo/x/xterm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset TERMINFO_DIRS, or leave only directories that hold descriptions. If the terminal of
//! another user has its description only there, install that description first.
//!
//! ## References
//!
//! * `man 5 terminfo`, `man 3 curs_terminfo`

use crate::engine::helpers::absent;
use crate::lists::{Infer, Search};
use crate::{Rule, View};
use needless_model::{ProcId, Query, Row};
use std::collections::HashSet;

pub(crate) const RULE: Rule = Rule {
    name: "terminal-search",
    summary: "Terminal descriptions are searched for in directories that do not hold them",
    variables: &["TERMINFO_DIRS"],
    lists: &[LIST],
    mentions: &["terminfo"],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "TERMINFO_DIRS",
    who: |view, id| view.rows_of(id).any(|(_, row)| reads(view, row)),
    usual: |dir| ["/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"].contains(&dir),
    infer: Infer::By(missing),
    things: "terminal descriptions",
    why: "ncurses searches the whole list at each start of a program.",
    manual: "Find where TERMINFO_DIRS lists these directories, and take them out",
    caveat: "A terminal whose description is only below one of these directories (perhaps on \
             another machine) is then not found.",
    ..Search::BY_PROGRAM
};

/// Whether a description is read.
fn reads(view: &View<'_>, row: &Row) -> bool {
    row.query == Query::Open && row.ok() && view.profile.path(row).contains("/terminfo/")
}

/// The directories that are missing between the home directory's descriptions and the one that is
/// read.
fn missing<'p>(view: &View<'p>, id: ProcId) -> HashSet<&'p str> {
    let home = |row: &Row| view.profile.path(row).ends_with("/.terminfo");
    let rows = view.rows_of(id).map(|(_, row)| row);
    let after = rows.skip_while(|row| !home(row)).take_while(|row| !reads(view, row));
    let asked = after.filter(|row| row.query == Query::Stat && absent(row) && !home(row));
    asked.map(|row| view.profile.path(row)).filter(|path| path.starts_with('/')).collect()
}
