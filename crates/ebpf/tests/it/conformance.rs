//! Counts are the counts of strace: of every call with `all`, else of every call, path and outcome.

use crate::common::*;
use needless_ebpf::SessionOptions;
use needless_fixtures::Expected;
use needless_fixtures::backend::conformance::{self, Conforms, Testee};
use needless_model::{Fact, Query};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command};

struct Ebpf;

fn program_of(argv: &[OsString], folder: &Path) -> Command {
    let mut command = command(&argv[0], folder);
    command.args(&argv[1..]);
    command
}

impl Conforms for Ebpf {
    // A thread that waits in one when its process ends returns from it, or does not.
    const BY_CHANCE: &[&str] = &["ioctl"];
    const ABSOLUTE: bool = true;

    fn possible() -> bool {
        possible()
    }

    fn spawn(command: &mut Command) -> Child {
        spawn(command)
    }

    fn all_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        let all = SessionOptions { all: true, ..options() };
        let profile = profile(&all, &mut program_of(argv, folder));
        assert!(profile.facts.has(Fact::AllCalls));
        let table = table(&profile);
        assert_eq!(table.values().sum::<u64>(), profile.totals.calls);
        table
    }

    fn path_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        let mut profile = observed(&options(), &mut program_of(argv, folder)).profile;
        assert!(!profile.facts.has(Fact::AllCalls));
        // Strace was asked for calls with a path; rules ask about some without.
        profile.rows.retain(|row| row.query.names_path());
        let table = table(&profile);
        assert_eq!(table.values().sum::<u64>(), profile.totals.path_calls);
        table
    }

    fn asked(all: bool, argv: &[OsString], folder: &Path) -> Vec<Expected> {
        let options = SessionOptions { all, ..options() };
        let profile = profile(&options, &mut program_of(argv, folder));
        let rows = profile.rows.iter().map(|row| Expected {
            question: row.query.verb().to_owned(),
            path: profile.path(row).to_owned(),
            outcome: outcome(row).to_owned(),
            count: row.count,
        });
        rows.collect()
    }
}

/// What only this backend compares.
const MORE: [Testee; 1] = [(false, "many_paths", &["3000", "2"])];

#[test]
fn testees_make_as_many_calls_as_strace_counts() {
    let more = [&MORE[..], &[(true, "restarts", &[]), (true, "restarts-i386", &[])]].concat();
    conformance::testees_make_as_many_calls_as_strace_counts::<Ebpf>(&more);
}

#[test]
fn testees_ask_for_the_paths_that_strace_sees() {
    let every: &[Testee] = &[(false, "every_path_call", &[]), (false, "every_path_call-i386", &[])];
    conformance::testees_ask_for_the_paths_that_strace_sees::<Ebpf>(&[&MORE[..], every].concat());
}

#[test]
fn real_programs_make_as_many_calls_as_strace_counts() {
    conformance::real_programs_make_as_many_calls_as_strace_counts::<Ebpf>();
}

#[test]
fn real_programs_ask_for_the_paths_that_strace_sees() {
    conformance::real_programs_ask_for_the_paths_that_strace_sees::<Ebpf>();
}

#[test]
fn testees_get_the_counts_they_expect_of_themselves() {
    let large: &[Testee] = &[
        (true, "stat_threads", &["4", "50000"]),
        (true, "fork_storm", &["2000"]),
        (true, "vfork_exec", &["200"]),
    ];
    let more = [&MORE[..], large].concat();
    conformance::testees_get_the_counts_they_expect_of_themselves::<Ebpf>(&more);
}

#[test]
fn a_fork_storm_is_counted_to_the_last_call() {
    if !possible() {
        return;
    }
    let Some(testee) = testee("fork_storm") else { return };
    let folder = tempfile::tempdir().unwrap();
    let all = SessionOptions { all: true, ..options() };
    let profile = profile(&all, command(testee, folder.path()).arg("2000"));
    assert_eq!(profile.processes.len(), 2001);
    let count = |name: &str| {
        let rows = profile.rows.iter().filter(|row| profile.call(row) == name && row.ok());
        rows.map(|row| row.count).sum::<u64>()
    };
    // A call that makes a process is one call, though it returns twice. A child's end interrupts
    // some: the kernel starts those again.
    assert_eq!((count("clone"), count("exit_group")), (2000, 0));
}

/// Two paths of one hash, whatever its seed, while each word of a path was multiplied by a constant: they differ in the
/// highest bit of both words and in the bit where the first of these came to lie.
#[test]
fn paths_made_to_have_one_hash_are_two_paths() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        ask() { i=0; while [ $i -lt $2 ]; do [ -e "$1" ]; i=$((i+1)); done; }
        ask /aaaaaaaaaaaaaaa 300
        ask "$(printf '/aaaaaa\341aaaaeaa\341')" 500
    "#;
    let profile = profile(&options(), command("sh", folder.path()).args(["-c", script]));
    let asked = |path| sum(&profile, Query::Stat, path).0;
    assert_eq!(asked("/aaaaaaaaaaaaaaa"), 300);
    assert_eq!(asked("/aaaaaa\u{fffd}aaaaeaa\u{fffd}"), 500);
}
