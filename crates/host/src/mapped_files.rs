//! Which files a process has mapped where.

use crate::{Mapping, Module};
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
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
        let executable = Mapping::all(&maps).filter(|mapping| mapping.access.contains('x'));
        executable
            .map(|mapping| {
                let file = self.file(pid, &mapping);
                let Mapping { range, offset, path, .. } = mapping;
                Module { path: path.into(), file, start: range.start, end: range.end, offset }
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
