//! What the measurements prove, and what stands against them.
//!
//! A change is proven if fewer calls are counted, or CPU time falls significantly, and it is not slower. Calls count
//! where both counts of a variant are equal, or differ little compared with the fall; CPU time where the 95 % interval
//! of its median difference lies below zero. More CPU time, beyond chance, outweighs both. The wall clock and page
//! faults are printed and prove nothing.

use crate::stats::{interval, median, outliers, spread};
use needless_model::{Counted, Exit, Measure, Outcome, Proof, Quantity, Usage};

/// With fewer pairs no 95 % interval can exclude zero: by chance alone, five differences all fall on one side in
/// one measurement of sixteen.
pub(crate) const LEAST_PAIRS: usize = 6;
/// The caches were cold if the first run took this many median deviations longer than the others.
const COLD: f64 = 10.0;
/// Below this median CPU time, in seconds, most of what is measured is the start of the program.
const SHORT: f64 = 0.003;

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProofEvidence {
    /// Calls of the very first run, without the change, if it was counted.
    pub(crate) first: Option<u64>,
    /// Calls of each further count of the variant without the change; the last was made after those with it.
    pub(crate) before: Vec<u64>,
    /// The same with the change.
    pub(crate) after: Vec<u64>,
    /// Pairs of runs: without and with the change.
    pub(crate) pairs: Vec<[Usage; 2]>,
    /// Whether somebody asked for the report before the last pair.
    pub(crate) early: bool,
    /// What failed after the first pair.
    pub(crate) failure: Option<String>,
    /// Whether the user wanted no pairs.
    pub(crate) count_only: bool,
    /// How every run ended.
    pub(crate) first_exit: Option<Exit>,
}

impl ProofEvidence {
    /// Whether the effect of the change stays after the runs with it: before them each run without it made more
    /// calls, after them it makes as few. Cached bytecode, for example, is used by all later runs.
    pub(crate) fn stays(&self) -> bool {
        let ([before @ .., last], Some(first)) = (&self.before[..], self.first) else {
            return false;
        };
        let (Some(after), Some(untouched)) = (counted(&self.after), counted(before)) else {
            return false;
        };
        let untouched = counted(&[first, untouched.least, untouched.most]).unwrap_or(untouched);
        let last = Counted { least: *last, most: *last };
        calls_fell(untouched, after) && !calls_fell(last, after) && calls_fell(untouched, last)
    }

    /// The counts of the two variants; without the last count of the first where the effect of the change stays.
    fn calls(&self) -> Option<(Counted, Counted)> {
        let last = usize::from(self.stays());
        let before = &self.before[..self.before.len() - last];
        counted(before).zip(counted(&self.after))
    }
}

/// Fills `proof` with what follows from `evidence`.
pub(crate) fn judge(proof: &mut Proof, evidence: &ProofEvidence) {
    let calls = evidence.calls();
    proof.calls = calls;
    proof.pairs = evidence.pairs.len();
    proof.early = evidence.early;
    proof.failure.clone_from(&evidence.failure);
    proof.measures = measures(&evidence.pairs);
    let fell = calls.is_some_and(|(before, after)| calls_fell(before, after));
    proof.outcome = if evidence.count_only || evidence.stays() {
        counts_only(fell)
    } else {
        outcome(fell, calls, proof)
    };
    proof.warnings = warnings(evidence, proof);
}

/// The range of the counts of one variant.
pub(crate) fn counted(counts: &[u64]) -> Option<Counted> {
    Some(Counted { least: *counts.iter().min()?, most: *counts.iter().max()? })
}

/// Two counts say little about a third one: calls must fall by more than this many times the ranges of both
/// variants together.
const RANGES: u64 = 3;

/// Whether calls fell by more than the difference between counts of the same variant.
pub(crate) fn calls_fell(before: Counted, after: Counted) -> bool {
    let ranges = (before.most - before.least) + (after.most - after.least);
    before.least.checked_sub(after.most).is_some_and(|gap| gap > RANGES * ranges)
}

fn measures(pairs: &[[Usage; 2]]) -> Vec<Measure> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let measure = |quantity: Quantity| {
        let values = |variant: usize| pairs.iter().map(move |pair| quantity.of(&pair[variant]));
        let (before, after): (Vec<f64>, Vec<f64>) = (values(0).collect(), values(1).collect());
        let differences: Vec<f64> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
        Measure {
            quantity,
            before: median(&before),
            after: median(&after),
            difference: median(&differences),
            interval: interval(&differences),
        }
    };
    Quantity::ALL.into_iter().map(measure).collect()
}

fn counts_only(fell: bool) -> Outcome {
    if fell {
        return Outcome::Proven { calls: true, cpu: false };
    }
    let why = "no calls went beyond what counts differ; CPU time was not measured";
    Outcome::NotProven(why.into())
}

fn outcome(fell: bool, calls: Option<(Counted, Counted)>, proof: &Proof) -> Outcome {
    let Some(cpu) = proof.measure(Quantity::Cpu) else {
        return Outcome::NotProven("no pair of runs was measured".into());
    };
    let enough = proof.pairs >= LEAST_PAIRS;
    let (cpu_fell, cpu_rose) = (enough && cpu.fell(), enough && cpu.rose());
    if (fell && !cpu_rose) || cpu_fell {
        return Outcome::Proven { calls: fell, cpu: cpu_fell };
    }
    Outcome::NotProven(match calls {
        _ if fell => "calls went, but it takes more CPU time".into(),
        _ if cpu_rose => "no calls went, and it takes more CPU time".into(),
        Some((before, after)) if after.most < before.least => {
            "the counts with the change differ from those without it no more than counts of one variant differ".into()
        }
        _ if !enough => format!("no calls went, and a statement on CPU time needs {LEAST_PAIRS} pairs"),
        _ => "no calls went, and CPU time differs no more than by chance".into(),
    })
}

/// Doubts, and how to get a better answer.
fn warnings(evidence: &ProofEvidence, proof: &Proof) -> Vec<String> {
    let mut warnings = Vec::new();
    match evidence.first_exit {
        Some(Exit::Code(0)) | None => {}
        Some(Exit::Code(code)) => warnings
            .push(format!("In every run the command fails with status {code}: is that the case to be measured? Its standard error is not shown here.")),
        Some(Exit::Signal(number)) => warnings.push(format!(
            "In every run the command is killed by signal {number}: is that the case to be measured?"
        )),
    }
    if let Some((before, after)) = proof.calls
        && (before.least != before.most || after.least != after.most)
    {
        warnings.push(
            "The command does not make the same calls in each run: counts are ranges.".into(),
        );
    }
    if evidence.stays() {
        warnings.push("What the runs with the change left behind is used by the runs without it too, which now make as few calls. The counts are from before and after that; pairs of runs, and another proof, would show no difference.".into());
    }
    let pairs = evidence.pairs.len();
    if pairs == 0 {
        return warnings;
    }
    if pairs < LEAST_PAIRS {
        warnings.push(format!(
            "{pairs} of the {LEAST_PAIRS} pairs that a statement on CPU time needs: give it more with --runs or --budget."
        ));
        return warnings;
    }
    let cpu = |variant: usize| -> Vec<f64> {
        evidence.pairs.iter().map(|pair| Quantity::Cpu.of(&pair[variant])).collect()
    };
    let (before, after) = (cpu(0), cpu(1));
    let first = before[0].max(after[0]);
    if first - median(&before).max(median(&after)) > COLD * spread(&before).max(spread(&after)) {
        warnings.push("The first runs took longer than all others, because caches were cold: --warmup 3 runs the command three times before, with and without the change.".into());
    }
    let far = outliers(&before) + outliers(&after);
    if far * 20 > 2 * pairs {
        warnings.push(format!(
            "{far} of {} runs took far more CPU time than the others: something else disturbs them. Close other programs, or use one processor (taskset).",
            2 * pairs
        ));
    }
    if median(&before) < SHORT {
        warnings.push("A run takes less than 3 ms of CPU, most of it for starting the program: a longer input shows the calls better.".into());
    }
    warnings.extend(more_pairs(proof));
    warnings
}

/// How many pairs would show a difference, where the interval holds zero.
fn more_pairs(proof: &Proof) -> Option<String> {
    let cpu = proof.measure(Quantity::Cpu)?;
    if cpu.fell() || cpu.rose() || cpu.before == 0.0 {
        return None;
    }
    let half = (cpu.interval.1 - cpu.interval.0) / 2.0;
    let seen = half / cpu.before * 100.0;
    let sentence = format!(
        "With {} pairs a difference in CPU time below {seen:.1} % does not show",
        proof.pairs
    );
    // An interval narrows with the root of the number of pairs.
    let factor = (half / cpu.difference).powi(2);
    let wanted = factor * proof.pairs as f64 * 1.5;
    Some(if cpu.difference < 0.0 && wanted < 10_000.0 {
        format!(
            "{sentence}; if it is {:.1} %, some {:.0} pairs would show it (--runs).",
            -cpu.difference / cpu.before * 100.0,
            (wanted / 10.0).ceil() * 10.0
        )
    } else if proof.pairs >= crate::experiment::MOST_PAIRS {
        format!("{sentence}; a longer input may show more.")
    } else {
        format!("{sentence}; more pairs (--runs or --budget) on a quiet machine may show it.")
    })
}

#[cfg(test)]
mod tests;
