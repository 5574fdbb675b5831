//! Against the strace of this machine: the log of a run has the very calls that its table counts.
//!
//! Without strace these tests are skipped.

use crate::common::{counts, read_options, table};
use needless_fixtures::{needed, referee, skipped};
use needless_model::{ArgClass, Fact, Loss, Target};
use needless_strace_log::{read, read_files};
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn no_strace() -> bool {
    let found = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        skipped("strace is missing, or may not trace");
    }
    !found
}

fn has(program: &str) -> bool {
    needed(referee::program(program)).is_some()
}

/// Traces `command` with `options` into a file, with the table behind it.
fn trace(options: &[&str], command: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let status = Command::new("strace")
        .args(["-f", "-C"])
        .args(options)
        .arg("-o")
        .arg(&log)
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{command:?}: {status}");
    std::fs::read(log).unwrap()
}

const LAYOUTS: [&[&str]; 9] = [
    &[],
    &["-ttt", "-T"],
    &["-r", "-y"],
    &["-tt", "-r", "-n", "-i"],
    &["-yy", "-T", "-t"],
    &["-xx"],
    &["-X", "verbose", "-v", "-s", "1000"],
    &["-X", "raw", "-Y"],
    &["-k"],
];

/// Programs that every system has, and others where they are.
fn programs() -> Vec<Vec<&'static str>> {
    let mut list = vec![
        vec!["ls", "-l", "/usr"],
        vec!["find", "/etc", "-maxdepth", "2"],
        vec![
            "sh",
            "-c",
            "i=0; while [ $i -lt 20 ]; do /bin/true & i=$((i+1)); done; wait; cd /; ls | wc -l; \
             (exec cat /dev/null); no-such-program; sh -c 'kill -9 $$'; :",
        ],
    ];
    if has("bash") {
        list.push(vec![
            "bash",
            "-c",
            "for f in /etc/*; do [ -e \"$f\" ]; printf '%(%F)T' 0; done; x=$(ls) | cat",
        ]);
    }
    if has("git") {
        list.push(vec!["git", "ls-remote", "--get-url", "/nowhere"]);
    }
    if std::path::Path::new("/usr/bin/perl").exists() {
        list.push(vec!["/usr/bin/perl", "-e", "for (1..9) { my @t = localtime; my $p = fork // die; exit 0 unless $p; waitpid $p, 0 }"]);
    } else {
        skipped("no /usr/bin/perl");
    }
    list
}

#[test]
fn counts_are_those_of_the_table_of_the_same_run() {
    if no_strace() {
        return;
    }
    for command in programs() {
        for options in LAYOUTS {
            if options == ["-k"] && command[0] != "ls" {
                continue; // slow
            }
            let log = trace(options, &command);
            let want = table(&String::from_utf8_lossy(&log)).unwrap();
            let profile = read(log.as_slice(), "log", &read_options()).unwrap();
            assert_eq!(counts(&profile), want, "{command:?} {options:?}");
            assert_eq!(profile.totals.calls, want.values().map(|c| c.0).sum::<u64>());
            assert!(
                profile.facts.has(Fact::AllCalls),
                "{command:?} {options:?}: {:?}",
                profile.notes
            );
            assert_eq!(
                profile.lost.get(&Loss::Unparsed),
                None,
                "{command:?} {options:?}: {:?}",
                profile.notes
            );
        }
    }
}

#[test]
fn threads_are_their_process() {
    if no_strace() || !has("python3") {
        return;
    }
    let script = "import threading\n\
                  def work():\n  for i in range(50):\n    try: open('/nonexistent')\n    except OSError: pass\n\
                  threads = [threading.Thread(target=work) for _ in range(8)]\n\
                  [t.start() for t in threads]; [t.join() for t in threads]\n";
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|p| std::path::Path::new(p).exists());
    let Some(python) = python else { return skipped("no python3 but a wrapper") };
    for options in [&[][..], &["-ttt", "-T"]] {
        let log = trace(options, &[python, "-c", script]);
        let want = table(&String::from_utf8_lossy(&log)).unwrap();
        let profile = read(log.as_slice(), "log", &read_options()).unwrap();
        assert_eq!(counts(&profile), want);
        assert_eq!(profile.processes.len(), 1, "{:?}", profile.processes);
        let row = profile.rows.iter().find(|r| profile.path(r) == "/nonexistent").unwrap();
        assert_eq!(row.count, 400);
    }
}

/// A program that does the same each time: a run under `-c`, one with a log, one on the terminal
/// and one with a file per process agree.
#[test]
fn runs_of_one_program_agree() {
    if no_strace() {
        return;
    }
    let command = ["sh", "-c", "test -e /etc/passwd; test -e /nonexistent; cat /dev/null"];
    let run = |options: &[&str]| {
        Command::new("strace")
            .args(options)
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .output()
            .unwrap()
            .stderr
    };
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    run(&["-f", "-c", "-o", &at("table")]);
    run(&["-f", "-o", &at("log")]);
    run(&["-ff", "-ttt", "-o", &at("set")]);
    let want = table(&std::fs::read_to_string(at("table")).unwrap()).unwrap();
    let of = |names: &[PathBuf]| counts(&read_files(names, &read_options()).unwrap());
    assert_eq!(of(&[at("table").into()]), want);
    assert_eq!(of(&[at("log").into()]), want);
    let mut set: Vec<PathBuf> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_stem().is_some_and(|stem| stem == "set"))
        .collect();
    assert!(set.len() >= 2, "{set:?}");
    set.reverse();
    assert_eq!(of(&set), want);
    let terminal = run(&["-f"]);
    assert_eq!(
        counts(&read(terminal.as_slice(), "standard error", &read_options()).unwrap()),
        want
    );
}

/// `ln` and `mv` of this system: a link is asked for by its own name, not by what it leads to.
#[test]
fn a_link_is_asked_for_by_its_own_name() {
    if no_strace() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("file"), "").unwrap();
    let script = "ln -s to, \"$1\"; ln \"$2\" \"$3\"; mv \"$2\" \"$4\"";
    let (link, file, hard, moved) = (at("link"), at("file"), at("hard"), at("moved"));
    for options in [&["-y"][..], &["-xx", "-s", "1000"], &["-X", "raw"], &["-ttt", "-T"]] {
        for name in [&link, &hard, &moved] {
            let _ = std::fs::remove_file(name);
        }
        std::fs::write(&file, "").unwrap();
        let log = trace(options, &["sh", "-c", script, "sh", &link, &file, &hard, &moved]);
        let profile = read(log.as_slice(), "log", &read_options()).unwrap();
        let paths = |start: &str| -> Vec<&str> {
            let rows = profile.rows.iter().filter(|r| r.ok() && profile.call(r).starts_with(start));
            rows.map(|r| profile.path(r)).collect()
        };
        assert_eq!(paths("symlink"), [&link], "{options:?}");
        assert_eq!(paths("link"), [&file], "{options:?}");
        assert_eq!(paths("rename"), [&file], "{options:?}");
    }
}

/// What a log shows of a standard stream does not depend on how strace writes constants.
#[test]
fn output_to_dev_null_is_recognized_in_each_style_of_constants() {
    if no_strace() {
        return;
    }
    for style in ["abbrev", "verbose", "raw"] {
        for options in [&["-X", style][..], &["-X", style, "-v"], &["-X", style, "-xx"]] {
            let log = trace(options, &["cat", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
            let profile = read(log.as_slice(), "log", &read_options()).unwrap();
            let classes: Vec<Target> = profile
                .rows
                .iter()
                .filter(|r| profile.call(r) == "write")
                .map(|r| r.target)
                .collect();
            assert_eq!(classes, [Target::ArgClass(ArgClass::DiscardedOutput)], "{options:?}");
        }
    }
}
