//! What earlier windows have reported, of what the kernel still counts on: the next window is the difference.

use super::events::Map;
use super::layout::{CounterKey, RowKey};
use super::rows::KernelRows;
use needless_model::{Loss, Tally};
use std::collections::HashSet;
use std::hash::Hash;

/// How many kinds of losses the kernel counts.
const LOSSES: usize = 6;

/// What was reported of one row that is in the kernel.
#[derive(Clone, Copy, Default)]
struct Reported {
    tally: Tally,
    /// The last window had nothing of it.
    idle: bool,
}

/// What was reported so far.
#[derive(Default)]
pub(crate) struct Ledger {
    rows: Map<RowKey, Reported>,
    counters: Map<CounterKey, Reported>,
    folded: Map<CounterKey, Reported>,
    lost: [u64; LOSSES],
}

impl Ledger {
    /// The difference to what was reported, which is then reported, too. `counted`: all that the kernel has, and
    /// `returned`, what it has given back and no longer has. `from`: when the window began, nanoseconds.
    pub(crate) fn since(
        &mut self,
        counted: KernelRows,
        returned: &KernelRows,
        from: u64,
    ) -> KernelRows {
        let (rows, gone) = (counted.rows.into_iter(), returned.rows.iter().map(copied));
        let rows = difference(&mut self.rows, rows, gone, from).into_iter().collect();
        let (counters, gone) = (counted.counters.into_iter(), returned.counters.iter().copied());
        let counters = difference(&mut self.counters, counters, gone, from);
        let folded = counted.folded.into_iter();
        let folded = difference(&mut self.folded, folded, std::iter::empty(), from);
        KernelRows { rows, counters, folded, waits: counted.waits, removed: counted.removed }
    }

    /// What was lost since the last window.
    pub(crate) fn lost_since(&mut self, now: [(Loss, u64); LOSSES]) -> [(Loss, u64); LOSSES] {
        let before = std::mem::replace(&mut self.lost, now.map(|(_, n)| n));
        let mut since = now;
        for ((_, n), before) in since.iter_mut().zip(before) {
            *n = n.saturating_sub(before);
        }
        since
    }

    /// The kernel has nothing any more. Losses it has counted on.
    pub(crate) fn restart(&mut self) {
        *self = Ledger { lost: self.lost, ..Ledger::default() };
    }

    /// How many rows are in the kernel, about.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Whether a row was not counted in the last window.
    pub(crate) fn is_idle(&self, key: &RowKey) -> bool {
        self.rows.get(key).is_some_and(|reported| reported.idle)
    }

    /// The hashes of the paths of rows that are in the kernel.
    pub(crate) fn paths(&self) -> HashSet<u64> {
        self.rows.keys().map(|key| key.path).collect()
    }
}

fn copied((key, tally): (&RowKey, &Tally)) -> (RowKey, Tally) {
    (*key, *tally)
}

fn difference<K: Copy + Eq + Hash>(
    reported: &mut Map<K, Reported>,
    counted: impl Iterator<Item = (K, Tally)>,
    returned: impl Iterator<Item = (K, Tally)>,
    from: u64,
) -> Vec<(K, Tally)> {
    let mut total: Map<K, Tally> = Map::default();
    for (key, tally) in counted {
        total.entry(key).and_modify(|sum| *sum = plus(*sum, tally)).or_insert(tally);
    }
    // A row that is on its way from the kernel, which the next window has, is kept for one window.
    reported
        .retain(|key, known| total.contains_key(key) || !std::mem::replace(&mut known.idle, true));
    let mut fresh = Vec::new();
    for (key, tally) in total {
        let known = reported.entry(key).or_default();
        let more = minus(tally, known.tally);
        known.idle = more.count == 0;
        if !known.idle {
            fresh.push((key, Tally { first_ns: tally.first_ns.max(from), ..more }));
        }
        known.tally = most(tally, known.tally);
    }
    for (key, gone) in returned {
        if let Some(known) = reported.get_mut(&key) {
            known.tally = minus(known.tally, gone);
            if known.tally.count == 0 {
                reported.remove(&key);
            }
        }
    }
    // An agent runs for months: a busy hour does not decide how much memory it has from then on.
    reported.shrink_to(2 * reported.len());
    fresh
}

fn plus(one: Tally, other: Tally) -> Tally {
    Tally {
        count: one.count.wrapping_add(other.count),
        repeated: one.repeated.wrapping_add(other.repeated),
        first_ns: one.first_ns.min(other.first_ns),
        last_ns: one.last_ns.max(other.last_ns),
        kernel_ns: one.kernel_ns + other.kernel_ns,
        timed: one.timed.wrapping_add(other.timed),
        sequence: one.sequence.with(other.sequence, u64::wrapping_add),
    }
}

/// The later one less the earlier one. It is not below zero: what a CPU hands over while the rows are read may be
/// missing from one reading.
fn minus(later: Tally, earlier: Tally) -> Tally {
    let count = later.count.saturating_sub(earlier.count);
    Tally {
        count,
        repeated: later.repeated.saturating_sub(earlier.repeated).min(count),
        kernel_ns: later.kernel_ns.saturating_sub(earlier.kernel_ns),
        timed: later.timed.saturating_sub(earlier.timed).min(count),
        sequence: later.sequence.with(earlier.sequence, u64::saturating_sub),
        ..later
    }
}

fn most(one: Tally, other: Tally) -> Tally {
    Tally {
        count: one.count.max(other.count),
        repeated: one.repeated.max(other.repeated),
        kernel_ns: one.kernel_ns.max(other.kernel_ns),
        timed: one.timed.max(other.timed),
        sequence: one.sequence.with(other.sequence, u64::max),
        ..one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    fn key(path: u64) -> RowKey {
        RowKey { path, image: 1, ..RowKey::new_zeroed() }
    }

    fn rows(counts: &[(u64, u64)]) -> KernelRows {
        let mut rows = KernelRows::default();
        for (path, count) in counts {
            let tally = Tally { count: *count, first_ns: 7, last_ns: 9, ..Tally::default() };
            rows.add(key(*path), tally);
        }
        rows
    }

    /// The counts of the window that ends, by path.
    fn since(
        ledger: &mut Ledger,
        counted: &[(u64, u64)],
        returned: &[(u64, u64)],
    ) -> Vec<(u64, u64)> {
        let fresh = ledger.since(rows(counted), &rows(returned), 8);
        assert!(fresh.rows.values().all(|tally| tally.first_ns == 8 && tally.last_ns == 9));
        let mut fresh: Vec<_> = fresh.rows.iter().map(|(key, t)| (key.path, t.count)).collect();
        fresh.sort_unstable();
        fresh
    }

    #[test]
    fn each_call_is_in_one_window() {
        let ledger = &mut Ledger::default();
        assert_eq!(since(ledger, &[(1, 10), (2, 5)], &[]), [(1, 10), (2, 5)]);
        // A CPU handed over 3 calls after the map was read: the reading is too low, and the next one makes up for it.
        assert_eq!(since(ledger, &[(1, 7), (2, 6)], &[]), [(2, 1)]);
        assert!(ledger.is_idle(&key(1)) && !ledger.is_idle(&key(2)));
        assert_eq!(since(ledger, &[(1, 12), (2, 6)], &[]), [(1, 2)]);
        // The process ended: its row came back, and a CPU still has 2 of its calls, which come back later.
        assert_eq!(since(ledger, &[(1, 15)], &[(1, 13)]), [(1, 3)]);
        assert_eq!(since(ledger, &[(1, 2)], &[]), []);
        assert_eq!(since(ledger, &[(1, 2)], &[(1, 2)]), []);
        assert_eq!(ledger.rows(), 0, "nothing of it is kept");
        // A row that was deleted because it was idle begins again.
        assert_eq!(since(ledger, &[(2, 1)], &[]), [(2, 1)]);
    }

    #[test]
    fn losses_are_those_of_the_window() {
        let ledger = &mut Ledger::default();
        let lost = |n| [(Loss::NoPath, n); LOSSES];
        assert_eq!(ledger.lost_since(lost(3)), lost(3));
        assert_eq!(ledger.lost_since(lost(5)), lost(2));
        // After a break the kernel counts on.
        ledger.restart();
        assert_eq!(ledger.lost_since(lost(6)), lost(1));
    }
}
