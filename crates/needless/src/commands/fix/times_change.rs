//! A change of local times, which `--yes` alone does not write: schedules and logs move with it, and nobody has read the
//! caveat.

use crate::cli::FixArgs;
use crate::output;
use needless_environment::{ChangeRequest, label};

/// Whether the change is not to be written, because it changes local times and only `--yes` says so. Says why.
pub(super) fn is_refused(change: Option<&ChangeRequest>, args: &FixArgs) -> bool {
    let Some(change) = change.filter(|_| args.yes && !args.times_change) else { return false };
    let Some(why) = change.times.first() else { return false };
    let what = label(&change.variable, change.value.as_deref());
    output::warn(format_args!(
        "{what}: not written: {why} --yes alone does not suffice: add --times-change"
    ));
    true
}
