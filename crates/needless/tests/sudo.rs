//! `sudo needless run`: the command is the caller's, and so is the report.

mod common;
use common::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Output;

/// Prints everything that sudo would change.
const SHOW: &str = "id; echo; env | grep -v -e '^_=' -e '^NEEDLESS_' | sort; echo; umask; ulimit -n; ulimit -c; pwd";

/// Runs `script` as nobody, who may use sudo there and only there; `None`, and said, without the
/// means.
fn as_nobody(folder: &Path, script: &str) -> Option<Output> {
    // Only root can let somebody use sudo for a moment.
    root()?;
    program("sudo")?;
    program("setpriv")?;
    let unshare = own_mounts()?;
    let sudoers = folder.join("sudoers");
    std::fs::write(&sudoers, "nobody ALL=(ALL) NOPASSWD: ALL\n").unwrap();
    std::fs::set_permissions(&sudoers, PermissionsExt::from_mode(0o440)).unwrap();
    let enter = format!(
        "mount --bind {} /etc/sudoers && cd {} && exec setpriv --reuid nobody --regid nogroup --init-groups sh -c \"$1\"",
        sudoers.display(),
        folder.display()
    );
    let mut command = command(unshare[0]);
    command.args(&unshare[1..]).args(["sh", "-c", &enter, "sh", script]);
    Some(command.env("MINE", "1").env("TZ", "Europe/Athens").output().unwrap())
}

/// A folder that nobody may write to and pass through.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    folder
}

#[test]
fn the_command_is_the_callers() {
    let folder = folder();
    copy(NEEDLESS, &folder.path().join("needless"));
    let script =
        |wrapper: &str| format!("umask 027; ulimit -n 500; {wrapper} sh -c \"{SHOW}\"; true");
    let Some(plain) = as_nobody(folder.path(), &script("")) else { return };
    let wrapped = script("sudo -n ./needless run -o report.json --");
    let Some(wrapped) = as_nobody(folder.path(), &wrapped) else { return };
    assert!(plain.stdout.starts_with(b"uid=65534(nobody)"), "{}", stdout(&plain));
    assert_eq!(stdout(&wrapped), stdout(&plain), "{}", stderr(&wrapped));
    let report = folder.path().join("report.json").metadata().unwrap();
    assert_eq!((report.uid(), report.mode() & 0o777), (65534, 0o640));
}

#[test]
fn the_report_goes_nowhere_that_the_caller_may_not_write() {
    let folder = folder();
    copy(NEEDLESS, &folder.path().join("needless"));
    // In a shell of its own and as what the shell becomes: sudo's parent is another each time.
    for script in [
        "sudo -n ./needless run -o /etc/needless-test.json -- true; exit $?",
        "exec sudo -n ./needless run -o /etc/needless-test.json -- true",
    ] {
        let Some(done) = as_nobody(folder.path(), script) else { return };
        let written = Path::new("/etc/needless-test.json").exists();
        let _ = std::fs::remove_file("/etc/needless-test.json");
        assert!(!written, "{script}");
        assert_eq!(done.status.code(), Some(125), "{}", stderr(&done));
        assert!(stderr(&done).contains("/etc"), "{}", stderr(&done));
    }
}

#[test]
fn elevate_asks_sudo() {
    let folder = folder();
    copy(NEEDLESS, &folder.path().join("needless"));
    let script = "./needless run --backend ebpf --elevate -o report.json -- id -u";
    let Some(done) = as_nobody(folder.path(), script) else { return };
    assert_eq!(stdout(&done), "65534\n", "{}", stderr(&done));
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(report.contains("\"backend\": \"eBPF\""), "{report}");
}

#[test]
fn behind_sudo_needless_keeps_what_it_takes_to_write_as_the_caller() {
    let folder = folder();
    copy(NEEDLESS, &folder.path().join("needless"));
    let script = r#"sudo -n ./needless run --backend ebpf -o report.json -- sh -c 'sed -n "s/^CapPrm:.//p" /proc/$PPID/status'"#;
    let Some(done) = as_nobody(folder.path(), script) else { return };
    let held = u64::from_str_radix(stdout(&done).trim(), 16);
    let held = held.unwrap_or_else(|_| panic!("{}", stderr(&done)));
    // CAP_SETUID, CAP_SETGID
    assert_eq!(held & !OBSERVING, 1 << 7 | 1 << 6, "{held:x}");
    assert_eq!(folder.path().join("report.json").metadata().unwrap().uid(), 65534);
}
