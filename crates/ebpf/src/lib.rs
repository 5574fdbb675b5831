//! Counts system calls in the kernel, with an eBPF program and no event per call, and fills a
//! profile.
//!
//! Needs CAP_BPF and CAP_PERFMON (or root) and a kernel with BTF, from Linux 5.8. An observed process
//! is slowed down by the counting only: it never stops. If needless is killed, the kernel closes its
//! descriptors and removes the programs.
//!
//! One process loads the programs, forks the command, waits for it (`launch/src/supervise.rs`), takes the kernel's
//! messages ten times a second, and reports. The program at the return of calls finds the process in a map (the
//! command, and what it forked), hashes the path, and counts in a row of another map. A call that no rule asks about is
//! counted in an array of the CPU, by process, number and error. What is new (a path, a process, an exec with its
//! environment) goes through a ring buffer.
//!
//! `attach` and `host` do the same without a command: processes are put into the map (with the descendants of one that
//! is named, which are listed again until no new one is found), or every process is counted. `top` takes one window
//! after the other from the same maps: what they hold less what earlier windows had (`session/ledger.rs`). Once the
//! command is forked and the programs are attached, capabilities are given up step by step (`observe/src/rights.rs`).
//! Nothing is pinned.
//!
//! `docs/decisions/counting-in-the-kernel.md` says why the maps, the texts and the numbers are as they are.

// Without clang and libelf, build.rs does not set `ebpf`.
#[cfg_attr(not(ebpf), path = "without.rs")]
mod session;

pub use session::Session;

use needless_host::Stack;
use needless_model::{Limits, ProcId, Profile, WatchList};
use std::fmt;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// The version of libbpf that is built in, as its header has it; `None` in a build without the backend.
pub const LIBBPF: Option<&str> = option_env!("LIBBPF_VERSION");

/// Whether this build has the backend, and this process the rights: CAP_BPF and CAP_PERFMON, or
/// CAP_SYS_ADMIN, which included them before Linux 5.8 (capabilities(7)).
///
/// # Errors
/// [`SessionError::NotBuilt`], [`SessionError::NoRights`].
pub fn usable() -> Result<(), SessionError> {
    // linux/capability.h
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;
    if !cfg!(ebpf) {
        return Err(SessionError::NotBuilt);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let allowed = effective & SYS_ADMIN != 0 || effective & PERFMON_AND_BPF == PERFMON_AND_BPF;
    if allowed { Ok(()) } else { Err(SessionError::NoRights) }
}

/// What to observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The next process that this process forks, from its first exec on, and all that it starts.
    Launched,
    /// The processes given to [`Session::observe`], and what they fork from then on.
    Chosen,
    /// Every process of the machine, except this one.
    Everyone,
}

/// How to observe.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Also keep rows of calls that name no path.
    pub all: bool,
    /// Measure the kernel time of each call, at the cost of a second program.
    pub latency: bool,
    /// Take snapshots of the stacks where repeated calls are made.
    pub stacks: bool,
    /// Measure what the programs in the kernel take: [`Session::run_time`].
    pub metered: bool,
    /// The environment variables to keep; others are never stored.
    pub watch: WatchList,
    /// Limits of the profile.
    pub limits: Limits,
    /// Limits of what is observed at a time.
    pub room: Room,
}

/// How much the kernel keeps at a time; the rest is counted as lost. Tests use smaller values.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Processes observed.
    pub processes: u32,
    /// Threads that are in a call, where calls are timed.
    pub threads: u32,
    /// Images of processes: each exec and fork makes one.
    pub images: u32,
}

impl Default for Room {
    fn default() -> Room {
        // `Session::observe` numbers images downwards from the last number.
        Room { processes: 16_384, threads: 16_384, images: 0xffff_0000 }
    }
}

/// What was observed.
#[derive(Debug)]
pub struct Observed {
    /// The calls. If a command was launched, it is the first process.
    pub profile: Profile,
    /// Snapshots of stacks.
    pub stacks: Vec<Stack>,
    /// The root directories (`O_PATH`) of processes whose root or mount namespace differs from this process's.
    pub roots: Vec<(ProcId, OwnedFd)>,
    /// The control groups of processes: the path of each below the mount point of cgroup v2, "/" for the group that is
    /// mounted there.
    pub cgroups: Vec<(ProcId, Rc<str>)>,
}

/// Why nothing can be observed this way: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// needless was built on a machine without clang or libelf.
    NotBuilt,
    /// The process lacks the capabilities.
    NoRights,
    /// The kernel has no BTF.
    NoTypes,
    /// The programs could not be loaded or attached, for this reason.
    Load(String),
    /// Another step failed, for this reason.
    Failed(String),
    /// The kernel refused to observe this process.
    Observe {
        /// The process.
        pid: u32,
        /// The reason.
        why: String,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::NotBuilt => f.write_str(
                "this needless was built without eBPF; install clang, libelf-dev and zlib1g-dev and build it again",
            ),
            SessionError::NoRights => f.write_str(
                "eBPF is not allowed: it needs CAP_BPF and CAP_PERFMON; run as root, or: sudo setcap cap_bpf,cap_perfmon+ep on this program",
            ),
            SessionError::NoTypes => f.write_str(
                "eBPF is not possible: this kernel does not show its types (no /sys/kernel/btf/vmlinux; it needs CONFIG_DEBUG_INFO_BTF, Linux 5.8)",
            ),
            SessionError::Load(why) => write!(f, "eBPF is not possible: {why}"),
            SessionError::Failed(why) => write!(f, "eBPF failed: {why}"),
            SessionError::Observe { pid, why } => write!(f, "cannot observe process {pid}: {why}"),
        }
    }
}

impl std::error::Error for SessionError {}
