//! The formats of profilers: every call is in each of them, once.

use crate::samples::{Sample, hostile, localtime};
use needless_model::CallSite;
use needless_report::ReportFormat;
use serde_json::Value;

/// The stacks of a text of collapsed stacks, each with its number of calls.
fn folded(sample: &Sample) -> Vec<(String, u64)> {
    let text = sample.rendered(ReportFormat::Folded);
    let lines = text.lines().map(|line| line.rsplit_once(' ').expect("a number"));
    lines.map(|(stack, calls)| (stack.to_owned(), calls.parse().unwrap())).collect()
}

fn speedscope(sample: &Sample) -> Value {
    serde_json::from_str(&sample.rendered(ReportFormat::Speedscope)).unwrap()
}

fn sum(weights: &Value) -> u64 {
    weights.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum()
}

#[test]
fn every_call_is_in_each_format_once() {
    for sample in Sample::all() {
        let json: Value = serde_json::from_str(&sample.rendered(ReportFormat::Json)).unwrap();
        let calls = json["totals"]["calls"].as_u64().unwrap();
        assert_eq!(folded(&sample).iter().map(|(_, calls)| calls).sum::<u64>(), calls);
        let profile = &speedscope(&sample)["profiles"][0];
        assert_eq!(profile["endValue"], calls);
        assert_eq!(sum(&profile["weights"]), calls);
    }
}

#[test]
fn a_stack_leads_from_the_unit_to_the_call_and_its_cause() {
    let mut sample = localtime();
    sample.profile.processes[0].service = Some("clock.service".to_owned());
    let site = |offset, calls: Option<&str>| CallSite {
        module: "/tmp/sample".to_owned(),
        function: calls.map(|_| "main".to_owned()),
        offset,
        calls: calls.map(str::to_owned),
    };
    // Of ten calls, thirds: no call is lost by rounding.
    sample.profile.rows[0].sites = vec![(site(0xc3, Some("localtime")), 1), (site(0x10, None), 2)];
    assert_eq!(
        folded(&sample),
        [
            ("clock.service;sample;main;localtime;newfstatat;tz-unset".to_owned(), 3),
            ("clock.service;sample;sample+0x10;newfstatat;tz-unset".to_owned(), 7),
            ("true;openat".to_owned(), 5),
        ]
    );
}

#[test]
fn the_time_is_a_profile_of_its_own_where_it_was_measured() {
    let mut sample = localtime();
    assert_eq!(speedscope(&sample)["profiles"].as_array().unwrap().len(), 1);
    sample.profile.rows[0].kernel_ns = 1_234;
    sample.profile.rows[0].timed = 10;
    let profile = &speedscope(&sample)["profiles"][1];
    assert_eq!((&profile["unit"], &profile["endValue"]), (&"nanoseconds".into(), &1_234.into()));
    assert_eq!(sum(&profile["weights"]), 1_234);
}

/// A name may hold anything: it stays one name, on one line.
#[test]
fn no_name_ends_a_line_or_a_frame() {
    let mut sample = hostile();
    sample.profile.processes[0].exe = Some("/tmp/a;b 7\n;\u{202e} c".to_owned());
    let lines = folded(&sample);
    assert_eq!(lines, [(r"a\x3bb 7\n\x3b\u{202e} c;newfstatat;tz-unset".to_owned(), 10)]);
}
