//! `needless prove`, `needless run --prove` and `needless diff`, on real programs. Tests of a verdict use
//! five pairs at most: too few to prove anything about time, so only counts decide.

use crate::common::*;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// The testee `localtime` prints how many looks it expects of itself, which is none where TZ is set.
const COUNT: [&str; 2] = ["--ignore-output", r"\d+$"];

/// `needless prove OPTIONS… --format json -- WORDS…` in this environment.
fn prove_in(env: &[(&str, &str)], options: &[&str], words: &[&str]) -> (Output, Value) {
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

fn prove(options: &[&str], words: &[&str]) -> (Output, Value) {
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
    let (done, proof) = prove(&["--set", "TZ=UTC", "--runs", "5"], &[&program, "localtime", "200"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(proof["schema"], "needless.proof/1");
    assert_eq!((&proof["outcome"], &proof["calls_fell"]), (&"proven".into(), &true.into()));
    assert_eq!((gone_and_predicted(&proof), all_gone(&proof)), ((199, 199), 199));
    assert_eq!(proof["pairs"], 5);
    let row = &proof["rows"][0];
    assert_eq!(
        (&row["path"], &row["before"], &row["after"]),
        (&"/etc/localtime".into(), &199.into(), &0.into())
    );
}

/// Bytecode that the runs with the change write saves calls from then on, also in runs without the change.
#[test]
fn what_the_first_run_leaves_behind_counts_from_the_second() {
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

/// strace counts the same calls.
#[test]
fn both_counts_are_straces() {
    let (Some(strace), Some(program)) = (program("strace"), testee("localtime")) else { return };
    let (_, proof) = prove(&["--set", "TZ=UTC", "--runs", "1"], &[&program, "localtime", "50"]);
    for (tz, arm) in [(None, "calls_before"), (Some("UTC"), "calls_after")] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut traced = command(&strace);
        traced.envs(tz.map(|tz| ("TZ", tz))).arg("-f").arg("-o").arg(&log);
        // Into a pipe, as in a proof.
        assert!(traced.args([&program, "localtime", "50"]).output().unwrap().status.success());
        let text = std::fs::read_to_string(&log).unwrap();
        // A call that never returns is not counted, as in the totals of strace -c.
        let returned = |line: &&str| line.contains('(') && !line.contains(" exit_group(");
        let calls = text.lines().filter(returned).count();
        assert_eq!(proof[arm]["least"].as_u64(), Some(calls as u64), "{arm}");
    }
}

#[test]
fn what_rules_predict_is_what_goes() {
    let perl = ["perl", "-e", "localtime($_) for 1..300"];
    let mawk = ["mawk", "BEGIN { for (i = 0; i < 300; i++) s = strftime(\"%H\", i); print s }"];
    let bash = ["bash", "-c", "for i in {1..100}; do printf '%(%H)T\\n' $i; done"];
    let find = ["find", "/usr/share/doc", "-maxdepth", "1", "-printf", "%Tc\\n"];
    let mut compared = 0;
    for words in [&perl[..], &mawk, &bash, &find] {
        let Some(_) = program(words[0]) else { continue };
        let (done, proof) = prove(&["--set", "TZ=UTC", "--runs", "1"], words);
        assert_eq!(done.status.code(), Some(0), "{words:?}: {}", stderr(&done));
        assert_agrees(&proof, words[0]);
        compared += 1;
    }
    assert!(compared > 0);
}

/// Rules whose remedy is a variable other than TZ and the locale's, each with a program that is cheap.
#[test]
fn what_rules_of_other_variables_predict_is_what_goes() {
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
        let (done, proof) = prove_in(&[(variable, bad)], &options, words);
        assert_eq!(done.status.code(), Some(0), "{rule}: {}", stderr(&done));
        let rules = proof["predictions"].as_array().unwrap();
        let reported = rules
            .iter()
            .find(|of| of["rule"] == rule)
            .unwrap_or_else(|| panic!("{rule}: {proof:#}"));
        let (predicted, went) =
            (reported["predicted"].as_i64().unwrap(), reported["went"].as_i64().unwrap());
        assert!(
            predicted > 0 && (went - predicted).abs() * 20 <= predicted,
            "{rule}: {predicted}, {went}"
        );
    }
}

#[test]
fn equal_arms_are_not_proven() {
    // A variable that is not set is unset: nothing changes.
    let (done, proof) = prove(&["--unset", "NOT_SET", "--runs", "5"], &["ls", "/"]);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    assert_eq!((&proof["outcome"], &proof["calls_fell"]), (&"not_proven".into(), &false.into()));
    assert_eq!(proof["calls_before"], proof["calls_after"]);
    assert!(proof["reason"].as_str().unwrap().contains("no calls went"), "{proof:#}");
}

#[test]
fn another_behaviour_proves_nothing_and_is_said_first() {
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
fn a_file_on_standard_input_is_replayed() {
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), "one\ntwo\n").unwrap();
    let lines = |input: Stdio| {
        let mut prove = command(NEEDLESS);
        prove.args(["prove", "--set", "X=1", "--runs", "3", "--format", "json", "--"]);
        let done = prove.args(["grep", "-c", "o"]).stdin(input).output().unwrap();
        let proof: Value = serde_json::from_slice(&done.stdout).unwrap();
        proof["warnings"].to_string().contains("status")
    };
    assert!(!lines(std::fs::File::open(input.path()).unwrap().into()));
    // grep finds nothing and ends with 1; the report shows this status.
    assert!(lines(Stdio::null()));
}

#[test]
fn input_is_replayed_and_the_world_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let (input, state) = (folder.path().join("in"), folder.path().join("state"));
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let (input, state) = (input.to_str().unwrap(), state.to_str().unwrap());
    // Fails if it has run before without cleanup, or has no input.
    let script = format!("mkdir {state} && grep -c o");
    let words = ["sh", "-c", script.as_str()];
    let cleanup = format!("rmdir {state}");
    let options = ["--set", "X=1", "--runs", "3", "--stdin", input, "--cleanup", &cleanup];
    let (done, proof) = prove(&options, &words);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    assert_eq!(proof["pairs"], 3, "{proof:#}");
    assert!(!proof["warnings"].to_string().contains("status"), "{proof:#}");
    // Without it, the second run already does something else.
    std::fs::create_dir_all(state).unwrap();
    std::fs::remove_dir(state).unwrap();
    assert_eq!(
        prove(&["--set", "X=1", "--runs", "3", "--stdin", input], &words).1["outcome"],
        "differs"
    );
    let (done, _) = prove(&["--set", "X=1", "--prepare", "exit 4"], &["true"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(assert_one_line(&done).contains("--prepare: the command exits with status 4"));
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
fn what_cannot_be_run_is_said() {
    for (words, says) in [
        (&["prove", "--set", "A=1", "--", "no-such-program"][..], "not found in PATH"),
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
fn a_budget_ends_the_pairs() {
    let (done, proof) = prove(&["--set", "X=1", "--budget", "300ms"], &["sleep", "0.05"]);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    let pairs = proof["pairs"].as_u64().unwrap();
    // Each takes at least a tenth of a second; the first is always run.
    assert!((1..=3).contains(&pairs), "{proof:#}");
    assert_eq!(proof["early"], false);
}

#[test]
fn ctrl_c_reports_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let script = format!("echo >> {}; sleep 0.02", file.display());
    let mut prove = command(NEEDLESS);
    prove.args(["prove", "--set", "X=1", "--runs", "2000", "--format", "json", "--"]);
    prove.args(["sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = prove.spawn().unwrap();
    // Two counts, a warm-up and a count come before the first pair.
    while std::fs::read(&file).map_or(0, |lines| lines.len()) < 8 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    let done = child.wait_with_output().unwrap();
    let proof: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|e| panic!("{e}: {:?}, {}", done.status, stderr(&done)));
    assert_eq!(proof["early"], true);
    let pairs = proof["pairs"].as_u64().unwrap();
    assert!((1..2000).contains(&pairs), "{proof:#}");
    // So many pairs may by chance be enough to prove a difference in time.
    let status = if proof["outcome"] == "proven" { 0 } else { 1 };
    assert_eq!(done.status.code(), Some(status));
}

/// Measurements made before --prepare or --cleanup failed are still reported.
#[test]
fn what_fails_among_the_pairs_leaves_the_pairs_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let runs = file.display();
    let script = format!("echo >> {runs}");
    // Two counts, a warm-up and a count, then two pairs and a half.
    let failing = format!("[ $(cat {runs} /dev/null | wc -l) -lt 9 ] || exit 4");
    for option in ["--prepare", "--cleanup"] {
        std::fs::write(&file, "").unwrap();
        let options = ["--set", "X=1", "--runs", "50", option, &failing];
        let (done, proof) = prove(&options, &["sh", "-c", &script]);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        let says = format!("{option}: the command exits with status 4");
        assert!(assert_one_line(&done).contains(&format!("{says}; the report covers the 2 pairs")));
        assert_eq!((&proof["pairs"], &proof["early"]), (&2.into(), &true.into()), "{proof:#}");
        assert_eq!(proof["failure"], says, "{proof:#}");
        assert_eq!(proof["measures"].as_array().map(Vec::len), Some(7), "{proof:#}");
    }
    std::fs::write(&file, "").unwrap();
    let words = ["--set", "X=1", "--runs", "50", "--prepare", &failing, "--", "sh", "-c", &script];
    let plain = needless(&[&["prove"], &words[..]].concat());
    let text = stdout(&plain).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not be measured to its end: --prepare: the command exits"), "{text}");
    assert!(text.contains("ended early") && !text.contains("by you"), "{text}");
}

/// Peak memory of a program far smaller than needless, as the kernel reports it to the program itself.
#[test]
fn a_small_program_shows_its_own_peak() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("peaks");
    let script = format!("exec grep VmHWM /proc/self/status >> {}", file.display());
    let (done, proof) = prove(&["--set", "X=1", "--runs", "6"], &["sh", "-c", &script]);
    assert!(done.status.code() < Some(2), "{}", stderr(&done));
    let lines = std::fs::read_to_string(&file).unwrap();
    let peaks = lines.lines().map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap());
    let (least, most) = peaks.fold((u64::MAX, 0), |(l, m), n: u64| (l.min(n), m.max(n)));
    let measures = proof["measures"].as_array().unwrap();
    let peak = measures.iter().find(|of| of["quantity"] == "peak_kib").unwrap();
    let (peak, floor) =
        (peak["before"].as_f64().unwrap(), proof["peak_floor_kib"].as_f64().unwrap());
    // The kernel keeps these sums per processor, and they lag by some dozen pages.
    let slack = 512.0;
    assert!(
        peak >= least as f64 - slack && peak <= most as f64 + slack,
        "{peak}, {least} to {most}"
    );
    assert!(floor > 0.0 && floor <= peak + slack, "{floor}, {peak}");
}

/// A signal that only needless gets ends a command around the runs, too.
#[test]
fn a_signal_ends_what_prepares() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("begun");
    let prepare = format!("echo > {}; exec sleep 1000", file.display());
    let mut prove = command(NEEDLESS);
    prove.args(["prove", "--set", "X=1", "--prepare", &prepare, "--", "true"]);
    let child = prove.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !file.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(ended.unwrap().success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
    assert!(assert_one_line(&done).contains("interrupted before anything was measured"));
}

#[test]
fn run_and_prove_in_one() {
    let Some(program) = testee("localtime") else { return };
    let words = [program.as_str(), "localtime", "100"];
    let mut run = command(NEEDLESS);
    run.args(["run", "--prove", "--runs", "5", "--format", "json"]).args(COUNT);
    run.arg("--").args(words);
    let done = run.output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let report: Value = serde_json::from_str(&stderr(&done)).unwrap();
    assert_eq!(report["schema"], "needless.report/1");
    assert_eq!(finding(&report, "tz-unset")["stage"], "proven");
    assert_eq!(gone_and_predicted(&report["proof"]), (99, 99));
    // The text has both, and a healthy program nothing to prove.
    let options = ["run", "--prove", "--runs", "5", "--format", "full"];
    let full = needless(&[&options[..], &COUNT, &["--"], &words].concat());
    // The text as one long line.
    let text = stderr(&full).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("stage proven") && text.contains("99 went: 100.0 %"), "{text}");
    let healthy = needless(&["run", "--prove", "--", "true"]);
    assert_eq!(healthy.status.code(), Some(1));
    assert!(stderr(&healthy).contains("nothing to prove"), "{}", stderr(&healthy));
}

/// A command in a proof sees its own environment and one variable more, and nothing of needless.
#[test]
fn both_arms_see_their_environment_and_the_padding() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let script = format!("env >> {}", file.display());
    let env = [("NEEDLESS_SECRET", "1"), ("KEPT", "yes")];
    let (_, proof) = prove_in(&env, &["--set", "X=1", "--runs", "4"], &["sh", "-c", &script]);
    assert_eq!(proof["pairs"], 4);
    let seen = std::fs::read_to_string(&file).unwrap();
    let lines = |start: &str| seen.lines().filter(|line| line.starts_with(start)).count();
    // Three counts, a warm-up, eight timed.
    assert_eq!((lines("KEPT=yes"), lines("X=1"), lines("NEEDLESS")), (12, 6, 0));
    let padding: std::collections::BTreeSet<usize> =
        seen.lines().filter(|line| line.starts_with("STACK_PADDING=")).map(str::len).collect();
    assert_eq!(lines("STACK_PADDING="), 9);
    assert!(padding.len() > 5, "{padding:?}");
}

#[test]
fn two_captures_are_compared() {
    let Some(program) = testee("localtime") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let words = [program.as_str(), "localtime", "30"];
    for (tz, name) in [(None, "a"), (Some("UTC"), "b")] {
        let mut run = command(NEEDLESS);
        run.envs(tz.map(|tz| ("TZ", tz))).args(["run", "--all", "--format", "profile", "-o"]);
        assert!(run.arg(path(name)).arg("--").args(words).output().unwrap().status.success());
        if let Some(strace) = self::program("strace") {
            let mut log = command(strace);
            log.envs(tz.map(|tz| ("TZ", tz))).args(["-f", "-o", &path(&format!("{name}.log"))]);
            assert!(log.args(words).output().unwrap().status.success());
        }
    }
    let compared = |a: &str, b: &str| -> Value {
        let done = needless(&["diff", &path(a), &path(b), "--format", "json"]);
        assert!(done.status.success(), "{}", stderr(&done));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let by_needless = compared("a", "b");
    let row = &by_needless["rows"][0];
    assert_eq!(
        (&row["path"], &row["before"], &row["after"]),
        (&"/etc/localtime".into(), &29.into(), &0.into())
    );
    if self::program("strace").is_some() {
        let row = &compared("a.log", "b.log")["rows"][0];
        assert_eq!((&row["before"], &row["after"]), (&29.into(), &0.into()));
        assert_eq!(compared("a", "a.log")["before"]["calls"], by_needless["before"]["calls"]);
    }
    let text = stdout(&needless(&["diff", &path("a"), &path("b")]));
    assert!(text.contains("went: ") && text.contains("came: "), "{text}");
    assert!(compared("a", "a")["rows"].as_array().unwrap().is_empty());
}

#[test]
fn a_service_before_and_after() {
    if !observes_others() {
        return;
    }
    let Some(ticks) = testee("clock_ticks") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    let file = file.to_str().unwrap();
    let window = |env: &[(&str, &str)], options: &[&str]| -> Output {
        let mut service = command(&ticks);
        service.arg("10000").envs(env.iter().copied()).stdout(Stdio::null());
        let mut child = service.spawn().unwrap();
        let id = child.id().to_string();
        // It sleeps once for each of its rounds, however busy the machine is.
        let per = format!("sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/{id}/status");
        let counted = options.contains(&"--per");
        let per: &[&str] = if counted { &[] } else { &["--per", &per] };
        let words = [&["prove", "--pid", &id, "--for", "1s"], per, options].concat();
        let done = needless(&words);
        let _ = child.kill();
        let _ = child.wait();
        done
    };
    let saved = window(&[], &["--save-before", file]);
    assert_eq!(saved.status.code(), Some(0), "{}", stderr(&saved));
    let after = window(&[("TZ", "UTC")], &["--before", file, "--format", "json"]);
    assert_eq!(after.status.code(), Some(0), "{}{}", stdout(&after), stderr(&after));
    let reported: Value = serde_json::from_slice(&after.stdout).unwrap();
    assert_eq!(reported["proven"], true);
    let per: Vec<&str> =
        reported["rates"].as_array().unwrap().iter().map(|r| r["per"].as_str().unwrap()).collect();
    assert!(per.contains(&"second") && per.contains(&"request"), "{reported:#}");
    let idle = window(&[], &["--before", file, "--per", "echo 7"]);
    assert_eq!(idle.status.code(), Some(2), "{}", stdout(&idle));
    assert!(assert_one_line(&idle).contains("the counter went from 7 to 7"), "{}", stderr(&idle));
    // A second equal window proves nothing.
    let same = window(&[], &["--before", file]);
    assert_eq!(same.status.code(), Some(1), "{}", stdout(&same));
    assert!(stdout(&same).starts_with("needless prove: not proven"), "{}", stdout(&same));
}
