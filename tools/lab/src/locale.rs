//! `needless lab locale`: what a locale's name costs a program at each start, as a mail of 2001 measured
//! it.

mod files;
mod runs;
mod setting;

use files::Files;
use needless_report::{Experiment, Told};
use runs::Runs;
use setting::{Arm, Setting};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "locale",
    summary: "Which files a program opens, or tries in vain, for the name of a locale, and what that costs per start.",
    source: "a mail to a Greek localisation list, \"Optimisation issues with glibc-2.2 and LANG=???\", 2001",
    needs: "glibc; ls; with --as-in-2001 the package locales and the right to mount in a namespace of its own",
};

/// How to measure.
#[derive(Clone, Debug)]
pub struct LocaleOptions {
    /// Runs of each row, at least 1.
    pub runs: u64,
    /// With Greek and Spanish locales as directories, and no other.
    pub as_in_2001: bool,
    /// Names to try; empty: this machine's own and its other spellings.
    pub names: Vec<String>,
}

/// The command of the mail: its error message is what loads the catalogues.
pub(crate) const COMMAND: [&str; 2] = ["ls", "-z"];

/// Makes the experiment. `step` is told what comes next. To be called while the process has one thread:
/// with `as_in_2001` it leaves the machine's mounts for its own, for good.
///
/// # Errors
/// What is missing, and where it comes from.
pub fn locale(options: &LocaleOptions, step: &mut dyn FnMut(&str)) -> Result<Told, String> {
    let setting = if options.as_in_2001 {
        step("compiling Greek and Spanish locales");
        Setting::of_2001()?
    } else {
        step("trying the spellings of this machine's locale");
        Setting::of_host(&options.names)
    };
    let mut told = Told {
        experiment: EXPERIMENT,
        tables: Vec::new(),
        says: Vec::new(),
        skipped: setting.skipped.clone(),
    };
    step("tracing ls -z");
    let files =
        setting.arms.iter().map(|arm| Files::of(&setting, arm)).collect::<Result<Vec<_>, _>>()?;
    told.tables.push(files::table(&setting.arms, &files));
    told.tables.push(files::places(&setting.arms, &files));
    step("running ls -z");
    let runs = runs::measure(&setting, options.runs)?;
    told.tables.push(runs::table(options.runs, &setting.arms, &runs));
    told.says.extend(says(&setting, &files, &runs));
    Ok(told)
}

/// What the tables show.
fn says(setting: &Setting, files: &[Files], runs: &[Runs]) -> Vec<String> {
    let mut says = setting.says.clone();
    for (at, arm) in setting.arms.iter().enumerate().filter(|(_, arm)| arm.asked()) {
        let Some(better) = better(at, &setting.arms, files) else {
            if at == 0 && !setting.of_2001 && arm.gives.is_some() {
                says.push(format!(
                    "Advice for this machine: none. No spelling of {} that was tried is found with fewer failed opens.",
                    arm.name()
                ));
            }
            continue;
        };
        let other = &setting.arms[better];
        says.push(format!(
            "{}{} gives the same locale as {} with {} failed opens per start instead of {}: {}",
            if setting.of_2001 { "" } else { "Advice for this machine: " },
            other.shown(),
            arm.shown(),
            files[better].failed(),
            files[at].failed(),
            runs::compare(&runs[at], &runs[better])
        ));
    }
    says.extend(runs::quiet(runs));
    if files.iter().any(Files::looks_further) {
        says.push(
            "A message that the catalogue found first does not have is looked for in the catalogues of the locale's other \
             names: that is why some are opened, or tried, after one was found."
                .into(),
        );
    }
    says
}

/// The arm that gives the same locale as arm `at` with the fewest failed opens, if another does with
/// fewer.
fn better(at: usize, arms: &[Arm], files: &[Files]) -> Option<usize> {
    let same = |other: &usize| {
        arms[*other].gives.is_some() && arms[*other].gives == arms[at].gives && arms[*other].asked()
    };
    let best = (0..arms.len()).filter(same).min_by_key(|other| files[*other].failed())?;
    (files[best].failed() < files[at].failed()).then_some(best)
}
