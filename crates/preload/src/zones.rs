//! The zones seen so far: made once, never changed, never freed.
//!
//! They are found by the text of `TZ` and the identity of the file it names; a list per hash value
//! grows at its head by compare-and-swap. Two threads that meet a new zone at once may both make it.

use crate::environment::{self, Text};
use crate::file::{FileId, Opened, Stat};
use crate::imports::auxiliary;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use needless_localtime::Zone;

const DEFAULT_FILE: &[u8] = b"/etc/localtime";
const DEFAULT_DIRECTORY: &[u8] = b"/usr/share/zoneinfo";

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

static LISTS: [AtomicPtr<Known>; 256] = [const { AtomicPtr::new(null_mut()) }; 256];

/// The zone that `tz` names now: one call to the kernel if it is known and its file is unchanged.
pub(crate) fn of(tz: Option<&[u8]>) -> &'static Known {
    let text = text(tz);
    let path = path(text);
    let file = path.as_deref().and_then(Stat::of).map(|stat| stat.id());
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

/// The file to try first; `None` where there is nothing to try or it is refused.
fn path(text: &[u8]) -> Option<CString> {
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
    let mut path = Vec::with_capacity(text.len() + 65);
    if text[0] != b'/' {
        let directory = if secure { None } else { environment::get(b"TZDIR") };
        path.extend_from_slice(directory.filter(|d| !d.is_empty()).unwrap_or(DEFAULT_DIRECTORY));
        path.push(b'/');
    }
    path.extend_from_slice(text);
    CString::new(path).ok()
}

fn without_nul(bytes: &[u8]) -> &[u8] {
    bytes.split_last().map_or(bytes, |(_, bytes)| bytes)
}

/// The zone, the file's identity as read, and `keeps_names`.
fn make(text: &[u8], path: Option<CString>, file: Option<FileId>) -> (Zone, Option<FileId>, bool) {
    let opened = path.as_deref().filter(|_| file.is_some()).and_then(Opened::new);
    // Before anything else is allocated: only the last allocation is given back (memory.rs).
    drop(path);
    let read = opened.and_then(|opened| opened.read(|bytes| Zone::from_tzif(without_nul(bytes))));
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
        && let Some((_, Some(zone))) =
            opened.read(|bytes| Zone::with_posixrules(text, without_nul(bytes)))
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
