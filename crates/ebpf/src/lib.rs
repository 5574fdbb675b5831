//! Counts system calls in the kernel, with one eBPF program and no event per call, and fills a
//! profile.
//!
//! Needs CAP_BPF and CAP_PERFMON (or root) and a kernel with BTF, from Linux 5.8. What is observed
//! is not slowed down by more than the counting: nothing stops, and if we are killed the kernel
//! removes the programs with our descriptors.

#[cfg(ebpf)]
mod attach;
#[cfg(ebpf)]
mod events;
#[cfg(ebpf)]
mod rows;
#[cfg(ebpf)]
mod session;
#[cfg(ebpf)]
mod wire;

#[cfg(not(ebpf))]
mod without;

#[cfg(ebpf)]
pub use session::Session;
#[cfg(not(ebpf))]
pub use without::Session;

use needless_host::Stack;
use needless_model::{Limits, ProcId, Profile};
use std::fmt;
use std::os::fd::OwnedFd;

/// Whether this build has the backend: without clang and libelf it is built without.
pub const BUILT: bool = cfg!(ebpf);

/// Whether this process has the rights: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, which had them
/// before Linux 5.8 (capabilities(7)).
pub fn allowed() -> bool {
    // linux/capability.h
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    effective & SYS_ADMIN != 0 || effective & PERFMON_AND_BPF == PERFMON_AND_BPF
}

/// What to observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The next process that this process forks, from its first exec on, and what comes of it.
    Launched,
    /// Those that are given to [`Session::observe`], and what they fork from then on.
    Chosen,
    /// Every process of the machine, but ourselves.
    Everyone,
}

/// How to observe.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionOptions {
    /// Also keep rows of calls that name no path.
    pub all: bool,
    /// Measure the kernel time of each call, at the price of a second hook.
    pub latency: bool,
    /// Take snapshots of the stacks of repeated questions.
    pub stacks: bool,
    /// The environment variables to keep; others are never stored.
    pub watch: &'static [&'static str],
    /// Bounds of the profile.
    pub limits: Limits,
    /// Bounds of what is observed at a time.
    pub room: Room,
}

/// How much the kernel keeps at a time; what finds no room is counted as lost. Smaller in tests.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Processes observed.
    pub processes: u32,
    /// Threads that are in a call, where calls are timed.
    pub threads: u32,
    /// Programs that processes have been, each exec and fork a new one.
    pub images: u32,
}

impl Default for Room {
    fn default() -> Room {
        // Images that we number ourselves count down from the end: see `Session::observe`.
        Room { processes: 16_384, threads: 16_384, images: 0xffff_0000 }
    }
}

/// What was observed.
#[derive(Debug)]
pub struct Observed {
    /// The calls. Of a launched command, the first process is the command.
    pub profile: Profile,
    /// Snapshots of stacks.
    pub stacks: Vec<Stack>,
    /// The root directories (`O_PATH`) of processes whose root or mount namespace is not ours.
    pub roots: Vec<(ProcId, OwnedFd)>,
    /// The control group of processes, as its cgroup v2 number (the inode of its directory).
    pub cgroups: Vec<(ProcId, u64)>,
}

/// Why nothing can be observed this way: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionError(pub(crate) String);

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SessionError {}
