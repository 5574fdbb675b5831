//! Reports that other programs draw: each is read by the program that it is for, and holds every call.

use crate::common::*;
use needless_fixtures::{go, tool};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

/// A program may have such a name.
const NAME: &[u8] = b"a;7\nc|`d`<i>\xff";
/// How the formats write it.
const SHOWN: &str = "a;7\\nc|`d`<i>\u{fffd}";

/// Reports of one run of a program with that name, in every format: the folder that they are in.
fn reports() -> Option<tempfile::TempDir> {
    let sample = testee("packagecloud")?;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(OsStr::from_bytes(NAME));
    copy(&sample, &program);
    let mut run = command(NEEDLESS);
    run.current_dir(folder.path()).arg("run");
    for ending in ["json", "md", "folded", "speedscope.json", "pb.gz"] {
        run.args(["-o", &format!("r.{ending}")]);
    }
    // So many calls that they are never a small thing.
    let done = run.arg("--").arg(&program).arg("500").output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    show_again(&folder);
    Some(folder)
}

/// What `needless show` makes of the JSON report.
fn show_again(folder: &tempfile::TempDir) {
    let mut show = command(NEEDLESS);
    show.current_dir(folder.path()).args(["show", "r.json"]);
    for ending in ["folded", "speedscope.json", "pb.gz"] {
        show.args(["-o", &format!("saved.{ending}")]);
    }
    let done = show.output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
}

/// A report of a log with times in every format.
fn timed_reports() -> Option<tempfile::TempDir> {
    program("strace")?;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    strace(&["-f", "-T"], &log, &[], &["ls", "/"]);
    let mut read = command(NEEDLESS);
    read.current_dir(folder.path()).arg("read");
    for ending in ["json", "speedscope.json", "pb.gz"] {
        read.args(["-o", &format!("r.{ending}")]);
    }
    let done = read.arg(&log).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    show_again(&folder);
    Some(folder)
}

/// How many calls the JSON report has.
fn calls(folder: &Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("r.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert!(report["totals"]["calls"].as_u64() > Some(10));
    report["totals"]["calls"].as_u64().unwrap()
}

/// What a program that has to succeed writes.
fn output_of(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", stderr(&done));
    stdout(&done)
}

/// The profiles that speedscope's importer makes of a file: name, sum of the weights, names of the frames.
fn imported(file: &Path) -> Option<Vec<(String, u64, Vec<String>)>> {
    let speedscope = tool("speedscope/package/dist/release")?;
    let node = program("node")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/common/speedscope.cjs");
    let read = output_of(command(node).arg(script).arg(speedscope).arg(file));
    let read: Value = serde_json::from_str(&read).unwrap();
    let profile = |of: &Value| {
        let frames = of["frames"].as_array().unwrap().iter();
        let frames = frames.map(|name| name.as_str().unwrap().to_owned()).collect();
        (of["name"].as_str().unwrap().to_owned(), of["total"].as_u64().unwrap(), frames)
    };
    Some(read["profiles"].as_array().unwrap().iter().map(profile).collect())
}

/// `go tool pprof OPTIONS FILE`.
fn pprof(options: &[&str], file: &Path) -> Option<String> {
    let mut go = go()?;
    go.env("PPROF_TMPDIR", file.parent().unwrap()).env("LC_ALL", "C");
    go.args(["tool", "pprof", "-symbolize=none"]).args(options).arg(file);
    let done = go.output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    Some(stdout(&done))
}

#[test]
fn speedscope_imports_each_of_the_formats() {
    let Some(folder) = reports() else { return };
    let calls = calls(folder.path());
    for (file, name) in [
        ("r.folded", SHOWN.replace(';', r"\x3b")),
        ("r.speedscope.json", SHOWN.to_owned()),
        ("r.pb.gz", SHOWN.to_owned()),
        ("saved.folded", SHOWN.replace(';', r"\x3b")),
        ("saved.speedscope.json", SHOWN.to_owned()),
        ("saved.pb.gz", SHOWN.to_owned()),
    ] {
        let Some(profiles) = imported(&folder.path().join(file)) else { return };
        let [(_, total, frames)] = &profiles[..] else { panic!("{file}: {profiles:?}") };
        assert_eq!(*total, calls, "{file}");
        assert!(frames.contains(&name), "{file}: {name} is not in {frames:?}");
        assert!(frames.contains(&"newfstatat".to_owned()), "{file}: {frames:?}");
        // pprof has labels instead.
        assert_eq!(frames.contains(&"tz-unset".to_owned()), !file.ends_with(".gz"), "{file}");
    }
}

#[test]
fn a_flame_graph_is_as_wide_as_there_are_calls() {
    let Some(inferno) = tool("inferno-0.12.8/bin/inferno-flamegraph") else { return };
    let Some(folder) = reports() else { return };
    let svg = output_of(command(inferno).arg(folder.path().join("r.folded")));
    let calls = calls(folder.path());
    assert!(svg.contains(&format!("<title>all ({calls} samples, 100%)</title>")), "{svg}");
    assert!(svg.contains("<title>tz-unset ("), "{svg}");
}

#[test]
fn pprof_reads_calls_and_their_labels() {
    let Some(folder) = reports() else { return };
    let file = folder.path().join("r.pb.gz");
    let Some(top) = pprof(&["-top", "-nodefraction=0"], &file) else { return };
    let calls = calls(folder.path());
    assert!(top.contains(&format!("100% of {calls} total")), "{top}");
    let tags = pprof(&["-tags"], &file).unwrap();
    for tag in [" rule: Total ", ": tz-unset\n", ": /etc/\n", ": ok\n"] {
        assert!(tags.contains(tag), "{tag}: {tags}");
    }
    let focused = pprof(&["-top", "-tagfocus=rule=tz-unset"], &file).unwrap();
    assert!(focused.contains("stat") && !focused.contains("openat"), "{focused}");
    // Each line of its own text is about one thing, whatever the program's name is.
    let raw = pprof(&["-raw"], &file).unwrap();
    assert!(raw.contains(SHOWN), "{raw}");
}

#[test]
fn the_time_of_calls_is_the_same_in_pprof_and_speedscope() {
    let Some(folder) = timed_reports() else { return };
    let Some(profiles) = imported(&folder.path().join("r.speedscope.json")) else { return };
    let [(calls_name, calls_sum, _), (time_name, time, _)] = &profiles[..] else { panic!() };
    let sums = |of: &[(String, u64, Vec<String>)]| of.iter().map(|one| one.1).collect::<Vec<_>>();
    let saved = imported(&folder.path().join("saved.speedscope.json")).unwrap();
    assert_eq!(sums(&saved), sums(&profiles));
    assert_eq!((calls_name.as_str(), time_name.as_str()), ("calls", "time"));
    assert_eq!(*calls_sum, calls(folder.path()));
    let file = folder.path().join("r.pb.gz");
    let Some(raw) = pprof(&["-raw"], &file) else { return };
    assert!(raw.contains("calls/count[dflt] time/nanoseconds"), "{raw}");
    // `        12    3400: 1 2`: the values of a sample, then its locations.
    let samples = raw.lines().filter_map(|line| line.split_once(": "));
    let values = samples.filter_map(|(values, _)| {
        let values: Vec<u64> =
            values.split_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
        <[u64; 2]>::try_from(values).ok()
    });
    let (sum_of_calls, sum_of_time) =
        values.fold((0, 0), |sum, [calls, time]| (sum.0 + calls, sum.1 + time));
    assert_eq!((sum_of_calls, sum_of_time), (*calls_sum, *time));
    assert!(*time > 0);
}

/// GitHub's own reader, with HTML let through.
#[test]
fn markdown_shows_names_and_obeys_none() {
    let Some(reader) = program("cmark-gfm") else { return };
    let Some(folder) = reports() else { return };
    let file = folder.path().join("r.md");
    let html = output_of(command(reader).args(["--unsafe", "-e", "table"]).arg(&file));
    assert!(!html.contains("<i>"), "{html}");
    let count = |tag: &str| html.matches(tag).count();
    assert_eq!(count("<details>"), count("</details>"), "{html}");
    assert_eq!(count("<summary>"), count("</summary>"), "{html}");
    assert!(count("<details>") >= 2 && html.contains("&lt;i&gt;"), "{html}");
    // The row of the remedy has as many cells as its table has heads.
    let table = html.split("<table>").find(|table| table.contains("<th>rule</th>"));
    let rows: Vec<&str> = table.unwrap_or_else(|| panic!("{html}")).split("<tr>").collect();
    let [_, heads, row] = rows[..] else { panic!("{html}") };
    assert_eq!(row.matches("<td").count(), heads.matches("<th").count(), "{row}");
    assert!(row.contains("tz-unset") && row.contains("<code>TZ="), "{row}");
}

#[test]
fn a_format_that_is_no_text_does_not_go_to_a_terminal() {
    let Some(script) = program("script") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let line = format!("{NEEDLESS} run --format pprof -- touch {}", mark.display());
    let done = command(&script).args(["-qec", &line, "/dev/null"]).output().unwrap();
    assert!(stdout(&done).contains("name a file with -o"), "{}", stdout(&done));
    assert!(!mark.exists() && !done.status.success());
    let json = folder.path().join("r.json");
    needless(&["run", "-o", json.to_str().unwrap(), "--", "true"]);
    let line = format!("{NEEDLESS} show --format pprof {}", json.display());
    let done = command(script).args(["-qec", &line, "/dev/null"]).output().unwrap();
    assert!(stdout(&done).contains("name a file with -o"), "{}", stdout(&done));
}
