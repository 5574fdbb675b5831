//! Files, replaced as a whole and never through a link. All that is written to the host goes through here, but for the
//! tables of users, which crontab(1) writes.

mod attributes;
mod managed;
mod time;
mod walk;

use crate::census::Census;
use crate::crontab;
use crate::error::EnvironmentError;
use crate::others_write::is_open_to_others;
pub use attributes::FileAttributes;
use attributes::attributes;
pub(crate) use managed::managed_by;
use rustix::fs::{
    self, AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, XattrFlags,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::OnceLock;
pub(crate) use time::Modified;
use walk::{PathRefused, explain, owner_and_remedy};

/// The largest file that is changed, bytes: configuration is small.
const LARGEST: u64 = 1 << 20;
/// The same for locales and their archive, which holds all of them.
pub(crate) const LARGEST_LOCALE: u64 = 64 << 20;

fn largest(path: &str) -> u64 {
    if path.starts_with("/usr/lib/locale/") { LARGEST_LOCALE } else { LARGEST }
}

/// A file as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Everything else that is kept.
    pub about: FileAttributes,
}

/// The file system below a directory: `/`, or a folder in a test.
#[derive(Debug)]
pub struct Disk {
    root: OwnedFd,
    /// Who may own a file that is changed, besides root.
    user: u32,
    /// Another user who may own it.
    other: Option<u32>,
    /// Whether nothing is to be written: then a file may be another's, or another tool's.
    only_reads: bool,
    /// Whether it is this machine's: other programs can be asked about its files.
    is_host: bool,
    /// The services of this machine, once they were asked for.
    census: OnceLock<Census>,
}

impl Disk {
    /// Below `root`, as this process's user.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub fn at(root: &Path) -> std::io::Result<Disk> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(root, flags, Mode::empty())?;
        let id = |about: fs::Stat| (about.st_dev, about.st_ino);
        let is_host = id(fs::fstat(&root)?) == id(fs::stat("/")?);
        let user = rustix::process::geteuid().as_raw();
        let census = OnceLock::new();
        Ok(Disk { root, user, other: None, only_reads: false, is_host, census })
    }

    /// The same, for a change that is not written here.
    ///
    /// # Errors
    /// When no file descriptor is left.
    pub fn that_only_reads(&self) -> Result<Disk, EnvironmentError> {
        Ok(Disk { only_reads: true, ..self.of_owner(self.other)? })
    }

    /// The same, but a file and its directory may also belong to `owner`: a daemon's configuration that belongs to
    /// the daemon's user.
    ///
    /// # Errors
    /// When no file descriptor is left.
    pub fn of_owner(&self, owner: Option<u32>) -> Result<Disk, EnvironmentError> {
        let root = self.root.try_clone().map_err(|error| error.to_string())?;
        let census = OnceLock::new();
        let Disk { user, only_reads, is_host, .. } = *self;
        Ok(Disk { root, user, other: owner, only_reads, is_host, census })
    }

    /// Whether it is this machine's.
    pub(crate) fn is_host(&self) -> bool {
        self.is_host
    }

    /// Who reads files of this machine; `None` where these are not its files.
    pub(crate) fn census(&self) -> Option<&Census> {
        self.is_host.then(|| self.census.get_or_init(Census::of_this_machine))
    }

    /// Reads the file `path` if a tool may change it; `None` where there is none yet.
    ///
    /// # Errors
    /// With what to do instead: a link in the path, a file of another user, a file that others may write, a second
    /// name of the same file, the mark of a tool that manages it.
    pub fn read_for_change(&self, path: &str) -> Result<Option<ExistingFile>, EnvironmentError> {
        let refuse = |why: &str| Err(format!("{path}: {why}").into());
        if let Some(user) = crontab::user_of(path).filter(|_| self.is_host) {
            return self.read_table(path, user);
        }
        let parent =
            if self.only_reads { self.parent(path, None) } else { self.checked_parent(path) };
        let (parent, name) = match parent {
            Ok(found) => found,
            // Missing directories would be made in the last one that exists.
            Err(PathRefused::Missing) => return Ok(None),
            Err(other) => return refuse(&other.reason()),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match fs::openat(&parent, &name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                let to = fs::readlinkat(&parent, &name, Vec::new()).unwrap_or_default();
                let to = to.to_string_lossy();
                return refuse(&if to.starts_with("/nix/") || to.starts_with("/etc/static") {
                    "made by NixOS: set it in the system's configuration \
                             (systemd.services.NAME.environment, environment.variables)"
                        .to_owned()
                } else {
                    format!("a link to {to}: links are not followed, so name that file")
                });
            }
            Err(error) => return refuse(&error.to_string()),
        };
        let about = fs::fstat(&file).map_err(|error| format!("{path}: {error}"))?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return refuse("not a regular file");
        }
        let own = self.only_reads || about.st_uid == self.user;
        if !own && Some(about.st_uid) != self.other {
            return refuse(&format!("it belongs to {}", owner_and_remedy(about.st_uid)));
        }
        if !self.only_reads && is_open_to_others(&file, &about) {
            return refuse("others may write it: fix that first (chmod go-w)");
        }
        if about.st_nlink > 1 && !self.only_reads {
            return refuse("it has a second name (hard link), which would keep the old text");
        }
        let mut bytes = Vec::new();
        let read = (&mut file).take(largest(path) + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("{path}: {error}"))?;
        if bytes.len() as u64 > largest(path) {
            let most = largest(path) >> 20;
            return refuse(&format!("too large to change: more than {most} MiB"));
        }
        self.check_managed(path, &bytes)?;
        let about = FileAttributes {
            mode: about.st_mode & 0o7777,
            owner: Some((about.st_uid, about.st_gid)),
            attributes: attributes(&file).map_err(|error| format!("{path}: {error}"))?,
            link: false,
            crontab: None,
            modified: Some((about.st_mtime as i64, about.st_mtime_nsec as i64)),
        };
        Ok(Some(ExistingFile { bytes, about }))
    }

    /// Refuses a file that another tool manages, unless nothing is to be written.
    fn check_managed(&self, path: &str, bytes: &[u8]) -> Result<(), EnvironmentError> {
        let Some(tool) = managed_by(bytes).filter(|_| !self.only_reads) else { return Ok(()) };
        let how = if tool == "Ansible" { " (--format ansible prints it)" } else { "" };
        Err(format!(
            "{path}: managed by {tool}, which would undo a change: make the change there{how}"
        )
        .into())
    }

    /// The same for the table of a user, which crontab(1) reads and writes.
    fn read_table(&self, path: &str, user: &str) -> Result<Option<ExistingFile>, EnvironmentError> {
        let bytes = crontab::read(user).map_err(|why| format!("{path}: {why}"))?;
        let Some(bytes) = bytes else { return Ok(None) };
        self.check_managed(path, &bytes)?;
        let about = FileAttributes { crontab: Some(user.to_owned()), ..FileAttributes::default() };
        Ok(Some(ExistingFile { bytes, about }))
    }

    /// Checks that a file which a change wrote may be written again: whoever `owned` it then still does, and no other
    /// user can have replaced it or its directory. `link`: the change put a link there. Returns its permissions, owner and
    /// attributes as they are now; `None` where there is no file, and for a link.
    ///
    /// # Errors
    /// As of [`Disk::read_for_change`].
    pub(crate) fn check_again(
        &self,
        path: &str,
        link: bool,
        owned: Option<u32>,
    ) -> Result<Option<FileAttributes>, EnvironmentError> {
        let disk = self.of_owner(owned)?;
        if !link {
            return Ok(disk.read_for_change(path)?.map(|now| now.about));
        }
        match disk.checked_parent(path) {
            Ok(_) | Err(PathRefused::Missing) => Ok(None),
            Err(other) => Err(format!("{path}: {}", other.reason()).into()),
        }
    }

    /// The bytes of any file; `None` where it is missing. `link`: we put a link there; then its target.
    pub(crate) fn bytes(&self, path: &str, link: bool) -> std::io::Result<Option<Vec<u8>>> {
        let (parent, name) = match self.parent(path, None) {
            Ok(found) => found,
            Err(PathRefused::Missing) => return Ok(None),
            Err(other) => return Err(std::io::Error::other(other.reason())),
        };
        if link {
            return match fs::readlinkat(&parent, &name, Vec::new()) {
                Ok(to) => Ok(Some(to.into_bytes())),
                Err(Errno::NOENT) => Ok(None),
                // No longer a link: it is another's file, and equal to nothing of ours.
                Err(Errno::INVAL) => Ok(Some(vec![0])),
                Err(error) => Err(error.into()),
            };
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match fs::openat(&parent, &name, flags, Mode::empty()) {
            Ok(file) => {
                let (file, mut bytes) = (File::from(file), Vec::new());
                if !file.metadata()?.is_file() {
                    return Err(std::io::Error::other("it is no longer a regular file"));
                }
                file.take(largest(path) + 1).read_to_end(&mut bytes)?;
                Ok(Some(bytes))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => {
                Err(std::io::Error::other("it is a link now, which is not followed"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The directories that would have to be made for `path`, outermost first.
    pub(crate) fn missing(&self, path: &str) -> Vec<String> {
        let mut missing = Vec::new();
        let mut at = Path::new(path).parent();
        while let Some(dir) = at.filter(|dir| *dir != Path::new("/") && *dir != Path::new("")) {
            let inside = dir.join(".");
            if !matches!(
                self.parent(&inside.join("x").to_string_lossy(), None),
                Err(PathRefused::Missing)
            ) {
                break;
            }
            missing.push(dir.to_string_lossy().into_owned());
            at = dir.parent();
        }
        missing.reverse();
        missing
    }

    /// Replaces `path` by `bytes`, whole or not at all: writes a file beside it, flushes it and renames it.
    /// `temporary`: that file's name. `new`: no file may exist yet.
    pub(crate) fn write(
        &self,
        path: &str,
        bytes: &[u8],
        about: &FileAttributes,
        temporary: &str,
        new: bool,
    ) -> Result<(), EnvironmentError> {
        let refuse = |error: Errno| format!("{path}: {}", explain(error));
        let (parent, name) =
            self.parent(path, Some(0o755)).map_err(|why| format!("{path}: {}", why.reason()))?;
        // A killed run may have left a file of ours under that name.
        let _ = fs::unlinkat(&parent, temporary, AtFlags::empty());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let filled = || -> std::io::Result<()> {
            if about.link {
                return Ok(fs::symlinkat(bytes, &parent, temporary)?);
            }
            let file = fs::openat(&parent, temporary, flags, Mode::from(0o600))?;
            let mut file = File::from(file);
            file.write_all(bytes)?;
            if let Some((uid, gid)) = about.owner {
                // The number that chown(2) takes for "leave it".
                if uid == u32::MAX || gid == u32::MAX {
                    return Err(Errno::INVAL.into());
                }
                let (uid, gid) = (fs::Uid::from_raw(uid), fs::Gid::from_raw(gid));
                fs::fchown(&file, Some(uid), Some(gid))?;
            }
            for (name, value) in &about.attributes {
                fs::fsetxattr(&file, name.as_str(), value, XattrFlags::empty())?;
            }
            fs::fchmod(&file, Mode::from(about.mode))?;
            if let Some((tv_sec, tv_nsec)) = about.modified {
                let omit = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
                let last_modification = Timespec { tv_sec, tv_nsec };
                fs::futimens(&file, &Timestamps { last_access: omit, last_modification })?;
            }
            file.sync_all()
        }();
        let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let moved = filled.map_err(|error| refuse(errno(error))).and_then(|()| {
            let flags = if new { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
            match fs::renameat_with(&parent, temporary, &parent, &name, flags) {
                // A file system without that flag: the lock and the check before must suffice.
                Err(Errno::INVAL) if new => fs::renameat(&parent, temporary, &parent, &name),
                other => other,
            }
            .map_err(refuse)
        });
        if moved.is_err() {
            let _ = fs::unlinkat(&parent, temporary, AtFlags::empty());
        }
        moved?;
        Ok(sync(&parent).map_err(refuse)?)
    }

    /// Removes the file `path` if it exists.
    pub(crate) fn remove(&self, path: &str) -> Result<(), EnvironmentError> {
        let (parent, name) = match self.parent(path, None) {
            Ok(found) => found,
            Err(PathRefused::Missing) => return Ok(()),
            Err(other) => return Err(format!("{path}: {}", other.reason()).into()),
        };
        match fs::unlinkat(&parent, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(format!("{path}: {}", explain(error)).into()),
        }
        Ok(sync(&parent).map_err(|error| format!("{path}: {error}"))?)
    }

    /// Removes the directory `path` if it is empty.
    pub(crate) fn remove_empty_dir(&self, path: &str) {
        if let Ok((parent, name)) = self.parent(path, None) {
            // If it is not empty, another program put something there, and it stays.
            let _ = fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
            let _ = sync(&parent);
        }
    }
}

/// Flushes a directory, if its file system can.
fn sync(dir: &OwnedFd) -> Result<(), Errno> {
    // O_PATH descriptors cannot be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match fs::openat(dir, ".", flags, Mode::empty()).and_then(|dir| fs::fsync(&dir)) {
        Err(Errno::INVAL | Errno::ACCESS) => Ok(()),
        other => other,
    }
}
