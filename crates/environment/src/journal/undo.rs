//! Changes that are undone, or left as they are for good.

use super::meta::MetaFile;
use super::three_way::{TakenOut, Texts, take_out};
use super::{ChangeState, FORGOTTEN, FileChange, Journal, JournalEntry, TAKING_BACK, UNDOING};
use crate::error::EnvironmentError;
use crate::fix::Plan;

impl Journal {
    /// Undoes a change, byte for byte; tries again what could not be finished before.
    ///
    /// # Errors
    /// When there is no such change, it was undone before, or a file has changed since.
    pub fn undo(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        self.undo_as(id, UNDOING, &[])
    }

    /// Undoes a change that did not reach its process: this takes effect with a restart of the process, which a run that
    /// is killed leaves to the next.
    ///
    /// # Errors
    /// As of [`Journal::undo`].
    pub fn take_back(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        self.undo_as(id, TAKING_BACK, &[])
    }

    /// What an undo of a change would make of the files that others have changed since: the change goes, their lines stay.
    /// `None` where it restores every byte, and where the change is not in effect.
    ///
    /// # Errors
    /// When there is no such change, or somebody touched its lines.
    pub fn merge(&self, id: u32) -> Result<Option<Plan>, EnvironmentError> {
        let entry = self.store.entry(id)?;
        if entry.state != ChangeState::Applied {
            return Ok(None);
        }
        let mut plan = Plan { what: entry.what, new_file_is_showable: true, ..Plan::default() };
        for (at, file) in self.store.meta(id)?.files.iter().enumerate() {
            let Err(why) = self.check_left(id, at, file, &[]) else { continue };
            let part = plan.what.split_once(&format!(" in {}, ", file.path)).map(|(_, part)| part);
            let (change, out) = self.without_ours(id, at, file, part)?.ok_or(why)?;
            plan.files.push(change);
            plan.showable.extend(out.values);
            plan.variable = out.variables.into_iter().next().unwrap_or(plan.variable);
        }
        Ok((!plan.files.is_empty()).then_some(plan))
    }

    /// Undoes a change as [`Journal::merge`] has planned it. `restarts`: as [`Journal::take_back`].
    ///
    /// # Errors
    /// As of [`Journal::undo`], and when a file has changed since that plan.
    pub fn undo_merged(
        &self,
        id: u32,
        merged: &[FileChange],
        restarts: bool,
    ) -> Result<JournalEntry, EnvironmentError> {
        self.undo_as(id, if restarts { TAKING_BACK } else { UNDOING }, merged)
    }

    fn undo_as(
        &self,
        id: u32,
        marker: &str,
        merged: &[FileChange],
    ) -> Result<JournalEntry, EnvironmentError> {
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
        let files = meta.files.iter().enumerate();
        let merged: Result<Vec<_>, _> =
            files.map(|(at, file)| self.check_left(id, at, file, merged)).collect();
        self.keep(id, &merged?).map_err(|error| self.store.failed(&error))?;
        self.mark(id, marker)?;
        self.restore(id, &meta).map_err(|why| {
            format!("change {id} is not undone yet: {why}; fix that and undo it again")
        })?;
        self.mark_undone(id)?;
        self.store.entry(id)
    }

    /// Refuses to undo a change whose file number `at` is not as the change left it, nor as one of `merged` has found it;
    /// returns that one.
    fn check_left<'m>(
        &self,
        id: u32,
        at: usize,
        file: &MetaFile,
        merged: &'m [FileChange],
    ) -> Result<Option<&'m FileChange>, EnvironmentError> {
        let now = self.now(file).map_err(nothing)?;
        let is_ours = now == self.store.blob(id, at, "after")?;
        let found = merged.iter().find(|one| one.path == file.path && one.before == now);
        if is_ours || found.is_some() {
            self.check_again(file).map_err(nothing)?;
            return Ok(found.filter(|_| !is_ours));
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

    /// File number `at` of a change as it is now, and without the change; `None` where the lines of the change are not
    /// in it as they were, and where it is no text.
    fn without_ours(
        &self,
        id: u32,
        at: usize,
        file: &MetaFile,
        part: Option<&str>,
    ) -> Result<Option<(FileChange, TakenOut)>, EnvironmentError> {
        let blob = |name| self.store.blob(id, at, name);
        let (now, before, after) =
            (self.now(file).map_err(nothing)?, blob("before")?, blob("after")?);
        let lost = file.existed && before.is_none();
        let (Some(now), Some(after)) = (now, after.filter(|_| !lost && !file.about.link)) else {
            return Ok(None);
        };
        if now == after || self.store.later(id, &file.path)?.is_some() {
            return Ok(None);
        }
        let about = self.check_again(file).map_err(nothing)?.unwrap_or_else(|| file.about.clone());
        let before = before.unwrap_or_default();
        let text = |bytes| std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let (Some(before), Some(after), Some(present)) = (text(&before), text(&after), text(&now))
        else {
            return Ok(None);
        };
        let out = take_out(&file.path, &Texts { before, after, now: present, part });
        Ok(out.map(|out| {
            let (path, after) = (file.path.clone(), Some(out.text.clone().into_bytes()));
            (FileChange { path, before: Some(now), after, about }, out)
        }))
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

fn nothing(why: EnvironmentError) -> EnvironmentError {
    format!("{why}; nothing was undone").into()
}
