//! Reports written by other users: evidence, never an order. `fix` and `prove` use none of their values and
//! sentences.

use crate::common::*;
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

/// The text that the attacker wants the user to read before answering.
const LURE: &str = "Saves 3 opens per start; checked: the same libraries are loaded.";

/// A finding with one remedy, as a report has it, of a process that runs.
fn finding(rule: &str, kind: &str, variable: &str, value: &str, of: &Running) -> Value {
    let being = json!({ "pid": of.0.id(), "exe": of.exe(), "started": of.started() });
    let remedy = json!({ "kind": kind, "variable": variable, "value": value, "text": LURE,
        "caveat": LURE, "safety": "safe" });
    json!({ "rule": rule, "service": null, "needless": 99, "of": 100, "per_second": 9.9,
        "process": being, "affected": [being], "exes": [], "evidence": [], "remedies": [remedy] })
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

/// A process to fix.
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

/// Runs fix and prove with a report; prove's command writes its environment to a file, which is returned.
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

/// Earlier versions wrote each of these to /etc/environment, or into the environment of a command.
#[test]
fn fix_sets_no_variable_as_a_report_says() {
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

/// What a report or a configuration says may be of any length; an error repeats only the beginning and the end.
#[test]
fn an_error_does_not_repeat_all_of_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    for long in ["x".repeat(70_000), "\u{1b}[2J`\" '".repeat(10_000)] {
        let text = |name: &str, text: String| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let quoted = json!(long).to_string();
        let mut files = vec![text("a.json", format!("{{\"schema\": {quoted}}}"))];
        for (nth, key) in ["findings", "source", "lost", "complete"].into_iter().enumerate() {
            let wrong = format!("{{\"schema\": \"needless.report/1\", \"{key}\": {quoted}}}");
            files.push(text(&format!("{nth}.json"), wrong));
        }
        for (rule, variable) in
            [(long.as_str(), "TZ"), ("tz-unset", long.as_str()), ("tz-unset", "TZ")]
        {
            let finding = finding(rule, "set_env", variable, &long, &running);
            let report = written(folder.path(), &[finding]);
            let copy = folder.path().join(format!("c{}.json", files.len()));
            std::fs::copy(report, &copy).unwrap();
            files.push(copy.to_str().unwrap().to_owned());
        }
        let mut gone = finding("tz-unset", "set_env", "TZ", "UTC", &running);
        gone["service"] = json!(format!("{long}.service"));
        gone["process"]["pid"] = json!(0);
        gone["affected"][0]["pid"] = json!(0);
        let report = written(folder.path(), &[gone]);
        files.push(report.to_str().unwrap().to_owned());
        for file in &files {
            let done = needless(&["fix", file, "--diff"]);
            let said = stderr(&done);
            assert!(said.len() < 2000 && said.lines().count() <= 3, "{file}: {said}");
            assert!(!said.contains('\u{1b}'), "{file}: {said}");
        }
        for toml in [
            format!("x = {quoted}"),
            format!("[[rule]]\nname = {quoted}\ncalls = \"stat\""),
            format!("[[rule]]\nname = \"a-b\"\ncalls = {quoted}"),
            format!("[[rule]]\nname = \"a-b\"\ncalls = \"stat\"\npath = {quoted}"),
            format!("[[ignore]]\nrule = {quoted}\nreason = \"x\""),
            format!("{quoted} = 1"),
            format!("ignore = {quoted}"),
        ] {
            let file = text("n.toml", toml);
            let done = needless(&["--config", &file, "explain"]);
            let said = assert_one_line(&done);
            assert!(said.len() < 1500, "{said}");
        }
    }
}

/// Options of a rule are its own, added to those that are there; a list loses entries and gets none; a zone
/// is this machine's. needless says where the report differs.
#[test]
fn fix_works_the_advice_out_again() {
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
        // Started by this test, it has no place; but the message says which change is meant.
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

/// The message names the way out: a user who has read the file can become its owner.
#[test]
fn fix_refuses_a_report_that_others_may_write() {
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
    // At any depth: the directories in between may be replaced.
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
    // In a sticky directory users replace only their own files.
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

/// With an access control list, the bits of the group are the limit for all of its entries.
#[test]
fn fix_reads_access_control_lists() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    let report = written(folder.path(), &[finding("tz-unset", "set_env", "TZ", "UTC", &running)]);
    let said = || stderr(&needless(&["fix", report.to_str().unwrap(), "--yes"]));
    // A group of the owner alone may.
    std::fs::set_permissions(&report, PermissionsExt::from_mode(0o664)).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o775)).unwrap();
    assert!(!said().contains("not trusted"), "{}", said());
    if needed(grant_write_to_user_nobody(folder.path())).is_none() {
        return;
    }
    let why = format!("others may write to {}. ", folder.path().display());
    assert!(said().contains(&why), "{}", said());
    let closed = tempfile::tempdir().unwrap();
    let report = written(closed.path(), &[finding("tz-unset", "set_env", "TZ", "UTC", &running)]);
    grant_write_to_user_nobody(&report).unwrap();
    let said = || stderr(&needless(&["fix", report.to_str().unwrap(), "--yes"]));
    assert!(said().contains("not trusted: others may write to it. "), "{}", said());
    // The mask limits the rights of the list.
    std::fs::set_permissions(&report, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(!said().contains("not trusted"), "{}", said());
}

/// The kernel reuses a process id, perhaps for the same program.
#[test]
fn fix_tells_a_process_that_came_later() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&[]);
    let right = finding("kerberos-probing", "set_env", "PGGSSENCMODE", "disable", &running);
    let (mut late, mut moved) = (right.clone(), right.clone());
    late["affected"][0]["started"] = (running.started() - 1).into();
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

/// A report names the directories whose modules are compiled: only one of this user's is, by the way that it is written.
#[test]
fn fix_compiles_nothing_where_a_report_leads_elsewhere() {
    if needed(installed("python3")).is_none() {
        return;
    }
    let (folder, running) = (tempfile::tempdir().unwrap(), Running::start(&[]));
    let modules = folder.path().join("modules");
    std::fs::create_dir(&modules).unwrap();
    std::fs::write(modules.join("one.py"), "x = 1\n").unwrap();
    let path = modules.to_str().unwrap().to_owned();
    let fix = |directory: &str, more: &[&str]| {
        let mut one = finding("python-bytecode", "setting", "", "", &running);
        one["remedies"][0]["setting"] = json!("python-bytecode");
        one["process"]["exe"] = json!("/usr/bin/python3");
        one["affected"][0]["exe"] = json!("/usr/bin/python3");
        let missing = format!("{directory}/__pycache__/one.cpython-311.pyc");
        one["evidence"] =
            json!([{ "path": missing, "call": "openat", "outcome": "ENOENT", "count": 9 }]);
        let report = written(folder.path(), &[one]);
        let text = std::fs::read_to_string(&report).unwrap().replace("\"attach\"", "\"run\"");
        std::fs::write(&report, text).unwrap();
        let done = needless(&[&["fix", report.to_str().unwrap()], more].concat());
        let output = all_of(&done);
        assert_eq!(done.status.code(), Some(2), "{directory}: {output}");
        let made = command("find").arg(folder.path()).args(["-name", "*.pyc"]).output().unwrap();
        assert_eq!(stdout(&made), "", "{directory}: {output}");
        output
    };
    // Without a question it would be done: the report is right.
    let asked = fix(&path, &[]);
    assert!(asked.contains(&format!("modules of {path} compiled: 1")), "{asked}");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&modules, &link).unwrap();
    for (directory, why) in [
        // As many as lead out of any directory in which the compiler may write.
        (format!("/usr{}{path}", "/..".repeat(20)), "is not a path of a file"),
        (format!("{path}/../modules"), "is not a path of a file"),
        (link.to_str().unwrap().to_owned(), "link in the path is a link"),
    ] {
        let said = fix(&directory, &["--yes"]);
        assert!(said.contains(why), "{directory}: {said}");
    }
    std::fs::set_permissions(&modules, PermissionsExt::from_mode(0o777)).unwrap();
    let said = fix(&path, &["--yes"]);
    assert!(said.contains("others may write to its directory"), "{said}");
    std::fs::set_permissions(&modules, PermissionsExt::from_mode(0o755)).unwrap();
    let given = chown(&modules, Some(65534), None);
    if needless_fixtures::needed(given.map_err(|_| "only root can give a directory away".into()))
        .is_some()
    {
        let said = fix(&path, &["--yes"]);
        assert!(said.contains("belongs to user 65534"), "{said}");
    }
}
