//! The account of a run has as many calls, and as many that failed, as `strace -f -c` counts.
//!
//! Where the two count differently by design, the numbers still agree, for these reasons:
//!
//! * the first execve is the command's own in both: strace counts the one that it makes itself, needless the one that
//!   starts the command;
//! * neither counts exit and exit_group, which do not return;
//! * rt_sigreturn is a call for both, and fails for neither, whatever is in the register of the result;
//! * restart_syscall is a call of its own for both; the call that it goes on with has returned before with an error
//!   that no program sees (ERESTART_RESTARTBLOCK), and both count it as failed;
//! * a vfork or clone returns twice, and is the parent's call for both.
//!
//! Threads (of Node and Java) wait for each other with futex. How often, and how often that fails, depends on the scheduler,
//! and a tracer that stops each call makes it more: where runs differ, calls are compared without those of futex, which
//! are compared coarsely. The account does not say how many of these failed: up to as many as under strace, it is assumed.

use crate::common::*;
use std::path::Path;

struct Program {
    /// Whether each run makes the same calls.
    same: bool,
    name: &'static str,
    arguments: Vec<String>,
}

/// Programs of the machine that read the files in `folder` at most.
fn programs(folder: &Path) -> Vec<Program> {
    std::fs::write(folder.join("a.c"), "int main(void) { return 0; }\n").unwrap();
    std::fs::write(folder.join("Makefile"), "all: one two\none two:\n\t@test -d $@ || true\n")
        .unwrap();
    std::fs::write(
        folder.join("numbers"),
        (0..5000).map(|n| format!("{}\n", n * 7919 % 5000)).collect::<String>(),
    )
    .unwrap();
    for n in 0..60 {
        let below = folder.join(format!("d{}/e{}", n % 5, n % 3));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(below.join(format!("f{n}")), "one\ntwo\n").unwrap();
    }
    let url = format!("file://{}", folder.join("numbers").display());
    let list: Vec<(bool, &'static str, Vec<&str>)> = vec![
        (true, "find", vec![".", "-type", "f"]),
        (true, "ls", vec!["-lR"]),
        (true, "tar", vec!["cf", "/dev/null", "d0", "d1", "d2"]),
        (true, "grep", vec!["-r", "two", "."]),
        (true, "sort", vec!["--parallel=1", "-n", "numbers"]),
        (true, "gawk", vec!["{ s += $1 } END { print s }", "numbers"]),
        (true, "sed", vec!["s/1/2/", "numbers"]),
        (
            false,
            "perl",
            vec!["-e", "use POSIX; for (1..50) { -e \"d0/$_\" } print strftime('%F', localtime)"],
        ),
        (
            true,
            "/usr/bin/python3",
            vec!["-S", "-c", "import os, json\nfor i in range(50): os.path.exists(str(i))"],
        ),
        (
            true,
            "sqlite3",
            vec![":memory:", "create table t (x); insert into t values (1); select * from t"],
        ),
        (true, "openssl", vec!["dgst", "-sha256", "numbers"]),
        (true, "ssh", vec!["-V"]),
        (true, "dpkg", vec!["-l", "coreutils"]),
        (true, "php", vec!["-n", "-r", "for ($i = 0; $i < 50; $i++) file_exists('d0/e0/none');"]),
        (false, "curl", vec!["-s", &url]),
        (false, "git", vec!["status", "--short"]),
        (false, "gcc", vec!["-c", "-o", "/dev/null", "a.c"]),
        (false, "make", vec!["-s"]),
        (false, "man", vec!["-w", "ls"]),
        (
            false,
            "sh",
            vec!["-c", "for f in d0/*/*; do test -s $f && x=$(cat $f); done; ls | sort | head -3"],
        ),
        (false, "bash", vec!["-c", "for i in 1 2 3; do (exit 3) | cat; done; sleep 0.01 & wait"]),
        (false, "ruby", vec!["-e", "require 'json'; puts JSON.generate([1])"]),
        (false, "node", vec!["-e", "require('fs').readdirSync('.')"]),
        // With fewer threads of its own: how often they wait for each other depends on who slows them.
        (false, "java", vec!["-Xint", "-XX:+UseSerialGC", "-Xshare:auto", "-version"]),
    ];
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    let found =
        list.into_iter().filter(|(_, name, _)| name.starts_with('/') || program(name).is_some());
    found.map(|(same, name, words)| Program { same, name, arguments: owned(words) }).collect()
}

#[derive(Clone, Copy, Debug)]
struct Sums {
    calls: u64,
    failed: u64,
    futex: u64,
    /// Of the calls of futex those that failed; the account does not say it.
    futex_failed: Option<u64>,
}

fn strace_sums(folder: &Path, of: &Program) -> Sums {
    let table = tempfile::NamedTempFile::new().unwrap();
    let mut strace = command("strace");
    strace
        .current_dir(folder)
        .args(["-f", "-c", "-o"])
        .arg(table.path())
        .arg(of.name)
        .args(&of.arguments);
    strace.output().unwrap();
    let table = std::fs::read_to_string(table.path()).unwrap();
    // `100.00 0.001 3 calls [errors] total`
    let row = |name: &str| {
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let fields = rows.find(|fields| fields.last() == Some(&name))?;
        let errors = if fields.len() == 6 { fields[4].parse().unwrap() } else { 0 };
        Some((fields[3].parse().unwrap(), errors))
    };
    let ((calls, failed), (futex, futex_failed)) =
        (row("total").expect("strace ran"), row("futex").unwrap_or_default());
    Sums { calls, failed, futex, futex_failed: Some(futex_failed) }
}

fn needless_sums(folder: &Path, backend: &[&str], of: &Program) -> Sums {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut run = command(NEEDLESS);
    run.current_dir(folder)
        .arg("run")
        .args(backend)
        .args(["--format", "json", "-o"])
        .arg(file.path());
    let done = run.arg("--").arg(of.name).args(&of.arguments).output().unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(!text.is_empty(), "{}: {}", of.name, stderr(&done));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["complete"], true, "{}", of.name);
    let account = &report["account"];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let parts = ["needless", "unexplained", "unjudged"].map(|part| &account[part]["calls"]);
    let calls = number(&account["calls"]);
    let parts: u64 = parts.map(number).iter().sum();
    assert_eq!(parts + number(&account["needed"]), calls, "{}: {account:#}", of.name);
    assert_eq!(number(&report["totals"]["calls"]), calls);
    let rows = report["breakdown"].as_array().unwrap().iter();
    let futex = rows.filter(|row| row["call"] == "futex").map(|row| number(&row["calls"])).sum();
    Sums { calls, failed: number(&account["failed"]), futex, futex_failed: None }
}

/// Whether the runs of strace and of needless agree: exactly where each run is the same. Otherwise within their own noise
/// or one per cent without the calls of futex, and within a factor of two in these.
fn agree(same: bool, strace: &[Sums], needless: &[Sums]) -> bool {
    if same {
        let sums = |of: &Sums| (of.calls, of.failed);
        return strace.iter().chain(needless).all(|of| sums(of) == sums(&strace[0]));
    }
    let ends = |of: &mut dyn Iterator<Item = u64>| {
        let all: Vec<u64> = of.collect();
        (*all.iter().min().unwrap(), *all.iter().max().unwrap())
    };
    // `unknown`: so many more may be of futex among those of needless.
    let near = |(low, high): (u64, u64), (lowest, highest): (u64, u64), unknown: u64| {
        let noise = (high - low).max(highest - lowest).max(high.div_ceil(100));
        low.saturating_sub(highest).max(lowest.saturating_sub(high + unknown)) <= noise
    };
    let calls = |of: &[Sums]| ends(&mut of.iter().map(|of| of.calls - of.futex));
    let failed = |of: &[Sums]| {
        ends(&mut of.iter().map(|of| of.failed - of.futex_failed.unwrap_or_default()))
    };
    let futex = |of: &[Sums]| ends(&mut of.iter().map(|of| of.futex));
    let ((least, most), (fewest, highest)) = (futex(strace), futex(needless));
    let unknown = strace.iter().filter_map(|of| of.futex_failed).max().unwrap();
    near(calls(strace), calls(needless), 0)
        && near(failed(strace), failed(needless), unknown)
        && least <= 2 * highest
        && fewest <= 2 * most
}

/// What goes with a finding is counted there, and not as unexplained as well: without it, as many calls are unexplained
/// as with it, and as many fewer are made as the finding says.
#[test]
fn no_call_is_needless_and_unexplained() {
    let folder = open_folder();
    let here = folder.path().display();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let source = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
    std::fs::write(folder.path().join("a.c"), source).unwrap();
    let empty = format!("{here}/empty:{here}/none");
    let cases = [
        ("C_INCLUDE_PATH", empty.as_str(), "gcc -c -o /dev/null a.c"),
        ("CPATH", &empty, "gcc -c -o /dev/null a.c"),
        ("LD_PRELOAD", "libgone.so.1:libaway.so.1", "ls"),
        ("GCONV_PATH", "/nonexistent", "iconv -f UTF-8 -t ISO-8859-7 /dev/null"),
        ("PERL5LIB", &empty, "perl -MPOSIX -e 1"),
        ("PYTHONPATH", &empty, "/usr/bin/python3 -S -c 'import json'"),
        ("LC_ALL", "xx_YY.UTF-8", "ls"),
        ("TERMINFO_DIRS", &empty, "tput bold"),
    ];
    for (variable, value, line) in cases {
        let name = line.split(' ').next().unwrap();
        if !name.starts_with('/') && program(name).is_none() {
            continue;
        }
        // [calls, needless, unexplained]
        let account = |value: Option<&str>| -> [i64; 3] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let mut run = command(NEEDLESS);
            run.current_dir(folder.path())
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("TERM", "xterm");
            run.envs(value.map(|value| (variable, value)));
            run.args(["run", "--backend", "ptrace", "--all", "--format", "json", "-o"]);
            let done = run.arg(file.path()).args(["--", "sh", "-c", line]).output().unwrap();
            let report: serde_json::Value =
                serde_json::from_slice(&std::fs::read(file.path()).unwrap())
                    .unwrap_or_else(|_| panic!("{line}: {}", stderr(&done)));
            let account = &report["account"];
            [&account["calls"], &account["needless"]["calls"], &account["unexplained"]["calls"]]
                .map(|number| number.as_i64().unwrap())
        };
        let apart = |one: i64, other: i64| (one - other).unsigned_abs();
        // Whether a question is asked again soon enough to be repeated depends on the moment, so a pair of runs may
        // differ by chance; what is counted twice is counted twice in each.
        let mut pairs = Vec::new();
        let holds = (0..24).any(|_| {
            let (bad, good) = (account(Some(value)), account(None));
            pairs.push((bad, good));
            let (went, said) = (bad[0] - good[0], bad[1] - good[1]);
            // gcc makes up the name of a file, and asks whether it is taken.
            apart(bad[2], good[2]) <= 2
                && apart(went, said) <= 3 + went.unsigned_abs() / 20
                && said > 0
        });
        assert!(holds, "{variable}: {pairs:?}");
    }
}

fn totals_are_those_of_strace(backend: &[&str]) {
    if program("strace").is_none() {
        return;
    }
    let folder = open_folder();
    let programs = programs(folder.path());
    if installed("git").is_ok() {
        command("git").current_dir(folder.path()).args(["init", "-q", "."]).output().unwrap();
    }
    let mut wrong = Vec::new();
    for of in &programs {
        // The first run may fill caches.
        let warm = command(of.name).current_dir(folder.path()).args(&of.arguments).output();
        assert!(warm.is_ok(), "{}", of.name);
        let (mut strace, mut ours) = (Vec::new(), Vec::new());
        // More runs show more of the noise.
        let agrees = (0..if of.same { 1 } else { 4 }).any(|_| {
            strace.extend([(); 2].map(|()| strace_sums(folder.path(), of)));
            ours.extend([(); 2].map(|()| needless_sums(folder.path(), backend, of)));
            agree(of.same, &strace, &ours)
        });
        let differ = format!("{}: strace {strace:?}, needless {ours:?}", of.name);
        println!("{differ}");
        wrong.extend((!agrees).then_some(differ));
    }
    assert!(
        programs.len() >= 20 || !wrong.is_empty() || !needless_fixtures::must_run(),
        "too few programs"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn ebpf_counts_what_strace_counts_by_default() {
    if observes_others() {
        totals_are_those_of_strace(&["--backend", "ebpf"]);
    }
}

#[test]
fn ptrace_counts_what_strace_counts_with_all() {
    totals_are_those_of_strace(&["--backend", "ptrace", "--all"]);
}
