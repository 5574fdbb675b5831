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
