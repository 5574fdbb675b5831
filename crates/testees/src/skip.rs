//! What a test does where the machine lacks something: it is skipped, and counted as skipped. libtest
//! shows nothing of what a passing test prints, so the count goes by a file.

use std::fmt::Display;
use std::io::Write;

/// The file to which each skipped test appends a line: its reason, a tab, its name. `scripts/test`
/// sets it, and counts the lines at the end.
pub const FILE: &str = "NEEDLESS_SKIPPED";

/// Whether no test may be skipped here: where `CI` is set.
pub fn must_run() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// Counts the running test, or a part of it, as skipped, and says why; the test is then to return, or
/// to go on with its next part. The reason is a few words ("not root"): equal ones are counted together.
///
/// # Panics
///
/// Where no test may be skipped: [`must_run`].
pub fn skipped(why: impl Display) {
    let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("skipped: {why}");
    if let Some(file) = std::env::var_os(FILE) {
        // In one write, for other tests append to it meanwhile.
        let line = format!("{why}\t{}\n", name());
        let opened = std::fs::File::options().append(true).create(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{FILE}={}: {error}", file.display()));
    }
    assert!(!must_run(), "with CI set no test may be skipped: {why}");
}

/// What a test needs of the machine: a program, a testee, a right. `None` if it is missing; the test
/// is then [`skipped`].
///
/// # Panics
///
/// Where no test may be skipped: [`must_run`].
pub fn needed<T>(what: Result<T, String>) -> Option<T> {
    what.map_err(skipped).ok()
}

/// `BINARY::TEST`. libtest names the thread after the test; a single thread of tests is "main".
fn name() -> String {
    let binary = std::env::current_exe().unwrap_or_default();
    let binary = binary.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Cargo's hash behind it differs where the same test is built with other features.
    let binary = binary.rsplit_once('-').map_or(&*binary, |(name, _hash)| name);
    format!("{binary}::{}", std::thread::current().name().unwrap_or("a thread"))
}
