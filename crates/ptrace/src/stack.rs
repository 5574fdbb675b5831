//! Snapshots of user stacks, which are unwound after the run.

use crate::sys::{self, SyscallInfo, Tid};
use crate::tree::ThreadGroup;
use foldhash::fast::FixedState;
use needless_host::{MappedFiles, Module, Stack};
use needless_model::{Builder, Loss};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Most snapshots kept of one run.
const MAX_STACKS: usize = 16_384;
/// Most bytes of a stack.
const MAX_BYTES: usize = 16 * 1024;
/// Most bytes of all stacks that differ.
const MAX_TOTAL: usize = 8 << 20;
/// How long a list of mapped files is used, nanoseconds.
const MODULES_LAST_NS: u64 = 10_000_000;
/// How many lists of mapped files are compared with a new one: children that were forked from one
/// image have the same.
const RECENT_MODULES: usize = 32;

/// The snapshots taken so far.
pub(crate) struct Stacks {
    pub(crate) wanted: bool,
    pub(crate) taken: Vec<Stack>,
    /// The contents of stacks, each stored once: forked children mostly have the same.
    contents: HashSet<Arc<[u8]>, FixedState>,
    /// How many bytes they are.
    total: usize,
    recent: VecDeque<Arc<Vec<Module>>>,
    files: MappedFiles,
}

impl Stacks {
    pub(crate) fn new(wanted: bool) -> Stacks {
        Stacks {
            wanted,
            taken: Vec::new(),
            contents: HashSet::default(),
            total: 0,
            recent: VecDeque::new(),
            files: MappedFiles::default(),
        }
    }

    /// Takes a snapshot of `tid`, which is stopped in a call counted in `row`.
    pub(crate) fn take(
        &mut self,
        builder: &mut Builder,
        tid: Tid,
        group: &mut ThreadGroup,
        info: &SyscallInfo,
        (row, weight): (usize, u64),
    ) {
        if !self.wanted {
            return;
        }
        if self.taken.len() >= MAX_STACKS || self.total >= MAX_TOTAL {
            builder.lost(Loss::Stacks, 1);
            return;
        }
        let Ok((fp, lr)) = sys::frame_registers(tid) else { return };
        let modules = self.modules(tid, group, info.ip);
        let mut bytes = [0; MAX_BYTES];
        let read = sys::read_memory(tid, info.sp, &mut bytes);
        let bytes = self.share(addresses(&mut bytes[..read], info.sp, &modules));
        self.taken.push(Stack { row, weight, pc: info.ip, sp: info.sp, fp, lr, bytes, modules });
    }

    /// The files that `tid` has mapped executable.
    fn modules(&mut self, tid: Tid, group: &mut ThreadGroup, pc: u64) -> Arc<Vec<Module>> {
        let covers = |modules: &[Module]| {
            modules.iter().any(|module| (module.start..module.end).contains(&pc))
        };
        // The call may be made through a library that was loaded since: its frames are on the
        // stack.
        let now = sys::now();
        if let Some((known, as_of)) = &group.modules
            && covers(known)
            && now - as_of < MODULES_LAST_NS
        {
            return known.clone();
        }
        let read = self.files.modules(tid);
        let known = self.recent.iter().find(|known| same(known, &read)).cloned();
        let modules = known.unwrap_or_else(|| {
            let new = Arc::new(read);
            self.recent.truncate(RECENT_MODULES - 1);
            self.recent.push_front(new.clone());
            new
        });
        group.modules = Some((modules.clone(), now));
        modules
    }

    /// `bytes`, stored once.
    fn share(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        if let Some(known) = self.contents.get(bytes) {
            return known.clone();
        }
        let new: Arc<[u8]> = bytes.into();
        self.total += new.len();
        self.contents.insert(new.clone());
        new
    }
}

fn same(one: &[Module], other: &[Module]) -> bool {
    let file = |module: &Module| module.file.as_ref().map(Arc::as_ptr);
    let place = |module: &Module| (module.start, module.end, module.offset, file(module));
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| place(a) == place(b) && a.path == b.path)
}

/// The part of a stack from `sp` upwards that unwinding reads: addresses of code and of the stack itself.
/// The rest becomes 0, and zeros at the end are dropped. So stacks of the same calls are equal
/// for all values of the program's variables, and no value is kept.
fn addresses<'a>(stack: &'a mut [u8], sp: u64, modules: &[Module]) -> &'a [u8] {
    // The bits of a user-space address; signatures of return addresses are above them.
    const ADDRESS: u64 = (1 << 48) - 1;
    let code = modules.iter().map(|module| module.start).min().unwrap_or(0)
        ..modules.iter().map(|module| module.end).max().unwrap_or(0);
    let own = sp..sp + stack.len() as u64;
    let mut last = 0;
    let (words, _) = stack.as_chunks_mut();
    for (at, bytes) in words.iter_mut().enumerate() {
        let word = u64::from_ne_bytes(*bytes) & ADDRESS;
        if code.contains(&word) || own.contains(&word) {
            last = at + 1;
        } else {
            *bytes = [0; 8];
        }
    }
    &stack[..last * size_of::<u64>()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(start: u64, end: u64) -> Module {
        Module { path: "/lib/x".into(), file: None, start, end, offset: 0 }
    }

    #[test]
    fn of_a_stack_only_addresses_are_kept() {
        let words = |words: [u64; 6]| words.map(u64::to_ne_bytes).concat();
        let modules = [module(0x1000, 0x2000), module(0x5000, 0x6000)];
        let mut stack = words([0x7, 0x1010, 0x9008, 0x5fff, 0xdead, 0x12]);
        assert_eq!(
            addresses(&mut stack, 0x9000, &modules),
            &words([0, 0x1010, 0x9008, 0x5fff, 0, 0])[..32]
        );
        let mut empty = words([1, 2, 3, 4, 5, 6]);
        assert!(addresses(&mut empty, 0x9000, &modules).is_empty());
    }

    #[test]
    fn equal_contents_are_kept_once() {
        let mut stacks = Stacks::new(true);
        let (one, other) = (stacks.share(b"12345678"), stacks.share(b"12345678"));
        assert!(Arc::ptr_eq(&one, &other));
        stacks.share(b"87654321");
        assert_eq!(stacks.total, 16);
    }
}
