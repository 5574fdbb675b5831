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

mod store;

use crate::disk::{About, Disk};
use rustix::fs::{FlockOperation, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use store::Store;

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
    /// It was begun, and neither finished nor rolled back yet.
    Begun,
    /// It is being taken back: that was begun and could not be finished yet.
    Undoing,
}

/// What became of a change that a run before had begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The change, as it is now.
    pub entry: Entry,
    /// How it was brought to its end, or why that cannot be done yet.
    pub how: Result<&'static str, String>,
}

impl std::fmt::Display for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Entry { id, what, .. } = &self.entry;
        match &self.how {
            Ok(how) => write!(f, "change {id} ({what}) {how}"),
            Err(why) => {
                write!(f, "change {id} ({what}) was cut short and cannot be ended yet: {why}")
            }
        }
    }
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
    store: Store,
    disk: Disk,
    _lock: File,
}

impl Journal {
    /// Opens the journal below `state` (made where it is missing) for files below `root`, and brings
    /// what a killed run left behind to its end; says what that was.
    ///
    /// # Errors
    /// In a sentence: no right to, others may write to it, another needless at work, an entry that cannot be
    /// read.
    pub fn open(state: &Path, root: &Path) -> Result<(Journal, Vec<Recovered>), String> {
        let said = |error: std::io::Error| said(state, &error);
        let dir = state.join("journal");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(said)?;
        let store = Store::at(state)?;
        let lock = lock_file(&state.join("lock"))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| "another needless is changing files: try again when it is done")?;
        let disk = Disk::at(root).map_err(|error| format!("{}: {error}", root.display()))?;
        let journal = Journal { store, disk, _lock: lock };
        let said = journal.recover()?;
        Ok((journal, said))
    }

    /// Every change, oldest first, as it stands: nothing is written, and no other needless in the way.
    ///
    /// # Errors
    /// In a sentence, where the journal cannot be read or others may write to it.
    pub fn list(state: &Path) -> Result<Vec<Entry>, String> {
        match state.join("journal").try_exists() {
            Ok(false) => Ok(Vec::new()),
            Ok(true) => Store::at(state)?.entries(),
            Err(error) => Err(said(state, &error)),
        }
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
        let id = self.store.next()?;
        self.write_down(id, &meta, files).map_err(|error| self.store.said(&error))?;
        for (at, file) in meta.files.iter().enumerate() {
            let about = About { modified: None, ..file.about.clone() };
            if let Err(why) = self.put(id, at, file, &files[at].after, &about) {
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

    /// Takes a change back, byte for byte; tries again what could not be ended before.
    ///
    /// # Errors
    /// In a sentence: there is no such change, it was taken back before, or a file has been changed
    /// since.
    pub fn undo(&self, id: u32) -> Result<Entry, String> {
        match self.store.entry(id)?.state {
            State::Applied => {}
            State::Undone => return Err(format!("change {id} was taken back before")),
            State::RolledBack => {
                return Err(format!("change {id} was never made: it was rolled back"));
            }
            begun @ (State::Undoing | State::Begun) => {
                self.end(id).map_err(|why| match begun {
                    State::Undoing => format!("change {id} is not taken back yet: {why}"),
                    _ => format!("change {id} was cut short and cannot be ended yet: {why}"),
                })?;
                let entry = self.store.entry(id)?;
                // Cut short with all its files written, it holds; what is asked is to take it back.
                return if entry.state == State::Applied { self.undo(id) } else { Ok(entry) };
            }
        }
        let meta = self.store.meta(id)?;
        for (at, file) in meta.files.iter().enumerate() {
            let now = self
                .disk
                .bytes(&file.path, file.about.link)
                .map_err(|e| format!("{}: {e}", file.path))?;
            if now != self.store.blob(id, at, "after")? {
                let kept = self.store.folder(id);
                let newer = self.store.later(id, &file.path)?;
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
        self.take_back(id, &meta).map_err(|why| {
            format!("change {id} is not taken back yet: {why}; then undo it again")
        })?;
        self.mark(id, "undone")?;
        self.store.entry(id)
    }

    /// Every change, oldest first.
    ///
    /// # Errors
    /// In a sentence, where the journal cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, String> {
        self.store.entries()
    }

    /// The last change that holds, in part at least.
    ///
    /// # Errors
    /// In a sentence, where there is none.
    pub fn last(&self) -> Result<u32, String> {
        let all = self.entries()?;
        let last = all.iter().rfind(|e| !matches!(e.state, State::Undone | State::RolledBack));
        last.map(|entry| entry.id).ok_or_else(|| "there is no change to take back".into())
    }

    /// The files below the root, as this journal's user may change them.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Brings to an end what was begun and not ended.
    fn recover(&self) -> Result<Vec<Recovered>, String> {
        let mut ended = Vec::new();
        let list = fs::read_dir(&self.store.dir).map_err(|error| self.store.said(&error))?;
        for entry in list.flatten() {
            // Never became an entry: nothing of the host was touched yet.
            if entry.file_name().to_string_lossy().starts_with(".new-") {
                fs::remove_dir_all(entry.path()).map_err(|error| self.store.said(&error))?;
            }
        }
        for entry in self.entries()? {
            if !matches!(entry.state, State::Begun | State::Undoing) {
                continue;
            }
            // One that cannot be ended now must not keep others from being made: it stays begun.
            let how = self.end(entry.id);
            ended.push(Recovered { entry: self.store.entry(entry.id)?, how });
        }
        Ok(ended)
    }

    /// Brings a change that was begun to its end; which.
    fn end(&self, id: u32) -> Result<&'static str, String> {
        let meta = self.store.meta(id)?;
        if self.store.has(id, "undoing") {
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
            whole &= now == self.store.blob(id, at, "after")?;
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
            if now == self.store.blob(id, at, "after")? {
                let before = self.store.blob(id, at, "before")?;
                self.put(id, at, file, &before, &file.about)?;
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
        about: &About,
    ) -> Result<(), String> {
        match bytes {
            None => self.disk.remove(&file.path),
            Some(bytes) => {
                let temporary = temporary(id, at);
                let new = !file.existed || !file.remains;
                self.disk.write(&file.path, bytes, about, &temporary, new)
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
        let new = self.store.dir.join(format!(".new-{id}"));
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
        fs::rename(&new, self.store.folder(id))?;
        sync_dir(&self.store.dir)
    }

    fn mark(&self, id: u32, marker: &str) -> Result<(), String> {
        let dir = self.store.folder(id);
        write_out(&dir.join(marker), b"")
            .and_then(|()| sync_dir(&dir))
            .map_err(|error| self.store.said(&error))
    }
}

/// The file that is locked. A pipe with nobody at its other end would hold us up.
fn lock_file(path: &Path) -> Result<File, String> {
    if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
        return Err(format!("{}: no regular file: remove it", path.display()));
    }
    let mut how = File::options();
    how.create(true).truncate(false).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    how.open(path).map_err(|error| said(path, &error))
}

/// What went wrong with a file of the journal. Who is not root may only look at a journal of their own.
fn said(path: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!("{}: no right to it", path.display()),
        _ => format!("{}: {error}", path.display()),
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
