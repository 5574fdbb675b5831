//! Where a path leads that the user named for us to write: followed step by step, as the kernel does it where
//! fs.protected_symlinks, protected_regular and protected_fifos are on, whatever they are set to here.

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

/// As many links as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;
/// Files there are removed by their owners only: /tmp.
const STICKY: u32 = 0o1000;
/// Written by the group or by everybody.
const SHARED: u32 = 0o022;

/// Where a path leads.
pub(super) enum Landing {
    /// To a regular file, or to none yet.
    File(Spot),
    /// To a pipe, a terminal or a device, opened for writing.
    Special(File),
}

/// A name in a directory that is held open: nobody can put another directory in its place.
pub(super) struct Spot {
    folder: OwnedFd,
    name: OsString,
    /// The permissions of the file that is there, if it is our own.
    mode: Option<u32>,
}

/// Follows `path`.
///
/// # Errors
/// When it leads nowhere, to a directory, or through what somebody else put into a shared directory.
pub(super) fn land(path: &Path) -> Result<Landing> {
    let mut folder = directory(None, OsStr::new(if path.is_absolute() { "/" } else { "." }))?;
    let mut left = steps(path);
    let mut walked = PathBuf::from(if path.is_absolute() { "/" } else { "" });
    // What one of the kernel's own links (/proc/self/fd/3) leads to, whatever has its name by now.
    let mut promised: Option<(u64, u64)> = None;
    let mut links = 0;
    while let Some(name) = left.pop() {
        let last = left.is_empty();
        walked.push(&name);
        let about = match fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(Errno::NOENT) if last && promised.is_none() => {
                return Ok(Landing::File(Spot { folder, name, mode: None }));
            }
            Err(Errno::NOENT) if last => bail!("the file that it is open on has been removed"),
            Err(Errno::NOENT) => bail!("there is no directory {}", walked.display()),
            Err(error) => return Err(error.into()),
        };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Symlink => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                ours(&folder, &about)?;
                if fs::fstatfs(&folder)?.f_type == fs::PROC_SUPER_MAGIC {
                    if !last {
                        folder = directory(Some(&folder), &name)?;
                        continue;
                    }
                    let seen = fs::statat(&folder, &name, AtFlags::empty())?;
                    match FileType::from_raw_mode(seen.st_mode) {
                        FileType::Directory => bail!("it is a directory"),
                        FileType::RegularFile => promised = Some((seen.st_dev, seen.st_ino)),
                        _ => return special(&folder, &name, OFlags::empty()),
                    }
                }
                let to = fs::readlinkat(&folder, &name, Vec::new())?;
                let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
                walked.pop();
                if to.is_absolute() {
                    folder = directory(None, OsStr::new("/"))?;
                    walked = PathBuf::from("/");
                }
                left.extend(steps(&to));
            }
            FileType::Directory if last => bail!("it is a directory"),
            FileType::Directory => folder = directory(Some(&folder), &name)?,
            _ if !last => bail!("there is no directory {}", walked.display()),
            FileType::RegularFile => {
                if promised.is_some_and(|file| file != (about.st_dev, about.st_ino)) {
                    bail!("the file that it is open on has been removed");
                }
                ours(&folder, &about)?;
                let own = about.st_uid == rustix::process::geteuid().as_raw();
                let mode = own.then_some(about.st_mode & 0o777);
                return Ok(Landing::File(Spot { folder, name, mode }));
            }
            _ => {
                ours(&folder, &about)?;
                return special(&folder, &name, OFlags::NOFOLLOW);
            }
        }
    }
    bail!("it is a directory")
}

/// The names on the way, the first one last.
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
    // A terminal that is opened does not become ours.
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    Ok(Landing::Special(fs::openat(folder, name, flags, Mode::empty())?.into()))
}

/// Refuses what another user made in a directory like /tmp: a link there may lead anywhere, a file or a pipe
/// is theirs to read. Also a file that we could not replace in the end: there, only its owner does.
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
        "there is a {what} of user {owner}, in a directory where only owners replace what they made: \
         name another file"
    )
}

impl Spot {
    /// Looks whether a file can be made there. It is removed at once: a run that is killed leaves
    /// nothing behind.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn check(&self) -> Result<()> {
        self.beside().map(drop)
    }

    /// Puts `text` there as a whole. A file of ours keeps its permissions; in the place of somebody
    /// else's there is then a new one.
    ///
    /// # Errors
    /// When it cannot be written; what was there is there still.
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
        // What a plain creation would give, the umask applied by the kernel.
        let mode = Mode::from_raw_mode(0o666);
        let mut tries = 0..100;
        loop {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!(".needless-{}-{:09}.tmp", std::process::id(), clock.subsec_nanos());
            match fs::openat(&self.folder, &name, flags, mode) {
                Ok(file) => {
                    return Ok(New { folder: &self.folder, name, file: file.into(), stays: false });
                }
                // Who knows the name in advance can take it, but not each of the next ones.
                Err(Errno::EXIST) if tries.next().is_some() => {}
                Err(error) => {
                    let kind = std::io::Error::from(error).kind();
                    return Err(error)
                        .with_context(|| format!("no file can be made in its directory ({kind})"));
                }
            }
        }
    }
}

/// A file that vanishes unless it has got its name.
struct New<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    stays: bool,
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if !self.stays {
            // Somebody else removed it, then.
            let _ = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}
