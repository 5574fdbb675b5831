//! How a report is made from a profile and a verdict.

use super::*;
use crate::breakdown::breakdown;
use crate::json::{Micros, Seconds, seconds};
use crate::{Source, summary};
use needless_model::{
    Change, Evidence, Fact, Finding, Process, Profile, Proof, Remedy, Safety, WaitsOn,
};
use needless_rules::{
    Account, FilePlace, Many, NotChecked, ProgramCpu, Scale, SlowMount, Suppressed, Unanswered,
    Unexplained, Verdict, WaitKind, Waits, by_remedy,
};
use std::collections::{BTreeMap, BTreeSet};

impl ReportDocument {
    /// The report on `profile`, which `verdict` is about; `proof` is of its remedies, if the user asked for one. `version`
    /// is that of needless.
    pub fn of(
        profile: &Profile,
        verdict: &Verdict,
        source: &Source,
        proof: Option<&Proof>,
        version: &str,
    ) -> ReportDocument {
        let activity = &verdict.activity;
        let unknown = Fact::ALL.into_iter().filter(|fact| !profile.facts.has(*fact));
        let number = |many: &Option<Many>| many.as_ref().map_or(0, |many| many.number);
        let lost = profile.lost.iter().filter(|(_, n)| **n > 0);
        ReportDocument {
            schema: SCHEMA.to_owned(),
            needless_version: version.to_owned(),
            backend: profile.backend.to_string(),
            source: ReportSource { file: verdict.file.clone(), ..ReportSource::from(source) },
            complete: profile.facts.has(Fact::AllCalls),
            lost: lost.map(|(loss, n)| (loss.name().to_owned(), *n)).collect(),
            window_s: profile.window.length_ns.map(Seconds),
            totals: ReportTotals {
                calls: profile.totals.calls,
                path_calls: profile.totals.path_calls,
                needless: needless(&verdict.findings),
                cpu_user_s: profile.totals.cpu_user_ns.map(Seconds),
                cpu_sys_s: profile.totals.cpu_sys_ns.map(Seconds),
                tracing_ns: profile.totals.tracing_ns,
            },
            account: ReportAccount::from(&verdict.account),
            breakdown: breakdown(profile, &verdict.account),
            waiting: activity.waits.iter().map(ReportWaits::from).collect(),
            slow_file_system: activity.slow_mount.as_ref().map(ReportSlowMount::from),
            programs: activity.programs.iter().map(ReportProgramCpu::from).collect(),
            started: number(&activity.started),
            connections: number(&activity.connections),
            uncounted_kernel_s: activity.uncounted_ns.map(Seconds),
            most_started: activity.started.as_ref().map(ReportMost::from),
            most_connections: activity.connections.as_ref().map(ReportMost::from),
            processes: profile.processes.len() as u64,
            pids: activity.processes,
            services: activity.services,
            findings: findings(profile, verdict, source),
            not_known: unknown.map(Into::into).collect(),
            not_checked: verdict.not_checked.iter().map(UncheckedRule::from).collect(),
            checked: selection(verdict),
            below_threshold: below(&verdict.below, &source.scale(profile)),
            suppressed: verdict.suppressed.iter().map(|one| of_suppressed(one, profile)).collect(),
            notices: verdict.notices.clone(),
            notes: profile.notes.clone(),
            proof: proof.map(ProofBody::from),
        }
    }
}

/// Needless calls of all findings. Rules never count a call twice.
fn needless(findings: &[Finding]) -> u64 {
    findings.iter().map(|finding| finding.needless).sum()
}

/// How many rules were checked, of how many, if the user selected some.
fn selection(verdict: &Verdict) -> Option<ReportSelection> {
    let selection = verdict.selection.as_ref()?;
    Some(ReportSelection {
        // A selected rule whose facts are missing was not checked.
        rules: selection.wanted.saturating_sub(verdict.not_checked.len()) as u64,
        of: selection.all as u64,
        ignored: selection.ignored.clone(),
        only: selection.only.clone(),
    })
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
            unjudged: account.unjudged.into(),
            estimated: account.estimated,
            lines: account.lines.iter().map(ReportUnexplained::from).collect(),
            unjudged_kinds: account.kinds.iter().map(ReportUnjudged::from).collect(),
            busy: account.busy.as_ref().map(ReportBusy::from),
        }
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
            kernel_us: line.amount.kernel_ns.map(Micros),
            place: line.place.as_ref().map(|(place, _)| place.clone()),
            place_calls: line.place.as_ref().map(|(_, calls)| *calls),
            site: line.site.as_ref().map(|site| site.place.clone()),
            site_samples: line.site.as_ref().map(|site| site.samples),
            samples: line.site.as_ref().map(|site| site.of),
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
            wait_us: Micros(from.ns),
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
        ReportSlowMount { at, kind, calls, mean_us: Micros(mean_ns) }
    }
}

impl From<&ProgramCpu> for ReportProgramCpu {
    fn from(from: &ProgramCpu) -> ReportProgramCpu {
        ReportProgramCpu {
            program: from.program.clone(),
            processes: from.processes,
            cpu_s: Seconds(from.ns),
            cpu_user_s: from.user_ns.map(Seconds),
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
        ReportSource { kind, name: source.name().to_owned(), file: None }
    }
}

impl From<&NotChecked> for UncheckedRule {
    fn from(from: &NotChecked) -> UncheckedRule {
        let needs = from.missing.iter().map(|fact| (*fact).into()).collect();
        UncheckedRule { rule: from.rule.to_string(), needs }
    }
}

/// The calls are those that the account counts.
fn below(findings: &[Finding], scale: &Scale) -> FindingSum {
    let calls = scale.saves(&findings.iter().collect::<Vec<_>>()).calls;
    FindingSum { findings: findings.len() as u64, calls }
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

fn findings(profile: &Profile, verdict: &Verdict, source: &Source) -> Vec<ReportFinding> {
    let scale = source.scale(profile);
    let remedies = by_remedy(&verdict.findings).into_iter();
    let small: Vec<&Finding> =
        remedies.filter(|findings| scale.is_small_remedy(findings)).flatten().collect();
    let is_small = |finding: &Finding| small.iter().any(|one| std::ptr::eq(*one, finding));
    let window_ns = profile.window.length_ns.filter(|ns| *ns > 0 && source.is_window());
    let of = |finding: &Finding| ReportFinding {
        per_second: window_ns.map(|ns| finding.needless as f64 / seconds(ns)),
        small: is_small(finding),
        place: verdict.place_of(finding).cloned().map(ReportPlace::from),
        ..ReportFinding::of(finding, profile)
    };
    verdict.findings.iter().map(of).collect()
}

impl From<FilePlace> for ReportPlace {
    fn from(FilePlace { file, line, by_hand }: FilePlace) -> ReportPlace {
        ReportPlace { file, line, by_hand }
    }
}

impl ReportFinding {
    /// What is known of a finding by itself.
    pub(crate) fn of(finding: &Finding, profile: &Profile) -> ReportFinding {
        let elsewhere = finding.processes.iter().filter(|id| !profile.process(**id).shares_root);
        ReportFinding {
            rule: finding.rule.to_string(),
            stage: finding.stage.into(),
            service: finding.service.clone(),
            needless: finding.needless,
            besides: finding.besides,
            of: finding.of,
            per_second: None,
            share: share(finding, profile.totals.path_calls),
            small: false,
            kernel_us: finding.kernel_ns.map(Micros),
            estimated: finding.estimated && finding.kernel_ns.is_some(),
            user_us: finding.user_ns.map(Micros),
            process: profile.process(finding.processes[0]).into(),
            affected: processes(finding, profile),
            processes: finding.processes.len() as u64,
            exes: programs(finding, profile),
            elsewhere: elsewhere.count() as u64,
            variables: variables(finding, profile),
            what: finding.what.clone(),
            why: finding.why.clone(),
            sites: finding.sites.clone(),
            evidence: finding.evidence.iter().map(ReportEvidence::from).collect(),
            remedies: finding.remedies.iter().map(ReportRemedy::from).collect(),
            place: None,
        }
    }
}

/// Needless calls as a fraction of `path_calls`, at most 1.
///
/// The bound is needed because a finding may also count calls without a path (the reads of an opened file).
fn share(finding: &Finding, path_calls: u64) -> f64 {
    match path_calls {
        0 => 0.0,
        all => (finding.needless as f64 / all as f64).min(1.0),
    }
}

/// The programs of the processes of a finding, each with the number of its processes, largest first.
fn programs(finding: &Finding, profile: &Profile) -> Vec<ReportProgram> {
    let mut sums: BTreeMap<(Option<&str>, Option<&str>), u64> = BTreeMap::new();
    for id in &finding.processes {
        let process = profile.process(*id);
        *sums.entry((process.exe.as_deref(), process.script())).or_default() += 1;
    }
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let program = |((exe, script), processes)| ReportProgram {
        exe: owned(exe),
        script: owned(script),
        processes,
    };
    let mut programs: Vec<ReportProgram> = sums.into_iter().map(program).collect();
    programs.sort_by_key(|program| std::cmp::Reverse(program.processes));
    programs
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
            Change::Setting(..) => (ChangeKind::Setting, None, None),
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
            setting: match &remedy.change {
                Change::Setting(setting, _) => Some(setting.word().to_owned()),
                _ => None,
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
