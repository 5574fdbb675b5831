//! The findings of a saved report, with their processes.

use super::MOST;
use crate::json::of_micros;
use crate::report::json::document::{
    ReportFinding, ReportProcess, ReportRemedy, ReportSuppressed, SafetyLevel,
};
use crate::saved::change;
use crate::saved::rule_name;
use needless_model::{
    Env, Evidence, Finding, ProcId, Process, Profile, Remedy, Safety, Spawn, Stage,
};
use needless_rules::{LastDay, Suppressed};
use std::collections::BTreeMap;

/// A finding about which nothing is known.
pub(super) fn blank() -> Finding {
    Finding {
        rule: "".into(),
        stage: Stage::Seen,
        processes: Vec::new(),
        service: None,
        needless: 0,
        besides: 0,
        of: 0,
        kernel_ns: None,
        estimated: false,
        user_ns: None,
        what: String::new(),
        why: String::new(),
        sites: Vec::new(),
        evidence: Vec::new(),
        remedies: Vec::new(),
        rows: Vec::new(),
    }
}

pub(super) fn finding(from: &ReportFinding, profile: &mut Profile) -> Finding {
    let stage: Option<Stage> = (&from.stage).into();
    let evidence = from.evidence.iter().map(|one| Evidence {
        call: one.call.clone(),
        path: one.path.clone(),
        outcome: one.outcome.clone(),
        count: one.count,
    });
    Finding {
        rule: rule_name(&from.rule),
        stage: stage.unwrap_or(Stage::Seen),
        processes: processes(from, profile),
        service: from.service.clone(),
        needless: from.needless,
        besides: from.besides,
        of: from.of,
        kernel_ns: from.kernel_us.map(of_micros),
        estimated: from.estimated,
        user_ns: from.user_us.map(of_micros),
        what: from.what.clone(),
        why: from.why.clone(),
        sites: from.sites.clone(),
        evidence: evidence.collect(),
        remedies: from.remedies.iter().map(Remedy::from).collect(),
        rows: Vec::new(),
    }
}

impl From<&ReportRemedy> for Remedy {
    fn from(from: &ReportRemedy) -> Remedy {
        let caveat = from.caveat.clone();
        let safety = match from.safety {
            SafetyLevel::Safe => Safety::Safe(caveat),
            SafetyLevel::Caveat => Safety::Caveat(caveat),
            SafetyLevel::Manual => Safety::Manual(caveat),
        };
        Remedy { change: change(from), safety }
    }
}

/// The processes of a finding: those that are listed, and of each program one that stands for the others.
fn processes(from: &ReportFinding, profile: &mut Profile) -> Vec<ProcId> {
    let mut left: BTreeMap<(Option<String>, Option<String>), u64> = BTreeMap::new();
    for program in &from.exes {
        let key = (program.exe.clone(), program.script.clone());
        *left.entry(key).or_default() += program.processes;
    }
    let has_own_root = |first: bool| match from.elsewhere {
        0 => false,
        // Only whether all of them have one, or some, is shown.
        n => n >= from.processes || !first,
    };
    let env = match from.variables.is_empty() {
        true => Env::Unknown,
        false => Env::Known(
            from.variables.iter().filter_map(|(k, v)| Some((k.clone(), v.clone()?))).collect(),
        ),
    };
    let mut ids = Vec::new();
    let others = from.affected.iter().skip(1);
    for (at, listed) in std::iter::once(&from.process).chain(others).enumerate() {
        let process = Process {
            env: env.clone(),
            shares_root: !has_own_root(at == 0),
            ..Process::from(listed)
        };
        let key = (process.exe.clone(), process.script().map(str::to_owned));
        if let Some(left) = left.get_mut(&key) {
            *left = left.saturating_sub(1);
        }
        ids.push(add(process, profile));
    }
    for ((exe, command), n) in left.into_iter().filter(|(_, n)| *n > 0) {
        let shares_root = !has_own_root(false);
        let pid = from.process.pid;
        let process = Process { exe, command, shares_root, ..Process::new(pid, None, Spawn::Seen) };
        let id = add(process, profile);
        ids.extend(std::iter::repeat_n(id, n.min(MOST) as usize));
    }
    ids
}

fn add(process: Process, profile: &mut Profile) -> ProcId {
    profile.processes.push(process);
    ProcId(profile.processes.len() as u32 - 1)
}

impl From<&ReportProcess> for Process {
    fn from(from: &ReportProcess) -> Process {
        Process {
            exe: from.exe.clone(),
            command: from.command.clone(),
            open_files: from.open_files,
            started: from.started,
            ..Process::new(from.pid, None, Spawn::Seen)
        }
    }
}

pub(super) fn suppressed(from: &ReportSuppressed, profile: &mut Profile) -> Suppressed {
    let id = add(Process::from(&from.process), profile);
    let finding = Finding {
        rule: rule_name(&from.rule),
        service: from.service.clone(),
        processes: vec![id; from.processes.max(1) as usize],
        needless: from.needless,
        ..blank()
    };
    Suppressed {
        finding,
        reason: from.reason.clone(),
        until: from.until.as_deref().and_then(day),
        place: from.place.clone(),
    }
}

/// Reads what [`LastDay`] prints.
fn day(text: &str) -> Option<LastDay> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    Some(LastDay { year: year.parse().ok()?, month: month.parse().ok()?, day: day.parse().ok()? })
}
