//! Windows survive a loss of power: each was flushed before it got its name, and the directory afterwards.

use needless_fixtures::flushed::{RENAMES, not_flushed};
use needless_fixtures::program;
use std::path::Path;
use std::process::Command;

#[test]
fn a_window_is_flushed_before_it_has_a_name() {
    let Some(strace) = program("strace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    // The example beside this test's own program, which writes windows until it is killed.
    let own = std::env::current_exe().unwrap();
    let fill = own.parent().unwrap().parent().unwrap().join("examples/fill");
    let mut traced = Command::new(strace);
    traced.args(["-qq", "-o"]).arg(&log).args(RENAMES);
    traced.args(["-e", "inject=renameat2:signal=SIGKILL:when=5"]).arg(fill);
    let done = traced.arg(folder.path().join("ring")).output().unwrap();
    assert!(!done.status.success(), "it was not killed");
    let (wrong, all) = not_flushed(&std::fs::read_to_string(&log).unwrap());
    assert_eq!(wrong, [] as [&Path; 0]);
    assert_eq!(all, 4);
}
