//! Snapshots of stacks that could not be taken, because the calls did not stop: they are taken at the next that do.

use crate::sampling::sample_weight;
use foldhash::fast::FixedState;
use needless_model::QuestionId;
use std::collections::HashMap;

/// How many snapshots stand for what was missed: a program may ask from several places in turn.
const SNAPSHOTS: u64 = 4;
/// Most questions that are waited for.
const MOST: usize = 4096;

/// For which questions, for how many calls, in how many snapshots.
#[derive(Default)]
pub(crate) struct Due(HashMap<QuestionId, (u64, u64), FixedState>);

impl Due {
    /// `count` calls with a question that was asked `before` times were counted without a stop. Returns whether it is
    /// asked so often that the next calls should stop.
    pub(crate) fn missed(&mut self, question: QuestionId, before: u64, count: u64) -> bool {
        const OFTEN: u64 = 64;
        // Beyond so many calls the weight of the first snapshots says enough.
        const STEPS: u64 = 1 << 20;
        let weight: u64 = milestones(before, before + count.min(STEPS)).map(sample_weight).sum();
        if weight == 0 || self.0.len() >= MOST && !self.0.contains_key(&question) {
            return false;
        }
        let due = self.0.entry(question).or_default();
        *due = (due.0 + weight, SNAPSHOTS);
        before + count >= OFTEN
    }

    /// For how many missed calls a snapshot at a call with this question stands.
    pub(crate) fn take(&mut self, question: QuestionId) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let Some((calls, left)) = self.0.get_mut(&question) else { return 0 };
        let share = calls.div_ceil(*left);
        (*calls, *left) = (*calls - share, *left - 1);
        if *left == 0 || *calls == 0 {
            self.0.remove(&question);
        }
        share
    }
}

/// The calls after the first `before`, up to the `last`, at which a snapshot may be due: the second, and those that follow
/// a power of 8.
fn milestones(before: u64, last: u64) -> impl Iterator<Item = u64> {
    let powers = (1..21).map(|exponent| 8u64.pow(exponent)).take_while(move |power| *power <= last);
    let all = std::iter::once(2).chain(powers.flat_map(|power| power..power + 8));
    all.filter(move |hit| (before + 1..=last).contains(hit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_what_would_have_been_taken() {
        for (before, last) in [(0, 1), (0, 2), (1, 9), (8, 70), (63, 64), (64, 600), (0, 4099)] {
            let all: u64 = (before + 1..=last).map(sample_weight).sum();
            assert_eq!(milestones(before, last).map(sample_weight).sum::<u64>(), all);
        }
    }
}
