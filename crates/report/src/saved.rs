//! Reads the JSON reports and profiles that needless wrote.

use crate::document::{ReportDocument, ReportFinding, SourceKind};
use crate::report::profile::{PROFILE_SCHEMA, ProfileDocument};
use needless_model::{Snapshot, parser_message, quote};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A saved JSON report or profile.
pub struct Saved {
    /// Sums and rows; of a report only the rows that are evidence of a finding.
    pub snapshot: Snapshot,
    /// The findings of a report; empty for a profile.
    pub findings: Vec<ReportFinding>,
    /// Whether a command was run for it, which has ended.
    pub of_run: bool,
    /// The calls that the findings of a report name, by rule; `None` for a profile, which has none.
    pub needless: Option<BTreeMap<String, u64>>,
}

/// Reads what `--format json` or `--format profile` wrote.
///
/// # Errors
/// When `text` is neither: why not, in one line.
pub fn read_saved(text: &str) -> Result<Saved, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    if !text.trim_start().starts_with('{') {
        return Err("not a JSON report; `needless run -o FILE.json` writes one".into());
    }
    let not = |e: serde_json::Error| {
        let (why, how) = (e.to_string(), "`needless run -o FILE.json` writes one");
        format!("not a JSON report of needless: {}; {how}", parser_message(&why))
    };
    let head: Head = serde_json::from_str(text).map_err(not)?;
    match head.schema.as_str() {
        crate::SCHEMA => Ok(serde_json::from_str::<ReportDocument>(text).map_err(not)?.into()),
        PROFILE_SCHEMA => Ok(serde_json::from_str::<ProfileDocument>(text).map_err(not)?.into()),
        other => Err(format!(
            "its schema is {}; {:?} and {PROFILE_SCHEMA:?} are understood",
            quote(other),
            crate::SCHEMA
        )),
    }
}

/// The sums of rows with the same key: a report has a row once for each finding that it is evidence of.
pub(crate) fn rows(
    all: impl Iterator<Item = ((String, String, String), u64)>,
) -> BTreeMap<(String, String, String), u64> {
    let mut rows = BTreeMap::new();
    for (key, count) in all {
        let sum: &mut u64 = rows.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
    rows
}

impl From<ProfileDocument> for Saved {
    fn from(from: ProfileDocument) -> Saved {
        Saved { snapshot: from.into(), findings: Vec::new(), of_run: false, needless: None }
    }
}

impl From<ReportDocument> for Saved {
    fn from(from: ReportDocument) -> Saved {
        let mut needless = BTreeMap::new();
        for finding in &from.findings {
            let sum: &mut u64 = needless.entry(finding.rule.clone()).or_default();
            *sum = sum.saturating_add(finding.needless);
        }
        let of_run = from.source.kind == SourceKind::Run;
        Saved {
            snapshot: snapshot(&from),
            findings: from.findings,
            of_run,
            needless: Some(needless),
        }
    }
}

/// The sums of a report, and the rows that are evidence of its findings.
fn snapshot(from: &ReportDocument) -> Snapshot {
    let evidence = from.findings.iter().flat_map(|finding| finding.evidence.clone());
    Snapshot {
        name: from.source.name.clone(),
        backend: from.backend(),
        complete: from.complete,
        all_rows: false,
        window_ns: from.length_ns(),
        cpu_ns: from.cpu_ns().map(|(user, system)| user.saturating_add(system)),
        requests: None,
        calls: from.totals.calls,
        rows: rows(evidence.map(|row| ((row.call, row.path, row.outcome), row.count))),
        lost: from.lost.clone(),
        variables: BTreeSet::new(),
        callers: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::Backend;

    #[test]
    fn a_profile_comes_back_as_it_was() {
        let key = |path: &str| ("newfstatat".to_owned(), path.to_owned(), "ok".to_owned());
        let snapshot = Snapshot {
            name: "unit x".into(),
            backend: Backend::Ebpf,
            complete: true,
            all_rows: true,
            window_ns: Some(30_000_000_000),
            cpu_ns: Some(1_500_000_000),
            requests: Some(17.0),
            calls: 14_925,
            rows: [(key("/etc/localtime"), 14_925), (key("/a\u{1b}\"b"), 1)].into(),
            lost: [("stacks_dropped".to_owned(), 2)].into(),
            variables: ["TZ".to_owned()].into(),
            callers: [(("awk (busybox)".to_owned(), "write".to_owned()), 3)].into(),
        };
        let mut text = Vec::new();
        crate::write_snapshot(&mut text, &snapshot, "0").unwrap();
        assert_eq!(read_saved(std::str::from_utf8(&text).unwrap()).unwrap().snapshot, snapshot);
    }

    #[test]
    fn what_is_neither_is_refused_in_one_line() {
        for text in
            ["", "[]", "{", r#"{"schema":"needless.proof/1"}"#, r#"{"schema":"needless.report/1"}"#]
        {
            let error = read_saved(text).err().unwrap();
            assert!(!error.contains('\n') && !error.is_empty(), "{text}: {error}");
        }
    }
}
