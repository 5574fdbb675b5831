//! Reads the journal's files. An entry decides which files root writes, and with which bytes: one that another user
//! could have put there is not trusted.

use super::{
    ChangeState, Entries, FORGOTTEN, JournalEntry, Meta, ON_TRIAL, TAKING_BACK, UNDOING, VERSION,
};
use crate::disk::{LARGEST_LOCALE, Modified};
use crate::error::EnvironmentError;
use crate::others_write::{open_regular, open_to_others, open_way};
use needless_model::{parser_message, shorten};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The longest path, with the zero byte at its end (limits.h).
const PATH_MAX: usize = 4096;
/// The largest list of files that is read, bytes: needless writes far smaller ones.
const LARGEST_META: u64 = 16 << 20;

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
        Store::check(state).and_then(|()| ours(&dir).map_err(|why| untrusted(&why)))?;
        Ok(Store { dir })
    }

    /// Refuses a directory of state that another user could write to, or put in its place.
    pub(super) fn check(state: &Path) -> Result<(), EnvironmentError> {
        closed_way(state).and_then(|()| ours(state)).map_err(|why| untrusted(&why))
    }

    /// Every change, oldest first. One that cannot be read does not block the others.
    pub(super) fn entries(&self) -> Result<Entries, EnvironmentError> {
        let mut all = Entries::default();
        for id in self.ids()? {
            match self.entry(id) {
                Ok(entry) => all.readable.push(entry),
                Err(why) => all.unreadable.push((id, why)),
            }
        }
        Ok(all)
    }

    pub(super) fn entry(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        let meta = self.meta(id)?;
        let has = |marker: &str| self.has(id, marker);
        let state = if has("undone") {
            ChangeState::Undone
        } else if has("rolled-back") {
            ChangeState::RolledBack
        } else if has(FORGOTTEN) {
            ChangeState::Forgotten
        } else if self.is_being_undone(id) {
            ChangeState::Undoing
        } else if has("applied") {
            ChangeState::Applied
        } else {
            ChangeState::Begun
        };
        let mut after = meta.after;
        let restarted = has(TAKING_BACK) && meta.expected.is_some();
        if restarted {
            after.extend(meta.expected.iter().map(|expected| expected.activation.clone()));
        }
        let announced = match state {
            ChangeState::Applied => has("announced"),
            ChangeState::Undone | ChangeState::RolledBack => has("announced-undone"),
            ChangeState::Begun | ChangeState::Undoing | ChangeState::Forgotten => true,
        } || after.is_empty();
        let paths = meta.files.into_iter().map(|file| file.path).collect();
        // A value may be long.
        let what = shorten(&meta.what, 400, 200).into_owned();
        Ok(JournalEntry {
            id,
            what,
            after,
            restarted,
            state,
            announced,
            paths,
            expected: meta.expected.into_iter().chain(meta.more).collect(),
            on_trial: state == ChangeState::Applied && has(ON_TRIAL),
        })
    }

    pub(super) fn has(&self, id: u32, marker: &str) -> bool {
        self.folder(id).join(marker).exists()
    }

    pub(super) fn is_being_undone(&self, id: u32) -> bool {
        self.has(id, UNDOING) || self.has(id, TAKING_BACK)
    }

    pub(super) fn folder(&self, id: u32) -> PathBuf {
        self.dir.join(id.to_string())
    }

    /// A later change of the same file that is in effect.
    pub(super) fn later(&self, id: u32, path: &str) -> Result<Option<u32>, EnvironmentError> {
        let all = self.entries()?.readable;
        let later = all.iter().filter(|entry| entry.id > id && entry.state == ChangeState::Applied);
        Ok(later.filter(|entry| entry.paths.iter().any(|p| p == path)).map(|e| e.id).next_back())
    }

    pub(super) fn meta(&self, id: u32) -> Result<Meta, EnvironmentError> {
        let file = self.folder(id).join("meta.json");
        let failed = |error: String| EnvironmentError::from(format!("{}: {error}", file.display()));
        // Before anything in it is read.
        if let Ok(inside) = fs::read_dir(self.folder(id)) {
            let mut all =
                std::iter::once(self.folder(id)).chain(inside.flatten().map(|one| one.path()));
            all.try_for_each(|path| ours(&path))
                .map_err(|why| format!("change {id} is not trusted: {why}"))?;
        }
        let text = read_regular(&file, LARGEST_META).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no change {id}").into(),
            _ => failed(error.to_string()),
        })?;
        let meta: Meta = serde_json::from_slice(&text)
            .map_err(|error| failed(parser_message(&error.to_string()).into_owned()))?;
        match meta.version {
            // The kernel takes no longer path, so needless has written none.
            VERSION if meta.files.iter().any(|file| file.path.len() >= PATH_MAX) => {
                Err(failed("a path in it is too long".into()))
            }
            VERSION => Ok(meta),
            other => Err(failed(format!("written by another needless (version {other})"))),
        }
    }

    /// When the directories of its files were last changed once it was in effect; empty where that is not known.
    pub(super) fn after_times(&self, id: u32) -> Vec<Option<Modified>> {
        let text = read_regular(&self.folder(id).join("applied"), LARGEST_META);
        text.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    pub(super) fn blob(
        &self,
        id: u32,
        at: usize,
        name: &str,
    ) -> Result<Option<Vec<u8>>, EnvironmentError> {
        let path = self.folder(id).join(format!("{at}.{name}"));
        match read_regular(&path, LARGEST_LOCALE) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(super::failed(&path, &error)),
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

fn read_regular(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("too large: more than {} MiB, which needless never writes", most >> 20);
        return Err(std::io::Error::other(why));
    }
    Ok(bytes)
}

fn untrusted(why: &EnvironmentError) -> EnvironmentError {
    format!(
        "the journal of changes is not trusted: {why}: check its contents, then make it yours alone"
    )
    .into()
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Refuses a file that another user can have written: it must be ours or root's, not a link, and closed to others.
fn ours(path: &Path) -> Result<(), EnvironmentError> {
    let about = fs::symlink_metadata(path).map_err(|error| super::failed(path, &error))?;
    let is_open = open_to_others(path, about.uid(), about.gid(), about.mode());
    let path = path.display();
    if about.is_symlink() {
        Err(format!("{path} is a link").into())
    } else if about.uid() != me() && about.uid() != 0 {
        Err(format!("{path} belongs to user {}", about.uid()).into())
    } else if is_open {
        Err(format!("others may write to {path}").into())
    } else {
        Ok(())
    }
}

/// Refuses a directory that another user can replace: the directories above it must belong to root or to us.
fn closed_way(dir: &Path) -> Result<(), EnvironmentError> {
    let real = fs::canonicalize(dir).map_err(|error| super::failed(dir, &error))?;
    match open_way(dir, &real, &[0, me()]) {
        Some(why) => Err(why.into()),
        None => Ok(()),
    }
}
