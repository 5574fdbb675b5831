//! `new-rule`, `new-place` and `new-format`, tried in a copy of the sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The sources of this checkout, as git lists them.
fn copy() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(checkout()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    // What is new and not committed counts, too.
    let files = git(&["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    for file in files.split_terminator('\0') {
        let (from, to) = (checkout().join(file), copy.path().join(file));
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
    }
    copy
}

fn xtask(root: &Path, args: &[&str]) -> Output {
    let here = root.join("tools/xtask");
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(args).env("CARGO_MANIFEST_DIR", here).output().unwrap()
}

fn begun(root: &Path, args: &[&str]) -> String {
    let done = xtask(root, args);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    said
}

fn refused(root: &Path, args: &[&str]) -> String {
    let done = xtask(root, args);
    assert!(!done.status.success(), "{args:?}");
    String::from_utf8(done.stderr).unwrap()
}

#[test]
fn a_name_that_is_taken_or_malformed_changes_nothing() {
    let copy = copy();
    let list = || fs::read_to_string(copy.path().join("crates/rules/src/rule.rs")).unwrap();
    let before = list();
    assert!(refused(copy.path(), &["new-rule", "time/tz-unset"]).contains("already"));
    let half_done = copy.path().join("crates/rules/src/rule/names/half_done.rs");
    fs::write(&half_done, "mine").unwrap();
    refused(copy.path(), &["new-rule", "names/half-done"]);
    assert_eq!(fs::read_to_string(half_done).unwrap(), "mine");
    for bad in
        ["", "-", "tz", "TZ-unset", "tz_unset", "tz--unset", "-tz", "tz-", "1-tz", "../x", "ä-b"]
    {
        let name = format!("time/{bad}");
        assert!(
            refused(copy.path(), &["new-rule", &name]).contains("as in time/tz-unset"),
            "{bad}"
        );
    }
    for bad in
        ["sample-search", "nowhere/sample-search", "general/sample-search", "../sample-search"]
    {
        assert!(
            refused(copy.path(), &["new-rule", bad]).contains("families are interpreters"),
            "{bad}"
        );
    }
    assert!(refused(copy.path(), &["new-format", "two-words"]).contains("as in sarif"));
    assert_eq!(list(), before);
    let said = begun(copy.path(), &["new-rule", "time/sample-search"]);
    assert!(said.contains("rule/time/sample_search.rs"), "{said}");
    let after = list();
    assert_eq!(after.replacen("        sample_search,\n", "", 1), before);
    let at = |entry: &str| after.find(entry).unwrap();
    assert!(at("        tz_unset,") < at("        sample_search,"));
    assert!(at("        sample_search,") < at("    loader {"));
}

/// Each is one file and its entry: nothing else has to change for it to compile and to pass the tests.
#[test]
#[ignore = "long: compiles three crates, some minutes of CPU the first time"]
fn what_is_begun_builds_and_passes() {
    let copy = copy();
    begun(copy.path(), &["new-rule", "names/toy-question"]);
    begun(copy.path(), &["new-place", "toy-place"]);
    begun(copy.path(), &["new-format", "toy"]);
    let cargo = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(args).current_dir(copy.path());
        // A directory of its own: cargo gives the crates of a copy the same file names as those of the checkout,
        // and would take the one for the other.
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or(checkout().join("target")).join("begun");
        command.env("CARGO_TARGET_DIR", target);
        let done = command.output().unwrap();
        let printed = [done.stdout, done.stderr].concat();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&printed));
    };
    cargo(&["fmt", "--all", "--check"]);
    cargo(&["test", "--offline", "--locked", "-p", "needless-rules", "--lib", "tests::"]);
    cargo(&[
        "test",
        "--offline",
        "--locked",
        "-p",
        "needless-environment",
        "--test",
        "it",
        "formats::",
    ]);
    cargo(&["check", "--offline", "--locked", "-p", "needless-report"]);
}
