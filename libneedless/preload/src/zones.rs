//! The cache of zones: made once, never changed, never freed.
//!
//! A zone is found by the value of `TZ` and the state of the file that it names, in a list that grows at its head. One
//! zone is made at a time (memory.rs). Equal ones are kept once: many names of tzdata are links to the same zone, and a
//! file whose time stamp alone changed is still the same zone. Where there is no room for another, where a file is
//! larger than any zone file, and while another zone is being made, the C library answers.

use crate::between_threads::Latest;
use crate::environ::{self, DEFAULT_FILE};
use crate::imports::{self, ENOENT, auxiliary};
use crate::memory::ZoneBuilder;
use crate::zone_file::{FileId, OpenFile};
use alloc::boxed::Box;
use core::ffi::CStr;
use core::mem::size_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use needless_localtime::Zone;

const DEFAULT_DIRECTORY: &[u8] = b"/usr/share/zoneinfo";
/// For longer paths the C library answers; paths are built on the stack.
const LONGEST_PATH: usize = 512;

/// The zone of one value of `TZ` and one state of its file.
pub(crate) struct CachedZone {
    /// See `environ::text`.
    pub(crate) text: Box<[u8]>,
    /// Whether it is the zone while `TZ` is unset.
    pub(crate) is_default: bool,
    /// The `FileId` of the file when it was last read; it is updated when a file with equal contents replaces it.
    file: AtomicU64,
    /// Whether tzset() leaves `tzname` as it is while nothing changed: glibc does so for a zone file, but parses a TZ
    /// string, and reads `posixrules`, again each time.
    pub(crate) keeps_names: bool,
    pub(crate) zone: &'static Zone,
    next: Option<&'static CachedZone>,
}

impl CachedZone {
    fn file(&self) -> FileId {
        FileId(self.file.load(Ordering::Relaxed))
    }

    /// Whether both were read from the same state of the same zone file.
    pub(crate) fn is_of_same_file(&self, other: &CachedZone) -> bool {
        self.keeps_names && other.keeps_names && self.file() == other.file()
    }
}

/// The latest entry of the list.
static HEAD: Latest<CachedZone> = Latest { at: AtomicPtr::new(null_mut()) };
/// Whether there was no room for a zone: from then on no file is read here, since the C library has to read it anyway.
static FULL: AtomicBool = AtomicBool::new(false);

fn all() -> impl Iterator<Item = &'static CachedZone> {
    // SAFETY: null, or an entry that `make` put there when it was complete; entries are never freed.
    let head = unsafe { HEAD.get().as_ref() };
    core::iter::successors(head, |cached| cached.next)
}

/// The zone that `text` names now, and whether its file was read for it. It takes one system call if the zone is cached
/// and its file is unchanged. `None`: the C library has to answer.
pub(crate) fn of(text: &[u8]) -> Option<(&'static CachedZone, bool)> {
    let mut room = [0; LONGEST_PATH];
    let path = path(text, &mut room)?;
    let mut cached = all().filter(|cached| *cached.text == *text).peekable();
    if cached.peek().is_some() {
        let file = path.map_or(FileId::NONE, FileId::of);
        if let Some(cached) = cached.find(|cached| cached.file() == file) {
            return Some((cached, false));
        }
    }
    if FULL.load(Ordering::Relaxed) {
        return None;
    }
    Some((make(text, path)?, true))
}

/// The path of the file that `text` names; `Some(None)` where it names none or the file must not be read, `None` where
/// the path is too long.
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
        let set = if secure { None } else { environ::get(b"TZDIR") };
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

/// A zone in scratch memory, as made of a value of `TZ` and its file.
struct LoadedZone {
    zone: Zone,
    file: FileId,
    keeps_names: bool,
}

#[cold]
fn make(text: &[u8], path: Option<&CStr>) -> Option<&'static CachedZone> {
    let mut builder = ZoneBuilder::take()?;
    let made = read(&mut builder, text, path)?;
    let same = |cached: &&CachedZone| *cached.zone == made.zone;
    let of_text =
        |cached: &&CachedZone| *cached.text == *text && cached.keeps_names == made.keeps_names;
    if let Some(cached) = all().filter(of_text).find(same) {
        cached.file.store(made.file.0, Ordering::Relaxed);
        return Some(cached);
    }
    let shared = all().find(same).map(|cached| cached.zone);
    let of_zone = if shared.is_some() { 0 } else { builder.memory.tried() + size_of::<Zone>() };
    let needed = of_zone + size_of::<CachedZone>() + text.len() + 32;
    let cached = builder.memory.keep(needed, || {
        Box::leak(Box::new(CachedZone {
            text: text.into(),
            is_default: text == DEFAULT_FILE.to_bytes(),
            file: AtomicU64::new(made.file.0),
            keeps_names: made.keeps_names,
            zone: shared.unwrap_or_else(|| Box::leak(Box::new(made.zone.clone()))),
            next: all().next(),
        }))
    });
    let Some(cached) = cached else {
        FULL.store(true, Ordering::Relaxed);
        return None;
    };
    HEAD.put(cached);
    Some(cached)
}

/// The zone that the C library would read. `None`: the C library has to answer.
fn read(builder: &mut ZoneBuilder, text: &[u8], path: Option<&CStr>) -> Option<LoadedZone> {
    let mut file = FileId::NONE;
    if let Some(opened) = path.and_then(OpenFile::new) {
        let (id, len) = opened.read(builder.file)?;
        let bytes = &builder.file[..len];
        let needed = Zone::max_allocation(bytes, text.len());
        let zone = builder.memory.try_out(needed, || Zone::from_tzif(bytes))?;
        if let Ok(zone) = zone {
            return Some(LoadedZone { zone, file: id, keeps_names: true });
        }
        file = id;
    } else if let Some(path) = path
        && imports::errno() != ENOENT
    {
        // A file that cannot be opened still has a state. Where there is no file, nothing is asked, as in glibc.
        file = FileId::of(path);
    }
    let made = |zone| LoadedZone { zone, file, keeps_names: false };
    if text.is_empty() || text == DEFAULT_FILE.to_bytes() {
        return builder.memory.try_out(Zone::max_allocation_of_text(0), Zone::utc).map(made);
    }
    if lacks_rules(text) {
        // An older C library gives such a string another meaning at its first use (see the book).
        let mut room = [0; LONGEST_PATH];
        if let Some(opened) = self::path(b"posixrules", &mut room)?.and_then(OpenFile::new) {
            let (_, len) = opened.read(builder.file)?;
            let bytes = &builder.file[..len];
            let needed = Zone::max_allocation(bytes, text.len());
            let zone = builder.memory.try_out(needed, || Zone::with_posixrules(text, bytes))?;
            if let Some(zone) = zone {
                return Some(made(zone));
            }
        }
    }
    builder
        .memory
        .try_out(Zone::max_allocation_of_text(text.len()), || Zone::from_posix(text))
        .map(made)
}

/// Whether a second name follows the offset, and no rule follows that name: glibc then reads `posixrules`.
fn lacks_rules(text: &[u8]) -> bool {
    let text = text.strip_suffix(b",").unwrap_or(text);
    if text.contains(&b',') {
        return false;
    }
    let mut quoted = false;
    let mut offset = false;
    for &b in text {
        match b {
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
