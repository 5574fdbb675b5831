//! For other tools: a versioned schema, derived from the structures that are written and read.

pub(crate) mod document;
pub(crate) mod restore;

use crate::breakdown::{Cause, Origin, Part, breakdown};
use crate::json::{micros, print, schema_of, seconds};
use crate::overview::Overview;
use crate::proof::json::ProofBody;
use crate::{Report, Source, Style, summary, window_text};
use document::{
    ChangeKind, FindingSum, PartKind, ReportAccount, ReportAmount, ReportDocument, ReportEvidence,
    ReportFinding, ReportMost, ReportPart, ReportPlace, ReportProcess, ReportProgram,
    ReportProgramCpu, ReportRemedy, ReportSelection, ReportSlowMount, ReportSource,
    ReportSuppressed, ReportTotals, ReportUnexplained, ReportWaits, SafetyLevel, SourceKind,
    UncheckedRule, WaitedFor,
};
use needless_model::{Change, Evidence, Fact, Finding, Process, Profile, Remedy, Safety, WaitsOn};
use needless_rules::{
    Account, Amount, FilePlace, Many, NotChecked, ProgramCpu, SlowMount, Suppressed, Unanswered, Unexplained,
    WaitKind, Waits,
};
use std::collections::{BTreeMap, BTreeSet};
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
        let activity = &verdict.activity;
        let unknown = Fact::ALL.into_iter().filter(|fact| !profile.facts.has(*fact));
        let number = |many: &Option<Many>| many.as_ref().map_or(0, |many| many.number);
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
                tracing_ns: profile.totals.tracing_ns,
            },
            account: ReportAccount::from(&verdict.account),
            breakdown: breakdown(report).into_iter().map(ReportPart::from).collect(),
            waiting: activity.waits.iter().map(ReportWaits::from).collect(),
            slow_file_system: activity.slow_mount.as_ref().map(ReportSlowMount::from),
            programs: activity.programs.iter().map(ReportProgramCpu::from).collect(),
            started: number(&activity.started),
            connections: number(&activity.connections),
            most_started: activity.started.as_ref().map(ReportMost::from),
            most_connections: activity.connections.as_ref().map(ReportMost::from),
            processes: profile.processes.len() as u64,
            pids: activity.processes,
            services: activity.services,
            findings: findings(report),
            not_known: unknown.map(Into::into).collect(),
            not_checked: verdict.not_checked.iter().map(UncheckedRule::from).collect(),
            checked: summary::checked(verdict).zip(verdict.selection.as_ref()).map(
                |((rules, of), selection)| ReportSelection {
                    rules: rules as u64,
                    of: of as u64,
                    ignored: selection.ignored.clone(),
                    only: selection.only.clone(),
                },
            ),
            below_threshold: FindingSum::from(&verdict.below[..]),
            suppressed: verdict.suppressed.iter().map(|one| of_suppressed(one, profile)).collect(),
            notices: verdict.notices.clone(),
            notes: profile.notes.clone(),
            proof: report.proof.map(ProofBody::from),
        }
    }
}

impl From<&Account> for ReportAccount {
    fn from(account: &Account) -> ReportAccount {
        ReportAccount {
            calls: account.calls,
            failed: account.failed,
            needed: account.needed(),
            needless: account.needless.into(),
            uncertain: account.uncertain.into(),
            unexplained: account.unexplained.into(),
            estimated: account.estimated,
            lines: account.lines.iter().map(ReportUnexplained::from).collect(),
        }
    }
}

impl From<Part> for ReportPart {
    fn from(Part { origin, cause, weight }: Part) -> ReportPart {
        let Origin { service, program, site, call } = origin;
        let (kind, rule) = match cause {
            Cause::Needed => (PartKind::Needed, None),
            Cause::Needless(rule) => (PartKind::Needless, Some(rule)),
            Cause::Unexplained => (PartKind::Unexplained, None),
        };
        let kernel_us = (weight.kernel_ns > 0).then(|| micros(weight.kernel_ns));
        ReportPart { service, program, site, call, kind, rule, calls: weight.calls, kernel_us }
    }
}

impl From<Amount> for ReportAmount {
    fn from(amount: Amount) -> ReportAmount {
        let Amount { calls, kernel_ns, user_ns } = amount;
        ReportAmount { calls, kernel_us: kernel_ns.map(micros), user_us: user_ns.map(micros) }
    }
}

impl From<&Unexplained> for ReportUnexplained {
    fn from(line: &Unexplained) -> ReportUnexplained {
        ReportUnexplained {
            program: line.program.clone(),
            processes: line.processes,
            call: line.call.clone(),
            question: line.query.into(),
            error: match line.reason {
                Unanswered::Failed(errno) => Some(errno.name().to_owned()),
                Unanswered::Again | Unanswered::Spinning => None,
            },
            calls: line.amount.calls,
            kernel_us: line.amount.kernel_ns.map(micros),
            place: line.place.as_ref().map(|(place, _)| place.clone()),
            place_calls: line.place.as_ref().map(|(_, calls)| *calls),
            site: line.site.clone(),
        }
    }
}

impl From<&Waits> for ReportWaits {
    fn from(from: &Waits) -> ReportWaits {
        ReportWaits {
            program: from.program.clone(),
            kind: from.kind.into(),
            call: from.call.clone(),
            error: from.error.map(|error| error.name().to_owned()),
            calls: from.calls,
            wait_us: micros(from.ns),
        }
    }
}

impl From<WaitKind> for WaitedFor {
    fn from(from: WaitKind) -> WaitedFor {
        match from {
            WaitKind::Flush => WaitedFor::Flush,
            WaitKind::Connect => WaitedFor::Connect,
            WaitKind::Sleep => WaitedFor::Sleep,
            WaitKind::Events => WaitedFor::Events,
            WaitKind::Names => WaitedFor::Names,
            WaitKind::Threads => WaitedFor::Threads,
            WaitKind::Lock => WaitedFor::Lock,
            WaitKind::Children => WaitedFor::Children,
            WaitKind::Read(on) => match on {
                WaitsOn::Pipe => WaitedFor::ReadPipe,
                WaitsOn::Terminal => WaitedFor::ReadTerminal,
                WaitsOn::Socket | WaitsOn::NameServer => WaitedFor::ReadSocket,
                WaitsOn::File => WaitedFor::ReadFile,
                WaitsOn::Unknown => WaitedFor::Read,
            },
            WaitKind::Write(on) => match on {
                WaitsOn::Pipe => WaitedFor::WritePipe,
                WaitsOn::Terminal => WaitedFor::WriteTerminal,
                WaitsOn::Socket | WaitsOn::NameServer => WaitedFor::WriteSocket,
                WaitsOn::File => WaitedFor::WriteFile,
                WaitsOn::Unknown => WaitedFor::Write,
            },
            WaitKind::Path => WaitedFor::Path,
            WaitKind::Other => WaitedFor::Other,
        }
    }
}

impl From<&SlowMount> for ReportSlowMount {
    fn from(from: &SlowMount) -> ReportSlowMount {
        let SlowMount { at, kind, calls, mean_ns } = from.clone();
        ReportSlowMount { at, kind, calls, mean_us: micros(mean_ns) }
    }
}

impl From<&ProgramCpu> for ReportProgramCpu {
    fn from(from: &ProgramCpu) -> ReportProgramCpu {
        ReportProgramCpu {
            program: from.program.clone(),
            processes: from.processes,
            cpu_s: seconds(from.ns),
            cpu_user_s: from.user_ns.map(seconds),
        }
    }
}

impl From<&Many> for ReportMost {
    fn from(from: &Many) -> ReportMost {
        ReportMost { program: from.program.clone(), number: from.of_program }
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
        processes: one.finding.processes.len() as u64,
        needless: one.finding.needless,
        reason: one.reason.clone(),
        until: one.until.map(|day| day.to_string()),
        place: one.place.clone(),
    }
}

fn findings(report: &Report<'_>) -> Vec<ReportFinding> {
    let overview = Overview::of(report);
    let small: Vec<&Finding> = overview.small.into_iter().flat_map(|line| line.findings).collect();
    let is_small = |finding: &Finding| small.iter().any(|one| std::ptr::eq(*one, finding));
    let all = report.verdict.findings.iter();
    all.map(|finding| of_finding(finding, is_small(finding), report)).collect()
}

fn of_finding(finding: &Finding, small: bool, report: &Report<'_>) -> ReportFinding {
    let profile = report.profile;
    let elsewhere = finding.processes.iter().filter(|id| !profile.process(**id).shares_root);
    ReportFinding {
        rule: finding.rule.to_string(),
        stage: finding.stage.into(),
        service: finding.service.clone(),
        needless: finding.needless,
        besides: finding.besides,
        of: finding.of,
        per_second: window_text::length(report).map(|ns| finding.needless as f64 / seconds(ns)),
        share: summary::share(finding, profile.totals.path_calls),
        small,
        kernel_us: finding.kernel_ns.map(micros),
        estimated: finding.estimated && finding.kernel_ns.is_some(),
        user_us: finding.user_ns.map(micros),
        process: profile.process(finding.processes[0]).into(),
        affected: processes(finding, profile),
        processes: finding.processes.len() as u64,
        exes: summary::programs(finding, profile).into_iter().map(ReportProgram::from).collect(),
        elsewhere: elsewhere.count() as u64,
        variables: variables(finding, profile),
        what: finding.what.clone(),
        why: finding.why.clone(),
        sites: finding.sites.clone(),
        evidence: finding.evidence.iter().map(ReportEvidence::from).collect(),
        remedies: finding.remedies.iter().map(ReportRemedy::from).collect(),
        place: report.verdict.place_of(finding).map(ReportPlace::from),
    }
}

impl From<&FilePlace> for ReportPlace {
    fn from(from: &FilePlace) -> ReportPlace {
        let FilePlace { file, line, by_hand } = from.clone();
        ReportPlace { file, line, by_hand }
    }
}

/// The variables that the remedies set or unset, as the process with most calls had them.
fn variables(finding: &Finding, profile: &Profile) -> BTreeMap<String, Option<String>> {
    let env = &profile.process(finding.processes[0]).env;
    let changes = finding.remedies.iter().map(|remedy| &remedy.change);
    let names = changes.filter_map(|change| match change {
        Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => Some(variable),
        _ => None,
    });
    let known = names.filter_map(|name| Some((name.clone(), env.get(name)?.map(str::to_owned))));
    known.collect()
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
            Change::WithoutEntries { variable, .. } => {
                (ChangeKind::WithoutEntries, Some(variable), None)
            }
            Change::Preload => (ChangeKind::Preload, None, None),
            Change::Option(_) => (ChangeKind::Option, None, None),
            Change::Manual(_) => (ChangeKind::Manual, None, None),
        };
        ReportRemedy {
            kind,
            variable: variable.cloned(),
            value: value.cloned(),
            entries: match &remedy.change {
                Change::WithoutEntries { entries, .. } => entries.clone(),
                _ => Vec::new(),
            },
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
