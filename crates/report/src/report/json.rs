//! For other tools: a versioned schema, derived from the structures that are written and read.

pub(crate) mod document;

use crate::json::{print, schema_of, seconds};
use crate::proof::json::ProofBody;
use crate::{Report, Source, Style, summary, window};
use document::{
    ChangeKind, FindingSum, ReportDocument, ReportEvidence, ReportFinding, ReportProcess,
    ReportProgram, ReportRemedy, ReportSelection, ReportSource, ReportSuppressed, ReportTotals,
    SafetyLevel, SourceKind, UncheckedRule,
};
use needless_model::{Change, Evidence, Fact, Finding, Process, Profile, Remedy, Safety};
use needless_rules::{NotChecked, Suppressed};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The schema that reports name in their field `schema`. Fields are only added under one number.
pub const SCHEMA: &str = "needless.report/1";

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    print(out, &ReportDocument::from(report))
}

/// The JSON schema of a report, with a newline at its end.
pub fn schema() -> String {
    schema_of::<ReportDocument>()
}

impl From<&Report<'_>> for ReportDocument {
    fn from(report: &Report<'_>) -> ReportDocument {
        let (profile, verdict) = (report.profile, report.verdict);
        let lost = profile.lost.iter().filter(|(_, n)| **n > 0);
        ReportDocument {
            schema: SCHEMA.to_owned(),
            needless_version: report.version.to_owned(),
            backend: profile.backend.to_string(),
            source: ReportSource::from(&report.source),
            complete: profile.facts.has(Fact::AllCalls),
            lost: lost.map(|(loss, n)| (loss.name().to_owned(), *n)).collect(),
            window_s: profile.window.length_ns.map(seconds),
            totals: ReportTotals {
                calls: profile.totals.calls,
                path_calls: profile.totals.path_calls,
                needless: summary::needless(&verdict.findings),
                cpu_user_s: profile.totals.cpu_user_ns.map(seconds),
                cpu_sys_s: profile.totals.cpu_sys_ns.map(seconds),
            },
            processes: profile.processes.len() as u64,
            findings: verdict.findings.iter().map(|finding| of_finding(finding, report)).collect(),
            not_checked: verdict.not_checked.iter().map(UncheckedRule::from).collect(),
            checked: summary::checked(verdict).zip(verdict.selection.as_ref()).map(
                |((rules, of), selection)| ReportSelection {
                    rules: rules as u64,
                    of: of as u64,
                    ignored: selection.ignored.clone(),
                },
            ),
            below_threshold: FindingSum::from(&verdict.below[..]),
            suppressed: verdict.suppressed.iter().map(|one| of_suppressed(one, profile)).collect(),
            known: (!verdict.known.is_empty()).then(|| FindingSum::from(&verdict.known[..])),
            notices: verdict.notices.clone(),
            notes: profile.notes.clone(),
            proof: report.proof.map(ProofBody::from),
        }
    }
}

impl From<&Source> for ReportSource {
    fn from(source: &Source) -> ReportSource {
        let kind = match source {
            Source::Run(_) => SourceKind::Run,
            Source::Log(_) => SourceKind::Read,
            Source::Attach(_) => SourceKind::Attach,
            Source::Host => SourceKind::Host,
        };
        ReportSource { kind, name: source.name().to_owned() }
    }
}

impl From<&NotChecked> for UncheckedRule {
    fn from(from: &NotChecked) -> UncheckedRule {
        let needs = from.missing.iter().map(|fact| (*fact).into()).collect();
        UncheckedRule { rule: from.rule.to_string(), needs }
    }
}

impl From<&[Finding]> for FindingSum {
    fn from(findings: &[Finding]) -> FindingSum {
        FindingSum { findings: findings.len() as u64, calls: summary::needless(findings) }
    }
}

fn of_suppressed(one: &Suppressed, profile: &Profile) -> ReportSuppressed {
    ReportSuppressed {
        rule: one.finding.rule.to_string(),
        service: one.finding.service.clone(),
        process: profile.process(one.finding.processes[0]).into(),
        needless: one.finding.needless,
        reason: one.reason.clone(),
        until: one.until.map(|day| day.to_string()),
        place: one.place.clone(),
    }
}

fn of_finding(finding: &Finding, report: &Report<'_>) -> ReportFinding {
    let profile = report.profile;
    ReportFinding {
        rule: finding.rule.to_string(),
        stage: finding.stage.into(),
        service: finding.service.clone(),
        needless: finding.needless,
        besides: finding.besides,
        of: finding.of,
        per_second: window::length(report).map(|ns| finding.needless as f64 / seconds(ns)),
        share: summary::share(finding, profile.totals.path_calls),
        kernel_us: finding.kernel_ns.map(|ns| ns as f64 / 1e3),
        estimated: finding.estimated && finding.kernel_ns.is_some(),
        process: profile.process(finding.processes[0]).into(),
        whom: processes(finding, profile),
        processes: finding.processes.len() as u64,
        exes: summary::programs(finding, profile).into_iter().map(ReportProgram::from).collect(),
        what: finding.what.clone(),
        why: finding.why.clone(),
        sites: finding.sites.clone(),
        evidence: finding.evidence.iter().map(ReportEvidence::from).collect(),
        remedies: finding.remedies.iter().map(ReportRemedy::from).collect(),
    }
}

/// How many processes of a finding are listed.
const LISTED: usize = 256;

fn processes(finding: &Finding, profile: &Profile) -> Vec<ReportProcess> {
    // A pid that executed several programs is several processes to a profile.
    let mut seen = BTreeSet::new();
    let all = finding.processes.iter().map(|id| profile.process(*id));
    let once = all.filter(|process| seen.insert(process.pid)).take(LISTED);
    once.map(ReportProcess::from).collect()
}

impl From<(summary::Program<'_>, u64)> for ReportProgram {
    fn from((program, processes): (summary::Program<'_>, u64)) -> ReportProgram {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        ReportProgram { exe: owned(program.exe), script: owned(program.script), processes }
    }
}

impl From<&Process> for ReportProcess {
    fn from(process: &Process) -> ReportProcess {
        ReportProcess {
            pid: process.pid,
            exe: process.exe.clone(),
            command: process.command.clone(),
            open_files: process.open_files,
            started: process.started,
        }
    }
}

impl From<&Evidence> for ReportEvidence {
    fn from(from: &Evidence) -> ReportEvidence {
        let Evidence { call, path, outcome, count } = from.clone();
        ReportEvidence { call, path, outcome, count }
    }
}

impl From<&Remedy> for ReportRemedy {
    fn from(remedy: &Remedy) -> ReportRemedy {
        let (kind, variable, value) = match &remedy.change {
            Change::SetEnv { variable, value } => {
                (ChangeKind::SetEnv, Some(variable), value.as_ref())
            }
            Change::UnsetEnv { variable } => (ChangeKind::UnsetEnv, Some(variable), None),
            Change::Preload => (ChangeKind::Preload, None, None),
            Change::Option(_) => (ChangeKind::Option, None, None),
            Change::Manual(_) => (ChangeKind::Manual, None, None),
        };
        ReportRemedy {
            kind,
            variable: variable.cloned(),
            value: value.cloned(),
            text: summary::change(&remedy.change),
            caveat: remedy.safety.sentence().to_owned(),
            safety: match remedy.safety {
                Safety::Safe(_) => SafetyLevel::Safe,
                Safety::Caveat(_) => SafetyLevel::Caveat,
                Safety::Manual(_) => SafetyLevel::Manual,
            },
        }
    }
}
