//! ## What it finds
//!
//! Java programs whose class path lists archives that do not exist. They look for each of them at
//! the start.
//!
//! ## Why it happens
//!
//! Scripts that start Java build CLASSPATH from lists that are never cleaned up. Each entry that does
//! not exist costs four to ten calls, depending on the version of Java.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2
//! newfstatat(AT_FDCWD, "/opt/lib/old0.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/lib/old1.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/lib/old2.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/lib/old3.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/lib/old4.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! runtime java
//! ```
//! ```finding
//! class-path: 10 of 10
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A few optional archives:
//!
//! ```trace
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/lib/a.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/lib/b.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/lib/c.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/lib/jvm/lib/x.jar", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! runtime java
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Take the entries out of CLASSPATH, or out of the script that starts the program. Keep the
//! entries of an optional package: without them it would not be used once it is installed.
//!
//! ## References
//!
//! * `man 1 java`, class path

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Row, Runtime, Stage};
use std::collections::BTreeSet;

pub(crate) const RULE: Rule = Rule {
    name: "class-path",
    summary: "The class path of Java names archives that do not exist",
    mentions: &[".jar"],
    ..Rule::PLAIN
};

/// A few optional archives are usual.
const FEWEST_ARCHIVES: usize = 5;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let java = |id: ProcId| view.process(id).runtime == Runtime::Java;
    let archive = |path: &str| path.ends_with(".jar") && !path.contains("/jvm/");
    let class =
        |row: &Row, path: &str| RowClass::Needless.when(archive(path) && helpers::absent(row));
    // Java checks whether each directory above it is a link, and then again without the last name.
    let calls = |row: &Row, path: &str| match row.query {
        Query::Readlink => (2 * path.matches('/').count() as u64).saturating_sub(1),
        _ => 1,
    };
    let mut cases = helpers::cases(view, sink, java, class);
    cases.retain(|case| {
        let paths = case.rows.iter().map(|at| view.profile.path(&view.profile.rows[*at]));
        paths.collect::<BTreeSet<_>>().len() >= FEWEST_ARCHIVES
    });
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} calls look for archives of the class path that do not exist",
            number(merged.needless)
        );
        let why = format!(
            "The class path of {program} names them, and each start looks for all of them."
        );
        let remedies = vec![helpers::by_hand(
            "Take the missing archives out of CLASSPATH, or of the script that starts the program",
            "An archive that is installed later is then not used.",
        )];
        let besides = helpers::accompanying(view, &merged, calls);
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
