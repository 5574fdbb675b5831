//! A file system as one process sees it: files below its root directory, with symbolic links followed inside that
//! root.

use crate::HostError;
use needless_model::{ProcId, Profile};
use rustix::fs::{self, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

/// The most that is read of one file, bytes. The largest file of the tz database has 110 kB.
const LARGEST: u64 = 1 << 20;

/// An opened root directory.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    /// Whether it is our own: then the kernel resolves paths as for any program. For others openat2 is needed, which
    /// came with Linux 5.6.
    own: bool,
}

impl Root {
    /// The observer's own root.
    ///
    /// # Errors
    /// When / cannot be opened.
    pub fn own() -> std::io::Result<Root> {
        let dir = fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Root { dir, own: true })
    }

    /// The root of another process: `/proc/PID/root` opened (with `O_PATH` at least).
    pub fn of(dir: OwnedFd) -> Root {
        Root { dir, own: false }
    }

    /// Whether it is the directory that we see as `/`, whatever is mounted below it.
    pub fn is_ours(&self) -> bool {
        let id = |stat: fs::Stat| (stat.st_dev, stat.st_ino);
        self.own
            || matches!((fs::fstat(&self.dir), fs::stat("/")), (Ok(a), Ok(b)) if id(a) == id(b))
    }

    /// When the file `path`, or its name, was changed last, in seconds since 1970. A file that was moved into place
    /// counts as changed then.
    pub fn changed(&self, path: &str) -> Option<u64> {
        let stat = fs::fstat(self.find(path, OFlags::PATH).ok()?).ok()?;
        u64::try_from(stat.st_ctime.max(stat.st_mtime)).ok()
    }

    /// The bytes of the regular file `path`, at most 1 MiB.
    ///
    /// # Errors
    /// Those of openat2(2) and read(2); `EISDIR` for a directory, `EINVAL` for any other file that
    /// is not a regular one (a fifo or device is never opened), `EFBIG` above 1 MiB.
    pub fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(Errno::FBIG.into());
        }
        Ok(bytes)
    }

    /// Opens the regular file `path` for reading.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn open(&self, path: &str) -> std::io::Result<File> {
        let found = self.find(path, OFlags::PATH)?;
        match FileType::from_raw_mode(fs::fstat(&found)?.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::INVAL.into()),
        }
        Ok(self.find(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?.into())
    }

    /// Whether `path` is a directory.
    pub fn is_dir(&self, path: &str) -> bool {
        self.find(path, OFlags::PATH | OFlags::DIRECTORY).is_ok()
    }

    /// The text of the symbolic link `path`.
    ///
    /// # Errors
    /// `ENOENT` where it is missing, `EINVAL` where it is not a link, and others of readlinkat(2).
    pub fn read_link(&self, path: &str) -> std::io::Result<String> {
        let link = self.find(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        match FileType::from_raw_mode(fs::fstat(&link)?.st_mode) {
            FileType::Symlink => {}
            _ => return Err(Errno::INVAL.into()),
        }
        let text = fs::readlinkat(&link, "", Vec::new())?;
        Ok(text.to_string_lossy().into_owned())
    }

    /// Names and types of what is in the directory `path`, sorted by name. Names that are not
    /// UTF-8 are left out.
    ///
    /// # Errors
    /// Those of openat2(2) and getdents(2).
    pub fn list(&self, path: &str) -> std::io::Result<Vec<(String, FileType)>> {
        let dir = self.find(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in fs::Dir::new(dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name != "." && name != ".." {
                names.push((name.to_owned(), entry.file_type()));
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    /// Looks `path` up inside the root: absolute links start at it, `..` stops at it.
    fn find(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        if self.own {
            return fs::openat(CWD, path, flags, Mode::empty());
        }
        let found = || fs::openat2(&self.dir, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
        // EAGAIN: something was renamed during the lookup, and the kernel cannot guarantee that ".." stays inside.
        let again = |found: &Result<OwnedFd, Errno>| matches!(found, Err(Errno::AGAIN));
        (0..8).map(|_| found()).find(|found| !again(found)).unwrap_or(Err(Errno::AGAIN))
    }

    /// Whether files below this root can be looked up at all.
    ///
    /// # Errors
    /// What is missing.
    pub fn usable(&self) -> Result<(), HostError> {
        match self.find("/", OFlags::PATH | OFlags::DIRECTORY) {
            Ok(_) => Ok(()),
            Err(Errno::NOSYS) => {
                Err("another root needs openat2, which came with Linux 5.6".into())
            }
            Err(error) => Err(format!("that root cannot be read: {error}").into()),
        }
    }
}

/// The roots of the processes of a profile.
#[derive(Debug)]
pub struct Roots {
    own: Root,
    others: Vec<(ProcId, Root)>,
}

impl Roots {
    /// `others`: the processes whose root or mount namespace is not the observer's, each with its
    /// root opened while it lived.
    ///
    /// # Errors
    /// When our own root cannot be opened.
    pub fn new(others: Vec<(ProcId, OwnedFd)>) -> std::io::Result<Roots> {
        let others = others.into_iter().map(|(id, dir)| (id, Root::of(dir))).collect();
        Ok(Roots { own: Root::own()?, others })
    }

    /// The observer's own.
    pub fn own(&self) -> &Root {
        &self.own
    }

    /// The other roots, each with its process.
    pub fn others(&self) -> impl Iterator<Item = (ProcId, &Root)> {
        self.others.iter().map(|(id, root)| (*id, root))
    }

    /// The root of process `id`, with a number that identifies it; `None` where it is neither our own nor known.
    pub fn of(&self, profile: &Profile, id: ProcId) -> Option<(usize, &Root)> {
        if profile.process(id).shares_root {
            return Some((0, &self.own));
        }
        let known = |id: ProcId| self.others.iter().position(|(of, _)| *of == id);
        let at = known(id).or_else(|| known(profile.image_of(id)))?;
        Some((at + 1, &self.others[at].1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the beginning of a file would be taken for the whole.
    #[test]
    fn of_a_file_that_is_too_long_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::of(File::open(folder.path()).unwrap().into());
        let read = |length: u64| {
            File::create(folder.path().join("zone")).unwrap().set_len(length).unwrap();
            let bytes = root.read("/zone").map_err(|error| error.raw_os_error());
            bytes.map(|bytes| bytes.len() as u64)
        };
        assert_eq!(read(LARGEST), Ok(LARGEST));
        assert_eq!(read(LARGEST + 1), Err(Some(Errno::FBIG.raw_os_error())));
    }
}
