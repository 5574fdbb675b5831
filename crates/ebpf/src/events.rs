//! What the kernel tells as it happens: processes, paths, stacks.

use crate::rows::Rows;
use crate::wire::{self, Event, Mapping, ProcessEvent, RowKey, Sample};
use crate::{Observed, SessionOptions};
use foldhash::fast::FixedState;
use needless_host::{Files, Module, RootId, Stack};
use needless_model::{
    ArgClass, Builder, CallId, Env, Exit, Facts, Loss, ProcId, Process, Query, Question,
    QuestionId, Spawn, Tally, Window,
};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

/// Most descriptors of foreign roots kept.
const MAX_ROOTS: usize = 256;
/// Most snapshots kept.
const MAX_STACKS: usize = 4096;

pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// A process between two execs, as the kernel numbers them.
struct Image {
    id: ProcId,
    /// Its pid while it is the latest image of that pid and has not ended.
    pid: Option<u32>,
    /// The working directory it began with, where known.
    directory: Option<Rc<str>>,
    /// Whether it may have left that.
    moved: bool,
    /// CPU time that earlier images of this process took: user mode, kernel.
    earlier: (u64, u64),
    /// At which look it had ended.
    ended: Option<u64>,
    /// Where it was attached to: CPU time is then asked of /proc at the end.
    attached: bool,
}

/// An exec to be counted with its new image.
struct Exec {
    image: u32,
    path: String,
    by_descriptor: bool,
    moved: bool,
}

/// What the kernel told so far.
pub(crate) struct Events {
    pub(crate) builder: Builder,
    /// What was taken out of the kernel of ended processes, and at the end all.
    pub(crate) rows: Rows,
    started_ns: u64,
    /// How often [`look`](Events::look) was called.
    looks: u64,
    /// At which of them images ended.
    settling: Vec<u64>,
    watch: &'static [&'static str],
    latency: bool,
    shares_root: Option<RootId>,
    own_directory: Option<Rc<str>>,
    images: Map<u32, Image>,
    /// The latest image of each live process.
    live: Map<u32, u32>,
    texts: Map<u64, Rc<str>>,
    execs: Vec<Exec>,
    samples: Vec<Sampled>,
    /// Images not yet looked at in /proc.
    new: Vec<u32>,
    files: Files,
    /// What images have mapped, as the kernel told it right before a snapshot.
    mapped: Map<u32, Arc<Vec<Module>>>,
    /// Names of programs as given to exec, with what they resolve to.
    resolved: HashMap<String, Option<String>>,
    roots: Vec<(ProcId, OwnedFd)>,
    cgroups: Vec<(ProcId, u64)>,
}

/// A snapshot, with what was mapped then.
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
            watch: options.watch,
            latency: options.latency,
            shares_root: RootId::of("self"),
            own_directory: directory.and_then(|path| Some(path.to_str()?.into())),
            images: Map::default(),
            live: Map::default(),
            texts: Map::default(),
            execs: Vec::new(),
            samples: Vec::new(),
            new: Vec::new(),
            files: Files::default(),
            mapped: Map::default(),
            resolved: HashMap::new(),
            roots: Vec::new(),
            cgroups: Vec::new(),
        }
    }

    /// Process `pid` is observed from now on as `image`.
    pub(crate) fn attached(&mut self, image: u32, pid: u32) {
        let process = Process::new(pid, None, Spawn::Seen);
        self.begin(image, pid, process, None, true);
    }

    /// Whether process `pid` is observed and lives.
    pub(crate) fn lives(&self, pid: u32) -> bool {
        self.live.contains_key(&pid)
    }

    /// Whether images have settled since this was asked last.
    pub(crate) fn any_settled(&mut self) -> bool {
        let (before, looks) = (self.settling.len(), self.looks);
        self.settling.retain(|look| look + 1 >= looks);
        self.settling.len() < before
    }

    /// Whether `image` ended so long ago that nothing in the kernel is still about to add to its rows.
    pub(crate) fn has_settled(&self, image: u32) -> bool {
        let ended = self.images.get(&image).and_then(|image| image.ended);
        ended.is_some_and(|look| look + 1 < self.looks)
    }

    /// Takes one message.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        match Event::read(bytes) {
            Some(Event::Seen(event)) => {
                let mut process = Process::new(event.pid, None, Spawn::Seen);
                process.shares_root = event.shares_root;
                known_of(&mut process, &event);
                self.begin(event.image, event.pid, process, None, true);
                self.belongs(event);
            }
            Some(Event::Forked(event)) => self.forked(event),
            Some(Event::Executed(event)) => self.executed(event),
            Some(Event::Exited(event)) => self.exited(event),
            Some(Event::Moved { image }) => {
                if let Some(image) = self.images.get_mut(&image) {
                    image.moved = true;
                }
            }
            Some(Event::Named { path, text }) => {
                let text = String::from_utf8_lossy(text);
                self.texts.insert(path, text.into());
            }
            Some(Event::Sampled(sample)) => self.sampled(sample),
            Some(Event::Mapped(mapping)) => self.mapped(mapping),
            Some(Event::Late { key, row }) => {
                self.rows.add(key, wire::row(row, self.started_ns, self.latency));
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
        let (process, directory) = match self.images.get(&event.former) {
            Some(parent) => {
                let mut process = self.builder.process_ref(parent.id).forked(event.pid, parent.id);
                process.shares_root = event.shares_root;
                (process, parent.directory.clone())
            }
            None => (Process::new(event.pid, None, Spawn::Seen), None),
        };
        self.begin(event.image, event.pid, process, directory, false);
        self.moved(event);
        self.belongs(event);
    }

    fn moved(&mut self, event: ProcessEvent<'_>) {
        if let Some(image) = self.images.get_mut(&event.image) {
            image.moved |= event.moved;
        }
    }

    fn belongs(&mut self, event: ProcessEvent<'_>) {
        if let Some(image) = self.images.get(&event.image) {
            self.cgroups.push((image.id, event.cgroup));
        }
    }

    fn executed(&mut self, event: ProcessEvent<'_>) {
        let total = scaled(event.times);
        let former = self.images.get_mut(&event.former).map(|former| {
            former.pid = None;
            former.ended = Some(self.looks);
            self.settling.push(self.looks);
            let (user, system) = former.earlier;
            let process = self.builder.process_mut(former.id);
            process.shares_root &= event.shares_root;
            if !former.attached {
                book(process, total.0.saturating_sub(user), total.1.saturating_sub(system));
            }
            (former.id, former.directory.clone(), former.attached)
        });
        let command = event.former == 0;
        let mut process = Process::new(event.pid, former.as_ref().map(|f| f.0), Spawn::Exec);
        process.shares_root = event.shares_root;
        process.secure = Some(event.secure);
        known_of(&mut process, &event);
        if event.environ_whole {
            process.env = Env::Known(needless_host::watched(event.environ, self.watch));
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
        self.begin(event.image, event.pid, process, directory, false);
        self.moved(event);
        self.belongs(event);
        if let Some(image) = self.images.get_mut(&event.image) {
            image.earlier = total;
        }
        let (by_descriptor, moved) = (event.by_descriptor, event.moved);
        self.execs.push(Exec { image: event.image, path: file, by_descriptor, moved });
    }

    /// The program that the kernel runs for `name`, as /proc would tell it.
    fn resolve(
        &mut self,
        name: &str,
        directory: Option<&str>,
        event: &ProcessEvent<'_>,
    ) -> Option<String> {
        let path = match name.strip_prefix('/') {
            Some(_) => name.to_owned(),
            None if event.moved => return Some(name.to_owned()),
            None => format!("{}/{name}", directory?),
        };
        if !event.shares_root {
            return Some(path);
        }
        let resolved = self.resolved.entry(path).or_insert_with_key(|path| {
            let real = std::fs::canonicalize(path).ok()?;
            Some(real.to_string_lossy().into_owned())
        });
        resolved.clone()
    }

    fn exited(&mut self, event: ProcessEvent<'_>) {
        let Some(image) = self.images.get_mut(&event.image) else { return };
        if image.pid.take().is_some_and(|pid| self.live.get(&pid) == Some(&event.image)) {
            self.live.remove(&event.pid);
        }
        image.ended = Some(self.looks);
        self.settling.push(self.looks);
        let (user, system) = scaled(event.times);
        let process = self.builder.process_mut(image.id);
        process.shares_root &= event.shares_root;
        if !image.attached {
            let (before_user, before_system) = image.earlier;
            let user = user.saturating_sub(before_user);
            book(process, user, system.saturating_sub(before_system));
        }
        let (code, signal) = (event.exit_code >> 8 & 0xff, event.exit_code & 0x7f);
        process.exit = Some(if signal == 0 { Exit::Code(code) } else { Exit::Signal(signal) });
    }

    fn sampled(&mut self, sample: Sample<'_>) {
        if self.samples.len() >= MAX_STACKS {
            self.builder.lost(Loss::STACKS, 1);
            return;
        }
        let modules = match self.mapped.get(&sample.key.image) {
            Some(modules) => modules.clone(),
            None => self.modules(sample.pid, sample.pc),
        };
        let stack = Stack {
            row: 0,
            weight: sample.weight,
            pc: sample.pc,
            sp: sample.sp,
            fp: sample.fp,
            lr: sample.lr,
            bytes: sample.bytes.into(),
            modules,
        };
        self.samples.push(Sampled { key: sample.key, stack });
    }

    fn mapped(&mut self, mapping: Mapping<'_>) {
        let modules = self.mapped.entry(mapping.image).or_default();
        if mapping.first {
            *modules = Arc::default();
        }
        let mut path = String::new();
        for component in mapping.path.rsplit(|byte| *byte == 0) {
            path.push('/');
            path.push_str(&String::from_utf8_lossy(component));
        }
        let file = self.files.open(mapping.pid as i32, &path, mapping.inode);
        Arc::make_mut(modules).push(Module {
            path: path.into(),
            file,
            start: mapping.start,
            end: mapping.end,
            offset: mapping.page * rustix::param::page_size() as u64,
        });
    }

    fn modules(&mut self, pid: u32, pc: u64) -> Arc<Vec<Module>> {
        let known = self.samples.iter().rev().map(|sample| &sample.stack.modules);
        let fits = |m: &&Arc<Vec<Module>>| m.iter().any(|m| (m.start..m.end).contains(&pc));
        let fresh = self.files.modules(pid as i32);
        if fresh.is_empty() {
            // It is gone. A sibling of the same image has the same addresses.
            return known.take(64).find(fits).cloned().unwrap_or_default();
        }
        Arc::new(fresh)
    }

    /// Completes what is known of new processes, of those that still live. Every tenth of a second.
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
                needless_host::look(process, self.watch);
                // It may have ended meanwhile, and the kernel told these.
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

/// What the kernel tells of a process as it is first seen, or executes.
fn known_of(process: &mut Process, event: &ProcessEvent<'_>) {
    process.command = Some(String::from_utf8_lossy(event.command).into_owned());
    process.open_files = Some(event.open_files);
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

/// Notes the CPU time of a process. What ran since the scheduler's last tick is not in it, nor what the
/// kernel does after the process has ended: of one that took less than a few ticks it tells nothing.
fn book(process: &mut Process, user: u64, system: u64) {
    const TICKS: u64 = 10_000_000;
    let known = user + system >= TICKS;
    process.cpu_user_ns = known.then_some(user);
    process.cpu_sys_ns = known.then_some(system);
}

/// Time in user mode and in the kernel: the exact sum, split as the ticks fell.
fn scaled([user, system, sum]: [u64; 3]) -> (u64, u64) {
    if system == 0 {
        return (sum, 0);
    }
    let share = u128::from(sum) * u128::from(system) / u128::from((user + system).max(1));
    let system = u64::try_from(share).unwrap_or(u64::MAX).min(sum);
    (sum - system, system)
}

/// To the end: what the rows are put together with.
impl Events {
    /// Books the CPU time of processes that still live.
    pub(crate) fn book_live(&mut self) {
        for (pid, number) in &self.live {
            let Some(image) = self.images.get(number) else { continue };
            let Some((user, system)) = cpu_time(*pid) else { continue };
            let process = self.builder.process_mut(image.id);
            let (before_user, before_system) = image.earlier;
            let user = user.saturating_sub(before_user);
            book(process, user, system.saturating_sub(before_system));
        }
    }

    /// Counts the calls of execve that succeeded.
    pub(crate) fn count_execs(&mut self) {
        for exec in std::mem::take(&mut self.execs) {
            let name = if exec.by_descriptor { "execveat" } else { "execve" };
            let about = (self.builder.call(name), Query::Exec, false);
            let question = self.question(exec.image, about, exec.moved, &exec.path);
            let Some(question) = question else { continue };
            let tally = Tally { count: 1, ..Tally::default() };
            self.builder.tally(question, Some(Ok(())), tally);
        }
    }

    /// The rows of which there are snapshots, not yet placed.
    pub(crate) fn sampled_rows(&self) -> HashMap<RowKey, usize> {
        self.samples.iter().map(|sample| (sample.key, usize::MAX)).collect()
    }

    /// The profile, and snapshots with the rows where they belong.
    pub(crate) fn observed(
        self,
        facts: Facts,
        window: Window,
        rows: &HashMap<RowKey, usize>,
    ) -> Observed {
        let stacks = self.samples.into_iter().filter_map(|sample| {
            let row = *rows.get(&sample.key).filter(|row| **row != usize::MAX)?;
            Some(Stack { row, ..sample.stack })
        });
        Observed {
            stacks: stacks.collect(),
            profile: self.builder.finish("eBPF".into(), facts, window),
            roots: self.roots,
            cgroups: self.cgroups,
        }
    }

    /// The process that the kernel numbered `image`.
    pub(crate) fn process(&self, image: u32) -> Option<ProcId> {
        self.images.get(&image).map(|image| image.id)
    }

    /// The question about the path with hash `path`; `None` where its text or the process is not
    /// known.
    pub(crate) fn question_by_hash(
        &mut self,
        image: u32,
        about: (CallId, Query, bool),
        moved: bool,
        path: u64,
    ) -> Option<QuestionId> {
        let text = self.texts.get(&path)?.clone();
        self.question(image, about, moved, &text)
    }

    /// The question behind calls without a path that have this detail.
    pub(crate) fn detail(
        &mut self,
        image: u32,
        call: CallId,
        detail: ArgClass,
    ) -> Option<QuestionId> {
        let image = self.images.get(&image)?;
        Some(self.builder.detail(image.id, call, detail))
    }

    fn question(
        &mut self,
        image: u32,
        (call, query, from_dir_fd): (CallId, Query, bool),
        moved: bool,
        text: &str,
    ) -> Option<QuestionId> {
        let image = self.images.get(&image)?;
        let absolute;
        let path = match &image.directory {
            Some(directory) if !text.starts_with('/') && !from_dir_fd && !moved => {
                absolute = match text {
                    "" => String::new(),
                    _ => format!("{}/{text}", directory.trim_end_matches('/')),
                };
                &absolute
            }
            _ => text,
        };
        Some(self.builder.question(image.id, Question { call, query, path, from_dir_fd }))
    }

    /// A program of the machine's own ABI or of its 32-bit one, by the calls it makes.
    pub(crate) fn note_width(&mut self, image: u32, compat: bool) {
        if let Some(image) = self.images.get(&image) {
            self.builder.process_mut(image.id).is_64bit.get_or_insert(!compat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Room;
    use needless_model::Limits;

    #[test]
    fn a_snapshot_that_finds_no_room_here_is_counted_as_lost() {
        let room = Room { processes: 1, threads: 1, images: 1 };
        let (watch, limits) = (&[][..], Limits::default());
        let options =
            SessionOptions { all: false, latency: false, stacks: true, watch, limits, room };
        let mut events = Events::new(&options, 0);
        let key = RowKey {
            path: 1,
            image: 1,
            nr: 1,
            err: 0,
            query: Query::Stat,
            compat: false,
            from_dir_fd: false,
            moved: false,
        };
        // No process has this number: nothing is asked of /proc.
        let sample =
            || Sample { key, weight: 1, pc: 1, sp: 1, fp: 1, lr: 0, pid: u32::MAX, bytes: &[] };
        for taken in 0..MAX_STACKS + 3 {
            assert_eq!(events.samples.len(), taken.min(MAX_STACKS));
            events.sampled(sample());
        }
        let rows = HashMap::from([(key, 0)]);
        let observed = events.observed(Facts::default(), Window::default(), &rows);
        assert_eq!(observed.stacks.len(), MAX_STACKS);
        assert_eq!(observed.profile.lost.get(Loss::STACKS.0), Some(&3));
    }
}
