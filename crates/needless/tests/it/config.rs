//! needless.toml: the rules of the book's page on real programs, suppressions, gates.

mod gates;

use crate::common::*;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// The blocks of TOML on the book's page.
fn blocks() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/own-rules.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks: Vec<String> = page
        .split("```toml\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect();
    assert_eq!(blocks.len(), 4);
    blocks
}

/// A folder with the page's three rules in a needless.toml, and an empty home directory.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("needless.toml"), blocks()[..3].join("\n")).unwrap();
    fs::create_dir_all(folder.path().join("home/deep")).unwrap();
    folder
}

/// `needless ARGS…` in a folder.
fn needless_in(folder: &Path, args: &[&str]) -> Output {
    let home = folder.join("home");
    command(NEEDLESS).current_dir(folder).env("HOME", home).args(args).output().unwrap()
}

/// The JSON report of `needless run OPTIONS… -- WORDS…` in a folder.
fn run_in(folder: &Path, options: &[&str], words: &[&str]) -> Value {
    let args = [&["run", "-o", "report.json"], options, &["--"], words].concat();
    let done = needless_in(folder, &args);
    let text = fs::read_to_string(folder.join("report.json"));
    let text = text.unwrap_or_else(|e| panic!("{words:?}: {e}; {}", stderr(&done)));
    fs::remove_file(folder.join("report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Calls of the log that contain one of `parts` and failed with ENOENT.
fn missing(log: &Path, parts: &[&str]) -> u64 {
    let text = fs::read_to_string(log).unwrap();
    let counts = |line: &&str| line.contains("ENOENT") && parts.iter().any(|p| line.contains(p));
    text.lines().filter(counts).count() as u64
}

const WAITING: &str = "i=0; while [ $i -lt 300 ] && ! [ -e /run/nowhere ]; do i=$((i+1)); done";

#[test]
fn the_examples_of_the_book_hold() {
    let folder = folder();
    let done = needless_in(folder.path(), &["explain", "--test"]);
    assert_eq!(stdout(&done), "3 rules, 6 examples, 0 failed\n");
    assert!(done.status.success());
    let wrong = blocks()[0].replace("git-home-config: 6 of 6", "git-home-config: 5 of 6");
    fs::write(folder.path().join("needless.toml"), wrong).unwrap();
    let done = needless_in(folder.path(), &["explain", "--test"]);
    assert_eq!(done.status.code(), Some(1));
    let said = "needless.toml:16: git-home-config: found git-home-config: 6 of 6, wanted \
                git-home-config: 5 of 6; set GIT_CONFIG_GLOBAL=/dev/null\n1 rules, 2 examples, 1 failed";
    assert!(stdout(&done).contains(said), "{}", stdout(&done));
}

#[test]
fn a_rule_of_the_book_counts_what_strace_counts_and_its_remedy_helps() {
    let (Some(git), Some(_)) = (program("git"), program("strace")) else { return };
    let (folder, git) = (folder(), git.to_str().unwrap().to_owned());
    let home = folder.path().join("home").to_str().unwrap().to_owned();
    let log = folder.path().join("log");
    let words = [&*git, "config", "-l"];
    strace(&["-f"], &log, &[("HOME", &home)], &words);
    let asked = missing(&log, &["/home/.gitconfig", "/home/.config/git/config"]);
    // With -v the log has the environment; only variables that rules name are read from it.
    strace(&["-f", "-v", "-s", "4096"], &log, &[("HOME", &home)], &words);
    let ran = run_in(folder.path(), &[], &words);
    let read = needless_in(folder.path(), &["read", "--format", "json", "log"]);
    let read: Value = serde_json::from_slice(&read.stdout).unwrap();
    for report in [&ran, &read] {
        assert_eq!(needless_of(report, "git-home-config"), asked, "{report:#}");
        let of = finding(report, "git-home-config");
        assert_eq!(advised(of, "GIT_CONFIG_GLOBAL"), ["/dev/null"]);
        assert_eq!(of["remedies"][0]["safety"], "caveat");
    }
    let home = folder.path().join("home");
    let done = command(NEEDLESS)
        .current_dir(folder.path())
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["run", "--rule", "git-home-config", "--"])
        .args(words)
        .output()
        .unwrap();
    assert!(stderr(&done).contains("nothing needless found"), "{}", stderr(&done));
}

#[test]
fn what_a_rule_of_ones_own_finds_is_found_by_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut log =
        String::from("1 execve(\"/usr/bin/perl\", [\"perl\"], 0x7ffd0000 /* 0 vars */) = 0\n");
    log += "1 openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n";
    log += "1 openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n";
    log += &"1 newfstatat(AT_FDCWD, \"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=114, ...}, 0) = 0\n".repeat(50);
    fs::write(folder.path().join("log"), log).unwrap();
    let found = || -> Vec<(String, u64)> {
        let done = needless_in(folder.path(), &["read", "log", "--format", "json"]);
        let report: Value = serde_json::from_str(&stdout(&done)).unwrap();
        let of = |finding: &Value| {
            (finding["rule"].as_str().unwrap().to_owned(), finding["needless"].as_u64().unwrap())
        };
        report["findings"].as_array().unwrap().iter().map(of).collect()
    };
    assert_eq!(found(), [("tz-unset".to_owned(), 50)]);
    let rule = r#"
[[rule]]
name = "my-stat"
calls = "stat"
path = ["/etc/localtime"]
program = "perl"
message = "perl asks for the zone"
why = "It asks."
remedy = { text = "Ask once.", caveat = "None." }

[[rule.example]]
trace = '''
execve("/usr/bin/perl", ["perl"], 0x7ffd2f3b6dd8 /* 35 vars */) = 0
stat("/etc/localtime", {st_mode=S_IFREG|0644, st_size=114, ...}) = 0
'''
finding = "my-stat: 1 of 1"

[[rule.example]]
trace = '''
execve("/usr/bin/date", ["date"], 0x7ffd2f3b6dd8 /* 35 vars */) = 0
stat("/etc/localtime", {st_mode=S_IFREG|0644, st_size=114, ...}) = 0
'''
finding = "nothing"
"#;
    fs::write(folder.path().join("needless.toml"), rule).unwrap();
    assert_eq!(found(), [("my-stat".to_owned(), 50)]);
}

#[test]
fn rates_and_calls_without_a_path() {
    let folder = folder();
    let waits = run_in(folder.path(), &[], &["sh", "-c", WAITING]);
    assert_eq!(needless_of(&waits, "busy-wait"), 300, "{waits:#}");
    let slow = "i=0; while [ $i -lt 110 ] && ! [ -e /run/nowhere ]; do i=$((i+1)); done; sleep 7";
    assert_eq!(found(&run_in(folder.path(), &["--rule", "busy-wait"], &["sh", "-c", slow])), []);
    let dd = ["dd", "if=/dev/zero", "of=/dev/null", "count=6000", "status=none"];
    let counted = run_in(folder.path(), &["--all"], &dd);
    // The dynamic linker reads, too.
    assert!((12_000..12_010).contains(&needless_of(&counted, "dd-tiny-blocks")), "{counted:#}");
    // No built-in rule reports the same calls again.
    let all = counted["findings"].as_array().unwrap();
    assert!(all.iter().all(|one| one["rule"] != "unbuffered-output"), "{counted:#}");
    // A tracer stops at every call only on demand.
    let without = run_in(folder.path(), &["--backend", "ptrace"], &dd);
    let skipped = without["not_checked"].as_array().unwrap();
    let skipped = skipped.iter().find(|one| one["rule"] == "dd-tiny-blocks").unwrap();
    assert_eq!(skipped["needs"], serde_json::json!(["all_calls"]));
}

#[test]
fn running_programs_are_judged_alike() {
    if !observes_others() {
        return;
    }
    let folder = folder();
    let script = "while ! [ -e /run/nowhere ]; do :; done";
    let mut waits = command("sh").args(["-c", script]).spawn().unwrap();
    let pid = waits.id().to_string();
    let window = ["--for", "2s", "--rule", "busy-wait", "--format", "json", "--fail-on", "any"];
    let attached = needless_in(folder.path(), &[&["attach", &pid], &window[..]].concat());
    let host = needless_in(folder.path(), &[&["host", "--top", "0"], &window[..]].concat());
    waits.kill().unwrap();
    waits.wait().unwrap();
    for done in [attached, host] {
        assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        let ours = |f: &&Value| f["process"]["pid"] == waits.id();
        let all = report["findings"].as_array().unwrap();
        let one = all.iter().find(ours).unwrap_or_else(|| panic!("{report:#}"));
        assert!(one["per_second"].as_f64().unwrap() >= 20.0, "{one:#}");
    }
}

#[test]
fn a_rule_is_listed_explained_and_chosen_by_name() {
    let folder = folder();
    let deep = folder.path().join("home/deep");
    let table = stdout(&needless_in(&deep, &["explain"]));
    assert!(table.starts_with("git-home-config") && table.contains("tz-unset"), "{table}");
    let json = needless_in(&deep, &["explain", "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["rules"][0]["variables"], serde_json::json!(["GIT_CONFIG_GLOBAL"]));
    assert!(json["rules"][0]["declared"].as_str().unwrap().ends_with("needless.toml:1"));
    let page = stdout(&needless_in(&deep, &["explain", "busy-wait"]));
    assert!(page.contains("It waits with [ -e FILE ]") && page.contains("## Not a finding"));
    let none = needless_in(&deep, &["--no-config", "explain", "busy-wait"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("busy-wait: no such rule; `needless explain` lists them"));
    let only = run_in(folder.path(), &["--rule", "tz-unset"], &["sh", "-c", WAITING]);
    assert_eq!(found(&only), []);
}

#[test]
fn a_wrong_file_is_refused_in_one_line_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rule = &blocks()[0];
    let ignore = "[[ignore]]\nrule = \"tz-unset\"\n";
    for (text, said) in [
        ("[[rule".to_owned(), "bad.toml:1:7: "),
        ("a = 1\n".to_owned(), "bad.toml:1:1: unknown field `a`"),
        (rule.replace("\"missing\"", "\"mising\""), "bad.toml:5:11: \"mising\" is not an outcome"),
        (rule.replace("\"access\"", "\"a b\""), "bad.toml:3:9: \"a b\" is not a system call"),
        (rule.replace("\"access\"", "\"getppid\""), "bad.toml:1:1: getppid names no path"),
        (rule.replace("git-home-config\"", "tz-unset\""), "bad.toml:2:8: \"tz-unset\" is the name"),
        (rule.replace("env = {", "enf = {"), "bad.toml:7:1: unknown field `enf`"),
        (rule.replace("at-least = 6", "at-least = 0"), "bad.toml:8:12: at-least is 1"),
        (rule.replace("finding = \"nothing\"", "finding = \"x-y: 1 of 1\""), "lacks an example"),
        (format!("{rule}{rule}"), "is declared in bad.toml:1 already"),
        (ignore.to_owned(), "missing field `reason`"),
        (format!("{ignore}reason = ' '\n"), "bad.toml:3:10: the reason is empty"),
        (format!("{ignore}reason = 'x'\nuntil = 2027-01-01T10:00:00Z\n"), "bad.toml:4:9: `until`"),
        (format!("{ignore}reason = 'x'\n").replace("unset", "unsett"), "bad.toml:1: there is no"),
    ] {
        fs::write(folder.path().join("bad.toml"), &text).unwrap();
        let args = ["run", "--config", "bad.toml", "--", "touch", "ran"];
        let done = needless_in(folder.path(), &args);
        assert_eq!(done.status.code(), Some(125), "{text}");
        assert!(assert_one_line(&done).contains(said), "{said}: {}", stderr(&done));
    }
    fs::write(folder.path().join("bad.toml"), b"\xff").unwrap();
    for path in ["bad.toml", "nowhere.toml", "/proc/self/fd"] {
        let done = needless_in(folder.path(), &["read", "--config", path, "log"]);
        assert_eq!(done.status.code(), Some(2), "{path}");
        assert!(assert_one_line(&done).contains(path));
    }
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_file_of_a_stranger_is_not_read() {
    let folder = folder();
    let Some(()) = root() else { return };
    let file = folder.path().join("needless.toml");
    std::os::unix::fs::chown(&file, Some(4711), None).unwrap();
    let done = needless_in(folder.path(), &["explain"]);
    assert!(assert_one_line(&done).contains("belongs to user 4711"));
    assert!(!stdout(&done).contains("busy-wait"));
    std::os::unix::fs::chown(&file, Some(0), None).unwrap();
    let refused = |why: &str| {
        let done = needless_in(folder.path(), &["explain"]);
        assert!(
            assert_one_line(&done).contains(&format!("is not read: others may write to {why}; "))
        );
        assert!(!stdout(&done).contains("busy-wait"));
    };
    fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    refused("it");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    refused(folder.path().to_str().unwrap());
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    if needed(grant_write_to_user_nobody(&file)).is_some() {
        refused("it");
    }
    let done = needless_in(folder.path(), &["--config", "needless.toml", "explain"]);
    assert!(done.stderr.is_empty() && stdout(&done).contains("busy-wait"));
}

#[test]
fn a_long_file_takes_time_in_proportion() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |at: usize| {
        format!("[[ignore]]\nrule = \"tz-unset\"\nprogram = \"p{at}\"\nreason = \"x\"\n")
    };
    let mut text: String = (0..60_000).map(entry).collect();
    let rule = |at: usize| {
        format!(
            "[[rule]]\nname = \"my-rule-{at}\"\ncalls = \"access\"\npath = \"/p{at}\"\n\
             message = \"m\"\nwhy = \"W.\"\nremedy = {{ text = \"do\", caveat = \"C.\" }}\n\
             [[rule.example]]\ntrace = \"\"\nfinding = \"nothing\"\n\
             [[rule.example]]\ntrace = \"\"\nfinding = \"my-rule-{at}: 6 of 6\"\n"
        )
    };
    text.extend((0..10_000).map(rule));
    // The last entry is invalid, so all of the file is read and nothing is run.
    text += "[[ignore]]\nrule = \"no-such\"\nreason = \"x\"\n";
    fs::write(folder.path().join("needless.toml"), text).unwrap();
    // If each entry needed a pass over the whole text, this would take hours; it takes a second.
    let script = format!("ulimit -t 100; exec {NEEDLESS} run -- true");
    let done = command("sh").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
    assert_eq!(done.status.code(), Some(125), "{}", stderr(&done));
    let line = 60_000 * 4 + 10_000 * 13 + 1;
    let line_said = assert_one_line(&done);
    assert!(line_said.contains(&format!("needless.toml:{line}: there is no rule")), "{line_said}");
}
