//! The way to a file: each directory from / on, opened without following a link, and whose it is.

use super::{Disk, sync};
use crate::error::EnvironmentError;
use crate::others_write::is_open_to_others;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

impl Disk {
    /// The directory of `path`, opened step by step so that no link is followed, and the file's name. `make`:
    /// permissions of directories to create where they are missing.
    pub(super) fn parent(
        &self,
        path: &str,
        make: Option<u32>,
    ) -> Result<(OwnedFd, PathBuf), PathRefused> {
        self.walk(path, make, |_, _| Ok(()))
    }

    /// The same, where no other user can replace the file or one of the directories above it.
    pub(super) fn checked_parent(&self, path: &str) -> Result<(OwnedFd, PathBuf), PathRefused> {
        self.walk(path, None, |dir, part| {
            self.check_dir(dir, part).map_err(|why| PathRefused::Open(why.to_string()))
        })
    }

    /// Opens the directories of `path` one in the other; `check` gets each, with its path.
    pub(super) fn walk(
        &self,
        path: &str,
        make: Option<u32>,
        check: impl Fn(&OwnedFd, &Path) -> Result<(), PathRefused>,
    ) -> Result<(OwnedFd, PathBuf), PathRefused> {
        let path = Path::new(path);
        let Some(name) = path.file_name() else { return Err(PathRefused::NoName) };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut dir = fs::openat(&self.root, ".", flags, Mode::empty())?;
        let mut so_far = PathBuf::from("/");
        check(&dir, &so_far)?;
        for part in path.parent().unwrap_or(Path::new("")).components() {
            let part = match part {
                Component::RootDir | Component::CurDir => continue,
                Component::Normal(part) => part,
                _ => return Err(PathRefused::NoName),
            };
            dir = match fs::openat(&dir, part, flags, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => {
                    let Some(mode) = make else { return Err(PathRefused::Missing) };
                    fs::mkdirat(&dir, part, Mode::from(mode))?;
                    let next = fs::openat(&dir, part, flags, Mode::empty())?;
                    sync(&dir)?;
                    next
                }
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    return Err(PathRefused::Link(part.to_string_lossy().into_owned()));
                }
                Err(error) => return Err(error.into()),
            };
            so_far.push(part);
            check(&dir, &so_far)?;
        }
        Ok((dir, name.into()))
    }

    /// Whether a directory above the file `path` keeps everybody out but its owner and its group.
    pub(crate) fn is_hidden(&self, path: &str) -> bool {
        let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let closed = |dir| fs::fstat(self.dir(dir).ok()?).ok().map(|about| about.st_mode & 1 == 0);
        above.filter_map(closed).any(|closed| closed)
    }

    /// Refuses a directory in which another user could replace a file.
    pub(super) fn check_dir(&self, dir: &OwnedFd, path: &Path) -> Result<(), EnvironmentError> {
        let about = fs::fstat(dir).map_err(|error| error.to_string())?;
        let known = [Some(self.user), Some(0), self.other].contains(&Some(about.st_uid));
        let path = path.display();
        if !known {
            let owner = owner_and_remedy(about.st_uid);
            return Err(format!("its directory {path} belongs to {owner}").into());
        }
        if about.st_mode & 0o1000 == 0 && is_open_to_others(dir, &about) {
            return Err(format!("others may write to its directory {path}: fix that first").into());
        }
        Ok(())
    }
}

/// Why a path is refused.
pub(super) enum PathRefused {
    /// A directory is missing.
    Missing,
    /// Another user could replace the file; holds why.
    Open(String),
    NoName,
    Link(String),
    Other(Errno),
}

impl PathRefused {
    pub(super) fn reason(&self) -> String {
        match self {
            PathRefused::Missing => "there is no such directory".into(),
            PathRefused::NoName => "that is not a path of a file".into(),
            PathRefused::Link(part) => {
                format!("{part} in the path is a link, which is not followed")
            }
            PathRefused::Open(why) => why.clone(),
            PathRefused::Other(error) => explain(*error),
        }
    }
}

impl From<Errno> for PathRefused {
    fn from(error: Errno) -> PathRefused {
        PathRefused::Other(error)
    }
}

/// What an error means for a configuration file.
pub(super) fn explain(error: Errno) -> String {
    match error {
        Errno::ROFS => "the file system is read-only: change the system's image".into(),
        Errno::BUSY => {
            "it is a mount (of a container?): change the file that is mounted there".into()
        }
        Errno::PERM => "not permitted: it may be marked immutable (lsattr)".into(),
        Errno::ACCESS if rustix::process::geteuid().is_root() => {
            "permission denied to root: a security module or a user namespace forbids it".into()
        }
        Errno::ACCESS => "permission denied: run this with sudo".into(),
        other => other.to_string(),
    }
}

/// The owner of a file that is not ours, and what to do.
pub(super) fn owner_and_remedy(uid: u32) -> String {
    match uid {
        0 => "root: run this with sudo".to_owned(),
        uid => format!("user {uid}: ask them"),
    }
}
