use super::*;
use crate::Random;
use needless_model::Backend;

fn usage(cpu_ns: u64) -> Usage {
    Usage { user_ns: cpu_ns / 2, system_ns: cpu_ns / 2, wall_ns: cpu_ns, ..Usage::default() }
}

/// The proof from these counts and pairs of CPU times, in nanoseconds.
fn judged(before: &[u64], after: &[u64], pairs: Vec<[u64; 2]>) -> Proof {
    let mut proof = Proof::begun("x", &[], Backend::default());
    let pairs = pairs.into_iter().map(|pair| pair.map(usage)).collect();
    let evidence = ProofEvidence {
        before: before.to_vec(),
        after: after.to_vec(),
        pairs,
        first_exit: Some(Exit::Code(0)),
        ..ProofEvidence::default()
    };
    judge(&mut proof, &evidence);
    proof
}

/// Pairs whose second run takes `factor` times the CPU time of the first, with noise of a few per cent.
fn pairs(n: usize, factor: f64, seed: u64) -> Vec<[u64; 2]> {
    let mut random = Random::new(seed);
    let mut noisy = |ns: f64| (ns * (1.0 + 0.05 * (random.unit() + random.unit() - 1.0))) as u64;
    (0..n).map(|_| [noisy(1e7), noisy(1e7 * factor)]).collect()
}

#[test]
fn counts_prove_and_cpu_may() {
    let proof = judged(&[100, 100], &[91, 91], pairs(40, 1.0, 1));
    assert_eq!(proof.outcome, Outcome::Proven { calls: true, cpu: false });
    assert!(proof.warnings.iter().any(|w| w.contains("does not show")), "{:?}", proof.warnings);
    let proof = judged(&[100, 100], &[91, 91], pairs(40, 0.9, 2));
    assert_eq!(proof.outcome, Outcome::Proven { calls: true, cpu: true });
    let proof = judged(&[100], &[100], pairs(40, 0.9, 3));
    assert_eq!(proof.outcome, Outcome::Proven { calls: false, cpu: true });
}

/// Cached bytecode stays: the last run without the change is not like the first ones.
#[test]
fn a_change_that_outlasts_its_runs_is_proven_by_the_counts_before() {
    for (first, before, proven, stays) in [
        (100, [100, 60], true, true),
        // Equally many without the change: counts differ from run to run anyway.
        (140, [100, 60], false, false),
        // The very first run left files behind; the change has nothing to do with it.
        (140, [100, 100], true, false),
        (60, [60, 60], false, false),
        (100, [100, 80], false, false),
    ] {
        for count_only in [false, true] {
            let mut proof = Proof::begun("x", &[], Backend::default());
            let (before, after) = (before.to_vec(), vec![60, 60]);
            let pairs = if stays || count_only { 0 } else { 40 };
            let pairs =
                self::pairs(pairs, 1.0, 6).into_iter().map(|pair| pair.map(usage)).collect();
            let evidence = ProofEvidence {
                first: Some(first),
                before,
                after,
                pairs,
                count_only,
                ..ProofEvidence::default()
            };
            judge(&mut proof, &evidence);
            assert_eq!(evidence.stays(), stays, "{first} {:?}", evidence.before);
            assert_eq!(proof.holds(), proven, "{first} {:?}", evidence.before);
            assert_eq!(proof.warnings.iter().any(|w| w.contains("left behind")), stays);
            if stays {
                assert_eq!(
                    proof.calls.map(|(before, _)| (before.least, before.most)),
                    Some((100, 100))
                );
            }
        }
    }
}

#[test]
fn counts_alone_say_nothing_of_time() {
    for (after, proven) in [(91, true), (100, false), (109, false)] {
        let mut proof = Proof::begun("x", &[], Backend::default());
        let (before, after) = (vec![100, 100], vec![after, after]);
        judge(
            &mut proof,
            &ProofEvidence { before, after, count_only: true, ..ProofEvidence::default() },
        );
        assert_eq!(proof.holds(), proven, "{:?}", proof.outcome);
        assert!(proof.measures.is_empty() && proof.pairs == 0 && proof.warnings.is_empty());
    }
}

#[test]
fn a_change_that_makes_it_slower_is_not_proven_by_counts() {
    let proof = judged(&[100, 100], &[91, 91], pairs(40, 1.2, 4));
    assert_eq!(proof.outcome, Outcome::NotProven("calls went, but it takes more CPU time".into()));
}

#[test]
fn counts_that_differ_anyway_prove_nothing() {
    let proof = judged(&[1_000, 1_010], &[990, 999], pairs(40, 1.0, 5));
    assert!(!proof.holds() && format!("{:?}", proof.outcome).contains("counts of one variant"));
    assert!(proof.warnings.iter().any(|w| w.contains("ranges")));
    assert!(judged(&[1_000, 1_010], &[500, 505], pairs(40, 1.0, 6)).holds());
}

#[test]
fn five_pairs_say_nothing_of_time() {
    let proof = judged(&[100], &[100], pairs(5, 0.1, 7));
    assert!(!proof.holds());
    assert!(proof.warnings[0].contains("5 of the 6 pairs"), "{:?}", proof.warnings);
    assert!(judged(&[100], &[100], pairs(6, 0.1, 8)).holds());
}

/// Equal variants of a program whose calls and times vary by chance: how often is something proven?
#[test]
fn equal_arms_are_seldom_proven() {
    const ROUNDS: u64 = 400;
    for n in [6, 20, 60] {
        let mut proven = 0;
        for round in 0..ROUNDS {
            let mut random = Random::new(1_000_000 * n as u64 + round);
            let mut count = || 1_000 + random.below(200) as u64;
            let (before, after) = (count(), count());
            // As a measurement does: a second count if calls seem to have fallen.
            let (before, after) = if before > after {
                (vec![before, count()], vec![after, count()])
            } else {
                (vec![before], vec![after])
            };
            proven +=
                u64::from(judged(&before, &after, pairs(n, 1.0, round * 64 + n as u64)).holds());
        }
        // 5 %, and two standard deviations of a binomial count of this many rounds.
        println!("{n} pairs: {proven} of {ROUNDS}");
        assert!(proven <= ROUNDS / 20 + 9, "{n} pairs: {proven} of {ROUNDS}");
    }
}

#[test]
fn warnings_of_noise_say_what_to_do() {
    let mut noisy = pairs(40, 1.0, 9);
    for pair in noisy.iter_mut().step_by(4) {
        pair[0] *= 5;
    }
    let proof = judged(&[5], &[5], noisy);
    assert!(proof.warnings.iter().any(|w| w.contains("10 of 80 runs")), "{:?}", proof.warnings);
    let mut cold = pairs(40, 1.0, 10);
    cold[0][1] *= 20;
    let proof = judged(&[5], &[5], cold);
    assert!(proof.warnings.iter().any(|w| w.contains("--warmup")), "{:?}", proof.warnings);
}
