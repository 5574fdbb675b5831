//! The bounds of windows on the clock of the host, which may be set at any time: chronyd(8), date(1), a virtual machine
//! that is resumed.

use needless_fleet::AgentWindow;
use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Microseconds since 1970. The kernel sets no clock to an earlier time: clock_settime(2).
    pub(super) us: i64,
    /// On the clock that nobody sets. It stands still while the machine sleeps.
    steady: Instant,
}

impl Moment {
    pub(super) fn now() -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { us: microseconds(since), steady: Instant::now() }
    }
}

/// How far the clock of the host went from the steady one, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step(i64);

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, or) = match self.0 {
            ..0 => ("back", ""),
            0.. => ("forward", ", or the machine slept for so long"),
        };
        let seconds = self.0.unsigned_abs() as f64 / 1e6;
        write!(f, "the clock was set {how} by {seconds:.1} s in this window{or}")
    }
}

/// The window after `last`, which ended at the moment `from`. It begins where that ended. Where the clock was set in
/// between, it ends by the new clock, and is as long as it was by the steady one.
pub(super) fn next(last: &AgentWindow, from: Moment, to: Moment) -> (AgentWindow, Option<Step>) {
    let length = to.steady.saturating_duration_since(from.steady);
    // The kernel's clock is slewed by half a thousandth at most: adjtimex(2).
    let tolerated = microseconds(Duration::from_secs(1).max(length / 1000));
    let length = microseconds(length);
    let step = to.us.saturating_sub(from.us).saturating_sub(length);
    if step.abs() <= tolerated && to.us > last.end_us {
        return (AgentWindow { start_us: last.end_us, end_us: to.us, ..last.clone() }, None);
    }
    // After a step to 1970, the window would begin before that.
    let start_us = to.us.saturating_sub(length).max(0);
    let end_us = start_us.saturating_add(length);
    (AgentWindow { start_us, end_us, ..last.clone() }, Some(Step(step)))
}

fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;
    const HOUR: i64 = 3600 * SECOND;

    #[test]
    fn windows_follow_each_other_unless_the_clock_was_set() {
        let steady = Instant::now();
        let from = Moment { us: 10 * SECOND, steady };
        let last = AgentWindow { start_us: 0, end_us: from.us, ..AgentWindow::default() };
        let after = |us: i64| {
            let to = Moment { us, steady: steady + Duration::from_secs(5) };
            let (next, step) = next(&last, from, to);
            (next.start_us, next.end_us, step.map(|step| step.to_string()))
        };
        assert_eq!(after(15 * SECOND + 300), (10 * SECOND, 15 * SECOND + 300, None));
        assert_eq!(after(14 * SECOND + 300), (10 * SECOND, 14 * SECOND + 300, None), "slewed");
        let said = "the clock was set forward by 3600.0 s in this window, or the machine slept for so long";
        let (start, end) = (10 * SECOND + HOUR, 15 * SECOND + HOUR);
        assert_eq!(after(end), (start, end, Some(said.into())));
        let back = |seconds| Some(format!("the clock was set back by {seconds} s in this window"));
        assert_eq!(
            after(12 * SECOND),
            (7 * SECOND, 12 * SECOND, back("3.0")),
            "after the last end"
        );
        assert_eq!(after(9 * SECOND), (4 * SECOND, 9 * SECOND, back("6.0")));
        assert_eq!(after(2 * SECOND), (0, 5 * SECOND, back("13.0")), "nothing is before 1970");
    }
}
