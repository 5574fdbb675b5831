//! The sample of packagecloud's article: a line, ten times time() and localtime(), a line.

use crate::measure::SubjectRun;
use crate::report::{Cell, Column, Results, Table};
use needless_model::{Change, Profile, Row};
use needless_rules::CheckOptions;
use std::collections::BTreeMap;

const CALLS: u64 = 10;

pub(super) fn add(results: &mut Results) {
    match traced(None) {
        Ok((profile, calls)) => {
            results.tables.push(table("TZ unset", &calls));
            let zone = advised(&profile);
            let stats = asked_again(&calls);
            if stats > 0 {
                results.notes.push(format!(
                    "With TZ unset, {stats} of {CALLS} conversions asked for the status of /etc/localtime again: each after \
                     the first, to see whether the zone has changed."
                ));
            }
            match zone {
                Some(zone) => with(&zone, results),
                None => results.skipped.push(
                    "the sample with TZ as advised: needless advises no TZ here (needless run shows why)".into(),
                ),
            }
        }
        Err(why) => results.skipped.push(format!("the sample under the tracer: {why}")),
    }
}

fn with(zone: &str, results: &mut Results) {
    match traced(Some(zone)) {
        Ok((_, calls)) => {
            results.tables.push(table(&format!("TZ={zone}, as advised"), &calls));
            if asked_again(&calls) == 0 {
                results
                    .notes
                    .push(format!("With TZ={zone} none does: the C library reads the zone once."));
            }
        }
        Err(why) => results.skipped.push(format!("the sample with TZ={zone}: {why}")),
    }
}

/// Call, path, outcome → time of the last one, and how many.
type Calls = BTreeMap<(String, String, String), (u64, u64)>;

/// The calls of the conversions: those of the sample with them minus those without.
fn traced(tz: Option<&str>) -> Result<(Profile, Calls), String> {
    let run = |calls| {
        let subject = SubjectRun { function: "sample", calls, tz, ..SubjectRun::default() };
        let (program, words) = subject.words()?;
        let watch = needless_rules::watched_variables();
        needless_observe::count_command(&program, &words, subject.environment(), watch)
            .map_err(|failure| failure.message)
    };
    let (without, profile) = (run(0)?, run(CALLS)?);
    let mut calls = all(&profile);
    for (key, (_, count)) in all(&without) {
        if let Some(of) = calls.get_mut(&key) {
            of.1 = of.1.saturating_sub(count);
        }
    }
    calls.retain(|_, (_, count)| *count > 0);
    Ok((profile, calls))
}

fn all(profile: &Profile) -> Calls {
    let mut calls = Calls::new();
    let outcome = |row: &Row| match row.outcome {
        Some(Ok(())) => "ok".to_owned(),
        Some(Err(errno)) => errno.name().to_string(),
        None => "not seen".to_owned(),
    };
    for row in &profile.rows {
        let key = (profile.call(row).to_owned(), profile.path(row).to_owned(), outcome(row));
        let of = calls.entry(key).or_insert((0, 0));
        *of = (of.0.max(row.last_ns), of.1 + row.count);
    }
    calls
}

/// Calls that asked about the zone file again.
fn asked_again(calls: &Calls) -> u64 {
    let again = calls
        .iter()
        .filter(|((call, path, _), _)| path == "/etc/localtime" && call.contains("stat"));
    again.map(|(_, (_, count))| count).sum()
}

/// The value that the rules advise.
fn advised(profile: &Profile) -> Option<String> {
    let mut profile = profile.clone();
    let roots = needless_host::Roots::new(Vec::new()).ok()?;
    needless_observe::enrich(&mut profile, &roots);
    let options = CheckOptions { min_saving_percent: 0.0, ..CheckOptions::default() };
    let verdict = needless_rules::check(&profile, &options);
    let of_zones = verdict.findings.into_iter().filter(|finding| finding.rule == "tz-unset");
    of_zones.flat_map(|finding| finding.remedies).find_map(|remedy| match remedy.change {
        Change::SetEnv { variable, value } if variable == "TZ" => value,
        _ => None,
    })
}

fn table(setting: &str, calls: &Calls) -> Table {
    let mut rows: Vec<_> = calls.iter().collect();
    // By the last of each: the first may be before the conversions.
    rows.sort_by_key(|(key, (last, _))| (*last, *key));
    let cell = |((call, path, outcome), (_, count)): (&(String, String, String), &(u64, u64))| {
        vec![
            Cell::Text(call.clone()),
            Cell::Text(if path.is_empty() { "-".into() } else { path.clone() }),
            Cell::Text(outcome.clone()),
            Cell::Count(*count),
        ]
    };
    Table {
        title: format!(
            "System calls of {CALLS} × time() and localtime() in the sample, {setting} (without the calls that it makes otherwise)"
        ),
        columns: ["call", "path", "outcome", "count"]
            .map(|name| Column { group: String::new(), name })
            .into(),
        rows: rows.into_iter().map(cell).collect(),
    }
}
