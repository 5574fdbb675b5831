//! `check`: several runs of a command, compared with its budget.

mod budget_file;
mod runs;

use super::prove::{file_on_stdin, for_runs};
use crate::cli::CheckArgs;
use crate::context::Context;
use crate::output::{Output, Stream};
use crate::{exit, output, places};
use anyhow::{Result, bail};
use budget_file::{BudgetFile, portable};
use needless_config::is_budget_name;
use needless_model::Exit;
use needless_observe::ObserveOptions;
use needless_report::{Check, CheckDocument, CheckFormat};
use needless_rules::{Budget, Counted, EnvironmentChange, causes, measured_counts};
use runs::Runs;
use std::path::{Path, PathBuf};

pub(crate) fn check(args: &CheckArgs, context: &Context) -> Result<Exit> {
    let program = args.command[0].to_string_lossy().into_owned();
    let mut file = BudgetFile::open(args, &name(args)?, context)?;
    let outputs = outputs(args, context)?;
    let stdin = args.stdin.as_deref().map(|file| for_runs(file, context)).transpose()?;
    let capture = ObserveOptions {
        backend: args.backend.into(),
        all: true,
        watch: context.settings.watched.clone(),
        ..ObserveOptions::default()
    };
    let command = needless_prove::Repeated::new(
        &args.command,
        context.user.caller(),
        stdin.or_else(file_on_stdin),
        capture,
    )?;
    let timed = file.budget().is_some_and(|budget| budget.limits.contains_key(&Counted::CpuMs));
    let mut runs = Runs::new(&command, &program, timed, context);
    runs.warm_up()?;
    runs.more(args.runs)?;
    let mut measured = measured_counts(file.budget(), runs.counts());
    if !args.update && measured.iter().any(|one| one.is_over()) {
        // What happens by chance does not happen in all of twice as many runs.
        runs.more(args.runs)?;
        measured = measured_counts(file.budget(), runs.counts());
    }
    let before = file.baseline().cloned();
    let missing = file.missing();
    let variables = command.variables();
    if args.update {
        let new = file.is_new();
        if new {
            // The new files may be something that the command finds: it is measured again with them.
            file.update(&measured, runs.counts().len(), &runs.fewest().0, &variables, &program)?;
            runs.forget();
            runs.more(args.runs)?;
            measured = measured_counts(None, runs.counts());
            file.reopen()?;
        }
        file.update(&measured, runs.counts().len(), &runs.fewest().0, &variables, &program)?;
        file.say();
        measured = measured_counts(file.budget(), runs.counts());
    }
    let Some(budget) = file.budget() else { bail!("no budget") };
    // A reader of the report has the repository, not this directory.
    let budget = &Budget { file: places::below_here(&budget.file), ..budget.clone() };
    let done = runs.counts().len();
    let mut notes = runs.notes();
    let (profile, mut verdict) = runs.into_fewest();
    let over = measured.iter().any(|one| one.is_over());
    if let Some(missing) = missing.filter(|_| over) {
        notes.insert(
            0,
            format!("{missing} is not there, so only rules explain more calls: --update writes it"),
        );
    }
    let environment = before.as_ref().filter(|before| !before.variables.is_empty()).map(|before| {
        let watched = &context.settings.watched;
        EnvironmentChange::between(&before.variables, &variables, watched, &profile)
    });
    let causes = match over {
        true => causes(&profile, &verdict, budget, before.as_ref(), &portable()),
        false => Vec::new(),
    };
    // `show` writes the others from JSON.
    let points = [CheckFormat::Github, CheckFormat::Sarif, CheckFormat::Json];
    if outputs.iter().any(|(_, format)| points.contains(format)) {
        let findings = causes.iter().filter_map(|cause| cause.kind.finding(&verdict));
        verdict.places = places::of(findings, &profile, &program, context);
    }
    let report = Check {
        budget,
        program: &program,
        runs: done,
        profile: &profile,
        verdict: &verdict,
        measured: &measured,
        causes: &causes,
        environment: environment.as_ref(),
        notes: &notes,
    };
    let report = CheckDocument::of(&report, crate::VERSION);
    let mut written = Ok(());
    for (output, format) in outputs {
        let one =
            output.emit(|out, style| needless_report::write_check(out, &report, format, style));
        if let (Err(_), Err(error)) = (&written, &one) {
            output::warn(format_args!("{error:#}"));
        }
        written = written.and(one);
    }
    written?;
    Ok(exit::answer(!over))
}

/// The budget's name: as named, or the program's.
fn name(args: &CheckArgs) -> Result<String> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    let program = Path::new(&args.command[0]).file_name().unwrap_or_default();
    match program.to_str().filter(|name| is_budget_name(name)) {
        Some(name) => Ok(name.to_owned()),
        None => bail!("the program's name cannot be a budget's: pass --name NAME"),
    }
}

/// Standard output, and each file that is named.
fn outputs<'a>(args: &CheckArgs, context: &'a Context) -> Result<Vec<(Output<'a>, CheckFormat)>> {
    let stdout = Output::open(context, None, Stream::Stdout, None)?;
    let mut all = vec![(stdout, args.format)];
    let summary = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from);
    for file in &args.output {
        let endings = Some(CheckFormat::ENDINGS);
        if summary.as_ref() == Some(file) {
            let output = Output::append(context, file)?;
            all.push((output, CheckFormat::Markdown));
            continue;
        }
        let format = CheckFormat::of_path(file).unwrap_or(CheckFormat::Full);
        all.push((Output::open(context, Some(file), Stream::Stdout, endings)?, format));
    }
    Ok(all)
}
