//! Real programs under strace, judged: the counts are those of the log's own lines.

// Tests run programs and read logs; rules do not.
#![allow(clippy::disallowed_methods)]

use needless_model::Finding;
use needless_rules::{CheckOptions, check, watched_variables};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a bash script under strace with this environment and nothing else; returns the log's lines
/// and the findings.
fn judged(name: &str, env: &[(&str, &str)], script: &str) -> (Vec<String>, Vec<Finding>) {
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.strace"));
    let status = Command::new("strace")
        .args(["-f", "-v", "-s", "4096", "-o"])
        .arg(&log)
        .args(["bash", "--norc", "--noprofile", "-c", script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("these tests need strace and bash");
    assert!(status.success(), "{script}: {status}");
    let options =
        needless_strace_log::ReadOptions { watch: watched_variables(), ..Default::default() };
    let file = fs::File::open(&log).expect("the log");
    let profile = needless_strace_log::read(file, name, &options).expect("a log of strace");
    let text = fs::read(&log).expect("the log");
    let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    (lines, check(&profile, &CheckOptions::default()).findings)
}

fn count(lines: &[String], has: &[&str]) -> u64 {
    lines.iter().filter(|line| has.iter().all(|part| line.contains(part))).count() as u64
}

fn counts(findings: &[Finding]) -> Vec<(&str, u64)> {
    findings.iter().map(|f| (&*f.rule, f.needless)).collect()
}

const CLOCK: &str = "for ((i = 0; i < 100; i++)); do printf '%(%F)T\\n' $((i * 86400)); done";

#[test]
fn a_clock_without_tz() {
    let (lines, findings) = judged("clock", &[], CLOCK);
    let path = "\"/etc/localtime\"";
    if Path::new("/etc/localtime").exists() {
        let stats = count(&lines, &["stat", path, " = 0"]);
        assert!(stats >= 99, "{stats}");
        assert_eq!(counts(&findings), [("tz-unset", stats)]);
        assert_eq!(findings[0].of, stats + count(&lines, &["open", path, " = "]));
    } else {
        let opens = count(&lines, &["open", path, "ENOENT"]);
        assert!(opens >= 99, "{opens}");
        assert_eq!(counts(&findings), [("zone-file-missing", opens - 1)]);
    }
}

#[test]
fn a_clock_with_tz() {
    for tz in ["UTC0", "JST-9", "<+03>-3", "CET-1CEST,M3.5.0,M10.5.0/3", ":/etc/localtime"] {
        let (_, findings) = judged("clock-tz", &[("TZ", tz)], CLOCK);
        if tz == ":/etc/localtime" && !Path::new("/etc/localtime").exists() {
            continue;
        }
        assert_eq!(counts(&findings), [], "{tz}");
    }
}

#[test]
fn a_zone_that_does_not_exist() {
    let (_, findings) = judged("nowhere", &[("TZ", "No/Where")], CLOCK);
    assert_eq!(counts(&findings), [("tz-not-found", 1)]);
}

#[test]
fn daylight_saving_without_a_rule() {
    let (lines, findings) = judged("no-rule", &[("TZ", "AAA3BBB")], CLOCK);
    let conversions = count(&lines, &["open", "/posixrules\"", " = 3"]);
    if conversions == 0 {
        // No posixrules on this system: nothing to read, and nothing needless.
        assert_eq!(counts(&findings), []);
        return;
    }
    assert_eq!(counts(&findings), [("tz-rule-missing", 3 * (conversions - 1))]);
}

#[test]
fn a_locale_that_is_not_installed() {
    let (lines, findings) = judged("locale", &[("LC_ALL", "xx_YY.UTF-8")], "exit 0");
    let failed = count(&lines, &["open", "/locale/", "ENOENT"]);
    assert!(failed >= 6, "{failed}");
    assert_eq!(counts(&findings), [("locale-not-installed", failed)]);
}

#[test]
fn waiting_for_a_file_is_a_purpose() {
    let wait = "for ((i = 0; i < 300; i++)); do [ -e /nonexistent ]; read -t 0.001 < <(:); done; :";
    let (_, findings) = judged("wait", &[("TZ", "UTC0")], wait);
    assert_eq!(counts(&findings), []);
}
