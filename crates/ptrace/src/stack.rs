//! Snapshots of user stacks, and what is mapped where, to be unwound after the run.

use crate::sys::{self, SyscallInfo, Tid};
use crate::tree::Group;
use crate::{Module, Stack};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

/// Most snapshots kept of one run.
const MAX_STACKS: usize = 4096;
/// Most bytes of a stack.
const MAX_BYTES: usize = 16 * 1024;
/// How long what is mapped is taken to stay so, nanoseconds.
const MODULES_LAST_NS: u64 = 10_000_000;
/// Most files kept open.
const MAX_FILES: usize = 512;

/// The snapshots taken so far.
pub(crate) struct Stacks {
    wanted: bool,
    pub(crate) taken: Vec<Stack>,
    /// Mapped files by device (as /proc/PID/maps writes it) and inode.
    files: HashMap<(String, u64), Option<Arc<File>>>,
}

impl Stacks {
    pub(crate) fn new(wanted: bool) -> Stacks {
        Stacks { wanted, taken: Vec::new(), files: HashMap::new() }
    }

    /// Takes one of `tid`, which is stopped in a call counted in `row`.
    pub(crate) fn take(
        &mut self,
        tid: Tid,
        group: &mut Group,
        info: &SyscallInfo,
        row: usize,
        weight: u64,
    ) {
        if !self.wanted || self.taken.len() >= MAX_STACKS {
            return;
        }
        let Ok((fp, lr)) = sys::frame_registers(tid) else { return };
        let mut bytes = vec![0; MAX_BYTES];
        let read = sys::read_memory(tid, info.sp, &mut bytes);
        bytes.truncate(read);
        bytes.shrink_to_fit();
        let covers = |modules: &Arc<Vec<Module>>| {
            modules.iter().any(|m| (m.start..m.end).contains(&info.ip))
        };
        // A library that was loaded since is not where the call is made, but its frames are on the
        // stack all the same.
        let now = sys::now();
        let modules = match &group.modules {
            Some((known, as_of)) if covers(known) && now - as_of < MODULES_LAST_NS => known.clone(),
            _ => {
                let modules = Arc::new(self.modules(tid));
                group.modules = Some((modules.clone(), now));
                modules
            }
        };
        self.taken.push(Stack { row, weight, pc: info.ip, sp: info.sp, fp, lr, bytes, modules });
    }

    fn modules(&mut self, tid: Tid) -> Vec<Module> {
        let maps = std::fs::read(format!("/proc/{tid}/maps")).unwrap_or_default();
        let maps = String::from_utf8_lossy(&maps);
        maps.lines()
            .filter_map(|line| {
                let mapping = Mapping::parse(line)?;
                let file = self.file(tid, &mapping);
                let Mapping { start, end, offset, path, .. } = mapping;
                Some(Module { path: PathBuf::from(path), file, start, end, offset })
            })
            .collect()
    }

    fn file(&mut self, tid: Tid, mapping: &Mapping<'_>) -> Option<Arc<File>> {
        let key = (mapping.device.to_owned(), mapping.inode);
        if let Some(known) = self.files.get(&key) {
            return known.clone();
        }
        if self.files.len() >= MAX_FILES || !mapping.path.starts_with('/') {
            return None;
        }
        // Whatever has come to be there meanwhile: opening it must not wait.
        let open = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(format!("/proc/{tid}/root{}", mapping.path));
        let file = open.ok().filter(|file| {
            // The device number of an overlay or btrfs differs in maps; the inode does not.
            file.metadata().is_ok_and(|m| m.ino() == mapping.inode && m.is_file())
        });
        let file = file.map(Arc::new);
        self.files.insert(key, file.clone());
        file
    }
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
