//! A fleet that does not exist, and the program asked about it.

use needless_synthetic_fleet::Fleet;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Large enough for each thing that is planted in it, and small enough for an engine that is not optimised.
pub(crate) const FLEET: Fleet = Fleet { seed: 20, hosts: 24, days: 8, windows: 2, rows: 10 };
/// The start of the second half of its time.
pub(crate) const HALF: &str = "2026-11-05";
/// The start of its last quarter.
pub(crate) const LAST_QUARTER: &str = "2026-11-07";

/// Every question, with the words that it needs.
pub(crate) const ALL: [&[&str]; 11] = [
    &["causes"],
    &["hosts", "tz-unset"],
    &["services"],
    &["service", "app.service"],
    &["days"],
    &["new", "--since", LAST_QUARTER],
    &["gone", "--since", HALF],
    &["states", "--since", HALF],
    &["saved", "--since", HALF],
    &["agents"],
    &["coverage"],
];

pub(crate) fn asked(words: &[&str], places: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_needless-fleet")).args(words).args(places).output().unwrap()
}

pub(crate) fn stderr(done: &Output) -> String {
    String::from_utf8(done.stderr.clone()).unwrap()
}

/// The answer as text, where nothing was left out.
pub(crate) fn text(words: &[&str], place: &Path) -> String {
    let done = asked(words, &[place]);
    assert!(done.status.success() && done.stderr.is_empty(), "{words:?}: {}", stderr(&done));
    String::from_utf8(done.stdout).unwrap()
}

/// The rows of an answer, where nothing was left out.
pub(crate) fn rows(words: &[&str], place: &Path) -> Vec<Value> {
    let mut words = words.to_vec();
    words.extend(["--format", "json"]);
    serde_json::from_str(&text(&words, place)).unwrap()
}
