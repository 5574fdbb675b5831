//! Programs that start children which must not be traced, or that have seccomp for themselves.

mod common;

use common::*;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

/// How `argv` ended, and what it wrote.
fn ran(argv: &[&OsStr], folder: &Path) -> (ExitStatus, String) {
    let output = command(argv[0], folder).args(&argv[1..]).stdout(Stdio::piped()).output().unwrap();
    (output.status, String::from_utf8(output.stdout).unwrap())
}

/// The same without us and, with these options, under us.
fn twice(options: &[&str], program: &Path, how: &str) -> [(ExitStatus, String); 2] {
    let folder = tempfile::tempdir().unwrap();
    let argv = [program.as_os_str(), OsStr::new(how)];
    let mut with_us = vec![OsStr::new(RUN)];
    with_us.extend(options.iter().map(OsStr::new));
    with_us.extend(["-o", "report"].map(OsStr::new));
    with_us.extend(argv);
    [ran(&argv, folder.path()), ran(&with_us, folder.path())]
}

/// How often `path` was asked for with this outcome.
fn count(table: &Table, outcome: &str, path: &str) -> u64 {
    let rows = table.iter().filter(|((_, o, p), _)| o == outcome && p == path);
    rows.map(|(_, count)| count).sum()
}

#[test]
fn a_child_that_must_not_be_traced_lives_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["untraced", "untraced-i386"] {
        let Some(program) = testee(name) else { continue };
        for how in ["clone", "clone3", "vfork", "const"] {
            for options in [&[][..], &["--all"]] {
                let [without, with] = twice(options, &program, how);
                assert!(without.1.contains("child: missing 2 root 0 kept 1 same 1"), "{without:?}");
                assert_eq!(without, with, "{name} {how} {options:?}");
                let (table, comments) =
                    ours(options, &[program.as_os_str(), how.as_ref()], folder.path());
                assert_eq!(count(&table, "ENOENT", "/missing/untraced"), 1, "{name} {how}");
                assert!(!comments.iter().any(|c| c.starts_with("lost")), "{comments:?}");
            }
        }
    }
}

/// The flags lie where no tracer can write: other processes map the same file, and none of them may
/// write there.
#[test]
fn a_child_that_cannot_be_made_to_be_traced_is_counted_as_lost() {
    let Some(program) = testee("untraced") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_, comments) = ours(&[], &[program.as_os_str(), "shared".as_ref()], folder.path());
    assert!(comments.iter().any(|c| c == "lost processes_unseen 1"), "{comments:?}");
    assert!(comments.iter().any(|c| c.contains("CLONE_UNTRACED")), "{comments:?}");
    let [without, with] = twice(&["--all"], &program, "shared");
    assert_eq!(without, with);
}

#[test]
fn what_a_filter_of_the_commands_own_wants_a_tracer_for_fails_as_without_us() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own_filter", "own_filter-i386"] {
        let Some(program) = testee(name) else { continue };
        for options in [&[][..], &["--all"]] {
            let [without, with] = twice(options, &program, "trace");
            assert!(without.1.contains("faccessat F_OK: -1 errno 38"), "{without:?}");
            assert_eq!(without, with, "{name} {options:?}");
            let argv = [program.as_os_str(), "trace".as_ref()];
            let (table, _) = ours(options, &argv, folder.path());
            for outcome in ["ENOSYS", "ENOENT"] {
                assert_eq!(count(&table, outcome, "/missing/own_filter"), 30, "{name} {options:?}");
            }
        }
    }
}

#[test]
fn a_program_that_does_not_get_its_strict_mode_is_named() {
    let Some(program) = testee("own_filter") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_, comments) = ours(&[], &[program.as_os_str(), "strict".as_ref()], folder.path());
    assert!(comments.iter().any(|c| c == "lost strict_mode_refused 2"), "{comments:?}");
    assert!(comments.iter().any(|c| c.contains("own_filter asked for seccomp's strict mode")));
    // Without a filter of ours it gets it.
    let [without, with] = twice(&["--all"], &program, "strict");
    assert_eq!(without, with);
}
