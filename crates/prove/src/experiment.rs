//! The whole experiment, step by step.

use crate::arms::{Arms, padding};
use crate::judge::{Evidence, judge};
use crate::run::{Behaviour, SIGINT, Streams, timed, wait};
use crate::{Arm, Random};
use needless_launch::{Launch, Original, Stdio, TerminationSignals};
use needless_model::{Change, Exit, Profile, Proof, Snapshot, Usage, changed_rows};
use needless_observe::{Caller, Failure};
use regex::bytes::Regex;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most pairs of one experiment: beyond, an interval hardly narrows.
pub(crate) const MOST_PAIRS: usize = 2_000;
/// Rows that a proof keeps.
const ROWS: usize = 12;

/// How to measure.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Only count calls: no pair is run.
    pub count_only: bool,
    /// Pairs to run; `None`: as many as the budget allows, at most 2,000.
    pub runs: Option<usize>,
    /// Time for the pairs. A pair that would not end in time is not begun, but for the first.
    pub budget: Option<Duration>,
    /// Runs of each arm that are not timed before the first pair; at least one is made.
    pub warmup: usize,
    /// The command's input, from the start in every run; `/dev/null` if `None`.
    pub stdin: Option<PathBuf>,
    /// A command for `sh -c` before each run, not measured.
    pub prepare: Option<OsString>,
    /// The same after each run.
    pub cleanup: Option<OsString>,
    /// What of each line of the output is not compared.
    pub ignored: Option<Regex>,
    /// Of the order in pairs and of the padding.
    pub seed: u64,
    /// How calls are counted.
    pub capture: needless_observe::ObserveOptions,
}

/// How far an experiment is.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An arm is run under the tracer.
    Counting(Arm),
    /// An arm is run to fill caches and to see whether it does the same each time.
    Warming,
    /// So many pairs were measured, in this time.
    Pairs(usize, Duration),
}

/// What came of an experiment.
pub struct Experiment {
    /// The proof; its predictions are for whoever knows the rules.
    pub proof: Proof,
    /// What the command asked as it is.
    pub before: Profile,
    /// What it asked with the change; `None` if it never came to that.
    pub after: Option<Profile>,
}

/// Runs `words` with and without `changes`. Ctrl-C among the pairs ends it early, with a proof of what
/// there is; so does what fails after the first of them, which the proof then names. To be called
/// while this process has one thread.
///
/// # Errors
/// When the command or a command around it cannot be run, observed, or was interrupted before there
/// was anything to tell.
pub fn prove(
    words: &[OsString],
    caller: Option<Caller>,
    changes: &[Change],
    options: &ProveOptions,
    progress: &mut dyn FnMut(Step),
) -> Result<Experiment, Failure> {
    let launch = needless_observe::launch(words, caller)?;
    let lab = Lab {
        arms: Arms::new(launch.clone(), changes)?,
        launch,
        original: Original::record(),
        streams: Streams { stdin: options.stdin.clone(), ignored: options.ignored.clone() },
        options,
    };
    let mut random = Random::new(options.seed);
    let mut evidence = Evidence::default();

    // The first run may leave something behind that later ones use: it is counted apart.
    progress(Step::Counting(Arm::Before));
    let (first, expected) = lab.count(Arm::Before)?;
    evidence.first = Some(first.totals.calls);
    let (before, behaviour) = lab.count(Arm::Before)?;
    evidence.before.push(before.totals.calls);
    let mut proof = Proof::begun(&words[0].to_string_lossy(), changes, &before.backend);
    let how = match expected.difference(&behaviour) {
        None => lab.warm(Arm::Before, options.warmup.saturating_sub(1), &expected, &mut random)?,
        some => some,
    };
    if let Some(how) = how {
        proof.outcome = needless_model::Outcome::Differs(format!(
            "without the change too it does not do the same in each run: {how}"
        ));
        return Ok(Experiment { proof, before, after: None });
    }
    // So may the first with the change: it is not counted.
    progress(Step::Warming);
    if let Some(how) = lab.warm(Arm::After, options.warmup.max(1), &expected, &mut random)? {
        proof.outcome = needless_model::Outcome::Differs(format!("with the change {how}"));
        return Ok(Experiment { proof, before, after: None });
    }
    progress(Step::Counting(Arm::After));
    let (after, behaviour) = lab.count(Arm::After)?;
    if let Some(how) = expected.difference(&behaviour) {
        proof.outcome = needless_model::Outcome::Differs(format!("with the change {how}"));
        return Ok(Experiment { proof, before, after: Some(after) });
    }
    evidence.after.push(after.totals.calls);
    let snapshots = (Snapshot::of(&before, ""), Snapshot::of(&after, ""));
    proof.rows = changed_rows(&snapshots.0, &snapshots.1);
    proof.rows.truncate(ROWS);
    if before.totals.calls > after.totals.calls {
        // Some programs do not make the same calls twice: only a second count can tell.
        for (arm, counts) in
            [(Arm::After, &mut evidence.after), (Arm::Before, &mut evidence.before)]
        {
            progress(Step::Counting(arm));
            counts.push(lab.count(arm)?.0.totals.calls);
        }
    }
    evidence.first_exit = Some(expected.exit);
    evidence.count_only = options.count_only;
    if options.count_only || evidence.stays() {
        judge(&mut proof, &evidence);
        return Ok(Experiment { proof, before, after: Some(after) });
    }
    proof.peak_floor_kib = needless_launch::peak_floor_kib(&lab.launch, lab.original)
        .map_err(|error| bad(&error.to_string()))?;
    let differs = lab.pairs(&expected, &mut random, &mut evidence, progress)?;
    match differs {
        Some(how) => proof.outcome = needless_model::Outcome::Differs(how),
        None => judge(&mut proof, &evidence),
    }
    Ok(Experiment { proof, before, after: Some(after) })
}

/// What every run needs.
struct Lab<'a> {
    launch: Launch,
    arms: Arms,
    original: Original,
    streams: Streams,
    options: &'a ProveOptions,
}

impl Lab<'_> {
    /// Runs an arm under the tracer.
    fn count(&self, arm: Arm) -> Result<(Profile, Behaviour), Failure> {
        let interrupted = || bad("interrupted before anything was measured");
        let prepare = self.options.prepare.as_ref();
        if !self.around("--prepare", prepare, &hold()?)? {
            return Err(interrupted());
        }
        let (captured, written) = self.streams.with(
            |_| false,
            |fds| {
                let launch = self.arms.launch(arm, None);
                let launch = Launch { stdio: Stdio::Given(fds), ..launch };
                needless_observe::count(launch, &self.options.capture)
            },
        )?;
        let cleaned = self.around("--cleanup", self.options.cleanup.as_ref(), &hold()?)?;
        let exit = captured.exit();
        if exit == Exit::Signal(SIGINT) || !cleaned {
            return Err(interrupted());
        }
        Ok((captured.profile, Behaviour { exit, written }))
    }

    /// Runs an arm so many times. How it differed from what was expected.
    fn warm(
        &self,
        arm: Arm,
        times: usize,
        expected: &Behaviour,
        random: &mut Random,
    ) -> Result<Option<String>, Failure> {
        let endings = hold()?;
        for _ in 0..times {
            let Some((behaviour, _)) = self.time(arm, padding(random), &endings)? else {
                return Err(bad("interrupted before anything was measured"));
            };
            if let Some(how) = expected.difference(&behaviour) {
                return Ok(Some(how));
            }
        }
        Ok(None)
    }

    /// Runs pairs until there are enough of them. How a run differed from what was expected.
    fn pairs(
        &self,
        expected: &Behaviour,
        random: &mut Random,
        evidence: &mut Evidence,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Option<String>, Failure> {
        let endings = hold()?;
        let begun = Instant::now();
        let most = self.options.runs.unwrap_or(MOST_PAIRS).min(MOST_PAIRS);
        while evidence.pairs.len() < most {
            let (done, spent) = (evidence.pairs.len() as u32, begun.elapsed());
            progress(Step::Pairs(done as usize, spent));
            let next = if done > 0 { spent / done } else { Duration::ZERO };
            if self.options.budget.is_some_and(|budget| done > 0 && spent + next > budget) {
                break;
            }
            let mut order = [Arm::Before, Arm::After];
            if random.below(2) == 1 {
                order.reverse();
            }
            let mut pair = [Usage::default(); 2];
            for arm in order {
                let ran = match self.time(arm, padding(random), &endings) {
                    // The pairs before it stand.
                    Err(failure) if done > 0 => {
                        evidence.failure = Some(failure.message);
                        None
                    }
                    other => other?,
                };
                let Some((behaviour, usage)) = ran else {
                    evidence.early = true;
                    return Ok(None);
                };
                if let Some(how) = expected.difference(&behaviour) {
                    return Ok(Some(differs(arm, evidence.pairs.len() + 1, &how)));
                }
                pair[arm as usize] = usage;
            }
            evidence.pairs.push(pair);
        }
        Ok(None)
    }

    fn time(
        &self,
        arm: Arm,
        padding: usize,
        endings: &TerminationSignals,
    ) -> Result<Option<(Behaviour, Usage)>, Failure> {
        if !self.around("--prepare", self.options.prepare.as_ref(), endings)? {
            return Ok(None);
        }
        let launch = self.arms.launch(arm, Some(padding));
        let ran = timed(launch, self.original, &self.streams, endings);
        let cleaned = self.around("--cleanup", self.options.cleanup.as_ref(), endings)?;
        Ok(ran?.filter(|_| cleaned))
    }

    /// Runs `text`, if there is one, in a shell, as the command's user. `false` if Ctrl-C ended it.
    fn around(
        &self,
        option: &str,
        text: Option<&OsString>,
        endings: &TerminationSignals,
    ) -> Result<bool, Failure> {
        let Some(text) = text else { return Ok(true) };
        let null = std::fs::File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(|e| bad(&format!("cannot open /dev/null: {e}")))?;
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(|e| bad(&format!("cannot hand on standard error: {e}")))?;
        let null = Arc::new(OwnedFd::from(null));
        let launch = Launch {
            program: "/bin/sh".into(),
            argv: vec!["sh".into(), "-c".into(), text.clone()],
            stdio: Stdio::Given([null.clone(), null, Arc::new(stderr)]),
            ..self.launch.clone()
        };
        let failed = |e: needless_launch::LaunchError| bad(&format!("{option}: {e}"));
        let running = needless_launch::start(&launch, self.original).map_err(failed)?;
        let Some((exit, _)) = wait(running, endings).map_err(failed)? else { return Ok(false) };
        match exit {
            Exit::Code(0) => Ok(true),
            Exit::Signal(SIGINT) => Ok(false),
            Exit::Code(code) => {
                Err(bad(&format!("{option}: the command exits with status {code}")))
            }
            Exit::Signal(number) => {
                Err(bad(&format!("{option}: the command is killed by signal {number}")))
            }
        }
    }
}

fn differs(arm: Arm, pair: usize, how: &str) -> String {
    match arm {
        Arm::Before => format!(
            "without the change too it does not do the same in each run: in pair {pair} {how}"
        ),
        Arm::After => format!("with the change, in pair {pair}, {how}"),
    }
}

fn hold() -> Result<TerminationSignals, Failure> {
    TerminationSignals::hold().map_err(|error| bad(&error.to_string()))
}

fn bad(message: &str) -> Failure {
    Failure { status: Failure::BAD, message: message.to_owned() }
}
