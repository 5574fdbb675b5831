use super::*;
use crate::exposition::Exposition;
use crate::rows::{Dimensions, Measures};

fn row(service: &str, cause: &str, needless: i64) -> (Dimensions, Measures) {
    let (service, cause) = (Some(service.to_owned()), Some(cause.to_owned()));
    let row = Dimensions { service, cause, fate: Fate::Needless, ..Dimensions::default() };
    (row, Measures { needless, calls: needless, ..Measures::default() })
}

fn window(end_us: i64, sample_scale: f64) -> AgentWindow {
    AgentWindow { start_us: end_us - 500_000, end_us, sample_scale, ..AgentWindow::default() }
}

fn series(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn there_are_never_more_series_than_promised() {
    let mut metrics = Metrics::new("1");
    for nth in 0..20 {
        let units = (0..200).map(|n| format!("unit-{}.service", n + nth * 100));
        let rows: Vec<_> = units
            .flat_map(|unit| (1..10).map(move |n| row(&unit, &format!("cause-{n}"), n)))
            .collect();
        metrics.add(&Rows { rows, folded: 0 }, &window(1, 1.0), 0);
        let text = metrics.text(&Own::default(), Exposition::Text);
        assert!(series(&text).len() <= SERIES, "{text}");
    }
    let text = metrics.text(&Own::default(), Exposition::Text);
    assert_eq!(series(&text).len(), SERIES, "all of them are used: {text}");
    let sum: u64 = metrics.needless.values().map(|known| known.calls + known.held_back).sum();
    assert_eq!((sum, metrics.observed), (20 * 200 * 45, 20 * 200 * 45));
    assert!(metrics.folded > 0);
    assert!(
        text.contains("needless_syscalls_total{needless_cause=\"other\",systemd_unit=\"other\"}")
    );
}

#[test]
fn a_series_begins_at_zero_for_each_reader() {
    let calls = |metrics: &Metrics| {
        let text = metrics.text(&Own::default(), Exposition::Text);
        let found = text.split_once("systemd_unit=\"a.service\"} ").map(|(_, rest)| rest);
        found.and_then(|rest| rest.lines().next()).map(|n| n.parse::<u64>().unwrap())
    };
    let rows = |calls| Rows { rows: vec![row("a.service", "tz-unset", calls)], folded: 0 };
    let none = Rows::default();
    let mut metrics = Metrics::new("1");
    assert_eq!(calls(&metrics), None);
    // Nobody reads: the series stays at zero, and nothing is lost.
    for second in 1..4 {
        metrics.add(&rows(7), &window(second * 1_000_000, 1.0), 0);
        assert_eq!(calls(&metrics), Some(0));
    }
    metrics.were_read();
    metrics.add(&none, &window(5_000_000, 1.0), 0);
    assert_eq!(calls(&metrics), Some(21));
    metrics.add(&rows(2), &window(6_000_000, 1.0), 0);
    assert_eq!(calls(&metrics), Some(23));
    // A file is read at some time.
    let mut metrics = Metrics::new("1");
    metrics.add(&rows(7), &window(1_000_000, 1.0), 0);
    metrics.add(&none, &window(1_000_000 + READ_WITHIN_US, 1.0), 0);
    assert_eq!(calls(&metrics), Some(7));
    let open = metrics.text(&Own::default(), Exposition::OpenMetrics);
    let labels = "{needless_cause=\"tz-unset\",systemd_unit=\"a.service\"}";
    assert!(open.contains(&format!("needless_syscalls_created{labels} 0.5\n")), "{open}");
}

#[test]
fn numbers_are_those_of_the_whole_window() {
    let mut metrics = Metrics::new("1");
    let mut rows = vec![row("a.service", "tz-unset", 7)];
    rows[0].1.lost = 2;
    metrics.add(&Rows { rows, folded: 0 }, &window(1, 10.0), 0);
    metrics.were_read();
    metrics.add(&Rows::default(), &window(2, 10.0), 0);
    let text = metrics.text(&Own::default(), Exposition::Text);
    assert!(text.contains("systemd_unit=\"a.service\"} 70\n"), "{text}");
    assert!(text.contains("needless_syscalls_observed_total 70\n"), "{text}");
    // Else the share that is not seen would depend on how much of the time is observed.
    assert!(text.contains("needless_agent_lost_events_total 20\n"), "{text}");
}

#[test]
fn labels_are_units_of_the_host_and_nothing_else() {
    for (service, label) in [
        ("nginx.service", "nginx.service"),
        ("run-u12.service", OTHER),
        ("getty@tty1.service", OTHER),
        ("user@1000 app.service", OTHER),
        ("container 3f2a9c1b7d4e (docker): x.service", OTHER),
        ("session 3 of user 1000", OTHER),
        ("perl", OTHER),
    ] {
        assert_eq!(labels(Some(service)), [("systemd_unit", label.to_owned())]);
    }
    assert_eq!(labels(None), other());
    let pod = labels(Some("pod shop/web-*/app: x.service"));
    let values: Vec<&str> = pod.iter().map(|(_, value)| &**value).collect();
    assert_eq!((pod[0].0, values), ("k8s_namespace_name", vec!["shop", "web-*", "app"]));
    assert_eq!(labels(Some("pod kube-system/etcd-*")).len(), 2);
    for pod in ["pod 5b2c1a90-1111", "pod 5b2c1a90-1111/container 0123456789ab"] {
        assert_eq!(labels(Some(pod)), other());
    }
}

#[test]
fn the_two_formats_differ_in_the_names_of_counters() {
    let mut metrics = Metrics::new("0.1.0");
    let rows = vec![row("a\\x2d\"b.service", "tz-unset", 7)];
    metrics.add(&Rows { rows, folded: 0 }, &window(2_500_000, 1.0), 1);
    let text = metrics.text(&Own::default(), Exposition::Text);
    let open = metrics.text(&Own::default(), Exposition::OpenMetrics);
    let counted: Vec<&str> =
        series(&open).into_iter().filter(|line| !line.contains("_created{")).collect();
    assert_eq!((series(&text), series(&open).len()), (counted.clone(), counted.len() + 1));
    let sample = "needless_syscalls_total{needless_cause=\"tz-unset\",systemd_unit=\"a\\\\x2d\\\"b.service\"} 0\n";
    assert!(text.contains(sample), "{text}");
    assert!(text.contains("# TYPE needless_syscalls_total counter\n") && !text.contains("# EOF"));
    assert!(open.contains("# TYPE needless_syscalls counter\n") && open.ends_with("\n# EOF\n"));
    assert!(text.contains("needless_agent_windows_lost_total 1\n"), "{text}");
    assert!(text.contains("needless_agent_window_end_timestamp_seconds 2.5\n"), "{text}");
}
