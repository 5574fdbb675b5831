//! needless: finds the system calls a program makes but does not need. Wiring only.

mod advice;
mod change;
mod cli;
mod origin;
mod output;
mod policy;
mod progress;
mod prove;
mod settings;
mod whose;

use anyhow::{Context, Result, anyhow, bail};
use cli::{Action, Cli, ColorMode};
use needless_model::{Exit, Profile};
use needless_observe::{Failure, Who};
use needless_report::{Report, Source};
use output::{Output, Stream};
use policy::Policy;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Bad input, or a report that could not be written.
pub(crate) const FAILED: i32 = 2;
/// More is needless than `--fail-on` allows.
const OVER_BUDGET: i32 = 1;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let panic = panic.to_string().replace('\n', " ");
        output::say(format_args!("internal error, please report it: {panic}"));
    }));
    needless_observe::survive_file_size_limit();
    let cli = Cli::read();
    let when = cli.color;
    if let Err(error) = whose::decide(&cli.action).and_then(|()| settings::load(&cli)) {
        return fail(&error, failure(&cli.action));
    }
    settings::check_names(&cli);
    let done = match cli.action {
        Action::Run(run) if run.prove => return prove::run(&run, when),
        Action::Prove(asked) => return prove::prove(&asked, when),
        Action::Diff(asked) => prove::diff(&asked, when),
        Action::Run(run) => return observe(&run, when),
        Action::Preload(preload) => return self::preload(&preload),
        Action::Attach(attach) => return status(self::attach(&attach, when)),
        Action::Host(host) => return status(self::host(&host, when)),
        Action::Read(read) => return status(self::read(&read, when)),
        Action::Origin(origin) if !origin.command.is_empty() => {
            return origin::origin_of_run(&origin, when);
        }
        Action::Origin(origin) => origin::origin(&origin, when),
        Action::Fix(fix) => change::fix(&fix),
        Action::Undo(undo) => change::undo(&undo),
        Action::Lab(lab) => self::lab(&lab, when),
        Action::LabSubject(of) => {
            needless_lab::subject(&of.function, of.calls, of.etc_localtime.as_deref())
                .map_err(|why| anyhow!(why))
        }
        Action::Explain(explain) => self::explain(&explain, when),
        Action::Rules(rules) if rules.test => return status(self::test(when)),
        Action::Rules(rules) => print(
            |out, style| match rules.format {
                needless_report::Format::Json => {
                    needless_report::rules_json(out, settings::get().rules)
                }
                _ => needless_report::rules_table(out, settings::get().rules, style),
            },
            when,
        ),
        Action::Doctor => {
            let told = |check: needless_observe::Check| needless_report::Check {
                name: check.name.into(),
                ok: check.ok(),
                says: check.says,
                remedy: check.remedy,
            };
            let checks: Vec<_> = needless_observe::doctor().into_iter().map(told).collect();
            print(|out, style| needless_report::doctor(out, &checks, style), when)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, FAILED),
    }
}

/// The status for our own failures: another one where the command's own status is expected.
fn failure(action: &Action) -> i32 {
    match action {
        Action::Run(run) if !run.prove => Failure::OURS,
        Action::Origin(origin) if !origin.command.is_empty() => Failure::OURS,
        Action::Preload(_) => Failure::OURS,
        _ => FAILED,
    }
}

/// Whether all is as it should be, as an exit status.
fn status(done: Result<bool>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(OVER_BUDGET as u8),
        Err(error) => fail(&error, FAILED),
    }
}

/// observe → Profile · check → Findings · report, with the command's own exit status.
fn observe(run: &cli::Run, when: ColorMode) -> ExitCode {
    if run.elevate
        && let Some(failure) = needless_observe::elevate()
    {
        return fail(&failure.message, failure.status);
    }
    let opened = Output::of_report(&run.report, Stream::Stderr)
        .and_then(|output| Ok((output, Policy::open(&run.report)?)));
    let (output, gate) = match opened {
        Ok(opened) => opened,
        Err(error) => return fail(&error, Failure::OURS),
    };
    let options = needless_observe::ObserveOptions {
        backend: run.backend.into(),
        all: run.all,
        latency: run.latency,
        watch: settings::get().watched,
        rights: output.rights(&gate),
        ..Default::default()
    };
    // From here on we are the tracer; the process that the user started waits and mirrors us.
    let captured = match needless_observe::run(&run.command, whose::caller().cloned(), &options) {
        Ok(captured) => captured,
        Err(failure) => return fail(&failure.message, failure.status),
    };
    let program = run.command[0].to_string_lossy().into_owned();
    let source = Source::Run(program);
    let relied_on = gate.is_asked();
    let written = tell(&captured.profile, source, gate, run.report.format, output, when);
    if let Err(error) = &written {
        fail(error, FAILED);
    }
    // What the command itself has to say goes first.
    match written {
        Err(_) if relied_on && captured.exit() == Exit::Code(0) => std::process::exit(FAILED),
        Ok(false) if captured.exit() == Exit::Code(0) => std::process::exit(OVER_BUDGET),
        _ => captured.exit_like(),
    }
}

/// Becomes the command, or prints what would make it another.
fn preload(preload: &cli::Preload) -> ExitCode {
    if !preload.print {
        let say = |text: &str| output::say(format_args!("{text}"));
        let caller = whose::caller().cloned();
        let failure = needless_observe::preload(&preload.command, caller, preload.once, say);
        return fail(&failure.message, failure.status);
    }
    match needless_observe::preload_library() {
        Ok(library) => {
            let line = format!("LD_PRELOAD={}\n", library.display());
            let told = print(|out, _| out.write_all(line.as_bytes()), ColorMode::Never);
            match told {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(&error, FAILED),
            }
        }
        Err(failure) => fail(&failure.message, failure.status),
    }
}

fn attach(attach: &cli::Attach, when: ColorMode) -> Result<bool> {
    let who = match (&attach.unit, &attach.container, &attach.cgroup) {
        (Some(unit), ..) => Who::Unit(unit.clone()),
        (_, Some(container), _) => Who::Container(container.clone()),
        (.., Some(cgroup)) => Who::Cgroup(cgroup.clone()),
        _ => Who::Processes(attach.pids.clone()),
    };
    let source = Source::Attach(who.to_string());
    watch(&who, &attach.window, source, &attach.report, None, when)
}

fn host(host: &cli::Host, when: ColorMode) -> Result<bool> {
    let top = Some(host.top).filter(|top| *top > 0);
    watch(&Who::Everyone, &host.window, Source::Host, &host.report, top, when)
}

/// observe for a while → check by service → report.
fn watch(
    who: &Who,
    window: &cli::Window,
    source: Source,
    report: &cli::Report,
    top: Option<usize>,
    when: ColorMode,
) -> Result<bool> {
    let output = Output::of_report(report, Stream::Stdout)?;
    let gate = Policy::open(report)?;
    let options = needless_observe::ObserveOptions {
        all: window.all,
        latency: window.latency,
        watch: settings::get().watched,
        rights: output.rights(&gate),
        above: Some(needless_environment::look_above),
        ..Default::default()
    };
    let progress = progress::Progress::new(who, window.length);
    let profile = needless_observe::window(who, window.length, &options, &mut |so_far| {
        progress.show(so_far);
    });
    progress.end();
    let profile = profile.map_err(|failure| anyhow!(failure.message))?;
    let mut verdict = needless_rules::check_by_service(&profile, gate.options());
    let judgement = gate.judge(&mut verdict, &profile, &source)?;
    judgement.end(write(&profile, &verdict, source, top, report.format, output, when))
}

fn read(read: &cli::Read, when: ColorMode) -> Result<bool> {
    let output = Output::of_report(&read.report, Stream::Stdout)?;
    let gate = Policy::open(&read.report)?;
    let options =
        needless_strace_log::ReadOptions { watch: settings::get().watched, ..Default::default() };
    let stdin = Path::new("-");
    if read.files.len() > 1 && read.files.iter().any(|file| file == stdin) {
        bail!("-: standard input is one log and cannot be read together with files");
    }
    let profile = whose::as_them(|| -> Result<Profile> {
        let mut profile = if read.files == [stdin] {
            needless_strace_log::read(std::io::stdin().lock(), "standard input", &options)?
        } else {
            needless_strace_log::read_files(&read.files, &options)?
        };
        if read.here {
            let own = needless_host::Roots::new(Vec::new()).context("cannot open /")?;
            needless_observe::enrich(&mut profile, &own);
        }
        Ok(profile)
    })??;
    let files = read.files.iter().map(|file| match file == stdin {
        true => "standard input".into(),
        false => file.to_string_lossy(),
    });
    let names: Vec<_> = files.collect();
    tell(&profile, Source::Log(names.join(" ")), gate, read.report.format, output, when)
}

fn lab(lab: &cli::Lab, when: ColorMode) -> Result<()> {
    let Some(experiment) = &lab.experiment else {
        let all = needless_lab::EXPERIMENTS;
        return print(|out, style| needless_report::lab_list(out, &all, style), when);
    };
    let progress = progress::Progress::of_steps();
    let step = &mut |what: &str| progress.step(what);
    let (asked, told) = match experiment {
        cli::Experiment::Tz { calls, told } => {
            let output =
                Output::open(told.output.as_deref(), Stream::Stdout, prove::endings(told.format))?;
            let engine = needless_observe::preload_library().map_err(|failure| failure.message);
            let options = needless_lab::TzOptions { calls: *calls, engine };
            ((told, output), needless_lab::tz(&options, step))
        }
        cli::Experiment::Locale { runs, as_in_2001, names, told } => {
            let output =
                Output::open(told.output.as_deref(), Stream::Stdout, prove::endings(told.format))?;
            let options = needless_lab::LocaleOptions {
                runs: *runs,
                as_in_2001: *as_in_2001,
                names: names.clone(),
            };
            ((told, output), needless_lab::locale(&options, step))
        }
    };
    progress.end();
    let (told_as, output) = asked;
    let format = prove::format(told_as.format, told_as.output.as_deref());
    let told = told.map_err(|why| anyhow!(why))?;
    let mut text = Vec::new();
    needless_report::lab(&mut text, &told, format, output.style(when))
        .context("cannot form the report")?;
    output.write(&text)
}

fn explain(explain: &cli::Explain, when: ColorMode) -> Result<()> {
    let built_in = |rule: &needless_rules::Rule| needless_rules::page(rule).markdown();
    let pages: Vec<String> = match &explain.rule {
        Some(name) => {
            let declared = || settings::get().rule(name).map(|rule| rule.page());
            let page = needless_rules::by_name(name).map(built_in).or_else(declared);
            vec![page.context("no such rule")?]
        }
        None => {
            let declared = settings::get().rules.iter().map(|rule| rule.page());
            needless_rules::RULES.iter().map(|rule| built_in(rule)).chain(declared).collect()
        }
    };
    let pages = |out: &mut Vec<u8>, style| {
        for (at, page) in pages.iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            needless_report::explain(out, page, style)?;
        }
        Ok(())
    };
    print(pages, when)
}

/// check → report. Whether all is within the budget.
fn tell(
    profile: &Profile,
    source: Source,
    gate: Policy,
    format: Option<needless_report::Format>,
    output: Output,
    when: ColorMode,
) -> Result<bool> {
    let mut verdict = needless_rules::check(profile, gate.options());
    let judgement = gate.judge(&mut verdict, profile, &source)?;
    judgement.end(write(profile, &verdict, source, None, format, output, when))
}

pub(crate) fn rules(asked: &cli::Report) -> needless_rules::CheckOptions {
    // Each name once, however often it is given: they are looked through for every finding.
    let once = |names: &[String]| {
        let mut seen = std::collections::BTreeSet::new();
        names.iter().filter(|name| seen.insert(*name)).cloned().collect()
    };
    needless_rules::CheckOptions {
        min_saving_percent: asked.min_saving,
        only: once(&asked.rules),
        ignore: once(&asked.ignored),
        pedantic: asked.pedantic,
        declared: settings::get().rules,
    }
}

/// Runs the examples of declared rules. Whether all give what they say.
fn test(when: ColorMode) -> Result<bool> {
    let config = settings::get().config();
    let (examples, failures) = needless_config::test(config);
    let rules = config.rules.len();
    print(
        |out, _| {
            for needless_config::Failure { place, rule, why } in &failures {
                writeln!(
                    out,
                    "{}: {rule}: {}",
                    needless_report::clean(place),
                    needless_report::clean(why)
                )?;
            }
            writeln!(out, "{rules} rules, {examples} examples, {} failed", failures.len())
        },
        when,
    )?;
    Ok(failures.is_empty())
}

fn write(
    profile: &Profile,
    verdict: &needless_rules::Verdict,
    source: Source,
    top: Option<usize>,
    format: Option<needless_report::Format>,
    output: Output,
    when: ColorMode,
) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let report = Report { profile, verdict, source, top, proof: None, version };
    observed(&report, format, output, when)
}

fn observed(
    report: &Report<'_>,
    format: Option<needless_report::Format>,
    output: Output,
    when: ColorMode,
) -> Result<()> {
    let mut text = Vec::new();
    let (format, style) = (output.format(format), output.style(when));
    needless_report::write(&mut text, report, format, style).context("cannot form the report")?;
    output.write(&text)
}

/// Prints to standard output what is not about one capture.
pub(crate) fn print(
    form: impl FnOnce(&mut Vec<u8>, needless_report::Style) -> std::io::Result<()>,
    when: ColorMode,
) -> Result<()> {
    let output = Output::stdout();
    let mut text = Vec::new();
    form(&mut text, output.style(when)).context("cannot form the text")?;
    output.write(&text)
}

pub(crate) fn fail(error: &impl std::fmt::Display, status: i32) -> ExitCode {
    output::say(format_args!("{error:#}"));
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}
