//! The answers: equal to sums that are made without SQL, to what was planted, and to those of another engine.

use crate::common::{ALL, FLEET, HALF, LAST_QUARTER, rows, text};
use needless_fixtures::duckdb;
use needless_fleet::Fate;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn fleet() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    FLEET.write(folder.path()).unwrap();
    folder
}

#[test]
fn sums_are_those_of_the_rows() {
    let folder = fleet();
    let mut of: BTreeMap<String, (BTreeSet<String>, f64, f64, f64)> = BTreeMap::new();
    let (mut counted, mut lost) = (0, 0);
    for (window, rows) in FLEET.all() {
        for (row, sums) in rows {
            counted += sums.calls;
            lost += sums.lost;
            let Some(cause) = row.cause else { continue };
            let entry = of.entry(cause).or_default();
            entry.0.insert(window.host.clone());
            let calls = sums.needless as f64 * window.sample_scale;
            entry.1 += calls;
            entry.2 += if row.fate == Fate::Perhaps { calls } else { 0.0 };
            entry.3 += sums.saves_ns as f64 * window.sample_scale / 1e9;
        }
    }
    let answer = rows(&["causes"], folder.path());
    assert_eq!((answer.len(), of.len()), (4, 4));
    for row in &answer {
        let (hosts, calls, perhaps, seconds) = &of[row["cause"].as_str().unwrap()];
        assert_eq!(row["hosts"], json!(hosts.len()), "{row}");
        assert_eq!(row["needless_calls"], json!((calls + 0.5).floor() as i64), "{row}");
        assert_eq!(row["of_them_perhaps"], json!((perhaps + 0.5).floor() as i64), "{row}");
        let found = row["saves_seconds"].as_f64().unwrap();
        assert!((found - seconds).abs() <= 1e-9 * seconds, "{row}: {seconds}");
    }
    let sum =
        |rows: &[Value], name: &str| rows.iter().map(|r| r[name].as_i64().unwrap()).sum::<i64>();
    let coverage = rows(&["coverage"], folder.path());
    assert_eq!(coverage.len(), FLEET.hosts as usize);
    assert_eq!((sum(&coverage, "counted_calls"), sum(&coverage, "lost")), (counted, lost));
    assert_eq!(sum(&coverage, "windows"), i64::from(FLEET.hosts * FLEET.days * FLEET.windows));
    assert!(lost > 0);
    assert_eq!(rows(&["days"], folder.path()).len(), FLEET.days as usize);
}

#[test]
fn what_was_planted_is_found() {
    let folder = fleet();
    let of = |words: &[&str], columns: &[&str]| -> Vec<Value> {
        let pick = |row: Value| columns.iter().map(|name| row[name].clone()).collect();
        rows(words, folder.path()).into_iter().map(pick).collect()
    };
    let hosts = ["service", "cause", "hosts", "hosts_seen_before"];
    let new = of(&["new", "--since", LAST_QUARTER], &hosts);
    assert_eq!(new, [json!(["batch.service", "locale-alias", 12, 12])]);
    assert_eq!(of(&["new", "--since", "2026-11-09"], &hosts), [] as [Value; 0]);

    let columns = ["service", "cause", "hosts", "hosts_that_run_it"];
    let mut gone = of(&["gone", "--since", HALF], &columns);
    gone.sort_by_key(Value::to_string);
    let ended = json!(["nginx.service", "tz-unset", 3, 3]);
    assert_eq!(gone, [ended, json!(["old.service", "user-lookup", 5, 0])]);
    // Nobody is observed any more: then nothing is known to be gone.
    assert_eq!(of(&["gone", "--since", "2026-11-20"], &columns), [] as [Value; 0]);

    let states = |since: &str| {
        let mut of: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for row in rows(&["states", "--cause", "tz-unset", "--since", since], folder.path()) {
            assert_eq!(
                (&row["service"], &row["variable"]),
                (&json!("nginx.service"), &json!("TZ"))
            );
            let host = row["host"].as_str().unwrap().trim_start_matches("host-").parse().unwrap();
            of.entry(row["state"].as_str().unwrap().to_owned()).or_default().push(host);
        }
        of.into_iter().collect::<Vec<_>>()
    };
    let group = |state: &str, hosts: &[u32]| (state.to_owned(), hosts.to_vec());
    let later = [group("gone", &[9]), group("open", &[6, 12, 15]), group("verified", &[0, 18])];
    assert_eq!(states(HALF), [&[group("applied", &[3, 21])], &later[..]].concat());
    let all = rows(&["states", "--since", HALF], folder.path());
    let old = all.iter().filter(|row| row["service"] == "old.service");
    assert_eq!(old.map(|row| &row["state"]).collect::<Vec<_>>(), [&json!("not run"); 5]);
    // What was changed later than that counts from its change on.
    assert_eq!(states("2026-11-02")[1..], [group("open", &[6, 9, 12, 15]), later[2].clone()]);
    assert_eq!(states("2026-11-20"), [group("silent", &[0, 3, 6, 9, 12, 15, 18, 21])]);

    let hosts = of(&["hosts", "python-path"], &["cause", "labels"]);
    assert_eq!(hosts.len(), 12);
    assert!(
        hosts.iter().all(|row| row[0] == "python-path"
            && row[1].as_str().unwrap().starts_with("env=production,"))
    );
    let only = of(&["agents", "--label", "site=s1"], &["version", "host"]);
    assert_eq!(only.len(), 8);
    let old = only.iter().filter(|row| row[0] == "0.1.0").count();
    assert_eq!((old, &only[0][0]), (1, &json!("0.1.0")));
    assert_eq!(of(&["days", "--since", LAST_QUARTER], &["observed_day"]).len(), 2);
    let service = of(&["service", "app.service"], &["service", "cause", "call", "hosts"]);
    assert_eq!(service, [json!(["app.service", "python-path", "openat", 12])]);
}

#[test]
fn what_is_saved_is_what_it_cost_before() {
    let folder = fleet();
    let saved = rows(&["saved", "--since", HALF], folder.path());
    let of_cause = |cause: &str, what: &str| {
        let row = saved.iter().find(|row| row["cause"] == cause).unwrap();
        row[what].as_f64().unwrap()
    };
    assert!(of_cause("tz-unset", "seconds_a_day_saved") > 0.0);
    assert_eq!(of_cause("user-lookup", "seconds_a_day_now"), 0.0);
    assert_eq!(of_cause("locale-alias", "seconds_a_day_before"), 0.0);
    // A host is observed for four days of each half, so a day is a quarter of the sum.
    let whole: f64 = FLEET
        .all()
        .flat_map(|(window, rows)| rows.into_iter().map(move |row| (window.sample_scale, row)))
        .filter(|(_, (row, _))| row.cause.as_deref() == Some("user-lookup"))
        .map(|(scale, (_, sums))| sums.saves_ns as f64 * scale / 1e9)
        .sum();
    let before = of_cause("user-lookup", "seconds_a_day_before");
    assert!((before - whole / 4.0).abs() <= 1e-9 * whole, "{before} {whole}");
}

/// A value as both engines mean it: `NULL` and nothing, `T` between date and time, and the name of UTC.
fn same(ours: &str, theirs: &str) -> bool {
    match (ours.parse::<i64>(), theirs.parse::<i64>(), ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(ours), Ok(theirs), ..) => ours == theirs,
        (.., Ok(ours), Ok(theirs)) => (ours - theirs).abs() <= 1e-9 * ours.abs().max(theirs.abs()),
        _ => {
            let plain = |text: &str| text.replace('T', " ").replace('Z', "").replace("+00", "");
            ours == theirs || (ours.is_empty() && theirs == "NULL") || plain(ours) == plain(theirs)
        }
    }
}

/// The view that the book shows, and what `--since` and a word do to it.
fn of_duckdb(words: &[&str], folder: &Path, sql: &str) -> Option<Vec<String>> {
    let only = match words {
        ["hosts", cause] => format!(" WHERE cause = '{cause}'"),
        ["service", service] => format!(" WHERE service = '{service}'"),
        _ => String::new(),
    };
    let rows =
        format!("read_parquet('{}/**/*.parquet', union_by_name = true){only}", folder.display());
    let since = if let [_, "--since", date] = words { date } else { "2026-11-01" };
    let before = format!(
        "SET TimeZone = 'UTC'; CREATE VIEW needless_since AS SELECT TIMESTAMPTZ '{since} 00:00:00+00' AS since;"
    );
    duckdb(&rows, &format!("{before} {sql}"))
}

#[test]
fn duckdb_answers_the_same() {
    let folder = fleet();
    for words in ALL {
        let sql = text(&[words[0], "--print-sql"], Path::new("."));
        let Some(theirs) = of_duckdb(words, folder.path(), &sql) else { return };
        let ours = text(&[words, &["--format", "csv"]].concat(), folder.path());
        let ours: Vec<&str> = ours.lines().skip(1).collect();
        assert_eq!(ours.len(), theirs.len(), "{words:?}: {ours:?} {theirs:?}");
        assert!(!ours.is_empty(), "{words:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            // Labels have a comma.
            let ours = ours.replace(",site=", ";site=").replace('"', "");
            let theirs = theirs.replace(",site=", ";site=");
            let (ours, theirs): (Vec<_>, Vec<_>) =
                (ours.split(',').collect(), theirs.split('|').collect());
            assert_eq!(ours.len(), theirs.len(), "{words:?}: {ours:?} {theirs:?}");
            let all = ours.iter().zip(&theirs).all(|(ours, theirs)| same(ours, theirs));
            assert!(all, "{words:?}: {ours:?} {theirs:?}");
        }
    }
}

#[test]
fn a_page_has_the_answers_of_the_questions() {
    let folder = fleet();
    let page = text(&["page", "--since", HALF], folder.path());
    assert_eq!(page.matches("<section>").count(), 9, "{page}");
    let causes = rows(&["causes", "--since", HALF], folder.path());
    for row in &causes {
        let (cause, hosts) = (row["cause"].as_str().unwrap(), &row["hosts"]);
        let cells = format!(
            ">{cause}</th><td role=\"cell\" class=\"number\" data-of=\"hosts\">{hosts}</td>"
        );
        assert!(page.contains(&cells), "{cells}");
    }
}
