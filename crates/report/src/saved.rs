//! What needless wrote before, read again.

use crate::profile::PROFILE_SCHEMA;
use needless_model::{Change, Process, Snapshot, Spawn};
use needless_rules::Known;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A finding of a report, with what it advises. Sentences of the file are not kept: what is said of a change
/// comes from the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The rule.
    pub rule: String,
    /// The service, where the report tells.
    pub service: Option<String>,
    /// The processes, the one with most of the calls first.
    pub processes: Vec<Being>,
    /// The changes, best first, each with whether a person has to decide it.
    pub changes: Vec<(Change, bool)>,
}

/// A process of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Being {
    /// Its id.
    pub pid: u32,
    /// Its program.
    pub exe: Option<String>,
    /// As [`Process::started`].
    pub started: Option<u64>,
}

/// A saved JSON report or profile.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Sums and rows; of a report only the rows that are evidence of a finding.
    pub snapshot: Snapshot,
    /// What each finding advises; empty for a profile.
    pub findings: Vec<Advice>,
    /// Whether it is of a command that was run, which has ended.
    pub of_run: bool,
    /// The findings of a report, as a baseline; `None` for a profile, which has none.
    pub known: Option<Vec<Known>>,
}

/// Reads what `--format json` or `--format profile` wrote.
///
/// # Errors
/// When `text` is neither: what it is not, in one line.
pub fn read_saved(text: &str) -> Result<Saved, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    if !text.trim_start().starts_with('{') {
        return Err("it is not a JSON report, as `needless run -o FILE.json` writes it".into());
    }
    let not = |e: serde_json::Error| format!("it is not a JSON report of needless: {e}");
    let head: Head = serde_json::from_str(text).map_err(not)?;
    match head.schema.as_str() {
        crate::SCHEMA => Ok(serde_json::from_str::<ReportIn>(text).map_err(not)?.into()),
        PROFILE_SCHEMA => Ok(serde_json::from_str::<ProfileIn>(text).map_err(not)?.into()),
        other => Err(format!(
            "its schema is {other:?}; {:?} and {PROFILE_SCHEMA:?} are understood",
            crate::SCHEMA
        )),
    }
}

#[derive(Deserialize)]
struct ProfileIn {
    name: String,
    backend: String,
    complete: bool,
    window_s: Option<f64>,
    cpu_s: Option<f64>,
    requests: Option<f64>,
    calls: u64,
    lost: BTreeMap<String, u64>,
    rows: Vec<RowIn>,
}

#[derive(Deserialize)]
struct RowIn {
    call: String,
    path: String,
    outcome: String,
    count: u64,
}

#[derive(Deserialize)]
struct ReportIn {
    backend: String,
    source: Origin,
    complete: bool,
    window_s: Option<f64>,
    totals: Totals,
    lost: BTreeMap<String, u64>,
    findings: Vec<FindingIn>,
}

#[derive(Deserialize)]
struct Origin {
    kind: Option<String>,
    name: String,
}

#[derive(Deserialize)]
struct Totals {
    calls: u64,
    cpu_user_s: Option<f64>,
    cpu_sys_s: Option<f64>,
}

#[derive(Deserialize)]
struct FindingIn {
    rule: String,
    service: Option<String>,
    needless: u64,
    per_second: Option<f64>,
    process: Option<BeingIn>,
    /// Missing in older reports.
    #[serde(default)]
    whom: Vec<BeingIn>,
    exes: Vec<ExeIn>,
    evidence: Vec<RowIn>,
    remedies: Vec<RemedyIn>,
}

#[derive(Deserialize)]
struct BeingIn {
    pid: u32,
    exe: Option<String>,
    started: Option<u64>,
}

#[derive(Deserialize)]
struct ExeIn {
    exe: Option<String>,
    script: Option<String>,
}

#[derive(Deserialize)]
struct RemedyIn {
    kind: String,
    variable: Option<String>,
    value: Option<String>,
    text: String,
    safety: String,
}

/// Never negative, never more than 64 bits.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn rows(from: impl Iterator<Item = RowIn>) -> BTreeMap<(String, String, String), u64> {
    let mut rows = BTreeMap::new();
    for RowIn { call, path, outcome, count } in from {
        let sum: &mut u64 = rows.entry((call, path, outcome)).or_default();
        *sum = sum.saturating_add(count);
    }
    rows
}

impl From<ProfileIn> for Saved {
    fn from(from: ProfileIn) -> Saved {
        let snapshot = Snapshot {
            name: from.name,
            backend: from.backend,
            complete: from.complete,
            all_rows: true,
            window_ns: from.window_s.map(nanoseconds),
            cpu_ns: from.cpu_s.map(nanoseconds),
            requests: from.requests,
            calls: from.calls,
            rows: rows(from.rows.into_iter()),
            lost: from.lost,
        };
        Saved { snapshot, findings: Vec::new(), of_run: false, known: None }
    }
}

impl From<ReportIn> for Saved {
    fn from(from: ReportIn) -> Saved {
        let findings = from.findings.iter().map(advice).collect();
        let of_run = from.source.kind.as_deref() == Some("run");
        let known = from.findings.iter().map(known).collect();
        let distorted = from.backend.starts_with("ptrace") || from.backend.starts_with("strace");
        let cpu = from.totals.cpu_user_s.zip(from.totals.cpu_sys_s).filter(|_| !distorted);
        let snapshot = Snapshot {
            name: from.source.name,
            backend: from.backend,
            complete: from.complete,
            all_rows: false,
            window_ns: from.window_s.map(nanoseconds),
            cpu_ns: cpu.map(|(user, system)| nanoseconds(user + system)),
            requests: None,
            calls: from.totals.calls,
            rows: rows(from.findings.into_iter().flat_map(|finding| finding.evidence)),
            lost: from.lost,
        };
        Saved { snapshot, findings, of_run, known: Some(known) }
    }
}

fn advice(finding: &FindingIn) -> Advice {
    let all = match finding.whom.is_empty() {
        true => finding.process.as_slice(),
        false => finding.whom.as_slice(),
    };
    let being = |one: &BeingIn| Being { pid: one.pid, exe: one.exe.clone(), started: one.started };
    let changes = finding.remedies.iter();
    Advice {
        rule: finding.rule.clone(),
        service: finding.service.clone(),
        processes: all.iter().map(being).collect(),
        changes: changes.map(|remedy| (change(remedy), remedy.safety == "manual")).collect(),
    }
}

fn known(finding: &FindingIn) -> Known {
    let title = |program: &ExeIn| {
        let (exe, command) = (program.exe.clone(), program.script.clone());
        Process { exe, command, ..Process::new(0, None, Spawn::Seen) }.title()
    };
    Known {
        rule: finding.rule.clone(),
        service: finding.service.clone(),
        programs: finding.exes.iter().map(title).collect(),
        needless: finding.needless,
        per_second: finding.per_second,
    }
}

fn change(remedy: &RemedyIn) -> Change {
    match (remedy.kind.as_str(), &remedy.variable) {
        ("set_env", Some(variable)) => {
            Change::SetEnv { variable: variable.clone(), value: remedy.value.clone() }
        }
        ("unset_env", Some(variable)) => Change::UnsetEnv { variable: variable.clone() },
        ("preload", _) => Change::Preload,
        ("option", _) => Change::Option(remedy.text.clone()),
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
            backend: "eBPF".into(),
            complete: true,
            all_rows: true,
            window_ns: Some(30_000_000_000),
            cpu_ns: Some(1_500_000_000),
            requests: Some(17.0),
            calls: 14_925,
            rows: [(key("/etc/localtime"), 14_925), (key("/a\u{1b}\"b"), 1)].into(),
            lost: [("stacks_dropped".to_owned(), 2)].into(),
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
