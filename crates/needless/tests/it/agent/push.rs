//! Numbers that are pushed, to the receiver of OpenTelemetry's own collector.

use super::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{File, read_to_string};

/// The collector; what it takes goes to the end of `file`.
fn collector(port: u16, file: &Path) -> Option<Running> {
    let program = tool("bin/otlp")?;
    let taken = File::options().create(true).append(true).open(file).unwrap();
    let mut collector = command(program);
    collector.arg(format!("127.0.0.1:{port}")).stdout(taken).stderr(Stdio::null());
    Some(Running(collector.spawn().unwrap()))
}

/// The last batch that it took.
fn taken(file: &Path) -> Option<Value> {
    let text = read_to_string(file).unwrap();
    let whole = &text[..text.rfind('\n')?];
    Some(serde_json::from_str(whole.lines().last()?).unwrap())
}

fn metrics(batch: &Value) -> &Vec<Value> {
    batch["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap()
}

fn points(metric: &Value) -> &Vec<Value> {
    let data = if metric["sum"].is_object() { &metric["sum"] } else { &metric["gauge"] };
    data["dataPoints"].as_array().unwrap()
}

fn of<'a>(batch: &'a Value, name: &str) -> &'a Vec<Value> {
    points(metrics(batch).iter().find(|metric| metric["name"] == name).unwrap())
}

/// Calls of the cause that was planted.
fn planted(batch: &Value) -> f64 {
    let tz = |point: &&Value| point["attributes"].to_string().contains("\"tz-unset\"");
    of(batch, "needless_syscalls").iter().filter(tz).map(|p| p["asDouble"].as_f64().unwrap()).sum()
}

#[test]
fn a_collector_takes_the_series_of_the_page_also_after_it_was_away() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_offender) = Running::offender() else { return };
    let file = folder.path().join("taken");
    let (port, page) = (free_port(), free_port());
    let Some(first) = collector(port, &file) else { return };
    let to = format!("http://127.0.0.1:{port}");
    wait("collector", || http(port, "/", "*/*"));
    let listen = format!("127.0.0.1:{page}");
    let options = ["--otlp", &to, "--listen", &listen, "--label", "site=x", "--log-format", "json"];
    let agent = Running::agent(folder.path(), "a", &options);
    let batch = wait("batch", || taken(&file).filter(|batch| planted(batch) > 0.0));

    let (_, page) = http(page, "/metrics", "text/plain").unwrap();
    let of_page: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(|name| name.trim_end_matches("_total").to_owned())
        .collect();
    let of_batch: BTreeSet<String> =
        metrics(&batch).iter().map(|metric| metric["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(of_batch, of_page);
    let series: usize = metrics(&batch).iter().map(|metric| points(metric).len()).sum();
    assert!((16..=60).contains(&series), "{series}: {batch}");
    let resource = batch["resourceMetrics"][0]["resource"].to_string();
    for (key, value) in [("service.instance.id", "a"), ("site", "x")] {
        let pair = serde_json::json!({"key": key, "value": {"stringValue": value}}).to_string();
        assert!(resource.contains(&pair), "{resource}");
    }
    assert!(!batch.to_string().contains('/'), "{batch}");
    let start = |batch: &Value| of(batch, "needless_agent_windows")[0]["startTimeUnixNano"].clone();

    drop(first);
    wait_for_windows(folder.path(), "a", 4);
    let Some(_second) = collector(port, &file) else { return };
    let more = planted(&batch);
    let later = wait("batch", || taken(&file).filter(|batch| planted(batch) > more));
    assert_eq!(start(&later), start(&batch), "counts go on");

    let (status, said) = agent.end();
    assert_eq!(status, Some(0));
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let levels: Vec<_> = lines.iter().filter_map(|line| line["level"].as_str()).collect();
    assert_eq!(levels, ["warning", "info"], "{said}");
    let why = lines[0]["message"].as_str().unwrap();
    assert!(why.starts_with(&format!("metrics were not pushed to {to}/v1/metrics: ")), "{why}");
    let windows = of(&taken(&file).unwrap(), "needless_agent_windows")[0]["asDouble"].as_f64();
    assert_eq!(windows, Some(files(folder.path(), "a").len() as f64), "the last one, too");
}

#[test]
fn a_collector_that_never_answers_stops_nothing() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("http://{}", silent.local_addr().unwrap());
    let agent = Running::agent(folder.path(), "a", &["--otlp", &to]);
    wait_for_windows(folder.path(), "a", 4);
    let (status, said) = agent.end();
    assert_eq!(status, Some(0));
    assert!(said.contains("metrics were not pushed to http://127.0.0.1:"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn wrong_addresses_and_headers_are_errors_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let agent = |to: &str, headers: &str| {
        let mut agent = command(NEEDLESS);
        agent.args(["agent", "--host", "a", "--dir", dir, "--otlp", to]);
        let done = agent.env("OTEL_EXPORTER_OTLP_HEADERS", headers).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        let said = assert_one_line(&done);
        assert!(!said.contains("hunter2"), "{said}");
        said
    };
    assert!(agent("http://127.0.0.1:1", "hunter2").contains("OTEL_EXPORTER_OTLP_HEADERS"));
    assert!(agent("grpc://127.0.0.1:1", "").contains("--otlp"));
}
