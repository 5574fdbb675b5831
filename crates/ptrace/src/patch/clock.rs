//! The time stamp counter, by which the stub notes when a call was made.

use crate::sys;

/// The counter against `CLOCK_MONOTONIC`.
pub(crate) struct Ticks {
    ticks: u64,
    ns: u64,
}

/// A moment on both.
pub(crate) struct Moment {
    ticks: u64,
    /// Since the window's start.
    ns: u64,
    ticks_per_ns: f64,
}

impl Ticks {
    pub(crate) fn start() -> Ticks {
        Ticks { ticks: ticks(), ns: sys::now() }
    }

    fn per_ns(&self, ticks: u64, ns: u64) -> f64 {
        // Two readings close to each other say little: at least 1 GHz is assumed.
        let (ticks, ns) = (ticks.saturating_sub(self.ticks), ns.saturating_sub(self.ns));
        if ns == 0 { 1.0 } else { (ticks as f64 / ns as f64).max(1e-3) }
    }

    /// So many nanoseconds in ticks.
    pub(crate) fn of(&self, ns: u64) -> u64 {
        (ns as f64 * self.per_ns(ticks(), sys::now())) as u64
    }

    /// This moment, in a window that started at `started` (`CLOCK_MONOTONIC`).
    pub(crate) fn now(&self, started: u64) -> Moment {
        let (ticks, ns) = (ticks(), sys::now());
        Moment { ticks, ns: ns.saturating_sub(started), ticks_per_ns: self.per_ns(ticks, ns) }
    }
}

impl Moment {
    /// When `ticks` was, before this moment, in nanoseconds since the window's start.
    pub(crate) fn when(&self, ticks: u64) -> u64 {
        let ago = self.ticks.saturating_sub(ticks) as f64 / self.ticks_per_ns;
        self.ns.saturating_sub(ago as u64)
    }
}

/// The counter now.
pub(super) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; it reads a counter only.
    unsafe { std::arch::x86_64::_rdtsc() }
}
