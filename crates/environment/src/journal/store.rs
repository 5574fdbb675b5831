//! Reads the journal's files. An entry decides which files root writes, and with which bytes: one that another user
//! could have put there is not trusted.

use super::{ChangeState, JournalEntry, Meta, VERSION};
use crate::error::EnvironmentError;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directory of entries.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) dir: PathBuf,
}

impl Store {
    /// The journal below `state`, which exists.
    ///
    /// # Errors
    /// When another user could write to it.
    pub(super) fn at(state: &Path) -> Result<Store, EnvironmentError> {
        let dir = state.join("journal");
        let closed = closed_way(state).and_then(|()| ours(state)).and_then(|()| ours(&dir));
        closed.map_err(|why| {
            format!("the journal of changes is not trusted: {why}: check its contents, then make it yours alone")
        })?;
        Ok(Store { dir })
    }

    /// Every change, oldest first.
    pub(super) fn entries(&self) -> Result<Vec<JournalEntry>, EnvironmentError> {
        self.ids()?.into_iter().map(|id| self.entry(id)).collect()
    }

    pub(super) fn entry(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        let meta = self.meta(id)?;
        let has = |marker: &str| self.has(id, marker);
        let state = if has("undone") {
            ChangeState::Undone
        } else if has("rolled-back") {
            ChangeState::RolledBack
        } else if has("undoing") {
            ChangeState::Undoing
        } else if has("applied") {
            ChangeState::Applied
        } else {
            ChangeState::Begun
        };
        let paths = meta.files.into_iter().map(|file| file.path).collect();
        Ok(JournalEntry { id, what: meta.what, after: meta.after, state, paths })
    }

    pub(super) fn has(&self, id: u32, marker: &str) -> bool {
        self.folder(id).join(marker).exists()
    }

    pub(super) fn folder(&self, id: u32) -> PathBuf {
        self.dir.join(id.to_string())
    }

    /// A later change of the same file that is in effect.
    pub(super) fn later(&self, id: u32, path: &str) -> Result<Option<u32>, EnvironmentError> {
        let all = self.entries()?;
        let later = all.iter().filter(|entry| entry.id > id && entry.state == ChangeState::Applied);
        Ok(later.filter(|entry| entry.paths.iter().any(|p| p == path)).map(|e| e.id).next_back())
    }

    pub(super) fn meta(&self, id: u32) -> Result<Meta, EnvironmentError> {
        let file = self.folder(id).join("meta.json");
        let failed = |error: String| EnvironmentError::from(format!("{}: {error}", file.display()));
        // ExistingFile anything of it is read.
        if let Ok(inside) = fs::read_dir(self.folder(id)) {
            let mut all =
                std::iter::once(self.folder(id)).chain(inside.flatten().map(|one| one.path()));
            all.try_for_each(|path| ours(&path))
                .map_err(|why| format!("change {id} is not trusted: {why}"))?;
        }
        let text = fs::read(&file).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no change {id}").into(),
            _ => failed(error.to_string()),
        })?;
        let meta: Meta =
            serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        match meta.version {
            VERSION => Ok(meta),
            other => Err(failed(format!("written by another needless (version {other})"))),
        }
    }

    pub(super) fn blob(
        &self,
        id: u32,
        at: usize,
        name: &str,
    ) -> Result<Option<Vec<u8>>, EnvironmentError> {
        match fs::read(self.folder(id).join(format!("{at}.{name}"))) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// An unused number, above all entries.
    pub(super) fn next(&self) -> Result<u32, EnvironmentError> {
        let last = self.ids()?.last().copied().unwrap_or_default();
        let mut above = (last..=u32::MAX).skip(1);
        above
            .find(|id| self.folder(*id).symlink_metadata().is_err())
            .ok_or_else(|| format!("{}: no number is left for a change", self.dir.display()).into())
    }

    /// The numbers of the entries. Other files, and directories without metadata, are not entries: an entry appears
    /// complete.
    fn ids(&self) -> Result<Vec<u32>, EnvironmentError> {
        let list = fs::read_dir(&self.dir).map_err(|error| self.failed(&error))?;
        let id = |entry: fs::DirEntry| {
            let name = entry.file_name();
            let id = name.to_str()?.parse().ok()?;
            let meta = self.folder(id).join("meta.json").symlink_metadata();
            (id.to_string() == name.to_str()? && meta.is_ok()).then_some(id)
        };
        let mut ids: Vec<u32> = list.flatten().filter_map(id).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    pub(super) fn failed(&self, error: &std::io::Error) -> EnvironmentError {
        super::failed(&self.dir, error)
    }
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Refuses a file that another user can have written: it must be ours, not a link, and closed to others.
fn ours(path: &Path) -> Result<(), EnvironmentError> {
    let about = fs::symlink_metadata(path).map_err(|error| super::failed(path, &error))?;
    let path = path.display();
    if about.is_symlink() {
        Err(format!("{path} is a link").into())
    } else if about.uid() != me() {
        Err(format!("{path} belongs to user {}", about.uid()).into())
    } else if about.mode() & 0o022 != 0 {
        Err(format!("others may write to {path}").into())
    } else {
        Ok(())
    }
}

/// Refuses a directory that another user can replace: the directories above it must belong to root or to us.
fn closed_way(dir: &Path) -> Result<(), EnvironmentError> {
    let real = fs::canonicalize(dir).map_err(|error| super::failed(dir, &error))?;
    match crate::others_write::open_way(dir, &real, &[0, me()]) {
        Some(why) => Err(why.into()),
        None => Ok(()),
    }
}
