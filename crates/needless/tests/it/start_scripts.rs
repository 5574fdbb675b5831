//! A variable is advised only where it came from: each backend names the program between the command and the
//! process with the needless calls that set or removed it.

use crate::common::*;
use serde_json::Value;
use std::path::Path;

const SEARCHED: &str = "LD_LIBRARY_PATH";
const EMPTY: &str = "/nonexistent/a:/nonexistent/b:/nonexistent/c";

/// The reports of `words`, run with `env` in `folder`: by each backend, and from strace's log.
fn reports(folder: &Path, env: &[(&str, &str)], words: &[&str]) -> Vec<(&'static str, Value)> {
    reports_with(&[], folder, env, words)
}

fn reports_with(
    options: &[&str],
    folder: &Path,
    env: &[(&str, &str)],
    words: &[&str],
) -> Vec<(&'static str, Value)> {
    observed_by_each_backend(folder, [options, &[&["--here"], options].concat()], env, words)
}

/// An executable script in `folder`; its path.
fn script(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    assert!(command("chmod").arg("+x").arg(&file).status().unwrap().success());
    file.to_str().unwrap().to_owned()
}

/// A script that gives the variable this value.
fn sets(folder: &Path, name: &str, value: &str) -> String {
    script(folder, name, &format!("{SEARCHED}={value}; export {SEARCHED}; exec \"$@\""))
}

/// The folder as the kernel names it, and the program with the needless calls.
fn stage() -> Option<(tempfile::TempDir, String)> {
    let program = testee("packagecloud")?;
    Some((tempfile::tempdir().unwrap(), program))
}

fn kinds(finding: &Value) -> Vec<&str> {
    finding["remedies"].as_array().unwrap().iter().map(|r| r["kind"].as_str().unwrap()).collect()
}

/// The finding offers nothing to try in front of the command, and names the program. `who`: its name in the
/// backends, and in a log.
fn is_elsewhere(backend: &str, finding: &Value, variable: &str, did: &str, who: [&str; 2]) {
    let changed = finding["remedies"].as_array().unwrap().iter().any(|r| r["variable"] == variable);
    assert!(!changed, "{backend}: {finding:#}");
    let who = who[usize::from(backend == "log")];
    let (text, why) =
        (finding["remedies"][0]["text"].as_str().unwrap(), finding["why"].as_str().unwrap());
    assert!(text.starts_with(&format!("in {who}, which ")), "{backend}: {text}");
    assert!(why.contains(&format!("was {did} by {who},")), "{backend}: {why}");
    assert_eq!(finding["remedies"][0]["kind"], "manual");
    assert_eq!(finding["remedies"][0]["safety"], "manual");
}

#[test]
fn a_wrapper_that_sets_a_variable_is_named() {
    let Some((folder, program)) = stage() else { return };
    let wrap = sets(folder.path(), "wrap", EMPTY);
    let named = format!("{wrap}, a script");
    // Started as ./wrap, it has no dot in its name.
    let dotted = format!("{}/./wrap", folder.path().display());
    for wrap in [wrap, dotted] {
        for (backend, report) in reports(folder.path(), &[], &[&wrap, &program, "10"]) {
            let finding = finding(&report, "library-search");
            is_elsewhere(backend, finding, SEARCHED, "set", [&named, &wrap]);
        }
    }
}

/// The value was there at the top: it is changed there, however many programs are executed in between.
#[test]
fn a_wrapper_that_only_passes_a_variable_on_is_not_blamed() {
    let Some((folder, program)) = stage() else { return };
    let wrap = script(folder.path(), "wrap", "exec \"$@\"");
    let env = [(SEARCHED, EMPTY)];
    for (backend, report) in reports(folder.path(), &env, &[&wrap, &program, "10"]) {
        let finding = finding(&report, "library-search");
        assert_eq!(kinds(finding), ["unset_env"], "{backend}: {finding:#}");
    }
}

#[test]
fn a_wrapper_that_removes_a_variable_is_named() {
    let Some((folder, program)) = stage() else { return };
    let wrap = script(folder.path(), "wrap", "unset TZ; exec \"$@\"");
    let named = format!("{wrap}, a script");
    let cleared = format!("{named} (by /usr/bin/env)");
    let cleared_log = format!("{wrap} (by /usr/bin/env)");
    let clears = script(folder.path(), "clears", "exec /usr/bin/env -i \"$@\"");
    let cleared = [cleared, cleared_log].map(|who| who.replace(&wrap, &clears));
    let env = [("TZ", "Etc/UTC")];
    for (words, who) in [
        ([&*wrap, &*program, "99"], [&*named, &*wrap]),
        ([&*clears, &*program, "99"], [&*cleared[0], &*cleared[1]]),
    ] {
        for (backend, report) in reports(folder.path(), &env, &words) {
            is_elsewhere(backend, finding(&report, "tz-unset"), "TZ", "removed", who);
        }
    }
    // A variable that was never set was not removed.
    for (backend, report) in reports(folder.path(), &[], &[&wrap, &program, "99"]) {
        let finding = finding(&report, "tz-unset");
        assert!(kinds(finding).contains(&"set_env"), "{backend}: {finding:#}");
    }
}

#[test]
fn the_wrapper_that_set_the_value_is_named_among_nested_ones() {
    let Some((folder, program)) = stage() else { return };
    let outer = sets(folder.path(), "outer", "/nonexistent/x");
    let inner = sets(folder.path(), "inner", EMPTY);
    let last = script(folder.path(), "last", "exec \"$@\"");
    let named = format!("{inner}, a script");
    let words = [&*outer, &inner, &last, &program, "10"];
    for (backend, report) in reports(folder.path(), &[(SEARCHED, "/nonexistent/y")], &words) {
        let findings = report["findings"].as_array().unwrap().iter();
        let wanted = findings.filter(|f| f["why"].as_str().unwrap().contains("/nonexistent/c"));
        let [finding] = wanted.collect::<Vec<_>>()[..] else { panic!("{backend}: {report:#}") };
        is_elsewhere(backend, finding, SEARCHED, "changed", [&named, &inner]);
    }
}

/// Like rustup: one executable that is called by the names of others. Only its source could change, so the
/// finding is shown on demand.
#[test]
fn run_names_a_compiled_launcher_as_it_was_called() {
    let (Some((folder, program)), Some(launcher)) = (stage(), testee("launcher")) else { return };
    let called = folder.path().join("compiler");
    std::os::unix::fs::symlink(&launcher, &called).unwrap();
    let called = called.to_str().unwrap();
    let named = format!("{called} ({launcher})");
    let set = format!("{SEARCHED}={EMPTY}");
    let words = [called, &set, &program, "10"];
    for (backend, report) in reports(folder.path(), &[], &words) {
        let found = report["findings"].as_array().unwrap().iter();
        assert!(found.clone().all(|f| f["rule"] != "library-search"), "{backend}: {report:#}");
        let who = if backend == "log" { called } else { &named };
        let said = format!("{SEARCHED} is set on the way by {who}, a compiled program");
        let notice = report["notices"][0].as_str().unwrap_or("none");
        assert!(notice.contains(&said), "{backend}: {notice}");
    }
    for (backend, report) in reports_with(&["--pedantic"], folder.path(), &[], &words) {
        let finding = finding(&report, "library-search");
        is_elsewhere(backend, finding, SEARCHED, "set", [&named, called]);
    }
}

/// No report prints a command line that would change nothing, and `fix` and `prove` say why they do nothing.
#[test]
fn no_change_in_front_of_the_command_is_advised_for_what_a_wrapper_sets() {
    let Some((folder, program)) = stage() else { return };
    let wrap = sets(folder.path(), "wrap", EMPTY);
    let reported = |format: &str, env: &[(&str, &str)], words: &[&str]| {
        let mut run = command(NEEDLESS);
        run.current_dir(folder.path()).envs(env.iter().copied());
        stderr(&run.args(["run", "--format", format, "--"]).args(words).output().unwrap())
    };
    let set = [("TZ", "UTC")];
    let full = reported("full", &set, &[&wrap, &program, "10"]);
    assert!(full.contains("library-search") && !full.contains("try:"), "{full}");
    let full = reported("full", &[set[0], (SEARCHED, EMPTY)], &[&program, "10"]);
    assert!(full.contains(&format!("try:          env -u {SEARCHED} needless run")), "{full}");
    let mut run = command(NEEDLESS);
    let run = run.current_dir(folder.path()).env("TZ", "UTC");
    let done = run.args(["run", "-o", "r.json", "--", &wrap, &program, "10"]).output().unwrap();
    assert!(done.status.success());
    for words in [&["prove", "r.json", "--", &wrap, &program, "10"][..], &["fix", "r.json"]] {
        let done = command(NEEDLESS).current_dir(folder.path()).args(words).output().unwrap();
        let said = assert_one_line(&done);
        let reason = format!("in {wrap}, a script, which sets {SEARCHED}: unset it there");
        assert!(said.contains(&reason), "{words:?}: {said}");
    }
}

/// The environments look as if it had passed the value on.
#[test]
fn a_wrapper_that_sets_a_variable_to_its_old_value_is_named() {
    let Some((folder, program)) = stage() else { return };
    let wrap = sets(folder.path(), "wrap", EMPTY);
    for (backend, report) in reports(folder.path(), &[(SEARCHED, EMPTY)], &[&wrap, &program, "10"])
    {
        let finding = finding(&report, "library-search");
        assert_eq!(kinds(finding), ["manual"], "{backend}: {finding:#}");
        let text = finding["remedies"][0]["text"].as_str().unwrap();
        assert!(text.contains(&wrap) && text.contains("assigns"), "{backend}: {text}");
    }
}

/// What is set in front of `env -i` does not arrive, also where nothing was set there before.
#[test]
fn no_variable_is_advised_in_front_of_a_wrapper_that_clears_the_environment() {
    let Some((folder, program)) = stage() else { return };
    let clears = script(folder.path(), "clears", "exec /usr/bin/env -i \"$@\"");
    for (backend, report) in reports(folder.path(), &[], &[&clears, &program, "99"]) {
        let finding = finding(&report, "tz-unset");
        assert!(!kinds(finding).contains(&"set_env"), "{backend}: {finding:#}");
        let text = finding["remedies"][0]["text"].as_str().unwrap();
        assert!(text.contains("which clears the environment"), "{backend}: {text}");
    }
}
