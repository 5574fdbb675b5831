//! ## What it finds
//!
//! A type of terminal in TERM for which no directory on the machine has a description, for example
//! after `ssh` from a terminal with a type of its own (kitty, foot, alacritty).
//!
//! ## Why it happens
//!
//! ncurses looks for the description in each directory, finds none, and the program goes on without
//! colours and cursor movement. A script that calls `tput` searches each time.
//!
//! ## Example
//!
//! ```trace
//! env TERM=xterm-kitty
//! execve("/usr/bin/tput", ["tput"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! newfstatat(AT_FDCWD, "/root/.terminfo", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! access("/etc/terminfo/x/xterm-kitty", R_OK) = -1 ENOENT (No such file or directory)
//! access("/lib/terminfo/x/xterm-kitty", R_OK) = -1 ENOENT (No such file or directory)
//! access("/usr/share/terminfo/x/xterm-kitty", R_OK) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! terminal-unknown: 12 of 12
//! set TERM=xterm-256color
//! ```
//!
//! ## Not a finding
//!
//! Found in the second directory:
//!
//! ```trace
//! env TERM=xterm-256color
//! execve("/usr/bin/tput", ["tput"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 9
//! newfstatat(AT_FDCWD, "/root/.terminfo", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! access("/etc/terminfo/x/xterm-256color", R_OK) = -1 ENOENT (No such file or directory)
//! access("/lib/terminfo/x/xterm-256color", R_OK) = 0
//! openat(AT_FDCWD, "/lib/terminfo/x/xterm-256color", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! The number of calls does not fall: a description that is found is read, which takes as many
//! calls. The gain is a terminal that works. Install the description (the package of the terminal,
//! or of ncurses: `ncurses-term`; or copy it with `infocmp -x | ssh HOST tic -x -`), or set TERM to a
//! type that is known and near enough. Do not use a type that differs too much: programs would
//! garble the screen.
//!
//! ## References
//!
//! * `man 5 terminfo`, `man 1 infocmp`, `man 1 tic`

use crate::engine::Case;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Remedy, Safety, Stage};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RULE: Rule = Rule {
    name: "terminal-unknown",
    summary: "TERM names a terminal without a description, which is searched for at each start",
    variables: &["TERM"],
    mentions: &["terminfo"],
    ..Rule::PLAIN
};

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    for id in view.ids() {
        let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
        let mut names = BTreeSet::new();
        let mut found = false;
        for (at, row) in view.rows_of(id) {
            let path = view.profile.path(row);
            let description = path.contains("/terminfo/") || path.contains("/.terminfo/");
            if !helpers::absent(row) {
                found |= description;
            } else if (description || path.ends_with("/.terminfo")) && !sink.taken(at) {
                names.extend(description.then(|| helpers::file_name(path)));
                case.needless += row.count;
                case.rows.push(at);
            }
        }
        case.of = case.needless;
        // Programs that know several terminals try other names as well.
        if let (false, Some(name), true) = (found, names.pop_first(), names.is_empty()) {
            groups.entry(name).or_default().push(case);
        }
    }
    for (name, cases) in groups {
        let merged = helpers::merged(view, cases);
        let first = view.process(merged.processes[0]);
        let what = format!(
            "{} calls look for the terminal {name}, which has no description",
            number(merged.needless)
        );
        let why = format!(
            "TERM={name}, and no directory of terminal descriptions has that name. Each start of {} \
             searches them all.",
            first.name()
        );
        let install = helpers::by_hand(
            "Install the description of the terminal: its own package, or ncurses-term",
            "Changes the system; the terminal then works fully. The number of calls does not fall: \
             the description is read instead of searched for.",
        );
        let remedies =
            if name.starts_with("xterm") { vec![remedy(), install] } else { vec![install] };
        let stage =
            if first.env.value("TERM") == Some(name) { Stage::Explained } else { Stage::Seen };
        // The description that is read instead takes as many calls at least.
        let besides = -(merged.needless as i64);
        let finding = helpers::finding(merged, RULE.name, stage, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// The remedy for a relative of xterm.
pub(crate) fn remedy() -> Remedy {
    let caveat = "The number of calls does not fall: the description is read instead of searched \
                  for. Programs then use what xterm can do: right for most terminals of today, wrong \
                  for one that is not related to it.";
    helpers::set("TERM", "xterm-256color", Safety::Caveat(caveat.to_owned()))
}
