//! Counts are strace's counts: of every call with `all`, of every call, path and outcome without.

mod common;

use common::*;
use needless_ebpf::SessionOptions;
use needless_fixtures::referee::TESTEES;
use needless_model::{Fact, Query};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// What a program with several threads or processes does more or less often by chance.
const BY_CHANCE: [&str; 12] = [
    "clone",
    "futex",
    "madvise",
    "mprotect",
    "munmap",
    "mmap",
    "brk",
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

impl Case {
    fn new(chance: bool, program: impl AsRef<OsStr>, arguments: &[&str]) -> Case {
        let program = program.as_ref().to_owned();
        let argv = [program].into_iter().chain(arguments.iter().map(OsString::from)).collect();
        Case { argv, chance }
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = command(&self.argv[0], folder);
        command.args(&self.argv[1..]);
        command
    }

    /// Compares until there is no difference, once where chance has no say.
    fn compare(&self, mut difference: impl FnMut() -> Vec<String>) {
        let mut last = Vec::new();
        for _ in 0..if self.chance { 8 } else { 1 } {
            last = difference();
            if last.is_empty() {
                return;
            }
        }
        panic!("{:?}: {last:#?}", self.argv);
    }

    /// Equal totals, without what varies under strace too.
    fn same_totals(&self, folder: &Path) {
        let all = SessionOptions { all: true, ..options() };
        self.compare(|| {
            let mut strace = strace::totals(&self.argv, folder);
            let profile = profile(&all, &mut self.command(folder));
            assert!(profile.facts.has(Fact::AllCalls));
            let mut ours = by_call(&table(&profile));
            assert_eq!(ours.values().sum::<u64>(), profile.totals.calls);
            assert!(profile.totals.calls > 5, "{:?}: {ours:?}", self.argv);
            if self.chance {
                strace.retain(|call, _| !BY_CHANCE.contains(&call.as_str()));
                ours.retain(|call, _| !BY_CHANCE.contains(&call.as_str()));
            }
            difference(&strace, &ours)
        });
    }

    fn same_paths(&self, folder: &Path) {
        self.compare(|| {
            let strace = strace::paths(&self.argv, folder);
            let mut profile = observed(&options(), &mut self.command(folder)).profile;
            assert!(!profile.facts.has(Fact::AllCalls));
            // Strace was asked for calls with a path; rules ask about some without.
            profile.rows.retain(|row| row.query.names_path());
            let ours = table(&profile);
            assert!(!ours.is_empty(), "{:?}", self.argv);
            assert_eq!(ours.values().sum::<u64>(), profile.totals.path_calls);
            difference(&strace, &ours)
        });
    }
}

/// A folder with some files in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    needless_fixtures::referee::put_files(folder.path());
    folder
}

/// What only this backend compares, or not with strace's eyes.
const MORE: &[(bool, &str, &[&str])] =
    &[(false, "moves", &[]), (false, "many_paths", &["3000", "2"])];

fn testees() -> impl Iterator<Item = &'static (bool, &'static str, &'static [&'static str])> {
    TESTEES.iter().chain(MORE)
}

#[test]
fn testees_make_as_many_calls_as_strace_counts() {
    let Some(_) = needed(program("strace")).filter(|_| possible()) else { return };
    let folder = folder();
    let more: &[(bool, &str, &[&str])] = &[(true, "restarts", &[]), (true, "restarts-i386", &[])];
    for (chance, name, arguments) in testees().chain(more) {
        let Some(testee) = testee(name) else { continue };
        Case::new(*chance, testee, arguments).same_totals(folder.path());
    }
}

#[test]
fn testees_ask_for_the_paths_that_strace_sees() {
    let Some(_) = needed(program("strace")).filter(|_| possible()) else { return };
    let folder = folder();
    let more: &[(bool, &str, &[&str])] =
        &[(false, "every_path_call", &[]), (false, "every_path_call-i386", &[])];
    for (chance, name, arguments) in testees().chain(more) {
        let Some(testee) = testee(name) else { continue };
        Case::new(*chance, testee, arguments).same_paths(folder.path());
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
        Some(Case::new(chance, needed(program(name))?, &arguments))
    });
    let found: Vec<Case> = found.collect();
    if program("git").is_ok() {
        for arguments in [&["init", "-q", "."][..], &["add", "d0"]] {
            assert!(output(command("git", folder).args(arguments)).status.success());
        }
    }
    found
}

#[test]
fn real_programs_make_as_many_calls_as_strace_counts() {
    let Some(_) = needed(program("strace")).filter(|_| possible()) else { return };
    let folder = folder();
    for case in real_programs(folder.path()) {
        case.same_totals(folder.path());
    }
}

#[test]
fn real_programs_ask_for_the_paths_that_strace_sees() {
    let Some(_) = needed(program("strace")).filter(|_| possible()) else { return };
    let folder = folder();
    for case in real_programs(folder.path()) {
        case.same_paths(folder.path());
    }
}

#[test]
fn testees_get_the_counts_they_expect_of_themselves() {
    if !possible() {
        return;
    }
    let folder = folder();
    let more: &[(bool, &str, &[&str])] = &[
        (false, "localtime", &["localtime_r", "100"]),
        (false, "localtime", &["localtime", "100"]),
        (false, "localtime-musl", &["localtime", "100"]),
        (false, "exec_from_thread", &[]),
        (true, "stat_threads", &["4", "50000"]),
        (true, "fork_storm", &["2000"]),
        (true, "vfork_exec", &["200"]),
    ];
    for (chance, name, arguments) in testees().chain(more) {
        let Some(testee) = testee(name) else { continue };
        let case = Case::new(*chance, testee, arguments);
        let printed = output(&mut case.command(folder.path()));
        let expected = needless_fixtures::expectations(&String::from_utf8_lossy(&printed.stdout));
        for all in [false, true] {
            let profile =
                profile(&SessionOptions { all, ..options() }, &mut case.command(folder.path()));
            for line in &expected {
                let asked = profile.rows.iter().filter(|row| {
                    row.query.verb() == line.question
                        && profile.path(row) == line.path
                        && outcome(row) == line.outcome
                });
                let count: u64 = asked.map(|row| row.count).sum();
                assert_eq!(count, line.count, "{name} {arguments:?} {all}: {line:?}");
            }
        }
    }
}

#[test]
fn a_fork_storm_is_counted_to_the_last_call() {
    if !possible() {
        return;
    }
    let Some(testee) = testee("fork_storm") else { return };
    let folder = folder();
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
