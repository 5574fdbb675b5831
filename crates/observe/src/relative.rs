//! Says how many calls name a path of which it is not known where it starts.

use needless_model::{Profile, Target};

/// Calls relative to a descriptor are noted from this share of the calls with a path on.
const NOTED: u64 = 100;

/// Adds the notes.
pub(crate) fn note(profile: &mut Profile) {
    let count = |is: fn(&Target) -> bool| {
        let rows = profile.rows.iter().filter(|row| is(&row.target));
        rows.map(|row| row.count).sum::<u64>()
    };
    let below_descriptor = count(|target| matches!(target, Target::Dir(_)));
    let below_unknown = count(|target| matches!(target, Target::Cwd(_)));
    if below_descriptor > profile.totals.path_calls / NOTED {
        profile.notes.push(format!(
            "{below_descriptor} calls name a path relative to the descriptor of a directory (openat, fstatat): it is not known \
             which files these are, and rules that need to know it do not judge them."
        ));
    }
    if below_unknown > 0 {
        profile.notes.push(format!(
            "Calls with a relative path whose working directory is not known: {below_unknown}. Rules that need to \
             know which files these are do not judge them."
        ));
    }
}
