//! `check`: several runs of a command, compared with its budget or with what an earlier report found.

mod baseline;
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
use needless_model::{Exit, Profile, Snapshot};
use needless_observe::ObserveOptions;
use needless_prove::Repeated;
use needless_report::{Check, CheckDocument, CheckFormat};
use needless_rules::{
    Budget, Cause, Counted, EnvironmentChange, Measured, Verdict, causes, measured_counts,
};
use runs::{Findings, Runs};
use std::path::{Path, PathBuf};

pub(crate) fn check(args: &CheckArgs, context: &Context) -> Result<Exit> {
    let program = args.command[0].to_string_lossy().into_owned();
    let held = match &args.baseline {
        Some(report) => {
            let found = baseline::read(report, context)?;
            let outputs = outputs(args, context)?;
            baseline::check(args, report, &found, &program, context)?.write(outputs, context)?
        }
        None => {
            let file = BudgetFile::open(args, &name(args)?, context)?;
            let outputs = outputs(args, context)?;
            against_budget(args, file, &program, context)?.write(outputs, context)?
        }
    };
    Ok(exit::answer(held))
}

/// The command, as its runs are counted.
///
/// # Errors
/// When its input cannot be opened, or it cannot be found.
fn repeated(args: &CheckArgs, context: &Context) -> Result<Repeated> {
    let stdin = args.stdin.as_deref().map(|file| for_runs(file, context)).transpose()?;
    let capture = ObserveOptions {
        backend: args.backend.into(),
        all: true,
        watch: context.settings.watched.clone(),
        ..ObserveOptions::default()
    };
    let stdin = stdin.or_else(file_on_stdin);
    Ok(Repeated::new(&args.command, context.user.caller(), stdin, capture)?)
}

/// Runs the command and compares it with the budget, which `--update` writes.
fn against_budget<'p>(
    args: &CheckArgs,
    mut file: BudgetFile<'_>,
    program: &'p str,
    context: &Context,
) -> Result<Checked<'p>> {
    let command = repeated(args, context)?;
    let timed = file.budget().is_some_and(|budget| budget.limits.contains_key(&Counted::CpuMs));
    let mut runs = Runs::new(&command, program, timed, Findings::All, context);
    runs.warm_up()?;
    runs.more(args.runs)?;
    let mut measured = measured_counts(file.budget(), runs.counts());
    if !args.update && measured.iter().any(Measured::is_over) {
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
            file.update(&measured, runs.counts().len(), &runs.fewest().0, &variables, program)?;
            runs.forget();
            runs.more(args.runs)?;
            measured = measured_counts(None, runs.counts());
            file.reopen()?;
        }
        file.update(&measured, runs.counts().len(), &runs.fewest().0, &variables, program)?;
        file.say();
        measured = measured_counts(file.budget(), runs.counts());
    }
    let Some(budget) = file.budget() else { bail!("no budget") };
    let mut checked = Checked::of(budget, program, measured, runs);
    if let Some(missing) = missing.filter(|_| checked.is_over()) {
        checked.notes.insert(
            0,
            format!("{missing} is not there, so only rules explain more calls: --update writes it"),
        );
    }
    checked.explain(before.as_ref());
    let known = before.as_ref().filter(|before| !before.variables.is_empty());
    checked.environment = known.map(|before| {
        let watched = &context.settings.watched;
        EnvironmentChange::between(&before.variables, &variables, watched, &checked.profile)
    });
    Ok(checked)
}

/// What the runs came to.
struct Checked<'p> {
    budget: Budget,
    program: &'p str,
    runs: usize,
    measured: Vec<Measured>,
    profile: Profile,
    verdict: Verdict,
    causes: Vec<Cause>,
    environment: Option<EnvironmentChange>,
    notes: Vec<String>,
}

impl<'p> Checked<'p> {
    fn of(budget: &Budget, program: &'p str, measured: Vec<Measured>, runs: Runs<'_>) -> Self {
        // A reader of the report has the repository, not this directory.
        let budget = Budget { file: places::below_here(&budget.file), ..budget.clone() };
        let (done, notes) = (runs.counts().len(), runs.notes());
        let (profile, verdict) = runs.into_fewest();
        let (causes, environment) = (Vec::new(), None);
        Checked {
            budget,
            program,
            runs: done,
            measured,
            profile,
            verdict,
            causes,
            environment,
            notes,
        }
    }

    fn is_over(&self) -> bool {
        self.measured.iter().any(Measured::is_over)
    }

    /// Looks for what explains more calls. `before`: what the command asked when the budget was written.
    fn explain(&mut self, before: Option<&Snapshot>) {
        if self.is_over() {
            self.causes = causes(&self.profile, &self.verdict, &self.budget, before, &portable());
        }
    }

    /// Writes the report to each output, and returns whether the budget holds.
    ///
    /// # Errors
    /// When one cannot be written; the others are.
    fn write(mut self, outputs: Vec<(Output<'_>, CheckFormat)>, context: &Context) -> Result<bool> {
        // `show` writes the others from JSON.
        let points = [CheckFormat::Github, CheckFormat::Sarif, CheckFormat::Json];
        if outputs.iter().any(|(_, format)| points.contains(format)) {
            let findings = self.causes.iter().filter_map(|cause| cause.kind.finding(&self.verdict));
            self.verdict.places = places::of(findings, &self.profile, self.program, context);
        }
        let report = Check {
            budget: &self.budget,
            program: self.program,
            runs: self.runs,
            profile: &self.profile,
            verdict: &self.verdict,
            measured: &self.measured,
            causes: &self.causes,
            environment: self.environment.as_ref(),
            notes: &self.notes,
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
        written.map(|()| !self.is_over())
    }
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
