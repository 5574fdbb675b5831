//! Zone files, looked at and read with the system calls that glibc makes for the same: newfstatat, openat,
//! read, close. A program that forbids itself others loses nothing.

use crate::imports::syscall;
use core::ffi::CStr;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: i64 = 0;
    pub(super) const CLOSE: i64 = 3;
    pub(super) const OPENAT: i64 = 257;
    pub(super) const NEWFSTATAT: i64 = 262;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const READ: i64 = 63;
    pub(super) const CLOSE: i64 = 57;
    pub(super) const OPENAT: i64 = 56;
    pub(super) const NEWFSTATAT: i64 = 79;
}
#[cfg(target_arch = "powerpc64")]
mod number {
    pub(super) const READ: i64 = 3;
    pub(super) const CLOSE: i64 = 6;
    pub(super) const OPENAT: i64 = 286;
    pub(super) const NEWFSTATAT: i64 = 291;
}

const AT_FDCWD: usize = -100isize as usize;

/// The kernel's `struct stat`, in words: on the three architectures above device, inode, size and
/// times have the same places (asm/stat.h); 18 words are the longest of them.
#[derive(Clone, Copy)]
pub(crate) struct Stat([u64; 18]);

/// What tells one state of a file from another: device, inode, size and times of change, folded into one
/// word, so that it is read and written whole. Two states look alike by chance once in 2^63.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(pub(crate) u64);

impl FileId {
    /// There is no file, or it cannot be asked for.
    pub(crate) const NONE: FileId = FileId(0);

    /// Of the file that a path names.
    pub(crate) fn of(path: &CStr) -> FileId {
        Stat::of(AT_FDCWD, path, 0).map_or(FileId::NONE, |stat| stat.id())
    }
}

impl Stat {
    /// Of the file that the path names, from the directory on.
    fn of(directory: usize, path: &CStr, flags: usize) -> Option<Stat> {
        let mut stat = Stat([0; 18]);
        // SAFETY: the path ends with a NUL, `stat` has room for the structure.
        let done = unsafe {
            syscall(
                number::NEWFSTATAT,
                [directory, path.as_ptr() as usize, (&raw mut stat) as usize, flags, 0, 0],
            )
        };
        (done == 0).then_some(stat)
    }

    fn id(&self) -> FileId {
        let stat = &self.0;
        let words = [stat[0], stat[1], stat[6], stat[11], stat[12], stat[13], stat[14]];
        let folded = words.into_iter().fold(0u64, |folded, word| {
            let mixed = (folded ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 32
        });
        FileId(folded | 1)
    }

    fn size(&self) -> usize {
        self.0[6] as usize
    }
}

/// A file, open for as long as it is read.
pub(crate) struct Opened(usize);

impl Opened {
    pub(crate) fn new(path: &CStr) -> Option<Opened> {
        const O_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
        // SAFETY: `path` ends with a NUL.
        let fd = unsafe {
            syscall(number::OPENAT, [AT_FDCWD, path.as_ptr() as usize, O_NONBLOCK_CLOEXEC, 0, 0, 0])
        };
        usize::try_from(fd).ok().map(Opened)
    }

    /// Reads the file, which must be shorter than the buffer: its identity, and its length.
    pub(crate) fn read(self, buffer: &mut [u8]) -> Option<(FileId, usize)> {
        const AT_EMPTY_PATH: usize = 0x1000;
        let stat = Stat::of(self.0, c"", AT_EMPTY_PATH)?;
        let mut len = 0;
        // A file that says how long it is needs no second look for its end.
        while len == 0 || len != stat.size() {
            let room = buffer.get_mut(len..).filter(|room| !room.is_empty())?;
            // SAFETY: the kernel writes at most `room.len()` bytes there.
            let got = unsafe {
                syscall(number::READ, [self.0, room.as_mut_ptr() as usize, room.len(), 0, 0, 0])
            };
            match usize::try_from(got).ok()? {
                0 => break,
                got => len += got,
            }
        }
        (len < buffer.len()).then(|| (stat.id(), len))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { syscall(number::CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}
