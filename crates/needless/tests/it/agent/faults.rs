//! Faults: a clock that is set, a disk that is full, an agent that is killed in the middle, two agents. Nothing is lost
//! without a word, and nothing counts twice.

mod memory;

use super::*;
use needless_fleet::{AgentWindow, Dimensions, Keep, Measures, Ring, parquet};
use std::fs;
use std::path::PathBuf;

/// All windows of host `a` in a folder, for DuckDB.
fn windows_of_a(folder: &Path) -> String {
    format!("read_parquet('{}/a/*.parquet')", folder.display())
}

fn metric(port: u16, name: &str) -> Option<f64> {
    let (_, page) = http(port, "/metrics", "*/*")?;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.parse().ok()
}

/// What an agent said, by level and message.
fn lines(said: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        (text("level"), text("message"))
    };
    said.lines().map(line).collect()
}

/// The library that shows a program another clock: Debian's package libfaketime.
fn faketime() -> Option<PathBuf> {
    let all = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let all = all.map(|arch| arch.path().join("faketime/libfaketime.so.1"));
    needed(all.into_iter().find(|file| file.exists()).ok_or("no libfaketime".to_owned()))
}

#[test]
fn a_clock_that_is_set_changes_no_rate_and_takes_no_name() {
    let (true, Some(library)) = (observes_others(), faketime()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(_offender) = Running::offender() else { return };
    let (clock, next) = (folder.path().join("clock"), folder.path().join("next"));
    let set = |seconds: &str| {
        fs::write(&next, seconds).unwrap();
        fs::rename(&next, &clock).unwrap();
    };
    set("+0");
    let mut agent = command(NEEDLESS);
    // Time that passes is not faked: no program can set that clock.
    agent.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &clock);
    agent.envs(["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC"].map(|name| (name, "1")));
    agent.args(["agent", "--every", "500ms", "--host", "a", "--cpu-limit", "none"]);
    agent.args(["--log-format", "json", "--dir"]).arg(folder.path().join("a"));
    let begun = Instant::now();
    let agent = Running::start(&mut agent);
    wait_for_windows(folder.path(), "a", 3);
    let first = Instant::now();
    // An hour on, an hour before the start, and then to what the clock has shown before.
    for seconds in ["+3600", "-3600", "-3605"] {
        set(seconds);
        wait_for_windows(folder.path(), "a", 4);
    }
    let least = first.elapsed();
    let (status, said) = agent.end();
    let most = begun.elapsed();
    assert_eq!(status, Some(0));
    let said = lines(&said);
    let steps: Vec<&str> =
        said.iter().filter_map(|(_, line)| line.split(" in this").next()).collect();
    let back = |seconds: &str| steps.contains(&&*format!("the clock was set back by {seconds} s"));
    assert!(said.len() == 3 && said.iter().all(|(level, _)| level == "warning"), "{said:?}");
    assert!(
        steps[0].starts_with("the clock was set forward by 3600.") || steps[0].contains(" 3599.9"),
        "{said:?}"
    );
    assert!(back("7200.0") && back("5.0"), "{said:?}");

    let all = windows_of_a(folder.path());
    let sql = "SELECT count(*), count(DISTINCT window_start), min(length) > 0, sum(length) / 1e6 FROM (SELECT window_start, \
        epoch_us(window_end) - epoch_us(window_start) AS length FROM needless_rows GROUP BY ALL)";
    let Some(answer) = duckdb(&all, sql) else { return };
    let written = files(folder.path(), "a").len();
    let seconds = answer[0].strip_prefix(&format!("{written}|{written}|true|"));
    let seconds: f64 = seconds.unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap();
    // The windows are as long as the time in which they were made.
    assert!(
        (least.as_secs_f64()..most.as_secs_f64()).contains(&seconds),
        "{seconds} {least:?} {most:?}"
    );
}

/// An agent in a mount namespace of its own, in which `dir` is a small file system. Where it is seen from here.
fn on_a_small_disk(dir: &Path, size: &str, options: &[&str]) -> Option<(Running, PathBuf)> {
    let unshare = own_mounts()?;
    fs::create_dir_all(dir).unwrap();
    let script = r#"mount -t tmpfs -o "size=$0" needless "$1" && shift && exec "$@""#;
    let mut agent = command_of(&unshare);
    agent.args(["sh", "-c", script, size]).arg(dir).arg(NEEDLESS);
    agent.args(["agent", "--every", "500ms", "--host", "a", "--cpu-limit", "none"]);
    agent.args(["--log-format", "json", "--dir"]).arg(dir.join("a"));
    agent.arg("--textfile").arg(dir.join("a.prom")).args(options);
    let agent = Running::start(&mut agent);
    let inside = PathBuf::from(format!("/proc/{}/root{}", agent.0.id(), dir.display()));
    // The directory itself may be below such a file system, a large one: Debian 13 has one at /tmp.
    wait("file system", || {
        let bytes = rustix::fs::statvfs(&inside).ok().map(|of| of.f_blocks * of.f_frsize)?;
        (bytes <= 4 << 20).then_some(())
    });
    Some((agent, inside))
}

/// Fills the file system of a folder to the last byte.
fn fill(folder: &Path) -> PathBuf {
    let file = folder.join("filler");
    let mut to = fs::File::create(&file).unwrap();
    for size in [4096, 1] {
        while to.write_all(&vec![0; size]).is_ok() {}
    }
    file
}

#[test]
fn a_full_disk_leaves_no_half_file_is_said_once_and_passes() {
    if root().is_none() || !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let Some((agent, inside)) = on_a_small_disk(folder.path(), "1m", &["--listen", &listen]) else {
        return;
    };
    let lost = || metric(port, "needless_agent_windows_lost_total");
    // The disk is full before there is a window that could give way.
    let filler = fill(&inside);
    let early = files(&inside, "a");
    wait("lost windows", || lost().filter(|lost| *lost >= 3.0));
    assert!(early.len() <= 1 && files(&inside, "a") == early, "{early:?}");
    for name in names(&inside).into_iter().chain(names(&inside.join("a"))) {
        assert!(!name.contains(".tmp") && !name.contains(".unfinished"), "{name}");
    }
    fs::remove_file(&filler).unwrap();
    wait_for_windows(&inside, "a", 5);
    let copies = folder.path().join("copies");
    let before = files(&inside, "a");
    let (written, lost_before) = (before.len(), lost().unwrap());
    // Full again: the oldest give way to the newest.
    fill(&inside);
    wait("windows that give way", || lost().filter(|now| *now >= lost_before + 3.0));
    let after = files(&inside, "a");
    assert!(after.last() > before.last() && after[0] > before[0] && !after.is_empty(), "{after:?}");
    assert!(after.len() <= written + 1, "{after:?}");
    let done =
        needless(&["ship", "--dir", inside.join("a").to_str().unwrap(), copies.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let (status, said) = agent.end();
    assert_eq!(status, Some(0));
    let said = lines(&said);
    let has = |level: &str, text: &str| {
        said.iter().filter(|line| line.0 == level && line.1.contains(text)).count()
    };
    assert_eq!(
        has("warning", "No space left on device; windows are lost, and counted"),
        1,
        "{said:?}"
    );
    assert_eq!(has("info", " were lost"), 1, "{said:?}");
    assert_eq!(has("warning", "its oldest windows give way"), 1, "{said:?}");
}

/// How often there is time between two windows, and how often one begins before the last one has ended.
const GAPS: &str = "SELECT count(*) FILTER (before > 0), count(*) FILTER (before < 0) FROM (SELECT epoch_us(window_start) - \
    lag(epoch_us(window_end)) OVER (ORDER BY window_start) AS before FROM (SELECT DISTINCT window_start, window_end \
    FROM needless_rows))";

/// Killed by the kernel at a call of its own choice: between the bytes of a window and its name.
#[test]
fn an_agent_that_is_killed_while_it_writes_leaves_a_gap_and_nothing_else() {
    let (true, Some(strace)) = (observes_others(), program("strace")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("a");
    let mut killed = command(strace);
    // A window takes two: of the file, and of the directory.
    killed.args(["-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:signal=KILL:when=3"]);
    killed.args([
        NEEDLESS,
        "agent",
        "--every",
        "500ms",
        "--host",
        "a",
        "--cpu-limit",
        "none",
        "--dir",
    ]);
    assert!(!killed.arg(&dir).output().unwrap().status.success());
    let left: Vec<String> = names(&dir);
    let unfinished = |names: &[String]| names.iter().any(|name| name.contains(".unfinished"));
    assert!(left.len() == 2 && unfinished(&left), "{left:?}");
    let copies = folder.path().join("copies");
    let ship =
        || stdout(&needless(&["ship", "--dir", dir.to_str().unwrap(), copies.to_str().unwrap()]));
    assert_eq!(ship(), "1 window copied, already there: 0\n");

    let agent = Running::agent(folder.path(), "a", &[]);
    wait_for_windows(folder.path(), "a", 2);
    assert_eq!(agent.end(), (Some(0), String::new()));
    assert_eq!(names(&dir), files(folder.path(), "a"));
    let copied = names(&dir).len() - 1;
    let said = ship();
    let begin = format!("{copied} window");
    assert!(said.starts_with(&begin) && said.ends_with(" copied, already there: 1\n"), "{said}");
    assert_eq!(names(&copies), names(&dir));
    // What was not written is time between two windows.
    let Some(gaps) = duckdb(&windows_of_a(folder.path()), GAPS) else { return };
    assert_eq!(gaps, ["1|0"]);
}

/// Of an hour with windows of five minutes, a quarter was lost, and of the rest a half was observed.
#[test]
fn coverage_shows_how_much_of_the_time_was_observed() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Keep { bytes: u64::MAX, age: Duration::from_secs(86_400) };
    let mut ring = Ring::open(&folder.path().join("a"), keep).unwrap();
    // The last one goes over midnight.
    for n in (0..12).filter(|n| !(3..6).contains(n)) {
        let start_us = 1_700_005_200_000_000 - 3_480_000_000 + n * 300_000_000;
        let (end_us, sample_scale) = (start_us + 300_000_000, 2.0);
        let window = AgentWindow {
            start_us,
            end_us,
            host: "a".into(),
            sample_scale,
            ..AgentWindow::default()
        };
        let named = Dimensions { program: Some("x".into()), ..Dimensions::default() };
        let rows = [(Dimensions::default(), Measures::default()), (named, Measures::default())];
        ring.add(&window, &parquet(&window, &rows).unwrap()).unwrap();
    }
    let Some(rows) = asked(&windows_of_a(folder.path()), "coverage.sql") else { return };
    assert!(rows[0].starts_with("a|9|") && rows[0].ends_with("|2.0|45|23"), "{rows:?}");
}

#[test]
fn the_directory_of_a_killed_agent_is_free_at_once() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let first = Running::agent(folder.path(), "a", &[]);
    wait_for_windows(folder.path(), "a", 1);
    let dir = folder.path().join("a");
    let second = needless(&["agent", "--host", "a", "--dir", dir.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(2));
    let said = assert_one_line(&second);
    assert!(said.contains(&*dir.to_string_lossy()) && said.contains("another agent"), "{said}");
    // By SIGKILL.
    drop(first);
    let third = Running::agent(folder.path(), "a", &[]);
    wait_for_windows(folder.path(), "a", 2);
    assert_eq!(third.end(), (Some(0), String::new()));
}

/// A ring that an older agent has filled, whose files have fewer columns.
#[test]
fn windows_of_an_older_agent_stay_and_are_shipped() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (dir, copies) = (folder.path().join("a"), folder.path().join("copies"));
    let agent = |options: &[&str]| {
        let agent = Running::agent(folder.path(), "a", options);
        wait_for_windows(folder.path(), "a", 2);
        assert_eq!(agent.end(), (Some(0), String::new()));
    };
    agent(&[]);
    let start = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros() - 3_600_000_000;
    let old = format!("needless-{start}-a.parquet");
    let sql = format!(
        "COPY (SELECT make_timestamptz({start}) AS window_start, make_timestamptz({start} + 300000000) AS window_end, 'a' AS \
         host, 7 :: BIGINT AS calls) TO '{}' (FORMAT parquet, KV_METADATA {{'needless.schema': 'needless.rows/0'}})",
        dir.join(&old).display()
    );
    if duckdb(&windows_of_a(folder.path()), &sql).is_none() {
        return;
    }
    let bytes = fs::read(dir.join(&old)).unwrap();
    agent(&[]);
    assert_eq!(names(&dir)[0], old);
    let done = needless(&["ship", "--dir", dir.to_str().unwrap(), copies.to_str().unwrap()]);
    assert_eq!(stdout(&done), format!("{} windows copied, already there: 0\n", names(&dir).len()));
    assert_eq!(fs::read(copies.join(&old)).unwrap(), bytes);
    let all = format!("read_parquet('{}/*.parquet', union_by_name = true)", copies.display());
    let sql = "SELECT count(DISTINCT window_start), sum(calls) FILTER (service IS NULL AND cause IS NULL AND version IS NULL) \
        FROM needless_rows";
    assert_eq!(duckdb(&all, sql).unwrap(), [format!("{}|7", names(&dir).len())]);
    // It is one of ours: it goes when its time comes.
    let agent = Running::agent(folder.path(), "a", &["--keep-bytes", "1"]);
    wait("room", || (files(folder.path(), "a").len() == 1).then_some(()));
    assert_eq!(agent.end(), (Some(0), String::new()));
    assert!(names(&dir).len() == 1 && names(&dir)[0] > old);
}

#[test]
fn names_are_refused_or_kept_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("a");
    let dir = dir.to_str().unwrap();
    let long = |of: &str, n: usize| of.repeat(n);
    let too_long = (long("h", 65), format!("site={}", long("x", 252)));
    for (option, value) in [
        ("--host", &*too_long.0),
        ("--host", ".."),
        ("--host", ".hidden"),
        ("--host", "a\nb"),
        ("--host", "a\"b"),
        ("--host", "Αθήνα"),
        ("--host", "a=b,c"),
        ("--label", &*too_long.1),
        ("--label", "site=a\nb"),
        ("--label", "site=a,env=b"),
        ("--label", "site=a=b"),
        ("--label", "Ort=a"),
    ] {
        let done = needless(&["agent", "--dir", dir, option, value]);
        assert_eq!(done.status.code(), Some(2), "{option} {value}");
        let said = assert_one_line(&done);
        assert!(said.contains(option) && said.contains("expected "), "{said}");
    }
    let done =
        needless(&["agent", "--dir", dir, "--host", "a", "--label", "b=1", "--label", "b=2"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(assert_one_line(&done).contains("--label b=… is given twice"), "{}", stderr(&done));
    assert!(!folder.path().join("a").exists());

    if !observes_others() {
        return;
    }
    let host = long("h", 64);
    let odd = "site=Αθήνα \"1\" 'x' \\ {a}";
    let agent = Running::agent(folder.path(), &host, &["--label", odd]);
    wait_for_windows(folder.path(), &host, 2);
    assert_eq!(agent.end().0, Some(0));
    let written = files(folder.path(), &host);
    assert!(written.iter().all(|name| name.ends_with(&format!("-{host}.parquet"))), "{written:?}");
    let all = format!("read_parquet('{}/{host}/*.parquet')", folder.path().display());
    let sql = "SELECT DISTINCT host, labels FROM needless_rows";
    let Some(rows) = duckdb(&all, sql) else { return };
    assert_eq!(rows, [format!("{host}|{odd}")]);
}
