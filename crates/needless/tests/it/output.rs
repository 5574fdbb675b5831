//! Where a report goes: a file is complete, or not there at all.

use crate::common::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::Stdio;

/// An ordinary user.
const STRANGER: u32 = 4711;
/// The mode of /tmp.
const STICKY: u32 = 0o1777;

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
        (Path::new("-").to_owned(), "standard output belongs to the command"),
    ] {
        let done = report_to(&target, &script);
        assert_eq!(done.status.code(), Some(125), "{}", target.display());
        let line = assert_one_line(&done);
        assert!(line.contains(says) && line.contains(target.to_str().unwrap()), "{line}");
        assert!(!line.contains(".needless-"), "the temporary file must not be reported: {line}");
        assert!(done.stdout.is_empty() && !mark.exists(), "the command ran: {line}");
    }
    assert_eq!(names(folder.path()), ["file"]);
}

/// A directory that others may use.
fn shared(mode: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
    folder
}

/// Each way to write a file, for a report and for a baseline.
fn each_way(file: &Path) -> Vec<(Vec<&str>, i32)> {
    let file = file.to_str().unwrap();
    vec![
        (vec!["run", "-o", file, "--", "true"], 125),
        (vec!["run", "--save-baseline", file, "--", "true"], 125),
        (vec!["run", "--prove", "--runs", "1", "-o", file, "--format", "full", "--", "true"], 2),
        (vec!["origin", "-o", file, "TZ", "--", "true"], 125),
        (vec!["prove", "-o", file, "--set", "X=1", "--", "true"], 2),
        (vec!["prove", "--pid", "1", "--save-before", file], 2),
        (vec!["attach", "-o", file, "1"], 2),
    ]
}

#[test]
fn what_a_stranger_put_into_a_shared_directory_is_not_used() {
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
fn in_a_shared_directory_our_own_files_and_links_are_used() {
    let (folder, home) = (shared(STICKY), tempfile::tempdir().unwrap());
    let (real, link) = (home.path().join("real.json"), folder.path().join("link.json"));
    symlink(&real, &link).unwrap();
    let file = folder.path().join("file.json");
    // Twice: the second time they exist.
    for _ in 0..2 {
        for target in [&link, &file] {
            let done = report_to(target, "true");
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
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    chown(&file, Some(STRANGER), Some(STRANGER)).unwrap();
    let script = format!("umask 077; {NEEDLESS} run -o {} -- true", file.display());
    assert!(command("sh").args(["-c", &script]).status().unwrap().success());
    let about = file.metadata().unwrap();
    assert_eq!((about.uid(), about.mode() & 0o777), (0, 0o600));
}

#[test]
fn a_circle_of_links_and_a_file_that_is_gone_are_said() {
    let folder = tempfile::tempdir().unwrap();
    symlink("b", folder.path().join("a")).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    let done = report_to(&folder.path().join("a"), "true");
    assert_eq!(done.status.code(), Some(125));
    assert!(assert_one_line(&done).contains("symbolic links"), "{}", stderr(&done));
    let gone = folder.path().join("gone");
    let script = format!("exec 3>{0}; rm {0}; {NEEDLESS} run -o /dev/fd/3 -- true", gone.display());
    let done = command("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(done.status.code(), Some(125));
    assert!(assert_one_line(&done).contains("has been removed"), "{}", stderr(&done));
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn a_pipe_with_a_name_is_written_to_whoever_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let script = format!(
        "mkfifo {0}; cat {0} & {NEEDLESS} run --format json -o {0} -- true; echo $? >&2; wait",
        pipe.display()
    );
    let done = command("sh").args(["-c", &script]).output().unwrap();
    assert!(stdout(&done).contains("needless.report/1"), "{}", stdout(&done));
    assert_eq!(stderr(&done), "0\n");
}

#[test]
fn a_gate_whose_report_cannot_be_written_does_not_pass() {
    let Some(sample) = testee("packagecloud") else { return };
    let status = |words: &[&str]| {
        let done = needless(words);
        (done.status.code().unwrap(), stderr(&done))
    };
    let gate = ["run", "--fail-on", "any", "-o"];
    let run = |to: &str, program: &[&str]| status(&[&gate[..], &[to, "--"], program].concat());
    assert_eq!(run("/dev/null", &["true"]).0, 0);
    assert_eq!(run("/dev/null", &[&sample, "10"]).0, 1);
    for program in [&["true"][..], &[&sample, "10"]] {
        let (status, said) = run("/dev/full", program);
        assert_eq!(status, 2, "{program:?}: {said}");
        assert!(said.contains("No space left"), "{said}");
    }
    // The verdict still counts.
    let (_, said) = run("/dev/full", &[&sample, "10"]);
    assert!(said.contains("failed: more is needless than --fail-on any allows"), "{said}");
    // The command's own exit status comes first.
    assert_eq!(run("/dev/full", &["sh", "-c", "exit 3"]).0, 3);
    // A baseline must not be lost either; for a report without `--fail-on` the status is the command's.
    assert_eq!(status(&["run", "--save-baseline", "/dev/full", "--", "true"]).0, 2);
    assert_eq!(status(&["run", "-o", "/dev/full", "--", "true"]).0, 0);
    // The report is written even if the baseline cannot be.
    let (_, said) = status(&["run", "--save-baseline", "/dev/full", "--", "true"]);
    assert!(said.contains("nothing needless found") && said.contains("No space left"), "{said}");
    let Some(strace) = program("strace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    assert!(command(strace).arg("-o").arg(&log).arg("true").status().unwrap().success());
    let log = log.to_str().unwrap();
    assert_eq!(status(&["read", "--fail-on", "any", "-o", "/dev/full", log]).0, 2);
    assert_eq!(status(&["read", "-o", "/dev/full", log]).0, 2);
}

#[test]
fn a_limit_of_file_sizes_is_a_full_disk_for_us_and_the_commands_own_affair() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    let script = format!("ulimit -f 0; {NEEDLESS} run -o {} -- sh -c 'exit 4'", file.display());
    let done = command("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
    assert!(assert_one_line(&done).contains("File too large"), "{}", stderr(&done));
    assert!(names(folder.path()).is_empty());
    // With each signal disposition at its start, the command ends as without needless.
    for trap in ["", "trap '' XFSZ; "] {
        let script = |before: &str| {
            format!("{trap}ulimit -f 0; {before} sh -c 'echo x >{}; exit 3'", file.display())
        };
        let status = |script: &str| command("sh").args(["-c", script]).output().unwrap().status;
        let wrapped = script(&format!("{NEEDLESS} run -o /dev/null --"));
        assert_eq!(status(&wrapped), status(&script("")), "{trap}");
    }
}

/// Contents of hostile names and values: escape sequences, ends of lines, C1 controls, bidirectional ones.
const HOSTILE: &str = "x\u{1b}[31m\u{1b}[2J\ny\rz\u{9b}31m\u{202e}\u{2066}w";

fn is_clean(text: &str) -> bool {
    let harmful =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.chars().any(|c| c != '\n' && harmful(c))
}

#[test]
fn no_line_of_ours_commands_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let rule = file("rule.toml", &format!("[[ignore]]\nrule = {escaped}\nreason = \"x\"\n"));
    let key = file("key.toml", &format!("[[ignore]]\n{escaped} = 1\n"));
    let report = file("report.json", &format!("{{\"schema\": {escaped}}}"));
    let place = file("environment", "A=b\n");
    let value = &format!("TZ={HOSTILE}");
    let way = &format!("{}/{HOSTILE}/x.json", folder.path().display());
    let all: [&[&str]; 14] = [
        &["run", "--", HOSTILE],
        &["run", "-o", way, "--", "true"],
        &["run", "--save-baseline", way, "--", "true"],
        &["run", "--baseline", HOSTILE, "--", "true"],
        &["run", "--config", HOSTILE, "--", "true"],
        &["run", "--config", &rule, "--", "true"],
        &["run", "--config", &key, "--", "true"],
        &["run", "--as", HOSTILE, "--", "true"],
        &["read", HOSTILE],
        &["diff", HOSTILE, HOSTILE],
        &["fix", HOSTILE],
        &["fix", &report],
        &["attach", "--unit", HOSTILE],
        &["origin", HOSTILE, "1"],
    ];
    let pty = installed("script");
    for words in all {
        let done = needless(words);
        assert!(!done.status.success(), "{words:?}");
        assert!(is_clean(&assert_one_line(&done)), "{words:?}: {:?}", stderr(&done));
        assert!(is_clean(&stdout(&done)), "{words:?}: {:?}", stdout(&done));
        let Ok(script) = &pty else { continue };
        // On a terminal as well, where lines end in \r\n.
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
        let line: Vec<String> = [NEEDLESS].iter().chain(words).map(quoted).collect();
        let shown = command(script).args(["-qec", &line.join(" "), "/dev/null"]).output().unwrap();
        let shown = stdout(&shown).replace("\r\n", "\n");
        assert!(is_clean(&shown), "{words:?}: {shown:?}");
    }
    // Messages of several lines: of a list, and of the parser, which has its own colours on a terminal.
    let wrong: [&[&str]; 8] = [
        &["run", "--rule", HOSTILE, "--", "true"],
        &["run", "--fail-on", HOSTILE, "--", "true"],
        &["fix", "--set", value, "--in", &place],
        &["fix", "--set", value, "--unit", HOSTILE],
        &["attach", HOSTILE],
        &[HOSTILE],
        &["run", &format!("--{HOSTILE}"), "--", "true"],
        &["prove", "--ignore-output", &format!("({HOSTILE}"), "--set", "A=b", "--", "true"],
    ];
    for words in wrong {
        let done = needless(words);
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert!(is_clean(&stderr(&done)), "{words:?}: {:?}", stderr(&done));
    }
}

#[test]
fn an_ending_that_names_no_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (page, dated) = (named("o.foo"), named("report.2026-11-22"));
    let refused: [(&[&str], i32); 3] = [
        (&["run", "-o", &page, "--", "true"], 125),
        (&["origin", "-o", &page, "TZ", "--", "true"], 125),
        (&["prove", "-o", &page, "--set", "X=1", "--", "true"], 2),
    ];
    for (words, status) in refused {
        let done = needless(words);
        assert_eq!(done.status.code(), Some(status), "{words:?}");
        let line = assert_one_line(&done);
        assert!(line.contains("o.foo") && line.contains(".json"), "{line}");
    }
    assert!(names(folder.path()).is_empty());
    for words in [["-o", &page, "--format", "json"], ["-o", &dated, "--format", "full"]] {
        assert!(needless(&[&["run"], &words[..], &["--", "true"]].concat()).status.success());
    }
    assert!(needless(&["run", "-o", &dated, "--", "true"]).status.success());
    assert_eq!(names(folder.path()), ["o.foo", "report.2026-11-22"]);
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
    // All but one block of the disk is used while the command runs; the report needs more.
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
fn the_ending_selects_the_format_and_an_option_overrides_it() {
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
fn several_files_get_the_same_observation_each_in_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let (json, text) = (folder.path().join("x.json"), folder.path().join("x.txt"));
    let (json, text) = (json.to_str().unwrap(), text.to_str().unwrap());
    let both = needless(&["run", "-o", json, "-o", text, "--", "true"]);
    assert!(both.status.success() && both.stderr.is_empty(), "{}", stderr(&both));
    assert!(std::fs::read_to_string(json).unwrap().starts_with('{'));
    assert!(std::fs::read_to_string(text).unwrap().starts_with("needless: nothing needless"));
    let done = command(NEEDLESS)
        .args(["run", "-o", "a.json", "-o", "b.txt", "--format", "json", "--", "touch", "ran"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(assert_one_line(&done).contains("the ending of each file selects its format"));
    assert_eq!(names(folder.path()), ["x.json", "x.txt"], "nothing ran");
}

#[test]
fn the_command_with_its_arguments_is_shown_on_a_terminal_and_nowhere_else() {
    let (Some(script), Some(sample)) = (program("script"), testee("packagecloud")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.txt");
    let words = [&*sample, "100", "it's a secret"];
    // script(1) runs a command line on a terminal of its own.
    let line = format!("{NEEDLESS} run -- {sample} 100 \"it's a secret\"");
    let done = command(script)
        .env_remove("TZ")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = stdout(&done).replace("\r\n", "\n");
    let next = format!("needless run -- {sample} 100 'it'\\''s a secret'\n");
    assert!(shown.ends_with(&next) && shown.contains("try:  "), "{shown}");
    for options in
        [&["--format", "full"][..], &["--format", "json"], &["-o", file.to_str().unwrap()]]
    {
        let args = [&["run"], options, &["--"], &words[..]].concat();
        let done = command(NEEDLESS).env_remove("TZ").args(args).output().unwrap();
        let text = stderr(&done) + &std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text.contains("tz-unset") && !text.contains("secret"), "{text}");
    }
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
    let printed = |options: &[&str], env: &[(&str, &str)]| {
        let words = [&["run"], options, &["--", &sample, "10"]].concat();
        stderr(&command(NEEDLESS).args(words).envs(env.iter().copied()).output().unwrap())
    };
    assert!(!printed(&[], &[]).contains('\u{1b}'), "standard error is no terminal");
    assert!(!printed(&[], &[("CLICOLOR_FORCE", "0")]).contains('\u{1b}'));
    assert!(printed(&["--color", "always"], &[]).contains('\u{1b}'));
    assert!(printed(&[], &[("NEEDLESS_COLOR", "always")]).contains('\u{1b}'));
    assert!(!printed(&["--color", "never"], &[("NEEDLESS_COLOR", "always")]).contains('\u{1b}'));
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
        // A directory of root, one that is closed to its owner, and one of another user.
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
