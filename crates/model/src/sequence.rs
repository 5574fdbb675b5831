//! How calls of one kind that name no path followed one another: sums, from which rules see loops, tiny transfers and
//! walks through all descriptors.

use crate::WaitsOn;

/// The descriptor of a call: its first argument, or the first one that poll(2) says is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its number.
    pub fd: u32,
    /// What poll(2) says of it: [`Descriptor::HANG_UP`] and its kind; 0 for other calls.
    pub events: u16,
    /// What it is.
    pub on: WaitsOn,
}

impl Descriptor {
    /// POLLERR and POLLNVAL, as bits of `struct pollfd.revents`.
    pub const ERROR: u16 = 0x8 | 0x20;
    /// POLLHUP.
    pub const HANG_UP: u16 = 0x10;
}

/// What one call without a path was given and returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The first argument: a descriptor, an address, a number.
    pub first: u64,
    /// What it returned; 0 where it failed.
    pub returned: u64,
    /// Whether its thread did not wait since the call of the same kind before; `None`: not known.
    pub at_once: Option<bool>,
    /// Its descriptor, where it was looked at.
    pub descriptor: Option<Descriptor>,
}

/// A call that took less than this returned at once, where only its duration is known. Nanoseconds: a tracer's two stops
/// take less, and no timer of a program is that short.
pub const AT_ONCE_NS: u64 = 500_000;
/// A larger result is an address and no length.
pub const LARGEST_RESULT: u64 = 1 << 31;

/// The sums over the calls of a row. Zero where a backend does not see arguments and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Of how many calls the arguments and results are in the sums.
    pub calls: u64,
    /// What they returned, where that is at most [`LARGEST_RESULT`]: of a transfer the bytes, of poll(2) how many
    /// descriptors were ready.
    pub returned: u64,
    /// How many returned 0: the end of a file, or the end of the time that poll(2) was to wait.
    pub zero: u64,
    /// How many had the first argument of the call before.
    pub same: u64,
    /// How many had that plus 1.
    pub next: u64,
    /// Between how many and the call before their thread did not wait.
    pub at_once: u64,
    /// Of how many that is known.
    pub timed: u64,
    /// The first argument of the last call.
    pub first: u64,
    /// The descriptor of the last call of which it was looked at.
    pub descriptor: Option<Descriptor>,
}

impl Sequence {
    /// Adds a call.
    #[inline]
    pub(crate) fn add(&mut self, passed: Passed) {
        let Passed { first, returned, at_once, descriptor } = passed;
        if self.calls > 0 {
            self.same += u64::from(first == self.first);
            self.next += u64::from(first == self.first.wrapping_add(1));
        }
        self.calls += 1;
        self.first = first;
        self.descriptor = descriptor.or(self.descriptor);
        self.zero += u64::from(returned == 0);
        self.returned += if returned <= LARGEST_RESULT { returned } else { 0 };
        if let Some(at_once) = at_once {
            self.timed += 1;
            self.at_once += u64::from(at_once);
        }
    }

    /// Each sum of two put together by `both`; the first argument is that of `self`, unless it has no calls.
    #[must_use]
    pub fn with(self, other: Sequence, both: impl Fn(u64, u64) -> u64) -> Sequence {
        Sequence {
            calls: both(self.calls, other.calls),
            returned: both(self.returned, other.returned),
            zero: both(self.zero, other.zero),
            same: both(self.same, other.same),
            next: both(self.next, other.next),
            at_once: both(self.at_once, other.at_once),
            timed: both(self.timed, other.timed),
            first: if self.calls > 0 { self.first } else { other.first },
            descriptor: self.descriptor.or(other.descriptor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(calls: &[(u64, u64)]) -> Sequence {
        let mut sequence = Sequence::default();
        for (first, returned) in calls {
            let (first, returned) = (*first, *returned);
            let at_once = Some(first > 3);
            sequence.add(Passed { first, returned, at_once, descriptor: None });
        }
        sequence
    }

    #[test]
    fn equal_and_ascending_arguments_and_results_are_summed() {
        let sequence = of(&[(3, 8), (3, 0), (4, 0x7fff_0000_0000), (5, 1)]);
        let want = Sequence {
            calls: 4,
            returned: 9,
            zero: 1,
            same: 1,
            next: 2,
            at_once: 2,
            timed: 4,
            first: 5,
            descriptor: None,
        };
        assert_eq!(sequence, want);
        let both = sequence.with(of(&[(9, 2)]), |a, b| a + b);
        assert_eq!((both.calls, both.returned, both.first), (5, 11, 5));
    }
}
