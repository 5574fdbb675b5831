//! The time of a directory: a file that is replaced changes it, and undoing that puts it back.

use super::Disk;
use rustix::fs::{self, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// When a directory was last changed: seconds and nanoseconds since 1970.
pub(crate) type Modified = (i64, i64);

impl Disk {
    /// When the directory `path` was last changed; `None` where it cannot be read.
    pub(crate) fn dir_modified(&self, path: &str) -> Option<Modified> {
        let about = fs::fstat(&self.dir(path).ok()?).ok()?;
        Some((about.st_mtime as i64, about.st_mtime_nsec as i64))
    }

    /// Puts the time of the directory `path` back. Nothing depends on it: it stays where the directory is not ours.
    pub(crate) fn set_dir_modified(&self, path: &str, (tv_sec, tv_nsec): Modified) {
        if let Ok(dir) = self.dir(path) {
            let last_access = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
            let last_modification = Timespec { tv_sec, tv_nsec };
            let _ = fs::futimens(&dir, &Timestamps { last_access, last_modification });
        }
    }

    pub(super) fn dir(&self, path: &str) -> Result<OwnedFd, Errno> {
        let inside = Path::new(path).join("x");
        let (dir, _) = self.parent(&inside.to_string_lossy(), None).map_err(|_| Errno::NOENT)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        fs::openat(&dir, ".", flags, Mode::empty())
    }
}
