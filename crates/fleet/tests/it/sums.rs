//! The rows of a window are its account, divided: sums of rows, in our own code and as another engine reads the file,
//! equal what the report says.

use needless_fixtures::duckdb;
use needless_fleet::{AgentWindow, Dimensions, Fate, Measures, Rows, parquet};
use needless_model::{Fact, Profile, WatchList};
use needless_report::{Details, Report, ReportDocument, ReportFormat, Source, Style, write};
use needless_rules::{Account, CheckOptions, RULES, check_with_accounts, examples, page};
use needless_strace_log::notation::example;
use serde_json::Value;

fn watch() -> WatchList {
    needless_rules::watched_variables()
}

fn sum(rows: &Rows, of: impl Fn(&Dimensions, &Measures) -> i64) -> u64 {
    rows.rows.iter().map(|(row, sums)| of(row, sums)).sum::<i64>().try_into().unwrap()
}

/// The numbers of an account, and the same of rows.
fn numbers(account: &Account) -> [u64; 6] {
    let Account { calls, failed, needless, uncertain, unexplained, unjudged, .. } = account;
    [*calls, *failed, needless.calls, uncertain.calls, unexplained.calls, unjudged.calls]
}

fn numbers_of(rows: &Rows) -> [u64; 6] {
    [
        sum(rows, |_, sums| sums.calls),
        sum(rows, |_, sums| sums.failed),
        sum(rows, |_, sums| sums.needless),
        sum(rows, |row, sums| if row.fate == Fate::Perhaps { sums.needless } else { 0 }),
        sum(rows, |row, sums| if row.fate == Fate::NotExplained { sums.calls } else { 0 }),
        sum(rows, |row, sums| if row.fate == Fate::NotJudged { sums.calls } else { 0 }),
    ]
}

#[test]
fn the_rows_of_every_example_add_up_to_its_account() {
    let mut needless = 0;
    for rule in RULES {
        for block in examples(&page(rule).markdown()).unwrap() {
            let profile = example(&block.trace, &watch()).unwrap();
            let options = CheckOptions { pedantic: true, ..CheckOptions::default() };
            let (verdict, accounts) = check_with_accounts(&profile, &options);
            let rows = Rows::of(&profile, &accounts);
            let expected = numbers(&verdict.account);
            assert_eq!(numbers_of(&rows), expected, "{}: {}", rule.name, block.trace);
            let claims = &verdict.account.claims;
            let saves: u64 = claims.iter().filter_map(|claim| claim.amount.time_ns()).sum();
            let is_of_a_call = claims.iter().all(|claim| claim.amount.calls > 0);
            assert!(!is_of_a_call || sum(&rows, |_, sums| sums.saves_ns) == saves, "{}", rule.name);
            needless += expected[2];
        }
    }
    assert!(needless > 0);
}

/// Two services: one whose cause is known, one in which it is not.
fn host() -> Profile {
    let log = r#"env PYTHONPATH=/opt/a:/opt/b -TZ
1 execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
1 newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x300
1 newfstatat(AT_FDCWD, "/opt/b", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x300
1 openat(AT_FDCWD, "/opt/a", O_RDONLY|O_DIRECTORY) = 3
1 openat(AT_FDCWD, "/usr/lib/python3.11/json/__init__.py", O_RDONLY|O_CLOEXEC) = 3
2 execve("/usr/bin/clock", ["clock"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
2 openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
2 openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
2 newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x900
2 openat(AT_FDCWD, "/etc/nothing", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x70
cpu 3s
costs 1000
"#;
    let mut profile = example(log, &watch()).unwrap();
    // As an agent does.
    profile.facts = profile.facts.with(Fact::AllCalls);
    for process in &mut profile.processes {
        let service =
            if process.pid == 1 { "web.service" } else { "container 0123456789ab (docker)" };
        process.service = Some(service.into());
    }
    profile
}

#[test]
fn duckdb_reads_what_the_report_says() {
    let profile = host();
    let (verdict, accounts) = check_with_accounts(&profile, &CheckOptions::default());
    let mut text = Vec::new();
    let document = ReportDocument::of(&profile, &verdict, &Source::Host, None, "0");
    let (document, details) = (&document, Details::default());
    let report = Report { document, rows: None, top: None, details, command: &[] };
    let style = Style { colour: false, width: 100 };
    write(&mut text, &report, ReportFormat::Json, style).unwrap();
    let report: Value = serde_json::from_slice(&text).unwrap();

    let rows = Rows::of(&profile, &accounts);
    let window = AgentWindow {
        start_us: 1_700_000_000_000_000,
        end_us: 1_700_000_300_000_000,
        host: "a".into(),
        labels: "env=test".into(),
        sample_scale: 1.0,
        version: "0".into(),
        ..AgentWindow::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.parquet");
    std::fs::write(&file, parquet(&window, &rows.rows).unwrap()).unwrap();
    let view = format!("read_parquet('{}')", file.display());
    let ask = |sql: &str| duckdb(&view, sql);

    let sums = "SELECT sum(calls), sum(failed), sum(needless), \
        sum(CASE fate WHEN 'perhaps' THEN needless ELSE 0 END), \
        sum(CASE fate WHEN 'not explained' THEN calls ELSE 0 END) FROM needless_rows";
    let Some(answer) = ask(sums) else { return };
    let account = &report["account"];
    let of = |name: &str| account[name]["calls"].as_u64().unwrap();
    let (calls, failed) = (account["calls"].as_u64().unwrap(), account["failed"].as_u64().unwrap());
    let expected = [calls, failed, of("needless"), of("uncertain"), of("unexplained")];
    assert!(expected.iter().all(|n| *n > 0), "{account}");
    assert_eq!(answer, [expected.map(|n| n.to_string()).join("|")]);

    // Each finding, with the calls that go with those that were counted.
    for finding in report["findings"].as_array().unwrap() {
        let number = |name: &str| finding[name].as_i64().unwrap_or(0);
        let sql = format!(
            "SELECT sum(needless), service, fate FROM needless_rows WHERE cause = '{}' GROUP BY ALL",
            finding["rule"].as_str().unwrap()
        );
        let fate = if finding["stage"] == "seen" { "perhaps" } else { "needless" };
        let (needless, service) = (number("needless") + number("besides"), &finding["service"]);
        let expected = format!("{needless}|{}|{fate}", service.as_str().unwrap());
        assert_eq!(ask(&sql).unwrap(), [expected]);
    }
    let about = "SELECT DISTINCT epoch_us(window_start), epoch_us(window_end), host, labels, sample_scale, version, schema FROM needless_rows";
    let about = ask(about).unwrap();
    let times = "1700000000000000|1700000300000000";
    assert_eq!(about, [format!("{times}|a|env=test|1.0|0|needless.rows/1")]);
    let cpu =
        ask("SELECT fate, call, sum(cpu_ns) FROM needless_rows WHERE cpu_ns > 0 GROUP BY ALL");
    assert!(cpu.unwrap().iter().all(|row| row.starts_with("needed|NULL|")));
    let types = ask("SELECT DISTINCT column_type FROM (DESCRIBE needless_rows) ORDER BY ALL");
    assert_eq!(types.unwrap(), ["BIGINT", "DOUBLE", "TIMESTAMP WITH TIME ZONE", "VARCHAR"]);
    let paths = "SELECT * FROM needless_rows WHERE contains(concat_ws(' ', service, program, cause, variable, call), '/')";
    assert_eq!(ask(paths).unwrap(), [""; 0]);
}
