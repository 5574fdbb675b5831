//! Finishes or rolls back what a killed run began, and restores files.
//!
//! A change that cannot be finished now (a link on its way, a full disk) is reported each time, and does not block
//! other changes.

use super::{ChangeState, FileChange, Journal, JournalEntry, Meta, MetaFile, Recovered};
use super::{sync_dir, temporary, write_out};
use crate::crontab;
use crate::disk::{FileAttributes, Modified};
use crate::error::EnvironmentError;
use std::fs;
use std::path::Path;

/// A file as an undo found it, where others have changed it since, and without our change.
const FOUND: &str = "found";
const MERGED: &str = "merged";

impl Journal {
    /// Finishes what was begun and not finished.
    pub(super) fn recover(
        &self,
        entries: Vec<JournalEntry>,
    ) -> Result<Vec<Recovered>, EnvironmentError> {
        let mut ended = Vec::new();
        let list = fs::read_dir(&self.store.dir).map_err(|error| self.store.failed(&error))?;
        for entry in list.flatten() {
            // It never became an entry: no file of the host was changed yet.
            if entry.file_name().to_string_lossy().starts_with(".new-") {
                fs::remove_dir_all(entry.path()).map_err(|error| self.store.failed(&error))?;
            }
        }
        for entry in entries {
            if !matches!(entry.state, ChangeState::Begun | ChangeState::Undoing) {
                continue;
            }
            // One that cannot be finished now must not block others: it stays begun.
            let how = self.finish(entry.id);
            ended.push(Recovered { entry: self.store.entry(entry.id)?, how });
        }
        Ok(ended)
    }

    /// Finishes a change that was begun; returns how.
    pub(super) fn finish(&self, id: u32) -> Result<&'static str, EnvironmentError> {
        let meta = self.store.meta(id)?;
        if self.store.is_being_undone(id) {
            self.restore(id, &meta)?;
            self.mark_undone(id)?;
            return Ok("was being undone: done");
        }
        let mut whole = true;
        for (at, file) in meta.files.iter().enumerate() {
            whole &= self.now(file)? == self.store.blob(id, at, "after")?;
        }
        if whole {
            self.clean(id, &meta);
            self.mark(id, "applied")?;
            return Ok("was interrupted: it is complete");
        }
        self.roll_back(id, &meta)?;
        Ok("was interrupted: rolled back")
    }

    pub(super) fn roll_back(&self, id: u32, meta: &Meta) -> Result<(), EnvironmentError> {
        self.restore(id, meta)?;
        self.mark(id, "rolled-back")
    }

    /// Writes down what is merged, before the undo is marked as begun: a killed one is finished with these texts.
    pub(super) fn keep(&self, id: u32, merged: &[Option<&FileChange>]) -> std::io::Result<()> {
        let dir = self.store.folder(id);
        for (at, file) in merged.iter().enumerate() {
            let texts =
                [(FOUND, file.map(|file| &file.before)), (MERGED, file.map(|file| &file.after))];
            for (name, bytes) in texts {
                let path = dir.join(format!("{at}.{name}"));
                match bytes {
                    Some(Some(bytes)) => write_out(&path, bytes)?,
                    // Of an undo that was killed before it began.
                    _ if path.exists() => fs::remove_file(&path)?,
                    _ => {}
                }
            }
        }
        sync_dir(&dir)
    }

    /// Restores every file that has its new bytes, or those that were found when its undoing began; the others are
    /// unchanged, or another program has changed them since.
    pub(super) fn restore(&self, id: u32, meta: &Meta) -> Result<(), EnvironmentError> {
        self.clean(id, meta);
        let times = self.times_to_put_back(id, meta);
        for (at, file) in meta.files.iter().enumerate() {
            let found = self.store.blob(id, at, FOUND)?;
            let merged = found.is_some();
            let (now, then) = if merged {
                (found, MERGED)
            } else {
                (self.store.blob(id, at, "after")?, "before")
            };
            if self.now(file)? == now {
                let then = self.store.blob(id, at, then)?;
                if (file.existed || merged) && then.is_none() {
                    return Err(format!(
                        "{}: the journal has lost its content from before change {id}; it is left as it is",
                        file.path
                    )
                    .into());
                }
                // Permissions that somebody changed since are kept: they may have been narrowed.
                let about = match self.check_again(file)? {
                    Some(now) => {
                        let modified = file.about.modified.filter(|_| !merged);
                        FileAttributes { modified, ..now }
                    }
                    None => file.about.clone(),
                };
                self.put(id, at, file, &then, &about)?;
            }
            for dir in file.made.iter().rev() {
                self.disk.remove_empty_dir(dir);
            }
        }
        for (dir, time) in times {
            self.disk.set_dir_modified(dir, time);
        }
        Ok(())
    }

    /// The directories that nothing has changed since the change, each with its time from before.
    fn times_to_put_back<'m>(&self, id: u32, meta: &'m Meta) -> Vec<(&'m str, Modified)> {
        let after: Vec<Option<Modified>> = self.store.after_times(id);
        let pairs = meta.files.iter().zip(after);
        let same = pairs.filter_map(|(file, after)| {
            let now = self.disk.dir_modified(file.dir());
            let before = file.dir_modified.filter(|_| after.is_some() && now == after)?;
            Some((file.dir(), before))
        });
        same.collect()
    }

    /// The bytes of a file as it is now; `None` where it is missing.
    pub(super) fn now(&self, file: &MetaFile) -> Result<Option<Vec<u8>>, EnvironmentError> {
        let of_file = |why: &dyn std::fmt::Display| format!("{}: {why}", file.path).into();
        match &file.about.crontab {
            Some(user) => crontab::read(user).map_err(|why| of_file(&why)),
            None => self.disk.bytes(&file.path, file.about.link).map_err(|why| of_file(&why)),
        }
    }

    /// Refuses a file that another user got hold of since the change was made. Returns its attributes as they are now;
    /// `None` where it does not exist, and for links and tables.
    pub(super) fn check_again(
        &self,
        file: &MetaFile,
    ) -> Result<Option<FileAttributes>, EnvironmentError> {
        if file.about.crontab.is_some() {
            // crontab(1) decides that.
            return Ok(None);
        }
        let owned = file.about.owner.map(|(uid, _)| uid);
        self.disk.check_again(&file.path, file.about.link, owned)
    }

    pub(super) fn put(
        &self,
        id: u32,
        at: usize,
        file: &MetaFile,
        bytes: &Option<Vec<u8>>,
        about: &FileAttributes,
    ) -> Result<(), EnvironmentError> {
        match (bytes, &file.about.crontab) {
            (None, Some(user)) => {
                Err(format!("{}: there was no table of {user}: crontab -r removes it", file.path)
                    .into())
            }
            (None, None) => self.disk.remove(&file.path),
            (Some(bytes), Some(user)) => crontab::install(user, bytes, &self.lock)
                .map_err(|why| format!("{}: {why}", file.path).into()),
            (Some(bytes), None) => {
                let temporary = temporary(id, at);
                let new = (!file.existed || !file.remains)
                    && !self.store.has(id, &format!("{at}.{FOUND}"));
                self.disk.write(&file.path, bytes, about, &temporary, new)
            }
        }
    }

    /// Removes temporary files that a killed run left beside the files of a change.
    pub(super) fn clean(&self, id: u32, meta: &Meta) {
        for (at, file) in meta.files.iter().enumerate() {
            // In a directory that another user got hold of, nothing is removed.
            let ours = file.about.crontab.is_none() && self.check_again(file).is_ok();
            if let Some(dir) = Path::new(&file.path).parent().filter(|_| ours) {
                let left = dir.join(temporary(id, at));
                let _ = self.disk.remove(&left.to_string_lossy());
            }
        }
    }
}
