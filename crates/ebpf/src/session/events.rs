//! The messages of the programs in the kernel: processes, paths, stacks.

mod finish;

use crate::SessionOptions;
use crate::session::layout::{MappingMessage, ProcessMessage, RowKey, StackMessage};
use crate::session::rows::Rows;
use crate::session::wire::{Message, ProcessEvent};
use foldhash::fast::FixedState;
use needless_host::{MappedFiles, Module, RootId, Stack};
use needless_model::{Builder, Env, Exit, Loss, ProcId, Process, Spawn, WatchList};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

/// Most descriptors of other root directories.
const MAX_ROOTS: usize = 256;
/// Most snapshots kept.
const MAX_STACKS: usize = 4096;

pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// A process between two execs, as the kernel numbers them.
struct Image {
    id: ProcId,
    /// Its pid while it is the latest image of that pid and has not ended.
    pid: Option<u32>,
    /// Its first working directory, where known.
    directory: Option<Rc<str>>,
    /// Whether its working directory may differ.
    moved: bool,
    /// CPU time of earlier images of this process: user mode, kernel.
    earlier: (u64, u64),
    /// The look at which it had ended.
    ended: Option<u64>,
    /// It ran before the observation: its CPU time is read from /proc at the end.
    attached: bool,
}

/// An exec, to be counted with its new image.
struct Exec {
    image: u32,
    path: String,
    by_descriptor: bool,
    moved: bool,
}

/// What is known from the messages so far.
pub(crate) struct Events {
    pub(crate) builder: Builder,
    /// The rows taken from the kernel: of ended processes, and of all at the end.
    pub(crate) rows: Rows,
    started_ns: u64,
    /// How often [`look`](Events::look) was called.
    looks: u64,
    /// The looks at which images ended.
    settling: Vec<u64>,
    watch: WatchList,
    latency: bool,
    shares_root: Option<RootId>,
    own_directory: Option<Rc<str>>,
    images: Map<u32, Image>,
    /// The latest image of each live process.
    live: Map<u32, u32>,
    texts: Map<u64, Rc<str>>,
    execs: Vec<Exec>,
    samples: Vec<Sampled>,
    /// Images not yet looked up in /proc.
    new: Vec<u32>,
    files: MappedFiles,
    /// The mapped files of images, as sent right before a snapshot.
    mapped: Map<u32, Arc<Vec<Module>>>,
    /// Names of programs as given to exec, with their resolved paths.
    resolved: HashMap<String, Option<String>>,
    roots: Vec<(ProcId, OwnedFd)>,
    cgroups: Vec<(ProcId, u64)>,
}

/// A snapshot, with the files that were mapped.
struct Sampled {
    key: RowKey,
    stack: Stack,
}

impl Events {
    pub(crate) fn new(options: &SessionOptions, started_ns: u64) -> Events {
        let directory = std::env::current_dir().ok();
        Events {
            builder: Builder::new(options.limits),
            rows: Rows::default(),
            started_ns,
            looks: 0,
            settling: Vec::new(),
            watch: options.watch.clone(),
            latency: options.latency,
            shares_root: RootId::of("self"),
            own_directory: directory.and_then(|path| Some(path.to_str()?.into())),
            images: Map::default(),
            live: Map::default(),
            texts: Map::default(),
            execs: Vec::new(),
            samples: Vec::new(),
            new: Vec::new(),
            files: MappedFiles::default(),
            mapped: Map::default(),
            resolved: HashMap::new(),
            roots: Vec::new(),
            cgroups: Vec::new(),
        }
    }

    /// From now on, process `pid` is observed as `image`.
    pub(crate) fn attached(&mut self, image: u32, pid: u32) {
        let process = Process::new(pid, None, Spawn::Seen);
        self.begin(image, pid, process, None, true);
    }

    /// Whether process `pid` is observed and lives.
    pub(crate) fn lives(&self, pid: u32) -> bool {
        self.live.contains_key(&pid)
    }

    /// Whether images have settled since the last call.
    pub(crate) fn any_settled(&mut self) -> bool {
        let (before, looks) = (self.settling.len(), self.looks);
        self.settling.retain(|look| look + 1 >= looks);
        self.settling.len() < before
    }

    /// Whether `image` ended so long ago that no CPU can still add to its rows.
    pub(crate) fn has_settled(&self, image: u32) -> bool {
        let ended = self.images.get(&image).and_then(|image| image.ended);
        ended.is_some_and(|look| look + 1 < self.looks)
    }

    /// Takes one message.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        match Message::read(bytes) {
            Some(Message::Seen(event)) => {
                let mut process = Process::new(event.about.pid, None, Spawn::Seen);
                process.shares_root = event.shares_root();
                describe(&mut process, &event);
                self.begin(event.image(), event.about.pid, process, None, true);
                self.note_cgroup(event);
            }
            Some(Message::Forked(event)) => self.forked(event),
            Some(Message::Executed(event)) => self.executed(event),
            Some(Message::Exited(event)) => self.exited(event),
            Some(Message::Moved { image }) => {
                if let Some(image) = self.images.get_mut(&image) {
                    image.moved = true;
                }
            }
            Some(Message::Path { path, text }) => {
                let text = String::from_utf8_lossy(text);
                self.texts.insert(path, text.into());
            }
            Some(Message::Stack(about, bytes)) => self.sampled(&about, bytes),
            Some(Message::Mapping(about, path)) => self.mapped(&about, path),
            Some(Message::OrphanRow(orphan)) => {
                self.rows.add(orphan.key, orphan.row.tally(self.started_ns, self.latency));
            }
            None => {}
        }
    }

    fn begin(
        &mut self,
        image: u32,
        pid: u32,
        process: Process,
        directory: Option<Rc<str>>,
        attached: bool,
    ) {
        let id = self.builder.process(process);
        let fresh = Image {
            id,
            pid: Some(pid),
            directory,
            moved: false,
            earlier: (0, 0),
            ended: None,
            attached,
        };
        self.images.insert(image, fresh);
        self.live.insert(pid, image);
        self.new.push(image);
    }

    fn forked(&mut self, event: ProcessEvent<'_>) {
        let (process, directory) = match self.images.get(&event.about.former) {
            Some(parent) => {
                let mut process =
                    self.builder.process_ref(parent.id).forked(event.about.pid, parent.id);
                process.shares_root = event.shares_root();
                (process, parent.directory.clone())
            }
            None => (Process::new(event.about.pid, None, Spawn::Seen), None),
        };
        self.begin(event.image(), event.about.pid, process, directory, false);
        self.moved(event);
        self.note_cgroup(event);
    }

    fn moved(&mut self, event: ProcessEvent<'_>) {
        if let Some(image) = self.images.get_mut(&event.image()) {
            image.moved |= event.moved();
        }
    }

    fn note_cgroup(&mut self, event: ProcessEvent<'_>) {
        if let Some(image) = self.images.get(&event.image()) {
            self.cgroups.push((image.id, event.about.cgroup));
        }
    }

    fn executed(&mut self, event: ProcessEvent<'_>) {
        let total = scaled(&event.about);
        let former = self.images.get_mut(&event.about.former).map(|former| {
            former.pid = None;
            former.ended = Some(self.looks);
            self.settling.push(self.looks);
            let (user, system) = former.earlier;
            let process = self.builder.process_mut(former.id);
            process.shares_root &= event.shares_root();
            if !former.attached {
                set_cpu_time(process, total.0.saturating_sub(user), total.1.saturating_sub(system));
            }
            (former.id, former.directory.clone(), former.attached)
        });
        let command = event.about.former == 0;
        let mut process = Process::new(event.about.pid, former.as_ref().map(|f| f.0), Spawn::Exec);
        process.shares_root = event.shares_root();
        process.secure = Some(event.about.secure != 0);
        describe(&mut process, &event);
        if let Some(environ) = event.whole_environ() {
            process.env = Env::Known(needless_host::watched_variables(environ, &self.watch));
        }
        let directory = match former {
            Some((_, directory, _)) => directory,
            None if command => self.own_directory.clone(),
            None => None,
        };
        let file = String::from_utf8_lossy(event.file).into_owned();
        let interpreter = String::from_utf8_lossy(event.interpreter).into_owned();
        process.exe = self.resolve(&interpreter, directory.as_deref(), &event);
        if let Some(exe) = &process.exe {
            process.runtime = needless_model::Runtime::of_exe(exe);
        }
        self.begin(event.image(), event.about.pid, process, directory, false);
        self.moved(event);
        self.note_cgroup(event);
        if let Some(image) = self.images.get_mut(&event.image()) {
            image.earlier = total;
        }
        let by_descriptor = event.about.by_descriptor != 0;
        let moved = event.moved();
        self.execs.push(Exec { image: event.image(), path: file, by_descriptor, moved });
    }

    /// The program that the kernel runs for `name`, as /proc would show it.
    fn resolve(
        &mut self,
        name: &str,
        directory: Option<&str>,
        event: &ProcessEvent<'_>,
    ) -> Option<String> {
        let path = match name.strip_prefix('/') {
            Some(_) => name.to_owned(),
            None if event.moved() => return Some(name.to_owned()),
            None => format!("{}/{name}", directory?),
        };
        if !event.shares_root() {
            return Some(path);
        }
        let resolved = self.resolved.entry(path).or_insert_with_key(|path| {
            let real = std::fs::canonicalize(path).ok()?;
            Some(real.to_string_lossy().into_owned())
        });
        resolved.clone()
    }

    fn exited(&mut self, event: ProcessEvent<'_>) {
        let Some(image) = self.images.get_mut(&event.image()) else { return };
        if image.pid.take().is_some_and(|pid| self.live.get(&pid) == Some(&event.image())) {
            self.live.remove(&event.about.pid);
        }
        image.ended = Some(self.looks);
        self.settling.push(self.looks);
        let (user, system) = scaled(&event.about);
        let process = self.builder.process_mut(image.id);
        process.shares_root &= event.shares_root();
        if !image.attached {
            let (before_user, before_system) = image.earlier;
            let user = user.saturating_sub(before_user);
            set_cpu_time(process, user, system.saturating_sub(before_system));
        }
        let (code, signal) = (event.about.exit_code >> 8 & 0xff, event.about.exit_code & 0x7f);
        process.exit = Some(if signal == 0 { Exit::Code(code) } else { Exit::Signal(signal) });
    }

    fn sampled(&mut self, about: &StackMessage, bytes: &[u8]) {
        if self.samples.len() >= MAX_STACKS {
            self.builder.lost(Loss::Stacks, 1);
            return;
        }
        let modules = match self.mapped.get(&about.key.image) {
            Some(modules) => modules.clone(),
            None => self.modules(about.pid, about.at.pc),
        };
        let stack = Stack {
            row: 0,
            weight: about.weight,
            pc: about.at.pc,
            sp: about.at.sp,
            fp: about.at.fp,
            lr: about.at.lr,
            bytes: bytes.into(),
            modules,
        };
        self.samples.push(Sampled { key: about.key, stack });
    }

    fn mapped(&mut self, about: &MappingMessage, components: &[u8]) {
        let modules = self.mapped.entry(about.head.image).or_default();
        if about.first != 0 {
            *modules = Arc::default();
        }
        let mut path = String::new();
        for component in components.rsplit(|byte| *byte == 0) {
            path.push('/');
            path.push_str(&String::from_utf8_lossy(component));
        }
        let file = self.files.open(about.pid as i32, &path, about.inode);
        Arc::make_mut(modules).push(Module {
            path: path.into(),
            file,
            start: about.start,
            end: about.end,
            offset: about.page * rustix::param::page_size() as u64,
        });
    }

    fn modules(&mut self, pid: u32, pc: u64) -> Arc<Vec<Module>> {
        let known = self.samples.iter().rev().map(|sample| &sample.stack.modules);
        let fits = |m: &&Arc<Vec<Module>>| m.iter().any(|m| (m.start..m.end).contains(&pc));
        let fresh = self.files.modules(pid as i32);
        if fresh.is_empty() {
            // It has ended. A sibling of the same image has the same addresses.
            return known.take(64).find(fits).cloned().unwrap_or_default();
        }
        Arc::new(fresh)
    }

    /// Looks up new processes that still live. Every tenth of a second.
    pub(crate) fn look(&mut self) {
        self.looks += 1;
        for number in std::mem::take(&mut self.new) {
            let Some(image) = self.images.get_mut(&number) else { continue };
            let Some(pid) = image.pid.filter(|pid| self.live.get(pid) == Some(&number)) else {
                continue;
            };
            let process = self.builder.process_mut(image.id);
            if process.born == Spawn::Seen {
                let known = (process.command.take(), process.open_files);
                needless_host::read_process(process, &self.watch);
                // It may have ended by now; these two came with a message.
                process.command = known.0.or(process.command.take());
                process.open_files = known.1.or(process.open_files);
                process.shares_root = RootId::of(&pid.to_string()) == self.shares_root;
                if image.directory.is_none() && !image.moved {
                    image.directory = needless_host::working_directory(pid as i32).map(Into::into);
                }
                image.earlier = cpu_time(pid).unwrap_or_default();
            } else if process.born == Spawn::Exec {
                let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
                if let Some(exe) = exe.and_then(|exe| exe.to_str().map(str::to_owned)) {
                    process.runtime = needless_model::Runtime::of_exe(&exe);
                    process.exe = Some(exe);
                }
            }
            if !process.shares_root
                && self.roots.len() < MAX_ROOTS
                && let Some(root) = needless_host::open_root(pid as i32)
            {
                self.roots.push((image.id, root));
            }
        }
    }
}

/// The facts in the message about a process that is first seen, or executes.
fn describe(process: &mut Process, event: &ProcessEvent<'_>) {
    process.command = Some(event.command());
    process.open_files = Some(event.about.open_files);
}

/// CPU time of a live process from /proc/PID/stat (proc(5)), to a hundredth of a second: in user
/// mode and in the kernel, nanoseconds.
fn cpu_time(pid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some((user * tick, system * tick))
}

/// Stores the CPU time of a process. It lacks the time since the scheduler's last tick, and what the
/// kernel does after the process has ended: for less than a few ticks it is not known.
fn set_cpu_time(process: &mut Process, user: u64, system: u64) {
    const TICKS: u64 = 10_000_000;
    let known = user + system >= TICKS;
    process.cpu_user_ns = known.then_some(user);
    process.cpu_sys_ns = known.then_some(system);
}

/// Time in user mode and in the kernel: the exact sum, split in the ratio of the ticks.
fn scaled(about: &ProcessMessage) -> (u64, u64) {
    let (user, system, sum) = (about.utime, about.stime, about.runtime);
    if system == 0 {
        return (sum, 0);
    }
    let share = u128::from(sum) * u128::from(system) / u128::from((user + system).max(1));
    let system = u64::try_from(share).unwrap_or(u64::MAX).min(sum);
    (sum - system, system)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Room;
    use crate::session::layout::StackMessage;
    use needless_model::{Facts, Limits, Window};
    use zerocopy::FromZeros;

    #[test]
    fn a_snapshot_that_finds_no_room_here_is_counted_as_lost() {
        let room = Room { processes: 1, threads: 1, images: 1 };
        let (watch, limits) = (WatchList::default(), Limits::default());
        let options =
            SessionOptions { all: false, latency: false, stacks: true, watch, limits, room };
        let mut events = Events::new(&options, 0);
        // No process has this number: nothing is asked of /proc.
        let message = StackMessage { pid: u32::MAX, ..StackMessage::new_zeroed() };
        for taken in 0..MAX_STACKS + 3 {
            assert_eq!(events.samples.len(), taken.min(MAX_STACKS));
            events.sampled(&message, &[]);
        }
        let rows = HashMap::from([(message.key, 0)]);
        let observed = events.observed(Facts::default(), Window::default(), &rows);
        assert_eq!(observed.stacks.len(), MAX_STACKS);
        assert_eq!(observed.profile.lost.get(&Loss::Stacks), Some(&3));
    }
}
