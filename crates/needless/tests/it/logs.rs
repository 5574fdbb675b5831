//! `needless read`: a log of strace gives the same findings as a run of the program.

use crate::common::*;
use std::path::Path;
use std::process::Stdio;

const TIMES: &str = "-tt";

type Env = Vec<(&'static str, &'static str)>;

/// Programs with needless calls that a log shows, with their environment.
fn programs() -> Vec<(Env, Vec<String>)> {
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let mut list = Vec::new();
    if let Some(sample) = testee("packagecloud") {
        list.push((vec![], words(&[&sample, "10"])));
        list.push((vec![("TZ", "UTC")], words(&[&sample, "10"])));
        list.push((vec![("TZ", "CET-1CEST")], words(&[&sample, "10"])));
    }
    if let Some(watcher) = testee("watcher") {
        list.push((vec![], words(&[&watcher, "1000"])));
    }
    for (name, option, text) in [
        ("bash", "-c", r#"for i in {1..100}; do printf '%(%F)T\n' -1; done"#),
        ("gawk", "--", r#"BEGIN { for (i = 0; i < 100; i++) print strftime("%F", i) }"#),
        ("perl", "-e", "@x = localtime for 1..100"),
        ("python3", "-c", "import time\nfor i in range(100): time.mktime((2020,1,1,0,0,0,0,0,0))"),
    ] {
        if let Some(program) = program(name) {
            list.push((vec![], words(&[program.to_str().unwrap(), option, text])));
        }
    }
    list
}

#[test]
fn a_log_says_what_running_says() {
    if program("strace").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    for (env, words) in programs() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = run(&env, &words);
        for options in [&["-f"][..], &["-f", TIMES, "-T", "-y"], &["-f", "-ttt", "-v"], &[]] {
            strace(options, &log, &env, &words);
            let reported = read(&[log.to_str().unwrap()]);
            assert_eq!(found(&reported), found(&ran), "{options:?} {env:?} {words:?}");
            assert!(reported["lost"].as_object().unwrap().is_empty(), "{reported:#}");
        }
    }
}

/// A log of the sample in a folder of its own.
fn sample_log(folder: &Path, options: &[&str]) -> Option<String> {
    let (sample, _) = (testee("packagecloud")?, program("strace")?);
    let log = folder.join("log");
    strace(options, &log, &[], &[&sample, "10"]);
    Some(log.to_str().unwrap().to_owned())
}

#[test]
fn standard_input_and_compressed_logs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(log) = sample_log(folder.path(), &["-f"]) else { return };
    let expected = read(&[&log])["findings"].clone();
    assert_eq!(expected[0]["needless"], 9);
    for tool in ["cat", "gzip", "zstd"] {
        let Some(program) = program(tool) else { continue };
        let packed = folder.path().join(format!("log.{tool}"));
        let done = command(program)
            .stdin(std::fs::File::open(&log).unwrap())
            .stdout(std::fs::File::create(&packed).unwrap())
            .status();
        assert!(done.unwrap().success());
        assert_eq!(read(&[packed.to_str().unwrap()])["findings"], expected, "{tool}");
        let script = format!("cat {} | {NEEDLESS} read --format json -", packed.display());
        let piped = command("sh").args(["-c", &script]).output().unwrap();
        let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
        assert_eq!(piped["findings"], expected, "{tool} from a pipe");
    }
    let full = command(NEEDLESS)
        .args(["read", "--format", "full", "-"])
        .stdin(std::fs::File::open(&log).unwrap())
        .output()
        .unwrap();
    assert!(stdout(&full).contains("standard input: "), "{}", stdout(&full));
}

#[test]
fn a_set_of_files_is_one_capture() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("strace")) else { return };
    let script = format!("{sample} 10; {sample} 20; exit 0");
    for options in [&["-ff"][..], &["-ff", TIMES]] {
        let set = tempfile::tempdir_in(folder.path()).unwrap();
        strace(options, &set.path().join("log"), &[], &["sh", "-c", &script]);
        let files: Vec<String> = names(set.path())
            .iter()
            .map(|name| set.path().join(name).to_str().unwrap().to_owned())
            .collect();
        assert_eq!(files.len(), 3);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(needless_of(&read(&files), "tz-unset"), 9 + 19, "{options:?}");
    }
}

#[test]
fn the_zone_is_named_only_where_the_log_is_from_here() {
    let folder = tempfile::tempdir().unwrap();
    let Some(log) = sample_log(folder.path(), &["-f"]) else { return };
    assert_eq!(
        finding(&read(&[&log]), "tz-unset")["remedies"][0]["value"],
        serde_json::Value::Null
    );
    let here = read(&["--here", &log]);
    let zones = advised(finding(&here, "tz-unset"), "TZ");
    assert_eq!(zones.len(), 1);
    let file = Path::new("/usr/share/zoneinfo").join(zones[0]);
    assert!(zones[0] == "UTC" || file.is_file(), "{zones:?}");
}

#[test]
fn what_is_no_log_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let noise: Vec<u8> = (0..9000u32).map(|i| ((i * i) >> 3) as u8).collect();
    let cases = [
        (folder.path().to_str().unwrap().to_owned(), "is a directory"),
        (folder.path().join("none").to_str().unwrap().to_owned(), "No such file"),
        (write("empty", b""), "is empty"),
        (write("binary", &noise), "is not text"),
        (write("text", b"127.0.0.1 localhost\n# no log\n"), "is not a strace log"),
        (write("cut.gz", &[0x1f, 0x8b, 8, 0, 0, 0]), "cut.gz"),
    ];
    let output = folder.path().join("report.json");
    for (file, says) in cases {
        for options in [&["read"][..], &["read", "-o", output.to_str().unwrap()]] {
            let done = needless(&[options, &[file.as_str()]].concat());
            assert_eq!(done.status.code(), Some(2), "{file}");
            let line = assert_one_line(&done);
            assert!(line.contains(says) && line.contains(&file), "{line}");
            assert_eq!(
                line.matches("No such file").count(),
                line.matches("none").count(),
                "{line}"
            );
            assert!(done.stdout.is_empty() && !output.exists(), "{file}");
        }
    }
    assert_eq!(names(folder.path()), ["binary", "cut.gz", "empty", "text"]);
    let empty = needless(&["read", "-"]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(assert_one_line(&empty).contains("standard input"));
}

#[test]
fn a_log_that_may_not_be_read() {
    // Root may read everything, so an ordinary user runs the program, from a directory that this user may read.
    let Some(user) = as_ordinary_user() else { return };
    let folder = open_folder();
    let (log, binary) = (folder.path().join("log"), folder.path().join("needless"));
    std::fs::write(&log, "x").unwrap();
    std::fs::set_permissions(&log, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    copy(NEEDLESS, &binary);
    let words = [binary.to_str().unwrap(), "read", log.to_str().unwrap()];
    let done = command_of(&[user, &words].concat()).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let line = assert_one_line(&done);
    assert_eq!(line.to_lowercase().matches("permission denied").count(), 1, "{line}");
}

#[test]
fn standard_input_is_not_mixed_with_files() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(&log, "x").unwrap();
    for files in [["-", log.to_str().unwrap()], [log.to_str().unwrap(), "-"], ["-", "-"]] {
        let done = command(NEEDLESS).arg("read").args(files).stdin(Stdio::null()).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        assert!(assert_one_line(&done).contains("standard input"));
        assert!(done.stdout.is_empty());
    }
}
