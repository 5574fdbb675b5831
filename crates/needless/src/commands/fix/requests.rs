//! What to change, and for which program: from the command line, from a report, or from a short observation.

use crate::cli::FixArgs;
use crate::context::Context;
use crate::{advice, output};
use anyhow::{Context as _, Result, anyhow, bail};
use needless_environment::{self as environment, Modules, Request, Subject, check_variable};
use needless_host::{Pods, Root, Service};
use needless_model::{Change, Finding, ProcId, Profile, Remedy, Safety, Setting, without_entries};
use needless_observe::{LiveFacts, ObserveOptions, Who};
use needless_report::{ReportFinding, ReportProcess};
use needless_rules::{CheckOptions, Suppressed};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

/// How long a unit or process is observed where no option says what to change.
const WINDOW: Duration = Duration::from_secs(10);

/// The changes to make. `refuse` gets a sentence for each change that is not to be made.
pub(super) fn requests(
    args: &FixArgs,
    context: &Context,
    refuse: &mut dyn FnMut(String),
) -> Result<Vec<Request>> {
    let named = named(args)?;
    if let Some(change) = args.set.as_ref().or(args.unset.as_ref()) {
        return Ok(vec![of_option(change, named)?]);
    }
    match &args.report {
        Some(path) => of_report(path, args, context, named.as_ref(), refuse),
        None => of_observation(args, context, named.as_ref(), refuse),
    }
}

/// The change that `--set` or `--unset` names.
fn of_option(change: &Change, named: Option<Subject>) -> Result<Request> {
    let (variable, value) = match change {
        Change::SetEnv { variable, value } => (variable, value.clone()),
        Change::UnsetEnv { variable } => (variable, None),
        _ => bail!("not a change of a variable"),
    };
    check_variable(variable)?;
    let Some(subject) = named else {
        bail!("--set and --unset need --unit, --user-unit, --pid or --in");
    };
    let variable = variable.clone();
    Ok(Request { rule: None, variable, value, setting: None, modules: None, caveat: None, subject })
}

/// What a short observation finds.
fn of_observation(
    args: &FixArgs,
    context: &Context,
    named: Option<&Subject>,
    refuse: &mut dyn FnMut(String),
) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    let (profile, findings) = observe(args, context)?;
    let mut now = LiveFacts::new(context.settings.watched.clone());
    for finding in &findings {
        let Some(remedy) = applicable(finding) else { continue };
        let process = |id: &ProcId| ReportProcess::from(profile.process(*id));
        let processes: Vec<ReportProcess> = finding.processes.iter().map(process).collect();
        let service = finding.service.as_deref();
        for subject in subjects((service, &processes), false, named, &mut alive) {
            match with_value(remedy, |variable| here(&mut now, &subject, variable)) {
                Ok(remedy) => {
                    let paths = finding.evidence.iter().map(|row| row.path.as_str());
                    let modules = modules(&remedy.change, paths, &processes);
                    requests.extend(each(&finding.rule, &remedy, subject, &modules));
                }
                Err(why) => refuse(format!("{}: {why:#}", finding.rule)),
            }
        }
    }
    Ok(requests)
}

/// What a report advises.
fn of_report(
    path: &Path,
    args: &FixArgs,
    context: &Context,
    named: Option<&Subject>,
    refuse: &mut dyn FnMut(String),
) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    let report = advice::report(context, path)?;
    let mut now = LiveFacts::new(context.settings.watched.clone());
    let (mut shown, mut known, mut running) = (HashSet::new(), HashSet::new(), HashMap::new());
    // A report may name one process many times.
    let mut alive = |being: &ReportProcess, service: Option<&str>| {
        let key = (being.pid, being.exe.clone(), being.started, service.map(str::to_owned));
        *running.entry(key).or_insert_with(|| alive(being, service))
    };
    let wanted = |one: &&ReportFinding| match &args.rules[..] {
        [] => !one.small,
        rules => rules.contains(&one.rule),
    };
    advice::small(&report.findings, &args.rules, can_fix).into_iter().for_each(output::warn);
    for finding in report.findings.iter().filter(wanted) {
        let Some(change) = advice::first(finding, can_fix) else { continue };
        let about = (finding.service.as_deref(), finding.processes());
        let of_machine = matches!(&change, Change::Setting(setting, _) if setting.is_of_machine());
        let subjects = match named {
            None if report.of_run && of_machine => vec![Subject::Machine],
            _ => subjects(about, report.of_run, named, &mut alive),
        };
        let modules = modules(&change, finding.paths(), finding.processes());
        for subject in subjects {
            if !known.insert((&finding.rule, format!("{change:?}{modules:?}"), subject.clone())) {
                continue;
            }
            let mut here = |variable: &str| here(&mut now, &subject, variable);
            let made = advice::remedy(context, &finding.rule, &change, &mut here);
            let made =
                made.and_then(|(remedy, other)| Ok((with_value(&remedy, &mut here)?, other)));
            match made {
                Ok((remedy, other)) => {
                    advice::warn_once(&mut shown, other);
                    requests.extend(each(&finding.rule, &remedy, subject, &modules));
                }
                Err(why) => refuse(format!("{why:#}")),
            }
        }
    }
    Ok(requests)
}

/// What the rule has to know of the subject, as it is now.
pub(super) fn here(now: &mut LiveFacts, subject: &Subject, variable: &str) -> Result<Profile> {
    let stopped = |now: &mut LiveFacts, unit: &str| {
        let root = Root::own().context("cannot open /")?;
        let value = environment::value_of_unit(unit, variable, &root);
        now.stopped(variable, value).map_err(|why| anyhow!(why))
    };
    match subject {
        Subject::Process(pid) => now.running(*pid, variable).map_err(|why| anyhow!(why)),
        Subject::Unit(unit) => match environment::main_process(unit) {
            Some(pid) => now.running(pid, variable).map_err(|why| anyhow!(why)),
            None => stopped(now, unit),
        },
        Subject::UserUnit(unit) => match environment::main_process_of(unit, true) {
            Some(pid) => now.running(pid, variable).map_err(|why| anyhow!(why)),
            None => now.stopped(variable, None).map_err(|why| anyhow!(why)),
        },
        Subject::File(..) | Subject::Machine => {
            now.stopped(variable, None).map_err(|why| anyhow!(why))
        }
        Subject::Gone(why) => bail!("{why}"),
    }
}

/// The remedy as a value: a list without some entries is made from the value that the subject has.
pub(super) fn with_value(
    remedy: &Remedy,
    here: impl FnOnce(&str) -> Result<Profile>,
) -> Result<Remedy> {
    let Change::WithoutEntries { variable, entries } = &remedy.change else {
        return Ok(remedy.clone());
    };
    let now = here(variable)?;
    let value = now.process(ProcId(0)).env.value(variable);
    let value = value.ok_or_else(|| anyhow!("{variable} is not set there, or cannot be read"))?;
    let variable = variable.clone();
    let change = match without_entries(&variable, value, entries) {
        Some(same) if same == value => bail!("{variable} lists none of these directories there"),
        Some(rest) => Change::SetEnv { variable, value: Some(rest) },
        None => Change::UnsetEnv { variable },
    };
    Ok(Remedy { change, safety: remedy.safety.clone() })
}

pub(super) fn request(rule: &str, remedy: &Remedy, subject: Subject) -> Option<Request> {
    let (variable, value, setting) = match &remedy.change {
        Change::SetEnv { variable, value: Some(value) } => (&**variable, Some(value.clone()), None),
        Change::UnsetEnv { variable } => (&**variable, None, None),
        Change::Setting(setting, _) => ("", None, Some(*setting)),
        _ => return None,
    };
    Some(Request {
        rule: Some(rule.to_owned()),
        variable: variable.to_owned(),
        value,
        setting,
        modules: None,
        caveat: Some(remedy.safety.sentence().to_owned()),
        subject,
    })
}

/// The same for each directory of modules, where the change is about these.
fn each(
    rule: &str,
    remedy: &Remedy,
    subject: Subject,
    modules: &BTreeSet<Modules>,
) -> Vec<Request> {
    let Some(request) = request(rule, remedy, subject) else { return Vec::new() };
    if modules.is_empty() {
        return vec![request];
    }
    let of = |one: &Modules| Request { modules: Some(one.clone()), ..request.clone() };
    modules.iter().map(of).collect()
}

/// The directories of modules that the evidence of a finding names, where the change is about these.
fn modules<'a>(
    change: &Change,
    paths: impl Iterator<Item = &'a str>,
    processes: &[ReportProcess],
) -> BTreeSet<Modules> {
    let exe = processes.iter().find_map(|process| process.exe.as_deref());
    let interpreter = exe.and_then(|exe| exe.rsplit('/').next()).unwrap_or_default();
    let directories = paths.filter_map(|path| Some(path.split_once("/__pycache__/")?.0));
    let directories = directories.filter(|dir| dir.starts_with('/'));
    let of = |directory: &str| Modules {
        directory: directory.to_owned(),
        interpreter: interpreter.to_owned(),
    };
    match change {
        Change::Setting(Setting::PythonBytecode, _) => directories.map(of).collect(),
        _ => BTreeSet::new(),
    }
}

/// The subject that the command line names.
fn named(args: &FixArgs) -> Result<Option<Subject>> {
    if let Some(unit) = &args.user_unit {
        return Ok(Some(Subject::UserUnit(environment::service_name(unit)?)));
    }
    Ok(match (&args.place, &args.unit, args.pid) {
        (Some(file), ..) => {
            let file = std::path::absolute(file).context("no working directory")?;
            Some(Subject::File(file, args.part.clone()))
        }
        (_, Some(unit), _) => Some(Subject::Unit(environment::service_name(unit)?)),
        (.., Some(pid)) => Some(Subject::Process(pid)),
        _ => None,
    })
}

/// The subjects of a finding on processes of a service: the one that the command line names, else each of its processes
/// that still runs, else its unit.
fn subjects(
    (service, processes): (Option<&str>, &[ReportProcess]),
    of_run: bool,
    named: Option<&Subject>,
    alive: &mut dyn FnMut(&ReportProcess, Option<&str>) -> bool,
) -> Vec<Subject> {
    match named {
        Some(subject) => return vec![subject.clone()],
        None if of_run => return vec![Subject::Gone(
            "the report is about a command that needless ran: start it with the change yourself, or name what runs it (--unit, --pid, --in)".into(),
        )],
        None => {}
    }
    let mut once = HashSet::new();
    let each = processes.iter().filter(|being| once.insert((being.pid, being.started)));
    let running = each.filter(|being| alive(being, service));
    let running: Vec<Subject> = running.map(|being| Subject::Process(being.pid)).collect();
    match service {
        _ if !running.is_empty() => running,
        Some(service) if service.ends_with(".service") => vec![unit_of(service)],
        _ => vec![Subject::Gone(
            "the process of the report has ended: name what runs it (--unit, --pid)".into(),
        )],
    }
}

/// The unit of a service: `web.service`, or `user@1000 web.service`.
fn unit_of(service: &str) -> Subject {
    match service.strip_prefix("user@").and_then(|rest| rest.split_once(' ')) {
        Some((uid, unit)) if *uid == *rustix::process::geteuid().as_raw().to_string() => {
            Subject::UserUnit(unit.to_owned())
        }
        Some((uid, unit)) => Subject::Gone(format!(
            "{unit} is a unit of user {uid}'s own systemd: run this as that user"
        )),
        None => Subject::Unit(environment::unit_of_service(service)),
    }
}

/// Whether that process still runs. By now another process may have its id, even one of the same program.
fn alive(being: &ReportProcess, service: Option<&str>) -> bool {
    let exe = std::fs::read_link(format!("/proc/{}/exe", being.pid)).ok();
    let same = exe.is_some() && exe.as_deref().and_then(Path::to_str) == being.exe.as_deref();
    let started =
        being.started.is_none_or(|then| needless_host::start_time(being.pid) == Some(then));
    let serves = Service::of_pid(being.pid).ok();
    let serves = serves.map(|service| Pods::of_node().named(service).to_string());
    same && started && service.is_none_or(|then| serves.as_deref() == Some(then))
}

/// Observes the unit or process: its profile and findings.
fn observe(args: &FixArgs, context: &Context) -> Result<(Profile, Vec<Finding>)> {
    let who = match (&args.unit, args.pid) {
        (Some(unit), _) => Who::Unit(unit.clone()),
        (None, Some(pid)) => Who::Processes(vec![pid]),
        (None, None) => bail!("nothing to change: pass REPORT, --set VAR=VALUE or --unset VAR"),
    };
    let options = ObserveOptions {
        watch: context.settings.watched.clone(),
        above: Some(environment::look_above),
        ..ObserveOptions::default()
    };
    output::warn(format_args!("observing {who} for {} s", WINDOW.as_secs()));
    let profile = needless_observe::window(&who, WINDOW, &options, &mut |_| ())?.profile;
    let options = CheckOptions {
        only: args.rules.clone(),
        declared: context.settings.rules.clone(),
        ..CheckOptions::default()
    };
    let mut verdict = needless_rules::check_by_service(&profile, &options);
    context.settings.suppress(&mut verdict, &profile, &options);
    for Suppressed { finding, reason, place, .. } in &verdict.suppressed {
        output::warn(format_args!("{}: {place} suppresses it ({reason})", finding.rule));
    }
    Ok((profile, verdict.findings))
}

/// The best remedy of a finding that a tool may apply.
fn applicable(finding: &Finding) -> Option<&Remedy> {
    finding
        .remedies
        .iter()
        .find(|remedy| can_fix(&remedy.change) && !matches!(remedy.safety, Safety::Manual(_)))
}

/// Whether `fix` makes a change of this kind.
pub(super) fn can_fix(change: &Change) -> bool {
    matches!(
        change,
        Change::SetEnv { value: Some(_), .. }
            | Change::UnsetEnv { .. }
            | Change::WithoutEntries { .. }
            | Change::Setting(..)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::{Process, Spawn};

    #[test]
    fn a_process_that_is_named_often_is_looked_at_once() {
        let process = |pid| {
            let exe = Some("/a".to_owned());
            let process = Process { exe, started: Some(1), ..Process::new(pid, None, Spawn::Seen) };
            ReportProcess::from(&process)
        };
        let processes = [vec![process(7); 100], vec![process(8); 100]].concat();
        let mut asked = 0;
        let found = subjects((None, &processes), false, None, &mut |being, _| {
            asked += 1;
            being.pid == 7
        });
        assert!(found == [Subject::Process(7)]);
        assert_eq!(asked, 2);
    }
}
