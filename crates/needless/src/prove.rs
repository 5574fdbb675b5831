//! `needless prove`, `needless run --prove` and `needless diff`: wiring.

use crate::cli::{self, ColorMode};
use crate::output::{Output, Stream};
use crate::whose::{self, as_them};
use crate::{advice, fail, observed, rules};
use anyhow::{Context, Result, anyhow, bail};
use needless_model::{Change, Exit, Finding, Profile, Proof, Remedy, Safety, Snapshot, Stage};
use needless_observe::{Caller, Now, Who};
use needless_prove::{Experiment, can_make};
use needless_report::{Difference, ProofFormat, Report, Saved, Source};
use needless_rules::Verdict;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

const PROVEN: u8 = 0;
const NOT_PROVEN: u8 = 1;
const FAILED: i32 = 2;

/// Where nobody says how long.
const BUDGET: Duration = Duration::from_secs(20);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// 0 proven, 1 not proven, 2 failed.
pub(crate) fn prove(asked: &cli::Prove, when: ColorMode) -> ExitCode {
    let service = &asked.service;
    let done = match service.unit.is_some() || !service.pid.is_empty() {
        true => self::service(asked, when),
        false => command(asked, when),
    };
    status(done)
}

/// The command is run as `run` does, then measured with what is advised.
pub(crate) fn run(asked: &cli::Run, when: ColorMode) -> ExitCode {
    status(run_and_prove(asked, when))
}

pub(crate) fn diff(asked: &cli::Diff, when: ColorMode) -> Result<()> {
    let output = Output::open(asked.output.as_deref(), Stream::Stdout, endings(asked.format))?;
    let (before, after) = (capture(&asked.before)?, capture(&asked.after)?);
    let difference = Difference { before: &before, after: &after, service: false };
    write_diff(&difference, asked.format, asked.output.as_deref(), output, when)
}

fn status(done: Result<bool>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::from(PROVEN),
        Ok(false) => ExitCode::from(NOT_PROVEN),
        Err(error) => fail(&error, FAILED),
    }
}

fn command(asked: &cli::Prove, when: ColorMode) -> Result<bool> {
    let named = !asked.set.is_empty() || !asked.unset.is_empty() || asked.preload;
    if let Some(report) = asked.report.as_deref().filter(|_| named) {
        bail!(
            "{}: a report, or --set, --unset and --preload, not both; a command goes behind --, as in needless prove --set TZ=UTC -- date",
            report.display()
        );
    }
    if asked.command.is_empty() {
        bail!(
            "no command: it goes behind --, as in needless prove --set TZ=UTC -- date; a report does not hold it, since arguments may be secrets"
        );
    }
    let output = Output::open(asked.output.as_deref(), Stream::Stdout, endings(asked.format))?;
    let mut changes: Vec<Change> = asked.set.iter().chain(&asked.unset).cloned().collect();
    changes.extend(asked.preload.then_some(Change::Preload));
    if let Some(report) = &asked.report {
        changes = advised(report, asked, whose::caller())?;
    }
    if changes.is_empty() {
        bail!("no change to measure: give a report, --set VAR=VALUE, --unset VAR or --preload");
    }
    let options = options(&asked.measure)?;
    let experiment = experiment(&asked.command, &changes, &options)?;
    let format = format(asked.format, asked.output.as_deref());
    let mut text = Vec::new();
    let style = output.style(when);
    needless_report::write_proof(&mut text, &experiment.proof, VERSION, format, style)?;
    output.write(&text)?;
    verdict(&experiment.proof)
}

/// Whether something was proven.
///
/// # Errors
/// When the pairs were not measured to their end; the report is written by then.
fn verdict(proof: &Proof) -> Result<bool> {
    match &proof.failure {
        Some(why) => {
            let pairs = if proof.pairs == 1 { "pair" } else { "pairs" };
            bail!("{why}; the report is of the {} {pairs} before", proof.pairs)
        }
        None => Ok(proof.holds()),
    }
}

/// Standard input, if it is a file: each run gets it from its start.
fn file_on_stdin() -> Option<PathBuf> {
    // Opened anew, it has an offset of its own.
    let opened = PathBuf::from("/proc/self/fd/0");
    std::fs::metadata(&opened).is_ok_and(|file| file.is_file()).then_some(opened)
}

/// `file`, for runs to read. Behind sudo it is opened here, with the rights of whoever ran it, and what is
/// open is what the runs get.
fn for_runs(file: &Path) -> Result<PathBuf> {
    if whose::caller().is_none() {
        return Ok(file.to_owned());
    }
    let named = || format!("--stdin: cannot open {}", file.display());
    let opened = as_them(|| {
        // Looked at first: to open a pipe is to wait for who writes to it.
        let kind = std::fs::metadata(file)?.file_type();
        let fit = kind.is_file() || kind.is_char_device();
        fit.then(|| File::open(file)).transpose()
    })?;
    let Some(opened) = opened.with_context(named)? else {
        bail!("{}: it is no file, which each run can read from its start", named());
    };
    // Open until we end.
    Ok(format!("/proc/self/fd/{}", opened.into_raw_fd()).into())
}

fn options(asked: &cli::Measure) -> Result<needless_prove::ProveOptions> {
    let stdin = asked.stdin.as_deref().map(for_runs).transpose()?;
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(needless_prove::ProveOptions {
        count_only: asked.count_only,
        runs: asked.runs.map(|runs| runs as usize),
        budget: asked.budget.or(asked.runs.is_none().then_some(BUDGET)),
        warmup: asked.warmup.into(),
        stdin: stdin.or_else(file_on_stdin),
        prepare: asked.prepare.clone(),
        cleanup: asked.cleanup.clone(),
        ignored: asked.ignore_output.clone(),
        seed: asked.seed.unwrap_or(clock.as_nanos() as u64 ^ u64::from(std::process::id())),
        capture: needless_observe::ObserveOptions {
            backend: asked.backend.into(),
            all: true,
            watch: crate::settings::get().watched,
            ..Default::default()
        },
    })
}

/// Measures, and adds what the rules predicted.
fn experiment(
    words: &[OsString],
    changes: &[Change],
    options: &needless_prove::ProveOptions,
) -> Result<Experiment> {
    let progress = crate::progress::Pairs::new(options.runs, options.budget);
    let caller = whose::caller().cloned();
    let done =
        needless_prove::prove(words, caller, changes, options, &mut |step| progress.show(step));
    progress.end();
    let mut experiment = done.map_err(|failure| anyhow!(failure.message))?;
    if let Some(after) = &experiment.after {
        experiment.proof.predictions = predictions(&experiment.before, after, changes);
    }
    Ok(experiment)
}

/// What of a profile is needless, however little, and also what is shown only on demand: a change may be for that.
fn everything(profile: &Profile) -> Verdict {
    let declared = crate::settings::get().rules;
    let all = needless_rules::CheckOptions {
        min_saving_percent: 0.0,
        pedantic: true,
        declared,
        ..Default::default()
    };
    needless_rules::check(profile, &all)
}

/// What the rules whose remedies are of the same kind as `changes` find, and how many of the calls
/// that their findings are about went.
fn predictions(
    before: &Profile,
    after: &Profile,
    changes: &[Change],
) -> Vec<needless_model::Prediction> {
    let (was, is) = (Snapshot::of(before, ""), Snapshot::of(after, ""));
    let mut by_rule: BTreeMap<&'static str, Vec<Finding>> = BTreeMap::new();
    for finding in everything(before).findings {
        if concerns(&finding, changes) {
            by_rule.entry(finding.rule).or_default().push(finding);
        }
    }
    let unnamed = |of: &Snapshot| -> i64 {
        of.rows.iter().filter(|((_, path, _), _)| path.is_empty()).map(|(_, n)| *n as i64).sum()
    };
    let prediction = |(rule, findings): (&'static str, Vec<Finding>)| {
        let rows = findings.iter().flat_map(|finding| &finding.rows);
        let keys: BTreeSet<_> = rows.map(|at| Snapshot::key(before, &before.rows[*at])).collect();
        let count = |of: &Snapshot, key| of.rows.get(key).map_or(0, |n| *n as i64);
        let predicted: u64 = findings.iter().map(|finding| finding.needless).sum();
        let named: i64 = keys.iter().map(|key| count(&was, key)).sum();
        // What is read from a file once it is open has no path: where a finding is about more calls than
        // its rows hold, the rest of them are among those.
        let rest = (predicted as i64 - named).max(0);
        let fell: i64 = keys.iter().map(|key| count(&was, key) - count(&is, key)).sum();
        needless_model::Prediction {
            rule,
            predicted,
            went: fell + (unnamed(&was) - unnamed(&is)).clamp(0, rest),
            kernel_ns: findings.iter().map(|finding| finding.kernel_ns).sum(),
        }
    };
    by_rule.into_iter().map(prediction).collect()
}

/// Whether one of the changes is of a variable that the finding says something about. Our time
/// functions are what else helps where TZ is unset.
fn concerns(finding: &Finding, changes: &[Change]) -> bool {
    let variable = |change: &Change| match change {
        Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => Some(variable.clone()),
        Change::Preload => Some("TZ".to_owned()).filter(|_| finding.rule == "tz-unset"),
        Change::Option(_) | Change::Manual(_) => None,
    };
    let advised: Vec<String> =
        finding.remedies.iter().filter_map(|remedy| variable(&remedy.change)).collect();
    changes.iter().filter_map(variable).any(|changed| advised.contains(&changed))
}

/// Each variable once: what the first finding wants.
fn once(changes: impl Iterator<Item = Change>) -> Vec<Change> {
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut all: Vec<Change> = Vec::new();
    for change in changes {
        let name = match &change {
            Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => variable.clone(),
            _ => String::new(),
        };
        if named.insert(name) {
            all.push(change);
        }
    }
    all
}

/// The changes that a report advises, as they are right for this command.
fn advised(report: &Path, asked: &cli::Prove, caller: Option<&Caller>) -> Result<Vec<Change>> {
    let Saved { findings, .. } = advice::report(report)?;
    let rules = &asked.rules;
    let mut now = Now::new(crate::settings::get().watched);
    let (mut changes, mut said, mut refused) = (Vec::new(), HashSet::new(), 0);
    for finding in findings.iter().filter(|f| rules.is_empty() || rules.contains(&f.rule)) {
        let Some(change) = advice::first(finding) else { continue };
        let here = |variable: &str| {
            let here = now.command(&asked.command, caller.cloned(), variable);
            here.map_err(|failure| anyhow!(failure.message))
        };
        match advice::remedy(&finding.rule, change, here) {
            Ok((remedy, other)) => {
                advice::say_once(&mut said, other);
                changes.push(remedy.change);
            }
            Err(why) => {
                refused += 1;
                advice::say_once(&mut said, Some(format!("{why:#}")));
            }
        }
    }
    let changes = once(changes.into_iter());
    if changes.is_empty() {
        bail!(
            "{}: it advises nothing{} that can be tried {}{}",
            report.display(),
            if rules.is_empty() { "" } else { " by these rules" },
            if refused > 0 { "here" } else { "without a person's decision" },
            advice::by_hand(&findings, rules)
        );
    }
    Ok(changes)
}

fn run_and_prove(asked: &cli::Run, when: ColorMode) -> Result<bool> {
    let output = Output::of_report(&asked.report, Stream::Stderr)?;
    let measure = cli::Measure {
        count_only: false,
        runs: asked.runs,
        budget: asked.budget,
        warmup: 1,
        stdin: None,
        prepare: None,
        cleanup: None,
        ignore_output: asked.ignore_output.clone(),
        seed: None,
        backend: asked.backend,
    };
    let options = options(&measure)?;
    let failed = |failure: needless_observe::Failure| anyhow!(failure.message);
    let launch =
        needless_observe::launch(&asked.command, whose::caller().cloned()).map_err(failed)?;
    let captured = needless_observe::count(launch, &options.capture).map_err(failed)?;
    let profile = captured.profile;
    let rules = rules(&asked.report);
    let mut verdict = needless_rules::check(&profile, &rules);
    crate::policy::suppress(&mut verdict, &profile, &rules);
    let firsts = verdict.findings.iter().filter_map(|finding| {
        let manual = |remedy: &&Remedy| matches!(remedy.safety, Safety::Manual(_));
        finding.remedies.iter().find(|remedy| !manual(remedy) && can_make(&remedy.change))
    });
    let changes = once(firsts.map(|remedy| remedy.change.clone()));
    let mut proof = None;
    if !changes.is_empty() {
        let experiment = experiment(&asked.command, &changes, &options)?;
        mark(&mut verdict.findings, &experiment, &changes);
        proof = Some(experiment.proof);
    }
    let program = asked.command[0].to_string_lossy().into_owned();
    let report = Report {
        profile: &profile,
        verdict: &verdict,
        source: Source::Run(program),
        top: None,
        proof: proof.as_ref(),
        version: VERSION,
    };
    observed(&report, asked.report.format, output, when)?;
    if changes.is_empty() {
        let why = match verdict.findings.is_empty() {
            true => "nothing needless was found",
            false => "no remedy can be tried without a person's decision",
        };
        crate::output::say(format_args!("nothing to prove: {why}"));
    }
    proof.as_ref().map_or(Ok(false), self::verdict)
}

/// A finding is proven if the experiment proved the changes together and most of the calls that it is
/// about went.
fn mark(findings: &mut [Finding], experiment: &Experiment, changes: &[Change]) {
    if !experiment.proof.holds() {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| concerns(finding, changes)) {
        let known = experiment.proof.predictions.iter().find(|p| p.rule == finding.rule);
        if known.is_some_and(|known| known.went * 2 >= known.predicted as i64) {
            finding.stage = Stage::Proven;
        }
    }
}

/// A window over a service: saved, or compared with the one saved before.
fn service(asked: &cli::Prove, when: ColorMode) -> Result<bool> {
    let service = &asked.service;
    let who = match &service.unit {
        Some(unit) => Who::Unit(unit.clone()),
        None => Who::Processes(service.pid.clone()),
    };
    if service.before.is_none() && service.save_before.is_none() {
        bail!(
            "{who}: a window is compared with one before the change: save that with --save-before FILE, make the change, then --before FILE"
        );
    }
    let before = service.before.as_deref().map(saved).transpose()?;
    let output = match service.save_before.as_deref() {
        // A window that is saved is a JSON profile, whatever its file is called.
        Some(file) => Output::open(Some(file), Stream::Stdout, None)?,
        None => Output::open(asked.output.as_deref(), Stream::Stdout, endings(asked.format))?,
    };
    let options = needless_observe::ObserveOptions {
        all: true,
        watch: crate::settings::get().watched,
        ..Default::default()
    };
    let count = || service.per.as_ref().map(requests).transpose();
    let at_first = count()?;
    let first = Instant::now();
    let progress = crate::progress::Progress::new(&who, service.length);
    let profile = needless_observe::window(&who, service.length, &options, &mut |so_far| {
        progress.show(so_far);
    });
    progress.end();
    let profile = profile.map_err(|failure| anyhow!(failure.message))?;
    let between = first.elapsed();
    let at_last = count()?;
    if let (Some(first), Some(last)) = (at_first, at_last)
        && last <= first
    {
        bail!(
            "--per: no request was counted in the window: the counter went from {first} to {last}"
        );
    }
    let mut now = Snapshot::of(&profile, who.to_string());
    // Starting to observe takes a while, in which requests are served and calls are not counted.
    let observed = now.window_ns.map_or(1.0, |ns| ns as f64 / between.as_nanos().max(1) as f64);
    now.requests = at_first.zip(at_last).map(|(first, last)| (last - first) * observed.min(1.0));
    let Some(before) = before else {
        let mut text = Vec::new();
        needless_report::write_snapshot(&mut text, &now, VERSION)?;
        output.write(&text)?;
        return Ok(true);
    };
    let difference = Difference { before: &before.snapshot, after: &now, service: true };
    let proven = difference.proven();
    write_diff(&difference, asked.format, asked.output.as_deref(), output, when)?;
    Ok(proven)
}

/// What the counter prints.
fn requests(counter: &OsString) -> Result<f64> {
    let (said, exit) = needless_prove::ask(counter, whose::caller().cloned())
        .map_err(|failure| anyhow!("--per: {}", failure.message))?;
    let text = String::from_utf8_lossy(&said);
    match text.trim().parse::<f64>() {
        Ok(number) if exit == Exit::Code(0) && number.is_finite() => Ok(number),
        _ => bail!(
            "--per: the command has to print one number and to succeed; it printed {:?}, {}",
            text.trim().chars().take(80).collect::<String>(),
            match exit {
                Exit::Code(code) => format!("exit status {code}"),
                Exit::Signal(number) => format!("signal {number}"),
            }
        ),
    }
}

/// A capture of whatever kind.
fn capture(path: &Path) -> Result<Snapshot> {
    let named = || format!("cannot read {}", path.display());
    let mut file = as_them(|| File::open(path))?.with_context(named)?;
    let mut start = [0];
    let is_json = file.read(&mut start).with_context(named)? == 1 && start == *b"{";
    if is_json {
        return Ok(saved(path)?.snapshot);
    }
    let options = needless_strace_log::ReadOptions {
        watch: crate::settings::get().watched,
        ..Default::default()
    };
    let read = || needless_strace_log::read_files(&[path.to_owned()], &options);
    let profile = as_them(read)??;
    Ok(Snapshot::of(&profile, path.to_string_lossy()))
}

fn saved(path: &Path) -> Result<Saved> {
    let text = whose::text_of(path)?;
    needless_report::read_saved(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
}

/// Those that name a format, where none is asked for.
pub(crate) fn endings(asked: Option<ProofFormat>) -> Option<&'static [&'static str]> {
    asked.is_none().then_some(ProofFormat::ENDINGS)
}

/// As asked, else by the file's ending.
pub(crate) fn format(asked: Option<ProofFormat>, path: Option<&Path>) -> ProofFormat {
    asked.unwrap_or_else(|| path.map_or(ProofFormat::Full, ProofFormat::of_path))
}

fn write_diff(
    difference: &Difference<'_>,
    asked: Option<ProofFormat>,
    path: Option<&Path>,
    output: Output,
    when: ColorMode,
) -> Result<()> {
    let mut text = Vec::new();
    let (format, style) = (format(asked, path), output.style(when));
    needless_report::write_diff(&mut text, difference, VERSION, format, style)?;
    text.flush()?;
    output.write(&text)
}
