//! How much of the time is observed, so that the agent costs no more than it may.

use std::time::Duration;

/// A window has at least so much of observation.
const LEAST: Duration = Duration::from_millis(100);
/// The part of the first period that is observed, before anything is known of the cost.
const FIRST: f64 = 0.1;
/// Where less than this part would be left out, nothing is.
const ALMOST_ALL: f64 = 0.9;
/// So much of what may be spent a length is chosen for: then few observations end early, and the rest pays for the
/// few that cost more than expected.
const AIM: f64 = 0.8;
/// Over so many seconds the limit is kept: what the start takes is paid back in that time.
const HORIZON: f64 = 600.0;
/// So many periods in a row are left out at most, so that a window ends in a time that is known.
const RESTS: u32 = 3;
/// More than what may be spent in so many seconds is never paid back.
const FORGOTTEN: f64 = 3600.0;
/// How much of the cost of an end is kept in mind from window to window, if it was more than that of the last one.
const REMEMBERED: f64 = 0.7;
/// Over so many windows is looked whether the limit is kept.
const WINDOWS: u32 = 5;
/// It is not kept where more than so many times the limit is taken: single windows come near to it from both sides.
const EXCEEDED: f64 = 1.25;

/// Decides from what was spent how much of the next window is observed. What was spent too much is paid back by later
/// windows: up to half of what they may spend, or all of it in periods without an observation. What is left over is
/// not saved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Governor {
    /// Seconds on a processor for each second of time; `None`: as many as it takes.
    limit: Option<f64>,
    /// The length of a window without a rest.
    period: Duration,
    /// The part of a period that is observed where nothing is owed.
    duty: f64,
    /// Seconds on a processor that were spent too much.
    owed: f64,
    /// Periods of the present window that were left out.
    rests: u32,
    /// What the end of a window costs (it is judged and written), seconds.
    end: f64,
    /// Of the last windows, fewer than [`WINDOWS`].
    taken: Taken,
    /// In the first windows it only learns.
    has_learned: bool,
}

/// What windows have taken.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    windows: u32,
    cost: Duration,
    lasted: Duration,
}

/// What a window has cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    /// How long it was, with its rests.
    pub(super) lasted: Duration,
    /// How much of that was observed.
    pub(super) observed: Duration,
    /// CPU time in all.
    pub(super) cost: Duration,
    /// CPU time until the observation ended.
    pub(super) observing: Duration,
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
    /// Not at all for so long, and the window goes on after it.
    Rest(Duration),
}

impl Governor {
    /// `limit`: the part of one processor that the agent may take, from 0 to 1. `start`: the CPU time that was taken
    /// before the first window.
    pub(super) fn new(limit: Option<f64>, period: Duration, start: Duration) -> Governor {
        Governor {
            limit,
            period,
            duty: if limit.is_some() { FIRST } else { 1.0 },
            owed: start.as_secs_f64(),
            rests: 0,
            end: 0.0,
            taken: Taken::default(),
            has_learned: false,
        }
    }

    /// The next period. `random`: from 0 to 1, so that no observation is in step with what runs at certain times.
    pub(super) fn plan(&mut self, random: f64) -> Plan {
        let Some(limit) = self.limit else { return Plan::Always };
        let (income, may) = (self.income(limit), self.may_spend(limit));
        let is_too_little =
            may < self.end || self.owed - income * f64::from(self.rests) > limit * HORIZON / 2.0;
        if is_too_little && self.rests < RESTS {
            self.rests += 1;
            return Plan::Rest(self.period);
        }
        let part = self.duty * may / income;
        if self.duty >= 1.0 && part >= ALMOST_ALL {
            return Plan::Always;
        }
        let length = self.period.mul_f64(part.min(1.0)).max(LEAST).min(self.period);
        Plan::Part { after: (self.period - length).mul_f64(random.clamp(0.0, 1.0)), length }
    }

    /// Whether an observation, with what its end will cost, has cost so much that it ends early. `cost`: of the window
    /// so far; `observed`: how long the observation is.
    pub(super) fn is_too_much(&self, cost: Duration, observed: Duration) -> bool {
        let is_more = |limit| cost.as_secs_f64() + self.end > self.may_spend(limit);
        observed >= LEAST && self.limit.is_some_and(is_more)
    }

    /// Learns what a window has cost. A cost that does not depend on the observed part is taken for one that does: the
    /// part then comes nearer to what fits step by step. Returns the part of a processor that the last windows have
    /// taken, if that is too much.
    pub(super) fn learn(&mut self, spent: &Spent) -> Option<f64> {
        let limit = self.limit?;
        let (cost, lasted) = (spent.cost.as_secs_f64(), spent.lasted.as_secs_f64());
        self.owed = (self.owed + cost - lasted * limit).clamp(0.0, limit * FORGOTTEN);
        self.rests = 0;
        let end = spent.cost.saturating_sub(spent.observing).as_secs_f64();
        self.end = end.max(self.end * REMEMBERED);
        // Up slowly: one quiet window says little of the next. Down at once.
        let used = cost / (self.income(limit) * AIM).max(1e-9);
        let observed = spent.observed.as_secs_f64() / self.period.as_secs_f64();
        let duty = (observed / used.max(1e-9)).min(self.duty * 2.0);
        let least = LEAST.as_secs_f64() / self.period.as_secs_f64();
        self.duty = if duty > ALMOST_ALL { 1.0 } else { duty.clamp(least.min(1.0), 1.0) };
        self.exceeded(limit, spent)
    }

    fn exceeded(&mut self, limit: f64, spent: &Spent) -> Option<f64> {
        self.taken.windows += 1;
        self.taken.cost += spent.cost;
        self.taken.lasted += spent.lasted;
        if self.taken.windows < WINDOWS {
            return None;
        }
        let Taken { cost, lasted, .. } = std::mem::take(&mut self.taken);
        let part = cost.as_secs_f64() / lasted.as_secs_f64().max(1e-9);
        let had_learned = std::mem::replace(&mut self.has_learned, true);
        (had_learned && part > limit * EXCEEDED).then_some(part)
    }

    /// What a period brings, in seconds on a processor.
    fn income(&self, limit: f64) -> f64 {
        limit * self.period.as_secs_f64()
    }

    /// What the present window may spend, in seconds on a processor: what its periods bring without what is owed, and
    /// at least half of what one brings.
    fn may_spend(&self, limit: f64) -> f64 {
        let income = self.income(limit);
        (income * f64::from(self.rests + 1) - self.owed).max(income / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(300);
    const LIMIT: f64 = 0.005;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// An agent that takes `start` before its first window, `end` for the end of each, and for each second of observation
    /// what `observing` says for that time.
    struct Host<F> {
        governor: Governor,
        end: f64,
        observing: F,
        time: f64,
        spent: f64,
        /// What the observations have cost, scaled by `sample_scale`.
        scaled: f64,
        random: u64,
    }

    impl<F: FnMut(f64) -> f64> Host<F> {
        fn new(start: f64, end: f64, observing: F) -> Host<F> {
            let governor = Governor::new(Some(LIMIT), PERIOD, seconds(start));
            Host { governor, end, observing, time: 0.0, spent: start, scaled: 0.0, random: 1 }
        }

        /// The next window; how many periods it has.
        fn window(&mut self) -> usize {
            let begun = self.time;
            let mut periods = 1;
            // Knuth's MMIX generator.
            self.random =
                self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let random = self.random as f64 / u64::MAX as f64;
            let (after, length) = loop {
                match self.governor.plan(random) {
                    Plan::Always => break (Duration::ZERO, PERIOD),
                    Plan::Part { after, length } => break (after, length),
                    Plan::Rest(_) => {
                        (periods, self.time) = (periods + 1, self.time + PERIOD.as_secs_f64())
                    }
                }
            };
            let (mut observed, mut observing) = (0.0, 0.0);
            while observed < length.as_secs_f64()
                && !self.governor.is_too_much(seconds(observing), seconds(observed))
            {
                observing += (self.observing)(self.time + after.as_secs_f64() + observed) * 0.1;
                observed += 0.1;
            }
            self.time += PERIOD.as_secs_f64();
            let (cost, lasted) = (observing + self.end, self.time - begun);
            self.spent += cost;
            self.scaled += observing * lasted / observed;
            let [lasted, observed, cost, observing] =
                [lasted, observed, cost, observing].map(seconds);
            let _ = self.governor.learn(&Spent { lasted, observed, cost, observing });
            periods
        }

        fn taken(&self) -> f64 {
            self.spent / self.time
        }
    }

    #[test]
    fn a_quiet_host_is_observed_all_the_time() {
        let mut host = Host::new(0.5, 0.1, |_| 0.001);
        (0..10).for_each(|_| assert_eq!(host.window(), 1));
        assert_eq!(host.governor.plan(0.5), Plan::Always);
        assert_eq!(Governor::new(None, PERIOD, PERIOD).plan(0.5), Plan::Always);
    }

    #[test]
    fn a_busy_host_costs_no_more_than_it_may_and_not_much_less() {
        for observing in [0.01, 0.1, 2.0] {
            let mut host = Host::new(1.0, 0.3, |_| observing);
            while host.time < 1000.0 * PERIOD.as_secs_f64() {
                host.window();
                assert!(
                    host.time < HORIZON || host.taken() <= LIMIT * 1.1,
                    "{observing}: {}",
                    host.taken()
                );
            }
            assert!((0.7 * LIMIT..=LIMIT).contains(&host.taken()), "{observing}: {}", host.taken());
        }
    }

    /// Windows that were left out are part of the next one, so that the sums are those of all the time.
    #[test]
    fn what_is_spent_too_much_is_paid_back_and_the_sums_stay_right() {
        // Every hour one costs a hundred times as much as usual, for ten minutes.
        let burst = |time: f64| if time % 3600.0 < 600.0 { 2.0 } else { 0.02 };
        let mut host = Host::new(1.0, 0.3, burst);
        while host.time < 1000.0 * PERIOD.as_secs_f64() {
            host.window();
        }
        assert!((0.4 * LIMIT..=LIMIT).contains(&host.taken()), "{}", host.taken());
        let truth = (600.0 * 2.0 + 3000.0 * 0.02) / 3600.0;
        let seen = host.scaled / host.time;
        assert!((0.8 * truth..1.25 * truth).contains(&seen), "{seen} {truth}");
        // An end that costs four times what a window may: rests, and then the average is kept all the same.
        let mut host = Host::new(1.0, 5.5, |_| 0.02);
        let most = (0..100).map(|_| host.window()).max();
        assert_eq!(most, Some(RESTS as usize + 1));
        assert!(host.taken() <= LIMIT * 1.05, "{}", host.taken());
        let seen = host.scaled / host.time;
        assert!((0.0199..0.0201).contains(&seen), "{seen}");
    }

    #[test]
    fn there_is_always_some_observation() {
        let mut host = Host::new(1.0, 20.0, |_| 0.1);
        (0..30).for_each(|_| assert!(host.window() <= RESTS as usize + 1));
        assert!(host.taken() > LIMIT, "{}", host.taken());
        let mut last = || (0..=RESTS).map(|_| host.governor.plan(1.0)).last().unwrap();
        assert_eq!(
            last(),
            Plan::Part { after: PERIOD - LEAST, length: LEAST },
            "at the end of a period"
        );
    }

    #[test]
    fn a_limit_that_is_not_kept_is_reported_once_it_has_learned() {
        let learned = |cost: f64| -> Vec<Option<f64>> {
            let mut governor = Governor::new(Some(LIMIT), PERIOD, Duration::ZERO);
            let (cost, observed) = (seconds(cost), PERIOD / 10);
            let spent = Spent { lasted: PERIOD, observed, cost, observing: cost };
            (0..10).map(|_| governor.learn(&spent)).collect()
        };
        let mut expected = vec![None; 10];
        assert_eq!(learned(1.6), expected, "near the limit of 1.5 seconds");
        expected[9] = Some(0.01);
        assert_eq!(learned(3.0), expected);
        let mut free = Governor::new(None, PERIOD, Duration::ZERO);
        let all = Spent { lasted: PERIOD, observed: PERIOD, cost: PERIOD, observing: PERIOD };
        assert!((0..20).all(|_| free.learn(&all).is_none()));
    }

    #[test]
    fn a_burst_ends_an_observation() {
        let mut governor = Governor::new(Some(LIMIT), PERIOD, Duration::ZERO);
        governor.end = 0.5;
        assert!(!governor.is_too_much(seconds(0.9), PERIOD));
        assert!(governor.is_too_much(seconds(1.1), PERIOD));
        assert!(!governor.is_too_much(seconds(1.1), LEAST / 2), "there is something to judge");
        assert!(!Governor::new(None, PERIOD, PERIOD).is_too_much(PERIOD, PERIOD));
    }
}
