//! Where a report goes: a file is complete, or not there at all.

use crate::common::*;
use std::os::unix::fs::symlink;
use std::path::Path;

fn report_to(file: &Path, script: &str) -> std::process::Output {
    report_with(&[], file, script)
}

pub(crate) fn report_with(backend: Backend, file: &Path, script: &str) -> std::process::Output {
    needless_in(backend, &["run", "-o", file.to_str().unwrap(), "--", "sh", "-c", script])
}

/// What a shell prints, and its status, for a script in which each `needless` observes with `backend`.
pub(crate) fn sh(backend: Backend, script: &str) -> std::process::Output {
    command("sh").envs(backend.iter().copied()).args(["-c", script]).output().unwrap()
}

#[test]
fn the_command_does_not_run_if_the_report_cannot_be_written() {
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

#[test]
fn a_circle_of_links_and_a_removed_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    symlink("b", folder.path().join("a")).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    let done = report_to(&folder.path().join("a"), "true");
    assert_eq!(done.status.code(), Some(125));
    assert!(assert_one_line(&done).contains("symbolic links"), "{}", stderr(&done));
    let gone = folder.path().join("gone");
    let script = format!("exec 3>{0}; rm {0}; {NEEDLESS} run -o /dev/fd/3 -- true", gone.display());
    let done = sh(&[], &script);
    assert_eq!(done.status.code(), Some(125));
    assert!(assert_one_line(&done).contains("has been removed"), "{}", stderr(&done));
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn a_pipe_with_a_name_is_written_to_whoever_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let script = format!(
        "mkfifo {0}; cat {0} & {NEEDLESS} run --format json -o {0} -- true; echo $? >&2; wait; rm {0}",
        pipe.display()
    );
    for backend in backends_also_unpatched() {
        let done = sh(backend, &script);
        assert!(stdout(&done).contains("needless.report/1"), "{}", stdout(&done));
        assert_eq!(stderr(&done), "0\n");
    }
}

#[test]
fn a_gate_whose_report_cannot_be_written_does_not_pass() {
    backends().for_each(a_gate_with);
}

fn a_gate_with(backend: Backend) {
    let Some(sample) = testee("packagecloud") else { return };
    let status = |words: &[&str]| {
        let done = needless_in(backend, words);
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
    // Without `--fail-on` the status is the command's.
    assert_eq!(status(&["run", "-o", "/dev/full", "--", "true"]).0, 0);
    let Some(strace) = program("strace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    assert!(command(strace).arg("-o").arg(&log).arg("true").status().unwrap().success());
    let log = log.to_str().unwrap();
    assert_eq!(status(&["read", "--fail-on", "any", "-o", "/dev/full", log]).0, 2);
    assert_eq!(status(&["read", "-o", "/dev/full", log]).0, 2);
}

#[test]
fn a_limit_of_file_sizes_is_a_full_disk_for_the_report_and_the_same_for_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    let exits = format!("ulimit -f 0; {NEEDLESS} run -o {} -- sh -c 'exit 4'", file.display());
    for backend in backends_also_unpatched() {
        let done = sh(backend, &exits);
        assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
        assert!(assert_one_line(&done).contains("File too large"), "{}", stderr(&done));
        assert!(names(folder.path()).is_empty());
        // With each signal disposition at its start, the command ends as without needless.
        for trap in ["", "trap '' XFSZ; "] {
            let script = |before: &str| {
                format!("{trap}ulimit -f 0; {before} sh -c 'echo x >{}; exit 3'", file.display())
            };
            let status = |script: &str| sh(backend, script).status;
            let wrapped = script(&format!("{NEEDLESS} run -o /dev/null --"));
            assert_eq!(status(&wrapped), status(&script("")), "{trap}");
            std::fs::remove_file(&file).unwrap();
        }
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
fn no_message_has_control_characters() {
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
    let all: [&[&str]; 13] = [
        &["run", "--", HOSTILE],
        &["run", "-o", way, "--", "true"],
        &["check", "--baseline", HOSTILE, "--", "true"],
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
fn a_full_disk_is_reported_and_the_status_stays_the_commands() {
    for backend in backends() {
        let done = report_with(backend, Path::new("/dev/full"), "echo out; exit 3");
        assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(3), "out\n"));
        assert!(assert_one_line(&done).contains("No space left"));
    }
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
    for backend in backends() {
        let mut inside = command_of(&mounts);
        inside.envs(backend.iter().copied()).args(["sh", "-c", &script]);
        let done = inside.output().unwrap();
        assert_eq!(stdout(&done), "status 1\nold\nfill\nx.json\n", "{}", stderr(&done));
        let line = stderr(&done).lines().last().unwrap().to_owned();
        let says = line.contains("x.json: No space left") && !line.contains(".needless-");
        assert!(line.starts_with("needless: cannot write ") && says, "{line}");
    }
}

#[test]
fn the_ending_selects_the_format_and_an_option_overrides_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    for backend in backends() {
        let done = report_with(backend, &file, "echo out; echo err >&2");
        assert_eq!((stdout(&done).as_str(), stderr(&done).as_str()), ("out\n", "err\n"));
        assert!(json(&std::fs::read(&file).unwrap()).is_object());
    }
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
    let next = format!("needless run -- {sample} 100 'it'\\''s a secret'\n");
    for backend in backends() {
        let mut on_terminal = command(&script);
        on_terminal.envs(backend.iter().copied()).args(["-qec", &line, "/dev/null"]);
        let shown = stdout(&on_terminal.output().unwrap()).replace("\r\n", "\n");
        assert!(shown.ends_with(&next) && shown.contains("try:  "), "{shown}");
    }
    for options in
        [&["--format", "full"][..], &["--format", "json"], &["-o", file.to_str().unwrap()]]
    {
        let done = needless(&[&["run"], options, &["--"], &words[..]].concat());
        let text = stderr(&done) + &std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text.contains("tz-unset") && !text.contains("secret"), "{text}");
    }
}

#[test]
fn a_pipe_is_written_as_it_is() {
    let script = format!("{NEEDLESS} run -o /dev/fd/3 -- echo out 3>&1 >/dev/null | cat");
    for backend in backends_also_unpatched() {
        let done = sh(backend, &script);
        assert!(stdout(&done).starts_with("needless: nothing needless"), "{}", stdout(&done));
    }
}

#[test]
fn a_file_may_be_named_by_a_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report");
    for backend in backends_also_unpatched() {
        let to = file.display();
        let done = sh(backend, &format!("{NEEDLESS} run -o /dev/fd/3 -- true 3>{to}"));
        assert!(done.status.success() && done.stderr.is_empty(), "{}", stderr(&done));
        let report = std::fs::read_to_string(&file).unwrap();
        assert!(report.starts_with("needless: nothing needless"), "{report}");
    }
}

#[test]
fn read_writes_to_standard_output_if_the_output_file_is_a_dash() {
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
fn colours_are_printed_only_where_they_are_wanted() {
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
