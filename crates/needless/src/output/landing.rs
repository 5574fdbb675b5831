//! Resolves a path that the user named for output, step by step, with the checks that the kernel makes where
//! fs.protected_symlinks, protected_regular and protected_fifos are on, whatever they are set to here.
//!
//! A report file is there whole or not at all, and is never written through what another user put into a shared
//! directory.

use anyhow::{Context, Result, bail};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many links the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;
/// Only owners may remove files in such a directory: /tmp.
const STICKY: u32 = 0o1000;
/// The group or everybody may write.
const SHARED: u32 = 0o022;

/// Where a path leads.
pub(super) enum Landing {
    /// To a regular file, which may not exist yet.
    File(Spot),
    /// To a pipe, a terminal or a device, opened for writing.
    Special(File),
}

/// A name in a directory that is held open, so that no other process can replace the directory.
pub(super) struct Spot {
    folder: OwnedFd,
    name: OsString,
    /// The permissions of the existing file, if it is ours.
    mode: Option<u32>,
}

/// Follows `path`.
///
/// # Errors
/// When it leads nowhere, to a directory, or through an entry that another user made in a shared directory.
pub(super) fn land(path: &Path) -> Result<Landing> {
    let mut walk = Walk {
        folder: directory(None, OsStr::new(if path.is_absolute() { "/" } else { "." }))?,
        walked: PathBuf::from(if path.is_absolute() { "/" } else { "" }),
        left: steps(path),
        promised: None,
        links: 0,
    };
    while let Some(name) = walk.left.pop() {
        let last = walk.left.is_empty();
        walk.walked.push(&name);
        let about = match fs::statat(&walk.folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(Errno::NOENT) if last && walk.promised.is_none() => {
                return Ok(Landing::File(Spot { folder: walk.folder, name, mode: None }));
            }
            Err(Errno::NOENT) if last => bail!("the file that it is open on has been removed"),
            Err(Errno::NOENT) => bail!("there is no directory {}", walk.walked.display()),
            Err(error) => return Err(error.into()),
        };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Symlink => {
                if let Some(landing) = walk.follow(&name, &about)? {
                    return Ok(landing);
                }
            }
            FileType::Directory if last => bail!("it is a directory"),
            FileType::Directory => walk.folder = directory(Some(&walk.folder), &name)?,
            _ if !last => bail!("there is no directory {}", walk.walked.display()),
            FileType::RegularFile => {
                if walk.promised.is_some_and(|file| file != (about.st_dev, about.st_ino)) {
                    bail!("the file that it is open on has been removed");
                }
                ours(&walk.folder, &about)?;
                let own = about.st_uid == rustix::process::geteuid().as_raw();
                let mode = own.then_some(about.st_mode & 0o777);
                return Ok(Landing::File(Spot { folder: walk.folder, name, mode }));
            }
            _ => {
                ours(&walk.folder, &about)?;
                return special(&walk.folder, &name, OFlags::NOFOLLOW);
            }
        }
    }
    bail!("it is a directory")
}

/// A path that is followed, as far as it has been walked.
struct Walk {
    folder: OwnedFd,
    /// The path of that folder, with the name that is looked at.
    walked: PathBuf,
    /// The names that are left, the next one last.
    left: Vec<OsString>,
    /// Device and inode of the file behind a magic link (/proc/self/fd/3). Its name may lead to another file by now.
    promised: Option<(u64, u64)>,
    /// How many links were followed.
    links: usize,
}

impl Walk {
    /// Follows the link `name`. Returns where the path leads, where no other name has to be walked for that.
    fn follow(&mut self, name: &OsStr, about: &Stat) -> Result<Option<Landing>> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        ours(&self.folder, about)?;
        if fs::fstatfs(&self.folder)?.f_type == fs::PROC_SUPER_MAGIC {
            if !self.left.is_empty() {
                self.folder = directory(Some(&self.folder), name)?;
                return Ok(None);
            }
            let seen = fs::statat(&self.folder, name, AtFlags::empty())?;
            match FileType::from_raw_mode(seen.st_mode) {
                FileType::Directory => bail!("it is a directory"),
                FileType::RegularFile => self.promised = Some((seen.st_dev, seen.st_ino)),
                _ => return special(&self.folder, name, OFlags::empty()).map(Some),
            }
        }
        let to = fs::readlinkat(&self.folder, name, Vec::new())?;
        let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
        self.walked.pop();
        if to.is_absolute() {
            self.folder = directory(None, OsStr::new("/"))?;
            self.walked = PathBuf::from("/");
        }
        self.left.extend(steps(&to));
        Ok(None)
    }
}

/// Replaces the file at `path` as a whole.
///
/// # Errors
/// As for [`land`], or when it cannot be written; the old file is then unchanged.
pub(crate) fn replace(path: &Path, text: &[u8]) -> Result<()> {
    let replaced = land(path).and_then(|landing| match landing {
        Landing::File(spot) => spot.replace(text),
        Landing::Special(_) => bail!("it is no regular file"),
    });
    replaced.with_context(|| format!("cannot write {}", path.display()))
}

/// The components of the path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let named = path.components().rev().filter(|step| !matches!(step, Component::RootDir));
    named.map(|step| step.as_os_str().to_owned()).collect()
}

fn directory(from: Option<&OwnedFd>, name: &OsStr) -> Result<OwnedFd> {
    let from = from.map_or(fs::CWD, AsFd::as_fd);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fs::openat(from, name, flags, Mode::empty())?)
}

fn special(folder: &OwnedFd, name: &OsStr, more: OFlags) -> Result<Landing> {
    // NOCTTY: a terminal that is opened does not become our controlling terminal.
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    Ok(Landing::Special(fs::openat(folder, name, flags, Mode::empty())?.into()))
}

/// Refuses what another user made in a directory like /tmp: a link there may lead anywhere, and its owner can read a
/// file or a pipe. Also refuses a file that only its owner can replace.
fn ours(folder: &OwnedFd, entry: &Stat) -> Result<()> {
    let (about, me) = (fs::fstat(folder)?, rustix::process::geteuid().as_raw());
    if about.st_mode & STICKY == 0 || entry.st_uid == me {
        return Ok(());
    }
    let (owner, what) = (entry.st_uid, FileType::from_raw_mode(entry.st_mode));
    let theirs = about.st_mode & SHARED != 0 && owner != about.st_uid;
    let fixed = what == FileType::RegularFile && me != 0 && about.st_uid != me;
    if !theirs && !fixed {
        return Ok(());
    }
    let what = if what == FileType::Symlink { "link" } else { "file" };
    bail!(
        "it is a {what} of user {owner}, in a directory where only owners can replace files: \
         name another file"
    )
}

impl Spot {
    /// Checks that a file can be created there. It is removed at once, so that a run that is killed leaves
    /// no file.
    ///
    /// # Errors
    /// When no file can be created.
    pub(super) fn check(&self) -> Result<()> {
        self.beside().map(drop)
    }

    /// Replaces the file by one with `text`. A file of ours keeps its permissions; a file of another user is replaced
    /// by one of ours.
    ///
    /// # Errors
    /// When it cannot be written; the old file is then unchanged.
    pub(super) fn replace(&self, text: &[u8]) -> Result<()> {
        let mut new = self.beside()?;
        new.file.write_all(text)?;
        if let Some(mode) = self.mode {
            new.file.set_permissions(Permissions::from_mode(mode))?;
        }
        new.file.sync_all()?;
        fs::renameat(&self.folder, &new.name, &self.folder, &self.name)?;
        new.stays = true;
        Ok(())
    }

    /// A new file in the same directory.
    fn beside(&self) -> Result<New<'_>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // As for any new file; the kernel applies the umask.
        let mode = Mode::from_raw_mode(0o666);
        let mut tries = 0..100;
        loop {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!(".needless-{}-{:09}.tmp", std::process::id(), clock.subsec_nanos());
            match fs::openat(&self.folder, &name, flags, mode) {
                Ok(file) => {
                    return Ok(New { folder: &self.folder, name, file: file.into(), stays: false });
                }
                // Another user who guesses the name can take it, but not every next one.
                Err(Errno::EXIST) if tries.next().is_some() => {}
                Err(error) => {
                    let error = std::io::Error::from(error);
                    return Err(error).context("no file can be created in its directory");
                }
            }
        }
    }
}

/// A file that is removed unless it got its final name.
struct New<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    stays: bool,
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if !self.stays {
            // An error means that somebody removed it.
            let _ = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}
