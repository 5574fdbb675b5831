//! The record of changes. Each is recorded before it is made, so that it can be undone, and so that the next run
//! finishes or rolls back a change whose run was killed at any instant.
//!
//! An entry is a directory: `meta.json`, the bytes of each file before and after, and a marker for each state that
//! was reached. The directory appears complete, by a rename. After that
//!
//! * without a marker, the change was begun: if every file has its new bytes the change is finished, else the changed
//!   files are restored;
//! * `applied`: it is in effect;
//! * `undoing` or `taking-back` without `undone`: it is being undone, and that is finished; after `taking-back` the
//!   process is restarted as well, which was restarted with the change and did not get it;
//! * with `N.found` and `N.merged`, others have changed file N since: it is then undone by writing the merged text over the
//!   found one, where the lines of others stay;
//! * `undone`, `rolled-back`: history;
//! * `forgotten`: history, too; its files were left as they were;
//! * `on-trial`: the process is restarted with it, and has not been looked at since;
//! * `announced`, `announced-undone`: the commands that have the files read again were run for that state.
//!
//! It has files and texts, not hashes: configuration is small, and an administrator can read there what a change was.

mod entry;
mod meta;
mod recovery;
mod store;
mod three_way;
mod undo;

use crate::activation::Activation;
use crate::disk::{Disk, FileAttributes, Modified};
use crate::error::EnvironmentError;
use crate::in_force::Expected;
use crate::running::STATE_OF_ROOT;
pub use entry::{ChangeState, Entries, FileChange, JournalEntry, Recovered};
use meta::{Meta, MetaFile};
use needless_host::command;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use store::Store;

const VERSION: u32 = 2;
const UNDOING: &str = "undoing";
const TAKING_BACK: &str = "taking-back";
const ON_TRIAL: &str = "on-trial";
const FORGOTTEN: &str = "forgotten";

/// The journal in a directory of state.
#[derive(Debug)]
pub struct Journal {
    /// What could not be read when it was opened: it is left alone, and the user has to know.
    pub unreadable: Vec<(u32, EnvironmentError)>,
    store: Store,
    disk: Disk,
    lock: File,
}

impl Journal {
    /// Opens the journal below `state` (created where it is missing) for files below `root`, and finishes what a
    /// killed run left; returns what was done.
    ///
    /// # Errors
    /// When there is no permission, others may write to it, or another needless is running.
    pub fn open(state: &Path, root: &Path) -> Result<(Journal, Vec<Recovered>), EnvironmentError> {
        Journal::open_within(state, root, Duration::ZERO, &mut || ())
    }

    /// The same, but waits so long for another needless; `waiting` is called once, when that has taken a second.
    ///
    /// # Errors
    /// As of [`Journal::open`].
    pub fn open_within(
        state: &Path,
        root: &Path,
        patience: Duration,
        waiting: &mut dyn FnMut(),
    ) -> Result<(Journal, Vec<Recovered>), EnvironmentError> {
        let failed = |error: std::io::Error| failed(state, &error);
        let dir = state.join("journal");
        // Nothing is made behind a link, or in a directory that others may write.
        if state.symlink_metadata().is_ok() {
            Store::check(state)?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(failed)?;
        let store = Store::at(state)?;
        let lock = lock_file(&state.join("lock"))?;
        take_lock(&lock, patience, waiting)?;
        let disk = Disk::at(root).map_err(|error| format!("{}: {error}", root.display()))?;
        let mut journal = Journal { unreadable: Vec::new(), store, disk, lock };
        let Entries { readable, unreadable } = journal.entries()?;
        journal.unreadable = unreadable;
        let recovered = journal.recover(readable)?;
        Ok((journal, recovered))
    }

    /// Does `work`, which takes its time and needs no file of the journal, while others may change files.
    ///
    /// # Errors
    /// When the journal cannot be locked again.
    pub fn unlocked<T>(&self, work: impl FnOnce() -> T) -> Result<T, EnvironmentError> {
        let failed = |error: Errno| EnvironmentError::from(format!("the journal's lock: {error}"));
        rustix::fs::flock(&self.lock, FlockOperation::Unlock).map_err(failed)?;
        let done = work();
        let again = || rustix::fs::flock(&self.lock, FlockOperation::LockExclusive);
        rustix::io::retry_on_intr(again).map_err(failed)?;
        Ok(done)
    }

    /// Every change, oldest first. Writes nothing, and works while another needless runs.
    ///
    /// # Errors
    /// When the journal cannot be read or others may write to it.
    pub fn list(state: &Path) -> Result<Entries, EnvironmentError> {
        match state.join("journal").try_exists() {
            Ok(false) => Ok(Entries::default()),
            Ok(true) => Store::at(state)?.entries(),
            Err(error) => Err(failed(state, &error)),
        }
    }

    /// The changes of root's journal that are in effect, each as unit and variable: those of units of the system.
    /// Writes nothing; for another user than root it takes CAP_DAC_READ_SEARCH.
    ///
    /// # Errors
    /// As of [`Journal::list`], and where an entry cannot be read.
    pub fn applied_to_units() -> Result<BTreeSet<(String, String)>, EnvironmentError> {
        let Entries { readable, unreadable } = Journal::list(Path::new(STATE_OF_ROOT))?;
        if let Some((_, why)) = unreadable.into_iter().next() {
            return Err(why);
        }
        let applied = readable.into_iter().filter(|entry| entry.state == ChangeState::Applied);
        let of_units = applied.flat_map(|entry| entry.expected).filter(|expected| {
            !expected.user && expected.is_unit() && expected.unit.ends_with(".service")
        });
        Ok(of_units.map(|expected| (expected.unit, expected.variable)).collect())
    }

    /// Makes a change: all its files, or none. Returns its number.
    ///
    /// # Errors
    /// When a file is not as it was when planned, or cannot be written; then none is changed.
    pub fn apply(
        &self,
        what: &str,
        files: &[FileChange],
        after: Vec<Activation>,
    ) -> Result<u32, EnvironmentError> {
        self.apply_expecting(what, files, after, Vec::new())
    }

    /// The same, with what the change is to bring about in a process: one for each variable.
    ///
    /// # Errors
    /// As of [`Journal::apply`].
    pub fn apply_expecting(
        &self,
        what: &str,
        files: &[FileChange],
        after: Vec<Activation>,
        expected: Vec<Expected>,
    ) -> Result<u32, EnvironmentError> {
        for file in files {
            // The plan decided who may own the file.
            let owner = file.about.owner.map(|(uid, _)| uid);
            let now = self.disk.of_owner(owner)?.read_for_change(&file.path)?;
            if now.as_ref().map(|now| &now.bytes) != file.before.as_ref() {
                return Err(format!("{}: another program has just changed it", file.path).into());
            }
            // They may have been narrowed while the question was shown, and would be widened again.
            if owner.is_some() && now.is_some_and(|now| !now.about.is_same(&file.about)) {
                let path = &file.path;
                return Err(format!("{path}: its permissions have just changed: try again").into());
            }
        }
        let mut expected = expected.into_iter();
        let meta = Meta {
            version: VERSION,
            what: what.to_owned(),
            after,
            files: files.iter().map(|file| self.meta_file(file)).collect(),
            expected: expected.next(),
            more: expected.collect(),
        };
        let id = self.store.next()?;
        self.record(id, &meta, files).map_err(|error| self.store.failed(&error))?;
        for (at, file) in meta.files.iter().enumerate() {
            let about = FileAttributes { modified: None, ..file.about.clone() };
            if let Err(why) = self.put(id, at, file, &files[at].after, &about) {
                self.roll_back(id, &meta)?;
                return Err(why);
            }
        }
        // Without the marker (disk full) it does not count.
        if let Err(why) = self.mark_applied(id, &meta) {
            self.roll_back(id, &meta)?;
            return Err(why);
        }
        Ok(id)
    }

    /// Every change, oldest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn entries(&self) -> Result<Entries, EnvironmentError> {
        self.store.entries()
    }

    /// A change.
    ///
    /// # Errors
    /// When there is none of that number, or it cannot be read.
    pub fn entry(&self, id: u32) -> Result<JournalEntry, EnvironmentError> {
        self.store.entry(id)
    }

    /// The last change that is in effect, at least in part. Changes that cannot be read are passed over.
    ///
    /// # Errors
    /// When there is none.
    pub fn last(&self) -> Result<u32, EnvironmentError> {
        let all = self.entries()?.readable;
        let last = all.iter().rfind(|entry| !entry.state.is_over());
        last.map(|entry| entry.id).ok_or_else(|| "there is no change to undo".into())
    }

    /// Remembers that the commands of a change were run, so that no later run does it again.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn announced(&self, id: u32) -> Result<(), EnvironmentError> {
        let marker = match self.store.entry(id)?.state {
            ChangeState::Applied => "announced",
            _ => "announced-undone",
        };
        self.mark(id, marker)
    }

    /// Remembers that the process of a change is about to be restarted with it: if this run is killed, the next one
    /// looks at the process.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn on_trial(&self, id: u32) -> Result<(), EnvironmentError> {
        self.mark(id, ON_TRIAL)
    }

    /// Remembers that the process was looked at.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn tried(&self, id: u32) -> Result<(), EnvironmentError> {
        let dir = self.store.folder(id);
        match fs::remove_file(dir.join(ON_TRIAL)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.store.failed(&error))
            }
            _ => sync_dir(&dir).map_err(|error| self.store.failed(&error)),
        }
    }

    /// Marks a change as undone: nobody looks at its process any more.
    fn mark_undone(&self, id: u32) -> Result<(), EnvironmentError> {
        self.tried(id)?;
        self.mark(id, "undone")
    }

    /// The files below the root, with the permissions of this journal's user.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    fn record(&self, id: u32, meta: &Meta, files: &[FileChange]) -> std::io::Result<()> {
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

    /// Marks a change as being in effect, with the times of the directories after it: while they are the same, nothing
    /// else has changed them.
    fn mark_applied(&self, id: u32, meta: &Meta) -> Result<(), EnvironmentError> {
        let times: Vec<Option<Modified>> =
            meta.files.iter().map(|file| self.disk.dir_modified(file.dir())).collect();
        self.mark_with(id, "applied", &serde_json::to_vec(&times).unwrap_or_default())
    }

    fn mark(&self, id: u32, marker: &str) -> Result<(), EnvironmentError> {
        self.mark_with(id, marker, b"")
    }

    fn mark_with(&self, id: u32, marker: &str, bytes: &[u8]) -> Result<(), EnvironmentError> {
        let dir = self.store.folder(id);
        write_out(&dir.join(marker), bytes)
            .and_then(|()| sync_dir(&dir))
            .map_err(|error| self.store.failed(&error))
    }
}

/// Locks the file; see [`Journal::open_within`].
fn take_lock(
    lock: &File,
    patience: Duration,
    waiting: &mut dyn FnMut(),
) -> Result<(), EnvironmentError> {
    let (begin, mut said) = (Instant::now(), false);
    while rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if begin.elapsed() >= patience {
            let who = holder(lock).map_or(String::new(), |who| format!(" ({who})"));
            return Err(format!(
                "another needless is changing files{who}: try again when it is done"
            )
            .into());
        }
        if !said && begin.elapsed() >= Duration::from_secs(1) {
            waiting();
            said = true;
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Who has locked the file, as `NAME[PID]`, by proc_locks(5), which has the inode as the last part of its sixth column.
fn holder(lock: &File) -> Option<String> {
    let inode = format!(":{}", lock.metadata().ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = words[..] else { return None };
        file.ends_with(&inode).then(|| pid.parse::<u32>().ok()).flatten()
    };
    let pid = locks.lines().find_map(holds)?;
    Some(format!("{}[{pid}]", command(pid)?))
}

/// Opens the file to lock. Opening a pipe without a reader would block.
fn lock_file(path: &Path) -> Result<File, EnvironmentError> {
    if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
        return Err(format!("{}: not a regular file: remove it", path.display()).into());
    }
    let mut how = File::options();
    how.create(true)
        .truncate(false)
        .write(true)
        .mode(PRIVATE)
        .custom_flags(OFlags::NONBLOCK.bits() as i32);
    how.open(path).map_err(|error| failed(path, &error))
}

/// What went wrong with a file of the journal. Users other than root can only see a journal of their own.
fn failed(path: &Path, error: &std::io::Error) -> EnvironmentError {
    let why = match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!(
            "{}: no permission for user {}: XDG_STATE_HOME or HOME must name a directory of that user",
            path.display(),
            rustix::process::geteuid().as_raw()
        ),
        _ => format!("{}: {error}", path.display()),
    };
    why.into()
}

/// No reader of configuration files accepts a file with such a name.
fn temporary(id: u32, at: usize) -> String {
    format!(".needless-{id}-{at}.tmp")
}

/// Whatever the umask is: what others may write is not believed later.
const PRIVATE: u32 = 0o600;

fn write_out(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut how = File::options();
    let mut file = how.create(true).truncate(true).write(true).mode(PRIVATE).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_dir(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}
