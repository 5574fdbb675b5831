//! Counts are strace's counts: of every call with `--all`, of every call, path and outcome
//! without.

mod common;

use common::*;
use needless_fixtures::referee::TESTEES;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What a program with several threads or processes does more or less often by chance.
const BY_CHANCE: [&str; 13] = [
    "clone",
    "futex",
    "madvise",
    "mprotect",
    "munmap",
    "mmap",
    "brk",
    "rt_sigreturn",
    "wait4",
    "restart_syscall",
    "sched_yield",
    "rt_sigprocmask",
    "read",
];

struct Case {
    argv: Vec<OsString>,
    /// Whether the scheduler has a say in what it does.
    chance: bool,
}

fn case(chance: bool, program: impl AsRef<OsStr>, arguments: &[&str]) -> Case {
    let program = program.as_ref().to_owned();
    let argv = [program].into_iter().chain(arguments.iter().map(OsString::from)).collect();
    Case { argv, chance }
}

/// Equal totals; a program that chance has a say in gets several tries, without what varies under
/// strace too.
fn same_totals(case: &Case, folder: &Path) {
    let argv: Vec<&OsStr> = case.argv.iter().map(OsString::as_os_str).collect();
    let mut last = Vec::new();
    for _ in 0..if case.chance { 8 } else { 1 } {
        let mut strace = strace_totals(&argv, folder);
        let mut ours = by_call(&ours(&["--all"], &argv, folder).0);
        assert!(ours.values().sum::<u64>() > 5, "{argv:?}: {ours:?}");
        if case.chance {
            strace.retain(|call, _| !BY_CHANCE.contains(&call.as_str()));
            ours.retain(|call, _| !BY_CHANCE.contains(&call.as_str()));
        }
        last = difference(&strace, &ours);
        if last.is_empty() {
            return;
        }
    }
    panic!("{argv:?}: {last:#?}");
}

fn same_paths(case: &Case, folder: &Path) {
    let argv: Vec<&OsStr> = case.argv.iter().map(OsString::as_os_str).collect();
    let mut last = Vec::new();
    for _ in 0..if case.chance { 8 } else { 1 } {
        let strace = strace_paths(&argv, folder);
        let (mut ours, _) = ours(&[], &argv, folder);
        // Calls whose path cannot be read have none; the log has the address.
        ours.retain(|(_, _, path), _| {
            !path.is_empty() || argv[0].to_string_lossy().contains("every")
        });
        ours.retain(|(_, outcome, path), _| !(path.is_empty() && outcome == "EFAULT"));
        assert!(!ours.is_empty(), "{argv:?}: {ours:?}");
        last = difference(&strace, &ours);
        if last.is_empty() {
            return;
        }
    }
    panic!("{argv:?}: {last:#?}");
}

/// A folder with some files in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    needless_fixtures::referee::put_files(folder.path());
    folder
}

/// What only this backend compares.
const MORE: &[(bool, &str, &[&str])] =
    &[(false, "every_path_call", &[]), (false, "every_path_call-i386", &[])];

fn testees() -> impl Iterator<Item = &'static (bool, &'static str, &'static [&'static str])> {
    TESTEES.iter().chain(MORE)
}

#[test]
fn testees_make_as_many_calls_as_strace_counts() {
    let Some(_) = needed(program("strace")) else { return };
    let folder = folder();
    for (chance, name, arguments) in testees().chain(&[(true, "restarts", &[] as &[&str])]) {
        let Some(testee) = testee(name) else { continue };
        let argv = case(*chance, testee, arguments);
        same_totals(&argv, folder.path());
    }
}

#[test]
fn testees_ask_for_the_paths_that_strace_sees() {
    let Some(_) = needed(program("strace")) else { return };
    let folder = folder();
    for (chance, name, arguments) in testees() {
        let Some(testee) = testee(name) else { continue };
        same_paths(&case(*chance, testee, arguments), folder.path());
    }
}

#[test]
fn a_fork_storm_is_counted_to_the_last_child() {
    let Some(testee) = testee("fork_storm") else { return };
    let folder = folder();
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

/// The real programs that the machine has.
fn real_programs(folder: &Path) -> Vec<Case> {
    let script =
        "ls d0 | sort | head -3; x=$(cat d0/e0/f0); cd d1 && for f in *; do test -d $f; done";
    let python =
        "import os,json; [os.stat('d0') for i in range(50)]; print(json.dumps(os.listdir('.')))";
    let all = [
        (false, "ls", vec!["-l", "d0", "d0/e0"]),
        (false, "find", vec![".", "-type", "f", "-printf", "%t\n"]),
        (false, "/usr/bin/python3", vec!["-c", python]),
        (true, "bash", vec!["-c", script]),
        (true, "dash", vec!["-c", script]),
        (true, "git", vec!["status", "--short"]),
        (false, "tar", vec!["cf", "/dev/null", "d0", "d1"]),
    ];
    let found = all.into_iter().filter_map(|(chance, name, arguments)| {
        let program = needed(program(name))?;
        Some(case(chance, program, &arguments))
    });
    let found: Vec<Case> = found.collect();
    if program("git").is_ok() {
        let git = |arguments: &[&str]| {
            assert!(command("git", folder).args(arguments).status().unwrap().success());
        };
        git(&["init", "-q", "."]);
        git(&["add", "d0"]);
    }
    found
}

#[test]
fn real_programs_make_as_many_calls_as_strace_counts() {
    let Some(_) = needed(program("strace")) else { return };
    let folder = folder();
    for case in real_programs(folder.path()) {
        same_totals(&case, folder.path());
    }
}

#[test]
fn real_programs_ask_for_the_paths_that_strace_sees() {
    let Some(_) = needed(program("strace")) else { return };
    let folder = folder();
    for case in real_programs(folder.path()) {
        same_paths(&case, folder.path());
    }
}

#[test]
fn testees_get_the_counts_they_expect_of_themselves() {
    let folder = folder();
    let more: &[(bool, &str, &[&str])] = &[
        (false, "localtime", &["localtime_r", "100"]),
        (false, "localtime", &["localtime", "100"]),
        (false, "localtime-musl", &["localtime", "100"]),
        (false, "exec_from_thread", &[]),
    ];
    for (_, name, arguments) in testees().chain(more) {
        let Some(testee) = testee(name) else { continue };
        let output = command(&testee, folder.path())
            .args(*arguments)
            .stdout(std::process::Stdio::piped())
            .output()
            .unwrap();
        let expected = needless_fixtures::expectations(&String::from_utf8_lossy(&output.stdout));
        let mut argv = vec![testee.as_os_str()];
        argv.extend(arguments.iter().map(OsStr::new));
        for options in [&[][..], &["--all"]] {
            let (table, _) = ours(options, &argv, folder.path());
            for line in &expected {
                let count: u64 = table
                    .iter()
                    .filter(|((call, outcome, path), _)| {
                        question(call) == line.question
                            && *path == line.path
                            && *outcome == line.outcome
                    })
                    .map(|(_, count)| count)
                    .sum();
                assert_eq!(count, line.count, "{name} {arguments:?} {options:?}: {line:?}");
            }
        }
    }
}

fn question(call: &str) -> &str {
    needless_model::Query::of(call).verb()
}
