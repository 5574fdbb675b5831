//! A saved document, shown again, is what it was.

use crate::samples::Sample;
use crate::samples::windows::{attached, healthy_host, host, no_time};
use needless_model::{
    Backend, Change, Counted, Measure, Outcome, Prediction, Proof, Quantity, RowChange, Snapshot,
    Stage,
};
use needless_report::{
    Details, DiffDocument, Difference, Document, ProofDocument, ProofFormat, Report,
    ReportDocument, ReportFormat, Style, Timeline, TimelineFormat, read_document, write_timeline,
};
use serde_json::{Value, json};

const PLAIN: Style = Style { colour: false, width: 100 };

const FORMATS: [ReportFormat; 4] =
    [ReportFormat::Full, ReportFormat::Concise, ReportFormat::Html, ReportFormat::Json];

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn shown(json: &str, format: ReportFormat, details: Details, top: Option<usize>) -> String {
    let Document::Report(saved) = read_document(json).unwrap() else { panic!("a report") };
    text(|out| write_saved(out, &saved, format, (details, top)))
}

/// Writes a report that was read.
fn write_saved(
    out: &mut Vec<u8>,
    document: &ReportDocument,
    format: ReportFormat,
    (details, top): (Details, Option<usize>),
) -> std::io::Result<()> {
    let report = Report { document, rows: None, top, details, command: &[] };
    needless_report::write(out, &report, format, PLAIN)
}

#[test]
fn a_saved_report_is_shown_as_it_was_written() {
    for mut sample in Sample::all() {
        let json = sample.rendered(ReportFormat::Json);
        for (full, unexplained) in [(false, false), (true, false), (false, true), (true, true)] {
            for top in [None, Some(0), Some(2)] {
                sample.details = Details { full, unexplained, end_first: full };
                sample.top = top;
                for format in FORMATS {
                    let again = shown(&json, format, sample.details, top);
                    assert_eq!(again, sample.rendered(format), "{:?}", sample.source);
                }
            }
        }
    }
}

#[test]
fn what_needs_every_row_is_refused() {
    let json = crate::samples::tree().rendered(ReportFormat::Json);
    let Document::Report(saved) = read_document(&json).unwrap() else { panic!("a report") };
    let details = (Details::default(), None);
    let refused = write_saved(&mut Vec::new(), &saved, ReportFormat::Profile, details);
    assert!(refused.unwrap_err().to_string().contains("--format profile"));
}

#[test]
fn a_report_with_more_than_there_can_be_is_refused() {
    let json = crate::samples::tree().rendered(ReportFormat::Json);
    for (field, huge) in [
        ("\"processes\": 2", "\"processes\": 4000000000"),
        ("\"findings\": 1", "\"findings\": 4000000000"),
        ("\"path_calls\": 60300", "\"path_calls\": 18446744073709551615"),
    ] {
        let much = json.replace(field, huge);
        assert_ne!(much, json, "{field}");
        assert!(read_document(&much).err().unwrap().starts_with("not a report"), "{field}");
    }
}

/// The paths of everything in a document that is no list or object.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(all) => {
            all.iter().for_each(|(name, one)| leaves(one, &format!("{at}/{name}"), found));
        }
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(n, one)| leaves(one, &format!("{at}/{n}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn a_report_with_any_other_value_is_refused_or_shown() {
    let mut shown = 0;
    for sample in
        [crate::samples::tree(), crate::samples::windows::host(), crate::samples::hostile()]
    {
        let good: Value = serde_json::from_str(&sample.rendered(ReportFormat::Json)).unwrap();
        let mut all = Vec::new();
        leaves(&good, "", &mut all);
        for at in all.iter().filter(|at| *at != "/schema") {
            for other in [json!(0), json!(1_u64 << 40), json!(1e-9), json!("\u{1b}x"), json!(null)]
            {
                let mut changed = good.clone();
                *changed.pointer_mut(at).unwrap() = other;
                let Ok(Document::Report(saved)) = read_document(&changed.to_string()) else {
                    continue;
                };
                for format in FORMATS {
                    let mut out = Vec::new();
                    // JSON has no name for what this version does not know.
                    if write_saved(&mut out, &saved, format, (Details::default(), None)).is_ok() {
                        shown += 1;
                        assert!(!out.contains(&b'\x1b'), "{at}");
                    }
                }
            }
        }
    }
    assert!(shown > 1000, "{shown}");
}

#[test]
fn a_saved_proof_is_shown_as_it_was_written() {
    let measure = |quantity| Measure {
        quantity,
        before: 0.123_456,
        after: 0.1,
        difference: -0.023_456,
        interval: (-0.03, -0.01),
    };
    let counted = |least, most| Counted { least, most };
    let row = RowChange {
        call: "newfstatat".into(),
        path: "/etc/\u{1b}localtime".into(),
        outcome: "ok".into(),
        before: 9,
        after: 0,
    };
    let prediction = |rule: &'static str, user_ns| Prediction {
        rule: rule.into(),
        predicted: 9,
        went: 8,
        kernel_ns: Some(123_457),
        user_ns,
    };
    let set = Change::SetEnv { variable: "TZ".into(), value: Some("a b".into()) };
    for outcome in [
        Outcome::Proven { calls: true, cpu: true },
        Outcome::Proven { calls: true, cpu: false },
        Outcome::Proven { calls: false, cpu: true },
        Outcome::NotProven("nothing fell".into()),
        Outcome::Differs("the output differs".into()),
    ] {
        let proof = Proof {
            outcome,
            calls: Some((counted(71, 72), counted(62, 62))),
            rows: vec![row.clone()],
            predictions: vec![prediction("tz-unset", None), prediction("x-y", Some(7_001))],
            pairs: 30,
            measures: Quantity::ALL.into_iter().map(measure).collect(),
            peak_floor_kib: 1_000,
            early: true,
            failure: Some("a signal".into()),
            warnings: vec!["The machine was busy.".into()],
            ..Proof::begun("date", std::slice::from_ref(&set), Backend::Ebpf)
        };
        let write = |proof: &ProofDocument, format| {
            text(|out| needless_report::write_proof(out, proof, format, PLAIN))
        };
        let proof = ProofDocument::of(&proof, "1");
        let json = write(&proof, ProofFormat::Json);
        let Document::Proof(again) = read_document(&json).unwrap() else { panic!() };
        for format in [ProofFormat::Full, ProofFormat::Markdown, ProofFormat::Json] {
            assert_eq!(write(&again, format), write(&proof, format));
        }
    }
}

#[test]
fn a_saved_comparison_is_shown_as_it_was_written() {
    let side = |name: &str, complete, rows: &[(&str, u64)]| Snapshot {
        name: name.into(),
        calls: rows.iter().map(|(_, n)| n).sum(),
        complete,
        all_rows: complete,
        window_ns: Some(2_000_000_001),
        cpu_ns: Some(12_345_678),
        requests: Some(17.0),
        rows: rows.iter().map(|(p, n)| (("stat".into(), (*p).into(), "ok".into()), *n)).collect(),
        lost: [("calls_uncounted".to_owned(), 3)].into(),
        ..Snapshot::default()
    };
    let before = side("a", true, &[("/same", 3), ("/gone", 9), ("/less", 9), ("", 4)]);
    for complete in [true, false] {
        let after = side("b", complete, &[("/same", 3), ("/new", 9), ("/less", 2), ("", 40)]);
        for service in [true, false] {
            let write = |difference: &DiffDocument, format| {
                text(|out| needless_report::write_diff(out, difference, format, PLAIN))
            };
            let difference = Difference { before: &before, after: &after, service };
            let difference = DiffDocument::of(&difference, "1");
            let json = write(&difference, ProofFormat::Json);
            let Document::Diff(again) = read_document(&json).unwrap() else { panic!() };
            for format in [ProofFormat::Full, ProofFormat::Markdown, ProofFormat::Json] {
                assert_eq!(write(&again, format), write(&difference, format));
            }
        }
    }
}

#[path = "../../../../fuzz/check_document.rs"]
mod check_document;

/// What fuzzing starts from, and what it found.
#[test]
fn the_fuzz_corpus_is_shown_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/document");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let shown = files.filter(|bytes| check_document::check_document(bytes)).count();
    assert!(shown >= 5, "{shown}");
}

#[test]
fn several_windows_are_a_timeline() {
    let saved = |sample: Sample| match read_document(&sample.rendered(ReportFormat::Json)).unwrap()
    {
        Document::Report(saved) => *saved,
        _ => panic!("a report"),
    };
    let windows = [("a.json", host()), ("b<i>.json", healthy_host())];
    let windows = windows.map(|(name, sample)| (name.to_owned(), saved(sample)));
    let timeline = Timeline::of(&windows).unwrap();
    let written = |format| text(|out| write_timeline(out, &timeline, format, PLAIN));
    insta::assert_snapshot!(written(TimelineFormat::Full), @"
    window     seconds      calls  calls per second     needed  needless  perhaps  not explained  not judged
    a.json        30.0  1,051,305            35,043  1,036,004    15,301        0              0           0
    b<i>.json     10.0     51,233             5,123     51,233         0        0              0           0
    all           40.0  1,102,538            27,563  1,087,237    15,301        0              0           0
    ");
    let page = written(TimelineFormat::Html);
    assert!(
        page.contains("<title>a.json: needless, tz-unset: 15,267 calls, 508 per second</title>"),
        "{page}"
    );
    assert!(page.contains(">b&lt;i&gt;.json</th>") && !page.contains("<i>"), "{page}");
    // The legend has what can be seen, in the order of the columns: 34 calls of a million cannot.
    let keys: Vec<&str> = page.lines().filter(|line| line.contains("class=\"key\"")).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys[0].ends_with("</span>needless, tz-unset</span>"), "{keys:?}");
    assert!(keys[1].ends_with("</span>needed</span>"), "{keys:?}");

    // Findings whose cause was not looked up are not said to be needless.
    let mut perhaps = host();
    perhaps.verdict.findings.iter_mut().for_each(|finding| finding.stage = Stage::Seen);
    perhaps.verdict.account.uncertain.calls = 15_301;
    let perhaps = Timeline::of(&[("a.json".to_owned(), saved(perhaps))]).unwrap();
    let page = text(|out| write_timeline(out, &perhaps, TimelineFormat::Html, PLAIN));
    assert!(page.contains("perhaps needless, tz-unset: 15,267 calls"), "{page}");
    assert!(!page.contains(": needless, "), "{page}");

    let refused = |sample: Sample| {
        let reports = [("a.json".to_owned(), saved(host())), ("b.json".to_owned(), saved(sample))];
        Timeline::of(&reports).err().unwrap()
    };
    assert!(refused(crate::samples::localtime()).starts_with("b.json: not a report of a window"));
    assert!(refused(attached()).starts_with("b.json: of another kind than a.json"));
    assert!(refused(no_time()).starts_with("b.json: not a report of a window with a length"));
}
