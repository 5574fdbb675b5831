//! Programs that start children which must not be traced, or that have seccomp for themselves.

use super::common::*;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

/// How `argv` ended, and what it wrote.
fn ran(argv: &[&OsStr], folder: &Path) -> (ExitStatus, String) {
    let output = command(argv[0], folder).args(&argv[1..]).stdout(Stdio::piped()).output().unwrap();
    (output.status, String::from_utf8(output.stdout).unwrap())
}

/// The same without ptrace-run and, with these options, with it.
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
fn count(table: &CallCounts, outcome: &str, path: &str) -> u64 {
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

/// Its filter decides before ours (seccomp(2): a refusal goes before a tracer), so that what it refuses does not stop
/// there.
#[test]
fn what_a_filter_of_the_commands_own_refuses_is_counted_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for (name, how, counts) in [
        ("own_filter", "errno", [60, 60]),
        ("own_filter-i386", "errno", [60, 60]),
        ("own_filter-static", "errno", [60, 60]),
        ("own_filter", "notify", [60, 60]),
        ("own_filter", "tsync", [60, 60]),
        // The handler of the signal makes it fail; to the kernel the call has no error.
        ("own_filter", "trap", [0, 30]),
    ] {
        let Some(program) = testee(name) else { continue };
        for options in [&[][..], &["--all"]] {
            let [without, with] = twice(options, &program, how);
            assert_eq!(without, with, "{name} {how} {options:?}");
            let argv = [program.as_os_str(), how.as_ref()];
            let (table, comments) = ours(options, &argv, folder.path());
            let found = ["EACCES", "ENOENT"].map(|o| count(&table, o, "/missing/own_filter"));
            assert_eq!(found, counts, "{name} {how} {options:?}");
            let noted = |text: &str| comments.iter().any(|c| c.contains(text));
            assert_eq!(noted("has installed a seccomp filter, which"), options.is_empty());
            let in_threads = how == "tsync" && options.is_empty();
            assert_eq!(noted("filter in threads that ran"), in_threads, "{comments:?}");
        }
    }
}

#[test]
fn a_filter_that_was_there_before_is_noted() {
    let Some(program) = testee("own_filter") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (options, noted) in [(&[][..], true), (&["--all"], false)] {
        let report = folder.path().join("report");
        let mut words = vec![OsStr::new("under"), OsStr::new(RUN)];
        words.extend(options.iter().map(OsStr::new));
        words.extend([OsStr::new("-o"), report.as_os_str(), program.as_os_str()]);
        words.push(OsStr::new("ask"));
        let status = command(&program, folder.path()).args(words).status().unwrap();
        assert!(status.success(), "{status:?}");
        let text = std::fs::read_to_string(&report).unwrap();
        let row = |outcome| format!("30\tfaccessat\t{outcome}\t/missing/own_filter");
        assert!(text.contains(&row("ENOENT")), "{text}");
        assert_eq!(text.contains(&row("EACCES")), !noted, "{text}");
        assert_eq!(text.contains("was started under a seccomp filter"), noted, "{text}");
    }
}

/// As in a container whose profile allows no filters: every call stops instead.
#[test]
fn issue_42_where_no_filter_may_be_installed_every_call_is_counted() {
    let Some(program) = testee("own_filter") else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let mut words = vec![OsStr::new("no-filter"), OsStr::new(RUN), OsStr::new("-o")];
    words.extend([report.as_os_str(), program.as_os_str(), OsStr::new("exact-allow")]);
    let status = command(&program, folder.path()).args(words).status().unwrap();
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    assert!(text.contains("as with --all"), "{status:?}: {text}");
    assert!(text.contains("\tbrk\tok\t"), "{text}");
}

#[test]
fn a_program_that_does_not_get_its_strict_mode_is_named() {
    let Some(program) = testee("own_filter") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_, comments) = ours(&[], &[program.as_os_str(), "strict".as_ref()], folder.path());
    assert!(comments.iter().any(|c| c == "lost strict_mode_refused 2"), "{comments:?}");
    assert!(comments.iter().any(|c| c.contains("own_filter asked for seccomp's strict mode")));
    // Without our filter, it gets strict mode.
    let [without, with] = twice(&["--all"], &program, "strict");
    assert_eq!(without, with);
}

/// A filter of the command's own sees the flags as we changed them: the kernel asks all filters again
/// after the stop.
#[test]
fn a_clone_that_another_filter_refuses_without_the_flag_is_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own_filter", "own_filter-i386"] {
        let Some(program) = testee(name) else { continue };
        for how in ["exact-errno", "exact-kill"] {
            let [without, with] = twice(&[], &program, how);
            assert_eq!(without.1, "clone: 7 errno 0\n", "{name} {how}");
            assert_ne!(without, with, "{name} {how}: no longer true, so neither is the note");
            let argv = [program.as_os_str(), how.as_ref()];
            let (_, comments) = ours(&[], &argv, folder.path());
            assert!(comments.iter().any(|c| c == "lost clone_refused 1"), "{name} {comments:?}");
            let named = |c: &String| c.contains(" own_filter") && c.contains("CLONE_UNTRACED");
            assert!(comments.iter().any(named), "{name} {comments:?}");
        }
        // One that does not look at the flag makes no difference.
        let [without, with] = twice(&[], &program, "exact-allow");
        assert_eq!(without, with);
        let (table, comments) =
            ours(&[], &[program.as_os_str(), "exact-allow".as_ref()], folder.path());
        assert_eq!(count(&table, "ENOENT", "/missing/own_filter"), 1, "{name}");
        assert!(!comments.iter().any(|c| c.starts_with("lost")), "{comments:?}");
    }
}

/// With every call stopped, filters look only after us, and a child lives without a tracer: the flag
/// stays.
#[test]
fn without_a_filter_of_ours_another_filter_sees_the_flags_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own_filter", "own_filter-i386"] {
        let Some(program) = testee(name) else { continue };
        for how in ["exact-errno", "exact-kill", "exact-allow"] {
            let [without, with] = twice(&["--all"], &program, how);
            assert_eq!(without, with, "{name} {how}");
            let argv = [program.as_os_str(), how.as_ref()];
            let (_, comments) = ours(&["--all"], &argv, folder.path());
            assert!(comments.iter().any(|c| c == "lost processes_unseen 1"), "{comments:?}");
            assert!(comments.iter().any(|c| c.contains("CLONE_UNTRACED")), "{comments:?}");
        }
    }
}
