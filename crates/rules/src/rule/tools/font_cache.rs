//! ## What it finds
//!
//! Programs that read every font file at their start, because fontconfig has no up-to-date cache
//! and no place to write one.
//!
//! ## Why it happens
//!
//! fontconfig keeps what it needs of each directory of fonts in a cache file. Without one it opens
//! and reads all fonts, and tries to write the cache in the system's directory and in the user's:
//! in a container where neither is writable, this happens at each start.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/fc-match", ["fc-match"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/var/cache/fontconfig/abc-le64.cache-8", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/root/.cache/fontconfig/abc-le64.cache-8", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/fonts/f0.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f1.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f2.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f3.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f4.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f5.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f6.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f7.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f8.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f9.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f10.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f11.ttf", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! font-cache: 12 of 12
//! setting font-cache
//! ```
//!
//! ## Not a finding
//!
//! A cache that is found, and the fonts that the program draws with:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/root/.cache/fontconfig/abc-le64.cache-8", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/var/cache/fontconfig/abc-le64.cache-8", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f0.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f1.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f2.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f3.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f4.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f5.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f6.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f7.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f8.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f9.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f10.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f11.ttf", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A first start, which writes the cache:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/root/.cache/fontconfig/abc-le64.cache-8", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/fonts/f0.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f1.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f2.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f3.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f4.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f5.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f6.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f7.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f8.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f9.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f10.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/fonts/f11.ttf", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/root/.cache/fontconfig/abc-le64.cache-8.TMP-1", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 4
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! `needless fix` does this on a host. In an image: run `fc-cache -f` when it is built, and again when fonts are added. Or give the program a
//! directory for caches that it may write: XDG_CACHE_HOME, which other programs use, too. The first
//! start after that fills it. This does not help if the directory is lost with the container.
//!
//! ## References
//!
//! * `man 1 fc-cache`
//! * <https://github.com/NixOS/nixpkgs/pull/12668>

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Remedy, Row, Setting, Stage};
use std::collections::HashSet;

pub(crate) const RULE: Rule = Rule {
    name: "font-cache",
    summary: "Fonts are opened and read at each start, because there is no cache",
    mentions: &["fontconfig"],
    setting: Some(|_| Ok(remedy())),
    ..Rule::PLAIN
};

/// A program that draws opens a few fonts.
const FEWEST: u64 = 10;

/// open, fcntl (close on exec), fstat, mmap, close and munmap.
const CALLS: u64 = 6;
/// open, fstat, two reads and close of a directory.
const CALLS_DIRECTORY: u64 = 5;

fn remedy() -> Remedy {
    helpers::setting(
        Setting::FontCache,
        "Run fc-cache -f where the fonts are installed, such as when the image is built",
        "Changes the system's cache; repeat it when fonts are installed.",
    )
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let is_cache = |path: &str| path.contains("fontconfig") && path.contains(".cache-");
    let without = |id: ProcId| {
        let caches = || {
            let rows = view.rows_of(id).map(|(_, row)| row);
            rows.filter(|row| is_cache(view.profile.path(row)))
        };
        let has = |row: &Row| row.ok() && row.query == Query::Open;
        let wrote = |row: &Row| row.ok() && row.query.changes();
        caches().any(helpers::absent) && !caches().any(|row| has(row) || wrote(row))
    };
    let class = |row: &Row, path: &str| {
        RowClass::Needless.when(row.query == Query::Open && row.ok() && is_font(path))
    };
    let cases = helpers::cases(view, sink, without, class);
    let fonts = view.rows_where(is_font).into_iter().map(|(_, row)| view.profile.path(row));
    let above: HashSet<&str> =
        fonts.flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at])).collect();
    // Before and after, fontconfig looks for the cache and for a place to write one. It reads each
    // directory once for the directories in it, and then for the fonts in it.
    let more = |(_, row): (usize, &Row)| {
        let path = view.profile.path(row);
        match row.query {
            Query::Stat if row.ok() && is_font(path) => row.count,
            Query::Open if row.ok() && above.contains(path.trim_end_matches('/')) => {
                (row.count - 1) * CALLS_DIRECTORY
            }
            _ if path.contains("fontconfig") && of_a_cache(path) && !row.ok() => row.count,
            _ => 0,
        }
    };
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let more: u64 = cases.iter().flat_map(|case| view.rows_of(case.process)).map(more).sum();
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} opens of font files at the start");
        let why = format!(
            "fontconfig, which {program} uses, found no cache of the fonts and wrote none: it has \
             no directory that it may write to."
        );
        let remedies = vec![
            remedy(),
            helpers::by_hand(
                "Set XDG_CACHE_HOME, for this program, to a directory that it may write and that is kept",
                "Other programs that inherit it put their caches there, too.",
            ),
        ];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS)) + more as i64;
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// Whether this may be a cache or its directory: the configuration of fonts is read in any case.
fn of_a_cache(path: &str) -> bool {
    path.ends_with("/fontconfig") || path.ends_with("/.fontconfig") || path.contains(".cache-")
}

fn is_font(path: &str) -> bool {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    [".ttf", ".otf", ".ttc", ".pfb", ".pfa", ".afm", ".pcf"].iter().any(|end| path.ends_with(end))
}
