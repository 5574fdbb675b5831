//! `check` against the report of an earlier run.

use super::*;

/// `needless run -o FILE -- WORDS…` in a folder.
fn report_in(folder: &Path, file: &str, words: &[&str]) {
    let mut run = command(NEEDLESS);
    run.current_dir(folder).args(["run", "-o", file, "--"]).args(words);
    done(run, 0);
}

#[test]
fn with_a_baseline_only_new_and_worse_findings_count() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    report_in(folder.path(), "base.json", &[&sample, "100"]);
    let checked = |options: &[&str], times: &str, status: i32| {
        let options = [&["--baseline", "base.json", "--runs", "1"], options].concat();
        let mut check = check(folder.path(), &options, &[&sample, times]);
        check.env_remove("TZ");
        done(check, status)
    };
    for (times, status, said) in [
        ("100", 0, "within budget: packagecloud (base.json:1)"),
        ("109", 0, "within budget"),
        ("110", 1, "+10  rule.tz-unset  109, allowed: 99 (and 9 by chance)"),
        ("1", 0, "less than in the report (a new one lowers what is allowed): rule.tz-unset 0"),
    ] {
        let said_of = stdout(&checked(&[], times, status));
        assert!(said_of.contains(said), "{times}: {said_of}");
    }
    let report = json(&checked(&JSON, "110", 1).stdout);
    assert_eq!(causes(&report), [("tz-unset".to_owned(), 10)]);
    assert_eq!(report["causes"][0]["remedy"], "TZ=UTC");
    // What needless.toml suppresses does not count.
    let ignore = "[[ignore]]\nrule = \"tz-unset\"\nreason = \"seldom\"\n";
    fs::write(folder.path().join("needless.toml"), ignore).unwrap();
    checked(&[], "110", 0);
    // A rule that the baseline does not have.
    fs::remove_file(folder.path().join("needless.toml")).unwrap();
    report_in(folder.path(), "none.json", &["true"]);
    let mut check = check(folder.path(), &["--baseline", "none.json"], &[&sample, "100"]);
    check.env_remove("TZ");
    assert!(stdout(&done(check, 1)).contains("+99  rule.tz-unset  99, allowed: 0"));
}

#[test]
fn a_baseline_that_is_no_report_of_a_command_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = command(NEEDLESS);
    run.current_dir(folder.path()).args([
        "run",
        "--format",
        "profile",
        "-o",
        "profile.json",
        "--",
        "true",
    ]);
    done(run, 0);
    fs::write(folder.path().join("bad.json"), "{}").unwrap();
    for file in ["none.json", "bad.json", "profile.json"] {
        let refused = check(folder.path(), &["--baseline", file], &["touch", "ran"]);
        let said = assert_one_line(&done(refused, 2));
        assert!(said.contains(file) && !folder.path().join("ran").exists(), "{said}");
    }
}
