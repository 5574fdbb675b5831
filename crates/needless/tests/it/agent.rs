//! `needless agent`: windows that another engine reads, whenever the agent is killed; metrics that Prometheus takes; the
//! questions of sql/.

mod faults;
mod forwarding;
mod groups;
mod prometheus;
use crate::common::*;
use needless_fixtures::{duckdb, tool};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A program that runs until it is dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// `needless agent OPTIONS` with a file twice a second.
    fn agent(folder: &Path, host: &str, options: &[&str]) -> Running {
        let mut agent = command(NEEDLESS);
        agent.args(["agent", "--every", "500ms", "--host", host, "--dir"]).arg(folder.join(host));
        if !options.contains(&"--cpu-limit") {
            agent.args(["--cpu-limit", "none"]);
        }
        Running::start(agent.args(options))
    }

    /// A program that asks for the zone file all the time.
    fn offender() -> Option<Running> {
        Some(Running::start(command(testee("clock_ticks")?).arg("200")))
    }

    /// Ends it by SIGTERM; its status and what it wrote to standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let pid = self.0.id().to_string();
        assert!(command("kill").arg(pid).status().unwrap().success());
        let status = self.0.wait().unwrap().code();
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status, said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let ended = self.0.try_wait();
        let _ = self.0.kill();
        let _ = self.0.wait();
        if std::thread::panicking() {
            let mut said = String::new();
            if let Some(mut from) = self.0.stderr.take() {
                let _ = from.read_to_string(&mut said);
            }
            eprintln!("the agent had ended: {ended:?}; it said: {said}");
        }
    }
}

/// Waits until there is an answer. The limit is only for a program that hangs.
fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The windows of a host.
fn files(folder: &Path, host: &str) -> Vec<String> {
    let folder = folder.join(host);
    let all = if folder.exists() { names(&folder) } else { Vec::new() };
    all.into_iter().filter(|name| name.ends_with(".parquet")).collect()
}

fn wait_for_windows(folder: &Path, host: &str, more: usize) {
    let before = files(folder, host).len();
    wait("windows", || (files(folder, host).len() >= before + more).then_some(()));
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The answer to a request, head and body.
fn http(port: u16, target: &str, accept: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!("GET {target} HTTP/1.0\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut said = String::new();
    stream.read_to_string(&mut said).ok()?;
    let (head, body) = said.split_once("\r\n\r\n")?;
    Some((head.to_owned(), body.to_owned()))
}

fn asked(rows: &str, file: &str) -> Option<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql");
    duckdb(rows, &std::fs::read_to_string(folder.join(file)).unwrap())
}

#[test]
fn two_hosts_are_asked_with_sql() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_offender) = Running::offender() else { return };
    let hosts = ["a", "b"].map(|host| {
        Running::agent(folder.path(), host, &["--label", "site=x", "--label", "env=test"])
    });
    ["a", "b"].iter().for_each(|host| wait_for_windows(folder.path(), host, 3));
    let before = files(folder.path(), "a").len();
    for host in hosts {
        assert_eq!(host.end(), (Some(0), String::new()));
    }
    assert!(files(folder.path(), "a").len() > before, "the window so far is written");
    for host in ["a", "b"] {
        assert_eq!(names(&folder.path().join(host)), files(folder.path(), host));
    }

    let all = format!("read_parquet('{}/*/*.parquet')", folder.path().display());
    let windows = "SELECT count(*) FROM (SELECT DISTINCT host, window_start FROM needless_rows)";
    let Some(windows) = duckdb(&all, windows) else { return };
    let written = files(folder.path(), "a").len() + files(folder.path(), "b").len();
    assert_eq!(windows, [written.to_string()]);
    let gaps = "SELECT * FROM (SELECT window_start, lag(window_end) OVER (PARTITION BY host ORDER BY window_start) \
        AS before FROM (SELECT DISTINCT host, window_start, window_end FROM needless_rows)) WHERE window_start <> before";
    assert_eq!(duckdb(&all, gaps).unwrap(), [""; 0]);
    let offender = "SELECT min(labels), count(DISTINCT host), sum(needless) > 5, sum(saves_ns) > 0 \
        FROM needless_rows WHERE cause = 'tz-unset' AND program = 'clock_ticks' AND variable = 'TZ'";
    assert_eq!(duckdb(&all, offender).unwrap(), ["env=test,site=x|2|true|true"]);
    let wrong = "SELECT * FROM needless_rows WHERE schema <> 'needless.rows/1' OR sample_scale <> 1 \
        OR contains(concat_ws(' ', service, program, cause, variable, call), '/') \
        OR (cause IS NULL) <> (fate NOT IN ('needless', 'perhaps'))";
    assert_eq!(duckdb(&all, wrong).unwrap(), [""; 0]);

    let causes = asked(&all, "causes.sql").unwrap();
    let mut tz = causes.iter().filter(|row| row.starts_with("tz-unset|"));
    assert!(tz.next().unwrap().starts_with("tz-unset|2|") && tz.next().is_none(), "{causes:?}");
    let of_one = format!("{all} WHERE cause = 'tz-unset'");
    let hosts = asked(&of_one, "hosts.sql").unwrap();
    let mut begin: Vec<&str> = hosts.iter().map(|row| &row[..27]).collect();
    begin.sort_unstable();
    assert_eq!(begin, ["tz-unset|a|env=test,site=x|", "tz-unset|b|env=test,site=x|"]);
    let services = asked(&of_one, "services.sql").unwrap();
    assert!(services.iter().any(|row| row.contains("|clock_ticks|tz-unset|TZ|2|")), "{services:?}");
}

/// Two agents observe the same: one all the time, one that may take almost nothing and so observes a small part.
#[test]
fn what_a_part_of_the_time_shows_comes_near_to_the_whole() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_offender) = Running::offender() else { return };
    let agents = [("whole", "none"), ("part", "0.01")];
    let agents =
        agents.map(|(host, limit)| Running::agent(folder.path(), host, &["--cpu-limit", limit]));
    wait_for_windows(folder.path(), "part", 11);
    let [whole, part] = agents.map(Running::end);
    assert_eq!(whole, (Some(0), String::new()));
    assert!(part.1.contains("more than --cpu-limit: ") && part.1.lines().count() == 1, "{part:?}");
    let all = format!("read_parquet('{}/*/*.parquet')", folder.path().display());
    // Calls for each second; without what the first windows of both have of the start.
    let sql = "WITH windows AS (SELECT host, window_start, any_value(epoch_us(window_end) - epoch_us(window_start)) / 1e6 \
        AS seconds, min(sample_scale) AS least, max(sample_scale) AS most, coalesce(sum(needless * sample_scale) FILTER \
        (cause = 'tz-unset' AND program = 'clock_ticks'), 0) AS calls FROM needless_rows GROUP BY ALL) \
        SELECT host, min(least), max(most), min(least = most), sum(calls) / sum(seconds) FROM windows GROUP BY ALL ORDER BY host";
    let Some(rows) = duckdb(&all, sql) else { return };
    let of = |row: &str| -> Vec<f64> {
        row.split('|').skip(1).filter_map(|field| field.parse().ok()).collect()
    };
    let [part, whole] = &rows[..] else { panic!("{rows:?}") };
    assert!(part.contains("|true|") && whole.contains("|1.0|1.0|true|"), "{rows:?}");
    let (part, whole) = (of(part), of(whole));
    // But for the last window, which was ended early, it observed a quarter of the time or less: without the scale it would
    // show no more than a quarter of the calls. On a busy machine the offender makes more of them at one time than at
    // another, so nothing closer can be said.
    assert!(part[0] > 1.0 && part[1] > 4.0, "{rows:?}");
    let ratio = part.last().unwrap() / whole.last().unwrap();
    assert!((0.25..4.0).contains(&ratio), "{rows:?}");
}

/// A rule with a condition on a variable.
const RULE: &str = r#"[[rule]]
name = "looked-for"
calls = "stat"
path = "/missing/reload"
outcome = "missing"
env = { RELOADED = true }
at-least = 6
message = "a program looks for a file that is not there"
why = "Nobody makes it."
remedy = { text = "Make the file", caveat = "It is then read." }

[[rule.example]]
trace = '''
env RELOADED=1
execve("/usr/bin/perl", ["perl"], 0x7ffd2f3b6dd8 /* 35 vars */) = 0
newfstatat(AT_FDCWD, "/missing/reload", 0x7ffd3d515cc0, 0) = -1 ENOENT (No such file or directory) x10
'''
finding = """
looked-for: 10 of 10
manual
"""

[[rule.example]]
trace = '''
env RELOADED=1
execve("/usr/bin/perl", ["perl"], 0x7ffd2f3b6dd8 /* 35 vars */) = 0
newfstatat(AT_FDCWD, "/missing/reload", 0x7ffd3d515cc0, 0) = -1 ENOENT (No such file or directory) x3
'''
finding = "nothing"
"#;

#[test]
fn sighup_reads_the_configuration_again_and_keeps_the_old_one_if_it_is_wrong() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "while (1) { -e '/missing/reload'; select undef, undef, undef, 0.005 }";
    let Some(perl) = program("perl") else { return };
    let _offender = Running::start(command(perl).env("RELOADED", "1").args(["-e", script]));
    let file = folder.path().join("needless.toml");
    std::fs::write(&file, "").unwrap();
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let options = ["--listen", &listen, "--config", file.to_str().unwrap(), "--log-format", "json"];
    let agent = Running::agent(folder.path(), "a", &options);
    let reload = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let pid = agent.0.id().to_string();
        assert!(command("kill").args(["-HUP", &pid]).status().unwrap().success());
    };
    let shows = |series: &str| {
        wait(series, || http(port, "/metrics", "*/*")?.1.contains(series).then_some(()));
    };
    shows("needless_config_last_reload_successful 1\n");
    reload("[[rule\n");
    shows("needless_config_last_reload_successful 0\n");
    // Its condition is about a variable that was not kept so far.
    reload(RULE);
    shows("needless_config_last_reload_successful 1\n");
    shows("needless_cause=\"looked-for\"");
    // One that is wrong changes nothing: the rule still counts.
    reload("[[rule\n");
    shows("needless_config_last_reload_successful 0\n");
    let count = || {
        let (_, page) = http(port, "/metrics", "*/*")?;
        let line = page.lines().find(|line| line.contains("needless_cause=\"looked-for\""))?;
        line.rsplit(' ').next()?.parse::<u64>().ok()
    };
    let before = wait("count", count);
    wait("more", || count().filter(|now| *now > before));
    let (status, said) = agent.end();
    assert_eq!(status, Some(0));
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let levels: Vec<_> = lines.iter().filter_map(|line| line["level"].as_str()).collect();
    assert_eq!(levels, ["warning", "info", "warning"], "{said}");
    assert!(lines.iter().all(|line| line["time"].as_f64() > Some(1.7e9)), "{said}");
    let wrong = lines[2]["message"].as_str().unwrap();
    assert!(wrong.contains("needless.toml:1:7: ") && wrong.contains("stays as it was"), "{said}");
}

#[test]
fn a_killed_agent_leaves_whole_windows() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let agent = Running::agent(folder.path(), "a", &[]);
        wait_for_windows(folder.path(), "a", 1);
        let random = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 600;
        std::thread::sleep(Duration::from_millis(u64::from(random)));
        // By SIGKILL.
        drop(agent);
    }
    let all = format!("read_parquet('{}/a/*.parquet')", folder.path().display());
    let sql = "SELECT count(*), count(*) FILTER (window_end > next) FROM (SELECT window_end, lead(window_start) \
        OVER (ORDER BY window_start) AS next FROM (SELECT DISTINCT window_start, window_end FROM needless_rows))";
    let Some(windows) = duckdb(&all, sql) else { return };
    assert_eq!(windows, [format!("{}|0", files(folder.path(), "a").len())]);
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (dir, why) in [(&file, "Not a directory"), (&folder.path().join("a/b"), "No such file")] {
        let done = needless(&["agent", "--host", "a", "--dir", dir.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(2));
        let said = assert_one_line(&done);
        assert!(said.contains(why) && said.contains("--dir"), "{said}");
    }
    let done = needless(&["agent", "--host", "a/b", "--dir", "x"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(assert_one_line(&done).contains("--host"));
}

#[test]
fn a_service_manager_waits_for_three_windows() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut agent = command(NEEDLESS);
    agent.args(["agent", "--every", "20m", "--host", "a", "--dir"]).arg(folder.path().join("a"));
    let agent = Running::start(agent.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "900000000"));
    let mut heard = Vec::new();
    while !heard.contains(&"READY=1".to_owned()) {
        let mut text = [0; 100];
        let length = socket.recv(&mut text).unwrap();
        heard.push(String::from_utf8_lossy(&text[..length]).into_owned());
    }
    assert!(heard.contains(&"WATCHDOG_USEC=3600000000".to_owned()), "{heard:?}");
    assert_eq!(agent.end().0, Some(0));
}
