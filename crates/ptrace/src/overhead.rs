//! What the stops take of the CPU time of the threads that stop, by estimate: a threshold that asks for a share of the
//! program's CPU time must not see a program that is larger than it is.
//!
//! The same workload then leads to the same findings with both backends.

use crate::sys::{self, Tid};

/// The first calls are measured, then one in so many.
const FIRST: u64 = 8;
const EVERY: u64 = 32;
/// Most measurements kept: later ones replace them in turn.
const KEPT: usize = 256;

/// Stops, and how long some of them took.
#[derive(Default)]
pub(crate) struct Overhead {
    stops: u64,
    calls: u64,
    /// The process whose call is being measured, with its CPU time at the call's entry.
    measured: Option<(Tid, u64)>,
    /// CPU time from the entry of a call to its exit: one stop and the call itself.
    taken: Vec<u64>,
    next: usize,
}

impl Overhead {
    /// A thread has stopped.
    pub(crate) fn stopped(&mut self) {
        self.stops += 1;
    }

    /// Process `tgid` is stopped at the entry of a call, and will stop at its exit. `alone`: whether it has one thread:
    /// the kernel does not show the time of one among several.
    pub(crate) fn enters(&mut self, tgid: Tid, alone: impl FnOnce() -> bool) {
        self.calls += 1;
        if (self.calls <= FIRST || self.calls.is_multiple_of(EVERY)) && alone() {
            self.measured = sys::whole_cpu_time(tgid).map(|time| (tgid, time));
        }
    }

    /// Process `tgid` is stopped at the exit of a call.
    pub(crate) fn leaves(&mut self, tgid: Tid) {
        let Some((_, before)) = self.measured.take_if(|(measured, _)| *measured == tgid) else {
            return;
        };
        let Some(after) = sys::whole_cpu_time(tgid) else { return };
        let taken = after.saturating_sub(before);
        match self.taken.get_mut(self.next) {
            Some(oldest) => *oldest = taken,
            None => self.taken.push(taken),
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// Nanoseconds of CPU time that all stops took.
    pub(crate) fn estimate(mut self) -> u64 {
        self.taken.sort_unstable();
        // Calls that do little themselves are among the quickest: nearly all of it is the stop.
        let stop = self.taken.get(self.taken.len() / 4).copied().unwrap_or(0);
        self.stops.saturating_mul(stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_counts_as_one_of_the_quickest() {
        let overhead = Overhead {
            stops: 10,
            taken: vec![900, 300, 500, 400, 10_000, 600, 700, 800],
            ..Overhead::default()
        };
        assert_eq!(overhead.estimate(), 10 * 500);
        assert_eq!(Overhead { stops: 10, ..Overhead::default() }.estimate(), 0);
    }

    #[test]
    fn the_time_from_entry_to_exit_is_taken() {
        let this = std::process::id() as Tid;
        let mut overhead = Overhead::default();
        overhead.stopped();
        overhead.enters(this, || false);
        overhead.leaves(this);
        assert!(overhead.taken.is_empty(), "several threads");
        overhead.enters(this, || true);
        overhead.leaves(this + 1);
        assert!(overhead.taken.is_empty(), "another process");
        overhead.leaves(this);
        assert_eq!(overhead.taken.len(), 1);
        assert!(overhead.estimate() > 0);
    }
}
