//! Metrics, alerts and the dashboard, asked by Prometheus itself.

use super::*;

/// The panels of the dashboard: title and expression.
fn panels() -> Vec<(String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/grafana/needless.json");
    let board: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut found = Vec::new();
    for panel in board["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        let targets = panel["targets"].as_array().unwrap();
        found
            .extend(targets.iter().map(|one| (title.into(), one["expr"].as_str().unwrap().into())));
    }
    assert!(found.len() > 10, "{found:?}");
    found
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn the_alerts_fire_where_they_should_and_nowhere_else() {
    let Some(promtool) = tool("prometheus/usr/bin/promtool") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus");
    for (what, file) in [("check", "needless.rules.yml"), ("test", "needless.rules.test.yml")] {
        let done =
            command(&promtool).args([what, "rules", file]).current_dir(&folder).output().unwrap();
        assert!(done.status.success(), "{what}: {}{}", stdout(&done), stderr(&done));
    }
}

#[test]
fn prometheus_scrapes_it() {
    let (Some(prometheus), Some(promtool)) =
        (tool("prometheus/usr/bin/prometheus"), tool("prometheus/usr/bin/promtool"))
    else {
        return;
    };
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_offender) = Running::offender() else { return };
    let (port, own) = (free_port(), free_port());
    let textfile = folder.path().join("needless.prom");
    let listen = format!("127.0.0.1:{port}");
    let options = ["--listen", &listen, "--textfile", textfile.to_str().unwrap()];
    let agent = Running::agent(folder.path(), "a", &options);
    let server = scraping(&prometheus, folder.path(), &listen, own);
    // By the cause that was planted; it is in no unit here.
    let query =
        "/api/v1/query?query=sum(needless_syscalls_total%7Bneedless_cause%3D%22tz-unset%22%7D)";
    wait("calls", || {
        let (_, body) = http(own, query, "*/*")?;
        let answer: serde_json::Value = serde_json::from_str(&body).ok()?;
        let calls = answer["data"]["result"][0]["value"][1].as_str()?.parse::<u64>().unwrap();
        (calls > 0).then_some(())
    });
    for (title, expr) in panels() {
        // Rates over half an hour of what was there for seconds are small.
        let expr = ["[30m]", "[1h]"].iter().fold(expr, |expr, long| expr.replace(long, "[15s]"));
        let expr = expr.replace("$instance", ".*");
        let target = format!("/api/v1/query?query={}", percent_encoded(&expr));
        wait(&title, || {
            let (head, body) = http(own, &target, "*/*")?;
            assert!(head.contains(" 200 "), "{title}: {expr}: {body}");
            body.contains("\"value\"").then_some(())
        });
    }
    drop(server);

    let (head, page) = http(port, "/metrics", "text/plain").unwrap();
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    let open = http(port, "/metrics", "application/openmetrics-text").unwrap();
    assert!(open.0.contains("openmetrics") && open.1.ends_with("# EOF\n"), "{open:?}");
    assert!(http(port, "/", "*/*").unwrap().0.starts_with("HTTP/1.1 404"));
    assert_eq!(agent.end(), (Some(0), String::new()));
    for text in [page, std::fs::read_to_string(&textfile).unwrap()] {
        let series = text.lines().filter(|line| !line.starts_with('#'));
        assert!(series.clone().count() <= 60 && series.clone().count() > 12, "{text}");
        assert!(series.clone().all(|line| !line.contains('/')), "{text}");
        promtool_accepts(&promtool, &text);
    }
}

#[test]
fn what_appears_once_is_in_the_increase() {
    let Some(prometheus) = tool("prometheus/usr/bin/prometheus") else { return };
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (port, own) = (free_port(), free_port());
    let listen = format!("127.0.0.1:{port}");
    let agent = Running::agent(folder.path(), "a", &["--listen", &listen]);
    let _server = scraping(&prometheus, folder.path(), &listen, own);
    let number = |query: &str| {
        let target = format!("/api/v1/query?query={}", percent_encoded(query));
        let (_, body) = http(own, &target, "*/*")?;
        // Not JSON: it is still starting.
        let body: serde_json::Value = serde_json::from_str(&body).ok()?;
        body["data"]["result"][0]["value"][1].as_str().map(|n| n.parse::<f64>().unwrap())
    };
    wait("scrape", || number("needless_agent_windows_total"));
    // A cause that is there for a moment.
    let Some(offender) = Running::offender() else { return };
    let calls = "needless_syscalls_total{needless_cause=\"tz-unset\"}";
    wait("a series", || number(calls));
    drop(offender);
    let last = wait("calls", || number(calls).filter(|calls| *calls > 0.0));
    // Without what rate() and increase() estimate for the ends of their time.
    let first = number(&format!("min_over_time({calls}[10m])"));
    assert_eq!(first, Some(0.0), "{last}");
    assert_eq!(agent.end().0, Some(0));
}

/// A Prometheus that asks `address` each second, and answers at `port`.
fn scraping(prometheus: &Path, folder: &Path, address: &str, port: u16) -> Running {
    let config = folder.join("prometheus.yml");
    let scrape = "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: needless, static_configs: [{targets: ['";
    std::fs::write(&config, format!("{scrape}{address}']}}]}}]\n")).unwrap();
    let mut server = command(prometheus);
    server.arg("--config.file").arg(&config).arg("--storage.tsdb.path").arg(folder.join("db"));
    server.args([format!("--web.listen-address=127.0.0.1:{port}"), "--log.level=error".into()]);
    Running::start(&mut server)
}

/// Also without a warning.
fn promtool_accepts(promtool: &Path, metrics: &str) {
    let mut check = command(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let done = check.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", stderr(&done));
}
