//! Every log of `tests/corpus` against its expectation. Logs named `real-*` were recorded by
//! `record.sh`; the others are written by hand after the output of other versions.
//!
//! `NEEDLESS_BLESS=1 cargo test -p needless-strace-log --test it corpus` writes the expectations anew:
//! read the difference before keeping it.

use crate::common::{counts, read_options, table, words};
use needless_model::{Fact, Loss, Profile};
use needless_strace_log::{read, read_files};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn logs() -> Vec<PathBuf> {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|e| e == "log");
    files(&folder()).into_iter().filter(is_log).collect()
}

fn profile(name: &str) -> Profile {
    read_files(&[folder().join(name)], &read_options()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_log_says_what_it_said() {
    let bless = std::env::var_os("NEEDLESS_BLESS").is_some();
    let mut different = Vec::new();
    let mut check = |path: PathBuf, got: String| {
        if bless {
            std::fs::write(&path, got).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != got {
            different.push(format!("{}:\n{got}", path.display()));
        }
    };
    for log in logs() {
        let profile = read_files(std::slice::from_ref(&log), &read_options()).unwrap();
        check(log.with_extension("txt"), words(&profile));
    }
    for set in ["ff", "ff-threads"] {
        let profile = read_files(&files(&folder().join(set)), &read_options()).unwrap();
        check(folder().join(format!("{set}.txt")), words(&profile));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// `strace -C` counted the very calls that the log has.
#[test]
fn counts_are_those_of_strace() {
    let mut checked = 0;
    for log in logs() {
        let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        let Some(want) = table(&text) else { continue };
        let profile = read_files(std::slice::from_ref(&log), &read_options()).unwrap();
        if !profile.facts.has(Fact::Paths) || text.contains("wall") {
            continue; // the table alone: another test
        }
        assert_eq!(counts(&profile), want, "{}", log.display());
        assert!(profile.facts.has(Fact::AllCalls), "{}", log.display());
        checked += 1;
    }
    assert!(checked >= 25, "{checked}");
}

/// The same program, whatever the options: the same calls of the same processes.
#[test]
fn every_layout_gives_the_same_calls() {
    let plain = profile("real-plain.log");
    let want = counts(&plain);
    let chain = |p: &Profile| {
        p.processes
            .iter()
            .map(|p| (p.born, p.parent, p.exe.clone(), p.libc.clone(), p.exit))
            .collect::<Vec<_>>()
    };
    let same = [
        "t",
        "tt-T",
        "ttt",
        "unix-seconds",
        "nanoseconds",
        "r",
        "tt-r",
        "n",
        "i",
        "y",
        "yy",
        "k",
        "x",
        "xx",
        "X-raw",
        "X-verbose",
        "v",
        "v-cut",
        "comm",
        "everything",
    ];
    for name in same {
        let profile = profile(&format!("real-{name}.log"));
        assert_eq!(profile.totals.calls, plain.totals.calls, "{name}");
        assert_eq!(profile.totals.path_calls, plain.totals.path_calls, "{name}");
        assert_eq!(counts(&profile), want, "{name}");
        assert_eq!(chain(&profile), chain(&plain), "{name}");
        assert!(profile.lost.is_empty(), "{name}: {:?}", profile.lost);
    }
    // On the terminal and in a file per process too.
    let set = read_files(&files(&folder().join("ff")), &read_options()).unwrap();
    assert_eq!(counts(&set), want);
    assert_eq!(chain(&set), chain(&plain));
    assert_eq!(counts(&profile("real-stderr.log")), want);
    assert_eq!(chain(&profile("real-stderr.log")), chain(&plain));
}

#[test]
fn facts_are_those_of_the_options() {
    for (name, clock, time, sites, environment, all) in [
        ("plain", false, false, false, false, true),
        ("t", true, false, false, false, true),
        ("r", true, false, false, false, true),
        ("tt-T", true, true, false, false, true),
        ("unix-seconds", true, false, false, false, true),
        ("k", false, false, true, false, true),
        ("v", false, false, false, true, true),
        ("v-cut", false, false, false, false, true),
        ("only-file", false, false, false, false, false),
        ("only-memory", false, false, false, false, false),
        ("only-ok", false, false, false, false, false),
        ("only-failed", false, false, false, false, false),
        ("one-path", false, false, false, false, false),
        ("seccomp-bpf", false, false, false, false, false),
    ] {
        let profile = profile(&format!("real-{name}.log"));
        for (fact, want) in [
            (Fact::Clock, clock),
            (Fact::KernelTime, time),
            (Fact::CallSites, sites),
            (Fact::Environment, environment),
            (Fact::AllCalls, all),
        ] {
            assert_eq!(profile.facts.has(fact), want, "{name}: {fact:?}");
        }
        assert_eq!(profile.facts.has(Fact::Outcomes), name != "only-failed", "{name}");
        assert_eq!(profile.lost.contains_key(&Loss::Filtered), !all, "{name}");
        assert_eq!(profile.window.length_ns.is_some(), clock, "{name}");
        let counts_only = profile.notes.iter().any(|note| note.contains("counts only"));
        assert_eq!(counts_only, !time, "{name}: {:?}", profile.notes);
    }
}

#[test]
fn waits_between_the_same_questions_are_seen() {
    let profile = profile("real-waits.log");
    let row = profile.rows.iter().find(|r| profile.path(r) == "/etc/localtime").unwrap();
    // 2 writes, an empty poll, 1, a wait, 1, a sleep, 2: of six, three follow no wait.
    assert_eq!((row.count, row.repeated), (6, 3));
}

#[test]
fn compressed_logs_are_the_same() {
    let plain = std::fs::read(folder().join("real-everything.log")).unwrap();
    let want = words(&read(plain.as_slice(), "log", &read_options()).unwrap());
    let zstd = zstd::encode_all(plain.as_slice(), 3).unwrap();
    assert_eq!(words(&read(zstd.as_slice(), "log", &read_options()).unwrap()), want);
    let mut gzip = Vec::new();
    // Two members, as of two logs put together: both are read.
    for half in [&plain[..plain.len() / 2], &plain[plain.len() / 2..]] {
        let mut part = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut part, half).unwrap();
        gzip.extend(part.finish().unwrap());
    }
    assert_eq!(words(&read(gzip.as_slice(), "log", &read_options()).unwrap()), want);
    for (cut, format) in [(&gzip[..gzip.len() / 3], "gzip"), (&zstd[..zstd.len() / 3], "zstd")] {
        let error = read(cut, "x", &read_options()).unwrap_err().to_string();
        assert!(error.starts_with("x: ") && error.contains(format), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}
