//! In a set-user-ID program the library refuses the same values of `TZ` as the C library. The dynamic linker preloads
//! a library into such a program only from a system directory, where root must have put it: here the program is linked
//! with the library instead.

use crate::common::{have, library, program};
use needless_fixtures::needed;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn set_user_id_programs_refuse_what_the_c_library_refuses() {
    // /proc/self belongs to the user of this process.
    let root = std::fs::metadata("/proc/self")
        .is_ok_and(|self_| std::os::unix::fs::MetadataExt::uid(&self_) == 0);
    if needed(root.then_some(()).ok_or("not root: no set-user-ID program".into())).is_none()
        || !have("setpriv")
    {
        return;
    }
    // A directory that everybody can read, on a file system where set-user-ID is in effect.
    let folder = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let so = folder.path().join("libneedless_localtime.so");
    std::fs::copy(library(), &so).expect("the library");
    std::fs::copy("/usr/share/zoneinfo/Asia/Tokyo", folder.path().join("Tokyo")).expect("a zone");
    let here = folder.path().display().to_string();
    let linked = [format!("-Wl,--no-as-needed,-rpath,{here}"), so.display().to_string()];
    let linked: Vec<&str> = linked.iter().map(String::as_str).collect();
    let values = [
        format!("{here}/Tokyo"),
        format!(":{here}/Tokyo"),
        format!("../../..{here}/Tokyo"),
        "Tokyo".to_owned(),
        "Europe/../Asia/Tokyo".to_owned(),
        "/usr/share/zoneinfo/../zoneinfo/Asia/Tokyo".to_owned(),
        "/usr/share/zoneinfo/Asia/Tokyo".to_owned(),
        "/usr/share/zoneinfoX/Asia/Tokyo".to_owned(),
        ":/etc/localtime".to_owned(),
        "/etc/timezone".to_owned(),
        "Europe/Athens".to_owned(),
        "JST-9".to_owned(),
        String::new(),
        ":".to_owned(),
    ];
    let say = |who: &str, options: &[&str], secure: bool| {
        let target = folder.path().join(who);
        std::fs::copy(program("secure", options), &target).expect("the program");
        let mode = if secure { 0o4755 } else { 0o755 };
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(mode)).expect("chmod");
        said(&target, who, &values, folder.path())
    };
    for secure in [true, false] {
        let theirs = say("theirs", &[], secure);
        let ours = say("ours", &linked, secure);
        assert_eq!(ours, theirs);
        assert!(theirs.contains(if secure { "secure 1\n" } else { "secure 0\n" }), "{theirs}");
        // Otherwise nothing was refused, and nothing tested.
        let seen = theirs.lines().filter(|line| line.contains("JST 32400")).count();
        assert_eq!(seen < 6, secure, "{theirs}");
    }
}

/// What it prints when an ordinary user runs it with `TZDIR` set to `directory`.
fn said(target: &Path, who: &str, values: &[String], directory: &Path) -> String {
    let out = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(target)
        .arg(who)
        .args(values)
        .env("TZDIR", directory)
        .env_remove("TZ")
        .output()
        .expect("setpriv runs");
    assert!(out.status.success(), "{out:?}");
    String::from_utf8(out.stdout).expect("text")
}
