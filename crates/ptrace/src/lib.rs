//! Runs a command under ptrace, without privilege, and fills a profile.
//!
//! By default only the calls that rules need stop: a seccomp filter picks them
//! (`SECCOMP_RET_TRACE`), everything else runs untouched. With [`TraceOptions::all`] every call stops
//! and the totals are exact.
//!
//! [`run`] is for the user's command: it splits into a front process, which is what the shell
//! sees, and a tracer that outlives it, so that killing needless leaves the command alone.
//! [`trace`] is for small probes and does not split.
//!
//! What the command can see of us: its parent is the front; `/proc/self/status` shows `TracerPid`
//! and, by default, `Seccomp: 2` and (unprivileged) `NoNewPrivs: 1`; it cannot trace others; `seccomp(2)` in
//! strict mode is refused to it.

mod calls;
mod channel;
mod detail;
mod drain;
mod error;
mod filter;
mod front;
mod lifecycle;
mod memory;
mod rescue;
mod roster;
mod stack;
mod standing;
mod sys;
mod tracer;
mod tree;
mod untraced;

pub use error::TraceError;

use needless_host::Stack;
use needless_launch::{Launch, Original};
use needless_model::{Exit, Limits, ProcId, Profile};
use std::os::fd::OwnedFd;

/// How to watch.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// Stop at every call, for exact totals; several times slower.
    pub all: bool,
    /// The environment variables to keep; others are never stored.
    pub watch: &'static [&'static str],
    /// Bounds of the profile.
    pub limits: Limits,
    /// Take snapshots of the stacks of repeated questions.
    pub stacks: bool,
}

/// What was seen.
#[derive(Debug)]
pub struct Traced {
    /// The calls. The first process is the command.
    pub profile: Profile,
    /// How the command ended.
    pub exit: Exit,
    /// Snapshots, in the order they were taken. At most 16,384; what is beyond is counted as lost.
    pub stacks: Vec<Stack>,
    /// The root directories (`O_PATH`) of processes whose root or mount namespace is not ours. At
    /// most 256.
    pub roots: Vec<(ProcId, OwnedFd)>,
    /// What a [`Stdio::Capture`] command wrote to its stdout.
    pub stdout: Vec<u8>,
}

/// Runs the user's command, split from this process. **Returns in another process than it was
/// called in**: the one that was called waits, hands signals and job control on, and ends as the
/// command ended or, where it never ran, as that other process ends. To be called while the process has one thread, and to be followed by the
/// report and [`exit_like`].
///
/// Waits for the command and all its descendants, as `strace -f` does; SIGINT, SIGTERM, SIGHUP or
/// SIGQUIT after the command has ended gets the report of what was seen until then. If the front
/// process was killed meanwhile, there is nobody to report to: the process then ends here.
///
/// If the *tracer* is killed (SIGKILL; its name is `nl-tracer`), the front takes its place, without
/// observing: the command goes on. Filtered calls of the time in between fail with ENOSYS; with
/// [`TraceOptions::all`] there is no filter. That time is short where the front may be a real-time process, else the
/// scheduler's to say. Where we may, neither is killed when memory is short.
///
/// # Errors
///
/// See [`TraceError`]; also returned in the other process.
pub fn run(launch: Launch, options: &TraceOptions) -> Result<Traced, TraceError> {
    let original = Original::record_and_block().map_err(blocked)?;
    let prepared = tracer::prepare(&launch, options, original)?;
    let (front, command, roster) = channel::split(prepared, original, !options.all)?;
    tracer::trace(command, options, original, Some((&front, roster)))
        .inspect_err(|_| front.give_up(original))
}

/// Runs a small command without the split: if this process is killed, the command is left with
/// calls that fail.
///
/// # Errors
///
/// See [`TraceError`].
pub fn trace(launch: Launch, options: &TraceOptions) -> Result<Traced, TraceError> {
    // A tracer waits for all children of its thread: in a thread of its own, for no others.
    std::thread::scope(|scope| {
        let tracer = scope.spawn(|| {
            let original = Original::record_and_block().map_err(blocked)?;
            let prepared = tracer::prepare(&launch, options, original)?;
            let pid = prepared.fork(None)?;
            original.restore_mask();
            tracer::trace(prepared.held(pid), options, original, None)
        });
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn blocked(errno: nix::errno::Errno) -> TraceError {
    TraceError::start("sigprocmask", errno)
}
