//! The same workload leads to the same findings, whichever backend counts.

use crate::common::*;

/// The rules that found something, each with how many calls could go.
fn findings(backend: Backend, words: &[&str]) -> Vec<(String, u64)> {
    let report = run(backend, words);
    let mut found: Vec<(String, u64)> =
        found(&report).into_iter().map(|(rule, needless, _)| (rule.to_owned(), needless)).collect();
    found.sort();
    found
}

/// `words` in an environment in which each conversion of a time asks for the zone.
fn without_tz(words: &[&str]) -> Vec<String> {
    let words = ["env", "-u", "TZ", "LC_ALL=C"].iter().chain(words);
    words.map(|word| (*word).to_owned()).collect()
}

fn compare(words: &[String], expected: Option<&str>) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut all = backends_also_unpatched().map(|backend| (backend, findings(backend, &words)));
    let (first, found) = all.next().expect("ptrace is usable everywhere");
    for (backend, other) in all {
        assert_eq!(found, other, "{words:?}: {first:?}, {backend:?}");
    }
    let Some(rule) = expected else { return };
    assert!(found.iter().any(|(found, _)| found == rule), "{words:?}: {found:?}");
}

#[test]
fn all_backends_lead_to_the_same_findings() {
    let folder = tempfile::tempdir().unwrap();
    needless_fixtures::referee::put_files(folder.path());
    let folder = folder.path().to_str().unwrap();
    let script = "for i in 1 2 3 4 5 6 7 8; do date >/dev/null; done";
    for (name, arguments, expected) in [
        ("packagecloud", &["10"][..], Some("tz-unset")),
        ("packagecloud", &["2000"], Some("tz-unset")),
        ("packagecloud-static", &["200"], Some("tz-unset")),
        ("packagecloud-i386", &["200"], Some("tz-unset")),
        ("localtime", &["strftime", "100"], Some("tz-unset")),
        ("own_filter", &["errno"], None),
        ("repeats", &["plain", "500", "/etc/hostname", "0"], None),
        ("watcher", &["500"], None),
        ("fork_storm", &["50"], None),
        ("many_paths", &["100", "5", "0"], None),
    ] {
        let Some(file) = testee(name) else { continue };
        compare(&without_tz(&[&[file.as_str()], arguments].concat()), expected);
    }
    for (name, arguments) in [
        ("ls", &["-lR", folder][..]),
        ("find", &["/usr/share", "-name", "x"]),
        ("sh", &["-c", script]),
        ("/usr/bin/python3", &["-c", "import json, os; [os.stat('/') for i in range(50)]"]),
    ] {
        if needed(needless_fixtures::referee::program(name)).is_some() {
            compare(&without_tz(&[&[name], arguments].concat()), None);
        }
    }
}

/// A threshold asks for a share of the CPU time, of which each stop of a tracer takes a part. Tiny reads stop and
/// name no path, so that they change only that share.
#[test]
fn a_threshold_counts_only_the_cpu_time_of_the_program() {
    let Some(sample) = testee("packagecloud") else { return };
    // How much a stop takes differs from machine to machine, so only a part of it is asked for.
    let script = format!("{sample} 250; seq 40000 | while read x; do :; done");
    let words = without_tz(&["dash", "-c", &script]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for backend in backends() {
        let report = run(backend, &words);
        let number = |of: &str| report["totals"][of].as_f64().unwrap_or(0.0);
        let (all, stops) = (number("cpu_user_s") + number("cpu_sys_s"), number("tracing_ns") / 1e9);
        assert_eq!(
            stops > 0.1 * all && stops < all,
            backend[0].1 == "ptrace",
            "{stops} of {all} s"
        );
        // How often a read of the pipe had to wait for `seq` differs from run to run.
        let seen: Vec<_> =
            found(&report).into_iter().filter(|(rule, ..)| *rule == "tz-unset").collect();
        assert!(matches!(seen[..], [(_, 249, _)]), "{seen:?}, {stops} of {all} s");
    }
}
