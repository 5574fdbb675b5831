//! Directories, which of them a path lies below, and whether they are some.

use crate::View;
use crate::engine::PathPattern;
use needless_model::{Directory, Errno, Row};
use std::collections::{BTreeSet, HashSet};

/// A set of directories, made to find for many paths the directory that each lies below.
pub(crate) struct Dirs<'p> {
    all: HashSet<&'p str>,
    /// How all of them begin.
    start: &'p str,
    /// Their lengths, longest first: nearly all look-ups end here.
    lengths: Vec<usize>,
}

impl<'p> Dirs<'p> {
    pub(crate) fn new(all: HashSet<&'p str>) -> Dirs<'p> {
        let lengths: BTreeSet<usize> = all.iter().map(|dir| dir.len()).collect();
        let lengths = lengths.into_iter().rev().collect();
        Dirs { start: common_start(&all), all, lengths }
    }

    /// The innermost directory that `path` is or lies below, and the rest.
    pub(crate) fn below(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        if !path.starts_with(self.start) {
            return None;
        }
        let path = path.trim_end_matches('/');
        let ends = |at: &&usize| path.as_bytes().get(**at).is_none_or(|byte| *byte == b'/');
        let lengths = self.lengths.iter().filter(|at| **at <= path.len()).filter(ends);
        let dir = lengths.map(|at| &path[..*at]).find(|dir| self.all.contains(dir))?;
        Some((dir, path[dir.len()..].trim_start_matches('/')))
    }

    /// What evidence about `path` is shown as: one line for all that lies below a directory.
    pub(crate) fn pattern(&self, path: &'p str) -> PathPattern<'p> {
        match self.below(path) {
            Some((dir, rest)) if !rest.is_empty() => PathPattern::below(dir),
            _ => PathPattern::path(path),
        }
    }
}

/// What calls show of an entry of a list.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shown {
    /// A call about the entry itself succeeded.
    pub(crate) exists: bool,
    /// Something was looked for below it and was not there: below a file the answer is another (ENOTDIR).
    searched: bool,
}

impl Shown {
    /// Takes a call about the entry itself, or about `rest` below it.
    pub(crate) fn take(&mut self, row: &Row, rest: &str) {
        if rest.is_empty() {
            self.exists |= row.ok();
        } else {
            self.searched |= row.failed(Errno::ENOENT) || row.failed(Errno::EACCES);
        }
    }

    /// Whether `entry` was found, and nothing shows that it is a directory: then it may be a file, which is what
    /// somebody looked for.
    pub(crate) fn may_be_a_file(self, view: &View<'_>, entry: &str) -> bool {
        let known = view.profile.host.directories.get(entry);
        self.exists
            && match known {
                Some(Directory::Listed | Directory::Empty | Directory::Filled) => false,
                Some(Directory::File) => true,
                Some(Directory::Missing) | None => !self.searched,
            }
    }
}

/// How all of them begin.
fn common_start<'p>(dirs: &HashSet<&'p str>) -> &'p str {
    let shorten = |one: &'p str, other: &&'p str| {
        let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        &one[..(0..=same).rev().find(|at| one.is_char_boundary(*at)).unwrap_or(0)]
    };
    let mut all = dirs.iter();
    let first = all.next().copied().unwrap_or("");
    all.fold(first, shorten)
}

/// The longest end of both paths that consists of whole names.
pub(crate) fn common_tail<'p>(one: &'p str, other: &str) -> &'p str {
    let same = one.rsplit('/').zip(other.rsplit('/')).take_while(|(a, b)| a == b);
    let length: usize = same.map(|(name, _)| name.len() + 1).sum();
    &one[one.len() - length.saturating_sub(1).min(one.len() - 1)..]
}
