//! Reads zone files with the system calls that glibc uses for it: openat, read, close, newfstatat of a path, and fstat or
//! newfstatat of the open file. A seccomp filter that suits glibc suits this library.

use crate::imports::{glibc_minor, syscall};
use core::ffi::CStr;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: i64 = 0;
    pub(super) const CLOSE: i64 = 3;
    pub(super) const OPENAT: i64 = 257;
    pub(super) const NEWFSTATAT: i64 = 262;
    pub(super) const FSTAT: i64 = 5;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const READ: i64 = 63;
    pub(super) const CLOSE: i64 = 57;
    pub(super) const OPENAT: i64 = 56;
    pub(super) const NEWFSTATAT: i64 = 79;
    pub(super) const FSTAT: i64 = 80;
}
#[cfg(target_arch = "powerpc64")]
mod number {
    pub(super) const READ: i64 = 3;
    pub(super) const CLOSE: i64 = 6;
    pub(super) const OPENAT: i64 = 286;
    pub(super) const NEWFSTATAT: i64 = 291;
    pub(super) const FSTAT: i64 = 108;
}

const AT_FDCWD: usize = -100isize as usize;

/// The kernel's `struct stat`, in words. On the three architectures above device, inode, size and times are at the
/// same offsets (asm/stat.h), and none is longer than 18 words.
#[derive(Clone, Copy)]
pub(crate) struct Stat([u64; 18]);

/// Identifies one state of a file: a hash of device, inode, size and times of change in one word, so that it can be
/// read and written atomically. Two states have the same hash by chance once in 2^63.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(pub(crate) u64);

impl FileId {
    /// There is no such file, or fstatat(2) failed.
    pub(crate) const NONE: FileId = FileId(0);

    /// The state of the file at `path`.
    pub(crate) fn of(path: &CStr) -> FileId {
        Stat::of(AT_FDCWD, path, 0).map_or(FileId::NONE, |stat| stat.id())
    }
}

impl Stat {
    /// fstatat(2); `None` if it fails.
    fn of(directory: usize, path: &CStr, flags: usize) -> Option<Stat> {
        let mut stat = Stat([0; 18]);
        // SAFETY: the path is a `CStr`, and `stat` has room for the 18 words that the kernel writes at most.
        let done = unsafe {
            syscall(
                number::NEWFSTATAT,
                [directory, path.as_ptr() as usize, (&raw mut stat) as usize, flags, 0, 0],
            )
        };
        (done == 0).then_some(stat)
    }

    /// fstat(2), by the call that glibc makes for it: from 2.33 to 2.38 newfstatat; `None` if it fails.
    fn of_open(fd: usize) -> Option<Stat> {
        const AT_EMPTY_PATH: usize = 0x1000;
        if (33..39).contains(&glibc_minor()) {
            return Stat::of(fd, c"", AT_EMPTY_PATH);
        }
        let mut stat = Stat([0; 18]);
        // SAFETY: `stat` has room for the 18 words that the kernel writes at most.
        let done = unsafe { syscall(number::FSTAT, [fd, (&raw mut stat) as usize, 0, 0, 0, 0]) };
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

/// An open file; closed when dropped.
pub(crate) struct OpenFile(usize);

impl OpenFile {
    pub(crate) fn new(path: &CStr) -> Option<OpenFile> {
        const O_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
        // SAFETY: openat(2) reads the path only, which is a `CStr`.
        let fd = unsafe {
            syscall(number::OPENAT, [AT_FDCWD, path.as_ptr() as usize, O_NONBLOCK_CLOEXEC, 0, 0, 0])
        };
        usize::try_from(fd).ok().map(OpenFile)
    }

    /// Reads the whole file, and returns its state and length. `None` unless it is shorter than the buffer.
    pub(crate) fn read(self, buffer: &mut [u8]) -> Option<(FileId, usize)> {
        let stat = Stat::of_open(self.0)?;
        let mut len = 0;
        // Where the size is known, no further read(2) is needed to find the end.
        while len == 0 || len != stat.size() {
            let room = buffer.get_mut(len..).filter(|room| !room.is_empty())?;
            // SAFETY: read(2) writes at most `room.len()` bytes to `room`, which is a slice of our buffer.
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

impl Drop for OpenFile {
    fn drop(&mut self) {
        // SAFETY: `new` opened the descriptor, and nothing else closes it.
        unsafe { syscall(number::CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}
