//! What every report must contain, and what none may contain.

use crate::common::*;
use serde_json::Value;

#[test]
fn json_has_the_fields_that_other_tools_rely_on() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("strace")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    strace(&["-f"], &log, &[], &[&sample, "10"]);
    let log = log.to_str().unwrap();
    let mut reports = vec![(read(&[log]), 1), (read(&["--here", log]), 1)];
    for backend in backends() {
        let with = |variable| [backend, &[variable]].concat();
        reports.extend([
            (run(backend, &[&sample, "10"]), 1),
            (run_with(&["--all"], backend, &[&sample, "10"]), 1),
            (run(&with(("TZ", "CET-1CEST")), &[&sample, "10"]), 1),
            (run(&with(("LANG", "xx_XX.UTF-8")), &["ls"]), 1),
            (run(backend, &["true"]), 0),
        ]);
    }
    for (report, findings) in reports {
        assert_eq!(report["schema"], "needless.report/1");
        assert!(report["backend"].as_str().is_some_and(|b| !b.is_empty()));
        assert!(report["lost"].as_object().unwrap().values().all(Value::is_u64));
        assert!(report["totals"]["calls"].as_u64().unwrap() > 0);
        let list = report["findings"].as_array().unwrap();
        assert_eq!(list.len(), findings, "{report:#}");
        let sum: u64 = list.iter().map(|f| f["needless"].as_u64().unwrap()).sum();
        assert_eq!(report["totals"]["needless"], sum);
        list.iter().for_each(assert_finding);
    }
}

fn assert_finding(finding: &Value) {
    assert!(needless_rules::by_name(finding["rule"].as_str().unwrap()).is_some());
    assert!(["seen", "explained"].contains(&finding["stage"].as_str().unwrap()), "{finding:#}");
    let number = |name: &str| finding[name].as_u64().unwrap();
    assert!(0 < number("needless") && number("needless") <= number("of"), "{finding:#}");
    assert!(finding["process"]["pid"].as_u64().unwrap() > 0);
    assert!(finding["process"]["exe"].as_str().unwrap().starts_with('/'), "{finding:#}");
    assert!(!finding["why"].as_str().unwrap().is_empty());
    let remedies = finding["remedies"].as_array().unwrap();
    assert!(!remedies.is_empty());
    for remedy in remedies {
        let kind = remedy["kind"].as_str().unwrap();
        assert!(["set_env", "unset_env", "preload", "option", "manual"].contains(&kind));
        let names_variable = matches!(kind, "set_env" | "unset_env");
        assert_eq!(remedy["variable"].is_string(), names_variable, "{remedy:#}");
        assert!(remedy["value"].is_null() || remedy["value"].is_string() && kind == "set_env");
        assert!(!remedy["caveat"].as_str().unwrap().is_empty());
    }
}

#[test]
fn no_report_has_a_secret() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("strace")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let env = [("SECRET_TOKEN", "hunter2"), ("TZ", ""), ("LANG", "xx_XX.UTF-8")];
    let script = format!("unset TZ; ls / >/dev/null; exec {sample} 10 --password=hunter2");
    let words = ["sh", "-c", script.as_str(), "--password=hunter2"];
    strace(&["-f", "-v", "-s", "9999"], &log, &env, &words);
    assert!(std::fs::read_to_string(&log).unwrap().contains("hunter2"), "the log has it");
    for format in ["full", "concise", "json"] {
        for backend in backends() {
            for options in [&["run"][..], &["run", "--all"]] {
                let more = ["--format", format, "--min-saving", "0", "--"];
                let args = [options, &more, &words].concat();
                let report = stderr(&needless_in(&[backend, &env].concat(), &args));
                assert!(report.contains("tz-unset"), "{format}: {report}");
                assert!(!report.contains("hunter2"), "{format}: {report}");
            }
        }
        for options in [&["read"][..], &["read", "--here"]] {
            let tail = ["--format", format, "--min-saving", "0", log.to_str().unwrap()];
            let report = stdout(&needless(&[options, &tail].concat()));
            assert!(report.contains("tz-unset"), "{format}: {report}");
            assert!(!report.contains("hunter2"), "{format}: {report}");
        }
    }
}

#[test]
fn a_report_says_which_rules_were_chosen() {
    let Some(sample) = testee("packagecloud") else { return };
    let all = needless_rules::RULES.len();
    let reported = |options: &[&str], format: &str| {
        let words = [&["run", "--format", format], options, &["--", &sample, "10"]].concat();
        stderr(&needless(&words))
    };
    for format in ["full", "concise"] {
        let other = reported(&["--rule", "close-storm"], format);
        assert!(other.contains(&format!("checked: 1 of {all} rules")), "{other}");
        let without = reported(&["--ignore", "tz-unset"], format);
        assert!(without.contains("; ignored: tz-unset"), "{without}");
        let everything = reported(&[], format);
        assert!(
            !everything.contains("checked: 1") && !everything.contains("ignored"),
            "{everything}"
        );
        let found = reported(&["--rule", "tz-unset", "--rule", "tz-unset"], format);
        assert!(found.contains(&format!("1 of {all} rules")), "{found}");
    }
    let chosen = run_with(&["--rule", "close-storm", "--rule", "tz-unset"], &[], &["true"]);
    assert_eq!(chosen["checked"]["rules"], 2);
    assert_eq!(chosen["checked"]["of"], all);
    assert!(run(&[], &["true"])["checked"].is_null());
    // A choice of rules that leaves none is an error.
    for options in [&["--rule", "tz-unset", "--ignore", "tz-unset"][..], &["--rule", "no-rule"]] {
        let done = needless(&[&["run"], options, &["--", "true"]].concat());
        assert_eq!(done.status.code(), Some(2), "{options:?}");
        assert!(!stderr(&done).contains("nothing needless"), "{}", stderr(&done));
    }
    // A rule whose facts a log lacks is not counted as checked either.
    if program("strace").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    strace(&["-f", "-e", "trace=openat"], &log, &[], &["true"]);
    let report = read(&[log.to_str().unwrap()]);
    for skipped in report["not_checked"].as_array().unwrap() {
        let rule = skipped["rule"].as_str().unwrap();
        let done = needless(&["read", "--rule", rule, log.to_str().unwrap()]);
        let said = stdout(&done);
        assert!(said.contains("none of the chosen rules could be checked"), "{said}");
        assert!(said.contains(&format!("checked: 0 of {all} rules")), "{said}");
    }
}
