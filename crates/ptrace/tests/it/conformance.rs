//! Counts are the counts of strace: of every call with `--all`, else of every call, path and outcome.

use super::common::*;
use needless_fixtures::Expected;
use needless_fixtures::backend::conformance::{self, Conforms, Testee};
use needless_model::Query;
use std::ffi::{OsStr, OsString};
use std::path::Path;

struct Ptrace;

impl Conforms for Ptrace {
    const BY_CHANCE: &[&str] = &["rt_sigreturn"];
    const ABSOLUTE: bool = true;

    fn all_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        ours(&["--all"], argv, folder).0
    }

    fn path_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        let (mut table, _) = ours(&[], argv, folder);
        // Calls whose path cannot be read have none; the log has the address.
        let every = argv[0].to_string_lossy().contains("every");
        table.retain(|(_, outcome, path), _| !path.is_empty() || every && outcome != "EFAULT");
        table
    }

    fn asked(all: bool, argv: &[OsString], folder: &Path) -> Vec<Expected> {
        let (table, _) = ours(if all { &["--all"] } else { &[] }, argv, folder);
        let rows = table.into_iter().map(|((call, outcome, path), count)| {
            let question = Query::of(&call).verb().to_owned();
            Expected { question, path, outcome, count }
        });
        rows.collect()
    }
}

/// What only this backend compares.
const MORE: [Testee; 3] = [
    (false, "every_path_call", &[]),
    (false, "every_path_call-i386", &[]),
    // What is refused before the kernel looked at the path may be on a page that is not there yet, where only
    // ptrace can read it.
    (false, "own_filter", &["kill"]),
];

#[test]
fn testees_make_as_many_calls_as_strace_counts() {
    let more = [&MORE[..], &[(true, "restarts", &[])]].concat();
    conformance::testees_make_as_many_calls_as_strace_counts::<Ptrace>(&more);
}

#[test]
fn testees_ask_for_the_paths_that_strace_sees() {
    conformance::testees_ask_for_the_paths_that_strace_sees::<Ptrace>(&MORE);
}

#[test]
fn real_programs_make_as_many_calls_as_strace_counts() {
    conformance::real_programs_make_as_many_calls_as_strace_counts::<Ptrace>();
}

#[test]
fn real_programs_ask_for_the_paths_that_strace_sees() {
    conformance::real_programs_ask_for_the_paths_that_strace_sees::<Ptrace>();
}

#[test]
fn testees_get_the_counts_they_expect_of_themselves() {
    conformance::testees_get_the_counts_they_expect_of_themselves::<Ptrace>(&MORE);
}

#[test]
fn a_fork_storm_is_counted_to_the_last_child() {
    let Some(testee) = testee("fork_storm") else { return };
    let folder = tempfile::tempdir().unwrap();
    let argv = [testee.as_os_str(), OsStr::new("2000")];
    for options in [&["--all"][..], &[]] {
        let (table, comments) = ours(options, &argv, folder.path());
        let key = ("access".into(), "ENOENT".into(), "/missing/fork_storm".into());
        assert_eq!(table[&key], 2000);
        assert!(comments.contains(&"processes 2001".to_owned()), "{options:?}");
        assert!(!comments.iter().any(|c| c.starts_with("lost")), "{comments:?}");
        if !options.is_empty() {
            // A child's end interrupts some: the kernel starts those again, and strace counts both.
            assert_eq!(table[&("clone".into(), "ok".into(), String::new())], 2000);
            assert_eq!(by_call(&table).get("exit_group"), None);
        }
    }
}
