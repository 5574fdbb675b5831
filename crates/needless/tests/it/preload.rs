//! `needless preload`: the same output, and no system call per conversion.

use crate::common::*;
use std::path::Path;

/// `words` print the same alone and under `needless preload`, where they make no needless call, whichever backend counts.
fn compare(words: &[&str]) {
    library();
    let alone = command(words[0]).args(&words[1..]).output().unwrap();
    assert!(!alone.stdout.is_empty(), "{words:?}: {}", stderr(&alone));
    let with = command(NEEDLESS).args(["preload", "--"]).args(words).output().unwrap();
    assert_eq!(with.status, alone.status, "{words:?}: {}", stderr(&with));
    assert_eq!(stderr(&with), stderr(&alone), "{words:?}");
    assert!(with.stdout == alone.stdout, "{words:?} prints something else");
    for backend in backends() {
        let needless = |words: &[&str]| -> u64 {
            let report = run(backend, words);
            ["tz-unset", "zone-file-missing"].iter().map(|rule| needless_of(&report, rule)).sum()
        };
        let before = needless(words);
        assert!(before >= 50, "{words:?}: {before} needless calls alone");
        assert_eq!(needless(&[&[NEEDLESS, "preload", "--"], words].concat()), 0, "{words:?}");
    }
}

#[test]
fn loops_lose_every_needless_call_and_print_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..60 {
        std::fs::write(folder.path().join(format!("file{at}")), "x").unwrap();
    }
    let files = folder.path().to_str().unwrap();
    let tar = folder.path().join("files.tar");
    let tar = tar.to_str().unwrap();
    let made = command("tar").args(["cf", tar, "-C", files, "."]).output().unwrap();
    assert!(tar.ends_with("files.tar") && Path::new(tar).is_file(), "{}", stderr(&made));
    let perl = "print scalar(localtime($_ * 86400)), qq(\\n) for 1..300";
    let mawk =
        "BEGIN { for (i = 0; i < 300; i++) print strftime(\"%Y-%m-%d %H:%M:%S %Z\", i * 864000) }";
    let bash = "for i in {1..100}; do printf '%(%F %T %Z)T\\n' $((i * 86400)); done";
    for words in [
        &["perl", "-e", perl][..],
        &["mawk", mawk],
        &["bash", "-c", bash],
        &["find", files, "-printf", "%t %TY-%Tm-%Td\n"],
        &["tar", "tvf", tar],
    ] {
        if program(words[0]).is_none() {
            continue;
        }
        compare(words);
    }
}

#[test]
fn the_sample_of_the_article_asks_no_more() {
    let Some(sample) = testee("packagecloud") else { return };
    library();
    for backend in backends() {
        let report = run(backend, &[NEEDLESS, "preload", "--", &sample, "10"]);
        assert_eq!(found(&report), []);
    }
}

#[test]
fn a_command_that_preload_cannot_help_runs_as_it_is_with_a_message() {
    library();
    let Some(fixed) = testee("packagecloud-static") else { return };
    let Some(narrow) = testee("packagecloud-i386") else { return };
    for (words, why) in [
        (&[narrow.as_str(), "3"][..], "another architecture"),
        (&[fixed.as_str(), "3"], "statically linked"),
        (&["--once", "/bin/true"], "neither it nor a library"),
    ] {
        let done = command(NEEDLESS).arg("preload").args(words).output().unwrap();
        assert_eq!(done.status.code(), Some(0));
        let said = assert_one_line(&done);
        assert!(said.contains(why) && said.contains("it runs without"), "{said}");
    }
}

/// A C program with AddressSanitizer ends at its start where another library comes before its runtime.
#[test]
fn a_program_with_address_sanitizer_runs_without() {
    library();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("program.c");
    let program = folder.path().join("program");
    let text = "#include <stdio.h>\n#include <time.h>\nint main(void) { time_t t = 0; puts(localtime(&t) ? \"runs\" : \"\"); }\n";
    std::fs::write(&source, text).unwrap();
    let made =
        command("cc").arg("-fsanitize=address").arg(&source).arg("-o").arg(&program).output();
    let made = made.unwrap().status.success();
    if needed(made.then_some(()).ok_or("cc has no AddressSanitizer".to_owned())).is_none() {
        return;
    }
    let done = command(NEEDLESS).args(["preload", "--"]).arg(&program).output().unwrap();
    assert_eq!(stdout(&done), "runs\n", "{}", stderr(&done));
    assert!(done.status.success());
    let said = assert_one_line(&done);
    assert!(said.contains("AddressSanitizer") && said.contains("it runs without"), "{said}");
}

#[test]
fn a_wrapper_passes_the_library_on_to_its_children() {
    library();
    let look = "grep -c libneedless /proc/self/maps";
    let done = command(NEEDLESS)
        .args(["preload", "--", "timeout", "9", "sh", "-c", look])
        .output()
        .unwrap();
    let said = assert_one_line(&done);
    assert!(said.trim_end().ends_with("what it starts gets the time functions"), "{said}");
    assert!(stdout(&done).trim().parse::<u32>().unwrap() > 0, "{}", stdout(&done));
}

#[test]
fn statuses_are_those_of_run() {
    library();
    for (words, status) in [
        (&["/nowhere/x"][..], 127),
        (&["no-such-command"], 127),
        (&["/"], 126),
        (&["sh", "-c", "exit 7"], 7),
    ] {
        let done = command(NEEDLESS).args(["preload", "--"]).args(words).output().unwrap();
        assert_eq!(done.status.code(), Some(status), "{words:?}: {}", stderr(&done));
    }
}

#[test]
fn the_environment_is_the_commands_but_for_one_variable() {
    let library = library();
    let print = command(NEEDLESS).args(["preload", "--print"]).output().unwrap();
    let expected = format!("LD_PRELOAD={}", library.canonicalize().unwrap().display());
    assert_eq!(stdout(&print).trim_end(), expected);
    let done = command(NEEDLESS)
        .env("LD_PRELOAD", "/nowhere/other.so")
        .env("NEEDLESS_ALL", "true")
        .args(["preload", "--", "date", "+%Z"])
        .output()
        .unwrap();
    // The loader complains about the other library, which comes after ours.
    assert!(stderr(&done).contains("/nowhere/other.so"), "{}", stderr(&done));
    let show = "cat /proc/self/environ | tr '\\0' '\\n' | grep -E '^(LD_PRELOAD|NEEDLESS_)'";
    let shown = command(NEEDLESS)
        .env("LD_PRELOAD", "")
        .env("NEEDLESS_ALL", "true")
        .args(["preload", "--", "bash", "-c", show])
        .output()
        .unwrap();
    assert_eq!(stdout(&shown).trim_end(), expected);
    // With --once children use the functions of the C library.
    let once = command(NEEDLESS)
        .args(["preload", "--once", "--", "bash", "-c", "bash -c \"$0\"", show])
        .output()
        .unwrap();
    assert_eq!(stdout(&once), "", "{}", stderr(&once));
}

#[test]
fn a_missing_library_is_reported_with_where_it_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let lonely = folder.path().join("needless");
    copy(NEEDLESS, &lonely);
    for arguments in [&["preload", "--print"][..], &["preload", "--", "true"]] {
        let done = command(&lonely).args(arguments).output().unwrap();
        assert_eq!(done.status.code(), Some(125));
        assert!(assert_one_line(&done).contains("libneedless/preload/build-so"));
    }
}
