//! Calls without a path that are known to be needed: how often a process has to make each, at most.
//!
//! No rule asks about these calls, so what exceeds the table is *not judged*. The sources, for glibc 2.31 to 2.41 (musl
//! makes fewer):
//!
//! * a program's start: elf/rtld.c, sysdeps/x86/cpu-features.c, csu/libc-tls.c, nptl/sysdeps' `__tls_init_tp`: the loader's
//!   own memory, the cache of libraries (ld.so(8)), the thread's own structures (set_tid_address(2), rseq(2),
//!   get_robust_list(2)), the limit of the stack, a seed of malloc, its first heap (brk(2));
//! * a library: elf/dl-load.c reads the header (read, up to three pread64), maps up to five segments, elf/dl-reloc.c
//!   protects what it has relocated (mprotect);
//! * an open that succeeded: fopen(3), opendir(3), mmap(2): look at the kind of the file, read once and find its end, or
//!   map it; close(2);
//! * a new process or thread: fork(2), nptl/pthread_create.c, sysdeps/unix/sysv/linux/spawni.c: its stack, its structures,
//!   signals blocked and restored around it; wait(2) for it, and once more to learn that no child is left.

use crate::rule::resources::small_transfers;
use needless_model::{ProcId, Query, Row, Spawn, Target};
use std::collections::HashMap;

/// What a process has to do to need a call so many times.
#[derive(Clone, Copy, PartialEq)]
enum Per {
    /// Run a program.
    Start,
    /// Load a library.
    Library,
    /// Open a file, a directory or a library.
    Open,
    /// Start a process or a thread.
    Child,
    /// Be a fork of another process.
    Fork,
}

/// Needed always: they begin and end processes.
const ALWAYS: [&str; 6] = ["exit", "exit_group", "clone", "clone3", "fork", "vfork"];

/// A call, what it is made for, and how many times at most.
const KNOWN: [(&str, Per, u64); 41] = [
    ("arch_prctl", Per::Start, 2),
    ("brk", Per::Start, 3),
    ("getrandom", Per::Start, 1),
    ("mmap", Per::Start, 3),
    ("mmap2", Per::Start, 3),
    ("mprotect", Per::Start, 2),
    ("munmap", Per::Start, 1),
    ("prlimit64", Per::Start, 1),
    ("readlink", Per::Start, 1),
    ("rseq", Per::Start, 1),
    ("set_robust_list", Per::Start, 1),
    ("set_thread_area", Per::Start, 1),
    ("set_tid_address", Per::Start, 1),
    ("ugetrlimit", Per::Start, 1),
    ("mmap", Per::Library, 5),
    ("mmap2", Per::Library, 5),
    ("mprotect", Per::Library, 1),
    ("munmap", Per::Library, 1),
    ("pread64", Per::Library, 3),
    ("close", Per::Open, 1),
    ("fstat", Per::Open, 1),
    ("fstat64", Per::Open, 1),
    ("newfstatat", Per::Open, 1),
    ("statx", Per::Open, 1),
    ("getdents64", Per::Open, 2),
    ("mmap", Per::Open, 1),
    ("mmap2", Per::Open, 1),
    ("munmap", Per::Open, 1),
    ("read", Per::Open, 2),
    ("close", Per::Child, 1),
    ("mmap", Per::Child, 1),
    ("mprotect", Per::Child, 1),
    ("munmap", Per::Child, 1),
    ("rseq", Per::Child, 1),
    ("set_robust_list", Per::Child, 1),
    ("rt_sigprocmask", Per::Child, 4),
    ("wait4", Per::Child, 2),
    ("waitid", Per::Child, 2),
    ("waitpid", Per::Child, 2),
    ("set_robust_list", Per::Fork, 1),
    ("rt_sigprocmask", Per::Fork, 1),
];

/// Whether a finding about opened files counts such calls among those that go with its own.
pub(crate) fn goes_with_opens(call: &str) -> bool {
    KNOWN.iter().any(|(name, per, _)| *name == call && matches!(per, Per::Library | Per::Open))
}

/// What a process did that needs calls, and which of these it has made.
#[derive(Default)]
struct Did {
    starts: u64,
    libraries: u64,
    opens: u64,
    children: u64,
    forks: u64,
    made: HashMap<&'static str, u64>,
}

/// What each process needs.
#[derive(Default)]
pub(crate) struct Known(HashMap<ProcId, Did>);

impl Known {
    /// A process that was `born` so.
    pub(crate) fn process(&mut self, id: ProcId, born: Spawn) {
        let did = self.0.entry(id).or_default();
        did.starts = u64::from(born == Spawn::Exec);
        did.forks = u64::from(born == Spawn::Fork);
    }

    /// `calls` of a row are needed: opens that succeeded, and new processes, need others.
    pub(crate) fn needed(&mut self, row: &Row, (call, path): (&str, &str), calls: u64) {
        let did = self.0.entry(row.process).or_default();
        match row.query {
            _ if !row.ok() => {}
            Query::Open | Query::OpenWrite => {
                did.opens += calls;
                let name = path.rsplit('/').next().unwrap_or(path);
                let library = name.ends_with(".so") || name.contains(".so.");
                did.libraries += if library { calls } else { 0 };
            }
            Query::NoPath if matches!(call, "clone" | "clone3" | "fork" | "vfork") => {
                did.children += calls;
            }
            _ => {}
        }
    }

    /// How many of the `calls` calls of a row, which no rule took, are known to be needed. Of calls without a path each
    /// is known once, so ask after all [`Known::needed`], and once for each row.
    pub(crate) fn of(&mut self, row: &Row, call: &str, calls: u64) -> u64 {
        match (row.query, row.target) {
            // Without their paths or arguments no rule can tell them apart.
            (_, Target::Folded) => 0,
            // A rule looked at its arguments.
            (_, Target::ArgClass(_)) => calls,
            // A look at a path that no rule asks about: the first one.
            (Query::OtherPath, _) => calls.min(1),
            (Query::NoPath, _) if ALWAYS.contains(&call) => calls,
            (Query::NoPath, _) if small_transfers::are_large(call, row) => calls,
            (Query::NoPath, _) => {
                let did = self.0.entry(row.process).or_default();
                let each = |per: Per| match per {
                    Per::Start => did.starts,
                    Per::Library => did.libraries,
                    Per::Open => did.opens,
                    Per::Child => did.children,
                    Per::Fork => did.forks,
                };
                let entries = KNOWN.iter().filter(|(name, ..)| *name == call);
                let most: u64 = entries.map(|(_, per, n)| each(*per).saturating_mul(*n)).sum();
                let Some((name, ..)) = KNOWN.iter().find(|(name, ..)| *name == call) else {
                    return 0;
                };
                let made = did.made.entry(name).or_default();
                let known = calls.min(most.saturating_sub(*made));
                *made += known;
                known
            }
            // A question about a path: rules looked at it.
            _ => calls,
        }
    }
}
