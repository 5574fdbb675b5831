//! The whole measurement, step by step.
//!
//! 1. Each variant is run under the tracer with every call counted, after a first run that is not counted, because it
//!    may leave something that later runs use. If calls seem to have gone, both are counted a second time, because some
//!    programs do not make the same calls twice.
//! 2. Each is run once untimed.
//! 3. Pairs: one run of each variant in random order, untraced. Exit status and a fingerprint of the output must equal
//!    those of the first run. If something fails among the pairs, or on Ctrl-C, the pairs before it are reported.
//! 4. `judge.rs` says what follows. The rules are asked what they find in both counts, so that prediction and
//!    measurement can be compared.
//!
//! Nothing splits in two processes here as in a `run`: the command is ours to end. `run --prove` therefore counts every
//! call and installs no filter, so that killing it leaves the command alone all the same.

use crate::error::TOO_LONG;
use crate::judge::{LEAST_PAIRS, ProofEvidence, judge};
use crate::predict::predictions;
use crate::run::{Behaviour, CommandIo, SIGINT, ended, timed, wait};
use crate::variants::{Variants, padding};
use crate::{ProveError, Random, Variant};
use needless_launch::{Launch, Original, Stdio, TerminationSignals};
use needless_model::{Change, Exit, Outcome, Profile, Proof, Snapshot, Usage, changed_rows};
use needless_observe::Caller;
use needless_rules::Declared;
use regex::bytes::Regex;
use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most pairs of one measurement: with more, an interval hardly narrows.
pub(crate) const MOST_PAIRS: usize = 2_000;
/// A timed run is ended if it takes so many times as long as the longest one without the change…
const TIMES: u32 = 20;
/// …and at least this long.
const LEAST: Duration = Duration::from_secs(10);
/// Pairs that take less are run, whatever the budget, until there are enough for a statement on CPU time: without one
/// the others were for nothing.
const SHORT_PAIR: Duration = Duration::from_secs(1);
/// Rows that a proof keeps.
const ROWS: usize = 12;

/// How to measure.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Only count calls: no pair is run.
    pub count_only: bool,
    /// Pairs to run; `None`: as many as the budget allows, at most 2,000.
    pub runs: Option<usize>,
    /// Time for the pairs. No pair is begun that would not end in time, except the first, and as many short ones as a
    /// statement on CPU time needs.
    pub budget: Option<Duration>,
    /// Untimed runs of each variant before the first pair; at least one is made.
    pub warmup: usize,
    /// The command's input, from the start in every run; `/dev/null` if `None`.
    pub stdin: Option<PathBuf>,
    /// A command for `sh -c` before each run, not measured.
    pub prepare: Option<OsString>,
    /// The same after each run.
    pub cleanup: Option<OsString>,
    /// The part of each line of the output that is not compared.
    pub ignored: Option<Regex>,
    /// The seed of the order in pairs and of the padding.
    pub seed: u64,
    /// How calls are counted.
    pub capture: needless_observe::ObserveOptions,
    /// Rules of the user, which predict what the changes save, as the built-in rules do.
    pub declared: Arc<[Declared]>,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub enum ProveStep {
    /// A variant is run under the tracer.
    Counting(Variant),
    /// A variant is run to fill caches, and to see whether it does the same each time.
    Warming,
    /// This many pairs were measured, in this time.
    Pairs(usize, Duration),
}

/// Runs `words` with and without `changes`. Ctrl-C during the pairs ends it early, with a proof from the pairs
/// so far; so does a failure after the first pair, which the proof then names. To be called while this process has
/// one thread.
///
/// # Errors
/// When the command or a command around it cannot be run or observed, or the user interrupts it before anything is
/// measured.
pub fn prove(
    words: &[OsString],
    caller: Option<Caller>,
    changes: &[Change],
    options: &ProveOptions,
    progress: &mut dyn FnMut(ProveStep),
) -> Result<Proof, ProveError> {
    let launch = needless_observe::launch(words, caller)?;
    let runner = Runner {
        variants: Variants::new(launch.clone(), changes)?,
        launch,
        original: Original::record(),
        io: CommandIo { stdin: options.stdin.clone(), ignored: options.ignored.clone() },
        longest: Cell::default(),
        options,
    };
    let mut random = Random::new(options.seed);
    let mut evidence = ProofEvidence::default();

    // The first run may leave files that later runs use, so it is counted apart.
    progress(ProveStep::Counting(Variant::Before));
    let (first, expected) = runner.count(Variant::Before)?;
    evidence.first = Some(first.totals.calls);
    let (before, behaviour) = runner.count(Variant::Before)?;
    evidence.before.push(before.totals.calls);
    let mut proof = Proof::begun(&words[0].to_string_lossy(), changes, before.backend.clone());
    let again = options.warmup.saturating_sub(1);
    let how = match expected.difference(&behaviour) {
        None => runner.warm(Variant::Before, again, &expected, &mut random)?,
        some => some,
    };
    if let Some(how) = how {
        let how = format!("without the change too it does not do the same in each run: {how}");
        return Ok(Proof { outcome: Outcome::Differs(how), ..proof });
    }
    // So may the first run with the change: it is not counted.
    progress(ProveStep::Warming);
    let with_the_change = |how| Outcome::Differs(format!("with the change {how}"));
    if let Some(how) = runner.warm(Variant::After, options.warmup.max(1), &expected, &mut random)? {
        return Ok(Proof { outcome: with_the_change(how), ..proof });
    }
    progress(ProveStep::Counting(Variant::After));
    let (after, behaviour) = runner.count(Variant::After)?;
    proof.predictions = predictions(&before, &after, changes, &options.declared);
    if let Some(how) = expected.difference(&behaviour) {
        return Ok(Proof { outcome: with_the_change(how), ..proof });
    }
    evidence.after.push(after.totals.calls);
    proof.rows = changed_rows(&Snapshot::of(&before, ""), &Snapshot::of(&after, ""));
    proof.rows.truncate(ROWS);
    if before.totals.calls > after.totals.calls {
        runner.count_again(&mut evidence, progress)?;
    }
    evidence.first_exit = Some(expected.exit);
    evidence.count_only = options.count_only;
    if options.count_only || evidence.stays() {
        judge(&mut proof, &evidence);
        return Ok(proof);
    }
    proof.peak_floor_kib = needless_launch::peak_floor_kib(&runner.launch, runner.original)
        .map_err(ProveError::launch)?;
    let differs = runner.pairs(&expected, &mut random, &mut evidence, progress)?;
    match differs {
        Some(how) => proof.outcome = Outcome::Differs(how),
        None => judge(&mut proof, &evidence),
    }
    Ok(proof)
}

/// What every run needs.
struct Runner<'a> {
    launch: Launch,
    variants: Variants,
    original: Original,
    io: CommandIo,
    /// How long the longest run without the change took.
    longest: Cell<Duration>,
    options: &'a ProveOptions,
}

impl Runner<'_> {
    /// Runs a variant under the tracer.
    fn count(&self, variant: Variant) -> Result<(Profile, Behaviour), ProveError> {
        let prepare = self.options.prepare.as_ref();
        if !self.around("--prepare", prepare, &hold()?)? {
            return Err(ProveError::Interrupted);
        }
        let begun = Instant::now();
        let (captured, written) = self.io.with(
            |_| false,
            |fds| {
                let launch = self.variants.launch(variant, None);
                let launch = Launch { stdio: Stdio::Given(fds), ..launch };
                Ok(needless_observe::count(launch, &self.options.capture)?)
            },
        )?;
        self.took(variant, begun.elapsed());
        let cleaned = self.around("--cleanup", self.options.cleanup.as_ref(), &hold()?)?;
        let exit = captured.exit;
        if exit == Exit::Signal(SIGINT) || !cleaned {
            return Err(ProveError::Interrupted);
        }
        Ok((captured.profile, Behaviour { exit, written }))
    }

    /// Some programs do not make the same calls twice: only a second count shows this.
    fn count_again(
        &self,
        evidence: &mut ProofEvidence,
        progress: &mut dyn FnMut(ProveStep),
    ) -> Result<(), ProveError> {
        for (variant, counts) in
            [(Variant::After, &mut evidence.after), (Variant::Before, &mut evidence.before)]
        {
            progress(ProveStep::Counting(variant));
            counts.push(self.count(variant)?.0.totals.calls);
        }
        Ok(())
    }

    /// Runs a variant this many times. Returns how it differed from what was expected.
    fn warm(
        &self,
        variant: Variant,
        times: usize,
        expected: &Behaviour,
        random: &mut Random,
    ) -> Result<Option<String>, ProveError> {
        let endings = hold()?;
        for _ in 0..times {
            let ran = match self.time(variant, padding(random), &endings) {
                Err(ProveError::TooLong) => return Ok(Some(TOO_LONG.to_owned())),
                other => other?,
            };
            let Some((behaviour, _)) = ran else { return Err(ProveError::Interrupted) };
            if let Some(how) = expected.difference(&behaviour) {
                return Ok(Some(how));
            }
        }
        Ok(None)
    }

    /// Runs pairs until there are enough of them. Returns how a run differed from what was expected.
    fn pairs(
        &self,
        expected: &Behaviour,
        random: &mut Random,
        evidence: &mut ProofEvidence,
        progress: &mut dyn FnMut(ProveStep),
    ) -> Result<Option<String>, ProveError> {
        let endings = hold()?;
        let begun = Instant::now();
        let most = self.options.runs.unwrap_or(MOST_PAIRS).min(MOST_PAIRS);
        while evidence.pairs.len() < most {
            let (done, spent) = (evidence.pairs.len() as u32, begun.elapsed());
            progress(ProveStep::Pairs(done as usize, spent));
            let next = if done > 0 { spent / done } else { Duration::ZERO };
            let least = if next < SHORT_PAIR { LEAST_PAIRS } else { 1 };
            let over = self.options.budget.is_some_and(|budget| spent + next > budget);
            if over && done as usize >= least {
                break;
            }
            let mut order = [Variant::Before, Variant::After];
            if random.below(2) == 1 {
                order.reverse();
            }
            let mut pair = [Usage::default(); 2];
            for variant in order {
                let pair_number = evidence.pairs.len() + 1;
                let ran = match self.time(variant, padding(random), &endings) {
                    Err(ProveError::TooLong) => {
                        return Ok(Some(differs(variant, pair_number, TOO_LONG)));
                    }
                    // The pairs before it are kept.
                    Err(error) if done > 0 => {
                        evidence.failure = Some(error.to_string());
                        None
                    }
                    other => other?,
                };
                let Some((behaviour, usage)) = ran else {
                    evidence.early = true;
                    return Ok(None);
                };
                if let Some(how) = expected.difference(&behaviour) {
                    return Ok(Some(differs(variant, pair_number, &how)));
                }
                pair[variant as usize] = usage;
            }
            evidence.pairs.push(pair);
        }
        Ok(None)
    }

    fn took(&self, variant: Variant, time: Duration) {
        if variant == Variant::Before {
            self.longest.set(self.longest.get().max(time));
        }
    }

    fn time(
        &self,
        variant: Variant,
        padding: usize,
        endings: &TerminationSignals,
    ) -> Result<Option<(Behaviour, Usage)>, ProveError> {
        if !self.around("--prepare", self.options.prepare.as_ref(), endings)? {
            return Ok(None);
        }
        let launch = self.variants.launch(variant, Some(padding));
        let at_most = LEAST.max(self.longest.get().saturating_mul(TIMES));
        let begun = Instant::now();
        let ran = timed(launch, self.original, &self.io, endings, at_most);
        self.took(variant, begun.elapsed());
        let cleaned = self.around("--cleanup", self.options.cleanup.as_ref(), endings)?;
        Ok(ran?.filter(|_| cleaned))
    }

    /// Runs `text`, if there is one, in a shell, as the command's user. Returns false if Ctrl-C ended it.
    fn around(
        &self,
        option: &'static str,
        text: Option<&OsString>,
        endings: &TerminationSignals,
    ) -> Result<bool, ProveError> {
        let Some(text) = text else { return Ok(true) };
        let null = std::fs::File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(ProveError::io("cannot open /dev/null"))?;
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(ProveError::io("cannot hand on standard error"))?;
        let null = Arc::new(OwnedFd::from(null));
        let launch = Launch {
            program: "/bin/sh".into(),
            argv: vec!["sh".into(), "-c".into(), text.clone()],
            stdio: Stdio::Given([null.clone(), null, Arc::new(stderr)]),
            ..self.launch.clone()
        };
        let failed = |error| ProveError::Launch { option: Some(option), error };
        let running = needless_launch::start(&launch, self.original).map_err(failed)?;
        let ended_by = wait(running, endings).map_err(|error| match error {
            ProveError::Launch { error, .. } => failed(error),
            other => other,
        });
        let Some((exit, _)) = ended_by? else { return Ok(false) };
        match exit {
            Exit::Code(0) => Ok(true),
            Exit::Signal(SIGINT) => Ok(false),
            other => Err(ProveError::Around { option, how: ended(other) }),
        }
    }
}

fn differs(variant: Variant, pair: usize, how: &str) -> String {
    match variant {
        Variant::Before => format!(
            "without the change too it does not do the same in each run: in pair {pair} {how}"
        ),
        Variant::After => format!("with the change, in pair {pair}, {how}"),
    }
}

pub(crate) fn hold() -> Result<TerminationSignals, ProveError> {
    TerminationSignals::hold().map_err(ProveError::launch)
}
