//! Streams and sets of files.

use crate::error::{Compression, LogError};
use crate::input::Input;
use crate::lines::{CHUNK, Lines};
use crate::prefix::{self, Time};
use crate::reader::Reader;
use crate::{ReadOptions, text};
use needless_model::Profile;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most files that are read together, in the order of their lines' times.
const TOGETHER: usize = 256;

/// Reads one log from a stream: plain, gzip or zstd, recognised by its first bytes. `name` is what
/// messages call it.
///
/// # Errors
/// [`LogError`] if it cannot be read, is damaged, empty, or has no system call.
pub fn read(input: impl Read, name: &str, options: &ReadOptions) -> Result<Profile, LogError> {
    let mut reader = Reader::new(options);
    let mut source = Source::new(Input::new(input, name)?, None, CHUNK);
    source.read_all(&mut reader)?;
    verdict(reader, name)
}

/// Reads several files as one log: the set of `strace -ff -o x` (`x.PID` each), or one file.
/// Lines without a pid belong to the pid at the end of their file's name. If the lines have
/// the time of day, they are read in the order of time.
///
/// # Errors
/// [`LogError`] as for [`read`], naming the file; [`LogError::NoFiles`] if `paths` is empty. A set may
/// have empty files (processes that ended at once), but not only empty files.
pub fn read_files(paths: &[PathBuf], options: &ReadOptions) -> Result<Profile, LogError> {
    let Some(first) = paths.first() else { return Err(LogError::NoFiles) };
    let mut reader = Reader::new(options);
    let mut paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    // Parents mostly have the lower pid; and the order must not depend on the shell.
    paths.sort_by_key(|path| (pid_of(path), *path));
    paths.dedup();
    if paths.len() == 1 || paths.len() > TOGETHER || !merge(&paths, &mut reader)? {
        for path in &paths {
            if let Some(mut source) = Source::open(path, CHUNK, paths.len() > 1)? {
                source.read_all(&mut reader)?;
            }
        }
        reader.seen.unordered_files = paths.len() > 1;
    }
    verdict(reader, &first.display().to_string())
}

/// Reads files together, the earliest line first; `false`, and nothing read, if a file's
/// first line has no absolute time.
fn merge(paths: &[&Path], reader: &mut Reader<'_>) -> Result<bool, LogError> {
    const HALF_DAY: u64 = 12 * 3_600_000_000_000;
    let mut sources = Vec::with_capacity(paths.len());
    for path in paths {
        let Some(mut source) = Source::open(path, CHUNK / 8, true)? else { continue };
        if !source.advance()? {
            continue;
        }
        let Some(time) = source.time() else { return Ok(false) };
        sources.push((time, source));
    }
    // In a set that starts before midnight (-t, -tt print no date), times are small after it.
    let latest = sources.iter().map(|(time, _)| *time).max().unwrap_or_default();
    let mut turns = BinaryHeap::new();
    for (at, (time, source)) in sources.iter_mut().enumerate() {
        let after_midnight = latest < 2 * HALF_DAY && *time + HALF_DAY < latest;
        source.days = u64::from(after_midnight);
        source.latest = *time + source.days * 2 * HALF_DAY;
        turns.push(Reverse((source.latest, at)));
    }
    while let Some(Reverse((_, at))) = turns.pop() {
        let source = &mut sources[at].1;
        loop {
            reader.line(&source.lines.line(), source.pid);
            if !source.advance()? {
                break;
            }
            // Lines without a time (stacks, split lines) belong to the line before.
            let Some(mut time) = source.time() else { continue };
            time += source.days * 2 * HALF_DAY;
            if time + HALF_DAY < source.latest && latest < 2 * HALF_DAY {
                source.days += 1;
                time += 2 * HALF_DAY;
            }
            source.latest = time;
            turns.push(Reverse((time, at)));
            break;
        }
    }
    Ok(true)
}

fn verdict(reader: Reader<'_>, name: &str) -> Result<Profile, LogError> {
    if reader.is_log() {
        return Ok(reader.finish());
    }
    let name = name.to_owned();
    Err(match (reader.seen.lines, reader.seen.binary) {
        (0, _) => LogError::Empty { name },
        (_, true) => LogError::Binary { name },
        _ => LogError::NotStrace { name, first: text::sample(&reader.seen.first_line) },
    })
}

fn open(path: &Path) -> Result<File, LogError> {
    let name = || path.display().to_string();
    let file = File::open(path).map_err(|why| LogError::Unreadable { name: name(), why })?;
    match file.metadata() {
        Ok(meta) if meta.is_dir() => Err(LogError::Directory { name: name() }),
        _ => Ok(file),
    }
}

/// The pid that the name of one file of a `-ff` set ends with.
fn pid_of(path: &Path) -> Option<u32> {
    path.extension()?.to_str()?.parse().ok().filter(|pid| *pid > 0)
}

/// A log being read.
struct Source<'a> {
    lines: Lines<Box<dyn Read + 'a>>,
    compression: Compression,
    name: String,
    pid: Option<u32>,
    /// The time of its latest line, nanoseconds, with the midnights that passed.
    latest: u64,
    days: u64,
}

impl<'a> Source<'a> {
    fn new(input: Input<'a>, pid: Option<u32>, chunk: usize) -> Source<'a> {
        let (reader, compression, name) = input.parts();
        Source { lines: Lines::new(reader, chunk), compression, name, pid, latest: 0, days: 0 }
    }

    /// Opens a file; `None` for an empty one that is part of a set.
    fn open(path: &Path, chunk: usize, of_set: bool) -> Result<Option<Source<'static>>, LogError> {
        match Input::new(open(path)?, &path.display().to_string()) {
            Ok(input) => Ok(Some(Source::new(input, pid_of(path), chunk))),
            Err(LogError::Empty { .. }) if of_set => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<bool, LogError> {
        self.lines.advance().map_err(|why| Input::failed(&self.name, self.compression, why))
    }

    /// The absolute time of the line.
    fn time(&self) -> Option<u64> {
        match prefix::parse(self.lines.line().bytes).time? {
            Time::Unix(ns) | Time::OfDay(ns) => Some(ns),
            Time::SinceLast(_) => None,
        }
    }

    fn read_all(&mut self, reader: &mut Reader<'_>) -> Result<(), LogError> {
        while self.advance()? {
            reader.line(&self.lines.line(), self.pid);
            while self.lines.advance_in_buffer() {
                reader.line(&self.lines.line(), self.pid);
            }
            if reader.hopeless() {
                break;
            }
        }
        Ok(())
    }
}
