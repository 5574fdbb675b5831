//! When lines were written, counted from the first.

use crate::prefix::Time;

const DAY: u64 = 86_400_000_000_000;

/// The times of a log.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    first: Option<u64>,
    latest: u64,
    /// Midnights passed: `-t` and `-tt` print no date.
    days: u64,
    /// Sum of `-r`.
    elapsed: u64,
}

impl Clock {
    /// Nanoseconds from the first line to this one; lines out of order count as the first.
    #[inline(always)]
    pub(crate) fn at(&mut self, time: Time) -> u64 {
        let now = match time {
            Time::Unix(ns) => ns,
            Time::SinceLast(ns) => {
                self.elapsed = self.elapsed.saturating_add(ns);
                self.elapsed
            }
            Time::OfDay(ns) => {
                if (ns + self.days * DAY).saturating_add(DAY / 2) < self.latest {
                    self.days += 1;
                }
                ns + self.days * DAY
            }
        };
        self.latest = self.latest.max(now);
        now.saturating_sub(*self.first.get_or_insert(now))
    }

    /// From the first line to the last, if lines have times.
    pub(crate) fn length_ns(&self) -> Option<u64> {
        self.first.map(|first| self.latest.saturating_sub(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midnight_and_sums() {
        const S: u64 = 1_000_000_000;
        let mut clock = Clock::default();
        assert_eq!(clock.length_ns(), None);
        assert_eq!(clock.at(Time::OfDay(DAY - S)), 0);
        assert_eq!(clock.at(Time::OfDay(DAY - S - 5)), 0); // a little out of order
        assert_eq!(clock.at(Time::OfDay(S)), 2 * S);
        assert_eq!(clock.at(Time::OfDay(3 * S)), 4 * S);
        assert_eq!(clock.length_ns(), Some(4 * S));
        let mut clock = Clock::default();
        assert_eq!(clock.at(Time::SinceLast(0)), 0);
        assert_eq!(clock.at(Time::SinceLast(7)), 7);
        assert_eq!(clock.at(Time::SinceLast(7)), 14);
    }
}
