//! A snapshot of a stack, and the files mapped executable that it runs through.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// The user stack of a thread inside a call, to unwind later.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Which row of the profile the call was counted in.
    pub row: usize,
    /// How many calls the snapshot stands for: those since the one before.
    pub weight: u64,
    /// Program counter: after the system call instruction.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer register, which may hold any value.
    pub fp: u64,
    /// Link register; 0 where the machine has none.
    pub lr: u64,
    /// Memory from `sp` upwards, at most 16 KiB; words that are not addresses may be 0.
    pub bytes: Arc<[u8]>,
    /// What is mapped executable.
    pub modules: Arc<Vec<Module>>,
}

/// A file mapped executable.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its path as the kernel reports it.
    pub path: PathBuf,
    /// The file itself, opened below the process's own root while it lived; `None` where that
    /// failed or the file there is another one.
    pub file: Option<Arc<File>>,
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file of `start`.
    pub offset: u64,
}
