//! Counts are the counts of strace: of every call with `all`, else of every call, path and outcome.

use crate::common::*;
use needless_ebpf::SessionOptions;
use needless_fixtures::Expected;
use needless_fixtures::backend::conformance::Conforms;
use needless_model::{Fact, Loss, Profile, Query};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command};

struct Ebpf;

/// Nothing may be lost but paths of the testee that has some which cannot be read.
fn observed_of(options: &SessionOptions, argv: &[OsString], folder: &Path) -> Profile {
    let mut command = command(&argv[0], folder);
    let mut profile = observed(options, command.args(&argv[1..])).profile;
    if argv[0].to_string_lossy().contains("every_path_call") {
        assert_eq!(profile.lost.remove(&Loss::NoPath), Some(1));
    }
    assert!(profile.lost.is_empty(), "{argv:?}: {:?}", profile.lost);
    profile
}

impl Conforms for Ebpf {
    // A thread that waits in one when its process ends returns from it, or does not.
    const BY_CHANCE: &[&str] = &["ioctl"];

    fn possible() -> bool {
        possible()
    }

    fn spawn(command: &mut Command) -> Child {
        spawn(command)
    }

    fn all_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        let all = SessionOptions { all: true, ..options() };
        let profile = observed_of(&all, argv, folder);
        assert!(profile.facts.has(Fact::AllCalls));
        let table = table(&profile);
        assert_eq!(table.values().sum::<u64>(), profile.totals.calls);
        table
    }

    fn path_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        let mut profile = observed_of(&options(), argv, folder);
        assert!(!profile.facts.has(Fact::AllCalls));
        // Strace was asked for calls with a path; rules ask about some without.
        profile.rows.retain(|row| row.query.names_path());
        let table = table(&profile);
        assert_eq!(table.values().sum::<u64>(), profile.totals.path_calls);
        table
    }

    fn asked(all: bool, argv: &[OsString], folder: &Path) -> Vec<Expected> {
        let options = SessionOptions { all, ..options() };
        let profile = observed_of(&options, argv, folder);
        let rows = profile.rows.iter().map(|row| Expected {
            question: row.query.verb().to_owned(),
            path: profile.path(row).to_owned(),
            outcome: outcome(row).to_owned(),
            count: row.count,
        });
        rows.collect()
    }
}

needless_fixtures::every_backend_conforms!(Ebpf);

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
