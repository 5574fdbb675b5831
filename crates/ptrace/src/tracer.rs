//! The tracer's loop: the stops of threads, and their processes.

use crate::calls::{Entered, PathCalls};
use crate::channel::ToSupervisor;
use crate::drain::drain;
use crate::early::Early;
use crate::error::TraceError;
use crate::overhead::Overhead;
use crate::patch::Patching;
use crate::roster::Roster;
use crate::stack::Stacks;
use crate::sys::{self, Resume, Tid, Waited};
use crate::tree::Tree;
use crate::{TraceOptions, Traced, filter, patch};
use needless_launch::{Child, Launch, Original, Prepared};
use needless_model::{Backend, Builder, Exit, Fact, Facts, ProcId, Stops, Window};
use nix::errno::Errno;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Most stops collected before the first of them is handled.
const MAX_BATCH: usize = 64;
/// After so many looks without another stop, one in so many stops looks.
const FRUITLESS: u32 = 16;

/// Prepares the command, with the filter for `options`.
pub(crate) fn prepare(
    launch: &Launch,
    options: &TraceOptions,
    original: Original,
) -> Result<Prepared, TraceError> {
    let abis = needless_syscalls::abis();
    if abis.is_empty() {
        return Err(TraceError::Architecture);
    }
    let exempt = options.patch_after.and_then(|_| patch::exempt());
    let code = if options.all { Vec::new() } else { filter::program(&abis, exempt) };
    Ok(Prepared::new(launch, code, original)?)
}

/// Traces the waiting command and its descendants until all have ended.
pub(crate) fn trace(
    mut child: Child,
    options: &TraceOptions,
    original: Original,
    supervisor: Option<(&ToSupervisor, Roster)>,
) -> Result<Traced, TraceError> {
    let (supervisor, roster) = supervisor.unzip();
    let patching = options.patch_after.filter(|_| !options.all).and_then(patch::begin);
    // Dropping `child` on failure closes its pipe, and it ends by itself.
    seize(&mut child, seize_options(options.all, supervisor.is_some()), options.all)?;
    let mut tree = Tree::new(roster);
    // From its release on, it needs a tracer.
    tree.add_group(child.pid, None, None);
    child.release();

    let mut tracer = Tracer {
        builder: Builder::new(options.limits),
        calls: PathCalls::new(needless_syscalls::abis(), options.all),
        tree,
        stacks: Stacks::new(options.stacks),
        options,
        supervisor,
        command: child.pid,
        command_stopped: false,
        exit: None,
        unborn: None,
        reporter: None,
        shares_root: needless_host::RootId::of("self"),
        roots: Vec::new(),
        early: Early::default(),
        started: sys::now(),
        last_environment: None,
        overhead: Overhead::default(),
        patching,
    };
    if options.patch_after.is_some() && !options.all && tracer.patching.is_none() {
        tracer.builder.note(
            "call sites are not patched, so their calls stop: this machine or an inherited seccomp filter does not allow it",
        );
    }
    let reporter = match catch_unwind(AssertUnwindSafe(|| tracer.run())) {
        Ok(reporter) => reporter,
        Err(panic) => {
            let threads = tracer.tree.threads.keys().copied().chain(tracer.early.threads());
            // The supervisor, its parent, mirrors how it ended.
            drain(threads, tracer.command, |_| ());
            tracer.tree.over();
            resume_unwind(panic)
        }
    };
    match (reporter, supervisor) {
        (true, Some(supervisor)) => supervisor.be_reporter(original),
        // Reported already.
        (false, Some(_)) if tracer.supervisor.is_none() => std::process::exit(0),
        (false, Some(supervisor)) => supervisor.finish(original),
        (_, None) => {}
    }
    if tracer.exit.is_none() {
        let gone = match tracer.unborn {
            Some(Exit::Signal(signal)) => needless_launch::LaunchError::Killed { signal }.into(),
            _ => TraceError::start("the command ended before it could be executed", Errno::ECHILD),
        };
        return Err(child.failure().map_or(gone, TraceError::from));
    }
    Ok(tracer.finish(child.captured()))
}

/// `PTRACE_O_*`. `replaced`: whether another process takes the place of this one if it is killed.
fn seize_options(all: bool, replaced: bool) -> libc::c_int {
    sys::FOLLOW
        | match (all, replaced) {
            (true, _) => 0,
            (false, true) => libc::PTRACE_O_TRACESECCOMP,
            // The kernel ends the command with this process.
            (false, false) => libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL,
        }
}

/// Starts tracing the waiting child and, with `stop`, interrupts it; without, the
/// child can be released.
pub(crate) fn seize(child: &mut Child, options: libc::c_int, stop: bool) -> Result<(), TraceError> {
    child.ready();
    sys::seize(child.pid, options).map_err(TraceError::forbidden)?;
    if stop {
        sys::interrupt(child.pid).map_err(TraceError::forbidden)?;
    }
    Ok(())
}

/// The state of a run.
pub(crate) struct Tracer<'a> {
    pub(crate) builder: Builder,
    pub(crate) calls: PathCalls,
    pub(crate) tree: Tree,
    pub(crate) stacks: Stacks,
    pub(crate) options: &'a TraceOptions,
    pub(crate) supervisor: Option<&'a ToSupervisor>,
    /// Process id of the command.
    pub(crate) command: Tid,
    /// Whether the supervisor knows that the command is stopped.
    pub(crate) command_stopped: bool,
    pub(crate) exit: Option<Exit>,
    /// How the command ended, if it ended before its exec.
    pub(crate) unborn: Option<Exit>,
    /// The process that reports early, which is not traced.
    pub(crate) reporter: Option<Tid>,
    pub(crate) shares_root: Option<needless_host::RootId>,
    pub(crate) roots: Vec<(ProcId, OwnedFd)>,
    /// New threads whose parent's fork is not reported yet.
    pub(crate) early: Early,
    pub(crate) started: u64,
    /// The environment that was seen last, and the first of those that have it.
    pub(crate) last_environment: Option<(ProcId, Vec<u8>)>,
    overhead: Overhead,
    /// Whether hot call sites are patched, and what was.
    pub(crate) patching: Option<Patching>,
}

impl Tracer<'_> {
    /// Handles the stops of threads until all have ended. `true`: this is a separate process that
    /// reports early, while the tracer goes on.
    fn run(&mut self) -> bool {
        let mut waiting = VecDeque::new();
        // How often in turn no other stop was available.
        let mut alone = 0u32;
        loop {
            if let Some(waited) = waiting.pop_front() {
                self.handle(waited);
                continue;
            }
            // For any thread: beside those that are known there may be one whose parent was killed in its fork.
            let waited = if self.early.is_empty() { sys::wait() } else { self.wait_while_held() };
            match waited {
                Ok(waited) => {
                    waiting.push_back(waited);
                    // Threads that have just stopped cost more to handle than threads that have
                    // settled: with several threads, take all stops that are available. Where most of them wait,
                    // as a shell for its child, to look costs more.
                    alone = alone.wrapping_add(1);
                    let looks = alone < FRUITLESS || alone.is_multiple_of(FRUITLESS);
                    while looks && self.tree.threads.len() > 1 && waiting.len() < MAX_BATCH {
                        let Some(waited) = sys::poll_any() else { break };
                        waiting.push_back(waited);
                        alone = 0;
                    }
                }
                Err(Errno::EINTR) => {
                    if self.reporter.is_none()
                        && self.supervisor.is_some_and(ToSupervisor::wants_report)
                    {
                        // SAFETY: the tracer has one thread, so no other thread holds a lock whose copy would
                        // stay locked in the child.
                        match unsafe { libc::fork() } {
                            0 => {
                                self.note_running();
                                return true;
                            }
                            -1 => {}
                            pid => self.reporter = Some(pid),
                        }
                    }
                }
                Err(_) => {
                    self.tree.over();
                    return false;
                }
            }
        }
    }

    fn note_running(&mut self) {
        let still = self.tree.live();
        self.builder.note(format!(
            "{still} processes that the command started were still running when the report was asked for: what they did later is not in it"
        ));
    }

    fn finish(self, stdout: Vec<u8>) -> Traced {
        let facts = Facts::live();
        let (stops, facts) = match self.patching {
            _ if self.options.all => (Stops::All, facts.with(Fact::AllCalls)),
            Some(_) => (Stops::Patched, facts),
            None => (Stops::Seccomp, facts),
        };
        let window = Window { length_ns: Some(sys::now() - self.started) };
        let mut profile = self.builder.finish(Backend::ptrace(stops), facts, window);
        profile.totals.tracing_ns = self.overhead.estimate();
        Traced {
            profile,
            exit: self.exit.unwrap_or(Exit::Code(0)),
            stacks: self.stacks.taken,
            roots: self.roots,
            stdout,
        }
    }

    pub(crate) fn handle(&mut self, waited: Waited) {
        let Waited { tid, status } = waited;
        // What was counted without a stop came before this one.
        self.take_records();
        if libc::WIFSTOPPED(status) {
            self.overhead.stopped();
            if self.tree.threads.contains_key(&tid) {
                self.stopped(tid, status);
            } else {
                self.hold(tid, status);
            }
            return;
        }
        if self.reporter == Some(tid) {
            if let Some(supervisor) = self.supervisor.take() {
                supervisor.reported(status);
            }
            return;
        }
        self.ended(tid, waited.exit());
    }

    pub(crate) fn stopped(&mut self, tid: Tid, status: i32) {
        const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            0 if signal == SYSCALL_STOP => self.syscall(tid),
            0 => {
                let signal = self.out_of_stub(tid, signal);
                self.go_on(tid, signal);
            }
            libc::PTRACE_EVENT_SECCOMP => self.syscall(tid),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                if let Ok(child) = sys::event_message(tid) {
                    let waits = status >> 16 == libc::PTRACE_EVENT_VFORK;
                    self.forked(tid, child as Tid, waits);
                }
                self.go_on(tid, 0);
            }
            libc::PTRACE_EVENT_EXEC => {
                let former = sys::event_message(tid).map_or(tid, |former| former as Tid);
                self.executed(tid, former);
                self.go_on(tid, 0);
            }
            libc::PTRACE_EVENT_EXIT => {
                self.out_of_stub(tid, 0);
                if let Some(thread) = self.tree.threads.get(&tid) {
                    self.book_time(thread.group);
                }
                self.go_on(tid, 0);
            }
            libc::PTRACE_EVENT_STOP => match signal {
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
                    // Who waits for that goes on.
                    self.builder.barrier();
                    sys::resume(tid, Resume::Listen, 0);
                    self.command_stops(tid, signal);
                }
                _ => {
                    self.put_back(tid);
                    self.command_continues(tid);
                    self.go_on(tid, 0);
                }
            },
            _ => self.go_on(tid, 0),
        }
    }

    /// Resumes a thread, to the exit of the call it is in if that matters, or to its next call if all stop.
    fn go_on(&mut self, tid: Tid, signal: i32) {
        let matters =
            self.tree.threads.get(&tid).is_some_and(|thread| {
                thread.in_flight.is_some() || self.tree.has_filter(thread.group)
            });
        let how = if self.options.all || matters { Resume::ToSyscall } else { Resume::Run };
        sys::resume(tid, how, signal);
    }

    fn syscall(&mut self, tid: Tid) {
        let Ok(info) = sys::syscall_info(tid) else { return };
        let Some(thread) = self.tree.threads.get_mut(&tid) else { return };
        let in_flight = thread.in_flight.take();
        let group = thread.group;
        let at_ns = sys::now() - self.started;
        if info.is_for_another_tracer() {
            // Fails if the thread was killed.
            let _ = sys::refuse_call(tid);
        }
        match info.op {
            // Its entry has stopped before, in a process with a filter of its own.
            sys::OP_SECCOMP if in_flight.is_some() => {
                if let Some(thread) = self.tree.threads.get_mut(&tid) {
                    thread.in_flight = in_flight;
                }
            }
            sys::OP_ENTRY | sys::OP_SECCOMP if self.patched(tid, group, &info) => {}
            sys::OP_ENTRY | sys::OP_SECCOMP => {
                let (at, group) = (group, self.tree.group(group));
                let tgid = group.tgid;
                let entered = self.calls.begin(&mut self.builder, group, tid, &info, at_ns, false);
                if entered.sampled.1 > 0 {
                    self.stacks.take(&mut self.builder, tid, group, &info, entered.sampled);
                }
                let has_filter = group.has_filter;
                let Entered { in_flight, changed, .. } = entered;
                if has_filter {
                    // It may refuse what the stub calls, or where from.
                    self.take_back(tid, at, None);
                }
                if in_flight.is_some() {
                    let Tree { threads, .. } = &self.tree;
                    let alone = || threads.values().filter(|t| t.group == at).count() == 1;
                    self.overhead.enters(tgid, alone);
                }
                if let Some(thread) = self.tree.threads.get_mut(&tid) {
                    thread.in_flight = in_flight;
                    thread.changed = changed;
                }
            }
            sys::OP_EXIT => {
                self.overhead.leaves(self.tree.group(group).tgid);
                self.put_back(tid);
                if let Some(in_flight) = in_flight {
                    self.returned(tid, group, in_flight, &info, at_ns);
                }
            }
            _ => {}
        }
        self.go_on(tid, 0);
    }

    /// Restores what was changed in the call that `tid` returns from, in parent or child.
    fn put_back(&mut self, tid: Tid) {
        let thread = self.tree.threads.get_mut(&tid);
        if let Some(changed) = thread.and_then(|thread| thread.changed.take()) {
            changed.put_back(tid);
        }
    }
}
