//! The journal's files, read. An entry decides which files root writes, and with which bytes: one that
//! another user could have put there is not believed.

use super::{Entry, Meta, State, VERSION};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directory of entries.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) dir: PathBuf,
}

impl Store {
    /// The journal below `state`, which is there.
    ///
    /// # Errors
    /// In a sentence, where another user could write to it.
    pub(super) fn at(state: &Path) -> Result<Store, String> {
        let dir = state.join("journal");
        let closed = closed_way(state).and_then(|()| ours(state)).and_then(|()| ours(&dir));
        closed.map_err(|why| {
            format!("the journal of changes is not believed: {why}: look what is in it, then make it yours alone")
        })?;
        Ok(Store { dir })
    }

    /// Every change, oldest first.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, String> {
        self.ids()?.into_iter().map(|id| self.entry(id)).collect()
    }

    pub(super) fn entry(&self, id: u32) -> Result<Entry, String> {
        let meta = self.meta(id)?;
        let has = |marker: &str| self.has(id, marker);
        let state = match () {
            () if has("undone") => State::Undone,
            () if has("rolled-back") => State::RolledBack,
            () if has("undoing") => State::Undoing,
            () if has("applied") => State::Applied,
            () => State::Begun,
        };
        let paths = meta.files.into_iter().map(|file| file.path).collect();
        Ok(Entry { id, what: meta.what, after: meta.after, state, paths })
    }

    pub(super) fn has(&self, id: u32, marker: &str) -> bool {
        self.folder(id).join(marker).exists()
    }

    pub(super) fn folder(&self, id: u32) -> PathBuf {
        self.dir.join(id.to_string())
    }

    /// A later change of the same file that holds.
    pub(super) fn later(&self, id: u32, path: &str) -> Result<Option<u32>, String> {
        let all = self.entries()?;
        let later = all.iter().filter(|entry| entry.id > id && entry.state == State::Applied);
        Ok(later.filter(|entry| entry.paths.iter().any(|p| p == path)).map(|e| e.id).next_back())
    }

    pub(super) fn meta(&self, id: u32) -> Result<Meta, String> {
        let file = self.folder(id).join("meta.json");
        let said = |error: String| format!("{}: {error}", file.display());
        // Before anything of it is read.
        if let Ok(inside) = fs::read_dir(self.folder(id)) {
            let mut all =
                std::iter::once(self.folder(id)).chain(inside.flatten().map(|one| one.path()));
            all.try_for_each(|path| ours(&path))
                .map_err(|why| format!("change {id} is not believed: {why}"))?;
        }
        let text = fs::read(&file).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no change {id}"),
            _ => said(error.to_string()),
        })?;
        let meta: Meta = serde_json::from_slice(&text).map_err(|error| said(error.to_string()))?;
        match meta.version {
            VERSION => Ok(meta),
            other => Err(said(format!("written by another needless (version {other})"))),
        }
    }

    pub(super) fn blob(&self, id: u32, at: usize, name: &str) -> Result<Option<Vec<u8>>, String> {
        match fs::read(self.folder(id).join(format!("{at}.{name}"))) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.said(&error)),
        }
    }

    /// A number that nothing has, above those of all entries.
    pub(super) fn next(&self) -> Result<u32, String> {
        let last = self.ids()?.last().copied().unwrap_or_default();
        let mut above = (last..=u32::MAX).skip(1);
        above
            .find(|id| self.folder(*id).symlink_metadata().is_err())
            .ok_or_else(|| format!("{}: no number is left for a change", self.dir.display()))
    }

    /// Of the entries. What else is in the directory, or has no metadata, is none: one appears whole.
    fn ids(&self) -> Result<Vec<u32>, String> {
        let list = fs::read_dir(&self.dir).map_err(|error| self.said(&error))?;
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

    pub(super) fn said(&self, error: &std::io::Error) -> String {
        super::said(&self.dir, error)
    }
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether nobody else can have written there: our own, no link, and closed to others.
fn ours(path: &Path) -> Result<(), String> {
    let about = fs::symlink_metadata(path).map_err(|error| super::said(path, &error))?;
    let path = path.display();
    match () {
        () if about.is_symlink() => Err(format!("{path} is a link")),
        () if about.uid() != me() => Err(format!("{path} belongs to user {}", about.uid())),
        () if about.mode() & 0o022 != 0 => Err(format!("others may write to {path}")),
        () => Ok(()),
    }
}

/// Whether nobody else can put another directory in the place of `dir`: those above are root's or ours.
fn closed_way(dir: &Path) -> Result<(), String> {
    let real = fs::canonicalize(dir).map_err(|error| super::said(dir, &error))?;
    crate::trust::open_way(dir, &real, &[0, me()]).map_or(Ok(()), Err)
}
