//! Snapshots of user stacks, to be unwound after the run.

use crate::sys::{self, SyscallInfo, Tid};
use crate::tree::Group;
use needless_tracee::{Files, Module, Stack};
use std::sync::Arc;

/// Most snapshots kept of one run.
const MAX_STACKS: usize = 4096;
/// Most bytes of a stack.
const MAX_BYTES: usize = 16 * 1024;
/// How long what is mapped is taken to stay so, nanoseconds.
const MODULES_LAST_NS: u64 = 10_000_000;

/// The snapshots taken so far.
pub(crate) struct Stacks {
    wanted: bool,
    pub(crate) taken: Vec<Stack>,
    files: Files,
}

impl Stacks {
    pub(crate) fn new(wanted: bool) -> Stacks {
        Stacks { wanted, taken: Vec::new(), files: Files::default() }
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
                let modules = Arc::new(self.files.modules(tid));
                group.modules = Some((modules.clone(), now));
                modules
            }
        };
        self.taken.push(Stack { row, weight, pc: info.ip, sp: info.sp, fp, lr, bytes, modules });
    }
}
