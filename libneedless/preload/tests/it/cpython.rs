//! CPython's own tests of time and datetime have the same results with the library as without it.

use crate::common::run;
use needless_fixtures::needed;
use std::process::Command;

/// A python3 that has its test suite: the system's, or the one on PATH.
fn python() -> Option<&'static str> {
    let has_tests = |name: &&str| {
        let asked = Command::new(name).args(["-c", "import test.test_time"]).output();
        asked.is_ok_and(|out| out.status.success())
    };
    let found = ["/usr/bin/python3", "python3"].into_iter().find(has_tests);
    needed(found.ok_or("no python3 with its tests (libpython3.N-testsuite)".into()))
}

/// How many tests ran and how they ended, without the time that they took.
fn results(python: &str, name: &str, tz: Option<&str>, preloaded: bool) -> String {
    let mut command = Command::new(python);
    command.args(["-m", "unittest", "-q", name]);
    let out = run(&mut command, tz, preloaded);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name}, TZ={tz:?}, preloaded {preloaded}: {said}");
    let lines = said.lines().filter(|line| line.starts_with("Ran ") || line.starts_with("OK"));
    lines.map(|line| line.split(" in ").next().unwrap_or(line)).collect::<Vec<_>>().join(", ")
}

#[test]
#[ignore = "long: two minutes of Python's own tests"]
fn tests_of_time_and_datetime_pass() {
    let Some(python) = python() else { return };
    // The second takes twenty seconds each time.
    let zone = Some("America/New_York");
    for (name, tz) in
        [("test.test_time", None), ("test.test_time", zone), ("test.test_datetime", None)]
    {
        let without = results(python, name, tz, false);
        let with = results(python, name, tz, true);
        println!("{name}, TZ={tz:?}: {with}");
        assert!(with.starts_with("Ran ") && with.contains(", OK"), "{with}");
        assert_eq!(with, without);
    }
}
