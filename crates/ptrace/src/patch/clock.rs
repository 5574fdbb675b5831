//! The time stamp counter, by which the stub notes when a call was made.

use crate::sys;

/// The counter, and `CLOCK_MONOTONIC` (nanoseconds): both when the run began, and at another moment.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    start: (u64, u64),
    now: (u64, u64),
}

impl Clock {
    pub(crate) fn start() -> Clock {
        let now = read();
        Clock { start: now, now }
    }

    /// The same, with the present moment.
    pub(crate) fn now(self) -> Clock {
        Clock { now: read(), ..self }
    }

    fn ticks_per_ns(&self) -> f64 {
        let ticks = self.now.0.saturating_sub(self.start.0) as f64;
        let ns = self.now.1.saturating_sub(self.start.1) as f64;
        // Two readings close to each other say little: at least 1 MHz is assumed.
        if ns == 0.0 { 1.0 } else { (ticks / ns).max(1e-3) }
    }

    /// So many nanoseconds in ticks.
    pub(crate) fn ticks_of(&self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns()) as u64
    }

    /// When the counter was at `ticks`, before this moment (`CLOCK_MONOTONIC`).
    pub(crate) fn when(&self, ticks: u64) -> u64 {
        let ago = self.now.0.saturating_sub(ticks) as f64 / self.ticks_per_ns();
        self.now.1.saturating_sub(ago as u64)
    }
}

fn read() -> (u64, u64) {
    // SAFETY: every x86-64 processor has the instruction; it reads a counter only.
    (unsafe { std::arch::x86_64::_rdtsc() }, sys::now())
}
