//! A directory of windows that stays small. Each file is there whole or not at all; only files of ours are removed.
//!
//! Ours are regular files with our name and our key in the footer, and they are removed by their name in the directory
//! that is held open.

use crate::file::{AgentWindow, is_window};
use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names begin and end so; between are the microseconds since 1970 at the window's start, and the host.
const BEGINS: &str = "needless-";
const ENDS: &str = ".parquet";
/// A file that is being written: no pattern for `*.parquet` matches it.
const UNFINISHED: &str = ".unfinished-needless-window";

/// How much is kept. The newest file stays in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Bytes of all files.
    pub bytes: u64,
    /// Time since the start of a window.
    pub age: Duration,
}

/// What went wrong with the directory or a file in it: what, and why.
#[derive(Debug)]
pub struct RingError {
    what: String,
    why: Errno,
}

impl RingError {
    pub(crate) fn new(what: &str, path: &Path, why: Errno) -> RingError {
        RingError { what: format!("{what} {}", path.display()), why }
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Errno::WOULDBLOCK => write!(f, "{}: another agent writes there", self.what),
            why => write!(f, "{}: {}", self.what, std::io::Error::from(why)),
        }
    }
}

impl std::error::Error for RingError {}

/// The directory, held open and locked: no other agent writes there, and nobody can put another in its place.
#[derive(Debug)]
pub struct Ring {
    path: PathBuf,
    folder: OwnedFd,
    keep: Keep,
    bytes: u64,
    gave_way: u64,
}

/// A file of ours, by its name.
pub(crate) struct Entry {
    pub(crate) name: String,
    start_us: i64,
    pub(crate) bytes: u64,
}

impl Ring {
    /// Opens a directory, which is made if it is missing (its parent is not), and removes what a killed agent left
    /// unfinished.
    ///
    /// # Errors
    /// When it is no directory, is closed to this user, or another agent has it.
    pub fn open(path: &Path, keep: Keep) -> Result<Ring, RingError> {
        let failed = |what: &'static str| move |why| RingError::new(what, path, why);
        make_folder(path)?;
        let folder = open_folder(path)?;
        fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)
            .map_err(failed("cannot have the directory"))?;
        fs::accessat(&folder, ".", fs::Access::WRITE_OK | fs::Access::EXEC_OK, AtFlags::EACCESS)
            .map_err(failed("cannot write to the directory"))?;
        let mut ring = Ring { path: path.to_owned(), folder, keep, bytes: 0, gave_way: 0 };
        match fs::unlinkat(&ring.folder, UNFINISHED, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(why) => return Err(ring.failed(UNFINISHED)(why)),
        }
        ring.bytes = ring.entries()?.iter().map(|entry| entry.bytes).sum();
        Ok(ring)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Windows that were removed before their time, because the file system had no room for a newer one.
    pub fn gave_way(&self) -> u64 {
        self.gave_way
    }

    /// Moves a window by the microseconds that give it a name of its own. A clock that was set back may come to a start
    /// that another window has.
    pub fn give_name(&self, window: &mut AgentWindow) {
        let is_taken =
            |name: &str| fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        while is_taken(&name_of(window)) {
            window.start_us += 1;
            window.end_us += 1;
        }
    }

    /// Adds a window, and removes the oldest where they are too many. Where the file system is full, as many of the
    /// oldest give way as the window needs: then a full disk costs the windows that are most likely shipped.
    ///
    /// # Errors
    /// When the file cannot be written: there is then none. When an old one cannot be removed.
    pub fn add(&mut self, window: &AgentWindow, bytes: &[u8]) -> Result<(), RingError> {
        let name = name_of(window);
        let mut written = self.put(&name, bytes);
        if matches!(written, Err(Errno::NOSPC | Errno::DQUOT))
            && self.give_way(bytes.len() as u64, window.end_us)?
        {
            written = self.put(&name, bytes);
        }
        written.map_err(self.failed(&name))?;
        self.prune(&name, window.end_us)
    }

    /// Writes a file that is there whole or not at all.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        let written = self.write(bytes).and_then(|()| publish(&self.folder, UNFINISHED, name));
        if written.is_err() {
            // What is left of it would be removed by the next start.
            let _ = fs::unlinkat(&self.folder, UNFINISHED, AtFlags::empty());
        }
        written
    }

    fn failed(&self, name: &str) -> impl FnOnce(Errno) -> RingError + use<> {
        let what = format!("cannot write {}", self.path.join(name).display());
        move |why| RingError { what, why }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o640);
        let mut file = File::from(fs::openat(&self.folder, UNFINISHED, flags, mode)?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn entries(&self) -> Result<Vec<Entry>, RingError> {
        entries(&self.folder, &self.path)
    }

    /// In the order in which they go. Those of a day or more from now on are of a time when the clock was wrong: they
    /// go first, else they would stay for ever and take the room of all others.
    fn going(&self, now_us: i64) -> Result<Vec<Entry>, RingError> {
        const DAY_US: i64 = 86_400_000_000;
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| entry.start_us <= now_us.saturating_add(DAY_US));
        Ok(entries)
    }

    /// Removes files of at least `bytes`, if there are others than the newest. Whether it did.
    fn give_way(&mut self, bytes: u64, now_us: i64) -> Result<bool, RingError> {
        let mut entries = self.going(now_us)?;
        entries.pop();
        let mut freed = 0;
        for entry in entries {
            if freed >= bytes {
                break;
            }
            if self.remove(&entry)? {
                freed += entry.bytes;
                self.gave_way += 1;
            }
        }
        Ok(freed >= bytes)
    }

    fn prune(&mut self, newest: &str, now_us: i64) -> Result<(), RingError> {
        let entries = self.going(now_us)?;
        self.bytes = entries.iter().map(|entry| entry.bytes).sum();
        let age = i64::try_from(self.keep.age.as_micros()).unwrap_or(i64::MAX);
        let oldest = now_us.saturating_sub(age);
        for entry in entries.iter().filter(|entry| entry.name != newest) {
            let is_over = self.bytes > self.keep.bytes || entry.start_us < oldest;
            if is_over && self.remove(entry)? {
                self.bytes -= entry.bytes;
            }
        }
        Ok(())
    }

    /// Removes a file, if it is a window. Whether it was.
    fn remove(&self, entry: &Entry) -> Result<bool, RingError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = fs::openat(&self.folder, &entry.name, flags, Mode::empty()) else {
            return Ok(false);
        };
        if !is_window(file.into()) {
            return Ok(false);
        }
        fs::unlinkat(&self.folder, &entry.name, AtFlags::empty())
            .map_err(self.failed(&entry.name))?;
        Ok(true)
    }
}

/// The name of a window's file.
fn name_of(window: &AgentWindow) -> String {
    format!("{BEGINS}{:016}-{}{ENDS}", window.start_us.max(0), window.host)
}

/// Makes a directory, if it is missing.
pub(crate) fn make_folder(path: &Path) -> Result<(), RingError> {
    match fs::mkdir(path, Mode::from_raw_mode(0o750)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(why) => Err(RingError::new("cannot make the directory", path, why)),
    }
}

pub(crate) fn open_folder(path: &Path) -> Result<OwnedFd, RingError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open(path, flags, Mode::empty())
        .map_err(|why| RingError::new("cannot open the directory", path, why))
}

/// Gives a file that is whole its name, which no other may have.
pub(crate) fn publish(folder: &OwnedFd, unfinished: &str, name: &str) -> Result<(), Errno> {
    match fs::renameat_with(folder, unfinished, folder, name, RenameFlags::NOREPLACE) {
        // A file system that cannot do it at once.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => fs::renameat(folder, unfinished, folder, name)?,
                Ok(_) => return Err(Errno::EXIST),
                Err(why) => return Err(why),
            }
        }
        done => done?,
    }
    fs::fsync(folder)
}

/// The files with our kind of name, oldest first.
pub(crate) fn entries(folder: &OwnedFd, path: &Path) -> Result<Vec<Entry>, RingError> {
    let failed = |why| RingError::new("cannot list", path, why);
    let mut entries = Vec::new();
    for entry in fs::Dir::read_from(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let Some(start_us) = start_of(name) else { continue };
        // One that is no longer there needs no removal.
        let about = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let Ok(about) = about else { continue };
        if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile {
            let bytes = u64::try_from(about.st_size).unwrap_or(0);
            entries.push(Entry { name: name.to_owned(), start_us, bytes });
        }
    }
    entries.sort_by(|one, other| (one.start_us, &one.name).cmp(&(other.start_us, &other.name)));
    Ok(entries)
}

/// The start of the window that a name stands for.
fn start_of(name: &str) -> Option<i64> {
    let (start, host) = name.strip_prefix(BEGINS)?.strip_suffix(ENDS)?.split_once('-')?;
    let digits = start.len() >= 16 && start.bytes().all(|b| b.is_ascii_digit());
    start.parse().ok().filter(|_| digits && !host.is_empty())
}

#[cfg(test)]
mod tests;
