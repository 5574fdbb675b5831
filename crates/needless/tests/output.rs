//! Where a report goes: a file is there whole or not at all.

mod common;
use common::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn report_to(file: &Path, script: &str) -> std::process::Output {
    needless(&["run", "-o", file.to_str().unwrap(), "--", "sh", "-c", script])
}

#[test]
fn where_the_report_cannot_be_written_the_command_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let script = format!("echo ran; touch {}", mark.display());
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for (target, says) in [
        (folder.path().join("no/x.json"), "there is no directory"),
        (file.join("x.json"), "there is no directory"),
        (folder.path().to_owned(), "it is a directory"),
        (Path::new("/proc/x.json").to_owned(), "/proc"),
        (Path::new("-").to_owned(), "standard output is the command's"),
    ] {
        let done = report_to(&target, &script);
        assert_eq!(done.status.code(), Some(125), "{}", target.display());
        let line = assert_one_line(&done);
        assert!(line.contains(says) && line.contains(target.to_str().unwrap()), "{line}");
        assert!(!line.contains(".needless-"), "the temporary file is nobody's business: {line}");
        assert!(done.stdout.is_empty() && !mark.exists(), "the command ran: {line}");
    }
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_full_disk_is_said_and_the_status_stays_the_commands() {
    let done = needless(&["run", "-o", "/dev/full", "--", "sh", "-c", "echo out; exit 3"]);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(3), "out\n"));
    assert!(assert_one_line(&done).contains("No space left"));
}

#[test]
fn a_file_system_that_fills_up_leaves_the_old_report() {
    let Some(mounts) = own_mounts() else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    // Everything but one block is taken while the command runs; the report wants more.
    let script = format!(
        "mount -t tmpfs -o size=64k none {place}; cd {place}; echo old >x.json; \
         {NEEDLESS} run -o x.json -- dd if=/dev/zero of=fill bs=4k count=100; \
         echo status $?; cat x.json; ls -A"
    );
    let done = command(mounts[0]).args(&mounts[1..]).args(["sh", "-c", &script]).output().unwrap();
    assert_eq!(stdout(&done), "status 1\nold\nfill\nx.json\n", "{}", stderr(&done));
    let line = stderr(&done).lines().last().unwrap().to_owned();
    assert!(line.starts_with("needless: cannot write ") && line.contains("x.json: No space left"));
    assert!(!line.contains(".needless-"), "{line}");
}

#[test]
fn the_ending_tells_the_format_and_an_option_overrides_it() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("x.json");
    let done = report_to(&json, "echo out; echo err >&2");
    assert_eq!((stdout(&done).as_str(), stderr(&done).as_str()), ("out\n", "err\n"));
    let text = std::fs::read_to_string(&json).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let text = folder.path().join("x.txt");
    report_to(&text, "true");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("needless: nothing needless"));
    let done = needless(&["run", "-o", text.to_str().unwrap(), "--format", "json", "true"]);
    assert!(done.status.success() && done.stderr.is_empty());
    assert!(std::fs::read_to_string(&text).unwrap().starts_with('{'));
    assert_eq!(names(folder.path()), ["x.json", "x.txt"]);
}

#[test]
fn a_link_stays_and_the_file_it_leads_to_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    std::fs::write(&real, "old").unwrap();
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o600)).unwrap();
    symlink("real.json", &link).unwrap();
    assert!(report_to(&link, "true").status.success());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("needless.report/1"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(names(folder.path()), ["link.json", "real.json"]);
}

#[test]
fn a_new_file_gets_the_permissions_of_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("000", 0o666)] {
        let file = folder.path().join(umask);
        let script = format!("umask {umask}; {NEEDLESS} run -o {} true", file.display());
        assert!(command("sh").args(["-c", &script]).status().unwrap().success());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, mode);
    }
}

#[test]
fn a_pipe_is_written_as_it_is() {
    let script = format!("{NEEDLESS} run -o /dev/fd/3 -- echo out 3>&1 >/dev/null | cat");
    let done = command("sh").args(["-c", &script]).output().unwrap();
    assert!(stdout(&done).starts_with("needless: nothing needless"), "{}", stdout(&done));
}

#[test]
fn read_writes_to_standard_output_where_that_is_named() {
    let Some(strace) = program("strace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    assert!(command(strace).arg("-o").arg(&log).arg("true").status().unwrap().success());
    let done = command(NEEDLESS)
        .args(["read", "-o", "-", "log"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(stdout(&done).starts_with("needless: nothing needless"), "{}", stderr(&done));
    assert_eq!(names(folder.path()), ["log"]);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let Some(sample) = testee("packagecloud") else { return };
    let told = |options: &[&str], env: &[(&str, &str)]| {
        let words = [&["run"], options, &["--", &sample, "10"]].concat();
        stderr(&command(NEEDLESS).args(words).envs(env.iter().copied()).output().unwrap())
    };
    assert!(!told(&[], &[]).contains('\u{1b}'), "standard error is no terminal");
    assert!(!told(&[], &[("CLICOLOR_FORCE", "0")]).contains('\u{1b}'));
    assert!(told(&["--color", "always"], &[]).contains('\u{1b}'));
    assert!(told(&[], &[("NEEDLESS_COLOR", "always")]).contains('\u{1b}'));
    assert!(!told(&["--color", "never"], &[("NEEDLESS_COLOR", "always")]).contains('\u{1b}'));
}

#[test]
fn root_writes_a_report_wherever_root_may() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if root().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let backends: &[&str] = if observes_others() { &["ebpf", "ptrace"] } else { &["ptrace"] };
    for backend in backends {
        // A directory of root's own, one that is closed to its owner, one of another user.
        for (name, owner, mode) in
            [("own", 0, 0o700), ("closed", 0, 0o500), ("other", 65534, 0o755)]
        {
            let place = folder.path().join(format!("{backend}-{name}"));
            std::fs::create_dir(&place).unwrap();
            chown(&place, Some(owner), Some(owner)).unwrap();
            std::fs::set_permissions(&place, PermissionsExt::from_mode(mode)).unwrap();
            let (report, baseline) = (place.join("report.json"), place.join("baseline.json"));
            let mut needless = command(NEEDLESS);
            needless.args(["run", "--backend", backend, "-o"]).arg(&report);
            let done = needless.arg("--save-baseline").arg(&baseline).args(["--", "true"]);
            let done = done.output().unwrap();
            assert!(done.status.success(), "{name}: {}", stderr(&done));
            assert_eq!(stderr(&done), "", "{name}");
            for file in [report, baseline] {
                let text = std::fs::read(&file).unwrap();
                let _: serde_json::Value = serde_json::from_slice(&text).unwrap();
            }
        }
    }
}
