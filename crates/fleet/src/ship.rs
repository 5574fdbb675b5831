//! Windows copied from a ring to a directory, where those of many hosts come together.

use crate::file::is_window;
use crate::ring::{RingError, entries, make_folder, open_folder, publish};
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A copy that is not whole yet: no pattern for `*.parquet` matches it.
const UNFINISHED: &str = ".unfinished";

/// What became of the windows of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Windows that were copied.
    pub copied: u64,
    /// Windows that were there.
    pub there: u64,
    /// Windows that the ring no longer had when they were to be copied, or that are being copied by another.
    pub left: u64,
    /// Files that were not copied: they are not whole, or another file has that name.
    pub refused: Vec<String>,
}

/// Copies each window of the ring `from` that is not in `to`, which is made if it is missing (its parent is not). A copy
/// has the name of its window, with the host and the start in it, and is there whole or not at all: whenever this is
/// killed, the next call goes on. An agent may use the ring meanwhile.
///
/// # Errors
/// When a directory cannot be used, or a copy cannot be written.
pub fn ship(from: &Path, to: &Path) -> Result<Shipped, RingError> {
    let source = open_folder(from)?;
    make_folder(to)?;
    let target = open_folder(to)?;
    let mut shipped = Shipped::default();
    for entry in entries(&source, from)? {
        let copied = copy(&source, &target, &entry.name, entry.bytes);
        match copied.map_err(|why| RingError::new("cannot write", &to.join(&entry.name), why))? {
            Copied::Now => shipped.copied += 1,
            Copied::Before => shipped.there += 1,
            Copied::Not => shipped.left += 1,
            Copied::Refused => shipped.refused.push(entry.name),
        }
    }
    Ok(shipped)
}

enum Copied {
    Now,
    Before,
    Not,
    Refused,
}

fn copy(source: &OwnedFd, target: &OwnedFd, name: &str, length: u64) -> Result<Copied, Errno> {
    let there = |length: u64| match fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(known) if u64::try_from(known.st_size) == Ok(length) => Ok(Some(Copied::Before)),
        Ok(_) => Ok(Some(Copied::Refused)),
        Err(Errno::NOENT) => Ok(None),
        Err(why) => Err(why),
    };
    if let Some(known) = there(length)? {
        return Ok(known);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match fs::openat(source, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(Copied::Not),
        Err(why) => return Err(why),
    };
    let io = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    if !is_window(file.try_clone().map_err(io)?) {
        return Ok(Copied::Refused);
    }
    let mut bytes = Vec::new();
    std::io::Seek::rewind(&mut file).map_err(io)?;
    file.read_to_end(&mut bytes).map_err(io)?;

    let unfinished = format!(".{name}{UNFINISHED}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut to = File::from(fs::openat(target, &unfinished, flags, Mode::from_raw_mode(0o640))?);
    match fs::flock(&to, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(Copied::Not),
        locked => locked?,
    }
    // What another has published since is not written to.
    if let Some(known) = there(length)? {
        return Ok(known);
    }
    // What a killed one left.
    to.set_len(0).map_err(io)?;
    to.write_all(&bytes).map_err(io)?;
    to.sync_all().map_err(io)?;
    match publish(target, &unfinished, name) {
        Err(Errno::EXIST) => there(length).map(|known| known.unwrap_or(Copied::Not)),
        done => done.map(|()| Copied::Now),
    }
}
