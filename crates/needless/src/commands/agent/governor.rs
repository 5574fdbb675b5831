//! How much of the time is observed, so that the agent costs no more than it may.

use std::time::Duration;

/// A window has at least so much of observation.
const LEAST: Duration = Duration::from_millis(100);
/// The part of the first period that is observed, before anything is known of the cost.
const FIRST: f64 = 0.1;
/// Where less than this part would be left out, nothing is.
const ALMOST_ALL: f64 = 0.9;
/// An observation ends early when it has cost so many times what a whole period may.
const TOO_MUCH: f64 = 2.0;
/// Over so many periods is looked whether the limit is kept.
const PERIODS: u32 = 5;
/// It is not kept where more than so many times the limit is taken: single periods come near to it from both sides.
const EXCEEDED: f64 = 1.25;

/// Decides from what the last period cost how much of the next one is observed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Governor {
    /// Seconds on a processor for each second of time; `None`: as many as it takes.
    limit: Option<f64>,
    /// The length of a period.
    period: Duration,
    /// The part of the next period that is observed.
    duty: f64,
    /// Of the last periods, fewer than [`PERIODS`].
    taken: Taken,
    /// In the first periods it only learns.
    has_learned: bool,
}

/// What periods have taken.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    periods: u32,
    cost: Duration,
    lasted: Duration,
}

/// When, in a period, is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// All the time.
    Always,
    /// For a time, after a break.
    Part {
        /// Until the observation begins.
        after: Duration,
        /// How long it is.
        length: Duration,
    },
}

impl Governor {
    /// `limit`: the part of one processor that the agent may take, from 0 to 1.
    pub(super) fn new(limit: Option<f64>, period: Duration) -> Governor {
        let duty = if limit.is_some() { FIRST } else { 1.0 };
        Governor { limit, period, duty, taken: Taken::default(), has_learned: false }
    }

    /// The next period. `random`: from 0 to 1, so that no observation is in step with what runs at certain times.
    pub(super) fn plan(&self, random: f64) -> Plan {
        if self.duty >= 1.0 {
            return Plan::Always;
        }
        let length = self.period.mul_f64(self.duty).max(LEAST).min(self.period);
        Plan::Part { after: (self.period - length).mul_f64(random.clamp(0.0, 1.0)), length }
    }

    /// Whether an observation has cost so much that it ends early.
    pub(super) fn is_too_much(&self, cost: Duration) -> bool {
        let most = self.limit.map(|limit| self.period.mul_f64(limit * TOO_MUCH));
        most.is_some_and(|most| cost > most)
    }

    /// Learns what a period has cost, of which this part was observed. A cost that does not depend on that part is
    /// taken for one that does: the part then comes nearer to what fits step by step. Returns the part of a processor
    /// that the last periods have taken, if that is too much.
    pub(super) fn learn(&mut self, cost: Duration, lasted: Duration, observed: f64) -> Option<f64> {
        let limit = self.limit?;
        let used = cost.as_secs_f64() / (lasted.as_secs_f64() * limit).max(1e-9);
        // Up slowly: one quiet period says little of the next. Down at once.
        let duty = (observed / used.max(1e-9)).min(self.duty * 2.0);
        let least = LEAST.as_secs_f64() / self.period.as_secs_f64();
        self.duty = if duty > ALMOST_ALL { 1.0 } else { duty.clamp(least.min(1.0), 1.0) };
        self.taken.periods += 1;
        self.taken.cost += cost;
        self.taken.lasted += lasted;
        if self.taken.periods < PERIODS {
            return None;
        }
        let Taken { cost, lasted, .. } = std::mem::take(&mut self.taken);
        let part = cost.as_secs_f64() / lasted.as_secs_f64().max(1e-9);
        let had_learned = std::mem::replace(&mut self.has_learned, true);
        (had_learned && part > limit * EXCEEDED).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(300);

    /// The duty, and the part of a processor that is taken, after so many periods of an agent that takes `always` in
    /// each period, and `observing` for each second of observation.
    fn after(periods: usize, limit: f64, always: f64, observing: f64) -> (f64, f64) {
        let mut governor = Governor::new(Some(limit), PERIOD);
        let mut taken = 0.0;
        for _ in 0..periods {
            let observed = match governor.plan(0.5) {
                Plan::Always => PERIOD,
                Plan::Part { length, .. } => length,
            };
            let cost = always + observing * observed.as_secs_f64();
            taken = cost / PERIOD.as_secs_f64();
            let part = observed.as_secs_f64() / PERIOD.as_secs_f64();
            let _ = governor.learn(Duration::from_secs_f64(cost), PERIOD, part);
        }
        (governor.duty, taken)
    }

    #[test]
    fn a_quiet_host_is_observed_all_the_time() {
        assert_eq!(after(10, 0.005, 0.1, 0.001).0, 1.0);
        assert_eq!(Governor::new(None, PERIOD).plan(0.5), Plan::Always);
    }

    #[test]
    fn a_busy_host_costs_what_it_may() {
        for observing in [0.01, 0.1, 2.0] {
            let (duty, taken) = after(30, 0.005, 0.3, observing);
            assert!((0.0045..0.0055).contains(&taken), "{observing}: {duty} {taken}");
        }
    }

    #[test]
    fn there_is_always_some_observation() {
        let (duty, taken) = after(30, 0.005, 20.0, 0.1);
        assert!(taken > 0.005 && duty * PERIOD.as_secs_f64() >= 0.099, "{duty} {taken}");
        let governor = Governor { duty, ..Governor::new(Some(0.005), PERIOD) };
        assert_eq!(
            governor.plan(1.0),
            Plan::Part { after: PERIOD - LEAST, length: LEAST },
            "at the end of a period"
        );
        assert!(matches!(governor.plan(0.0), Plan::Part { after: Duration::ZERO, .. }));
    }

    #[test]
    fn a_limit_that_is_not_kept_is_reported_once_it_has_learned() {
        let learned = |cost: f64| -> Vec<Option<f64>> {
            let mut governor = Governor::new(Some(0.005), PERIOD);
            (0..10).map(|_| governor.learn(Duration::from_secs_f64(cost), PERIOD, 0.1)).collect()
        };
        let mut expected = vec![None; 10];
        assert_eq!(learned(1.6), expected, "near the limit of 1.5 seconds");
        expected[9] = Some(0.01);
        assert_eq!(learned(3.0), expected);
        let mut free = Governor::new(None, PERIOD);
        assert!((0..20).all(|_| free.learn(PERIOD, PERIOD, 1.0).is_none()));
    }

    #[test]
    fn a_burst_ends_an_observation() {
        let governor = Governor::new(Some(0.005), PERIOD);
        assert!(!governor.is_too_much(Duration::from_secs(2)));
        assert!(governor.is_too_much(Duration::from_secs(4)));
        assert!(!Governor::new(None, PERIOD).is_too_much(PERIOD));
    }
}
