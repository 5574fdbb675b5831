//! `cargo xtask cases [PART] [--no-prove]`: real programs in a bad and a fixed environment, beside strace.
//!
//! For each it prints what strace counted, what needless found, and the error of the prediction; then what
//! `prove` counts for every variable that a finding advises, one at a time: nearly all of the predicted calls
//! must disappear (`--no-prove` skips that). Then healthy programs, in which nothing may be found, in any
//! locale. With `--write`, the measurements go into the table from which the pages of rules take their proof.
//! Programs that are not installed are reported as skipped; with CI set that is a failure, because
//! `scripts/install cases` installs all of them.

pub(crate) mod ordinary;
mod remedies;
mod stage;
mod written;

use anyhow::{Result, ensure};
use needless_model::Fact;
use needless_rules::{MeasuredCase, RULES, Rule};
use stage::{CaseBackend, CaseStage, Reported};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A program in two environments, one with something needless and one without.
///
/// In all texts `@` stands for the folder of the case, in which everything runs; `ARM` for `bad` or `good`, the
/// name of the environment; and `TWENTY` for a list of twenty subdirectories.
struct Case {
    /// The rule, or several of which one must find something: a plain log, which has no environment, may lead to
    /// another rule than the program itself.
    rule: &'static str,
    /// Words `NAME=VALUE`: the environment, besides PATH and HOME, in which the rule must find something; `␣` is a
    /// blank in a value.
    bad: &'static str,
    /// The environment in which it must find nothing.
    good: &'static str,
    /// The program with its arguments, as for a shell.
    command: &'static str,
    /// What a shell does first in the folder. Long scripts are in `tools/cases/scripts`.
    prepare: &'static str,
    /// What a shell does before and during each run, in a private mount and network namespace: `own DIR` lets it
    /// change what is below DIR, `when PORT` waits for a server, `$helpers` are ended after the run.
    around: &'static str,
    /// Programs that it needs besides the first word of the command.
    needs: &'static str,
    /// Other rules that rightly find something in it.
    beside: &'static str,
    /// Whether strace must log the environment (`-e abbrev=!execve`), which the rule needs.
    environment: bool,
    /// Whether the rule is shown only on demand (`--pedantic`).
    pedantic: bool,
    /// What runs, Markdown, for the page of the rule; "" for the command and `bad`.
    program: &'static str,
    /// What is different in the fixed run, Markdown ("with it"); "" for `good`, or for a run without `bad`.
    fixed: &'static str,
}

/// What most cases have: none of these.
const PLAIN: Case = Case {
    rule: "",
    bad: "",
    good: "",
    command: "",
    prepare: "",
    around: "",
    needs: "",
    beside: "",
    environment: false,
    pedantic: false,
    program: "",
    fixed: "",
};

/// A program in which nothing may be found. For its texts see [`Case`].
pub(crate) struct Healthy {
    pub(crate) command: &'static str,
    prepare: &'static str,
    around: &'static str,
    needs: &'static str,
}

/// A healthy program that needs nothing but the common material.
const fn plain(command: &'static str) -> Healthy {
    Healthy { command, prepare: "", around: "", needs: "" }
}

include!("../../cases/table.rs");
include!("../../cases/healthy.rs");
include!("../../cases/under_load.rs");

/// All programs in which nothing may be found.
pub(crate) fn all_healthy() -> impl Iterator<Item = &'static Healthy> {
    HEALTHY.iter().chain(UNDER_LOAD)
}

/// The locales in which healthy programs run, besides none: those that people use.
const LOCALES: [&str; 3] = ["en_US.UTF-8", "C.UTF-8", "C.utf8"];

/// Largest error of a prediction, in percent of the calls that strace counted.
const MOST_ERROR: f64 = 5.0;

/// The sums over all cases.
#[derive(Default)]
struct Sums {
    found: u32,
    runs: u32,
    healthy: u32,
    wrong: u32,
    skipped: u32,
    failed: u32,
    proven: u32,
    not_proven: u32,
    worst: f64,
    measured: Vec<MeasuredCase>,
}

/// Runs the table, or the part of it whose rules or programs contain `part`. With `write`, what the
/// cases measured replaces their rows in `tools/cases/measured.tsv`, from which pages of rules take their
/// proof. With `prove`, every variable that a finding advises is tried.
pub(crate) fn run(root: &Path, part: Option<&str>, write: bool, prove: bool) -> Result<()> {
    let stage = CaseStage::new(needless(root)?, root);
    let wanted = |text: &str| part.is_none_or(|part| text.contains(part));
    let mut sums = Sums::default();
    println!(
        "{:21} {:7} {:>8} {:>8} {:>8} {:>7}",
        "rule", "backend", "calls", "saved", "found", "error"
    );
    for case in CASES.iter().filter(|case| wanted(case.rule)) {
        if let Err(error) = case.judge(&stage, prove, &mut sums) {
            println!("{:21} FAILED: {error:#}", case.rule);
            sums.failed += 1;
        }
    }
    for (at, healthy) in all_healthy().enumerate().filter(|(_, one)| wanted(one.command)) {
        if let Err(error) = healthy.judge(&stage, at, &mut sums) {
            println!("{}: FAILED: {error:#}", healthy.command);
            sums.failed += 1;
        }
    }
    if part.is_none() {
        println!();
        for (rule, reason) in WITHOUT {
            println!("{rule:21} has no case: {reason}");
        }
    }
    let Sums { found, runs, healthy, wrong, skipped, failed, proven, not_proven, worst, measured } =
        sums;
    println!(
        "\n{} rules, {} without a case; recall {found} of {runs}; healthy runs {healthy}; \
         wrong findings {wrong}; worst error {worst:.1} %; remedies proven {proven}, not proven {not_proven}; skipped {skipped}; failed {failed}",
        RULES.len(),
        WITHOUT.len(),
    );
    if write {
        written::write(root, &measured)?;
    }
    ensure!(failed == 0, "some case could not be run");
    ensure!(found == runs && wrong == 0, "some case was not judged as it should be");
    ensure!(worst <= MOST_ERROR, "a prediction is off by {worst:.1} % of the calls");
    ensure!(not_proven == 0, "some remedy does not save what its finding predicts");
    let must_run = needless_fixtures::must_run();
    ensure!(!must_run || skipped == 0, "with CI set nothing may be skipped: scripts/install cases");
    Ok(())
}

/// The build of needless that is tried: `NEEDLESS`, or that of `cargo build --release`.
pub(crate) fn needless(root: &Path) -> Result<PathBuf> {
    let needless = match std::env::var_os("NEEDLESS") {
        // Each case runs in another directory.
        Some(path) => std::path::absolute(path)?,
        None => root.join("target/release/needless"),
    };
    ensure!(needless.exists(), "{} is not there: cargo build --release", needless.display());
    Ok(needless)
}

/// What one backend reports of a case, in each of its environments.
struct FoundIn {
    bad: Vec<Reported>,
    good: Vec<Reported>,
}

impl FoundIn {
    /// How many calls the fix saves by that. The findings of several rules about one environment belong together.
    fn predicted(&self) -> u64 {
        let all = |reported: &[Reported]| reported.iter().map(|one| one.saved).sum::<i64>();
        (all(&self.bad) - all(&self.good)).max(0) as u64
    }

    /// How many of the calls `rule` alone finds.
    fn saved_by(&self, rule: &str) -> i64 {
        self.bad.iter().filter(|one| any(rule, &one.rule)).map(|one| one.saved).sum()
    }

    /// Whether `rule` finds something in the bad environment and nothing in the good one.
    fn tells_apart(&self, rule: &str) -> bool {
        let finds = |found: &[Reported]| found.iter().any(|one| any(rule, &one.rule));
        finds(&self.bad) && !finds(&self.good)
    }

    fn of_others(&self, rule: &str) -> impl Iterator<Item = &Reported> {
        self.bad.iter().chain(&self.good).filter(move |one| !any(rule, &one.rule))
    }
}

impl Case {
    /// Whether the rule needs a count of every call.
    fn needs_all(&self) -> bool {
        let needs =
            |rule: &&Rule| any(self.rule, rule.name) && rule.needs.contains(&Fact::AllCalls);
        RULES.iter().any(needs)
    }

    fn judge(&self, stage: &CaseStage, prove: bool, sums: &mut Sums) -> Result<()> {
        if let Some(why) = stage.missing(self.command, self.needs, self.around) {
            println!("{:21} skipped: {why}", self.rule);
            sums.skipped += 1;
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        stage::prepare(stage, folder.path(), self.prepare)?;
        let bad = stage.run_of(folder.path(), "bad", self.bad, self.command, self.around);
        let good = stage.run_of(folder.path(), "good", self.good, self.command, self.around);
        let before = stage.count(&bad)?;
        let after = stage.count(&good)?;
        let saved = before.saturating_sub(after);
        let all = self.needs_all();
        let mut advised: Vec<Reported> = Vec::new();
        let mut all_predicted = Vec::new();
        let mut beside = BTreeSet::new();
        for backend in [CaseBackend::Ptrace, CaseBackend::Ebpf, CaseBackend::Log(self.environment)]
        {
            let found = FoundIn {
                bad: stage.judge(&bad, backend, (self.pedantic, all))?,
                good: stage.judge(&good, backend, (self.pedantic, all))?,
            };
            let reported = found.saved_by(self.rule);
            let predicted = found.predicted();
            let error = 100.0 * predicted.abs_diff(saved) as f64 / before.max(1) as f64;
            let ok = found.tells_apart(self.rule);
            all_predicted.push(predicted);
            beside.extend(found.of_others(self.rule).map(|one| one.rule.clone()));
            let wrong = found.of_others(self.rule).filter(|one| !any(self.beside, &one.rule));
            let wrong: String = wrong.map(|one| format!(" {}:{}", one.rule, one.saved)).collect();
            println!(
                "{:21} {:7} {before:8} {saved:8} {reported:8} {error:6.1}%{}{}{wrong}",
                self.name(),
                backend.name(),
                if ok { "" } else { "  MISSED" },
                if wrong.is_empty() { "" } else { "  WRONG:" },
            );
            sums.runs += 1;
            sums.found += u32::from(ok);
            sums.wrong += u32::from(!wrong.is_empty());
            sums.worst = sums.worst.max(error);
            // The command of a log does not run again; the other backends advise the same.
            if !matches!(backend, CaseBackend::Log(_)) {
                advised.extend(found.bad);
            }
        }
        if prove {
            self.prove(stage, &advised, sums);
        }
        sums.measured.push(MeasuredCase {
            rule: self.name().to_owned(),
            program: self.program(),
            fixed: self.fixed(),
            before,
            after,
            predicted: [all_predicted[0], all_predicted[1], all_predicted[2]],
            beside: beside.into_iter().collect(),
            machine: written::machine()?,
        });
        Ok(())
    }

    /// Tries each advised change in the bad environment, in a new folder: a program may leave files behind.
    fn prove(&self, stage: &CaseStage, advised: &[Reported], sums: &mut Sums) {
        let folders = std::cell::RefCell::new(Vec::new());
        let run = || {
            let folder = tempfile::tempdir()?;
            stage::prepare(stage, folder.path(), self.prepare)?;
            let run = stage.run_of(folder.path(), "bad", self.bad, self.command, self.around);
            folders.borrow_mut().push(folder);
            Ok(run)
        };
        for tried in remedies::prove(stage, advised, &run) {
            println!("{}", tried.line());
            sums.proven += u32::from(tried.holds());
            sums.not_proven += u32::from(!tried.holds());
        }
    }

    /// The rule whose case it is.
    fn name(&self) -> &'static str {
        self.rule.split(' ').next().unwrap_or("")
    }

    /// What runs, for the page of the rule.
    fn program(&self) -> String {
        match (self.program, self.bad) {
            ("", "") => format!("`{}`", self.command),
            ("", bad) => format!("`{}` with `{bad}`", self.command),
            (program, _) => program.to_owned(),
        }
    }

    /// What is different in the fixed run, for the page of the rule.
    fn fixed(&self) -> String {
        match (self.fixed, self.good) {
            ("", "") => "without it".to_owned(),
            ("", good) => format!("with `{good}`"),
            (fixed, _) => fixed.to_owned(),
        }
    }
}

impl Healthy {
    /// Judges number `at` of all. It runs without a locale under every backend, and in each of [`LOCALES`] under one:
    /// the backends take turns, so that over the list each locale meets each backend.
    fn judge(&self, stage: &CaseStage, at: usize, sums: &mut Sums) -> Result<()> {
        if let Some(why) = stage.missing(self.command, self.needs, self.around) {
            println!("{}: skipped: {why}", self.command);
            sums.skipped += 1;
            return Ok(());
        }
        let backends = [CaseBackend::Ptrace, CaseBackend::Ebpf, CaseBackend::Log(false)];
        let mut wrong = Vec::new();
        for backend in backends {
            wrong.extend(self.found(stage, backend, "", "", sums)?);
        }
        let installs = stage.locales().filter(|_| stage.missing("true", "", "own").is_none());
        for (number, locale) in LOCALES.into_iter().enumerate() {
            let backend = backends[(at + number) % backends.len()];
            let around = match (locale, &installs) {
                ("en_US.UTF-8", Some(around)) => around,
                ("en_US.UTF-8", None) => {
                    println!(
                        "{}: skipped with LANG={locale}: the locale cannot be installed",
                        self.command
                    );
                    sums.skipped += 1;
                    continue;
                }
                _ => "",
            };
            wrong.extend(self.found(stage, backend, locale, around, sums)?);
        }
        let said = if wrong.is_empty() {
            "nothing found".to_owned()
        } else {
            format!("WRONG: {}", wrong.join(" "))
        };
        println!("{said} in {}", self.command);
        Ok(())
    }

    /// What is found in one run, in `locale` unless that is empty.
    fn found(
        &self,
        stage: &CaseStage,
        backend: CaseBackend,
        locale: &str,
        around: &str,
        sums: &mut Sums,
    ) -> Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        stage::prepare(stage, folder.path(), MATERIAL)?;
        stage::prepare(stage, folder.path(), self.prepare)?;
        let (variables, how) = match locale {
            "" => ("TZ=Etc/UTC".to_owned(), backend.name().to_owned()),
            _ => {
                (format!("TZ=Etc/UTC LANG={locale}"), format!("{}, LANG={locale}", backend.name()))
            }
        };
        let around = format!("{around}{}", self.around);
        let mut run = stage.run_of(folder.path(), "good", &variables, self.command, &around);
        // A program that fails at once makes few calls. The status of one that runs inside a script is unknown.
        run.succeeds = run.around.is_empty();
        let reported = stage.judge(&run, backend, (false, false))?;
        sums.healthy += 1;
        sums.wrong += u32::from(!reported.is_empty());
        Ok(reported.iter().map(|one| format!("{}:{} ({how})", one.rule, one.saved)).collect())
    }
}

/// Whether `name` is one of the words.
fn any(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

#[cfg(test)]
mod tests;
