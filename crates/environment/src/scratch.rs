//! What other programs build or read for a moment: a temporary directory, a text in memory.

use rustix::fs::{FlockOperation, MemfdFlags, Mode, fchmod, flock, memfd_create};
use std::fs::{DirBuilder, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How the names of such directories begin.
const PREFIX: &str = "needless-";

/// A temporary directory, removed when dropped. One that a killed run left is removed by the next run: it is locked as
/// long as its run lives.
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a directory in it, with its parents.
    pub(crate) fn make(&self, path: &str) -> io::Result<PathBuf> {
        let dir = self.path.join(path);
        std::fs::create_dir_all(&dir).map(|()| dir)
    }

    /// Writes a file in it.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        std::fs::write(self.path.join(path), bytes)
    }

    /// Makes a link in it.
    pub(crate) fn link(&self, path: &Path, to: &str) -> io::Result<()> {
        std::os::unix::fs::symlink(to, self.path.join(path))
    }

    pub(crate) fn new() -> io::Result<Scratch> {
        Scratch::below(&std::env::temp_dir())
    }

    fn below(folder: &Path) -> io::Result<Scratch> {
        remove_abandoned(folder);
        let mut error = None;
        for n in 0..64 {
            let path = folder.join(format!("{PREFIX}{}-{n}", std::process::id()));
            // Fails where the name is taken, by anybody: then the next name is tried.
            let made = DirBuilder::new().mode(0o700).create(&path).and_then(|()| locked(&path));
            match made {
                Ok(lock) => return Ok(Scratch { path, _lock: lock }),
                Err(why) => error = Some(why),
            }
        }
        Err(error.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
    }
}

/// The text in memory. The file may hold secrets, and a copy on a disk would outlive a run that is killed.
pub(crate) fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("needless", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    // visudo refuses files that others can read.
    fchmod(&file, Mode::from(0o440))?;
    Ok(file)
}

/// The directory, opened and locked; fails where another process has it locked.
fn locked(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Removes our directories whose run has ended. Nothing depends on it.
fn remove_abandoned(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mut numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).into_iter();
        let mut numbers = numbers.by_ref().flat_map(|rest| rest.split('-'));
        let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
        let named = is_number(numbers.next()) && is_number(numbers.next());
        // Of the entry itself: a link is not followed.
        let ours = |about: std::fs::Metadata| {
            let me = rustix::process::geteuid().as_raw();
            about.is_dir() && about.uid() == me && about.mode() & 0o7777 == 0o700
        };
        if named && numbers.next().is_none() && entry.metadata().is_ok_and(ours) {
            // Its run may be about to lock it; then creating something in it fails, and that run says so.
            if let Ok(_lock) = locked(&entry.path()) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next run removes what stays.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_what_another_uses_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let make = |name: &str, mode| DirBuilder::new().mode(mode).create(at(name)).unwrap();
        make("needless-4194999-0", 0o700);
        std::fs::write(at("needless-4194999-0/checked"), "secret").unwrap();
        make("needless-4194998-0", 0o700);
        let used = locked(&at("needless-4194998-0")).unwrap();
        for other in ["needless-x-0", "needless-1-2-3", "needless-9"] {
            make(other, 0o700);
        }
        make("needless-4194997-0", 0o755);
        std::os::unix::fs::symlink(at("needless-x-0"), at("needless-4194996-0")).unwrap();
        let scratch = Scratch::below(folder.path()).unwrap();
        assert!(!at("needless-4194999-0").exists());
        for kept in [
            "needless-4194998-0",
            "needless-4194997-0",
            "needless-x-0",
            "needless-1-2-3",
            "needless-9",
        ] {
            assert!(at(kept).exists(), "{kept}");
        }
        drop(used);
        drop(Scratch::below(folder.path()).unwrap());
        assert!(!at("needless-4194998-0").exists() && scratch.path().exists());
    }
}
