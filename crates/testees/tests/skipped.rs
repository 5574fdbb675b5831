//! A skipped test is counted with its reason, and fails where CI is set. The tests below run tests
//! of this file: those that do something only when asked by a variable.

use needless_testees::{SKIPPED_FILE, needed, skipped};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ASKED: &str = "NEEDLESS_TEST_SKIPS";

#[test]
fn lacks_two_things() {
    if std::env::var_os(ASKED).is_some() {
        skipped("not  root\nat all");
        assert_eq!(needed::<()>(Err("no strace".into())), None);
    }
}

#[test]
fn lacks_one_thing() {
    if std::env::var_os(ASKED).is_some() {
        skipped("no strace");
    }
}

fn file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&file);
    file
}

fn run_tests(file: &Path, ci: Option<&str>) -> Output {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "lacks_two_things", "lacks_one_thing"]);
    tests.env(ASKED, "1").env(SKIPPED_FILE, file).env_remove("CI");
    tests.envs(ci.map(|ci| ("CI", ci))).output().unwrap()
}

/// What scripts say at their end, and whether they succeed.
fn last_line(file: &Path, ci: Option<&str>) -> (String, bool) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sh = Command::new("sh");
    sh.args(["-c", ". scripts/lib.sh; say_skipped"]).current_dir(top);
    sh.env(SKIPPED_FILE, file).env_remove("CI").envs(ci.map(|ci| ("CI", ci)));
    let done = sh.output().unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    (String::from_utf8(done.stdout).unwrap(), done.status.success())
}

#[test]
fn skipped_tests_are_counted_by_reason() {
    let file = file("counted");
    for _ in 0..2 {
        // Twice, as the program's tests run with each backend: the same test counts once.
        let done = run_tests(&file, None);
        assert!(done.status.success(), "{done:?}");
    }
    let said = "\nskipped: 2 tests: 2 no strace, 1 not root at all\n";
    assert_eq!(last_line(&file, None), (said.to_owned(), true));
    assert_eq!(last_line(&file, Some("true")), (said.to_owned(), false));
    let names = std::fs::read_to_string(&file).unwrap();
    assert!(names.contains("no strace\tskipped::lacks_one_thing\n"), "{names}");
}

#[test]
fn with_ci_set_a_skipped_test_fails() {
    let file = file("failed");
    let done = run_tests(&file, Some("true"));
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(!done.status.success(), "{said}");
    assert!(said.contains("with CI set no test may be skipped: not root at all"), "{said}");
    assert!(said.contains("0 passed; 2 failed"), "{said}");
    assert!(run_tests(&file, Some("")).status.success(), "an empty variable is as good as none");
}

#[test]
fn where_nothing_was_skipped_the_last_line_says_so() {
    let file = file("none");
    std::fs::write(&file, "").unwrap();
    for ci in [None, Some("true")] {
        assert_eq!(last_line(&file, ci), ("\nskipped: none\n".to_owned(), true));
    }
}
