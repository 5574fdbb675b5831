//! Snapshots of stacks, with the files that were mapped then.

use super::Map;
use crate::session::layout::{MappingMessage, RowKey, StackMessage};
use needless_host::{MappedFiles, Module, Stack};
use std::collections::HashMap;
use std::sync::Arc;

/// Most snapshots kept.
const MAX_STACKS: usize = 4096;

/// The snapshots so far.
#[derive(Default)]
pub(crate) struct Samples {
    samples: Vec<Sampled>,
    files: MappedFiles,
    /// The mapped files of images, as sent right before a snapshot.
    mapped: Map<u32, Arc<Vec<Module>>>,
}

struct Sampled {
    key: RowKey,
    stack: Stack,
}

impl Samples {
    /// Keeps a snapshot; false: there is no room.
    pub(crate) fn add(&mut self, about: &StackMessage, bytes: &[u8]) -> bool {
        if self.samples.len() >= MAX_STACKS {
            return false;
        }
        let modules = match self.mapped.get(&about.key.image) {
            Some(modules) => modules.clone(),
            None => self.modules(about.pid, about.at.pc),
        };
        let stack = Stack {
            row: 0,
            weight: about.weight,
            pc: about.at.pc,
            sp: about.at.sp,
            fp: about.at.fp,
            lr: about.at.lr,
            bytes: bytes.into(),
            modules,
        };
        self.samples.push(Sampled { key: about.key, stack });
        true
    }

    /// A file that an image has mapped.
    pub(crate) fn mapped(&mut self, about: &MappingMessage, path: String) {
        let modules = self.mapped.entry(about.head.image).or_default();
        if about.first != 0 {
            *modules = Arc::default();
        }
        let file = self.files.open(about.pid as i32, &path, about.inode);
        Arc::make_mut(modules).push(Module {
            path: path.into(),
            file,
            start: about.start,
            end: about.end,
            offset: about.page * rustix::param::page_size() as u64,
        });
    }

    /// The files that process `pid` has mapped, one of them at `pc`.
    fn modules(&mut self, pid: u32, pc: u64) -> Arc<Vec<Module>> {
        let known = self.samples.iter().rev().map(|sample| &sample.stack.modules);
        let fits = |m: &&Arc<Vec<Module>>| m.iter().any(|m| (m.start..m.end).contains(&pc));
        let fresh = self.files.modules(pid as i32);
        if fresh.is_empty() {
            // It has ended. A sibling of the same image has the same addresses.
            return known.take(64).find(fits).cloned().unwrap_or_default();
        }
        Arc::new(fresh)
    }

    /// The rows that have snapshots, with no position yet.
    pub(crate) fn rows(&self) -> HashMap<RowKey, usize> {
        self.samples.iter().map(|sample| (sample.key, usize::MAX)).collect()
    }

    /// The snapshots of rows whose position is known.
    pub(crate) fn stacks(self, rows: &HashMap<RowKey, usize>) -> Vec<Stack> {
        let stacks = self.samples.into_iter().filter_map(|sample| {
            let row = *rows.get(&sample.key).filter(|row| **row != usize::MAX)?;
            Some(Stack { row, ..sample.stack })
        });
        stacks.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::events::Events;
    use crate::{Room, SessionOptions};
    use needless_model::{Facts, Loss, Window};
    use zerocopy::FromZeros;

    #[test]
    fn a_snapshot_that_finds_no_room_here_is_counted_as_lost() {
        let room = Room { processes: 1, threads: 1, images: 1 };
        let options = SessionOptions { stacks: true, room, ..SessionOptions::default() };
        let mut events = Events::new(&options, 0);
        // No process has this number: nothing is asked of /proc.
        let message = StackMessage { pid: u32::MAX, ..StackMessage::new_zeroed() };
        for taken in 0..MAX_STACKS + 3 {
            assert_eq!(events.samples.samples.len(), taken.min(MAX_STACKS));
            events.sampled(&message, &[]);
        }
        let rows = HashMap::from([(message.key, 0)]);
        let observed = events.observed(
            &SessionOptions::default(),
            Facts::default(),
            Window::default(),
            &rows,
            &std::collections::HashSet::new(),
        );
        assert_eq!(observed.stacks.len(), MAX_STACKS);
        assert_eq!(observed.profile.lost.get(&Loss::Stacks), Some(&3));
    }
}
