//! `prove` and `run --prove`: measure a change of a command or of a service.

use super::diff;
use crate::cli::{MeasureArgs, ProveArgs, RunArgs, ServiceArgs};
use crate::context::Context;
use crate::output::{self, Output, Stream, emit_all};
use crate::progress::{Pairs, Progress};
use crate::{advice, exit, places, report};
use anyhow::{Context as _, Result, bail};
use needless_model::{Change, Exit, Proof};
use needless_observe::{LiveFacts, ObserveOptions, Who};
use needless_prove::{
    ProveOptions, ServiceWindow, can_make, first_changes, mark_proven, observe_service,
    one_for_each_variable,
};
use needless_report::{
    Difference, ProfileFormat, ProofDocument, Report, ReportDocument, Saved, Source,
};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The time for the pairs where no option says it.
const BUDGET: Duration = Duration::from_secs(20);

pub(crate) fn prove(args: &ProveArgs, context: &Context) -> Result<Exit> {
    let service = &args.service;
    let proven = if service.unit.is_some() || !service.pid.is_empty() {
        of_service(service, args, context)?
    } else {
        of_command(args, context)?
    };
    Ok(exit::answer(proven))
}

fn of_command(args: &ProveArgs, context: &Context) -> Result<bool> {
    let named =
        !args.set.is_empty() || !args.unset.is_empty() || !args.without.is_empty() || args.preload;
    if let Some(report) = args.report.as_deref().filter(|_| named) {
        bail!(
            "{}: pass a report, or --set, --unset, --without and --preload, not both; a command goes after --, as in needless prove --set TZ=UTC -- date",
            report.display()
        );
    }
    if args.command.is_empty() {
        bail!(
            "no command: it goes after --, as in needless prove --set TZ=UTC -- date; a report does not hold it, because arguments may be secrets"
        );
    }
    let mut seen = HashSet::new();
    let mut set = args.set.iter().chain(&args.unset).filter_map(Change::variable);
    if let Some(twice) = set.find(|variable| !seen.insert(*variable)) {
        bail!("{twice}: --set and --unset change it twice: name it once");
    }
    let outputs = args.output.open(context)?;
    let named = args.set.iter().chain(&args.unset).chain(&args.without);
    let mut changes: Vec<Change> = named.cloned().collect();
    changes.extend(args.preload.then_some(Change::Preload));
    if let Some(report) = &args.report {
        changes = advised(report, args, context)?;
    }
    if changes.is_empty() {
        bail!(
            "no change to measure: pass a report, --set VAR=VALUE, --unset VAR, --without VAR=ENTRY or --preload"
        );
    }
    let options = options(&args.measure, context)?;
    let mut proof = experiment(&args.command, &changes, &options, context)?;
    for change in &mut proof.changes {
        if let Change::SetEnv { variable, value: Some(value) } = change {
            *value = needless_environment::shown(variable, value).to_owned();
        }
    }
    let document = ProofDocument::of(&proof, crate::VERSION);
    emit_all(outputs, args.output.format, |out, format, style| {
        needless_report::write_proof(out, &document, format, style)
    })?;
    is_proven(&proof)
}

/// Whether the proof holds.
///
/// # Errors
/// When the pairs could not all be measured. The report is written by then.
fn is_proven(proof: &Proof) -> Result<bool> {
    match &proof.failure {
        Some(why) => {
            let pairs = if proof.pairs == 1 { "pair" } else { "pairs" };
            bail!("{why}; the report covers the {} {pairs} before", proof.pairs)
        }
        None => Ok(proof.holds()),
    }
}

/// Runs the command as `run` does, then measures the remedies of its findings.
pub(crate) fn run_and_prove(args: &RunArgs, context: &Context) -> Result<Exit> {
    let outputs = report::outputs(context, &args.report, Stream::Stderr)?;
    let measure = MeasureArgs {
        count_only: false,
        runs: args.runs,
        budget: args.budget,
        warmup: 1,
        stdin: None,
        prepare: None,
        cleanup: None,
        ignore_output: args.ignore_output.clone(),
        seed: None,
        backend: args.backend,
    };
    let options = options(&measure, context)?;
    let launch = needless_observe::launch(&args.command, context.user.caller())?;
    let profile = needless_observe::count(launch, &options.capture)?.profile;
    let check = context.settings.check_options(&args.report);
    let mut verdict = needless_rules::check(&profile, &check);
    context.settings.suppress(&mut verdict, &profile, &check);
    let changes = first_changes(&verdict.findings);
    let mut proof = None;
    if !changes.is_empty() {
        let measured = experiment(&args.command, &changes, &options, context)?;
        mark_proven(&mut verdict.findings, &measured);
        proof = Some(measured);
    }
    let program = args.command[0].to_string_lossy().into_owned();
    if report::points_at_files(&outputs, args.report.format()) {
        verdict.places = places::of(verdict.findings.iter(), &profile, &program, context);
        verdict.file = places::of_command(&program);
    }
    let source = Source::Run(program);
    let document = ReportDocument::of(&profile, &verdict, &source, proof.as_ref(), crate::VERSION);
    let report = Report {
        document: &document,
        rows: Some((&profile, &verdict)),
        top: None,
        details: args.report.details(),
        command: &args.command,
    };
    report::emit(&report, outputs, args.report.format())?;
    if changes.is_empty() {
        let why = if verdict.findings.is_empty() {
            "nothing needless was found"
        } else {
            "a person has to decide each remedy"
        };
        output::warn(format_args!("nothing to prove: {why}"));
    }
    Ok(exit::answer(proof.as_ref().map_or(Ok(false), is_proven)?))
}

/// Standard input, if it is a file: each run reads it from its start.
pub(super) fn file_on_stdin() -> Option<PathBuf> {
    // To open this path makes a new file description, with an offset of its own.
    let path = PathBuf::from("/proc/self/fd/0");
    std::fs::metadata(&path).is_ok_and(|file| file.is_file()).then_some(path)
}

/// `file`, for runs to read. Behind sudo it is opened here, with the rights of the user who ran it, and the runs get
/// the open file.
pub(super) fn for_runs(file: &Path, context: &Context) -> Result<PathBuf> {
    let named = || format!("--stdin: cannot open {}", file.display());
    if !context.user.is_other() {
        std::fs::metadata(file).with_context(named)?;
        return Ok(file.to_owned());
    }
    let opened = context.user.act(|| {
        // First, because opening a pipe waits for its writer.
        let kind = std::fs::metadata(file)?.file_type();
        let fit = kind.is_file() || kind.is_char_device();
        fit.then(|| File::open(file)).transpose()
    })?;
    let Some(opened) = opened.with_context(named)? else {
        bail!("{}: not a file that each run can read from its start", named());
    };
    // It stays open until this process ends.
    Ok(format!("/proc/self/fd/{}", opened.into_raw_fd()).into())
}

fn options(args: &MeasureArgs, context: &Context) -> Result<ProveOptions> {
    let stdin = args.stdin.as_deref().map(|file| for_runs(file, context)).transpose()?;
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(ProveOptions {
        count_only: args.count_only,
        runs: args.runs.map(|runs| runs as usize),
        budget: args.budget.or(args.runs.is_none().then_some(BUDGET)),
        warmup: args.warmup.into(),
        stdin: stdin.or_else(file_on_stdin),
        prepare: args.prepare.clone(),
        cleanup: args.cleanup.clone(),
        ignored: args.ignore_output.clone(),
        seed: args.seed.unwrap_or(clock.as_nanos() as u64 ^ u64::from(std::process::id())),
        capture: ObserveOptions {
            backend: args.backend.into(),
            all: true,
            watch: context.settings.watched.clone(),
            ..ObserveOptions::default()
        },
        declared: context.settings.rules.clone(),
    })
}

/// Measures, and shows how far it is.
fn experiment(
    command: &[OsString],
    changes: &[Change],
    options: &ProveOptions,
    context: &Context,
) -> Result<Proof> {
    let mut progress = Pairs::new(options.runs, options.budget);
    let caller = context.user.caller();
    let show = &mut |step| progress.show(step);
    let done = needless_prove::prove(command, caller, changes, options, show);
    drop(progress);
    Ok(done?)
}

/// The changes that a report advises, as the rules advise them for this command.
fn advised(path: &Path, args: &ProveArgs, context: &Context) -> Result<Vec<Change>> {
    let Saved { findings, .. } = advice::report(context, path)?;
    let rules = &args.rules;
    let mut now = LiveFacts::new(context.settings.watched.clone());
    let (mut changes, mut shown, mut refused) = (Vec::new(), HashSet::new(), 0);
    for finding in findings.iter().filter(|f| rules.is_empty() || rules.contains(&f.rule)) {
        let Some(change) = advice::first(finding, can_make) else { continue };
        let here =
            |variable: &str| Ok(now.command(&args.command, context.user.caller(), variable)?);
        match advice::remedy(context, &finding.rule, &change, here) {
            Ok((remedy, other)) => {
                advice::warn_once(&mut shown, other);
                changes.push(remedy.change);
            }
            Err(why) => {
                refused += 1;
                advice::warn_once(&mut shown, Some(format!("{why:#}")));
            }
        }
    }
    let changes = one_for_each_variable(changes.into_iter());
    if changes.is_empty() {
        bail!(
            "{}: it advises nothing{} that can be tried {}{}",
            path.display(),
            if rules.is_empty() { "" } else { " by these rules" },
            if refused > 0 { "here" } else { "without a person's decision" },
            advice::by_hand(&findings, rules)
        );
    }
    Ok(changes)
}

/// Observes a service for a window, which is saved, or compared with the one saved before.
fn of_service(service: &ServiceArgs, args: &ProveArgs, context: &Context) -> Result<bool> {
    let who = match &service.unit {
        Some(unit) => Who::Unit(unit.clone()),
        None => Who::WithDescendants(service.pid.clone()),
    };
    if service.before.is_none() && service.save_before.is_none() {
        bail!(
            "{who}: nothing to compare with: save a window with --save-before FILE, make the change, then run it with --before FILE"
        );
    }
    let before = service.before.as_deref().map(|path| diff::saved(path, context)).transpose()?;
    let outputs = match service.save_before.as_deref() {
        // A saved window is a JSON profile, whatever its file is called.
        Some(file) => vec![Output::open(context, Some(file), Stream::Stdout, None)?],
        None => args.output.open(context)?,
    };
    let mut progress = Progress::new(&who, service.length);
    let window = ServiceWindow {
        who,
        length: service.length,
        counter: service.per.clone(),
        caller: context.user.caller(),
        watch: context.settings.watched.clone(),
    };
    let now = observe_service(&window, &mut |so_far| progress.show(so_far));
    drop(progress);
    let now = now?;
    let Some(before) = before else {
        emit_all(outputs, Some(ProfileFormat::Json), |out, format, style| {
            needless_report::write_profile(out, &now, crate::VERSION, format, style)
        })?;
        return Ok(true);
    };
    let difference = Difference { before: &before.snapshot, after: &now, service: true };
    let proven = difference.proven();
    diff::emit(&difference, &args.output, outputs)?;
    Ok(proven)
}
