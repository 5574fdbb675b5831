//! A change survives a loss of power: what gets its name was flushed before, and its directory is flushed afterwards.

use needless_fixtures::flushed::{RENAMES, not_flushed};
use needless_fixtures::program;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn what_is_changed_and_undone_is_flushed() {
    let Some(strace) = program("strace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (root, state) = (folder.path().join("root"), folder.path().join("state"));
    fs::create_dir_all(root.join("etc/systemd/system")).unwrap();
    fs::write(root.join("etc/environment"), "LANG=C\n").unwrap();
    // The example beside this test's own program.
    let me = std::env::current_exe().unwrap();
    let example = me.ancestors().nth(2).unwrap().join("examples/change");
    let log = folder.path().join("log");
    let flushed = |action: &str, least: usize| {
        let mut traced = Command::new(&strace);
        traced.args(["-qq", "-o"]).arg(&log).args(RENAMES).arg(&example).args([&root, &state]);
        let done = traced.arg(action).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let (wrong, all) = not_flushed(&fs::read_to_string(&log).unwrap());
        assert_eq!(wrong, [] as [&Path; 0], "{action}");
        assert!(all >= least, "{action}: {all} renamed");
    };
    // The entry of the journal and two files; then one of them, as the other is removed.
    flushed("apply", 3);
    flushed("undo", 1);
}
