//! Files that are read whole: zone files, and the templates of getdate.

use crate::imports::syscall;
use alloc::vec;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

/// Nothing that is read here comes near; what is larger is not what it should be.
const LARGEST: usize = 1 << 20;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: i64 = 0;
    pub(super) const CLOSE: i64 = 3;
    pub(super) const FACCESSAT: i64 = 269;
    pub(super) const FSTAT: i64 = 5;
    pub(super) const LSEEK: i64 = 8;
    pub(super) const OPENAT: i64 = 257;
    pub(super) const NEWFSTATAT: i64 = 262;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const READ: i64 = 63;
    pub(super) const CLOSE: i64 = 57;
    pub(super) const FACCESSAT: i64 = 48;
    pub(super) const FSTAT: i64 = 80;
    pub(super) const LSEEK: i64 = 62;
    pub(super) const OPENAT: i64 = 56;
    pub(super) const NEWFSTATAT: i64 = 79;
}
#[cfg(target_arch = "powerpc64")]
mod number {
    pub(super) const READ: i64 = 3;
    pub(super) const CLOSE: i64 = 6;
    pub(super) const FACCESSAT: i64 = 298;
    pub(super) const FSTAT: i64 = 108;
    pub(super) const LSEEK: i64 = 19;
    pub(super) const OPENAT: i64 = 286;
    pub(super) const NEWFSTATAT: i64 = 291;
}

/// Whether the caller's real user may read it (access(2)).
pub(crate) fn may_be_read(path: &CStr) -> bool {
    const R_OK: usize = 4;
    // SAFETY: the path ends with a NUL.
    let done =
        unsafe { syscall(number::FACCESSAT, [AT_FDCWD, path.as_ptr() as usize, R_OK, 0, 0, 0]) };
    done == 0
}

const AT_FDCWD: usize = -100isize as usize;

/// The kernel's `struct stat`, in words: on the three architectures above device, inode, size and
/// times have the same places (asm/stat.h); 18 words are the longest of them.
#[derive(Clone, Copy)]
pub(crate) struct Stat([u64; 18]);

/// What tells one state of a file from another: device, inode, size, times of change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId([u64; 7]);

impl Stat {
    const EMPTY: Stat = Stat([0; 18]);

    /// Of the file that a path names; `None` where there is none, or it may not be asked for.
    pub(crate) fn of(path: &CStr) -> Option<Stat> {
        let mut stat = Stat::EMPTY;
        // SAFETY: the path ends with a NUL, `stat` has room for the structure.
        let done = unsafe {
            syscall(
                number::NEWFSTATAT,
                [AT_FDCWD, path.as_ptr() as usize, (&raw mut stat) as usize, 0, 0, 0],
            )
        };
        (done == 0).then_some(stat)
    }

    pub(crate) fn id(&self) -> FileId {
        let stat = &self.0;
        FileId([stat[0], stat[1], stat[6], stat[11], stat[12], stat[13], stat[14]])
    }

    pub(crate) fn is_regular(&self) -> bool {
        const S_IFMT: u64 = 0o170_000;
        const S_IFREG: u64 = 0o100_000;
        // After the links on x86-64 and Power, before them on ARM.
        let mode = self.0[if cfg!(target_arch = "aarch64") { 2 } else { 3 }];
        mode & S_IFMT == S_IFREG
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

    /// The file's identity, and what `parse` makes of its contents, which a NUL follows.
    pub(crate) fn read<T>(self, parse: impl FnOnce(&mut [u8]) -> T) -> Option<(FileId, T)> {
        let mut stat = Stat::EMPTY;
        // SAFETY: `stat` has room for the structure.
        let done =
            unsafe { syscall(number::FSTAT, [self.0, (&raw mut stat) as usize, 0, 0, 0, 0]) };
        if done != 0 {
            return None;
        }
        if let Some(mut buffer) = Buffer::borrow() {
            let bytes = buffer.bytes();
            let len = self.fill(bytes)?;
            // Else it may go on.
            if let Some(end) = bytes.get_mut(len) {
                *end = 0;
                return Some((stat.id(), parse(&mut bytes[..=len])));
            }
        }
        // Large enough for the allocator to give its pages back.
        let mut bytes = vec![0; LARGEST];
        // What the buffer took is read again.
        // SAFETY: a system call without pointers.
        unsafe { syscall(number::LSEEK, [self.0, 0, 0, 0, 0, 0]) };
        let len = self.fill(&mut bytes)?;
        (len < bytes.len()).then(|| (stat.id(), parse(&mut bytes[..=len])))
    }

    /// Reads up to the end of the file or of the buffer; how much.
    fn fill(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut len = 0;
        while len < buffer.len() {
            let room = &mut buffer[len..];
            // SAFETY: the kernel writes at most `room.len()` bytes there.
            let got = unsafe {
                syscall(number::READ, [self.0, room.as_mut_ptr() as usize, room.len(), 0, 0, 0])
            };
            match usize::try_from(got).ok()? {
                0 => break,
                got => len += got,
            }
        }
        Some(len)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { syscall(number::CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// Room for a usual file, lent to one reader at a time. A reader that was forked away, or that a signal
/// handler interrupts, keeps it: others then map pages of their own.
struct Buffer;

const BUFFER: usize = 8 * 1024;
static mut BYTES: [u8; BUFFER] = [0; BUFFER];
static LENT: AtomicBool = AtomicBool::new(false);

impl Buffer {
    fn borrow() -> Option<Buffer> {
        (!LENT.swap(true, Ordering::Acquire)).then_some(Buffer)
    }

    fn bytes(&mut self) -> &mut [u8; BUFFER] {
        let bytes = &raw mut BYTES;
        // SAFETY: there is one `Buffer` at a time, by `LENT`.
        unsafe { &mut *bytes }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        LENT.store(false, Ordering::Release);
    }
}
