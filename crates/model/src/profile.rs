//! What a set of processes asked of the kernel in a window of time, aggregated.

use crate::{
    ArgClass, Backend, CallId, Errno, Facts, Host, Interner, Loss, ProcId, Process, Query,
    Sequence, Spawn, StrId, Wait,
};
use std::collections::{BTreeMap, HashSet};

/// What a call was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// No path.
    None,
    /// No path, but arguments that a rule asks about.
    ArgClass(ArgClass),
    /// An absolute path: as asked, or relative to a directory that was known.
    Path(StrId),
    /// A path relative to the working directory, which was not known.
    Cwd(StrId),
    /// A path relative to a directory descriptor that was not known. Two equal rows may be two
    /// different files.
    Dir(StrId),
    /// Rows beyond the limit of distinct rows, folded together: counted, no longer distinguished.
    Folded,
}

impl Target {
    /// The text of the path, absolute or not.
    pub fn text(self) -> Option<StrId> {
        match self {
            Target::Path(s) | Target::Cwd(s) | Target::Dir(s) => Some(s),
            Target::None | Target::ArgClass(_) | Target::Folded => None,
        }
    }
}

/// The place in the program that makes a call: not in a library of the C runtime, and never a
/// guessed function name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallSite {
    /// File of the module ("/usr/bin/app").
    pub module: String,
    /// Function of the program that contains the call, if its symbols show it.
    pub function: Option<String>,
    /// Offset of the return address: from the function's start, or from the module's load address
    /// where no function is known.
    pub offset: u64,
    /// The library function that the instruction there calls through the PLT or GOT ("localtime").
    pub calls: Option<String>,
}

impl std::fmt::Display for CallSite {
    /// `main+0xc3: call localtime@plt`, `app+0x10a8: call localtime@plt`, `app+0x10a8`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = self.module.rsplit('/').next().unwrap_or(&self.module);
        write!(f, "{}+{:#x}", self.function.as_deref().unwrap_or(file), self.offset)?;
        match &self.calls {
            Some(name) => write!(f, ": call {name}@plt"),
            None => Ok(()),
        }
    }
}

/// process × system call × target × outcome → how often, and how often repeated.
#[derive(Clone, Debug)]
pub struct Row {
    /// The process.
    pub process: ProcId,
    /// The call by its kernel name.
    pub call: CallId,
    /// The question behind it.
    pub query: Query,
    /// What it is about.
    pub target: Target,
    /// Ok, or the error. `None` where it was never seen (unfinished in a log).
    pub outcome: Option<Result<(), Errno>>,
    /// How many calls.
    pub count: u64,
    /// How many of them got the same answer as the last time this process asked, with
    /// nothing in between that could have changed it (no change to the file system, no waiting, no
    /// new process), less than [`Limits::repeat_within_ns`](crate::Limits) after it.
    pub repeated: u64,
    /// How many outcomes of `count` were not looked at but assumed to equal the last one seen.
    pub assumed: u64,
    /// Time in the kernel, nanoseconds, summed over `timed` calls: from entry to return, so of a call that names a path
    /// also what it waited for. Calls without a path that waited are not among `timed`, where the backend sees
    /// that: their time is in [`Profile::waits`].
    pub kernel_ns: u64,
    /// How many calls have a kernel time.
    pub timed: u64,
    /// First call, nanoseconds since the window's start. 0 without [`Fact::Clock`](crate::Fact).
    pub first_ns: u64,
    /// Last call.
    pub last_ns: u64,
    /// How calls that name no path followed one another.
    pub sequence: Sequence,
    /// Sampled places in the program, with how often each was seen.
    pub sites: Vec<(CallSite, u64)>,
}

impl Row {
    /// Whether the call is known to have succeeded.
    pub fn ok(&self) -> bool {
        self.outcome == Some(Ok(()))
    }

    /// Whether the call failed with `errno`.
    pub fn failed(&self, errno: Errno) -> bool {
        self.outcome == Some(Err(errno))
    }
}

/// The window of observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Length in nanoseconds, where known.
    pub length_ns: Option<u64>,
}

/// How many calls there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls counted. All there were if [`Fact::AllCalls`](crate::Fact) is present.
    pub calls: u64,
    /// Calls counted that name a path: the same in every backend, so shares are computed from it.
    pub path_calls: u64,
    /// CPU time in user mode of all processes, nanoseconds, where known.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel, nanoseconds; includes a ptrace tracer's stops.
    pub cpu_sys_ns: Option<u64>,
    /// The part of both that a ptrace tracer's stops took, by estimate; 0: none, or not known.
    pub tracing_ns: u64,
}

impl Totals {
    /// CPU time of all processes without what observing them took, nanoseconds, where known.
    pub fn cpu_ns(&self) -> Option<u64> {
        Some((self.cpu_user_ns? + self.cpu_sys_ns?).saturating_sub(self.tracing_ns))
    }

    /// The sums over these processes and their rows.
    pub fn of<'p>(
        processes: impl Iterator<Item = &'p Process> + Clone,
        rows: impl Iterator<Item = &'p Row>,
    ) -> Totals {
        let mut totals = Totals::of_cpu(processes);
        for row in rows {
            totals.calls += row.count;
            totals.path_calls += if row.query.names_path() { row.count } else { 0 };
        }
        totals
    }

    /// CPU time only.
    pub(crate) fn of_cpu<'p>(processes: impl Iterator<Item = &'p Process> + Clone) -> Totals {
        let sum = |part: fn(&Process) -> Option<u64>| {
            processes.clone().filter_map(part).reduce(|a, b| a + b)
        };
        let (mut user, mut system) = (sum(|p| p.cpu_user_ns), sum(|p| p.cpu_sys_ns));
        // Of short processes only the sum is known: they are taken to divide as the others do.
        if let (Some(user), Some(system), Some(all)) = (&mut user, &mut system, sum(|p| p.cpu_ns)) {
            let known = u128::from(*user + *system);
            let rest = all.saturating_sub(*user + *system);
            if let Some(part) = (u128::from(rest) * u128::from(*user)).checked_div(known) {
                let part = part as u64;
                (*user, *system) = (*user + part, *system + rest - part);
            }
        }
        Totals { cpu_user_ns: user, cpu_sys_ns: system, ..Totals::default() }
    }
}

/// What a set of processes asked of the kernel in a window of time.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What observed.
    pub backend: Backend,
    /// What is known.
    pub facts: Facts,
    /// The window.
    pub window: Window,
    /// The machine.
    pub host: Host,
    /// Texts of rows.
    pub strings: Interner,
    /// The processes, by [`ProcId`].
    pub processes: Vec<Process>,
    /// The calls.
    pub rows: Vec<Row>,
    /// The calls that waited; empty without [`Fact::KernelTime`](crate::Fact), and for a log, which does not show it.
    pub waits: Vec<Wait>,
    /// The sums.
    pub totals: Totals,
    /// What was not seen, by name. A name that is absent is 0.
    pub lost: BTreeMap<Loss, u64>,
    /// Sentences about what this profile cannot show, for the report.
    pub notes: Vec<String>,
}

impl Profile {
    /// Sorts the rows of each process next to each other, in their order in time. Rules look
    /// at one process at a time: with mixed rows, each access would be to distant memory.
    pub fn sort_by_process(&mut self) {
        self.rows.sort_by_key(|row| row.process);
    }

    /// The text of a row's path, "" where it has none.
    pub fn path(&self, row: &Row) -> &str {
        row.target.text().map_or("", |id| self.strings.text(id))
    }

    /// The kernel's name of a row's call.
    pub fn call(&self, row: &Row) -> &str {
        self.strings.text(row.call.0)
    }

    /// The process of a row.
    pub fn process(&self, id: ProcId) -> &Process {
        &self.processes[id.index()]
    }

    /// The pids whose process has ended: of the last one with that pid. An image that exec replaced has no end of its own.
    pub fn ended(&self) -> HashSet<u32> {
        let mut ended = HashSet::new();
        for process in &self.processes {
            match process.exit {
                Some(_) => ended.insert(process.pid),
                None => ended.remove(&process.pid),
            };
        }
        ended
    }

    /// The process that loaded the image of `id`: itself, or the ancestor it was forked from
    /// without an exec in between.
    pub fn image_of(&self, id: ProcId) -> ProcId {
        let mut at = id;
        while let Process { born: Spawn::Fork, parent: Some(up), .. } = self.process(at) {
            at = *up;
        }
        at
    }

    /// [`Profile::image_of`] of each process.
    pub fn images(&self) -> Vec<ProcId> {
        self.images_within(|_, _| true)
    }

    /// The same, where only parts of the profile are looked at: a process whose parent is not in the `same` part as itself
    /// counts as one that loaded its image. A chain of forks is walked once, however long it is.
    pub fn images_within(&self, same: impl Fn(ProcId, ProcId) -> bool) -> Vec<ProcId> {
        let mut images: Vec<Option<ProcId>> = vec![None; self.processes.len()];
        let mut chain = Vec::new();
        for id in (0..self.processes.len() as u32).map(ProcId) {
            let mut at = id;
            let image = loop {
                chain.push(at);
                match self.process(at) {
                    _ if images[at.index()].is_some() => break images[at.index()],
                    Process { born: Spawn::Fork, parent: Some(up), .. } if same(at, *up) => {
                        at = *up
                    }
                    _ => break Some(at),
                }
            };
            chain.drain(..).for_each(|of| images[of.index()] = image);
        }
        images.into_iter().flatten().collect()
    }
    /// Removes the processes that are not `kept`. Who made a call, and the parents of who stays, have to be. Returns the new
    /// number of each process; the sums stay what they are.
    pub fn retain_processes(&mut self, kept: &[bool]) -> Vec<Option<ProcId>> {
        let mut next = (0..).map(ProcId);
        let new: Vec<Option<ProcId>> =
            kept.iter().map(|kept| kept.then(|| next.next()).flatten()).collect();
        let of = |id: ProcId| new[id.index()];
        let mut at = kept.iter();
        self.processes.retain(|_| at.next() == Some(&true));
        for process in &mut self.processes {
            process.parent = process.parent.and_then(of);
        }
        self.rows.retain_mut(|row| of(row.process).map(|id| row.process = id).is_some());
        self.waits.retain_mut(|wait| of(wait.process).map(|id| wait.process = id).is_some());
        let zones = &mut self.host.other_zones;
        zones.retain_mut(|(of_process, _)| of(*of_process).map(|id| *of_process = id).is_some());
        new
    }
}
