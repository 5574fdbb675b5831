//! The exit statuses of needless, for all its commands. A command that is run by `run`, `preload` or
//! `origin -- CMD` otherwise gives its own status; there, [`OURS`] stands for [`FAILED`], so that a script can
//! distinguish the two.

/// It was done, and the answer is yes: within the budget, proven, every example passes.
pub const YES: i32 = 0;
/// It was done, and the answer is no: over `--fail-on`, not proven, an example fails.
pub const NO: i32 = 1;
/// It was not done, or not all of it: bad options, bad input, nothing to observe, a report that could not be written.
pub const FAILED: i32 = 2;
/// As [`FAILED`], and a unit that was up before is not: `fix` or `undo` has restarted it, and it did not come up again.
pub const UNIT_DOWN: i32 = 3;
/// needless failed where the status of the command is expected.
pub const OURS: i32 = 125;
/// The command was found and cannot be executed, as env(1) says it.
pub const NOT_EXECUTABLE: i32 = 126;
/// The command was not found, as env(1) says it.
pub const NOT_FOUND: i32 = 127;
