//! What reports look like, read by eye before it was accepted.

mod short;
mod unjudged;

use crate::samples::{Sample, healthy, hostile, localtime, log, reopened, script, tree};
use insta::assert_snapshot;
use needless_model::{Change, Errno, Query};
use needless_report::{ReportFormat, Style};
use needless_rules::{Amount, Unanswered, Unexplained};
use std::ffi::OsString;

/// The formats that people may see on a terminal.
const TEXTS: [ReportFormat; 7] = [
    ReportFormat::Full,
    ReportFormat::Concise,
    ReportFormat::Markdown,
    ReportFormat::Html,
    ReportFormat::Json,
    ReportFormat::Folded,
    ReportFormat::Speedscope,
];

#[test]
fn full_for_one_finding() {
    assert_snapshot!(localtime().rendered(ReportFormat::Full), @r#"
    sample: 12 ms under ptrace; 15 checked calls (--all: every call), 0 failed
      needed         6 calls
      needless       9 calls, about 9.3 µs
      not explained  0 calls

      saves  calls  rule      who     fix
    ~9.3 µs      9  tz-unset  sample  TZ=Europe/Athens

    tz-unset: 9 of 10 time conversions stat /etc/localtime
      saves   about 9.3 µs (kernel time only); 9 calls, 60.0 % of the checked calls
      who     sample[4711], /tmp/sample
      why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
              /etc/localtime is still the file it has loaded.
      from    main+0xc3: call localtime@plt
              TZ is unset
      strace  10 × newfstatat("/etc/localtime") ok
      fix     TZ=Europe/Athens
      caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
              seen only at the next restart.
      stage   explained: the cause was found; the saving was not measured

    observed:     by ptrace (seccomp-assisted); not known: a count of every call, the kernel time of
                  calls
    lost:         nothing
    not checked:  nothing

    more:         needless explain tz-unset
    try:          TZ=Europe/Athens needless run -- ./sample …
    "#);
}

#[test]
fn a_script_is_named_and_its_paths_are_explained() {
    let full = script().rendered(ReportFormat::Full);
    let who = "
  who     ts (perl)[4711], /usr/bin/perl; in a root or mount namespace of its own: paths are those
          there
";
    assert!(full.contains(who), "{full}");
    let concise = script().rendered(ReportFormat::Concise);
    assert!(concise.contains("ts (perl)[4711]"), "{concise}");
    let report: serde_json::Value =
        serde_json::from_str(&script().rendered(ReportFormat::Json)).unwrap();
    let finding = &report["findings"][0];
    let process = serde_json::json!(
        {"pid": 4711, "exe": "/usr/bin/perl", "command": "ts", "open_files": 1_048_576}
    );
    assert_eq!((&finding["process"], &finding["affected"][0]), (&process, &process));
    let exe = serde_json::json!({"exe": "/usr/bin/perl", "script": "ts", "processes": 1});
    assert_eq!(finding["exes"], serde_json::json!([exe]));
}

#[test]
fn a_report_is_read_with_its_sums_also_one_without_scripts() {
    let sums = |text: &str| needless_report::read_saved(text).unwrap().needless.unwrap();
    let now = script().rendered(ReportFormat::Json);
    let mut before: serde_json::Value = serde_json::from_str(&now).unwrap();
    for list in ["affected", "exes"] {
        let fields = before["findings"][0][list][0].as_object_mut().unwrap();
        fields.retain(|name, _| !["script", "command", "open_files"].contains(&name.as_str()));
    }
    let finding = &before["findings"][0];
    let (rule, calls) = (finding["rule"].as_str().unwrap(), finding["needless"].as_u64().unwrap());
    let all = [(rule.to_owned(), calls)].into();
    let before = before.to_string();
    assert!(!before.contains("script"));
    assert_eq!((sums(&before), sums(&now)), (std::collections::BTreeMap::clone(&all), all));
}

#[test]
fn full_for_a_tree_of_processes() {
    assert_snapshot!(tree().rendered(ReportFormat::Full), @r#"
    make: 3.0 s under ptrace; 60,300 calls, 0 failed
      needed         269 calls
      needless       60,031 calls, about 62 ms
      not explained  0 calls

      saves   calls  rule      who            fix
     ~62 ms  59,997  tz-unset  date, python3  TZ=Europe/Athens

    small:
      34 calls: locale-alias of date; fix: LANG=el_GR

    tz-unset: 59,997 of 59,998 needless: asks for the status of /etc/localtime at every conversion
      saves   about 62 ms (kernel time only); 59,997 calls, 99.5 % of all calls
      who     3 processes: 2 × /usr/bin/date, 1 × /usr/bin/python3; most calls by python3[100]
      why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
              /etc/localtime is still the file it has loaded.
      from    main+0xc3: call localtime@plt
              date+0x0: call localtime@plt
              date+0x1: call localtime@plt
              2 other places
              TZ is unset
      strace  59,998 × newfstatat("/etc/localtime") ok
      fix     TZ=Europe/Athens
      caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
              seen only at the next restart.
      stage   explained: the cause was found; the saving was not measured

    observed:     by ptrace; not known: the time of calls, the kernel time of calls and 5 more
    lost:         1 call whose end was not seen and 40,000 calls folded into others
    not checked:  locale-spelling, locale-not-installed (need the host's locales); repeated-question
                  (needs the time of calls and the answers of calls)
    left out:     1 call below the threshold, --min-saving 0 shows them
    note:         A program tried to trace another one.

    more:         needless explain tz-unset; -v shows all details
    try:          TZ=Europe/Athens LANG=el_GR needless run -- make …
    "#);
}

#[test]
fn full_does_not_compare_with_calls_that_were_not_counted() {
    assert_snapshot!(reopened().rendered(ReportFormat::Full), @r#"
    app.log: 4,995 calls in the log, 0 failed
      needed         0 calls
      needless       4,995 calls, 5.1 ms
      not explained  0 calls

      saves  calls  rule               who  fix
     5.1 ms  4,995  zone-file-missing  app  set TZ (the right value is not known here)

    zone-file-missing: 4,995 of 4,996 needless: opens and reads a zone file that is empty
      saves   5.1 ms (kernel time only); 4,995 calls, 100 % of the calls in the log
      who     app[9], /srv/app
      why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
              /etc/localtime is still the file it has loaded.
      from    main+0xc3: call localtime@plt
      strace  1,000 × openat("/etc/localtime") ok
              2,000 × fstat ok
      fix     set TZ (the right value is not known here)
      caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
              seen only at the next restart.
      stage   explained: the cause was found; the saving was not measured

    observed:     by ptrace; not known: a count of every call, the environment of the processes and 6
                  more
    lost:         nothing
    not checked:  nothing

    more:         needless explain zone-file-missing
    "#);
}

#[test]
fn full_for_a_healthy_program_is_one_line() {
    assert_snapshot!(healthy().rendered(ReportFormat::Full), @r#"
    needless: nothing needless found in 1,234 calls (ptrace)
    "#);
    assert_snapshot!(log().rendered(ReportFormat::Full), @r#"
    needless: nothing needless found in 1 call in the log (strace log; lost: 2 lines not understood and what a filter left out of the log; not checked: tz-unset (needs the environment of the processes); 2 calls below the threshold, --min-saving 0 shows them; 1 note: -v shows it)
    "#);
    assert_eq!(log().rendered(ReportFormat::Full).lines().count(), 1);
}

#[test]
fn on_a_terminal_the_command_can_be_pasted_and_nowhere_else() {
    let mut sample = localtime();
    sample.command = ["./sample", "a b", "it's", "$HOME"].map(OsString::from).to_vec();
    sample.details.end_first = true;
    let shown = sample.rendered(ReportFormat::Full);
    let last = "try:          TZ=Europe/Athens needless run -- ./sample 'a b' 'it'\\''s' '$HOME'\n";
    assert!(shown.ends_with(last), "{shown}");
    for format in [ReportFormat::Concise, ReportFormat::Json, ReportFormat::Profile] {
        assert!(!sample.rendered(format).contains("HOME"));
    }
}

#[test]
fn unexplained_calls_are_facts_and_never_beside_nothing_needless() {
    let mut sample = healthy();
    let line = |calls, reason| Unexplained {
        program: "ruby".to_owned(),
        processes: 1,
        call: "openat".to_owned(),
        query: Query::Open,
        reason,
        amount: Amount { user_ns: None, calls, kernel_ns: Some(calls * 500) },
        place: Some(("/usr/share/ruby/".to_owned(), calls - 1)),
        site: None,
    };
    let enoent = Unanswered::Failed(Errno(2));
    sample.verdict.account.unexplained =
        Amount { user_ns: None, calls: 200, kernel_ns: Some(100_000) };
    sample.verdict.account.lines = vec![line(200, enoent)];
    let rendered = sample.rendered(ReportFormat::Full);
    assert!(
        rendered.contains("nothing needless found in 1,234 calls; 200 not explained ("),
        "{rendered}"
    );
    sample.verdict.account.unexplained =
        Amount { user_ns: None, calls: 4_010, kernel_ns: Some(2_000_000) };
    sample.verdict.account.lines = vec![line(4_000, enoent), line(10, Unanswered::Again)];
    assert_snapshot!(sample.rendered(ReportFormat::Full), @r#"
    true: 1,234 calls, 0 failed
      needed         0 calls
      needless       0 calls
      not explained  4,010 calls, 2.0 ms

    not explained: no rule applies; for information; no change is suggested
      ruby: 4,000 failed opens (ENOENT), 3,999 of them below /usr/share/ruby/; 2.0 ms
      1 other kind: -v shows all

    observed:     by ptrace (seccomp-assisted)
    lost:         nothing
    not checked:  nothing
    "#);
    let concise = sample.rendered(ReportFormat::Concise);
    assert!(
        concise.starts_with("needless: nothing needless found in 1,234 calls; 4,010 not"),
        "{concise}"
    );
    sample.details.unexplained = true;
    let all = sample.rendered(ReportFormat::Full);
    assert!(
        all.contains("\n  ruby: 10 further opens of the same files, 9 of them below /usr"),
        "{all}"
    );
    let concise = sample.rendered(ReportFormat::Concise);
    assert!(
        concise
            .contains("not explained: ruby: 10 further opens of the same files, 9 of them below"),
        "{concise}"
    );
}

#[test]
fn concise() {
    assert_snapshot!(localtime().rendered(ReportFormat::Concise), @r#"
    about 9.3 µs: sample[4711]: tz-unset: 9 of 10 time conversions stat /etc/localtime (explained); fix: TZ=Europe/Athens; caveat: Takes effect when the program is restarted; a later change of the zone or of tzdata is seen only at the next restart
    needless: 1 finding, 9 of 15 checked calls are needless, about 9.3 µs (ptrace, seccomp-assisted)
    "#);
    assert_snapshot!(tree().rendered(ReportFormat::Concise), @r#"
    about 62 ms: python3[100] and 2 more: tz-unset: 59,997 of 59,998 needless: asks for the status of /etc/localtime at every conversion (explained); fix: TZ=Europe/Athens; caveat: Takes effect when the program is restarted; a later change of the zone or of tzdata is seen only at the next restart
    small: date[101] and 1 more: locale-alias: 34 failed opens: the locale "greek" is looked for under other names (seen); fix: LANG=el_GR; caveat: The encoding stays ISO-8859-7
    needless: 2 findings, 60,031 of 60,300 calls are needless, about 62 ms (ptrace; lost: 1 call whose end was not seen and 40,000 calls folded into others; not checked: locale-spelling, locale-not-installed (need the host's locales); repeated-question (needs the time of calls and the answers of calls); 1 call below the threshold, --min-saving 0 shows them; 1 note: -v shows it)
    "#);
    assert_eq!(healthy().rendered(ReportFormat::Concise), healthy().rendered(ReportFormat::Full));
}

#[test]
fn json() {
    assert_eq!(localtime().rendered(ReportFormat::Json), include_str!("reports/localtime.json"));
}

#[test]
fn reports_end_with_one_newline_and_are_the_same_each_time() {
    for (sample, again) in Sample::all().iter().zip(Sample::all()) {
        for format in TEXTS {
            let rendered = sample.rendered(format);
            assert!(rendered.ends_with('\n') && !rendered.ends_with("\n\n"), "{rendered}");
            assert_eq!(rendered, again.rendered(format));
        }
    }
}

#[test]
fn full_is_no_wider_than_asked_where_words_are_short() {
    for width in [70, 80, 100] {
        let rendered = tree().styled(ReportFormat::Full, Style { colour: false, width });
        for line in rendered.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn what_is_to_be_copied_is_not_wrapped() {
    let mut sample = localtime();
    let value = "a  b ".repeat(30);
    let remedy = &mut sample.verdict.findings[0].remedies[0];
    remedy.change = Change::SetEnv { variable: "TZ".to_owned(), value: Some(value.clone()) };
    sample.verdict.findings[0].evidence[0].path = value.clone();
    let rendered = sample.styled(ReportFormat::Full, Style { colour: false, width: 60 });
    for exact in [
        format!("  fix     TZ='{value}'\n"),
        format!("  strace  10 × newfstatat(\"{value}\") ok\n"),
        format!("try:          TZ='{value}' needless run -- ./sample …\n"),
    ] {
        assert!(rendered.contains(&exact), "{rendered}");
    }
}

#[test]
fn colour_adds_escape_sequences_and_nothing_else() {
    let plain = tree().styled(ReportFormat::Full, Style { colour: false, width: 80 });
    let coloured = tree().styled(ReportFormat::Full, Style { colour: true, width: 80 });
    let mut stripped = String::new();
    let mut parts = coloured.split('\x1b');
    stripped.push_str(parts.next().unwrap());
    for part in parts {
        stripped.push_str(part.split_once('m').expect("a colour ends with m").1);
    }
    assert!(coloured.contains('\x1b') && !plain.contains('\x1b'));
    assert_eq!(stripped, plain);
}

#[test]
fn nothing_that_the_program_chose_commands_the_terminal() {
    for format in TEXTS {
        let rendered = hostile().rendered(format);
        let bad = |c: &char| c.is_control() && *c != '\n' || *c == '\u{202e}';
        assert_eq!(rendered.chars().find(bad), None, "{rendered}");
        assert!(rendered.contains("owned"), "{rendered}");
    }
    // An escaped newline does not start a line.
    assert_eq!(hostile().rendered(ReportFormat::Concise).lines().count(), 2);
}

#[test]
fn variables_without_a_remedy_are_not_shown() {
    for format in TEXTS {
        let rendered = tree().rendered(format);
        assert!(!rendered.contains("hunter2") && !rendered.contains("PASSWORD"), "{rendered}");
    }
    // The variable of the remedy is shown.
    let mut sample = tree();
    sample.details.full = true;
    assert!(sample.rendered(ReportFormat::Full).contains("LANG=greek\n"));
}

/// What a remedy saves is one number, in the table and below it.
#[test]
fn the_details_count_what_the_table_counts() {
    let mut sample = tree();
    sample.verdict.findings.retain(|finding| finding.rule == "tz-unset");
    sample.verdict.findings[0].besides = 300;
    let full = sample.rendered(ReportFormat::Full);
    let in_table = full.lines().find(|line| line.contains("  tz-unset  ")).unwrap();
    assert!(in_table.contains(" 60,297 "), "{full}");
    let details = "60,297 calls, > 99.9 % of all calls: these 59,997, and 300 that go with them";
    let words = full.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(details), "{full}");
}

/// The whole price of a finding whose cause was not looked up is a limit.
#[test]
fn what_was_only_seen_saves_up_to_its_price() {
    let mut sample = localtime();
    sample.verdict.findings[0].stage = needless_model::Stage::Seen;
    sample.verdict.account.uncertain =
        Amount { calls: 9, kernel_ns: sample.verdict.findings[0].kernel_ns, user_ns: None };
    let full = sample.rendered(ReportFormat::Full);
    for line in [
        "\n  needless       0 calls\n",
        "\n  perhaps        9 calls, up to about 9.3 µs: they may have another cause\n",
        "\n≤9.3 µs ",
        "\n  saves   up to about 9.3 µs ",
    ] {
        assert!(full.contains(line), "{line}: {full}");
    }
    let concise = sample.rendered(ReportFormat::Concise);
    let sum = "0 of 15 checked calls are needless; perhaps 9 more, up to about 9.3 µs (";
    assert!(concise.contains(sum), "{concise}");
}
