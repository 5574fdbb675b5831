//! ## What it finds
//!
//! Programs with messages in the old format of X/Open (`.cat`) that look for their catalogue under
//! every template of NLSPATH, and do not find it.
//!
//! ## Why it happens
//!
//! `catopen()` tries each template of NLSPATH with the parts of the locale's name filled in. Few
//! programs have such catalogues today; the variable is left over from installations of old Unix
//! software.
//!
//! ## Example
//!
//! ```trace
//! env NLSPATH=/opt/a/%L/%N.cat:/opt/b/%L/%N.cat LANG=en_US.UTF-8
//! execve("/usr/bin/oldapp", ["oldapp"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 5
//! openat(AT_FDCWD, "/opt/a/en_US.UTF-8/oldapp.cat", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/en_US.UTF-8/oldapp.cat", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! message-path: 10 of 10
//! unset NLSPATH
//! ```
//!
//! The program has a catalogue, in the directory in which the C library looks by itself:
//!
//! ```trace
//! env NLSPATH=/opt/a/%L/%N.cat:/opt/b/%L/%N.cat LANG=C.utf8
//! execve("/usr/bin/tcsh", ["tcsh"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! openat(AT_FDCWD, "/opt/a/C.utf8/tcsh.cat", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/C.utf8/tcsh.cat", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/C/LC_MESSAGES/tcsh.cat", O_RDONLY) = 3
//! end
//! ```
//! ```finding
//! message-path: 6 of 6
//! unset NLSPATH
//! ```
//!
//! A template may name files of any ending:
//!
//! ```trace
//! env NLSPATH=/opt/a/%L/%N:/opt/b/%l_%t/%N.cat LANG=en_US.UTF-8
//! execve("/usr/bin/oldapp", ["oldapp"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! openat(AT_FDCWD, "/opt/a/en_US.UTF-8/oldapp", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/en_US/oldapp.cat", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/en_US/other", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! message-path: 6 of 6
//! unset NLSPATH
//! ```
//!
//! ## Not a finding
//!
//! A catalogue that is found:
//!
//! ```trace
//! env NLSPATH=/opt/a/%L/%N.cat:/opt/b/%L/%N.cat LANG=en_US.UTF-8
//! execve("/usr/bin/oldapp", ["oldapp"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 9
//! openat(AT_FDCWD, "/opt/a/en_US.UTF-8/oldapp.cat", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/en_US.UTF-8/oldapp.cat", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset NLSPATH. Do not do this if a program that was not observed has catalogues there: its
//! messages would be in English.
//!
//! ## References
//!
//! * `man 3 catopen`

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, ProcId, Remedy, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "message-path",
    summary: "NLSPATH makes programs look for message catalogues that do not exist",
    variables: &["NLSPATH"],
    ..Rule::PLAIN
};

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    if view.may_mention(".cat") && view.ids().any(|id| view.env_unknown(id)) {
        sink.lack(RULE.name, Fact::Environment);
    }
    // libc has templates of its own, after those of the variable.
    let listed = |id: ProcId, path: &str| {
        let process = view.process(id);
        let value = process.env.value("NLSPATH").filter(|_| helpers::heeds_variables(process));
        let mut templates = value.unwrap_or("").split(':').filter(|text| text.starts_with('/'));
        templates.any(|template| fits(template, path))
    };
    let finds_none = |id: ProcId| {
        let mut rows = view.rows_of(id).filter(|(_, row)| listed(id, view.profile.path(row)));
        rows.all(|(_, row)| helpers::absent(row))
    };
    let class = |row: &Row, path: &str| RowClass::Needless.when(listed(row.process, path));
    let cases = helpers::cases(view, sink, finds_none, class);
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} failed opens of message catalogues below NLSPATH", number(merged.needless));
        let why = format!("NLSPATH is set, and {program} has no catalogue in any of its places.");
        let remedies = vec![remedy()];
        sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}

/// Whether the template stands for this path: each of its placeholders for a part of a name.
fn fits(template: &str, path: &str) -> bool {
    let Some((start, rest)) = template.split_once('%') else { return template == path };
    let (Some(path), Some(placeholder)) = (path.strip_prefix(start), rest.chars().next()) else {
        return false;
    };
    let rest = &rest[placeholder.len_utf8()..];
    let part = path.find('/').unwrap_or(path.len());
    (0..=part).filter(|at| path.is_char_boundary(*at)).any(|at| fits(rest, &path[at..]))
}

/// Unsets the variable.
pub(crate) fn remedy() -> Remedy {
    helpers::unset(
        "NLSPATH",
        "A program with catalogues there, which was not observed, then writes its messages in English.",
    )
}
