//! What a user has agreed to: suppressions, a baseline, budgets. They work on the verdict, after the rules.

mod baseline;
mod budget;
mod ignore;

pub use baseline::{Known, leave_out_known};
pub use budget::{
    Budget, Cause, CauseKind, Counted, Counts, EnvironmentChange, Limit, Measured, callers, causes,
    counts, is_chance, is_missing, measured_counts,
};
pub use ignore::{Ignore, LastDay, UNUSED_IGNORE, suppress};
