//! `check`: budgets of real programs, regressions that are planted in them, and what is reported. `diff --fail-on`.

mod baseline;

use crate::common::*;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The JSON of a check that is over its budget.
fn over(check: Command) -> Value {
    let done = done(check, 1);
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The causes, as (rule or place, more).
fn causes(report: &Value) -> Vec<(String, u64)> {
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let cause = |one: &Value| {
        let what = if one["rule"].is_null() { text(&one["place"]) } else { text(&one["rule"]) };
        (what, one["more"].as_u64().unwrap())
    };
    report["causes"].as_array().unwrap().iter().map(cause).collect()
}

fn count<'r>(report: &'r Value, key: &str) -> &'r Value {
    let counts = report["counts"].as_array().unwrap();
    counts.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("no {key}: {report}"))
}

const JSON: [&str; 2] = ["--format", "json"];

#[test]
fn a_budget_holds_until_tz_is_unset() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = [sample.as_str()];
    let missing = done(check(folder.path(), &[], &words), 2);
    assert!(
        stderr(&missing).contains("no budget for \"packagecloud\" in "),
        "{}",
        stderr(&missing)
    );
    done(check(folder.path(), &["--update"], &words), 0);
    let text = fs::read_to_string(folder.path().join("needless.toml")).unwrap();
    assert!(text.contains("[budget.packagecloud]\ncalls = "), "{text}");
    for _ in 0..3 {
        let held = done(check(folder.path(), &[], &words), 0);
        assert!(stdout(&held).starts_with("needless check: within budget: packagecloud"));
    }
    let mut unset = check(folder.path(), &JSON, &words);
    unset.env_remove("TZ");
    let report = over(unset);
    assert_eq!(report["within"], false);
    assert_eq!(causes(&report)[0].0, "tz-unset", "{report}");
    assert_eq!(report["causes"][0]["remedy"], "TZ=UTC");
    let said = report["environment"][0].as_str().unwrap();
    assert_eq!(said, "TZ is not set, unlike when the budget was written");
    assert_eq!(count(&report, "rule.tz-unset")["lowest"], count(&report, "needless")["lowest"]);
    // Beside the budget are names of variables, and no value.
    let mut secret = check(folder.path(), &["--update"], &words);
    secret.env("MY_TOKEN", "xyzzy-17");
    done(secret, 0);
    let saved = fs::read_to_string(folder.path().join("needless.packagecloud.json")).unwrap();
    assert!(saved.contains("\"MY_TOKEN\"") && !saved.contains("xyzzy-17"));
}

#[test]
fn regressions_of_a_script_are_found_with_their_cause() {
    let Some(python) = program("python3") else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = "import os, sys\nsys.path.insert(0, 'lib')\nimport one\n\
                  for name in open('list').read().split(): open(name).close()\n";
    fs::write(folder.path().join("job.py"), script).unwrap();
    fs::write(folder.path().join("list"), "list\n").unwrap();
    fs::create_dir(folder.path().join("lib")).unwrap();
    fs::write(folder.path().join("lib/one.py"), "").unwrap();
    let words = [python.to_str().unwrap(), "job.py"];
    let named = |more: &[&'static str]| [&["--name", "job"], more].concat();
    done(check(folder.path(), &named(&["--update"]), &words), 0);
    done(check(folder.path(), &named(&[]), &words), 0);

    // A file that is opened and was not.
    fs::write(folder.path().join("list"), "list\njob.py\nlib/one.py\n").unwrap();
    fs::write(folder.path().join("extra.txt"), "").unwrap();
    fs::write(folder.path().join("list"), "list\nextra.txt\n").unwrap();
    let report = over(check(folder.path(), &named(&JSON), &words));
    let found = causes(&report);
    assert!(found.iter().any(|(place, _)| place == "./extra.txt"), "{found:?}");
    fs::write(folder.path().join("list"), "list\n").unwrap();
    done(check(folder.path(), &named(&[]), &words), 0);

    // A directory in a list that holds nothing.
    let mut listed = check(folder.path(), &named(&JSON), &words);
    listed.env("PYTHONPATH", "/nowhere/one:/nowhere/two");
    let report = over(listed);
    let found = causes(&report);
    let known = |(what, _): &(String, u64)| what == "python-path" || what.starts_with("/nowhere/");
    assert!(known(&found[0]), "{found:?}");
    let said = report["environment"].to_string();
    assert!(said.contains("PYTHONPATH is set"), "{said}");

    // A cache that is missing and cannot be written.
    let mut cold = check(folder.path(), &named(&JSON), &words);
    let _ = fs::remove_dir_all(folder.path().join("lib/__pycache__"));
    cold.env("PYTHONDONTWRITEBYTECODE", "1");
    let report = over(cold);
    assert!(report["environment"].to_string().contains("PYTHONDONTWRITEBYTECODE is set"));
    let found = causes(&report);
    let cache = |(what, _): &(String, u64)| what.contains("lib") || what == "python-bytecode";
    assert!(found.iter().any(cache), "{found:?}");
}

#[test]
fn one_more_directory_in_path_is_found() {
    let Some(sh) = program("dash") else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = [sh.to_str().unwrap(), "-c", "ls / >/dev/null; ls / >/dev/null; date >/dev/null"];
    let with = |options: &[&str], path: &str| {
        let mut check = check(folder.path(), options, &words);
        check.env("PATH", path);
        check
    };
    done(with(&["--update"], "/usr/bin:/bin"), 0);
    done(with(&[], "/usr/bin:/bin"), 0);
    let report = over(with(&JSON, "/nowhere/bin:/usr/bin:/bin"));
    let (what, more) = causes(&report).remove(0);
    assert!(what == "command-search" || what.starts_with("/nowhere"), "{report}");
    let said = report["causes"][0]["text"].as_str().unwrap();
    assert!(said.ends_with("; new: /nowhere/bin/"), "{said}");
    // dash remembers where it found ls.
    assert_eq!(more, 2, "{report}");
}

/// Calls without a path have no place: the program that makes them is named. A program that is executed for the first
/// time comes first, for the rest is mostly its; many files of one directory are one cause.
#[test]
fn more_writes_a_new_program_and_many_new_files_are_named() {
    let Some(sh) = program("dash") else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = [sh.to_str().unwrap(), "job"];
    let job = |text: &str| fs::write(folder.path().join("job"), text).unwrap();
    let first = |text: &str| {
        job(text);
        over(check(folder.path(), &JSON, &words))["causes"][0].clone()
    };
    job("printf xxxxxx >out");
    done(check(folder.path(), &["--update"], &words), 0);
    let writes = first("for i in 1 2 3 4 5 6; do printf x; done >out");
    assert_eq!(
        (&writes["text"], writes["more"].as_u64()),
        (&"asked more often: write, by dash".into(), Some(5))
    );
    assert_eq!(writes["programs"], serde_json::json!(["dash"]));
    let program = first("printf xxxxxx >out; /bin/true");
    assert_eq!(program["text"], "new program: /bin/true: execve");
    let files = first("printf xxxxxx >out; for i in a b c d e; do [ -e ./no$i ]; done; true");
    let said = "asked for the first time, and not there: 5 files in ./: newfstatat (ENOENT)";
    assert_eq!(files["text"], said);
    fs::remove_file(folder.path().join("needless.dash.json")).unwrap();
    let held = stdout(&done(check(folder.path(), &[], &words), 1));
    assert!(held.contains("needless.dash.json is not there"), "{held}");
}

#[test]
fn what_differs_between_runs_is_named_and_tolerated() {
    let folder = tempfile::tempdir().unwrap();
    // It looks for 100 files and up to two more, one more each time, and begins again. Twice that is tolerated.
    let job = "n=$(cat n 2>/dev/null || echo 0); echo $(((n + 1) % 3)) >n; \
               i=0; while [ $i -lt $((n + 100)) ]; do [ -e ./no$i ]; i=$((i + 1)); done";
    let words = ["/bin/sh", "-c", job];
    done(check(folder.path(), &["--update"], &words), 0);
    let text = fs::read_to_string(folder.path().join("needless.toml")).unwrap();
    assert!(text.contains(" runs\n") && text.contains("vary = 4"), "{text}");
    for _ in 0..3 {
        let held = done(check(folder.path(), &["--runs", "2"], &words), 0);
        assert!(stdout(&held).contains("differed between the runs: calls "), "{}", stdout(&held));
    }
}

#[test]
fn what_cannot_be_measured_or_written_is_2() {
    let folder = tempfile::tempdir().unwrap();
    let fails =
        done(check(folder.path(), &["--update"], &["/bin/sh", "-c", "echo why >&2; exit 3"]), 2);
    let said = stderr(&fails);
    assert!(said.starts_with("why\nneedless: /bin/sh exits with status 3: "), "{said}");
    assert!(!folder.path().join("needless.toml").exists());
    done(check(folder.path(), &["--update"], &["/bin/true"]), 0);
    for (options, part) in [
        (&["-o", "/dev/full"][..], "cannot write"),
        (&["-o", "nowhere/x.md"], "nowhere"),
        (&["-o", "x.xyz"], "names no format"),
        (&["--budget", "other.toml"], "no budget for \"true\" in other.toml"),
        (&["--name", "a/b"], "letters"),
        (&["--stdin", "nofile"], "--stdin: cannot open nofile: No such file"),
    ] {
        let said = stderr(&done(check(folder.path(), options, &["/bin/true"]), 2));
        assert!(said.contains(part) && said.lines().count() == 1, "{options:?}: {said}");
    }
    let toml = folder.path().join("needless.toml");
    let text = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, text.replace("failed = ", "faild = ")).unwrap();
    let said = stderr(&done(check(folder.path(), &[], &["/bin/true"]), 2));
    assert!(said.contains("unknown field `faild`"), "{said}");
    // A table without a limit would let everything pass.
    fs::write(&toml, "[budget.true]\n").unwrap();
    let said = stderr(&done(check(folder.path(), &[], &["/bin/true"]), 2));
    assert!(said.contains("budget true limits nothing"), "{said}");
    fs::write(&toml, text).unwrap();
    fs::write(folder.path().join("needless.true.json"), "{").unwrap();
    let said = stderr(&done(check(folder.path(), &[], &["/bin/true"]), 2));
    assert!(said.contains("--update writes it anew") && said.lines().count() == 1, "{said}");
    done(check(folder.path(), &["--update"], &["/bin/true"]), 0);
    done(check(folder.path(), &[], &["/bin/true"]), 0);
    // A budget may come through a pipe, as that of a shell's <(…) does.
    let line = format!("exec {NEEDLESS} --config <(cat needless.toml) check -- /bin/true");
    let mut piped = command("bash");
    piped.current_dir(folder.path()).env("TZ", "UTC").args(["-c", &line]);
    done(piped, 0);
    // Nothing is written through a link that leads nowhere.
    fs::remove_file(&toml).unwrap();
    std::os::unix::fs::symlink("elsewhere", &toml).unwrap();
    let said = stderr(&done(check(folder.path(), &["--update"], &["/bin/true"]), 2));
    assert!(said.contains("needless.toml is not read: No such file or directory\n"), "{said}");
    assert!(said.contains("needless.toml is not a file: --budget names another"), "{said}");
    assert!(!folder.path().join("elsewhere").exists());
}

#[test]
fn the_output_of_the_command_is_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["/bin/sh", "-c", "echo out; echo err >&2"];
    let shown = done(check(folder.path(), &["--update"], &words), 0);
    assert!(
        stderr(&shown).starts_with("out\nerr\nneedless: budget sh written"),
        "{}",
        stderr(&shown)
    );
    assert!(stdout(&shown).starts_with("needless check: within budget"));
}

#[test]
fn a_budget_file_keeps_what_a_person_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let toml = folder.path().join("needless.toml");
    let mine = "# ours\n[[ignore]]\nrule = \"tz-unset\"  # slow\nreason = '''\n[budget.x]'''\n";
    fs::write(&toml, mine).unwrap();
    done(check(folder.path(), &["--update"], &["/bin/true"]), 0);
    let text = fs::read_to_string(&toml).unwrap();
    assert!(text.starts_with(mine), "{text}");
    // Only the limits that a person kept are checked and written again.
    let kept = text.split("[budget.true]").next().unwrap().to_owned()
        + "[budget.true]\ncalls = 1 # raise\nfailed = 900\n";
    fs::write(&toml, &kept).unwrap();
    let said = stdout(&done(check(folder.path(), &[], &["/bin/true"]), 1));
    assert!(said.contains("allowed: 1\n"), "{said}");
    done(check(folder.path(), &["--update"], &["/bin/true"]), 0);
    let again = fs::read_to_string(&toml).unwrap();
    assert!(again.contains(" # raise\n") && !again.contains("[budget.true.call]"), "{again}");
    let said = stdout(&done(check(folder.path(), &[], &["/bin/true"]), 0));
    assert!(!said.contains("less than the budget"), "{said}");
}

#[test]
fn a_job_gets_annotations_and_a_summary() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = [sample.as_str()];
    done(check(folder.path(), &["--update"], &words), 0);
    let summary = folder.path().join("summary");
    fs::write(&summary, "before\n").unwrap();
    let path = summary.to_str().unwrap();
    let mut job = check(folder.path(), &["--format", "github", "-o", path, "-o", "r.json"], &words);
    job.env_remove("TZ").env("GITHUB_STEP_SUMMARY", path);
    let said = stdout(&done(job, 1));
    let line = said.lines().next().unwrap();
    let limit =
        "::error file=needless.toml,line=4,title=needless%3A over budget%3A packagecloud::calls: ";
    assert!(line.starts_with(limit) && line.contains("tz-unset"), "{said}");
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n### needless check: over budget"), "{text}");
    assert!(text.contains("fix: TZ=UTC"), "{text}");
    let json = fs::read_to_string(folder.path().join("r.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["schema"], "needless.check/1");
}

#[test]
fn diff_fails_where_more_calls_are_made() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let profile = |file: &str, set: bool| {
        let mut run = command(NEEDLESS);
        run.current_dir(folder.path()).env_remove("TZ");
        if set {
            run.env("TZ", "UTC");
        }
        run.args(["run", "--all", "--format", "profile", "-o", file, "--", &sample]);
        assert!(run.status().unwrap().success());
    };
    profile("set", true);
    profile("unset", false);
    let diff = |words: &[&str]| {
        let all = [&["diff"], words].concat();
        command(NEEDLESS).current_dir(folder.path()).args(all).output().unwrap()
    };
    let code = |words: &[&str]| diff(words).status.code().unwrap();
    assert_eq!(code(&["set", "unset"]), 0);
    assert_eq!(code(&["set", "unset", "--fail-on", "any"]), 1);
    assert_eq!(code(&["unset", "unset", "--fail-on", "any"]), 0);
    assert_eq!(code(&["unset", "set", "--fail-on", "0"]), 0);
    assert_eq!(code(&["set", "unset", "--fail-on", "2"]), 1);
    assert_eq!(code(&["set", "unset", "--fail-on", "100000"]), 0);
    assert_eq!(code(&["set", "unset", "--fail-on", "1%"]), 1);
    assert_eq!(code(&["set", "unset", "--fail-on", "large"]), 2);
    assert_eq!(code(&["set", "unset", "--fail-on", "any", "-o", "/dev/full"]), 2);
    let said = stderr(&diff(&["set", "unset", "--fail-on", "any"]));
    assert_eq!(said, "needless: failed: more calls are made than --fail-on any allows\n");
}

#[test]
fn the_counts_are_those_of_strace() {
    let Some(strace) = program("strace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let words = ["ls", "-l", "/etc"];
    done(check(folder.path(), &["--update"], &words), 0);
    let checked = done(check(folder.path(), &JSON, &words), 0);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let mut traced = command(strace);
    traced.current_dir(folder.path()).env("TZ", "UTC").args(["-f", "-c", "-o"]).arg(&log);
    assert!(traced.args(words).output().unwrap().status.success());
    // `0.00    0.000000           0        21        17 openat`: the errors may be missing.
    let table = fs::read_to_string(&log).unwrap();
    let mut compared = 0;
    for line in table.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (Some(Ok(calls)), Some(name)) =
            (columns.get(3).map(|text| text.parse::<u64>()), columns.last())
        else {
            continue;
        };
        let errors = if columns.len() == 6 { columns[4].parse().unwrap() } else { 0 };
        let key = if *name == "total" { "calls".to_owned() } else { format!("call.{name}") };
        assert_eq!(count(&report, &key)["highest"], calls, "{key}: {table}");
        if *name == "total" {
            assert_eq!(count(&report, "failed")["highest"], errors, "{table}");
        }
        compared += 1;
    }
    assert!(compared > 10, "{table}");
}
