//! Changes that are undone, or left as they are for good.

use super::meta::MetaFile;
use super::{ChangeState, FORGOTTEN, Journal, JournalEntry, TAKING_BACK, UNDOING};
use crate::error::EnvironmentError;

impl Journal {
    /// Undoes a change, byte for byte; tries again what could not be finished before.
    ///
    /// # Errors
    /// When there is no such change, it was undone before, or a file has changed since.
    pub fn undo(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        self.undo_as(id, UNDOING)
    }

    /// Undoes a change that did not reach its process: this takes effect with a restart of the process, which a run that
    /// is killed leaves to the next.
    ///
    /// # Errors
    /// As of [`Journal::undo`].
    pub fn take_back(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        self.undo_as(id, TAKING_BACK)
    }

    fn undo_as(&self, id: u32, marker: &str) -> Result<JournalEntry, EnvironmentError> {
        let over = match self.store.entry(id)?.state {
            ChangeState::Applied => None,
            ChangeState::Undone => Some("was undone before"),
            ChangeState::RolledBack => Some("was never made: it was rolled back"),
            ChangeState::Forgotten => Some("was forgotten: its files are left as they are"),
            begun @ (ChangeState::Undoing | ChangeState::Begun) => {
                self.finish(id).map_err(|why| match begun {
                    ChangeState::Undoing => format!("change {id} is not undone yet: {why}"),
                    _ => format!("change {id} was interrupted and cannot be finished yet: {why}"),
                })?;
                let entry = self.store.entry(id)?;
                // It was interrupted with all its files written, so it is in effect now; the request is to undo it.
                return if entry.state == ChangeState::Applied { self.undo(id) } else { Ok(entry) };
            }
        };
        if let Some(why) = over {
            return Err(format!("change {id} {why}").into());
        }
        let meta = self.store.meta(id)?;
        for (at, file) in meta.files.iter().enumerate() {
            self.check_left(id, at, file)?;
        }
        self.mark(id, marker)?;
        self.restore(id, &meta).map_err(|why| {
            format!("change {id} is not undone yet: {why}; fix that and undo it again")
        })?;
        self.mark_undone(id)?;
        self.store.entry(id)
    }

    /// Refuses to undo a change whose file number `at` is not as the change left it.
    fn check_left(&self, id: u32, at: usize, file: &MetaFile) -> Result<(), EnvironmentError> {
        let nothing = |why: EnvironmentError| format!("{why}; nothing was undone");
        let now = self.now(file).map_err(nothing)?;
        if now == self.store.blob(id, at, "after")? {
            self.check_again(file).map_err(nothing)?;
            return Ok(());
        }
        let path = &file.path;
        if let Some(newer) = self.store.later(id, path)? {
            return Err(format!("{path}: change {newer} is newer: undo that first").into());
        }
        let what = if now.is_some() { "it has changed since" } else { "it is not there any more" };
        let kept = self.store.folder(id).join(format!("{at}.before"));
        let kept = match file.existed {
            true => format!(" The version from before the change is kept as {}.", kept.display()),
            false => String::new(),
        };
        Err(format!(
            "{path}: {what}; nothing was undone.{kept} `needless undo --forget {id}` leaves it as it is"
        )
        .into())
    }

    /// Leaves the files of a change as they are from now on: it is not in effect any more, or nobody needs an undo.
    ///
    /// # Errors
    /// When there is no such change, or it is not in effect.
    pub fn forget(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        if self.store.entry(id)?.state.is_over() {
            return Err(format!("change {id} is not in effect: there is nothing to forget").into());
        }
        self.tried(id)?;
        self.mark(id, FORGOTTEN)?;
        self.store.entry(id)
    }
}
