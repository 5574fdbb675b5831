//! The runs of a check.

use crate::context::Context;
use anyhow::{Result, bail};
use needless_model::{Exit, Loss, Profile};
use needless_prove::Repeated;
use needless_rules::{CheckOptions, Counted, Counts, Verdict, counts};

/// Which findings count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Findings {
    /// All, also small ones: a threshold would be a question of time, and differ from run to run.
    All,
    /// Those that a report of `run` has: what is small or suppressed is left out.
    OfReports,
}

/// Runs of one command: the counts of each, and the profile of the one with the fewest calls.
pub(super) struct Runs<'a> {
    command: &'a Repeated,
    program: &'a str,
    timed: bool,
    findings: Findings,
    options: CheckOptions,
    context: &'a Context,
    counts: Vec<Counts>,
    fewest: Option<(Profile, Verdict)>,
}

impl<'a> Runs<'a> {
    /// `timed`: whether CPU time is measured, too, in runs of its own.
    pub(super) fn new(
        command: &'a Repeated,
        program: &'a str,
        timed: bool,
        findings: Findings,
        context: &'a Context,
    ) -> Runs<'a> {
        let declared = context.settings.rules.clone();
        let mut options = CheckOptions { declared, ..CheckOptions::default() };
        if findings == Findings::All {
            options.min_saving_percent = 0.0;
        }
        let (counts, fewest) = (Vec::new(), None);
        Runs { command, program, timed, findings, options, context, counts, fewest }
    }

    /// A run that is not counted: it fills caches, and its output is shown.
    ///
    /// # Errors
    /// When the command fails.
    pub(super) fn warm_up(&self) -> Result<()> {
        let exit = self.command.show()?;
        self.succeeded(exit, "what it printed is above")
    }

    /// Counts so many more runs.
    ///
    /// # Errors
    /// When the command fails or cannot be observed, or calls were lost.
    pub(super) fn more(&mut self, runs: u32) -> Result<()> {
        for _ in 0..runs {
            let (profile, exit) = self.command.count()?;
            self.succeeded(exit, "it did not when it was not observed")?;
            for loss in [Loss::Uncounted, Loss::UnseenProcesses] {
                if let Some(n) = profile.lost.get(&loss).filter(|n| **n > 0) {
                    bail!("{}: {n} {loss}: its counts are not exact, try again", self.program);
                }
            }
            let mut verdict = needless_rules::check(&profile, &self.options);
            if self.findings == Findings::OfReports {
                verdict.below.clear();
                self.context.settings.suppress(&mut verdict, &profile, &self.options);
            }
            let mut counts = counts(&profile, &verdict);
            if self.timed {
                let (usage, exit) = self.command.time()?;
                self.succeeded(exit, "it did not before")?;
                counts.insert(Counted::CpuMs, (usage.user_ns + usage.system_ns) / 1_000_000);
            }
            let all = |counts: &Counts| counts.get(&Counted::Calls).copied();
            let least = self.counts.iter().map(all).min();
            if least.is_none_or(|least| all(&counts) < least) {
                self.fewest = Some((profile, verdict));
            }
            self.counts.push(counts);
        }
        Ok(())
    }

    /// Forgets what was counted.
    pub(super) fn forget(&mut self) {
        self.counts.clear();
        self.fewest = None;
    }

    fn succeeded(&self, exit: Exit, hint: &str) -> Result<()> {
        let how = match exit {
            Exit::Code(0) => return Ok(()),
            Exit::Code(code) => format!("exits with status {code}"),
            Exit::Signal(number) => format!("is killed by signal {number}"),
        };
        bail!("{} {how}: only a run that succeeds has a budget; {hint}", self.program)
    }

    /// The counts of each run.
    pub(super) fn counts(&self) -> &[Counts] {
        &self.counts
    }

    /// The run with the fewest calls.
    ///
    /// # Panics
    /// Before the first run.
    pub(super) fn fewest(&self) -> &(Profile, Verdict) {
        self.fewest.as_ref().expect("a run was counted")
    }

    /// As [`Runs::fewest`].
    pub(super) fn into_fewest(self) -> (Profile, Verdict) {
        self.fewest.expect("a run was counted")
    }

    /// What these runs cannot show.
    pub(super) fn notes(&self) -> Vec<String> {
        let (profile, _) = self.fewest();
        let lost = profile.lost.iter().filter(|(_, n)| **n > 0);
        let lost = lost.map(|(loss, n)| format!("not seen: {n} {loss}"));
        lost.chain(profile.notes.iter().cloned()).collect()
    }
}
