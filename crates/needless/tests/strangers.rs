//! Reports of strangers: what one says is evidence, never an order. No value and no sentence of it is used, by
//! `fix` or by `prove`.

mod common;
use common::*;
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

/// What the attacker would like to have read at the question.
const LURE: &str = "Saves 3 opens per start; checked: the same libraries are loaded.";

/// A finding with one remedy, as a report has it, of a process that runs.
fn finding(rule: &str, kind: &str, variable: &str, value: &str, of: &Running) -> Value {
    let being = json!({ "pid": of.0.id(), "exe": of.exe(), "started": of.started() });
    let remedy = json!({ "kind": kind, "variable": variable, "value": value, "text": LURE,
        "caveat": LURE, "safety": "safe" });
    json!({ "rule": rule, "service": null, "needless": 99, "of": 100, "per_second": 9.9,
        "process": being, "whom": [being], "exes": [], "evidence": [], "remedies": [remedy] })
}

fn written(folder: &Path, findings: &[Value]) -> PathBuf {
    let report = json!({ "schema": "needless.report/1", "backend": "eBPF",
        "source": { "kind": "attach", "name": "host" }, "complete": true, "window_s": 10.0,
        "totals": { "calls": 100, "path_calls": 100, "cpu_user_s": null, "cpu_sys_s": null },
        "lost": {}, "findings": findings });
    let file = folder.join("report.json");
    std::fs::write(&file, report.to_string()).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    file
}

/// A process to be helped.
struct Running(Child);

impl Running {
    fn start(env: &[(&str, &str)]) -> Running {
        let mut sleep = command("sleep");
        Running(sleep.arg("100").envs(env.iter().copied()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn exe(&self) -> String {
        let exe = format!("/proc/{}/exe", self.0.id());
        std::fs::read_link(exe).unwrap().to_str().unwrap().to_owned()
    }

    fn started(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs fix and prove with a report; prove's command writes its environment to a file, which is given.
fn both(folder: &Path, report: &Path, env: &[(&str, &str)]) -> (Output, Output, String) {
    let report = report.to_str().unwrap();
    let fix = needless(&["fix", report, "--yes"]);
    let seen = folder.join("seen");
    let mut prove = command(NEEDLESS);
    prove.args(["prove", report, "--runs", "1", "--", "sh", "-c"]);
    prove.arg(format!("env >>{}", seen.display())).envs(env.iter().copied());
    let prove = prove.output().unwrap();
    let seen = std::fs::read_to_string(&seen).unwrap_or_default();
    let _ = std::fs::remove_file(folder.join("seen"));
    (fix, prove, seen)
}

fn all_of(done: &Output) -> String {
    stdout(done) + &stderr(done)
}

/// Each of these was once written to /etc/environment, or put into the environment of a command.
#[test]
fn no_variable_is_set_as_a_report_says() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    let evil = "/tmp/evil";
    for (rule, variable, value) in [
        ("tz-unset", "LD_LIBRARY_PATH", evil),
        ("tz-unset", "LD_PRELOAD", "/tmp/evil.so"),
        ("tz-unset", "LD_AUDIT", "/tmp/evil.so"),
        ("tz-unset", "JAVA_TOOL_OPTIONS", "-javaagent:/tmp/evil.jar"),
        ("tz-unset", "PATH", evil),
        ("tz-unset", "GCONV_PATH", evil),
        ("tz-unset", "LOCPATH", evil),
        ("tz-unset", "NODE_OPTIONS", "--require=/tmp/evil.js"),
        ("tz-unset", "BASH_ENV", evil),
        ("tz-unset", "PYTHONSTARTUP", evil),
        ("library-search", "LD_LIBRARY_PATH", evil),
        ("preload-missing", "LD_PRELOAD", "/tmp/evil.so"),
        ("command-search", "PATH", evil),
        ("python-path", "PYTHONPATH", evil),
        ("perl-path", "PERL5LIB", evil),
        ("ruby-path", "RUBYLIB", evil),
        ("node-path", "NODE_PATH", evil),
        ("converter-path", "GCONV_PATH", evil),
        ("message-path", "NLSPATH", evil),
        ("host-aliases", "HOSTALIASES", evil),
        ("data-directories", "XDG_DATA_DIRS", evil),
        ("locale-not-installed", "LOCPATH", evil),
        ("locale-spelling", "LC_ALL", "../../tmp/evil"),
        ("catalogue-search", "LANGUAGE", "../../tmp/evil"),
        ("no-such-rule", "TZ", evil),
    ] {
        let report = written(folder.path(), &[finding(rule, "set_env", variable, value, &running)]);
        let (fix, prove, seen) = both(folder.path(), &report, &[]);
        for done in [&fix, &prove] {
            let output = all_of(done);
            assert_eq!(done.status.code(), Some(2), "{rule} {variable}: {output}");
            assert!(output.contains("not take it from a report"), "{rule} {variable}: {output}");
            assert!(output.contains(&format!("--set {variable}=VALUE")), "{variable}: {output}");
            assert!(
                !output.contains("evil") && !output.contains(LURE),
                "{rule} {variable}: {output}"
            );
        }
        assert_eq!(seen, "", "{rule} {variable}: the command was run");
    }
}

/// Options of a rule are its own, added to those that are there; a list loses entries and gets none; a zone is
/// this machine's. That the report has it otherwise is said.
#[test]
fn what_a_rule_advises_is_worked_out_here() {
    let folder = tempfile::tempdir().unwrap();
    let lists = "/opt/one:/opt/two:/opt/three";
    for (rule, variable, value, now, becomes) in [
        ("library-search", "LD_LIBRARY_PATH", "/tmp/evil:/opt/two", lists, "/opt/two"),
        ("data-directories", "XDG_DATA_DIRS", "/opt/three:/tmp/evil", lists, "/opt/three"),
        ("heap-trim-churn", "MALLOC_TRIM_THRESHOLD_", "1", "", "268435456"),
        ("resolver-reread", "RES_OPTIONS", "evil", "rotate", "rotate no-reload"),
        (
            "java-monitoring-file",
            "JAVA_TOOL_OPTIONS",
            "-javaagent:/tmp/evil.jar",
            "-Xmx1g",
            "-Xmx1g -XX:-UsePerfData",
        ),
        ("kerberos-probing", "PGGSSENCMODE", "evil", "", "disable"),
    ] {
        let env = [(variable, now)];
        let env = if now.is_empty() { &[][..] } else { &env };
        let running = Running::start(env);
        let report = written(folder.path(), &[finding(rule, "set_env", variable, value, &running)]);
        let (fix, prove, seen) = both(folder.path(), &report, env);
        assert!(prove.status.code() < Some(2), "{rule}: {}", stderr(&prove));
        let says = format!("what the rule advises here is {variable}={becomes}");
        assert!(stderr(&prove).contains(&says), "{rule}: {}", stderr(&prove));
        assert!(seen.contains(&format!("{variable}={becomes}\n")), "{rule}: {seen}");
        assert!(!seen.contains("evil"), "{rule}: {seen}");
        // Started by this test, it has no place of its own: but which change is meant is said.
        let output = all_of(&fix);
        assert_eq!(fix.status.code(), Some(2), "{rule}: {output}");
        assert!(output.contains(&says), "{rule}: {output}");
        assert!(output.contains(&format!("{variable}={becomes}: not done by a tool")), "{output}");
        assert!(!output.contains(LURE), "{output}");
    }
    let running = Running::start(&[]);
    let tz = finding("tz-unset", "set_env", "TZ", "Europe/Evil", &running);
    let report = written(folder.path(), &[tz]);
    let (_, prove, seen) = both(folder.path(), &report, &[]);
    assert!(!seen.contains("Evil") && !stdout(&prove).contains("Evil"), "{seen}");
}

/// With the way out: whoever knows what is in it makes it their own.
#[test]
fn the_report_of_another_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    let tz = || finding("tz-unset", "set_env", "TZ", "UTC", &running);
    let refused = |report: &Path, why: &str| {
        let (fix, prove, seen) = both(folder.path(), report, &[]);
        for done in [&fix, &prove] {
            assert_eq!(done.status.code(), Some(2), "{}", all_of(done));
            let said = assert_one_line(done);
            assert!(said.contains(why), "{why}: {said}");
        }
        assert_eq!(seen, "");
    };
    let report = written(folder.path(), &[tz()]);
    for mode in [0o666, 0o646] {
        std::fs::set_permissions(&report, PermissionsExt::from_mode(mode)).unwrap();
        refused(&report, "others may write to it");
    }
    std::fs::set_permissions(&report, PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let its_directory = format!("others may write to {}. ", folder.path().display());
    refused(&report, &its_directory);
    // However deep it is below: the directories between may be replaced.
    let deep = folder.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    refused(&written(&deep, &[tz()]), &its_directory);
    // So may the link that leads to it.
    let (elsewhere, link) = (tempfile::tempdir().unwrap(), folder.path().join("link"));
    let closed = written(elsewhere.path(), &[tz()]);
    std::os::unix::fs::symlink(&closed, &link).unwrap();
    refused(&link, &its_directory);
    // And what a link in a closed directory leads to.
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(&report, &link).unwrap();
    refused(&link, &its_directory);
    // As /tmp is.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    let (fix, ..) = both(folder.path(), &report, &[]);
    assert!(!stderr(&fix).contains("not trusted"), "{}", stderr(&fix));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let pipe = folder.path().join("pipe");
    let made = command("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    refused(&pipe, "not a regular file");
    let given = chown(&report, Some(65534), None);
    if needless_fixtures::needed(given.map_err(|_| "only root can give a file away".into()))
        .is_none()
    {
        return;
    }
    refused(&report, "it belongs to user 65534");
    // In a sticky directory everybody replaces their own.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
    refused(&link, "belongs to user 65534");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let own = folder.path().join("own.json");
    std::fs::copy(&report, &own).unwrap();
    let (fix, ..) = both(folder.path(), &own, &[]);
    assert!(!stderr(&fix).contains("not trusted"), "{}", stderr(&fix));
}

/// With a list, the bits of the group say what anybody in it may do, whoever the group is.
#[test]
fn access_control_lists_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    let report = written(folder.path(), &[finding("tz-unset", "set_env", "TZ", "UTC", &running)]);
    let said = || stderr(&needless(&["fix", report.to_str().unwrap(), "--yes"]));
    // A group of the owner alone may.
    std::fs::set_permissions(&report, PermissionsExt::from_mode(0o664)).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o775)).unwrap();
    assert!(!said().contains("not trusted"), "{}", said());
    if needed(let_nobody_write(folder.path())).is_none() {
        return;
    }
    let why = format!("others may write to {}. ", folder.path().display());
    assert!(said().contains(&why), "{}", said());
    let closed = tempfile::tempdir().unwrap();
    let report = written(closed.path(), &[finding("tz-unset", "set_env", "TZ", "UTC", &running)]);
    let_nobody_write(&report).unwrap();
    let said = || stderr(&needless(&["fix", report.to_str().unwrap(), "--yes"]));
    assert!(said().contains("not trusted: others may write to it. "), "{}", said());
    // What the list gives is limited by its mask.
    std::fs::set_permissions(&report, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(!said().contains("not trusted"), "{}", said());
}

/// An id is given to another process in time, also one of the same program.
#[test]
fn a_process_that_came_later_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    let right = finding("kerberos-probing", "set_env", "PGGSSENCMODE", "disable", &running);
    let (mut late, mut moved) = (right.clone(), right.clone());
    late["whom"][0]["started"] = (running.started() - 1).into();
    moved["service"] = "another.scope".into();
    for (finding, ended) in [(right, false), (late, true), (moved, true)] {
        let report = written(folder.path(), &[finding]);
        let done = needless(&["fix", report.to_str().unwrap(), "--yes"]);
        assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
        let said = stderr(&done);
        assert_eq!(said.contains("the process of the report has ended"), ended, "{said}");
        assert_eq!(said.contains("PGGSSENCMODE=disable: not done by a tool"), !ended, "{said}");
    }
}
