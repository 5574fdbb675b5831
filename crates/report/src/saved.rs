//! Reads the JSON reports and profiles that needless wrote.

use crate::json::nanoseconds;
use crate::report::json::document::{
    ChangeKind, ReportDocument, ReportFinding, ReportProcess, ReportRemedy, SafetyLevel, SourceKind,
};
use crate::report::profile::{PROFILE_SCHEMA, ProfileDocument};
use crate::text::escape;
use needless_model::{Backend, Change, RuleName, Snapshot, parser_message, quote};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A finding of a report, with the changes that it advises. Sentences of the file are not kept: what is said
/// of a change comes from the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The rule.
    pub rule: String,
    /// The service, if the report names one.
    pub service: Option<String>,
    /// The processes, the one with most of the calls first.
    pub processes: Vec<SavedProcess>,
    /// The changes, best first, each with whether a person has to decide it.
    pub changes: Vec<(Change, bool)>,
}

/// A process of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedProcess {
    /// Its id.
    pub pid: u32,
    /// Its program.
    pub exe: Option<String>,
    /// As [`Process::started`](needless_model::Process::started).
    pub started: Option<u64>,
}

/// A saved JSON report or profile.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Sums and rows; of a report only the rows that are evidence of a finding.
    pub snapshot: Snapshot,
    /// What each finding advises; empty for a profile.
    pub findings: Vec<Advice>,
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
        let findings = from.findings.iter().map(Advice::from).collect();
        let mut needless = BTreeMap::new();
        for finding in &from.findings {
            let sum: &mut u64 = needless.entry(finding.rule.clone()).or_default();
            *sum = sum.saturating_add(finding.needless);
        }
        let backend = Backend::parse(&from.backend);
        let cpu = from.totals.cpu_user_s.zip(from.totals.cpu_sys_s);
        let cpu = cpu.filter(|_| !backend.distorts_cpu_time());
        let evidence = from.findings.into_iter().flat_map(|finding| finding.evidence);
        let snapshot = Snapshot {
            name: from.source.name,
            backend,
            complete: from.complete,
            all_rows: false,
            window_ns: from.window_s.map(nanoseconds),
            cpu_ns: cpu.map(|(user, system)| nanoseconds(user + system)),
            requests: None,
            calls: from.totals.calls,
            rows: rows(evidence.map(|row| ((row.call, row.path, row.outcome), row.count))),
            lost: from.lost,
            variables: BTreeSet::new(),
            callers: BTreeMap::new(),
        };
        let of_run = matches!(from.source.kind, SourceKind::Run);
        Saved { snapshot, findings, of_run, needless: Some(needless) }
    }
}

impl From<&ReportFinding> for Advice {
    fn from(finding: &ReportFinding) -> Advice {
        let all = if finding.affected.is_empty() {
            std::slice::from_ref(&finding.process)
        } else {
            &finding.affected
        };
        let changes = finding.remedies.iter();
        Advice {
            rule: finding.rule.clone(),
            service: finding.service.clone(),
            processes: all.iter().map(SavedProcess::from).collect(),
            changes: changes
                .map(|remedy| (change(remedy), matches!(remedy.safety, SafetyLevel::Manual)))
                .collect(),
        }
    }
}

impl From<&ReportProcess> for SavedProcess {
    fn from(from: &ReportProcess) -> SavedProcess {
        SavedProcess { pid: from.pid, exe: from.exe.clone(), started: from.started }
    }
}

/// The name of a rule. Formats print it as it is, because those of this version need no escapes.
pub(crate) fn rule_name(name: &str) -> RuleName {
    escape(name).into_owned().into()
}

/// The change of a remedy.
pub(crate) fn change(remedy: &ReportRemedy) -> Change {
    match (&remedy.kind, &remedy.variable) {
        (ChangeKind::SetEnv, Some(variable)) => {
            Change::SetEnv { variable: variable.clone(), value: remedy.value.clone() }
        }
        (ChangeKind::UnsetEnv, Some(variable)) => Change::UnsetEnv { variable: variable.clone() },
        (ChangeKind::WithoutEntries, Some(variable)) => {
            Change::WithoutEntries { variable: variable.clone(), entries: remedy.entries.clone() }
        }
        (ChangeKind::Preload, _) => Change::Preload,
        (ChangeKind::Option, _) => Change::Option(remedy.text.clone()),
        _ => Change::Manual(remedy.text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
