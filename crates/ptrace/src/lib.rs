//! Runs a command under ptrace, without privilege, and fills a profile.
//!
//! By default only the calls that rules ask about stop: a seccomp filter picks them
//! (`SECCOMP_RET_TRACE`), everything else runs untouched. With [`TraceOptions::all`] every call stops
//! and the totals are exact. A process that installs a seccomp filter of its own stops at every call, because that
//! filter may refuse calls before ours sees them.
//!
//! [`run`] is for the user's command: it splits into a supervisor, the process that the shell sees, a tracer that
//! outlives it, so that the command survives when needless is killed, and a watchdog for when both are.
//! [`trace`] is for small probes and does not split.
//!
//! What the command can see of needless: its parent is the supervisor; `/proc/self/status` shows `TracerPid`
//! and, by default, `Seccomp: 2` and (unprivileged) `NoNewPrivs: 1`; it cannot trace others; `seccomp(2)` in
//! strict mode is refused to it.
//!
//! # The processes of a run
//!
//! ```text
//! shell ── supervisor (the process that the user started)
//!             ├── tracer ("nl-tracer", in a process group of its own)
//!             ├── command (the user's process group and terminal)
//!             │     └── its children …
//!             └── watchdog ("nl-watchdog", likewise; sleeps)
//! ```
//!
//! The *supervisor* is the parent of the command, passes on the signals that were meant for it, stops and continues
//! with it, and ends as it ended, by the same signal if it was one. What the Rust runtime and needless changed of
//! themselves (signal mask, SIGPIPE, closed standard descriptors) was recorded before, and is restored in the command.
//!
//! The command waits on a pipe until the tracer has seized it (`PTRACE_SEIZE`), installs the filter and execs. The
//! filter's number distinguishes our stops from those of a filter of the command's own; the latter are refused, as
//! without needless. It also stops two kinds of clone, and clone3, whose flags are in memory: with `CLONE_NEWNS` the
//! child has mounts of its own, and from then on the root of each new program is looked up; `CLONE_UNTRACED` is removed
//! (`untraced.rs`). strace does not follow such children: they are the one exception to its counts. With
//! [`TraceOptions::all`] they are counted, too, but for those of a command that has a seccomp filter.
//!
//! A stop at a filtered call reads the path. Whether the thread stops a second time, at the exit of the call, *adapts*:
//! the first 8 answers to a question are read, then every 64th. Between these, a stat, access or readlink is assumed to
//! have been answered as before, and the row says how many were (`Row::assumed`). Opens and changes always stop twice.
//! A filter of the command's own decides before ours where it refuses a call, so a process that installs one stops at
//! the entry and the exit of each call from there on (`Group::has_filter`). Calls that wait (`poll`, `nanosleep` …),
//! new processes and their ends are a *barrier*: what is asked again after one is not repeated. `wait4` does not stop:
//! the end that it waits for does. Hot sites are patched (`patch.rs`).
//!
//! At the 2nd, 8th, 64th, 512th … time of a question, and from the 8th on at the three that follow (a program may ask
//! from several places in turn), up to 16 KiB of the stack are copied, for the call sites.
//!
//! If the command has ended but a process that it left behind has not, Ctrl-C or SIGTERM gets the report of what was
//! seen so far.
//!
//! # What may be killed
//!
//! * The command: that is its exit.
//! * The supervisor: the tracer goes on resuming calls until all processes have ended, and then ends without a report.
//! * The tracer is not in the terminal's process group and does not carry needless's name, so neither Ctrl-C nor `killall
//!   needless` reaches it. If somebody kills it, the supervisor takes its place (`rescue.rs`) and lets every call run,
//!   unobserved. Filtered calls of the time in between fail with ENOSYS; the supervisor asks the scheduler to run at once
//!   (`priority.rs`).
//! * Both, in any order, at once or hours apart: the watchdog does the same (`watchdog.rs`).
//! * The watchdog: the supervisor starts another. Where that is gone, the watchdog has forked, and each of the two starts
//!   another if one is killed.
//! * Who has taken the place: the kernel ends what it had seized.
//!
//! # Ways not taken
//!
//! Stopping at every call costs a program some ten times its CPU time, whatever it does; with the filter that is true
//! only of calls that rules ask about. seccomp's user notification is a third cheaper than a stop, but the supervisor
//! never sees what the kernel answered, and a rule that cannot distinguish a hit from a miss cannot distinguish needed
//! from needless. A filter cannot be put into a process from outside, so what runs already is not traced: `attach` is
//! eBPF's.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for patched call sites"))]

mod arg_class;
mod calls;
mod channel;
mod drain;
mod due;
mod early;
mod ending;
mod error;
mod filter;
mod first_stack;
mod lifecycle;
mod memory;
mod overhead;
#[cfg(target_arch = "x86_64")]
mod patch;
#[cfg(not(target_arch = "x86_64"))]
#[path = "patch_absent.rs"]
mod patch;
mod priority;
mod rescue;
mod returned;
mod roster;
mod sampling;
mod stack;
mod supervisor;
mod sys;
mod syscall_info;
mod tracer;
mod tree;
mod untraced;
mod watchdog;

pub use error::TraceError;
pub use patch::PATCH_AFTER;

use needless_host::Stack;
use needless_launch::{Launch, Original};
use needless_model::{Exit, Limits, ProcId, Profile, WatchList};
use std::os::fd::OwnedFd;

/// How to trace.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// Stop at every call, for exact totals; several times slower.
    pub all: bool,
    /// The environment variables to keep; others are never stored.
    pub watch: WatchList,
    /// Bounds of the profile.
    pub limits: Limits,
    /// After so many stops at a call site, patch it, so that it counts itself: x86-64 only, without effect elsewhere and
    /// with `all`.
    pub patch_after: Option<u32>,
    /// Take snapshots of the stacks where repeated calls are made.
    pub stacks: bool,
}

/// The result of a trace.
#[derive(Debug)]
pub struct Traced {
    /// The calls. The first process is the command.
    pub profile: Profile,
    /// How the command ended.
    pub exit: Exit,
    /// Snapshots, in the order they were taken. At most 16,384; more are counted as lost.
    pub stacks: Vec<Stack>,
    /// The root directories (`O_PATH`) of processes whose root or mount namespace is not ours. At
    /// most 256.
    pub roots: Vec<(ProcId, OwnedFd)>,
    /// What a [`needless_launch::Stdio::Capture`] command wrote to its stdout.
    pub stdout: Vec<u8>,
}

/// Runs the user's command, split from this process. **Returns in another process**: the calling
/// process becomes the supervisor, which waits, passes signals and job control on, and ends as the
/// command ended or, if it never ran, as the other process ends. Call it while the process has one
/// thread; the report and [`exit_like`](needless_launch::exit_like) follow it.
///
/// Waits for the command and all its descendants, as `strace -f` does; SIGINT, SIGTERM, SIGHUP or
/// SIGQUIT after the command has ended asks for the report of what was seen until then. If the
/// supervisor was killed in the meantime, no one waits for a report: the process then ends here.
///
/// If the *tracer* is killed (SIGKILL; its name is `nl-tracer`), the supervisor takes its place, without
/// observing: the command goes on. Filtered calls of the time in between fail with ENOSYS; with
/// [`TraceOptions::all`] there is no filter. That time is short if the supervisor may be a real-time process; if not, it
/// depends on the scheduler. If both are killed, the watchdog (`nl-watchdog`) does the same. Where a process may not be
/// traced again it is ended, as are all if the process that has taken the place is killed, too. If permitted, none
/// of the three is killed when memory is short.
///
/// # Errors
///
/// See [`TraceError`]; also returned in the other process.
pub fn run(launch: Launch, options: &TraceOptions) -> Result<Traced, TraceError> {
    let original = Original::record_and_block().map_err(blocked)?;
    let possible = Possible::of(options);
    let options = &possible.options;
    let prepared = tracer::prepare(&launch, options, original)?;
    let (supervisor, command, roster) = channel::split(prepared, original, !options.all)?;
    tracer::trace(command, options, original, Some((&supervisor, roster)))
        .map(|traced| possible.note(traced))
        .inspect_err(|_| supervisor.give_up(original))
}

/// The options, as far as the seccomp filter lets us that this process has.
struct Possible {
    options: TraceOptions,
    forbidden: bool,
}

impl Possible {
    fn of(options: &TraceOptions) -> Possible {
        let forbidden = !options.all && untraced::forbids_filters();
        Possible {
            options: TraceOptions { all: options.all || forbidden, ..options.clone() },
            forbidden,
        }
    }

    /// Says what was done instead.
    fn note(&self, mut traced: Traced) -> Traced {
        let note = "the seccomp filter under which needless was started (of a container, a service or a sandbox) allows no other: every call stops, as with --all";
        traced.profile.notes.extend(self.forbidden.then(|| note.to_owned()));
        traced
    }
}

/// Runs a command without the split: if this process is killed, so is the command, unless every call stops
/// ([`TraceOptions::all`]).
///
/// # Errors
///
/// See [`TraceError`].
pub fn trace(launch: Launch, options: &TraceOptions) -> Result<Traced, TraceError> {
    // A tracer waits for all children of its thread: a separate thread has no others.
    std::thread::scope(|scope| {
        let tracer = scope.spawn(|| {
            let original = Original::record_and_block().map_err(blocked)?;
            let possible = Possible::of(options);
            let options = &possible.options;
            let prepared = tracer::prepare(&launch, options, original)?;
            let pid = prepared.fork(None)?;
            original.restore_mask();
            let traced = tracer::trace(prepared.held(pid), options, original, None)?;
            Ok(possible.note(traced))
        });
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn blocked(errno: nix::errno::Errno) -> TraceError {
    TraceError::start("sigprocmask", errno)
}
