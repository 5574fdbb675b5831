//! What is suppressed, and what makes the status of a gate.

use super::*;

#[test]
fn what_is_suppressed_is_counted_and_said() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let ignore = |more: &str| {
        let text = format!("[[ignore]]\nrule = \"tz-unset\"\nreason = \"once a night\"\n{more}\n");
        fs::write(folder.path().join("needless.toml"), text).unwrap();
        run_in(folder.path(), &[], &[&sample, "10"])
    };
    for more in ["", "program = 'packagec*'", "path = '/etc/*'", "until = 2999-12-31"] {
        let report = ignore(more);
        assert_eq!(found(&report), [], "{more}");
        let one = &report["suppressed"][0];
        assert_eq!((&one["rule"], &one["needless"]), (&"tz-unset".into(), &9.into()), "{more}");
        assert_eq!(one["reason"], "once a night");
        assert!(report["notices"].is_null(), "{report:#}");
    }
    for (more, said) in [
        ("path = '/etc/*/x'", "unused-ignore: "),
        ("program = 'packagec*'\npath = '/etc/*/x'", "unused-ignore: "),
        ("until = 2020-02-29", "ended on 2020-02-29 and no longer applies (once a night)"),
    ] {
        let report = ignore(more);
        assert_eq!(needless_of(&report, "tz-unset"), 9, "{more}");
        assert!(report["suppressed"].is_null(), "{more}");
        assert!(report["notices"][0].as_str().unwrap().contains(said), "{report:#}");
    }
    // What did not run may need it.
    for more in ["program = 'other'", "unit = 'a.service'"] {
        let report = ignore(more);
        assert_eq!(needless_of(&report, "tz-unset"), 9, "{more}");
        assert!(report["notices"].is_null(), "{more}: {report:#}");
    }
    ignore("");
    for format in ["full", "concise"] {
        let done = needless_in(folder.path(), &["run", "--format", format, "--", &sample, "10"]);
        let said = stderr(&done);
        assert!(
            said.contains("suppressed: 1 finding, 9 calls (tz-unset of packagecloud["),
            "{said}"
        );
        assert!(said.contains("once a night"), "{said}");
    }
    ignore("path = '/etc/*/x'");
    let quiet = run_in(folder.path(), &["--ignore", "unused-ignore"], &[&sample, "10"]);
    assert!(quiet["notices"].is_null() && needless_of(&quiet, "tz-unset") == 9, "{quiet:#}");
}

#[test]
fn a_gate_counts_what_is_small_unless_it_is_for_large_findings() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    // A loop of its own beside 50 calls makes them a small part of the calls.
    let script =
        format!("{sample} 50; i=0; while [ $i -lt 1000 ]; do [ -e /etc ]; i=$((i + 1)); done");
    let run = |budget: &str, script: &str| {
        let args = ["run", "--backend", "ptrace", "--min-saving", "0", "--rule", "tz-unset"];
        let more = ["--fail-on", budget, "-o", "x.json", "--", "sh", "-c", script];
        let done = needless_in(folder.path(), &[&args[..], &more].concat());
        let text = fs::read_to_string(folder.path().join("x.json")).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        (done.status.code(), report["findings"][0]["small"].as_bool())
    };
    assert_eq!(run("any", &script), (Some(1), Some(true)));
    assert_eq!(run("large", &script), (Some(0), Some(true)));
    assert_eq!(run("large", &format!("{sample} 10000")), (Some(1), Some(false)));
}

#[test]
fn a_budget_makes_the_status() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (budget, status) in
        [("any", 1), ("8", 1), ("9", 0), ("0%", 1), ("50%", 1), ("99%", 0), ("1000", 0)]
    {
        let args = ["run", "--fail-on", budget, "--", &sample, "10"];
        let done = needless_in(folder.path(), &args);
        assert_eq!(done.status.code(), Some(status), "{budget}: {}", stderr(&done));
        let said =
            stderr(&done).ends_with(&format!("more is needless than --fail-on {budget} allows\n"));
        assert_eq!(said, status == 1, "{}", stderr(&done));
    }
    // The command's own exit status comes first.
    let script = format!("{sample} 10; exit 3");
    let done = needless_in(folder.path(), &["run", "--fail-on", "any", "--", "sh", "-c", &script]);
    assert_eq!(done.status.code(), Some(3));
    let killed = format!("{sample} 10; kill -TERM $$");
    let done = needless_in(folder.path(), &["run", "--fail-on", "any", "--", "sh", "-c", &killed]);
    assert_eq!(done.status.code(), None, "{}", stderr(&done));
    let Some(_) = program("strace") else { return };
    let log = folder.path().join("log");
    strace(&["-f"], &log, &[], &[&sample, "10"]);
    let read = |budget: &str| needless_in(folder.path(), &["read", "--fail-on", budget, "log"]);
    assert_eq!((read("any").status.code(), read("9").status.code()), (Some(1), Some(0)));
    assert_eq!(read("x").status.code(), Some(2));
}

#[test]
fn a_report_of_a_run_is_put_into_the_file_that_is_named() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    needless_in(folder.path(), &["run", "-o", "report.json", "--", &sample, "100"]);
    let fix = |file: &str| {
        fs::write(folder.path().join("Dockerfile"), file).unwrap();
        let place = ["--in", "Dockerfile", "--rule", "tz-unset", "--diff"];
        needless_in(folder.path(), &[&["fix", "report.json"], &place[..]].concat())
    };
    let done = fix("FROM debian\n");
    assert!(stdout(&done).contains("\n+ENV TZ="), "{}{}", stdout(&done), stderr(&done));
    assert!(done.status.success());
    let done = fix("# needless: ignore tz-unset: polled once a day\nFROM debian\n");
    let said = "Dockerfile:1 says to ignore tz-unset: polled once a day";
    assert!(stderr(&done).contains(said), "{}", stderr(&done));
    assert_eq!((done.status.code(), stdout(&done)), (Some(2), String::new()));
}
