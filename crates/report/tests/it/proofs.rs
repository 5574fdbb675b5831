//! Proofs and comparisons in each format.

use needless_model::{
    Backend, Change, Counted, Measure, Outcome, Prediction, Proof, Quantity, RowChange, Snapshot,
    Stops,
};
use needless_report::{
    DiffDocument, Difference, ProofDocument, ProofFormat, Style, write_diff, write_proof,
};
use serde_json::Value;

const PLAIN: Style = Style { colour: false, width: 100 };

fn proof(outcome: Outcome) -> Proof {
    let counted = |n| Counted { least: n, most: n };
    let measure = |quantity| Measure {
        quantity,
        before: 0.2,
        after: 0.1,
        difference: -0.1,
        interval: (-0.12, -0.08),
    };
    Proof {
        program: "target/ten-times".into(),
        changes: vec![Change::SetEnv { variable: "TZ".into(), value: Some("UTC".into()) }],
        outcome,
        backend: Backend::ptrace(Stops::Seccomp),
        calls: Some((counted(48), counted(39))),
        rows: vec![RowChange {
            call: "newfstatat".into(),
            path: "/etc/localtime".into(),
            outcome: "ok".into(),
            before: 9,
            after: 0,
        }],
        predictions: vec![Prediction {
            user_ns: None,
            rule: "tz-unset".into(),
            predicted: 9,
            went: 9,
            kernel_ns: Some(8_200),
        }],
        pairs: 40,
        measures: Quantity::ALL.into_iter().map(measure).collect(),
        peak_floor_kib: 0,
        early: false,
        failure: None,
        warnings: vec!["Close other programs.".into()],
    }
}

fn rendered(proof: &Proof, format: ProofFormat) -> String {
    let mut out = Vec::new();
    write_proof(&mut out, &ProofDocument::of(proof, "0.1.0"), format, PLAIN).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_checked_in_schemas_are_current() {
    let checked_in = [
        (include_str!("../../../../schema/needless.proof-1.json"), needless_report::proof_schema()),
        (include_str!("../../../../schema/needless.diff-1.json"), needless_report::diff_schema()),
        (
            include_str!("../../../../schema/needless.profile-1.json"),
            needless_report::profile_schema(),
        ),
    ];
    for (checked_in, current) in checked_in {
        assert!(checked_in == current, "run `cargo xtask gen`");
    }
}

/// The fields that the schema requires are written, and no others.
fn assert_fields(document: &str, schema: &str) {
    let document: Value = serde_json::from_str(document).unwrap();
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert_eq!(document["schema"], schema["properties"]["schema"]["const"]);
    let known = schema["properties"].as_object().unwrap();
    for field in document.as_object().unwrap().keys() {
        assert!(known.contains_key(field), "{field} is not in the schema");
    }
    for required in schema["required"].as_array().unwrap() {
        assert!(document.get(required.as_str().unwrap()).is_some(), "{required} is missing");
    }
}

#[test]
fn json_keeps_to_its_schema() {
    let proof = proof(Outcome::Proven { calls: true, cpu: true });
    let text = rendered(&proof, ProofFormat::Json);
    assert_fields(&text, &needless_report::proof_schema());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["outcome"], "proven");
    assert_eq!(value["measures"][0]["quantity"], "cpu_s");
    assert_eq!(value["predictions"][0]["went"], 9);
}

#[test]
fn a_person_reads_counts_then_times() {
    let text = rendered(&proof(Outcome::Proven { calls: true, cpu: false }), ProofFormat::Full);
    let first = text.lines().next().unwrap();
    assert_eq!(first, "needless prove: proven in calls; not proven in CPU time");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("48 → 39: 9 gone, 18.8 %; counted by ptrace") < at("40 pairs"));
    assert!(
        at("9 fewer by tz-unset; of the calls it is about, 9 went: 100.0 %") < at("CPU time  ")
    );
    assert!(text.contains("-50.0 %") && text.contains("-60.0 to -40.0 %"), "{text}");
}

#[test]
fn a_change_is_that_of_the_two_columns_and_few_pairs_have_no_interval() {
    let mut apart = proof(Outcome::Proven { calls: true, cpu: true });
    apart.measures[0].difference = -0.08;
    let html = rendered(&apart, ProofFormat::Html);
    assert!(html.contains("-50.0 %") && html.contains("<svg class=\"interval"), "{html}");
    assert!(rendered(&apart, ProofFormat::Markdown).contains("CPU time fell by 100 ms"));
    apart.pairs = 5;
    for format in [ProofFormat::Full, ProofFormat::Markdown, ProofFormat::Html] {
        let text = rendered(&apart, format);
        assert!(text.contains("-50.0 %") && text.contains("too few pairs"), "{text}");
        assert!(!text.contains(" to -40.0 %") && !text.contains("<svg class=\"interval"), "{text}");
    }
}

#[test]
fn a_difference_is_said_first() {
    let differs = proof(Outcome::Differs("with the change it exits with status 1".into()));
    let text = rendered(&differs, ProofFormat::Full);
    assert!(text.lines().next().unwrap().contains("nothing is proven"), "{text}");
    let markdown = rendered(&differs, ProofFormat::Markdown);
    assert!(markdown.lines().next().unwrap().contains("nothing is proven"), "{markdown}");
}

#[test]
fn nothing_from_outside_reaches_a_terminal_or_a_page_raw() {
    let mut hostile = proof(Outcome::NotProven("no".into()));
    hostile.program = "a`b\u{1b}[2J<script>".into();
    hostile.rows[0].path = "/x\u{202e}```\n# y".into();
    let forbidden = ["\u{1b}", "\u{202e}"];
    for format in [ProofFormat::Full, ProofFormat::Markdown, ProofFormat::Json] {
        let text = rendered(&hostile, format);
        assert!(forbidden.iter().all(|bad| !text.contains(bad)), "{text}");
    }
    let markdown = rendered(&hostile, ProofFormat::Markdown);
    assert!(markdown.contains("`` a`b"), "{markdown}");
    assert_eq!(markdown.matches("```").count(), 2, "{markdown}");
}

fn snapshot(calls: u64, seconds: u64, path: &str) -> Snapshot {
    let key = ("newfstatat".to_owned(), path.to_owned(), "ok".to_owned());
    Snapshot {
        name: "unit app".into(),
        calls,
        complete: true,
        all_rows: true,
        window_ns: Some(seconds * 1_000_000_000),
        rows: [(key, calls)].into(),
        ..Snapshot::default()
    }
}

#[test]
fn windows_over_a_service_are_rates() {
    let (before, after) = (snapshot(14_925, 30, "/etc/localtime"), snapshot(8, 30, "/x"));
    let difference = Difference { before: &before, after: &after, service: true };
    let rendered = |format| {
        let mut out = Vec::new();
        write_diff(&mut out, &DiffDocument::of(&difference, "0.1.0"), format, PLAIN).unwrap();
        String::from_utf8(out).unwrap()
    };
    let text = rendered(ProofFormat::Full);
    assert!(text.starts_with("needless prove: proven"), "{text}");
    assert!(text.contains("497.50 → 0.27 calls per second (-99.9 %)"), "{text}");
    assert!(text.contains("went: 1 row") && text.contains("came: 1 row"), "{text}");
    assert!(rendered(ProofFormat::Markdown).contains("| per second | 497.50 | 0.27 |"));
    assert_fields(&rendered(ProofFormat::Json), &needless_report::diff_schema());
    // Counted in different ways: no verdict.
    let partial = Snapshot { complete: false, ..after.clone() };
    assert!(!Difference { after: &partial, ..difference }.proven());
}

/// Two runs of a program that fell from fifteen calls to six made as many per second.
#[test]
fn short_runs_are_compared_by_their_sums() {
    let rendered = |seconds: u64| {
        let run = |calls| Snapshot {
            window_ns: Some(13_000_000 + seconds * 1_000_000_000),
            ..snapshot(calls, 0, "/x")
        };
        let (before, after) = (run(15), run(6));
        let difference = Difference { before: &before, after: &after, service: false };
        [ProofFormat::Full, ProofFormat::Markdown].map(|format| {
            let mut out = Vec::new();
            write_diff(&mut out, &DiffDocument::of(&difference, "0.1.0"), format, PLAIN).unwrap();
            String::from_utf8(out).unwrap()
        })
    };
    let [full, markdown] = rendered(0);
    assert!(
        full.contains("15 → 6 calls (-60.0 %)") && full.contains("15 calls in 13 ms"),
        "{full}"
    );
    assert!(!full.contains("per second") && !markdown.contains("per second"), "{full}{markdown}");
    assert!(markdown.contains("| in all | 15 | 6 |"), "{markdown}");
    assert!(rendered(2)[0].contains("7.45 → 2.98 calls per second"), "{}", rendered(2)[0]);
}

/// What was not measured shows no difference, and no equality either.
#[test]
fn counts_alone_say_nothing_about_cpu_time() {
    let mut counted = proof(Outcome::Proven { calls: true, cpu: false });
    counted.pairs = 0;
    counted.measures = Vec::new();
    for format in [ProofFormat::Full, ProofFormat::Markdown] {
        let text = rendered(&counted, format).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("CPU time was not measured"), "{text}");
        assert!(!text.contains("beyond chance"), "{text}");
    }
}
