//! Whose a report is, who may read it, and which files of others it does not go to.

use crate::common::*;
use crate::output::{report_with, sh};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;

/// An ordinary user.
const STRANGER: u32 = 4711;
/// The mode of /tmp.
const STICKY: u32 = 0o1777;

/// A directory that others may use.
fn shared(mode: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
    folder
}

/// Each way to write a file.
fn each_way(file: &Path) -> Vec<(Vec<&str>, i32)> {
    let file = file.to_str().unwrap();
    vec![
        (vec!["run", "-o", file, "--", "true"], 125),
        (vec!["run", "--prove", "--runs", "1", "-o", file, "--format", "full", "--", "true"], 2),
        (vec!["origin", "-o", file, "TZ", "--", "true"], 125),
        (vec!["prove", "-o", file, "--set", "X=1", "--", "true"], 2),
        (vec!["prove", "--pid", "1", "--save-before", file], 2),
        (vec!["attach", "-o", file, "1"], 2),
    ]
}

#[test]
fn a_strangers_files_and_links_in_a_shared_directory_are_not_used() {
    if root().is_none() {
        return;
    }
    let (folder, home) = (shared(STICKY), tempfile::tempdir().unwrap());
    let victim = home.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    let link = folder.path().join("link.json");
    symlink(&victim, &link).unwrap();
    let new = folder.path().join("new.json");
    symlink(home.path().join("new"), &new).unwrap();
    let file = folder.path().join("file.json");
    std::fs::write(&file, "theirs").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    let pipe = folder.path().join("pipe.json");
    assert!(command("mkfifo").arg(&pipe).status().unwrap().success());
    let way = folder.path().join("way");
    symlink(home.path(), &way).unwrap();
    for theirs in [&link, &new, &file, &pipe, &way] {
        lchown(theirs, Some(STRANGER), Some(STRANGER)).unwrap();
    }
    for target in [&link, &new, &file, &pipe, &way.join("victim"), &way.join("new")] {
        for (words, status) in each_way(target) {
            let done = needless(&words);
            assert_eq!(done.status.code(), Some(status), "{words:?}: {}", stderr(&done));
            let line = assert_one_line(&done);
            assert!(line.contains("of user 4711") && line.contains("another file"), "{line}");
        }
    }
    // Users other than root do not use it, and cannot replace root's file.
    let bin = shared(0o755);
    let program = bin.path().join("needless");
    copy(NEEDLESS, &program);
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let roots = folder.path().join("roots.json");
    std::fs::write(&roots, "root's").unwrap();
    std::fs::set_permissions(&roots, PermissionsExt::from_mode(0o666)).unwrap();
    for (target, owner) in [(&link, 4711), (&new, 4711), (&file, 4711), (&roots, 0)] {
        let mut wrapped = command("setpriv");
        wrapped.args(["--reuid", "4712", "--regid", "4712", "--clear-groups"]);
        wrapped.arg(&program).args(["run", "-o"]).arg(target).args(["--", "true"]);
        let line = assert_one_line(&wrapped.output().unwrap());
        assert!(line.contains(&format!("of user {owner}, ")), "{line}");
    }
    std::fs::remove_file(roots).unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
    assert_eq!(names(home.path()), ["victim"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs");
    let all = ["file.json", "link.json", "new.json", "pipe.json", "way"];
    assert_eq!(names(folder.path()), all);
}

#[test]
fn our_own_files_and_links_in_a_shared_directory_are_used() {
    let (folder, home) = (shared(STICKY), tempfile::tempdir().unwrap());
    let (real, link) = (home.path().join("real.json"), folder.path().join("link.json"));
    symlink(&real, &link).unwrap();
    let file = folder.path().join("file.json");
    for backend in backends() {
        // Twice: the second time they exist.
        for target in [&link, &file, &link, &file] {
            let done = report_with(backend, target, "true");
            assert!(done.status.success(), "{}", stderr(&done));
        }
    }
    assert!(link.symlink_metadata().unwrap().is_symlink() && real.is_file());
    assert_eq!(names(folder.path()), ["file.json", "link.json"]);
    assert_eq!(names(home.path()), ["real.json"]);
}

#[test]
fn the_rights_of_a_strangers_file_are_not_kept() {
    if root().is_none() {
        return;
    }
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
        chown(&file, Some(STRANGER), Some(STRANGER)).unwrap();
        let script = format!("umask 077; {NEEDLESS} run -o {} -- true", file.display());
        assert!(sh(backend, &script).status.success());
        let about = file.metadata().unwrap();
        assert_eq!((about.uid(), about.mode() & 0o777), (0, 0o600));
    }
}

#[test]
fn a_link_stays_and_the_file_it_leads_to_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    symlink("real.json", &link).unwrap();
    for backend in backends() {
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, PermissionsExt::from_mode(0o600)).unwrap();
        assert!(report_with(backend, &link, "true").status.success());
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(std::fs::read_to_string(&real).unwrap().contains("needless.report/1"));
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    }
    assert_eq!(names(folder.path()), ["link.json", "real.json"]);
}

#[test]
fn a_new_file_gets_the_permissions_of_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    for backend in backends() {
        for (umask, mode) in [("022", 0o644), ("077", 0o600), ("000", 0o666)] {
            let file = folder.path().join(umask);
            let script = format!("umask {umask}; {NEEDLESS} run -o {} true", file.display());
            assert!(sh(backend, &script).status.success());
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, mode);
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn root_writes_a_report_wherever_root_may() {
    if root().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for backend in backends() {
        // A directory of root, one that is closed to its owner, and one of another user.
        for (name, owner, mode) in
            [("own", 0, 0o700), ("closed", 0, 0o500), ("other", 65534, 0o755)]
        {
            let place = folder.path().join(format!("{}-{name}", backend[0].1));
            std::fs::create_dir(&place).unwrap();
            chown(&place, Some(owner), Some(owner)).unwrap();
            std::fs::set_permissions(&place, PermissionsExt::from_mode(mode)).unwrap();
            let report = place.join("report.json");
            let mut needless = command(NEEDLESS);
            needless.envs(backend.iter().copied()).args(["run", "-o"]).arg(&report);
            let done = needless.args(["--", "true"]).output().unwrap();
            assert!(done.status.success() && stderr(&done).is_empty(), "{name}: {}", stderr(&done));
            json(&std::fs::read(&report).unwrap());
        }
    }
}
