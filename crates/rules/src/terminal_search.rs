//! ## What it finds
//!
//! Programs that use the terminal (tput, editors, pagers) and look for its description in
//! directories of TERMINFO_DIRS that do not exist, at each start.
//!
//! ## Why it happens
//!
//! ncurses asks for each directory of the list, and for `~/.terminfo`, before it opens the
//! description. A script that calls `tput` for each colour pays each time.
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
//! terminal-search: 12 of 14
//! set TERMINFO_DIRS=/lib/terminfo
//! ```
//!
//! ## Not a finding
//!
//! The usual search, with one look into the home directory:
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
//! Unset TERMINFO_DIRS, or leave only directories that exist. A terminal whose description is only
//! in one of them is then not found: where the variable was set for such a terminal, install the
//! description.
//!
//! ## References
//!
//! * `man 5 terminfo`
//! * `man 3 curs_terminfo`

use crate::search;
use crate::select::Case;
use crate::tally;
use crate::text::{count, number};
use crate::{Claims, Rule, View};
use needless_model::{Ask, Env, Fact, Safety, Stage};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RULE: Rule = Rule {
    name: "terminal-search",
    summary: "Terminal descriptions are searched for in directories that do not hold them",
    needs: &[Fact::Paths, Fact::Outcomes],
    variables: &["TERMINFO_DIRS"],
    correctness: false,
    pedantic: false,
    page: include_str!("terminal_search.rs"),
    check,
};

/// One or two directories are part of any search.
const FEWEST_DIRS: usize = 3;

fn check(view: &View<'_>, claims: &mut Claims) {
    if !view.may_mention("terminfo") {
        return;
    }
    let described = |path: &str| path.contains("/terminfo/");
    let mut groups: BTreeMap<Option<&str>, (Vec<Case>, BTreeSet<&str>)> = BTreeMap::new();
    for id in view.ids() {
        let value = view.process(id).env.value("TERMINFO_DIRS").filter(|value| !value.is_empty());
        if value.is_none() && view.process(id).env != Env::Unknown {
            continue;
        }
        // What is asked between the home directory's descriptions and the one that is read.
        let mut searching = false;
        let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
        let mut dirs = BTreeSet::new();
        for (at, row) in view.rows_of(id) {
            let path = view.profile.path(row);
            searching |= path.ends_with("/.terminfo");
            searching &= !(described(path) && row.ask == Ask::Open && row.ok());
            let home = path.ends_with("/.terminfo");
            let listed = match value {
                Some(value) => search::entries(value).any(|dir| dir == path),
                None => searching && row.ask == Ask::Stat,
            };
            if (listed || home) && tally::absent(row) && !claims.taken(at) {
                case.needless += row.count;
                case.rows.push(at);
                dirs.extend((!home).then_some(path));
            }
            if listed || home || described(path) {
                case.of += row.count;
            }
        }
        let reads =
            || view.rows_of(id).any(|(_, row)| described(view.profile.path(row)) && row.ok());
        if dirs.len() >= FEWEST_DIRS && reads() {
            let (cases, missing) = groups.entry(value).or_default();
            cases.push(case);
            missing.extend(dirs);
        }
    }
    for (value, (cases, missing)) in groups {
        let merged = tally::merged(view, cases);
        let program = view.process(merged.processes[0]).name();
        let dirs = count(missing.len() as u64, "directory", "directories");
        let what = format!(
            "{} calls look for terminal descriptions in {dirs} that do not exist",
            number(merged.needless)
        );
        let why = format!("TERMINFO_DIRS lists them, and each start of {program} asks for each.");
        let caveat = "A terminal whose description is only below one of these directories, on another \
                      machine perhaps, is not found without it.";
        let kept: Vec<&str> =
            value.unwrap_or("").split(':').filter(|dir| !missing.contains(dir)).collect();
        let remedy = match (value, kept.join(":")) {
            (None, _) => tally::by_hand(
                "Find the TERMINFO_DIRS with these directories, and take them out",
                caveat,
            ),
            (_, kept) if kept.is_empty() => tally::unset("TERMINFO_DIRS", caveat),
            (_, kept) => tally::set("TERMINFO_DIRS", &kept, Safety::Caveat(caveat.to_owned())),
        };
        let stage = if value.is_some() { Stage::Explained } else { Stage::Seen };
        claims.find(tally::finding(merged, RULE.name, stage, what, why, vec![remedy]));
    }
}
