//! What fails for a time is said when that begins and when it ends, and not each time.

use crate::output;

/// Attempts at one thing that failed.
#[derive(Default)]
pub(super) struct Outage {
    failed: u64,
    /// Attempts since then that did not.
    well: u32,
    /// It is over after more of them than that.
    patience: u32,
}

impl Outage {
    /// Of what may work now and then meanwhile: on a full disk, one window is smaller than the one before.
    pub(super) fn patient() -> Outage {
        Outage { patience: 9, ..Outage::default() }
    }

    /// Notes an attempt. `why`: the line for the first one that fails. `over`: the line when it is over, made of how many
    /// had failed.
    pub(super) fn note<E>(
        &mut self,
        attempt: Result<(), E>,
        why: impl FnOnce(E) -> String,
        over: impl FnOnce(u64) -> String,
    ) {
        match attempt {
            Err(error) => {
                (self.failed, self.well) = (self.failed + 1, 0);
                if self.failed == 1 {
                    output::warn(why(error));
                }
            }
            Ok(()) if self.failed > 0 => {
                self.well += 1;
                if self.well > self.patience {
                    output::inform(over(std::mem::take(&mut self.failed)));
                }
            }
            Ok(()) => {}
        }
    }
}
