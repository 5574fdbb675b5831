//! `needless prove`, `needless run --prove` and `needless diff`, on real programs. Tests of a verdict use
//! five pairs at most: too few to prove anything about time, so only counts decide.

mod compared;

use crate::common::*;
use serde_json::Value;
use std::path::Path;
use std::process::{Output, Stdio};

/// The testee `localtime` prints how many looks it expects of itself, which is none where TZ is set.
const COUNT: [&str; 2] = ["--ignore-output", r"\d+$"];

/// `needless prove OPTIONS… --format json -- WORDS…` in this environment.
pub(crate) fn prove_in(env: &[(&str, &str)], options: &[&str], words: &[&str]) -> (Output, Value) {
    let mut prove = command(NEEDLESS);
    prove.envs(env.iter().copied()).arg("prove").args(options);
    if words.get(1) == Some(&"localtime") {
        prove.args(COUNT);
    }
    prove.args(["--format", "json", "--"]);
    let done = prove.args(words).output().unwrap();
    let proof = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    (done, proof)
}

pub(crate) fn prove(options: &[&str], words: &[&str]) -> (Output, Value) {
    prove_in(&[], options, words)
}

/// Of the calls that findings are about: how many went, and how many were predicted to go.
fn gone_and_predicted(proof: &Value) -> (i64, i64) {
    let predictions = proof["predictions"].as_array().unwrap();
    let sum = |of: &str| predictions.iter().map(|p| p[of].as_i64().unwrap()).sum();
    (sum("went"), sum("predicted"))
}

/// Calls that went, of all.
fn all_gone(proof: &Value) -> i64 {
    let calls = |of: &str| proof[of]["least"].as_i64().unwrap();
    calls("calls_before") - calls("calls_after")
}

/// The zone was asked for so often before, and not once after.
fn assert_row(row: &Value, before: i64) {
    let fields = (&row["path"], &row["before"], &row["after"]);
    assert_eq!(fields, (&"/etc/localtime".into(), &before.into(), &0.into()));
}

fn assert_agrees(proof: &Value, what: &str) {
    let (gone, predicted) = gone_and_predicted(proof);
    assert!(predicted > 0, "{what}: {proof:#}");
    let off = (gone - predicted).abs() as f64 / predicted as f64;
    assert!(off <= 0.05, "{what}: predicted {predicted}, measured {gone}");
    let all = all_gone(proof);
    assert!((all - gone).abs() <= 10, "{what}: {gone} of these, {all} in all");
}

#[test]
fn calls_that_go_are_proven_and_counted() {
    let Some(program) = testee("localtime") else { return };
    for backend in backends() {
        let options = ["--set", "TZ=UTC", "--runs", "5"];
        let (done, proof) = prove_in(backend, &options, &[&program, "localtime", "200"]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        assert_eq!(proof["schema"], "needless.proof/1");
        assert_eq!((&proof["outcome"], &proof["calls_fell"]), (&"proven".into(), &true.into()));
        assert_eq!((gone_and_predicted(&proof), all_gone(&proof)), ((199, 199), 199));
        assert_eq!(proof["pairs"], 5);
        assert_row(&proof["rows"][0], 199);
    }
}

/// Bytecode that the runs with the change write saves calls from then on, also in runs without the change.
#[test]
fn files_that_the_first_run_leaves_behind_count_from_the_second_run_on() {
    let Some(python) = program("python3") else { return };
    for options in [&["--count-only"][..], &["--runs", "2"]] {
        let folder = tempfile::tempdir().unwrap();
        let modules: Vec<String> = (0..30).map(|n| format!("needless_{n}")).collect();
        for name in &modules {
            std::fs::write(folder.path().join(format!("{name}.py")), "x = 1\n").unwrap();
        }
        let import = format!("import {}", modules.join(", "));
        let path = folder.path().to_str().unwrap();
        let env = [("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONPATH", path)];
        let options = [&["--unset", "PYTHONDONTWRITEBYTECODE"], options].concat();
        let (done, proof) = prove_in(&env, &options, &[python.to_str().unwrap(), "-c", &import]);
        assert_eq!(done.status.code(), Some(0), "{proof:#}");
        assert_eq!((&proof["calls_fell"], &proof["pairs"]), (&true.into(), &0.into()), "{proof:#}");
        let rule = proof["predictions"].as_array().unwrap().iter();
        let rule = rule.clone().find(|one| one["rule"] == "python-bytecode").unwrap();
        assert_eq!((&rule["predicted"], &rule["went"]), (&60.into(), &60.into()), "{proof:#}");
        let warned = proof["warnings"].as_array().unwrap().iter();
        let said = warned.clone().any(|w| w.as_str().unwrap().contains("left behind"));
        assert!(said, "{proof:#}");
    }
}

#[test]
fn calls_before_and_after_are_as_many_as_strace_counts() {
    let (Some(strace), Some(program)) = (program("strace"), testee("localtime")) else { return };
    let words = [&*program, "localtime", "50"];
    let proofs: Vec<Value> = backends()
        .map(|backend| prove_in(backend, &["--set", "TZ=UTC", "--runs", "1"], &words).1)
        .collect();
    for (tz, arm) in [(None, "calls_before"), (Some("UTC"), "calls_after")] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut traced = command(&strace);
        traced.envs(tz.map(|tz| ("TZ", tz))).arg("-f").arg("-o").arg(&log);
        // Into a pipe, as in a proof.
        assert!(traced.args(words).output().unwrap().status.success());
        let text = std::fs::read_to_string(&log).unwrap();
        // A call that never returns is not counted, as in the totals of strace -c.
        let returned = |line: &&str| line.contains('(') && !line.contains(" exit_group(");
        let calls = text.lines().filter(returned).count();
        for proof in &proofs {
            assert_eq!(proof[arm]["least"].as_u64(), Some(calls as u64), "{arm}: {proof:#}");
        }
    }
}

#[test]
fn as_many_calls_go_as_rules_predict() {
    let perl = ["perl", "-e", "localtime($_) for 1..300"];
    let mawk = ["mawk", "BEGIN { for (i = 0; i < 300; i++) s = strftime(\"%H\", i); print s }"];
    let bash = ["bash", "-c", "for i in {1..100}; do printf '%(%H)T\\n' $i; done"];
    let find = ["find", "/usr/share/doc", "-maxdepth", "1", "-printf", "%Tc\\n"];
    let mut compared = 0;
    for words in [&perl[..], &mawk, &bash, &find] {
        let Some(_) = program(words[0]) else { continue };
        for backend in backends() {
            let (done, proof) = prove_in(backend, &["--set", "TZ=UTC", "--runs", "1"], words);
            assert_eq!(done.status.code(), Some(0), "{words:?}: {}", stderr(&done));
            assert_agrees(&proof, words[0]);
        }
        compared += 1;
    }
    assert!(compared > 0);
}

/// Rules whose remedy is a variable other than TZ and the locale's, each with a program that is cheap.
#[test]
fn as_many_calls_go_as_rules_of_other_variables_predict() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: String| folder.path().join(name).to_str().unwrap().to_owned();
    let empty: Vec<String> = (0..20).map(|n| name(format!("empty{n}"))).collect();
    empty.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    let twenty = empty.join(":");
    let source = name("a.c".into());
    std::fs::write(
        &source,
        "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return 0; }\n",
    )
    .unwrap();
    let gcc = ["gcc", "-c", &source, "-o", "/dev/null"];
    let getent = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do getent hosts localhost; done"];
    let cases: [(&str, &str, &str, &[&str], &str); 7] = [
        (
            "TZ",
            "CET-1CEST",
            "Europe/Berlin",
            &["perl", "-e", "localtime($_) for 1..300"],
            "tz-rule-missing",
        ),
        ("CPATH", &twenty, "", &gcc, "header-search"),
        (
            "GCONV_PATH",
            &twenty,
            "",
            &["iconv", "-f", "latin1", "-t", "utf8", &source],
            "converter-path",
        ),
        ("HOSTALIASES", "/nonexistent", "", &getent, "host-aliases"),
        ("PERL5LIB", &twenty, "", &["perl", "-MPOSIX", "-MData::Dumper", "-e", "1"], "perl-path"),
        ("PYTHONPATH", &twenty, "", &["python3", "-c", "import json, http.server"], "python-path"),
        ("LD_LIBRARY_PATH", &twenty, "", &["ls", "/"], "library-search"),
    ];
    for (variable, bad, good, words, rule) in cases {
        let Some(_) = program(words[0]) else { continue };
        let set = format!("{variable}={good}");
        let change = if good.is_empty() { ["--unset", variable] } else { ["--set", &set] };
        let options = [&change[..], &["--runs", "1"]].concat();
        for backend in backends() {
            let env = [backend, &[(variable, bad)]].concat();
            let (done, proof) = prove_in(&env, &options, words);
            assert_eq!(done.status.code(), Some(0), "{rule}: {}", stderr(&done));
            let rules = proof["predictions"].as_array().unwrap();
            let one = rules.iter().find(|of| of["rule"] == rule);
            let [predicted, went] =
                ["predicted", "went"].map(|of| one.unwrap()[of].as_i64().unwrap());
            let agrees = predicted > 0 && (went - predicted).abs() * 20 <= predicted;
            assert!(agrees, "{rule}: {predicted}, {went}");
        }
    }
}

#[test]
fn equal_arms_are_not_proven() {
    // A variable that is not set is unset: nothing changes.
    for backend in backends() {
        let (done, proof) = prove_in(backend, &["--unset", "NOT_SET", "--runs", "5"], &["ls", "/"]);
        assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
        let said = (&proof["outcome"], &proof["calls_fell"]);
        assert_eq!(said, (&"not_proven".into(), &false.into()));
        assert_eq!(proof["calls_before"], proof["calls_after"]);
        assert!(proof["reason"].as_str().unwrap().contains("no calls went"), "{proof:#}");
    }
}

#[test]
fn another_behaviour_proves_nothing_and_is_reported_first() {
    let script = "echo ${X-unset}; exit ${Y-0}";
    let (done, proof) = prove(&["--set", "X=set", "--runs", "3"], &["sh", "-c", script]);
    assert_eq!((done.status.code(), &proof["outcome"]), (Some(1), &"differs".into()));
    assert!(proof["reason"].as_str().unwrap().contains("standard output differs"), "{proof:#}");
    assert_eq!(proof["measures"], Value::Array(Vec::new()));
    let (done, proof) = prove(&["--set", "Y=3", "--runs", "3"], &["sh", "-c", script]);
    assert_eq!((done.status.code(), &proof["outcome"]), (Some(1), &"differs".into()));
    assert!(proof["reason"].as_str().unwrap().contains("status 3 instead of status 0"));
    let plain = needless(&["prove", "--set", "X=1", "--runs", "3", "--", "sh", "-c", script]);
    let first = stdout(&plain).lines().next().unwrap().to_owned();
    assert!(first.contains("behaves differently: nothing is proven"), "{first}");
}

/// With the change it waits for ever. The test waits, too, and takes no processor for it.
#[test]
fn issue_39_a_command_that_hangs_with_the_change_is_given_up() {
    let hangs = ["sh", "-c", "test -n \"$NEEDED\" || exec sleep 1000"];
    let (done, proof) = prove_in(&[("NEEDED", "yes")], &["--unset", "NEEDED"], &hangs);
    assert_eq!((done.status.code(), &proof["outcome"]), (Some(1), &"differs".into()), "{proof:#}");
    assert_eq!(proof["reason"], "with the change it ran 20 times as long: given up");
}

#[test]
fn differences_between_runs_are_not_attributed_to_the_change() {
    let random = ["sh", "-c", "cat /proc/sys/kernel/random/uuid; echo end"];
    let (_, proof) = prove(&["--set", "X=1", "--runs", "2"], &random);
    assert_eq!(proof["outcome"], "differs");
    assert!(proof["reason"].as_str().unwrap().starts_with("without the change too"), "{proof:#}");
    let ignored = ["--set", "X=1", "--runs", "2", "--ignore-output", "^[0-9a-f-]{36}$"];
    assert_eq!(prove(&ignored, &random).1["outcome"], "not_proven");
}

#[test]
fn a_secret_that_is_set_is_not_shown() {
    for format in ["full", "json"] {
        let set = ["prove", "--set", "API_TOKEN=hunter2", "--count-only", "--format", format];
        let done = needless(&[&set[..], &["--", "true"]].concat());
        let shown = format!("{}{}", stdout(&done), stderr(&done));
        assert!(shown.contains("API_TOKEN") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_proof_that_cannot_begin_is_refused_with_the_reason() {
    for (words, says) in [
        (&["prove", "--set", "A=1", "--", "no-such-program"][..], "not found in PATH"),
        (
            &["prove", "--set", "A=1", "--unset", "A", "--", "true"],
            "A: --set and --unset change it twice",
        ),
        (&["prove", "A=1", "--", "true"], "to set a variable, put --set before it"),
        (&["prove", "--set", "A=1"], "it goes after --"),
        (&["prove", "--", "true"], "no change to measure"),
        (&["prove", "/nonexistent.json", "--", "true"], "cannot read /nonexistent.json"),
        (&["prove", "--set", "A=1", "date"], "a command goes after --"),
        (&["prove", "/etc/passwd", "--", "true"], "not a JSON report"),
        (&["prove", "--set", "A=1", "--stdin", "/tmp", "--", "cat"], "it is not a file"),
        (&["prove", "--set", "A=1", "--stdin", "/nonexistent", "--", "true"], "--stdin"),
        (&["prove", "--pid", "1"], "--save-before"),
        (&["run", "--prove", "--", "no-such-program"], "not found in PATH"),
        (&["diff", "/nonexistent", "/dev/null"], "cannot read /nonexistent"),
    ] {
        let done = needless(words);
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert!(assert_one_line(&done).contains(says), "{words:?}: {}", stderr(&done));
    }
}

#[test]
fn a_report_shows_what_to_try_but_not_the_command() {
    let Some(program) = testee("localtime") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    let words = [program.as_str(), "localtime", "60"];
    needless(&[&["run", "-o", file, "--"], &words[..]].concat());
    let (done, proof) = prove(&[file, "--runs", "2"], &words);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(proof["changes"][0].as_str().unwrap().starts_with("TZ="), "{proof:#}");
    assert_eq!(gone_and_predicted(&proof), (59, 59));
    let without = needless(&["prove", file]);
    assert!(assert_one_line(&without).contains("arguments may be secrets"));
    let other = needless(&["prove", file, "--rule", "locale-alias", "--", "true"]);
    assert!(assert_one_line(&other).contains("advises nothing by these rules"));
}

#[test]
fn run_with_prove_reports_the_findings_and_the_proof() {
    let Some(program) = testee("localtime") else { return };
    let words = [program.as_str(), "localtime", "100"];
    let proven = |backend: Backend, format: &str| {
        let options = ["run", "--prove", "--runs", "5", "--format", format];
        needless_in(backend, &[&options[..], &COUNT, &["--"], &words].concat())
    };
    for backend in backends() {
        let done = proven(backend, "json");
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        let report = json(&done.stderr);
        assert_eq!(report["schema"], "needless.report/1");
        assert_eq!(finding(&report, "tz-unset")["stage"], "proven");
        assert_eq!(gone_and_predicted(&report["proof"]), (99, 99));
    }
    // The text has both, and a healthy program nothing to prove.
    let full = proven(&[], "full");
    // The text as one long line.
    let text = stderr(&full).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("stage proven") && text.contains("99 went: 100.0 %"), "{text}");
    let healthy = needless(&["run", "--prove", "--", "true"]);
    assert_eq!(healthy.status.code(), Some(1));
    assert!(stderr(&healthy).contains("nothing to prove"), "{}", stderr(&healthy));
}
