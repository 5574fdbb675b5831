//! needless: finds the system calls a program makes but does not need. Wiring only.

mod change;
mod cli;
mod origin;
mod output;
mod progress;
mod prove;

use anyhow::{Context, Result, anyhow, bail};
use cli::{Action, Cli, When};
use needless_capture::{Failure, Who};
use needless_model::Profile;
use needless_report::{Report, Source};
use output::{Output, Stream};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Bad input, or a report that could not be written.
pub(crate) const FAILED: i32 = 2;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        output::say(format_args!("internal error, please report it: {panic}"));
    }));
    let cli = Cli::read();
    let when = cli.color;
    let done = match cli.action {
        Action::Run(run) if run.prove => return prove::run(&run, when),
        Action::Prove(asked) => return prove::prove(&asked, when),
        Action::Diff(asked) => prove::diff(&asked, when),
        Action::Run(run) => return observe(&run, when),
        Action::Preload(preload) => return self::preload(&preload),
        Action::Attach(attach) => self::attach(&attach, when),
        Action::Host(host) => self::host(&host, when),
        Action::Read(read) => self::read(&read, when),
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
        Action::Rules(rules) => print(
            |out, style| match rules.format {
                needless_report::Format::Json => needless_report::rules_json(out),
                _ => needless_report::rules_table(out, style),
            },
            when,
        ),
        Action::Doctor => {
            let told = |check: needless_capture::Check| needless_report::Check {
                name: check.name.into(),
                ok: check.ok(),
                says: check.says,
                remedy: check.remedy,
            };
            let checks: Vec<_> = needless_capture::doctor().into_iter().map(told).collect();
            print(|out, style| needless_report::doctor(out, &checks, style), when)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error, FAILED),
    }
}

/// observe → Profile · check → Findings · report, with the command's own exit status.
fn observe(run: &cli::Run, when: When) -> ExitCode {
    if run.elevate
        && let Some(failure) = needless_capture::elevate()
    {
        return complain(&failure.message, failure.status);
    }
    let output = match Output::open(run.report.output.as_deref(), Stream::Stderr) {
        Ok(output) => output,
        Err(error) => return complain(&error, Failure::OURS),
    };
    let options = needless_capture::Options {
        backend: run.backend.into(),
        all: run.all,
        latency: run.latency,
        watch: needless_rules::watched_variables(),
        ..Default::default()
    };
    // From here on we are the tracer; the process that the user started waits and mirrors us.
    let captured = match needless_capture::run(&run.command, output.caller().cloned(), &options) {
        Ok(captured) => captured,
        Err(failure) => return complain(&failure.message, failure.status),
    };
    let program = run.command[0].to_string_lossy().into_owned();
    let told = tell(&captured.profile, Source::Run(program), &run.report, output, when);
    if let Err(error) = told {
        complain(&error, Failure::OURS);
    }
    captured.mirror()
}

/// Becomes the command, or prints what would make it another.
fn preload(preload: &cli::Preload) -> ExitCode {
    if !preload.print {
        let say = |text: &str| output::say(format_args!("{text}"));
        let failure = needless_capture::preload(&preload.command, preload.once, say);
        return complain(&failure.message, failure.status);
    }
    match needless_capture::preload_library() {
        Ok(library) => {
            let line = format!("LD_PRELOAD={}\n", library.display());
            let told = print(|out, _| out.write_all(line.as_bytes()), When::Never);
            match told {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => complain(&error, FAILED),
            }
        }
        Err(failure) => complain(&failure.message, failure.status),
    }
}

fn attach(attach: &cli::Attach, when: When) -> Result<()> {
    let who = match (&attach.unit, &attach.container, &attach.cgroup) {
        (Some(unit), ..) => Who::Unit(unit.clone()),
        (_, Some(container), _) => Who::Container(container.clone()),
        (.., Some(cgroup)) => Who::Cgroup(cgroup.clone()),
        _ => Who::Processes(attach.pids.clone()),
    };
    let source = Source::Attach(who.to_string());
    watch(&who, &attach.window, source, &attach.report, None, when)
}

fn host(host: &cli::Host, when: When) -> Result<()> {
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
    when: When,
) -> Result<()> {
    let output = Output::open(report.output.as_deref(), Stream::Stdout)?;
    let options = needless_capture::Options {
        all: window.all,
        latency: window.latency,
        watch: needless_rules::watched_variables(),
        ..Default::default()
    };
    let progress = progress::Progress::new(who, window.length);
    let profile = needless_capture::window(who, window.length, &options, &mut |so_far| {
        progress.show(so_far);
    });
    progress.end();
    let profile = profile.map_err(|failure| anyhow!(failure.message))?;
    let verdict = needless_rules::check_by_service(&profile, &rules(report));
    write(&profile, &verdict, source, top, report.format, output, when)
}

fn read(read: &cli::Read, when: When) -> Result<()> {
    let output = Output::open(read.report.output.as_deref(), Stream::Stdout)?;
    let options = needless_strace_log::Options {
        watch: needless_rules::watched_variables(),
        ..Default::default()
    };
    let stdin = Path::new("-");
    if read.files.len() > 1 && read.files.iter().any(|file| file == stdin) {
        bail!("-: standard input is one log and cannot be read together with files");
    }
    let mut profile = if read.files == [stdin] {
        needless_strace_log::read(std::io::stdin().lock(), "standard input", &options)?
    } else {
        needless_strace_log::read_files(&read.files, &options)?
    };
    if read.here {
        let own = needless_capture::Roots::new(Vec::new()).context("cannot open /")?;
        needless_capture::enrich(&mut profile, &own);
    }
    let files = read.files.iter().map(|file| match file == stdin {
        true => "standard input".into(),
        false => file.to_string_lossy(),
    });
    let names: Vec<_> = files.collect();
    tell(&profile, Source::Log(names.join(" ")), &read.report, output, when)
}

fn lab(lab: &cli::Lab, when: When) -> Result<()> {
    let Some(experiment) = &lab.experiment else {
        let all = needless_lab::EXPERIMENTS;
        return print(|out, style| needless_report::lab_list(out, &all, style), when);
    };
    let progress = progress::Progress::of_steps();
    let step = &mut |what: &str| progress.step(what);
    let (asked, told) = match experiment {
        cli::Experiment::Tz { calls, told } => {
            let output = Output::open(told.output.as_deref(), Stream::Stdout)?;
            let engine = needless_capture::preload_library().map_err(|failure| failure.message);
            let options = needless_lab::TzOptions { calls: *calls, engine };
            ((told, output), needless_lab::tz(&options, step))
        }
        cli::Experiment::Locale { runs, as_in_2001, names, told } => {
            let output = Output::open(told.output.as_deref(), Stream::Stdout)?;
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

fn explain(explain: &cli::Explain, when: When) -> Result<()> {
    let rules = match &explain.rule {
        Some(name) => vec![needless_rules::by_name(name).context("no such rule")?],
        None => needless_rules::RULES.to_vec(),
    };
    let pages = |out: &mut Vec<u8>, style| {
        for (at, rule) in rules.iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            needless_report::explain(out, rule, style)?;
        }
        Ok(())
    };
    print(pages, when)
}

/// check → report.
fn tell(
    profile: &Profile,
    source: Source,
    asked: &cli::Report,
    output: Output,
    when: When,
) -> Result<()> {
    let verdict = needless_rules::check(profile, &rules(asked));
    write(profile, &verdict, source, None, asked.format, output, when)
}

fn rules(asked: &cli::Report) -> needless_rules::Options {
    needless_rules::Options {
        min_saving_percent: asked.min_saving,
        only: asked.rules.clone(),
        ignore: asked.ignored.clone(),
        pedantic: asked.pedantic,
    }
}

fn write(
    profile: &Profile,
    verdict: &needless_rules::Verdict,
    source: Source,
    top: Option<usize>,
    format: Option<needless_report::Format>,
    output: Output,
    when: When,
) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let report = Report { profile, verdict, source, top, proof: None, version };
    observed(&report, format, output, when)
}

fn observed(
    report: &Report<'_>,
    format: Option<needless_report::Format>,
    output: Output,
    when: When,
) -> Result<()> {
    let mut text = Vec::new();
    let (format, style) = (output.format(format), output.style(when));
    needless_report::write(&mut text, report, format, style).context("cannot form the report")?;
    output.write(&text)
}

/// Prints to standard output what is not about one capture.
pub(crate) fn print(
    form: impl FnOnce(&mut Vec<u8>, needless_report::Style) -> std::io::Result<()>,
    when: When,
) -> Result<()> {
    let output = Output::stdout();
    let mut text = Vec::new();
    form(&mut text, output.style(when)).context("cannot form the text")?;
    output.write(&text)
}

pub(crate) fn complain(error: &impl std::fmt::Display, status: i32) -> ExitCode {
    output::say(format_args!("{error:#}"));
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}
