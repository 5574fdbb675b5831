//! The bytes that the programs in the kernel and this crate exchange, as the rest of the crate uses them.

use crate::session::layout::{
    ANSWER, Action, Call, Counter, Decider, LARGEST_RESULT, MappingMessage, MessageHead,
    MessageKind, Moves, NONE, OrphanRow, PathMessage, ProcessMessage, QUESTION, Reply, Row, RowKey,
    SEEN, Settings, Spent, StackMessage, When,
};
use crate::{Scope, SessionOptions};
use needless_model::{Descriptor, Query, Sequence, Tally, WaitsOn};
use needless_syscalls::{self as syscalls, Abi, CallKind, Classifier, Condition, Shape, abis};
use zerocopy::{FromBytes, FromZeros, Immutable, KnownLayout};

/// The inode number of the machine's own pid namespace (`PROC_PID_INIT_INO`, linux/proc_ns.h).
pub(crate) const INITIAL_PID_NAMESPACE: u32 = 0xeffffffc;

const _: () = assert!(ANSWER == needless_model::ANSWER && QUESTION == needless_model::QUESTION);
const _: () = assert!(LARGEST_RESULT == needless_model::LARGEST_RESULT);

/// What only the machine knows.
pub(crate) struct Here {
    /// Of the hash of paths.
    pub(crate) key: [u64; 2],
    pub(crate) pid: u32,
    pub(crate) pid_namespace: u32,
    /// The id of the control group at the mount point of cgroup v2; 0: it is not mounted.
    pub(crate) cgroup_root: u64,
    /// How many CPUs there may be.
    pub(crate) cpus: u32,
}

pub(crate) fn settings(target: Scope, options: &SessionOptions, here: &Here) -> Settings {
    let abis = abis();
    let translate = target == Scope::Chosen && here.pid_namespace != INITIAL_PID_NAMESPACE;
    let call = |at: usize, nr: usize| {
        let abi: &Abi = abis.get(at)?;
        abi.calls.get(nr)?.map(|known| call(known, abi.is_64bit))
    };
    let calls = std::array::from_fn(|at| {
        std::array::from_fn(|nr| call(at, nr).unwrap_or_else(|| no_path(Action::Plain)))
    });
    Settings {
        key: here.key,
        within_ns: options.limits.repeat_within_ns,
        cgroup_root: here.cgroup_root,
        self_pid: here.pid,
        pid_ns: here.pid_namespace,
        everyone: (target == Scope::Everyone).into(),
        all: options.all.into(),
        latency: options.latency.into(),
        stacks: options.stacks.into(),
        launch: (target == Scope::Launched).into(),
        translate: translate.into(),
        metered: options.metered.into(),
        unused: 0,
        cpus: here.cpus,
        last_image: options.room.images,
        calls,
    }
}

fn no_path(kind: Action) -> Call {
    let query = Query::NoPath as u8;
    let none = Call { kind: kind as u8, query_or_class: query, ..Call::new_zeroed() };
    Call { path: NONE, dir: NONE, at_flags: NONE, ..none }
}

fn call(call: syscalls::Call, is_64bit: bool) -> Call {
    if matches!(call.name, "clone" | "clone3" | "fork" | "vfork") {
        return no_path(Action::Spawn);
    }
    match call.kind {
        // Only a tracer by ptrace needs to know of these.
        CallKind::Plain | CallKind::Ptrace | CallKind::Clone(_) | CallKind::Seccomp(_) => {
            no_path(Action::Plain)
        }
        CallKind::Path(shape) => path(shape, is_64bit),
        CallKind::Wait(when) => condition(when, no_path(Action::Wait)),
        CallKind::Classify(when, classifier) => {
            let (decider, class) = match classifier {
                Classifier::Just(class) => (Decider::Name, class as u8),
                Classifier::Output => (Decider::Output, NONE),
                Classifier::Heap => (Decider::Heap, NONE),
                Classifier::Mapped => (Decider::Mapped, NONE),
                Classifier::Unmapped => (Decider::Unmapped, NONE),
                Classifier::Peer => (Decider::Peer, NONE),
            };
            let call = condition(when, no_path(Action::Classify));
            Call { decider: decider as u8, query_or_class: class, ..call }
        }
        CallKind::Moves(_) => no_path(Action::Moves),
        CallKind::Uring => no_path(Action::Uring),
    }
}

fn condition(when: Condition, call: Call) -> Call {
    let (when, when_at, when_bits) = match when {
        Condition::Always => (When::Always, 0, 0),
        Condition::NonZero(at) => (When::NonZero, at, 0),
        Condition::Without(at, bits) => (When::Without, at, bits),
        Condition::AtLeast(at, least) => (When::AtLeast, at, least),
        Condition::Stream(fd, below) => (When::Stream, fd as u8, below),
        // Values below 32: the others are of calls that are only counted here.
        Condition::OneOf(at, bits) => (When::OneOf, at, bits as u32),
        Condition::With(at, bits) => (When::With, at, bits),
    };
    Call { when: when as u8, when_at, when_bits, ..call }
}

fn path(shape: Shape, is_64bit: bool) -> Call {
    let (decider, decider_at) = match shape.decided_by {
        syscalls::Decider::Name => (Decider::Name, 0),
        syscalls::Decider::OpenFlags(at) => (Decider::OpenFlags, at),
        syscalls::Decider::OpenHow(at) => (Decider::OpenHow, at),
        syscalls::Decider::AtFlags(at) => (Decider::AtFlags, at),
    };
    let arm = cfg!(target_arch = "aarch64");
    let (reply, reply_at) = match shape.reply {
        syscalls::Reply::None => (Reply::None, 0),
        syscalls::Reply::Stat(at) => (if is_64bit { Reply::Stat } else { Reply::Stat32 }, at),
        syscalls::Reply::Stat64(at) => (if arm { Reply::Stat64Arm } else { Reply::Stat64I386 }, at),
        syscalls::Reply::Statx(at) => (Reply::Statx, at),
        syscalls::Reply::Link(at) => (Reply::Link, at),
    };
    let moves = match shape.moves {
        syscalls::Moves::Nothing => Moves::Nothing,
        syscalls::Moves::Directory => Moves::Directory,
        syscalls::Moves::Root => Moves::Root,
    };
    Call {
        query_or_class: shape.query as u8,
        path: shape.path,
        dir: shape.dir.unwrap_or(NONE),
        at_flags: shape.at_flags.unwrap_or(NONE),
        decider: decider as u8,
        decider_at,
        reply: reply as u8,
        reply_at,
        moves: moves as u8,
        ..no_path(Action::Path)
    }
}

impl RowKey {
    pub(crate) fn query(&self) -> Query {
        Query::ALL.get(usize::from(self.query)).copied().unwrap_or(Query::OtherPath)
    }
}

impl Row {
    /// Times count from `started_ns`. `latency`: whether calls are timed.
    pub(crate) fn tally(&self, started_ns: u64, latency: bool) -> Tally {
        // What one CPU has not added yet may be below zero: it is subtracted from what it has added.
        let count = self.repeated.wrapping_add(self.others);
        Tally {
            count,
            repeated: self.repeated,
            first_ns: self.first_ns.saturating_sub(started_ns),
            last_ns: self.last_ns.saturating_sub(started_ns),
            kernel_ns: self.kernel_ns,
            timed: if latency { count.wrapping_sub(self.untimed.into()) } else { 0 },
            sequence: Sequence::default(),
        }
    }
}

impl Counter {
    /// `latency`: whether calls are timed.
    pub(crate) fn tally(&self, latency: bool) -> Tally {
        let Counter { count, kernel_ns, untimed, returned, zero, same, next, at_once, .. } = *self;
        let timed = if latency { count.saturating_sub(untimed) } else { 0 };
        let on = WaitsOn::ALL.get(usize::from(self.on & (SEEN - 1))).copied();
        let descriptor = on.filter(|_| self.on & SEEN != 0).map(|on| Descriptor {
            fd: self.fd,
            events: self.events,
            on,
        });
        let (calls, of_time, first) = (count, count, self.first);
        let sequence = Sequence {
            calls,
            returned,
            zero,
            same,
            next,
            at_once,
            timed: of_time,
            first,
            descriptor,
        };
        Tally { count, kernel_ns, timed, sequence, ..Tally::default() }
    }
}

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// 0 where it is not known.
    pub(crate) given_back: u64,
}

impl Used {
    /// What it has used since it had used `before`.
    pub(crate) fn since(self, before: Used) -> Used {
        Used {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            given_back: self.given_back.saturating_sub(before.given_back),
        }
    }
}

impl From<&ProcessMessage> for Used {
    /// The exact sum of its CPU time, split in the ratio of the ticks.
    fn from(about: &ProcessMessage) -> Used {
        let (user, system, sum) = (about.utime, about.stime, about.runtime);
        let share = u128::from(sum) * u128::from(system) / u128::from((user + system).max(1));
        let system_ns = u64::try_from(share).unwrap_or(u64::MAX).min(sum);
        Used {
            user_ns: sum - system_ns,
            system_ns,
            minor_faults: about.minor_faults,
            major_faults: about.major_faults,
            given_back: about.given_back,
        }
    }
}

/// A message of the programs.
#[derive(Clone, Debug)]
pub(crate) enum KernelMessage<'a> {
    Seen(ProcessEvent<'a>),
    Forked(ProcessEvent<'a>),
    Executed(ProcessEvent<'a>),
    Exited(ProcessEvent<'a>),
    /// The path with this hash has this text, and is relative to this directory.
    Path {
        path: u64,
        directory: u64,
        text: &'a [u8],
    },
    /// The directory with this number has this name.
    Directory {
        number: u64,
        name: String,
    },
    /// The control group with this id has this path.
    Cgroup {
        id: u64,
        path: String,
    },
    Stack(StackMessage, &'a [u8]),
    /// A file, and its name.
    Mapping(MappingMessage, String),
    /// A row, with what it adds to it.
    OrphanRow(OrphanRow),
    /// CPU time of a thread that ended.
    Spent(Spent),
}

/// Something that a process did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessEvent<'a> {
    pub(crate) about: ProcessMessage,
    pub(crate) file: &'a [u8],
    pub(crate) interpreter: &'a [u8],
    pub(crate) environ: &'a [u8],
}

impl<'a> ProcessEvent<'a> {
    fn read(bytes: &'a [u8]) -> Option<ProcessEvent<'a>> {
        let (about, rest) = take::<ProcessMessage>(bytes)?;
        let (file, rest) = split(rest, about.file_length);
        let (interpreter, rest) = split(rest, about.interpreter_length);
        let (environ, _) = split(rest, about.environ_length);
        Some(ProcessEvent { about, file: text(file), interpreter: text(interpreter), environ })
    }

    pub(crate) fn image(&self) -> u32 {
        self.about.head.image
    }

    /// The name of a process that was seen or executed.
    pub(crate) fn command(&self) -> String {
        let name = self.about.command.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    pub(crate) fn shares_root(&self) -> bool {
        self.about.shares_root != 0
    }

    /// The environment, where all of it was sent.
    pub(crate) fn whole_environ(&self) -> Option<&'a [u8]> {
        let whole = self.about.environ_length == self.about.environ_whole;
        whole.then_some(self.environ)
    }
}

impl KernelMessage<'_> {
    /// `None` for what this side does not know.
    pub(crate) fn read(bytes: &[u8]) -> Option<KernelMessage<'_>> {
        let (head, _) = take::<MessageHead>(bytes)?;
        let is = |kind: MessageKind| head.kind == kind as u32;
        let process = || ProcessEvent::read(bytes);
        Some(if is(MessageKind::Seen) {
            KernelMessage::Seen(process()?)
        } else if is(MessageKind::Forked) {
            KernelMessage::Forked(process()?)
        } else if is(MessageKind::Executed) {
            KernelMessage::Executed(process()?)
        } else if is(MessageKind::Exited) {
            KernelMessage::Exited(process()?)
        } else if is(MessageKind::Path) {
            let (PathMessage { path, directory, length, .. }, rest) = take(bytes)?;
            KernelMessage::Path { path, directory, text: split(rest, length).0 }
        } else if is(MessageKind::Directory) {
            let (PathMessage { path: number, length, .. }, rest) = take(bytes)?;
            KernelMessage::Directory { number, name: name(split(rest, length).0) }
        } else if is(MessageKind::Cgroup) {
            let (PathMessage { path: id, length, .. }, rest) = take(bytes)?;
            KernelMessage::Cgroup { id, path: name(split(rest, length).0) }
        } else if is(MessageKind::Stack) {
            let (stack, rest) = take::<StackMessage>(bytes)?;
            KernelMessage::Stack(stack, split(rest, stack.length).0)
        } else if is(MessageKind::Mapping) {
            let (mapping, rest) = take::<MappingMessage>(bytes)?;
            KernelMessage::Mapping(mapping, name(split(rest, mapping.length).0))
        } else if is(MessageKind::OrphanRow) {
            KernelMessage::OrphanRow(take(bytes)?.0)
        } else if is(MessageKind::Spent) {
            KernelMessage::Spent(take(bytes)?.0)
        } else {
            return None;
        })
    }
}

fn take<T: FromBytes + KnownLayout + Immutable>(bytes: &[u8]) -> Option<(T, &[u8])> {
    T::read_from_prefix(bytes).ok()
}

/// The first `length` bytes, or all where there are fewer, and the rest.
fn split(bytes: &[u8], length: u32) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len().min(length as usize))
}

/// The name whose components these are, the last one first.
pub(crate) fn name(components: &[u8]) -> String {
    let mut path = String::new();
    for component in text(components).rsplit(|byte| *byte == 0) {
        path.push('/');
        path.push_str(&String::from_utf8_lossy(component));
    }
    path
}

/// Without the NUL at its end.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\0").unwrap_or(bytes)
}
