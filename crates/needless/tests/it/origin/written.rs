//! `fix` at a place that the user names: what is written there, and what is not.

use super::*;

#[test]
fn the_diff_is_patchs() {
    let Some(patch) = program("patch") else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["Dockerfile", "a b.dockerfile", "a\"\\\n\x1b é.dockerfile"] {
        let file = folder.path().join(name);
        std::fs::write(&file, "FROM debian:12\nCMD [\"x\"]").unwrap();
        let path = file.to_str().unwrap();
        let done = needless(&["fix", "--in", path, "--set", "TZ=Europe/Athens", "--diff"]);
        assert!(done.status.success(), "{}", stderr(&done));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "FROM debian:12\nCMD [\"x\"]");
        let diff = folder.path().join("diff");
        std::fs::write(&diff, &done.stdout).unwrap();
        let mut apply = command(&patch);
        apply.args(["-s", "-p1", "-d", "/", "-i"]).arg(&diff);
        let applied = apply.output().unwrap();
        assert!(applied.status.success(), "{}{}", stdout(&applied), stdout(&done));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.ends_with("ENV TZ=\"Europe/Athens\"\n"), "{text}");
    }
}

/// A Dockerfile has stages; a file of variables has no parts.
#[test]
fn a_part_where_the_format_has_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Dockerfile");
    std::fs::write(&file, "FROM a AS one\nFROM b AS two\n").unwrap();
    let path = file.to_str().unwrap();
    let done = needless(&["fix", "--in", path, "--part", "one", "--set", "TZ=UTC", "--diff"]);
    assert!(
        stdout(&done)
            .contains(" FROM a AS one\n+# Set by `needless fix`.\n+ENV TZ=\"UTC\"\n FROM b"),
        "{}",
        stdout(&done)
    );
    let file = folder.path().join("a.env");
    std::fs::write(&file, "A=1\n").unwrap();
    let path = file.to_str().unwrap();
    let done = needless(&["fix", "--in", path, "--part", "one", "--set", "TZ=UTC", "--diff"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(assert_one_line(&done).contains("--part names nothing in a file of this kind"));
}

/// Removing a variable has its own option; a zone that does not exist is refused.
#[test]
fn a_variable_is_removed_and_a_zone_exists() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Dockerfile");
    std::fs::write(&file, "FROM debian:12\nENV TZ=UTC\n").unwrap();
    let path = file.to_str().unwrap();
    let done = needless(&["fix", "--in", path, "--unset", "TZ", "--diff"]);
    assert!(stdout(&done).contains("\n-ENV TZ=UTC\n"), "{}{}", stdout(&done), stderr(&done));
    if needed(zones_here()).is_none() {
        return;
    }
    for wrong in ["Europe/Berlin2", "America/Nwe_York5", "Etc/GMT+25", "x1;rm -rf /"] {
        let done = needless(&["fix", "--in", path, "--set", &format!("TZ={wrong}"), "--diff"]);
        assert_eq!(done.status.code(), Some(2), "{wrong}: {}", stdout(&done));
        assert!(assert_one_line(&done).contains("would silently be UTC"), "{wrong}");
    }
    let done = needless(&["fix", "--in", "nofile.env", "--unset", "TZ", "--diff"]);
    assert!(stdout(&done).starts_with("already so: TZ removed in "), "{}", stderr(&done));
    // An image has its own files; a script of this machine does not.
    let script = folder.path().join("wrapper");
    std::fs::write(&script, "#!/bin/sh\nexec true\n").unwrap();
    let path = script.to_str().unwrap();
    for wrong in ["/etc/passwd", ":/nonexistent"] {
        let done = needless(&["fix", "--in", path, "--set", &format!("TZ={wrong}"), "--diff"]);
        assert_eq!(done.status.code(), Some(2), "{wrong}: {}", stdout(&done));
        assert!(stderr(&done).contains("zone"), "{wrong}: {}", stderr(&done));
    }
}

fn zones_here() -> Result<(), String> {
    let there = Path::new("/usr/share/zoneinfo/Europe/Berlin").is_file();
    if there { Ok(()) } else { Err("tzdata is not installed".into()) }
}

#[test]
fn without_a_yes_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Dockerfile");
    std::fs::write(&file, "FROM debian:12\n").unwrap();
    let done = needless(&["fix", "--in", file.to_str().unwrap(), "--set", "TZ=UTC"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("--yes"), "{}", stderr(&done));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "FROM debian:12\n");
}

#[test]
fn a_change_without_a_known_place_is_reported_as_manual() {
    let Some(testee) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let report = report.to_str().unwrap();
    let ran = needless(&["run", "-o", report, "--", &testee]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let done = needless(&["fix", report, "--yes"]);
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("about a command that needless ran"), "{}", stderr(&done));
    // The same for a process whose parent is a shell or a test: no file sets its variables.
    let Some(perl) = program("perl") else { return };
    let running = start(command(perl).args(["-e", READY]));
    let pid = running.0.id().to_string();
    let done = needless(&["fix", "--pid", &pid, "--set", "TZ=UTC", "--yes"]);
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("not done by a tool"), "{}", stderr(&done));
}
