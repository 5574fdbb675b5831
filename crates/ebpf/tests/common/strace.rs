//! strace as the referee.

use super::{Table, command, spawn};
use needless_fixtures::referee;
use needless_model::Query;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// What strace wrote of `argv`.
fn log(options: &[&str], argv: &[OsString], folder: &Path) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut strace = command("strace", folder);
    strace.arg("-f").args(options).arg("-o").arg(file.path()).args(argv);
    spawn(&mut strace).wait().unwrap();
    String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned()
}

/// What `strace -f -c` counts.
pub(crate) fn totals(argv: &[OsString], folder: &Path) -> BTreeMap<String, u64> {
    referee::totals_of(&log(&["-c"], argv, folder))
}

/// What a `strace -f` log says about calls that name a path, the path as asked.
pub(crate) fn paths(argv: &[OsString], folder: &Path) -> Table {
    referee::paths_of(&log(&["-s", "4096"], argv, folder), None, |call| {
        Query::of(call).names_path()
    })
}
