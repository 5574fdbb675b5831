//! `needless run` as a wrapper: the command sees and ends as it does without needless.

use crate::common::*;
use std::io::{BufRead, BufReader, Lines};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

#[test]
fn the_commands_exit_status_becomes_ours() {
    for backend in backends_also_unpatched() {
        for status in [0, 1, 7, 125, 127, 255] {
            let words = ["run", "--", "sh", "-c", &format!("exit {status}")];
            let done = needless_in(backend, &words);
            assert_eq!(done.status.code(), Some(status));
            assert_one_line(&done);
        }
    }
}

#[test]
fn the_commands_signal_becomes_ours() {
    for backend in backends_also_unpatched() {
        for (name, number) in [("TERM", 15), ("KILL", 9), ("USR1", 10)] {
            let words = ["run", "--", "sh", "-c", &format!("kill -{name} $$")];
            let done = needless_in(backend, &words);
            assert_eq!(done.status.signal(), Some(number), "{}", stderr(&done));
            assert_one_line(&done);
        }
    }
}

/// A reader of a pipe waits for the last process that has its other end.
#[test]
fn a_pipe_ends_when_the_command_closes_it() {
    for backend in backends_also_unpatched() {
        for (closes, passed) in
            [("exec >&-", ""), ("echo ready >&3; exec 3>&- >&-", "3>&1 >/dev/null")]
        {
            // It goes on until the reader has seen the end.
            let script = format!("echo ready; {closes}; read line");
            let shell = format!("exec \"$0\" run -o /dev/null -- sh -c '{script}' {passed}");
            let mut observed = command("sh")
                .args(["-c", &shell, NEEDLESS])
                .envs(backend.iter().copied())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let goes_on = observed.stdin.take().unwrap();
            let said = std::io::read_to_string(observed.stdout.take().unwrap()).unwrap();
            assert_eq!(said, "ready\n", "{closes}");
            assert!(observed.try_wait().unwrap().is_none(), "{closes}");
            drop(goes_on);
            observed.wait().unwrap();
        }
    }
}

#[test]
fn a_command_that_cannot_be_run_is_reported_with_the_status_of_env() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/interp\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    let (plain, folder) = (plain.to_str().unwrap(), folder.path().to_str().unwrap());
    for (word, status, says) in [
        ("no-such-program-here", 127, "not found in PATH"),
        ("ll", 127, "a builtin or an alias of a shell"),
        ("/no/such/program", 127, "no such file"),
        ("ls -l", 127, "one word with a space"),
        ("TZ=UTC", 127, "put `env` before it"),
        (script, 127, "its interpreter /no/interp is missing"),
        (plain, 126, "permission denied"),
        (folder, 126, "directory"),
        ("", 125, "no command"),
    ] {
        for backend in backends() {
            let done = needless_in(backend, &["run", "--", word]);
            assert_eq!(done.status.code(), Some(status), "{word}");
            let line = assert_one_line(&done);
            assert!(line.contains(says), "{word}: {line}");
            assert!(done.stdout.is_empty());
        }
    }
}

#[test]
fn a_limit_of_open_files_that_is_too_low_is_reported() {
    let script = format!("ulimit -n 7; exec {NEEDLESS} run --backend ptrace -- true");
    let done = command("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(done.status.code(), Some(125));
    let line = assert_one_line(&done);
    assert!(line.contains("limit of open files, 7 (ulimit -n), is too low"), "{line}");
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let bogus = needless(&["run", "--format", "bogus", "--", "true"]);
    assert_eq!(bogus.status.code(), Some(2));
    for choice in ["full", "concise", "json"] {
        assert!(stderr(&bogus).contains(choice), "{}", stderr(&bogus));
    }
    for args in [
        &["run"][..],
        &["run", "--format", "json"],
        &["run", "--"],
        &["run", "--no-such-option", "true"],
        &["run", "--min-saving", "101", "true"],
        &["run", "--rule", "no-such-rule", "true"],
        &["run", "--backend", "bogus", "true"],
        &["read"],
        &["bogus"],
    ] {
        let done = needless(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert_one_line(&done);
        assert!(done.stdout.is_empty(), "{args:?}");
    }
    let help = needless(&[]);
    assert_eq!((help.status.code(), help.stdout.is_empty()), (Some(2), true));
    assert!(stderr(&help).contains("Usage: "), "{}", stderr(&help));
}

#[test]
fn standard_output_is_the_commands_byte_for_byte() {
    let Some(sample) = testee("packagecloud") else { return };
    let script = format!(r"printf '\000\377\033[1m no end of line'; {sample} 10 | cat; exit 4");
    let words = ["sh", "-c", &script];
    let without = command(words[0]).args(&words[1..]).output().unwrap();
    for backend in backends_also_unpatched() {
        let with = needless_in(backend, &[&["run", "--"], &words[..]].concat());
        assert_eq!(with.stdout, without.stdout);
        assert_eq!(with.status, without.status);
        assert!(stderr(&with).contains("tz-unset"), "{}", stderr(&with));
    }
}

#[test]
fn standard_input_is_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in");
    std::fs::write(&file, b"a\0b\n\xff").unwrap();
    for backend in backends_also_unpatched() {
        let mut run = command(NEEDLESS);
        run.envs(backend.iter().copied()).args(["run", "--", "cat"]);
        let done = run.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
        assert_eq!(done.stdout, b"a\0b\n\xff");
    }
}

#[test]
fn only_our_own_variables_are_kept_from_the_command() {
    let sees = |backend: Backend, words: &[&str]| {
        let done = command_of(words)
            .envs(backend.iter().copied())
            .envs([("NEEDLESS_FORMAT", "json"), ("NEEDLESS_X", "1"), ("MY_NEEDLESS_X", "2")])
            .envs([("EMPTY", ""), ("LINES_", "a\nb"), ("TZ", "UTC")])
            .output()
            .unwrap();
        (stdout(&done), stderr(&done))
    };
    let (without, _) = sees(&[], &["env"]);
    let kept: Vec<&str> = without.lines().filter(|l| !l.starts_with("NEEDLESS_")).collect();
    for backend in backends_also_unpatched() {
        let (with, report) = sees(backend, &[NEEDLESS, "run", "--", "env"]);
        assert_eq!(with.lines().collect::<Vec<_>>(), kept);
        assert!(with.contains("MY_NEEDLESS_X=2"));
        assert_eq!(json(report.as_bytes())["schema"], "needless.report/1");
    }
}

#[test]
fn closed_and_full_streams_are_reported_in_the_status() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(&log, LOG).unwrap();
    let log = log.to_str().unwrap();
    let dockerfile = folder.path().join("Dockerfile");
    std::fs::write(&dockerfile, "FROM scratch\n").unwrap();
    let dockerfile = dockerfile.display();
    /// The status where standard error cannot be written, and where standard output cannot.
    struct Lost(i32, i32);
    for (words, status, Lost(no_stderr, no_stdout)) in [
        (format!("run -- {sample} 10"), 0, Lost(0, 0)),
        ("run --format json -- true".to_owned(), 0, Lost(0, 0)),
        // A gate does not pass without its report, and a command's own status goes first.
        ("run --fail-on 100 -- true".to_owned(), 0, Lost(2, 0)),
        (format!("run --fail-on any -- {sample} 10"), 1, Lost(2, 1)),
        ("run --fail-on any -- sh -c 'exit 3'".to_owned(), 3, Lost(3, 3)),
        ("run -- sh -c 'exit 3'".to_owned(), 3, Lost(3, 3)),
        ("run -- no-such-program-here".to_owned(), 127, Lost(127, 127)),
        ("run -o /no/dir/x -- true".to_owned(), 125, Lost(125, 125)),
        ("origin TZ -- true".to_owned(), 0, Lost(0, 0)),
        ("read /no/such/log".to_owned(), 2, Lost(2, 2)),
        (format!("read {log}"), 0, Lost(0, 2)),
        (format!("read -o /dev/stderr {log}"), 0, Lost(2, 0)),
        (format!("read -o /dev/stdout {log}"), 0, Lost(0, 2)),
        (format!("diff {log} {log}"), 0, Lost(0, 2)),
        (format!("origin TZ {}", std::process::id()), 0, Lost(0, 2)),
        ("prove --runs 1 --set TZ=UTC -- true".to_owned(), 1, Lost(1, 2)),
        (format!("fix --diff --set TZ=UTC --in {dockerfile}"), 0, Lost(0, 2)),
        ("undo --list".to_owned(), 0, Lost(0, 2)),
        ("explain".to_owned(), 0, Lost(0, 2)),
        ("explain tz-unset".to_owned(), 0, Lost(0, 2)),
        ("doctor".to_owned(), 0, Lost(0, 2)),
        ("--version".to_owned(), 0, Lost(0, 2)),
        ("run --help".to_owned(), 0, Lost(0, 2)),
    ] {
        for (redirection, expected) in [
            ("", status),
            ("2>&-", no_stderr),
            ("2>/dev/full", no_stderr),
            ("2</dev/null", no_stderr),
            (">&-", no_stdout),
            (">/dev/full", no_stdout),
            ("1</dev/null", no_stdout),
            ("<&- >&-", no_stdout),
            (">&- 2>&-", no_stdout.max(no_stderr)),
        ] {
            // That path opens the file behind the stream again.
            if words.contains(" /dev/std") && redirection.ends_with("</dev/null") {
                continue;
            }
            let script = format!("{NEEDLESS} {words} {redirection}");
            // The same for both backends, and this one is ready sooner.
            let env = ("NEEDLESS_BACKEND", "ptrace");
            let done = command("sh").args(["-c", &script]).envs([env]).output().unwrap();
            assert_eq!(done.status.code(), Some(expected), "{script}: {}", stderr(&done));
            let said = stderr(&done);
            assert!(!said.contains("internal error"), "{script}: {said}");
            if no_stdout != status && redirection.contains('>') && !redirection.contains('2') {
                assert!(said.contains("cannot write"), "{script}: {said}");
            }
        }
        into_closed_pipes(&words, status);
    }
}

/// Nobody reads what it writes.
fn into_closed_pipes(words: &str, status: i32) {
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(OwnedFd::from(writer))
    };
    let script = format!("exec {NEEDLESS} {words}");
    for backend in backends_also_unpatched() {
        let mut shell = command("sh");
        shell.envs(backend.iter().copied()).args(["-c", &script]).stderr(closed());
        // A command that writes into a closed pipe ends by SIGPIPE, which is correct.
        shell.stdout(if words.starts_with("run") { Stdio::null() } else { closed() });
        let done = shell.status().unwrap();
        assert_eq!(done.code(), Some(status), "{script} into closed pipes: {done:?}");
    }
}

#[test]
fn fix_changes_nothing_if_it_cannot_write_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Dockerfile");
    std::fs::write(&file, "FROM scratch\n").unwrap();
    for redirection in [">&-", ">/dev/full"] {
        let words = format!("fix --yes --set TZ=UTC --in {}", file.display());
        let script = format!("{NEEDLESS} {words} {redirection}");
        let done = command("sh").args(["-c", &script]).env("HOME", folder.path()).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{script}: {}", stderr(&done));
        assert!(assert_one_line(&done).contains("cannot write to standard output"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "FROM scratch\n", "{script}");
    }
}

const LOG: &str = "\
execve(\"/bin/x\", [\"x\"], 0x7ffd0 /* 3 vars */) = 0
openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3
exit_group(0)                           = ?
+++ exited with 0 +++
";

/// `needless run` of a shell that writes a line as soon as it is ready; its further lines.
fn ready(backend: Backend, report: &Path, script: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut run = command(NEEDLESS);
    run.envs(backend.iter().copied()).args(["run", "-o"]).arg(report);
    let mut child = run.args(["--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    (child, lines)
}

fn kill(signal: &str, child: &Child) {
    let words = ["kill", &format!("-{signal}"), &child.id().to_string()];
    assert!(command_of(&words).status().unwrap().success());
}

#[test]
fn a_signal_to_us_is_passed_to_the_command() {
    let folder = tempfile::tempdir().unwrap();
    for backend in backends_also_unpatched() {
        for (signal, number) in [("TERM", 15), ("INT", 2)] {
            let file = folder.path().join("x.json");
            let script = format!(
                "trap 'echo got {number}; exit 9' {signal}; echo ready; while :; do sleep 0.01; done"
            );
            let (mut child, mut lines) = ready(backend, &file, &script);
            kill(signal, &child);
            assert_eq!(lines.next().unwrap().unwrap(), format!("got {number}"));
            assert_eq!(child.wait().unwrap().code(), Some(9));
            assert!(std::fs::read_to_string(&file).unwrap().contains("needless.report/1"));
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_command_that_a_signal_to_us_ends_is_reported_too() {
    let folder = tempfile::tempdir().unwrap();
    for backend in backends_also_unpatched() {
        let file = folder.path().join("x.json");
        let (mut child, _) = ready(backend, &file, "echo ready; exec sleep 600");
        kill("TERM", &child);
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        assert!(std::fs::read_to_string(&file).unwrap().contains("needless.report/1"));
        assert_eq!(names(folder.path()), ["x.json"]);
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_command_without_a_reader_ends_by_sigpipe_as_without_us() {
    // dash reports it and ends with 2, bash ends by the signal: needless must not change either.
    let status = |mut command: Command| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let command = command.args(["sh", "-c", "echo lost; exit 1"]);
        command.stdout(OwnedFd::from(writer)).output().unwrap().status
    };
    let alone = status(command("env"));
    for backend in backends_also_unpatched() {
        let mut run = command(NEEDLESS);
        run.envs(backend.iter().copied()).args(["run", "--"]);
        assert_eq!(status(run), alone);
    }
}

#[test]
fn an_unprivileged_user_finds_the_same() {
    let Some(sample) = testee("packagecloud") else { return };
    let Some(user) = as_ordinary_user() else { return };
    let folder = open_folder();
    let (binary, own) = (folder.path().join("needless"), folder.path().join("sample"));
    copy(NEEDLESS, &binary);
    copy(&sample, &own);
    let (binary, own) = (binary.to_str().unwrap(), own.to_str().unwrap());
    let done = command_of(&[user, &[binary, "run", "--format", "json", "--", own]].concat())
        .current_dir("/")
        .output()
        .unwrap();
    let report = json(&done.stderr);
    assert_eq!(found(&report), [("tz-unset", 9, 10)]);
    assert_eq!(finding(&report, "tz-unset")["stage"], "explained");
}

#[test]
fn the_command_keeps_the_capabilities_that_needless_drops() {
    if root().is_none() || !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let own = "grep Cap /proc/self/status";
    let native = command("sh").args(["-c", own]).output().unwrap();
    let wrapped = |script: &str| {
        let mut needless = command(NEEDLESS);
        needless.args(["run", "--backend", "ebpf", "-o"]).arg(&report).args(["--", "sh", "-c"]);
        let done = needless.arg(script).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        stdout(&done)
    };
    assert_eq!(wrapped(own), stdout(&native));
    for set in ["Prm", "Eff", "Bnd"] {
        let held = wrapped(&format!("sed -n 's/^Cap{set}:.//p' /proc/$PPID/status"));
        let held = u64::from_str_radix(held.trim(), 16).unwrap();
        assert_eq!(held & !OBSERVING, 0, "{set} {held:x}");
    }
}
