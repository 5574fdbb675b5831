//! `fix`: the play for the hosts where a cause is open. Another test has Ansible run it on a booted system.

use crate::common::{FLEET, asked, stderr, text};
use needless_synthetic_fleet::Fleet;
use std::path::Path;

/// Two days.
const SMALL: Fleet = Fleet { hosts: 16, days: 2, windows: 1, ..FLEET };
const HALF: &str = "2026-11-02";

#[test]
fn a_play_for_the_open_ones_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    SMALL.write(folder.path()).unwrap();
    let words = ["fix", "tz-unset", "--since", HALF, "--set", "TZ=:/etc/localtime", "--restart"];
    let play = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/play.yaml");
    assert_eq!(text(&words, folder.path()), std::fs::read_to_string(play).unwrap());

    let found = text(&["fix", "tz-unset", "--since", HALF], folder.path());
    let argv =
        "argv: [\"needless\", \"fix\", \"--unit=nginx.service\", \"--rule=tz-unset\", \"--yes\"]";
    assert!(found.contains(argv), "{found}");
    // A cause is never a part of the question.
    let done = asked(&["fix", "no' OR 'a' = 'a", "--since", HALF], &[folder.path()]);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(1), 0));
    let said = stderr(&done);
    assert!(said.starts_with("needless-fleet: no' OR 'a' = 'a: it is open in no unit"), "{said}");
}

#[test]
fn a_change_that_does_not_fix_the_cause_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    SMALL.write(folder.path()).unwrap();
    for (words, status, expected) in [
        (["--set", "TZ"], 2, "expected VARIABLE=VALUE"),
        (["--set", "=UTC"], 2, "expected VARIABLE=VALUE"),
        (["--set", "FOO=bar"], 1, "--set FOO: it does not fix tz-unset; the variable is TZ"),
        (["--label", "env"], 2, "expected KEY=VALUE"),
    ] {
        let words = [["fix", "tz-unset"], ["--since", HALF], words].concat();
        let done = asked(&words, &[folder.path()]);
        let said = stderr(&done);
        assert_eq!((done.status.code(), done.stdout.len()), (Some(status), 0), "{words:?}: {said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{words:?}: {said}");
    }
}

#[test]
fn an_answer_without_rows_for_a_name_says_so() {
    let folder = tempfile::tempdir().unwrap();
    SMALL.write(folder.path()).unwrap();
    for words in
        [["hosts", "tz-unste"], ["states", "--cause=tz-unste"], ["agents", "--label=site=s"]]
    {
        let done = asked(&words, &[folder.path()]);
        assert!(done.status.success(), "{words:?}");
        assert!(stderr(&done).contains("; check the name"), "{words:?}");
        assert_eq!(done.stdout.iter().filter(|b| **b == b'\n').count(), 1, "{words:?}");
    }
    let printed = asked(&["hosts", "tz-unset", "--print-sql"], &[]);
    assert!(
        String::from_utf8(printed.stdout)
            .unwrap()
            .starts_with("-- Of needless_rows with cause = 'tz-unset'.")
    );
}
