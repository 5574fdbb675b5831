//! What is to be changed, for whom: as the command line says, as a report advises, or as a look shows.

use crate::origin::check_name;
use crate::{advice, cli, output};
use anyhow::{Context, Result, anyhow, bail};
use needless_environment as places;
use needless_host::{Root, Service};
use needless_model::{Change, Finding, Profile, Remedy, Safety};
use needless_observe::{Now, Who};
use needless_report::{Advice, Being};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a unit is observed where nothing says what to change.
const LOOK: Duration = Duration::from_secs(10);

/// A change somebody wants, with the process or unit it is for.
pub(super) struct Request {
    /// The rule whose remedy it is; `None` where the user named the change.
    pub(super) rule: Option<String>,
    pub(super) variable: String,
    pub(super) value: Option<String>,
    pub(super) caveat: Option<String>,
    pub(super) whom: Subject,
}

/// Whom a change is for.
#[derive(Clone)]
pub(super) enum Subject {
    Process(u32),
    Unit(String),
    File(PathBuf, Option<String>),
    /// Nobody who still runs.
    Nobody(String),
}

/// What is to be changed, for whom; what is not to be is given to `refuse`, in a sentence.
pub(super) fn requests(asked: &cli::Fix, refuse: &mut dyn FnMut(String)) -> Result<Vec<Request>> {
    let named = named(asked)?;
    if let Some(change) = asked.set.as_ref().or(asked.unset.as_ref()) {
        let (variable, value) = match change {
            Change::SetEnv { variable, value } => (variable, value.clone()),
            Change::UnsetEnv { variable } => (variable, None),
            _ => bail!("that is no change of a variable"),
        };
        check_name(variable)?;
        let Some(whom) = named else {
            bail!("--set and --unset want --unit, --pid or --in to say for whom");
        };
        return Ok(vec![Request {
            rule: None,
            variable: variable.clone(),
            value,
            caveat: None,
            whom,
        }]);
    }
    let mut requests = Vec::new();
    let Some(path) = &asked.report else {
        for (advice, remedy) in look(asked)? {
            for whom in whom(&advice, false, named.as_ref()) {
                requests.extend(request(&advice.rule, &remedy, whom));
            }
        }
        return Ok(requests);
    };
    let report = advice::report(path)?;
    let mut now = Now::new(crate::settings::get().watched);
    let mut said = HashSet::new();
    let wanted = |rule: &String| asked.rules.is_empty() || asked.rules.contains(rule);
    for advice in report.findings.iter().filter(|advice| wanted(&advice.rule)) {
        let Some(change) = advice::first(advice).filter(|change| **change != Change::Preload)
        else {
            continue;
        };
        for whom in whom(advice, report.of_run, named.as_ref()) {
            let here = |variable: &str| here(&mut now, &whom, variable);
            match advice::remedy(&advice.rule, change, here) {
                Ok((remedy, other)) => {
                    advice::say_once(&mut said, other);
                    requests.extend(request(&advice.rule, &remedy, whom));
                }
                Err(why) => refuse(format!("{why:#}")),
            }
        }
    }
    Ok(requests)
}

/// Whoever is to be helped, as it is now.
fn here(now: &mut Now, whom: &Subject, variable: &str) -> Result<Profile> {
    let stopped = |now: &mut Now, unit: &str| {
        let root = Root::own().context("cannot open /")?;
        let value = places::value_of_unit(unit, variable, &root);
        now.stopped(variable, value).map_err(|why| anyhow!(why))
    };
    match whom {
        Subject::Process(pid) => now.running(*pid, variable).map_err(|why| anyhow!(why)),
        Subject::Unit(unit) => match places::main_process(unit) {
            Some(pid) => now.running(pid, variable).map_err(|why| anyhow!(why)),
            None => stopped(now, unit),
        },
        Subject::File(..) => now.stopped(variable, None).map_err(|why| anyhow!(why)),
        Subject::Nobody(why) => bail!("{why}"),
    }
}

fn request(rule: &str, remedy: &Remedy, whom: Subject) -> Option<Request> {
    let (variable, value) = match &remedy.change {
        Change::SetEnv { variable, value: Some(value) } => (variable, Some(value.clone())),
        Change::UnsetEnv { variable } => (variable, None),
        _ => return None,
    };
    Some(Request {
        rule: Some(rule.to_owned()),
        variable: variable.clone(),
        value,
        caveat: Some(remedy.safety.sentence().to_owned()),
        whom,
    })
}

/// For whom the command line says that a change is to be.
fn named(asked: &cli::Fix) -> Result<Option<Subject>> {
    Ok(match (&asked.place, &asked.unit, asked.pid) {
        (Some(file), ..) => {
            let file = std::path::absolute(file).context("no working directory")?;
            Some(Subject::File(file, asked.part.clone()))
        }
        (_, Some(unit), _) => Some(Subject::Unit(places::unit_name(unit))),
        (.., Some(pid)) => Some(Subject::Process(pid)),
        _ => None,
    })
}

/// Whom a finding is for: whoever the command line names, else each of its processes that still runs, else
/// its unit.
fn whom(advice: &Advice, of_run: bool, named: Option<&Subject>) -> Vec<Subject> {
    match named {
        Some(whom) => return vec![whom.clone()],
        None if of_run => return vec![Subject::Nobody(
            "the report is of a command that was run: start it so, or name what runs it (--unit, --pid, --in)".into(),
        )],
        None => {}
    }
    let running = advice.processes.iter().filter(|being| alive(being, advice.service.as_deref()));
    let running: Vec<Subject> = running.map(|being| Subject::Process(being.pid)).collect();
    match &advice.service {
        _ if !running.is_empty() => running,
        Some(service) if service.ends_with(".service") => vec![Subject::Unit(service.clone())],
        _ => vec![Subject::Nobody(
            "the process of the report has ended: name what runs it (--unit, --pid)".into(),
        )],
    }
}

/// Whether that very process still runs. Its id may be another's by now, also of the same program.
fn alive(being: &Being, service: Option<&str>) -> bool {
    let exe = std::fs::read_link(format!("/proc/{}/exe", being.pid)).ok();
    let same = exe.is_some() && exe.as_deref().and_then(Path::to_str) == being.exe.as_deref();
    let started = being.started.is_none_or(|then| needless_host::started(being.pid) == Some(then));
    let serves = Service::of_pid(being.pid).ok().map(|service| service.to_string());
    same && started && service.is_none_or(|then| serves.as_deref() == Some(then))
}

/// Observes the unit or process, and gives what the rules advise.
fn look(asked: &cli::Fix) -> Result<Vec<(Advice, Remedy)>> {
    let who = match (&asked.unit, asked.pid) {
        (Some(unit), _) => Who::Unit(unit.clone()),
        (None, Some(pid)) => Who::Processes(vec![pid]),
        (None, None) => bail!("what shall be changed? Give REPORT, or --set VAR=VALUE"),
    };
    let options = needless_observe::ObserveOptions {
        watch: crate::settings::get().watched,
        above: Some(places::look_above),
        ..Default::default()
    };
    output::say(format_args!("observing {who} for {} s", LOOK.as_secs()));
    let profile = needless_observe::window(&who, LOOK, &options, &mut |_| ())
        .map_err(|failure| anyhow!(failure.message))?;
    let options = needless_rules::CheckOptions {
        min_saving_percent: 1.0,
        only: asked.rules.clone(),
        ignore: Vec::new(),
        pedantic: false,
        declared: crate::settings::get().rules,
    };
    let mut verdict = needless_rules::check_by_service(&profile, &options);
    crate::policy::suppress(&mut verdict, &profile, &options);
    for needless_rules::Suppressed { finding, reason, place, .. } in &verdict.suppressed {
        output::say(format_args!("{} is left alone: {place} says so ({reason})", finding.rule));
    }
    Ok(verdict.findings.iter().filter_map(|finding| advised(finding, &profile)).collect())
}

/// A finding with the best of its remedies that a tool may apply.
fn advised(finding: &Finding, profile: &Profile) -> Option<(Advice, Remedy)> {
    let applies = |remedy: &&Remedy| {
        let sets = matches!(
            remedy.change,
            Change::SetEnv { value: Some(_), .. } | Change::UnsetEnv { .. }
        );
        sets && !matches!(remedy.safety, Safety::Manual(_))
    };
    let remedy = finding.remedies.iter().find(applies)?.clone();
    let being = |process: &needless_model::Process| Being {
        pid: process.pid,
        exe: process.exe.clone(),
        started: process.started,
    };
    let advice = Advice {
        rule: finding.rule.to_owned(),
        service: finding.service.clone(),
        processes: finding.processes.iter().map(|id| being(profile.process(*id))).collect(),
        changes: Vec::new(),
    };
    Some((advice, remedy))
}
