//! What a user has agreed to: suppressions and budgets. They work on the verdict, after the rules.

mod budget;
mod ignore;

pub use budget::{
    Budget, Cause, CauseKind, Counted, Counts, EnvironmentChange, Limit, Measured, callers, causes,
    counts, is_chance, is_missing, measured_counts,
};
pub use ignore::{Ignore, LastDay, UNUSED_IGNORE, suppress};
