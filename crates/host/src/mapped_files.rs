//! Which files a process has mapped where.

use crate::Module;
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Most files kept open.
const MAX_FILES: usize = 512;

/// Mapped files, each opened once. The key is the inode, with the device as /proc/PID/maps writes it or with the
/// path.
#[derive(Debug, Default)]
pub struct MappedFiles(HashMap<(String, u64), Option<Arc<File>>>);

impl MappedFiles {
    /// The files that process or thread `pid` has mapped executable; empty where it has ended.
    pub fn modules(&mut self, pid: i32) -> Vec<Module> {
        let maps = crate::read_whole(&format!("/proc/{pid}/maps")).unwrap_or_default();
        let maps = String::from_utf8_lossy(&maps);
        maps.lines()
            .filter_map(|line| {
                let mapping = Mapping::parse(line)?;
                let file = self.file(pid, &mapping);
                let Mapping { start, end, offset, path, .. } = mapping;
                Some(Module { path: PathBuf::from(path), file, start, end, offset })
            })
            .collect()
    }

    fn file(&mut self, pid: i32, mapping: &Mapping<'_>) -> Option<Arc<File>> {
        let key = (mapping.device.to_owned(), mapping.inode);
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        if !mapping.path.starts_with('/') {
            return None;
        }
        let path = format!("/proc/{pid}/root{}", mapping.path);
        self.keep(key, open(&path, mapping.inode))
    }

    /// The file `path` with this inode number, below the root of process `pid` while that lives, else below our own
    /// root; `None` where the file there is another one or none.
    pub fn open(&mut self, pid: i32, path: &str, inode: u64) -> Option<Arc<File>> {
        let key = (path.to_owned(), inode);
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        let file = open(&format!("/proc/{pid}/root{path}"), inode).or_else(|| open(path, inode));
        self.keep(key, file)
    }

    fn keep(&mut self, key: (String, u64), file: Option<File>) -> Option<Arc<File>> {
        if self.0.len() >= MAX_FILES {
            return None;
        }
        let file = file.map(Arc::new);
        self.0.insert(key, file.clone());
        file
    }
}

fn open(path: &str, inode: u64) -> Option<File> {
    // Another file may be there by now: opening it must not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    // On an overlay or btrfs, maps shows another device number; the inode is the same.
    let same = file.metadata().is_ok_and(|about| about.ino() == inode && about.is_file());
    same.then_some(file)
}

/// A line of /proc/PID/maps (proc(5)) that is mapped executable.
struct Mapping<'a> {
    start: u64,
    end: u64,
    offset: u64,
    device: &'a str,
    inode: u64,
    path: &'a str,
}

impl Mapping<'_> {
    fn parse(line: &str) -> Option<Mapping<'_>> {
        let mut rest = line;
        let mut field = || {
            let trimmed = rest.trim_start();
            let (word, after) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
            rest = after;
            word
        };
        let (start, end) = field().split_once('-')?;
        let executable = field().contains('x');
        let (offset, device, inode) = (field(), field(), field());
        let hex = |text| u64::from_str_radix(text, 16).ok();
        executable.then_some(())?;
        Some(Mapping {
            start: hex(start)?,
            end: hex(end)?,
            offset: hex(offset)?,
            device,
            inode: inode.parse().ok()?,
            path: rest.trim_start(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_are_read_with_their_blanks() {
        let line = "55d0c000-55d0d000 r-xp 00001000 fe:01 131   /opt/my app/lt (deleted)";
        let m = Mapping::parse(line).unwrap();
        assert_eq!((m.start, m.end, m.offset), (0x55d0_c000, 0x55d0_d000, 0x1000));
        assert_eq!((m.device, m.inode, m.path), ("fe:01", 131, "/opt/my app/lt (deleted)"));
        assert!(Mapping::parse("7f00-7f01 rw-p 00000000 00:00 0 [heap]").is_none());
        let vdso = Mapping::parse("7f00-7f01 r-xp 00000000 00:00 0 [vdso]").unwrap();
        assert_eq!(vdso.path, "[vdso]");
        let anonymous = Mapping::parse("7f00-7f01 r-xp 00000000 00:00 0 ").unwrap();
        assert_eq!(anonymous.path, "");
    }
}
