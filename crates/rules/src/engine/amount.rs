//! Calls, and what they took.

use needless_model::Totals;

/// Calls, and the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub calls: u64,
    /// Nanoseconds in the kernel; `None` where neither a measurement nor the cost of a call on this machine is
    /// known.
    pub kernel_ns: Option<u64>,
    /// Nanoseconds in the programs, as [`Finding::user_ns`](needless_model::Finding).
    pub user_ns: Option<u64>,
}

impl Amount {
    /// Not more than was spent: estimates of several findings may be more together.
    pub(crate) fn limit(&mut self, totals: Totals) {
        let (Some(user), Some(kernel)) = (totals.cpu_user_ns, totals.cpu_sys_ns) else { return };
        let spent = user + kernel;
        if spent > 0 {
            self.kernel_ns = self.kernel_ns.map(|ns| ns.min(spent));
            let rest = spent - self.kernel_ns.unwrap_or(0);
            self.user_ns = self.user_ns.map(|ns| ns.min(rest));
        }
    }

    /// Nanoseconds in the kernel and, as far as that is known, in the programs.
    pub fn time_ns(&self) -> Option<u64> {
        Some(self.kernel_ns?.saturating_add(self.user_ns.unwrap_or(0)))
    }

    /// All of them together.
    pub fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
        let mut sum = Amount::default();
        amounts.for_each(|amount| sum.add(amount));
        sum
    }

    pub(crate) fn add(&mut self, other: Amount) {
        self.calls += other.calls;
        let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.kernel_ns = add(self.kernel_ns, other.kernel_ns);
        self.user_ns = add(self.user_ns, other.user_ns);
    }
}
