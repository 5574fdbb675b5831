//! The report on a busy host: many services, of which the most expensive are shown.

use super::*;

/// The rules in the table of a report, from top to bottom.
fn table(report: &str) -> Vec<&str> {
    let rows = report.lines().skip_while(|line| !line.contains("  rule  ")).skip(1);
    // Without the fixes that have lines of their own.
    let rows = rows.take_while(|line| !line.is_empty());
    rows.filter(|line| !line.starts_with("     fix  ")).collect()
}

#[test]
fn the_end_of_a_busy_report_fits_on_a_small_terminal() {
    let mut sample = busy();
    sample.details.end_first = true;
    let report = sample.styled(ReportFormat::Full, Style { colour: false, width: 80 });
    assert!(report.lines().count() > 60, "{report}");
    let lines: Vec<&str> = report.lines().collect();
    // One line is for the prompt.
    assert_snapshot!(lines[lines.len() - 23..].join("\n"), @r#"
    not checked:  nothing
    notice:       notice 0
    notice:       notice 1
    notice:       notice 2
    notice:       4 more: -v shows all

    host: 30 s, 23 processes in 22 services; 390,484 calls, 0 failed
      needed         30,022 calls
      needless       329,978 calls, about 3.0 s, 10.1 % of a core
      not explained  30,484 calls, about 210 ms, 0.7 % of a core

      saves  of a core    calls  rule         who                fix
     ~1.4 s      4.6 %  134,991  tz-unset     a9, a8 and 7 more  TZ=Europe/Athens
    ~168 ms      0.6 %   14,999  python-path  other10            PYTHONPATH=/srv/ot…
    ~167 ms      0.6 %   14,999  python-path  other9             PYTHONPATH=/srv/ot…
    ~166 ms      0.6 %   14,999  python-path  other8             PYTHONPATH=/srv/ot…
    ~165 ms      0.5 %   14,999  python-path  other7             PYTHONPATH=/srv/ot…
    ~164 ms      0.5 %   14,999  python-path  other6             PYTHONPATH=/srv/ot…
    ~163 ms      0.5 %   14,999  python-path  other5             PYTHONPATH=/srv/ot…
    ~162 ms      0.5 %   14,999  python-path  other4             PYTHONPATH=/srv/ot…
    and 3 more remedies, 44,997 calls, about 480 ms: -v shows all

    more:         needless explain tz-unset; -v shows all details
    "#);
    let shown = table(&report);
    assert!(
        shown[0].trim_start().starts_with("~1.4 s "),
        "the most expensive one is on it: {report}"
    );
}

#[test]
fn one_remedy_for_nine_services_is_one_line() {
    let report = busy().rendered(ReportFormat::Full);
    let clocks: Vec<&str> =
        table(&report).into_iter().filter(|line| line.contains("TZ=")).collect();
    assert_eq!(clocks.len(), 1, "{report}");
    assert!(clocks[0].contains("  a9, a8, a7 and 6 more  "), "{report}");
}

#[test]
fn the_most_expensive_remedies_are_shown_and_the_others_counted() {
    let mut sample = busy();
    sample.top = Some(2);
    let full = sample.rendered(ReportFormat::Full);
    assert_eq!(table(&full).len(), 3, "{full}");
    assert!(table(&full)[2].starts_with("and 9 more remedies, "), "{full}");
    let concise = sample.rendered(ReportFormat::Concise);
    assert!(concise.contains("\nand 9 more remedies: -v shows all\n"), "{concise}");
    assert_eq!(json(&sample), json(&busy()));
    sample.details.full = true;
    let all = sample.rendered(ReportFormat::Full);
    for all in [Some(0), Some(usize::MAX)]
        .map(|top| (sample.top = top, sample.rendered(ReportFormat::Full)).1)
        .iter()
        .chain([&all])
    {
        assert_eq!(table(all).len(), 11, "{all}");
    }
    assert_eq!(all.matches("\n  saves   ").count(), 14, "each remedy has its details");
}

#[test]
fn remedies_are_ranked_by_the_time_that_they_save() {
    let mut sample = host();
    let ranked = |sample: &Sample| -> Vec<bool> {
        let report = sample.rendered(ReportFormat::Full);
        table(&report).iter().map(|line| line.contains("LANG=el_GR")).collect()
    };
    let second = |share: u64| Some(30_000_000_000 * share / 1000);
    sample.verdict.findings[3].kernel_ns = second(2);
    sample.verdict.findings[0].kernel_ns = second(1);
    sample.verdict.findings[1].kernel_ns = second(4);
    assert_eq!(ranked(&sample), [false, true], "two findings with one remedy cost more");
    sample.verdict.findings[1].kernel_ns = None;
    assert_eq!(ranked(&sample), [true, false]);
    // What costs less than a thousandth of a core is not in the table.
    sample.verdict.findings[3].kernel_ns = Some(29_999_999);
    assert_eq!(ranked(&sample), [false]);
    let report = sample.rendered(ReportFormat::Full);
    assert!(
        report.contains("small:\n  about 30 ms, 34 calls: locale-alias of container"),
        "{report}"
    );
    let small = |at: usize| json(&sample)["findings"][at]["small"].as_bool().unwrap();
    assert_eq!([small(0), small(1), small(2), small(3)], [false, false, false, true]);
}
