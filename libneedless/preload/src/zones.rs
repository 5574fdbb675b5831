//! The zones seen so far: made once, never changed, never freed.
//!
//! They are found by the text of `TZ` and the identity of the file it names, in one list that grows at its head.
//! One zone is made at a time (memory.rs). Equal ones are kept once: many names of tzdata are of one zone, and a
//! file that was only touched is the zone it was. Where there is no room for another, where a file is longer than any
//! zone's, and where a zone is being made already, the C library answers.

use crate::environment::{self, DEFAULT_FILE};
use crate::file::{FileId, Opened};
use crate::imports::auxiliary;
use crate::memory::Maker;
use alloc::boxed::Box;
use core::ffi::CStr;
use core::mem::size_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use needless_localtime::Zone;

const DEFAULT_DIRECTORY: &[u8] = b"/usr/share/zoneinfo";
/// Longer paths are the C library's; here they are put together on the stack.
const LONGEST_PATH: usize = 512;

/// What one text and one state of its file mean.
pub(crate) struct Known {
    /// See `environment::text`.
    pub(crate) text: Box<[u8]>,
    /// Whether `TZ` unset means it.
    pub(crate) is_default: bool,
    /// The `FileId` of the file when it was last read: an equal file may take its place.
    file: AtomicU64,
    /// Whether tzset() leaves `tzname` alone while nothing changed: glibc does for a zone file, but
    /// forgets what it knew of a text, and of `posixrules`.
    pub(crate) keeps_names: bool,
    pub(crate) zone: &'static Zone,
    next: Option<&'static Known>,
}

impl Known {
    fn file(&self) -> FileId {
        FileId(self.file.load(Ordering::Relaxed))
    }

    /// Whether both were read from the same state of the same zone file.
    pub(crate) fn is_of_same_file(&self, other: &Known) -> bool {
        self.keeps_names && other.keeps_names && self.file() == other.file()
    }
}

/// The latest.
static HEAD: AtomicPtr<Known> = AtomicPtr::new(null_mut());
/// Whether there was no room for a zone: then no file is read any more that the C library is to read, too.
static FULL: AtomicBool = AtomicBool::new(false);

fn all() -> impl Iterator<Item = &'static Known> {
    // SAFETY: published complete by `make`, and never freed.
    let head = unsafe { HEAD.load(Ordering::Acquire).as_ref() };
    core::iter::successors(head, |known| known.next)
}

/// The zone that a text names now, and whether its file was read for that: one call to the kernel if it is known and
/// its file is unchanged. `None`: it is the C library's.
pub(crate) fn of(text: &[u8]) -> Option<(&'static Known, bool)> {
    let mut room = [0; LONGEST_PATH];
    let path = path(text, &mut room)?;
    let mut known = all().filter(|known| *known.text == *text).peekable();
    if known.peek().is_some() {
        let file = path.map_or(FileId::NONE, FileId::of);
        if let Some(known) = known.find(|known| known.file() == file) {
            return Some((known, false));
        }
    }
    if FULL.load(Ordering::Relaxed) {
        return None;
    }
    Some((make(text, path)?, true))
}

/// The file to try first, `Some(None)` where there is nothing to try or it is refused; `None` where it is too long.
fn path<'p>(text: &[u8], room: &'p mut [u8; LONGEST_PATH]) -> Option<Option<&'p CStr>> {
    const AT_SECURE: usize = 23;
    if text.is_empty() {
        return Some(None);
    }
    let secure = auxiliary(AT_SECURE) != 0;
    if secure {
        let elsewhere = text[0] == b'/'
            && text != DEFAULT_FILE.to_bytes()
            && !text.starts_with(DEFAULT_DIRECTORY);
        if elsewhere || text.windows(3).any(|w| w == b"../") {
            return Some(None);
        }
    }
    let directory = if text[0] == b'/' {
        b""
    } else {
        let set = if secure { None } else { environment::get(b"TZDIR") };
        set.filter(|d| !d.is_empty()).unwrap_or(DEFAULT_DIRECTORY)
    };
    let separator: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    let mut len = 0;
    for part in [directory, separator, text, b"\0"] {
        room.get_mut(len..len + part.len())?.copy_from_slice(part);
        len += part.len();
    }
    Some(CStr::from_bytes_with_nul(&room[..len]).ok())
}

/// A zone as it was made of a text and its file.
struct Made {
    zone: Zone,
    file: FileId,
    keeps_names: bool,
}

#[cold]
fn make(text: &[u8], path: Option<&CStr>) -> Option<&'static Known> {
    let mut maker = Maker::take()?;
    let made = read(&mut maker, text, path)?;
    let same = |known: &&Known| *known.zone == made.zone;
    let of_text = |known: &&Known| *known.text == *text && known.keeps_names == made.keeps_names;
    if let Some(known) = all().filter(of_text).find(same) {
        known.file.store(made.file.0, Ordering::Relaxed);
        return Some(known);
    }
    let shared = all().find(same).map(|known| known.zone);
    let of_zone = if shared.is_some() { 0 } else { maker.pieces.tried() + size_of::<Zone>() };
    let needed = of_zone + size_of::<Known>() + text.len() + 32;
    let known = maker.pieces.keep(needed, || {
        Box::leak(Box::new(Known {
            text: text.into(),
            is_default: text == DEFAULT_FILE.to_bytes(),
            file: AtomicU64::new(made.file.0),
            keeps_names: made.keeps_names,
            zone: shared.unwrap_or_else(|| Box::leak(Box::new(made.zone.clone()))),
            next: all().next(),
        }))
    });
    let Some(known) = known else {
        FULL.store(true, Ordering::Relaxed);
        return None;
    };
    HEAD.store(known, Ordering::Release);
    Some(known)
}

/// The zone as the C library would read it. `None`: it is for the C library to read.
fn read(maker: &mut Maker, text: &[u8], path: Option<&CStr>) -> Option<Made> {
    let mut file = FileId::NONE;
    if let Some(opened) = path.and_then(Opened::new) {
        let (id, len) = opened.read(maker.file)?;
        let bytes = &maker.file[..len];
        let needed = Zone::largest(bytes, text.len());
        let zone = maker.pieces.try_out(needed, || Zone::from_tzif(bytes))?;
        if let Ok(zone) = zone {
            return Some(Made { zone, file: id, keeps_names: true });
        }
        file = id;
    } else if let Some(path) = path {
        // It may be there and be none that may be read.
        file = FileId::of(path);
    }
    let made = |zone| Made { zone, file, keeps_names: false };
    if text.is_empty() || text == DEFAULT_FILE.to_bytes() {
        return maker.pieces.try_out(Zone::largest_of_text(0), Zone::utc).map(made);
    }
    if lacks_rule(text) {
        // An older C library gives such a text another meaning at its first use (see the book).
        let mut room = [0; LONGEST_PATH];
        if let Some(opened) = self::path(b"posixrules", &mut room)?.and_then(Opened::new) {
            let (_, len) = opened.read(maker.file)?;
            let bytes = &maker.file[..len];
            let needed = Zone::largest(bytes, text.len());
            let zone = maker.pieces.try_out(needed, || Zone::with_posixrules(text, bytes))?;
            if let Some(zone) = zone {
                return Some(made(zone));
            }
        }
    }
    maker.pieces.try_out(Zone::largest_of_text(text.len()), || Zone::from_posix(text)).map(made)
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
