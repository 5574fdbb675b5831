//! What was changed, written down before it is: so that it can be taken back, and so that a run that
//! was killed at any instant is finished or rolled back by the next.
//!
//! An entry is a directory: `meta.json`, the bytes of each file before and after, and a marker for
//! each state that was reached. It appears whole, by a rename; after that
//!
//! * without a marker, the change was begun: if every file has its new bytes it is finished, else
//!   those that have are put back;
//! * `applied`: it holds;
//! * `undoing` without `undone`: it is being taken back, and that is finished;
//! * `undone`, `rolled-back`: history.

use crate::disk::{About, Disk};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A file with what is in it before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path, absolute.
    pub path: String,
    /// Its bytes before; `None` where there is no such file.
    pub before: Option<Vec<u8>>,
    /// Its bytes after; `None` where it is removed.
    pub after: Option<Vec<u8>>,
    /// Rights, owner and attributes: of the file that is there, or those of a new one.
    pub about: About,
}

/// A change that was made, or is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub id: u32,
    /// What it does, in one line.
    pub what: String,
    /// Commands that make it, or its undoing, take effect: each a list of words.
    pub after: Vec<Vec<String>>,
    /// Whether it holds.
    pub state: State,
    /// The files that it changed.
    pub paths: Vec<String>,
}

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Applied,
    /// It was taken back.
    Undone,
    /// It was never finished and was rolled back.
    RolledBack,
    /// It was begun, or its undoing was.
    Begun,
}

#[derive(Serialize, Deserialize)]
struct Meta {
    version: u32,
    what: String,
    after: Vec<Vec<String>>,
    files: Vec<MetaFile>,
}

#[derive(Serialize, Deserialize)]
struct MetaFile {
    path: String,
    existed: bool,
    remains: bool,
    about: About,
    /// Directories that were made for it, outermost first.
    made: Vec<String>,
}

const VERSION: u32 = 1;

/// The journal in a directory of state.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    disk: Disk,
    _lock: File,
}

impl Journal {
    /// Opens the journal below `state` (made where it is missing) for files below `root`, and brings
    /// what a killed run left behind to its end; says what that was.
    ///
    /// # Errors
    /// In a sentence: no right to, another needless at work, an entry that cannot be read.
    pub fn open(state: &Path, root: &Path) -> Result<(Journal, Vec<String>), String> {
        let said = |error: std::io::Error| format!("{}: {error}", state.display());
        let dir = state.join("journal");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(said)?;
        let lock =
            File::options().create(true).truncate(false).write(true).open(state.join("lock"));
        let lock = lock.map_err(said)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| "another needless is changing files: try again when it is done")?;
        let disk = Disk::at(root).map_err(|error| format!("{}: {error}", root.display()))?;
        let journal = Journal { dir, disk, _lock: lock };
        let said = journal.recover()?;
        Ok((journal, said))
    }

    /// Makes a change: all its files, or none. Gives its number.
    ///
    /// # Errors
    /// In a sentence: a file is not as it was planned for, or cannot be written; then none is changed.
    pub fn apply(
        &self,
        what: &str,
        files: &[FileChange],
        after: Vec<Vec<String>>,
    ) -> Result<u32, String> {
        for file in files {
            // Whose file it may be was decided when the change was planned.
            let owner = file.about.owner.map(|(uid, _)| uid);
            let now = self.disk.of_owner(owner)?.look(&file.path)?;
            if now.as_ref().map(|now| &now.bytes) != file.before.as_ref() {
                return Err(format!("{}: it has just been changed by somebody else", file.path));
            }
        }
        let meta = Meta {
            version: VERSION,
            what: what.to_owned(),
            after,
            files: files
                .iter()
                .map(|file| MetaFile {
                    path: file.path.clone(),
                    existed: file.before.is_some(),
                    remains: file.after.is_some(),
                    about: file.about.clone(),
                    made: self.disk.missing(&file.path),
                })
                .collect(),
        };
        let id = self.ids()?.last().map_or(1, |last| last + 1);
        self.write_down(id, &meta, files).map_err(|error| self.said(&error))?;
        for (at, file) in meta.files.iter().enumerate() {
            if let Err(why) = self.put(id, at, file, &files[at].after) {
                self.roll_back(id, &meta)?;
                return Err(why);
            }
        }
        // Without the marker (a full disk) it does not hold.
        if let Err(why) = self.mark(id, "applied") {
            self.roll_back(id, &meta)?;
            return Err(why);
        }
        Ok(id)
    }

    /// Takes a change back, byte for byte.
    ///
    /// # Errors
    /// In a sentence: there is no such change, it was taken back before, or a file has been changed
    /// since.
    pub fn undo(&self, id: u32) -> Result<Entry, String> {
        let entry = self.entry(id)?;
        match entry.state {
            State::Applied => {}
            State::Undone => return Err(format!("change {id} was taken back before")),
            _ => return Err(format!("change {id} was never made")),
        }
        let meta = self.meta(id)?;
        for (at, file) in meta.files.iter().enumerate() {
            let now = self
                .disk
                .bytes(&file.path, file.about.link)
                .map_err(|e| format!("{}: {e}", file.path))?;
            if now != self.blob(id, at, "after")? {
                let kept = self.dir.join(id.to_string());
                let newer = self.later(id, &file.path)?;
                return Err(match newer {
                    Some(newer) => {
                        format!("{}: change {newer} came after: undo that first", file.path)
                    }
                    None => format!(
                        "{}: somebody has changed it since; nothing was taken back. As it was \
                         before it is kept as {}",
                        file.path,
                        kept.join(format!("{at}.before")).display()
                    ),
                });
            }
        }
        self.mark(id, "undoing")?;
        self.take_back(id, &meta)?;
        self.mark(id, "undone")?;
        self.entry(id)
    }

    /// Every change, oldest first.
    ///
    /// # Errors
    /// In a sentence, where the journal cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, String> {
        self.ids()?.into_iter().map(|id| self.entry(id)).collect()
    }

    /// The last change that holds.
    ///
    /// # Errors
    /// In a sentence, where there is none.
    pub fn last(&self) -> Result<u32, String> {
        let all = self.entries()?;
        let last = all.iter().rfind(|entry| entry.state == State::Applied);
        last.map(|entry| entry.id).ok_or_else(|| "there is no change to take back".into())
    }

    /// The files below the root, as this journal's user may change them.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    fn entry(&self, id: u32) -> Result<Entry, String> {
        let meta = self.meta(id)?;
        let has = |marker: &str| self.dir.join(id.to_string()).join(marker).exists();
        let state = match () {
            () if has("undone") => State::Undone,
            () if has("rolled-back") => State::RolledBack,
            () if has("undoing") => State::Begun,
            () if has("applied") => State::Applied,
            () => State::Begun,
        };
        let paths = meta.files.into_iter().map(|file| file.path).collect();
        Ok(Entry { id, what: meta.what, after: meta.after, state, paths })
    }

    /// A later change of the same file that holds.
    fn later(&self, id: u32, path: &str) -> Result<Option<u32>, String> {
        let all = self.entries()?;
        let later = all.iter().filter(|entry| entry.id > id && entry.state == State::Applied);
        Ok(later.filter(|entry| entry.paths.iter().any(|p| p == path)).map(|e| e.id).next_back())
    }

    /// Brings to an end what was begun and not ended.
    fn recover(&self) -> Result<Vec<String>, String> {
        let mut said = Vec::new();
        let list = fs::read_dir(&self.dir).map_err(|error| self.said(&error))?;
        for entry in list.flatten() {
            // Never became an entry: nothing of the host was touched yet.
            if entry.file_name().to_string_lossy().starts_with(".new-") {
                fs::remove_dir_all(entry.path()).map_err(|error| self.said(&error))?;
            }
        }
        for id in self.ids()? {
            let entry = self.entry(id)?;
            if entry.state != State::Begun {
                continue;
            }
            // One that cannot be ended now must not keep others from being made: it stays begun.
            said.push(match self.end(id) {
                Ok(how) => format!("change {id} ({}) {how}", entry.what),
                Err(why) => format!(
                    "change {id} ({}) was cut short and cannot be ended yet: {why}",
                    entry.what
                ),
            });
        }
        Ok(said)
    }

    /// Brings a change that was begun to its end; which.
    fn end(&self, id: u32) -> Result<&'static str, String> {
        let meta = self.meta(id)?;
        if self.dir.join(id.to_string()).join("undoing").exists() {
            self.take_back(id, &meta)?;
            self.mark(id, "undone")?;
            return Ok("was being taken back: done");
        }
        let mut whole = true;
        for (at, file) in meta.files.iter().enumerate() {
            let now = self
                .disk
                .bytes(&file.path, file.about.link)
                .map_err(|e| format!("{}: {e}", file.path))?;
            whole &= now == self.blob(id, at, "after")?;
        }
        if whole {
            self.clean(id, &meta);
            self.mark(id, "applied")?;
            return Ok("was cut short: it is whole");
        }
        self.roll_back(id, &meta)?;
        Ok("was cut short: rolled back")
    }

    fn roll_back(&self, id: u32, meta: &Meta) -> Result<(), String> {
        self.take_back(id, meta)?;
        self.mark(id, "rolled-back")
    }

    /// Puts back every file that has its new bytes; others are as they were, or another's by now.
    fn take_back(&self, id: u32, meta: &Meta) -> Result<(), String> {
        self.clean(id, meta);
        for (at, file) in meta.files.iter().enumerate() {
            let now = self
                .disk
                .bytes(&file.path, file.about.link)
                .map_err(|e| format!("{}: {e}", file.path))?;
            if now == self.blob(id, at, "after")? {
                let before = self.blob(id, at, "before")?;
                self.put(id, at, file, &before)?;
            }
            for dir in file.made.iter().rev() {
                self.disk.remove_empty_dir(dir);
            }
        }
        Ok(())
    }

    fn put(
        &self,
        id: u32,
        at: usize,
        file: &MetaFile,
        bytes: &Option<Vec<u8>>,
    ) -> Result<(), String> {
        match bytes {
            None => self.disk.remove(&file.path),
            Some(bytes) => {
                let temporary = temporary(id, at);
                let new = !file.existed || !file.remains;
                self.disk.write(&file.path, bytes, &file.about, &temporary, new)
            }
        }
    }

    /// Removes temporary files that a killed run left beside the files of a change.
    fn clean(&self, id: u32, meta: &Meta) {
        for (at, file) in meta.files.iter().enumerate() {
            if let Some(dir) = Path::new(&file.path).parent() {
                let left = dir.join(temporary(id, at));
                let _ = self.disk.remove(&left.to_string_lossy());
            }
        }
    }

    fn write_down(&self, id: u32, meta: &Meta, files: &[FileChange]) -> std::io::Result<()> {
        let new = self.dir.join(format!(".new-{id}"));
        DirBuilder::new().mode(0o700).create(&new)?;
        write_out(&new.join("meta.json"), &serde_json::to_vec_pretty(meta)?)?;
        for (at, file) in files.iter().enumerate() {
            for (bytes, name) in [(&file.before, "before"), (&file.after, "after")] {
                if let Some(bytes) = bytes {
                    write_out(&new.join(format!("{at}.{name}")), bytes)?;
                }
            }
        }
        sync_dir(&new)?;
        fs::rename(&new, self.dir.join(id.to_string()))?;
        sync_dir(&self.dir)
    }

    fn mark(&self, id: u32, marker: &str) -> Result<(), String> {
        let dir = self.dir.join(id.to_string());
        write_out(&dir.join(marker), b"")
            .and_then(|()| sync_dir(&dir))
            .map_err(|error| self.said(&error))
    }

    fn meta(&self, id: u32) -> Result<Meta, String> {
        let file = self.dir.join(id.to_string()).join("meta.json");
        let said = |error: String| format!("{}: {error}", file.display());
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

    fn blob(&self, id: u32, at: usize, name: &str) -> Result<Option<Vec<u8>>, String> {
        match fs::read(self.dir.join(id.to_string()).join(format!("{at}.{name}"))) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.said(&error)),
        }
    }

    fn ids(&self) -> Result<Vec<u32>, String> {
        let list = fs::read_dir(&self.dir).map_err(|error| self.said(&error))?;
        let mut ids: Vec<u32> =
            list.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn said(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", self.dir.display())
    }
}

/// No reader of configuration takes a file of such a name for its own.
fn temporary(id: u32, at: usize) -> String {
    format!(".needless-{id}-{at}.tmp")
}

fn write_out(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_dir(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}
