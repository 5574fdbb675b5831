//! The messages of the programs in the kernel: processes, paths, stacks.

mod finish;
mod image;
mod samples;

use self::image::{Image, used_so_far};
use self::samples::Samples;
use crate::SessionOptions;
use crate::session::layout::StackMessage;
use crate::session::rows::KernelRows;
use crate::session::wire::{KernelMessage, ProcessEvent, Used};
use foldhash::fast::FixedState;
use needless_host::RootId;
use needless_model::{Builder, Env, Exit, Loss, ProcId, Process, Spawn, WatchList};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Most descriptors of other root directories.
const MAX_ROOTS: usize = 256;
pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// A process that ended in the last window, of which this one may get calls.
struct Former {
    process: Process,
    cgroup: Option<u64>,
}

/// An exec, to be counted with its new image.
struct Exec {
    image: u32,
    path: String,
    by_descriptor: bool,
    directory: Option<Rc<str>>,
}

/// The text of a path.
struct Text {
    text: Rc<str>,
    /// The number of the directory that it is relative to.
    directory: u64,
}

/// What is known from the messages so far.
pub(crate) struct Events {
    pub(crate) builder: Builder,
    /// The rows taken from the kernel: of ended processes, and of all at the end.
    pub(crate) rows: KernelRows,
    started_ns: u64,
    /// How often [`look`](Events::look) was called.
    looks: u64,
    /// The looks at which images ended that have not settled.
    settling: Vec<u64>,
    /// Images have settled since the last question about that.
    settled: bool,
    watch: WatchList,
    latency: bool,
    shares_root: Option<RootId>,
    own_directory: Option<Rc<str>>,
    images: Map<u32, Image>,
    /// Images that ended in an earlier window, each with the look at which it had: rows of theirs may be in the kernel.
    ended: Map<u32, u64>,
    /// Images that ended in the last window, of which this one may get calls.
    former: Map<u32, Former>,
    /// The latest image of each live process.
    live: Map<u32, u32>,
    texts: Map<u64, Text>,
    /// Working directories by their numbers, as many as there may be rows.
    directories: Map<u64, Rc<str>>,
    max_rows: usize,
    execs: Vec<Exec>,
    samples: Samples,
    /// Images not yet looked up in /proc.
    new: Vec<u32>,
    /// Names of programs as given to exec, with their resolved paths.
    resolved: HashMap<String, Option<String>>,
    roots: Vec<(ProcId, OwnedFd)>,
    cgroups: Vec<(ProcId, u64)>,
    /// Paths of control groups by their ids, as many as there may be rows.
    cgroup_paths: Map<u64, Rc<str>>,
}

impl Events {
    pub(crate) fn new(options: &SessionOptions, started_ns: u64) -> Events {
        Events {
            builder: Builder::new(options.limits),
            rows: KernelRows::default(),
            started_ns,
            looks: 0,
            settling: Vec::new(),
            settled: false,
            watch: options.watch.clone(),
            latency: options.latency,
            shares_root: RootId::of("self"),
            own_directory: std::env::current_dir()
                .ok()
                .and_then(|path| Some(path.to_str()?.into())),
            images: Map::default(),
            ended: Map::default(),
            former: Map::default(),
            live: Map::default(),
            texts: Map::default(),
            directories: Map::default(),
            max_rows: options.limits.rows,
            execs: Vec::new(),
            samples: Samples::default(),
            new: Vec::new(),
            resolved: HashMap::new(),
            roots: Vec::new(),
            cgroups: Vec::new(),
            cgroup_paths: Map::default(),
        }
    }

    /// Forgets all processes and rows: the kernel has forgotten them, too. It has counted `added` rows until now.
    pub(crate) fn restart(&mut self, options: &SessionOptions, added: u64) {
        let before = std::mem::replace(self, Events::new(options, self.started_ns));
        self.rows.removed = added;
        // The kernel does not send these again.
        (self.texts, self.directories) = (before.texts, before.directories);
        self.cgroup_paths = before.cgroup_paths;
    }

    /// From now on, process `pid` is observed as `image`.
    pub(crate) fn attached(&mut self, image: u32, pid: u32) {
        self.begin(image, pid, Process::new(pid, None, Spawn::Seen), true);
    }

    /// Whether process `pid` is observed and lives.
    pub(crate) fn lives(&self, pid: u32) -> bool {
        self.live.contains_key(&pid)
    }

    /// Whether images have settled since the last call.
    pub(crate) fn any_settled(&mut self) -> bool {
        std::mem::take(&mut self.settled)
    }

    /// How many observed processes live, by the messages so far.
    pub(crate) fn living(&self) -> usize {
        self.live.len()
    }

    /// Whether `image` ended so long ago that no CPU can still add to its rows.
    pub(crate) fn has_settled(&self, image: u32) -> bool {
        let ended = self.images.get(&image).and_then(|image| image.ended);
        ended.or_else(|| self.ended.get(&image).copied()).is_some_and(|look| look + 1 < self.looks)
    }

    /// Takes one message.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        match KernelMessage::read(bytes) {
            Some(KernelMessage::Seen(event)) => {
                let mut process = Process::new(event.about.pid, None, Spawn::Seen);
                describe(&mut process, &event);
                self.begin(event.image(), event.about.pid, process, true);
                self.note_cgroup(event);
            }
            Some(KernelMessage::Forked(event)) => self.forked(event),
            Some(KernelMessage::Executed(event)) => self.executed(event),
            Some(KernelMessage::Exited(event)) => self.exited(event),
            Some(KernelMessage::Spent(spent)) => {
                if let Some(image) = self.images.get_mut(&spent.head.image) {
                    image.rest_ns += spent.runtime;
                    image.book(&mut self.builder);
                }
            }
            Some(KernelMessage::Path { path, directory, text }) => {
                let text = String::from_utf8_lossy(text).into();
                self.texts.insert(path, Text { text, directory });
            }
            Some(KernelMessage::Directory { number, name })
                if self.directories.len() < self.max_rows =>
            {
                self.directories.insert(number, name.into());
            }
            Some(KernelMessage::Cgroup { id, path }) if self.cgroup_paths.len() < self.max_rows => {
                self.cgroup_paths.insert(id, path.into());
            }
            Some(KernelMessage::Stack(about, bytes)) => self.sampled(&about, bytes),
            Some(KernelMessage::Mapping(about, path)) => self.samples.mapped(&about, path),
            Some(KernelMessage::OrphanRow(orphan)) => {
                self.rows.add(orphan.key, orphan.row.tally(self.started_ns, self.latency));
            }
            Some(KernelMessage::Directory { .. } | KernelMessage::Cgroup { .. }) | None => {}
        }
    }

    fn begin(&mut self, image: u32, pid: u32, process: Process, attached: bool) {
        let id = self.builder.process(process);
        self.images.insert(image, Image { pid: Some(pid), attached, ..Image::new(id) });
        self.live.insert(pid, image);
        self.new.push(image);
    }

    fn forked(&mut self, event: ProcessEvent<'_>) {
        let process = match self.images.get(&event.about.former) {
            Some(parent) => {
                let mut process =
                    self.builder.process_ref(parent.id).forked(event.about.pid, parent.id);
                process.shares_root = event.shares_root();
                process
            }
            None => Process::new(event.about.pid, None, Spawn::Seen),
        };
        self.begin(event.image(), event.about.pid, process, false);
        self.note_cgroup(event);
    }

    fn note_cgroup(&mut self, event: ProcessEvent<'_>) {
        if let Some(image) = self.images.get(&event.image()) {
            self.cgroups.push((image.id, event.about.cgroup));
        }
    }

    fn executed(&mut self, event: ProcessEvent<'_>) {
        let used = Used::from(&event.about);
        let former = self.images.get_mut(&event.about.former).map(|former| {
            former.pid = None;
            former.ended = Some(self.looks);
            self.settling.push(self.looks);
            former.used = Some(used);
            former.book(&mut self.builder);
            self.builder.process_mut(former.id).shares_root &= event.shares_root();
            former.id
        });
        let mut process = Process::new(event.about.pid, former, Spawn::Exec);
        process.secure = Some(event.about.secure != 0);
        // Of one with set-user-ID only the real user is known.
        process.user = (event.about.secure == 0).then_some((event.about.uid, event.about.gid));
        describe(&mut process, &event);
        if let Some(environ) = event.whole_environ() {
            process.env = Env::Known(needless_host::watched_variables(environ, &self.watch));
        }
        let directory = match event.about.directory {
            // The command, where needless was started.
            0 if event.about.former == 0 => self.own_directory.clone(),
            number => self.directories.get(&number).cloned(),
        };
        let file = String::from_utf8_lossy(event.file).into_owned();
        let interpreter = String::from_utf8_lossy(event.interpreter).into_owned();
        process.exe = self.resolve(&interpreter, directory.as_deref(), &event);
        if let Some(exe) = &process.exe {
            process.runtime = needless_model::Runtime::of_exe(exe);
        }
        self.begin(event.image(), event.about.pid, process, false);
        self.note_cgroup(event);
        if let Some(image) = self.images.get_mut(&event.image()) {
            image.earlier = used;
            if let Some(environ) = event.whole_environ() {
                self.builder.environment(image.id, needless_host::variables(environ));
            }
        }
        let by_descriptor = event.about.by_descriptor != 0;
        self.execs.push(Exec { image: event.image(), path: file, by_descriptor, directory });
    }

    /// The program that the kernel runs for `name`, as /proc would show it.
    fn resolve(
        &mut self,
        name: &str,
        directory: Option<&str>,
        event: &ProcessEvent<'_>,
    ) -> Option<String> {
        let path = match name.strip_prefix('/') {
            // What execveat(2) makes of a descriptor: another file for us.
            Some(below) if below.starts_with("dev/fd/") => return None,
            Some(_) => name.to_owned(),
            None => below(directory?, name),
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
        image.used = Some(Used::from(&event.about));
        image.book(&mut self.builder);
        let process = self.builder.process_mut(image.id);
        process.shares_root &= event.shares_root();
        let (code, signal) = (event.about.exit_code >> 8 & 0xff, event.about.exit_code & 0x7f);
        process.exit = Some(if signal == 0 { Exit::Code(code) } else { Exit::Signal(signal) });
    }

    fn sampled(&mut self, about: &StackMessage, bytes: &[u8]) {
        if !self.samples.add(about, bytes) {
            self.builder.lost(Loss::Stacks, 1);
        }
    }

    /// Looks up new processes, and which of the ended ones are settled. Every tenth of a second.
    pub(crate) fn look(&mut self) {
        self.looks += 1;
        let looks = self.looks;
        self.settled |= self.settling.extract_if(.., |look| *look + 1 < looks).count() > 0;
        self.look_up_new();
    }

    /// Looks up new processes that still live.
    pub(crate) fn look_up_new(&mut self) {
        for number in std::mem::take(&mut self.new) {
            let Some(image) = self.images.get_mut(&number) else { continue };
            let Some(pid) = image.pid.filter(|pid| self.live.get(pid) == Some(&number)) else {
                continue;
            };
            let process = self.builder.process_mut(image.id);
            if process.born == Spawn::Seen {
                let known = (process.command.take(), process.open_files);
                let block = needless_host::read_process(process, &self.watch);
                // It may have ended by now; these two came with a message.
                process.command = known.0.or(process.command.take());
                process.open_files = known.1.or(process.open_files);
                process.shares_root = RootId::of(&pid.to_string()) == self.shares_root;
                image.earlier = used_so_far(pid).unwrap_or_default();
                if let Some(block) = block {
                    self.builder.environment(image.id, needless_host::variables(&block));
                }
            } else if process.born == Spawn::Exec && process.exe.is_none() {
                // Only then: the process may have executed another program since.
                let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
                if let Some(exe) = exe.and_then(|exe| exe.to_str().map(str::to_owned)) {
                    process.runtime = needless_model::Runtime::of_exe(&exe);
                    process.exe = Some(exe);
                }
            }
            if !self.builder.process_ref(image.id).shares_root
                && self.roots.len() < MAX_ROOTS
                && let Some(root) = needless_host::open_root(pid as i32)
            {
                self.roots.push((image.id, root));
            }
        }
    }
}

/// The absolute path of `relative`.
fn below(directory: &str, relative: &str) -> String {
    format!("{}/{relative}", directory.trim_end_matches('/'))
}

/// The facts in the message about a process that is first seen, or executes.
fn describe(process: &mut Process, event: &ProcessEvent<'_>) {
    process.shares_root = event.shares_root();
    process.command = Some(event.command());
    process.open_files = Some(event.about.open_files);
}
