//! The zones seen so far: made once, never changed, never freed.
//!
//! They are found by the text of `TZ` and the identity of the file it names; a list per hash value
//! grows at its head by compare-and-swap. Two threads that meet a new zone at once may both make it.

use crate::environment::{self, Text};
use crate::imports::{auxiliary, syscall};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use needless_localtime::Zone;

const DEFAULT_FILE: &[u8] = b"/etc/localtime";
const DEFAULT_DIRECTORY: &[u8] = b"/usr/share/zoneinfo";
/// No zone file comes near; what is larger is not one.
const LARGEST_FILE: usize = 1 << 20;

/// What one value of `TZ` and one state of its file mean.
pub(crate) struct Known {
    /// The text of `TZ` as it stands in the environment; `None`: unset.
    pub(crate) tz: Option<Text>,
    file: Option<FileId>,
    /// Whether tzset() leaves `tzname` alone while nothing changed: glibc does for a zone file, but
    /// forgets what it knew of a text, and of `posixrules`.
    pub(crate) keeps_names: bool,
    pub(crate) zone: Zone,
    next: *const Known,
}

// SAFETY: `next` points to another immutable `Known` that is never freed.
unsafe impl Sync for Known {}

impl Known {
    /// Whether both were read from the same state of the same zone file.
    pub(crate) fn is_of_same_file(&self, other: &Known) -> bool {
        self.keeps_names && other.keeps_names && self.file == other.file
    }
}

/// What tells one state of a file from another: device, inode, size, times of change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId([u64; 7]);

static LISTS: [AtomicPtr<Known>; 256] = [const { AtomicPtr::new(null_mut()) }; 256];

/// The zone that `tz` names now: one call to the kernel if it is known and its file is unchanged.
pub(crate) fn of(tz: Option<&[u8]>) -> &'static Known {
    let text = text(tz);
    let path = path(text);
    let file = path.as_deref().and_then(stat);
    let list = &LISTS[hash(tz)];
    if let Some(known) = find(list, tz, file) {
        if let (Some(text), Some(tz)) = (&known.tz, tz) {
            text.found_at(tz);
        }
        return known;
    }
    let (zone, file, keeps_names) = make(text, path, file);
    let mut head = list.load(Ordering::Acquire);
    let new = Box::into_raw(Box::new(Known {
        tz: tz.map(Text::new),
        file,
        keeps_names,
        zone,
        next: head,
    }));
    loop {
        match list.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: made by `Box::into_raw` above, and never freed.
            Ok(_) => return unsafe { &*new },
            Err(now) => head = now,
        }
        // SAFETY: not published yet, hence ours alone.
        unsafe { (*new).next = head };
    }
}

fn find(
    list: &AtomicPtr<Known>,
    tz: Option<&[u8]>,
    file: Option<FileId>,
) -> Option<&'static Known> {
    let mut at = list.load(Ordering::Acquire).cast_const();
    // SAFETY: list entries are published complete and never freed.
    while let Some(known) = unsafe { at.as_ref() } {
        if known.tz.as_ref().map(|text| &*text.value) == tz && known.file == file {
            return Some(known);
        }
        at = known.next;
    }
    None
}

/// FNV-1a, folded to the number of lists.
fn hash(tz: Option<&[u8]>) -> usize {
    let full = tz
        .unwrap_or(b"\0")
        .iter()
        .fold(0x811c_9dc5u32, |h, &b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    (full ^ full >> 8 ^ full >> 16) as usize % LISTS.len()
}

/// What tzset(3) works with: empty means "Universal", one leading colon is skipped.
fn text(tz: Option<&[u8]>) -> &[u8] {
    match tz {
        None => DEFAULT_FILE,
        Some(b"") => b"Universal",
        Some([b':', rest @ ..]) => rest,
        Some(text) => text,
    }
}

/// The file to try first, NUL-terminated; `None` where there is nothing to try or it is refused.
fn path(text: &[u8]) -> Option<Vec<u8>> {
    const AT_SECURE: usize = 23;
    if text.is_empty() {
        return None;
    }
    let secure = auxiliary(AT_SECURE) != 0;
    if secure {
        let elsewhere =
            text[0] == b'/' && text != DEFAULT_FILE && !text.starts_with(DEFAULT_DIRECTORY);
        if elsewhere || text.windows(3).any(|w| w == b"../") {
            return None;
        }
    }
    let mut path = Vec::with_capacity(text.len() + 64);
    if text[0] != b'/' {
        let directory = if secure { None } else { environment::get(b"TZDIR") };
        path.extend_from_slice(directory.filter(|d| !d.is_empty()).unwrap_or(DEFAULT_DIRECTORY));
        path.push(b'/');
    }
    path.extend_from_slice(text);
    path.push(0);
    Some(path)
}

/// The zone, the file's identity as read, and `keeps_names`.
fn make(text: &[u8], path: Option<Vec<u8>>, file: Option<FileId>) -> (Zone, Option<FileId>, bool) {
    let opened = path.as_deref().filter(|_| file.is_some()).and_then(Opened::new);
    // Before anything else is allocated: only the last allocation is given back (memory.rs).
    drop(path);
    let read = opened.and_then(|opened| opened.read(Zone::from_tzif));
    let file = read.as_ref().map_or(file, |(id, _)| Some(*id));
    if let Some((_, Ok(zone))) = read {
        return (zone, file, true);
    }
    if text.is_empty() || text == DEFAULT_FILE {
        return (Zone::utc(), file, false);
    }
    if lacks_rule(text)
        && let Some(rules) = self::path(b"posixrules")
        && let Some(opened) = Opened::new(&rules)
        && let Some((_, Some(zone))) = opened.read(|bytes| Zone::with_posixrules(text, bytes))
    {
        return (zone, file, false);
    }
    (Zone::from_posix(text), file, false)
}

/// Whether a second name follows the offset and no rule follows that: glibc then reads `posixrules`.
fn lacks_rule(text: &[u8]) -> bool {
    let text = text.strip_suffix(b",").unwrap_or(text);
    let mut quoted = false;
    let mut offset = false;
    for &b in text {
        match b {
            b',' => return false,
            b'<' if offset => return true,
            b'<' => quoted = true,
            b'>' => quoted = false,
            b'0'..=b'9' if !quoted => offset = true,
            _ if offset && b.is_ascii_alphabetic() => return true,
            _ => {}
        }
    }
    false
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: i64 = 0;
    pub(super) const CLOSE: i64 = 3;
    pub(super) const FSTAT: i64 = 5;
    pub(super) const LSEEK: i64 = 8;
    pub(super) const OPENAT: i64 = 257;
    pub(super) const NEWFSTATAT: i64 = 262;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const READ: i64 = 63;
    pub(super) const CLOSE: i64 = 57;
    pub(super) const FSTAT: i64 = 80;
    pub(super) const LSEEK: i64 = 62;
    pub(super) const OPENAT: i64 = 56;
    pub(super) const NEWFSTATAT: i64 = 79;
}
#[cfg(target_arch = "powerpc64")]
mod number {
    pub(super) const READ: i64 = 3;
    pub(super) const CLOSE: i64 = 6;
    pub(super) const FSTAT: i64 = 108;
    pub(super) const LSEEK: i64 = 19;
    pub(super) const OPENAT: i64 = 286;
    pub(super) const NEWFSTATAT: i64 = 291;
}

const AT_FDCWD: usize = -100isize as usize;

/// The kernel's `struct stat`, in words: on the three architectures above device, inode, size and
/// times have the same places (asm/stat.h); 18 words are the longest of them.
type Stat = [u64; 18];

fn id(stat: &Stat) -> FileId {
    FileId([stat[0], stat[1], stat[6], stat[11], stat[12], stat[13], stat[14]])
}

fn stat(path: &[u8]) -> Option<FileId> {
    let mut stat: Stat = [0; 18];
    // SAFETY: `path` ends with a NUL (`path`), `stat` has room for the structure.
    let done = unsafe {
        syscall(
            number::NEWFSTATAT,
            [AT_FDCWD, path.as_ptr() as usize, (&raw mut stat) as usize, 0, 0, 0],
        )
    };
    (done == 0).then(|| id(&stat))
}

/// A zone file, open for as long as it is read.
struct Opened(usize);

impl Opened {
    fn new(path: &[u8]) -> Option<Opened> {
        const O_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
        // SAFETY: `path` ends with a NUL.
        let fd = unsafe {
            syscall(number::OPENAT, [AT_FDCWD, path.as_ptr() as usize, O_NONBLOCK_CLOEXEC, 0, 0, 0])
        };
        usize::try_from(fd).ok().map(Opened)
    }

    /// The file's identity, and what `parse` makes of its contents.
    fn read<T>(self, parse: impl FnOnce(&[u8]) -> T) -> Option<(FileId, T)> {
        let mut stat: Stat = [0; 18];
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
            if len < bytes.len() {
                return Some((id(&stat), parse(&bytes[..len])));
            }
        }
        // Large enough for the allocator to give its pages back.
        let mut bytes = vec![0; LARGEST_FILE];
        // What the buffer took is read again.
        // SAFETY: a system call without pointers.
        unsafe { syscall(number::LSEEK, [self.0, 0, 0, 0, 0, 0]) };
        let len = self.fill(&mut bytes)?;
        (len < bytes.len()).then(|| (id(&stat), parse(&bytes[..len])))
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

/// Room for a usual zone file, lent to one reader at a time. A reader that was forked away, or that a signal
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
