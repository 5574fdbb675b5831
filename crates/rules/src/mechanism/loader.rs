//! Which calls of a process the dynamic loader made, and not the program.
//!
//! Two lists may name the same directory: LD_LIBRARY_PATH and PYTHONPATH after `thisroot.sh`, say.
//! Rows of both are then the same rows. The loader opens libraries, by names that end in `.so` or
//! in `.so.N`, in the directory or in its subdirectories for processor variants; and right after
//! the first library that it does not find in one of these, it checks once whether that directory
//! exists. All other calls are the program's.

use crate::View;
use crate::engine::helpers::{absent, file_name};
use crate::lists::{CURRENT, Searcher};
use needless_model::{ProcId, Query, Row, Spawn, Target};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What the loader did in one process.
#[derive(Debug, Default)]
pub(crate) struct Loader<'p> {
    /// Directories in which it looked for a library.
    searched: HashSet<&'p str>,
    /// The row of the first check of a path: if any check is the loader's, it is this one.
    first_look: HashMap<&'p str, usize>,
    /// How often it tries a subdirectory for a processor variant: twice if the processor has one name as its
    /// platform and as its capability (`x86_64`), and each time it checks whether the subdirectory exists.
    variants: HashMap<&'p str, u64>,
    /// Files that the program itself looks for under another ending as well, without the ending: Ruby tries
    /// `a.rb` and `a.so`, a linker `a.so` and `a.a`.
    others: HashSet<&'p str>,
    /// Directories of empty and relative entries, which start in the working directory, in which
    /// libraries were looked for, with the text of the entry. "" if the path of the working
    /// directory is not known.
    current: HashMap<&'p str, &'p str>,
}

impl<'p> Loader<'p> {
    pub(crate) fn of(view: &View<'p>, id: ProcId) -> Loader<'p> {
        let mut loader = Loader::default();
        let mut opens: Vec<(&Row, &'p str)> = Vec::new();
        let mut looked = Looked::default();
        // Until the C library is loaded, all calls are the loader's.
        let mut loading = view.born(id) == Spawn::Exec;
        let mut by_statx = false;
        for (at, row) in view.rows_of(id) {
            let path = view.profile.path(row);
            match row.query {
                Query::Stat => {
                    let path = path.trim_end_matches('/');
                    // The loader uses this call in 32-bit programs, and an older one in others.
                    let statx = view.profile.call(row) == "statx";
                    by_statx |= statx && loading;
                    if by_statx || !statx {
                        loader.first_look.entry(path).or_insert(at);
                    }
                    match base(path) {
                        dir if dir == path => looked.at.insert(dir),
                        dir => looked.below.insert(dir),
                    };
                }
                Query::Open if is_library(path) => {
                    loading &= !(row.ok() && is_libc(path));
                    opens.push((row, path));
                }
                Query::Open => {
                    let stem = path.strip_suffix(".rb").or(path.strip_suffix(".a"));
                    loader.others.extend(stem);
                }
                _ => {}
            }
        }
        opens.retain(|(row, path)| loader.looks(row, path));
        for (row, path) in &opens {
            let (dir, variant) = (base(parent(path)), parent(path));
            loader.searched.insert(dir);
            if variant != dir {
                let tried = loader.variants.entry(variant).or_default();
                *tried = row.count.max(*tried);
            }
        }
        let variable = view.process(id).env.get("LD_LIBRARY_PATH").map(Option::unwrap_or_default);
        let missed = opens.iter().filter(|(row, _)| absent(row)).map(|(_, path)| *path);
        loader.current = looked.current(variable, missed);
        loader
    }

    /// How many of a row's calls are the loader's.
    pub(crate) fn share(&self, at: usize, row: &Row, path: &str) -> u64 {
        match row.query {
            Query::Open if self.looks(row, path) => row.count,
            Query::Stat => {
                let path = path.trim_end_matches('/');
                let first = self.first_look.get(path) == Some(&at);
                let looks = self.variants.get(path).map_or(1, |tried| row.count.min(*tried));
                if first && self.searched.contains(base(path)) { looks } else { 0 }
            }
            _ => 0,
        }
    }

    /// The text of the empty or relative entry in whose directory the row looks for a library.
    pub(crate) fn in_current(&self, row: &Row, path: &str) -> Option<&'p str> {
        let seen = matches!(row.target, Target::Path(_) | Target::Cwd(_));
        let entry = self.current.get(base(parent(path)))?;
        (seen && row.query == Query::Open && self.looks(row, path)).then_some(*entry)
    }

    /// Whether libraries were looked for in this directory because of an empty or relative entry.
    pub(crate) fn is_current(&self, dir: &str) -> bool {
        self.current.contains_key(dir)
    }

    /// Whether libraries were looked for because of any such entry.
    pub(crate) fn searches_current(&self) -> bool {
        !self.current.is_empty()
    }

    fn looks(&self, row: &Row, path: &str) -> bool {
        let stem = || path.strip_suffix(".so").is_some_and(|stem| self.others.contains(stem));
        is_library(path) && !by_hand(row) && !stem()
    }
}

/// Directories that a process checked.
#[derive(Default)]
struct Looked<'p> {
    /// Themselves.
    at: HashSet<&'p str>,
    /// In a subdirectory for a processor variant.
    below: HashSet<&'p str>,
}

impl<'p> Looked<'p> {
    /// The directories of empty and relative entries, and the entry: of the paths in `missed`, those that were looked for
    /// without a check of the directory. `variable`: the value of LD_LIBRARY_PATH, where known.
    fn current(
        &self,
        variable: Option<&'p str>,
        missed: impl Iterator<Item = &'p str>,
    ) -> HashMap<&'p str, &'p str> {
        let mut names: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        let mut names_below: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for path in missed {
            let dir = base(parent(path));
            let names = if dir == parent(path) { &mut names } else { &mut names_below };
            names.entry(dir).or_default().insert(file_name(path));
        }
        let lists = |value, dir: &str| Searcher::Loader.entries(value).any(|entry| entry == dir);
        // The loader assumes that the directory of such an entry exists, and tries its variants
        // again for each library. The variable says whether a directory is listed; if the variable
        // is not known, this pattern does.
        let asked = |dir: &str| {
            if names_below.contains_key(dir) { &self.below } else { &self.at }.contains(dir)
        };
        let entry = |dir: &'p str| match variable {
            Some(value) if value.is_empty() || lists(value, dir) => None,
            Some(value) => entry_of(value, dir, &|dir| names.contains_key(dir)),
            None if dir.is_empty() => Some(CURRENT),
            None if names_below.get(dir).is_none_or(|names| names.len() < 2) => None,
            None if dir.starts_with('/') => Some(CURRENT),
            None => Some(dir),
        };
        let current = names.keys().filter(|dir| !asked(dir));
        current.filter_map(|dir| Some((*dir, entry(dir)?))).collect()
    }
}

/// The entry of LD_LIBRARY_PATH that `dir` comes from, if the loader searched it without a check
/// that it exists: a relative one, as it is written, or [`CURRENT`] for an empty one.
fn entry_of<'p>(value: &'p str, dir: &str, searched: &dyn Fn(&str) -> bool) -> Option<&'p str> {
    let mut empty = false;
    let mut relative = None;
    for entry in Searcher::Loader.raw_entries(value) {
        match entry {
            "" => empty = true,
            entry if entry.starts_with(['/', '$']) => {}
            entry if dir.strip_suffix(entry).is_some_and(|d| d.is_empty() || d.ends_with('/')) => {
                relative = Some(entry);
            }
            _ => {}
        }
    }
    // The working directory may itself have the name of the entry.
    let below = |entry: &&str| searched(&format!("{}/{entry}", dir.trim_end_matches('/')));
    match relative.filter(|entry| !(empty && below(entry))) {
        None => empty.then_some(CURRENT),
        relative => relative,
    }
}

/// Whether every sampled call site of these calls names the file itself, so that they are not the
/// loader's.
fn by_hand(row: &Row) -> bool {
    let calls = [
        "stat", "lstat", "fstatat", "xstat", "lxstat", "fxstatat", "statx", "access", "open",
        "openat", "fopen",
    ];
    let names_file = |name: &str| {
        let name = name.trim_start_matches("__").trim_end_matches("_2").trim_end_matches("64");
        calls.contains(&name)
    };
    !row.sites.is_empty()
        && row.sites.iter().all(|(site, _)| site.calls.as_deref().is_some_and(names_file))
}

const VARIANTS: [&str; 9] =
    ["tls", "haswell", "xeon_phi", "avx512_1", "x86_64", "i686", "sse2", "atomics", "glibc-hwcaps"];

/// A directory without the subdirectories for processor variants that the loader tries in it.
pub(crate) fn base(dir: &str) -> &str {
    let mut dir = dir;
    loop {
        let (up, name) = dir.rsplit_once('/').unwrap_or(("", dir));
        let below_variants = up == "glibc-hwcaps" || up.ends_with("/glibc-hwcaps");
        if !VARIANTS.contains(&name) && !below_variants {
            return dir;
        }
        dir = up;
    }
}

pub(crate) fn is_library(path: &str) -> bool {
    // This runs for every path: a general search for so short a text would take longer to set up
    // than this.
    file_name(path).as_bytes().windows(3).any(|part| part == b".so")
}

/// Whether this is the C library, the last of the libraries of a program to be loaded, but for those that it needs.
pub(crate) fn is_libc(path: &str) -> bool {
    let name = file_name(path);
    name == "libc.so.6" || name.starts_with("libc.musl-")
}

pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_without_the_loaders_own_subdirectories() {
        for (path, dir) in [
            ("/opt/a/glibc-hwcaps/x86-64-v3", "/opt/a"),
            ("/opt/a/tls/haswell/avx512_1/x86_64", "/opt/a"),
            ("/opt/a", "/opt/a"),
            ("/tls", ""),
            ("glibc-hwcaps/x86-64-v3", ""),
            ("tls/x86_64", ""),
            ("", ""),
            ("lib", "lib"),
        ] {
            assert_eq!(base(path), dir, "{path}");
        }
    }
}
