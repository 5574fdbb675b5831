//! `needless-lab locale`: what the name of a locale costs a program at each start, as a mail of 2001
//! measured it.

mod files;
mod runs;
mod setting;

use crate::report::{Experiment, Results};
use crate::step;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use files::Files;
use runs::Runs;
use setting::{Arm, LocaleSetting};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "locale",
    summary: "Which files a program opens, or tries to open, for the name of a locale, and what that costs per start.",
    source: "a mail to a Greek localisation list, \"Optimisation issues with glibc-2.2 and LANG=???\", 2001",
    needs: "glibc; ls; with --as-in-2001 the package locales and the right to mount in a private namespace",
};

/// How to measure.
#[derive(Args)]
pub(crate) struct LocaleOptions {
    /// Runs of `ls -z` of each row.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: u64,
    /// Greek and Spanish as in 2001: locales in directories, no archive, in private mounts.
    #[arg(long, conflicts_with = "names")]
    as_in_2001: bool,
    /// Names to try, instead of this machine's LC_ALL or LANG and its other spellings.
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    names: Vec<String>,
}

/// The command of the mail: it fails, and to print its error message it loads the catalogues.
pub(crate) const COMMAND: [&str; 2] = ["ls", "-z"];

/// Makes the experiment. Call it while the process has one thread: with `as_in_2001` the process leaves the
/// machine's mount namespace and does not return to it.
///
/// # Errors
/// What is missing, and which package has it.
pub(crate) fn locale(options: &LocaleOptions) -> Result<Results, String> {
    let setting = if options.as_in_2001 {
        step("compiling Greek and Spanish locales");
        LocaleSetting::of_2001()?
    } else {
        step("trying the spellings of this machine's locale");
        LocaleSetting::of_host(&options.names)
    };
    let mut results = Results { skipped: setting.skipped.clone(), ..Results::of(EXPERIMENT) };
    step("tracing ls -z");
    let files =
        setting.arms.iter().map(|arm| Files::of(&setting, arm)).collect::<Result<Vec<_>, _>>()?;
    results.tables.push(files::table(&setting.arms, &files));
    results.tables.push(files::locations(&setting.arms, &files));
    step("running ls -z");
    let runs = runs::measure(&setting, options.runs)?;
    results.tables.push(runs::table(options.runs, &setting.arms, &runs));
    results.notes = notes(&setting, &files, &runs);
    Ok(results)
}

/// What the tables show.
fn notes(setting: &LocaleSetting, files: &[Files], runs: &[Runs]) -> Vec<String> {
    let mut notes = setting.notes.clone();
    for (at, arm) in setting.arms.iter().enumerate().filter(|(_, arm)| arm.can_be_advised()) {
        let Some(better) = better(at, &setting.arms, files) else {
            if at == 0 && !setting.of_2001 && arm.gives.is_some() {
                notes.push(format!(
                    "Advice for this machine: none. No spelling of {} that was tried is found with fewer failed opens.",
                    arm.name()
                ));
            }
            continue;
        };
        let other = &setting.arms[better];
        notes.push(format!(
            "{}{} gives the same locale as {} with {} failed opens per start instead of {}: {}",
            if setting.of_2001 { "" } else { "Advice for this machine: " },
            other.shown(),
            arm.shown(),
            files[better].failed(),
            files[at].failed(),
            runs::compare(&runs[at], &runs[better])
        ));
    }
    notes.extend(runs::busy_machine(runs));
    if files.iter().any(Files::looks_further) {
        notes.push(
            "If the first catalogue does not have a message, the C library looks for it in the catalogues of the locale's other \
             names: that is why it opens some, or tries to, after it has found one."
                .into(),
        );
    }
    notes
}

/// The arm that gives the same locale as arm `at` with the fewest failed opens, if that has fewer than arm
/// `at`.
fn better(at: usize, arms: &[Arm], files: &[Files]) -> Option<usize> {
    let same = |other: &usize| {
        arms[*other].gives.is_some()
            && arms[*other].gives == arms[at].gives
            && arms[*other].can_be_advised()
    };
    let best = (0..arms.len()).filter(same).min_by_key(|other| files[*other].failed())?;
    (files[best].failed() < files[at].failed()).then_some(best)
}
