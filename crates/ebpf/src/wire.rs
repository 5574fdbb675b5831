//! The bytes that the program in the kernel and we exchange: src/bpf/shared.h in Rust.

use crate::{Scope, SessionOptions};
use needless_model::{Query, Tally};
use needless_syscalls::{Abi, Classifier, Condition, Decider, Kind, Moves, Reply, Shape, abis};

/// Names and values of shared.h, which a test reads there.
macro_rules! shared {
    ($($type:ty: $($name:ident = $value:literal),+;)+) => {
        $($(pub(crate) const $name: $type = $value;)+)+
        #[cfg(test)]
        const AGREED: &[(&str, u64)] = &[$($((stringify!($name), $value)),+),+];
    };
}

shared! {
    usize: CALLS = 512, COMMAND = 16;
    usize: CALL_SIZE = 16, SETTINGS_HEAD = 48, SHARED_SIZE = 96, PROC_SIZE = 56;
    usize: ROW_KEY_SIZE = 24, ROW_SIZE = 72, HOT_SIZE = 112, PLAIN_KEY_SIZE = 12, PLAIN_SIZE = 24;
    u8: NONE = 0xff;
    // enum kind
    u8: PLAIN = 0, PATH = 1, WAIT = 2, MOVES = 3, URING = 4, BIRTH = 5, TELLS = 6;
    // enum decider
    u8: NAME = 0, OPEN_FLAGS = 1, OPEN_HOW = 2, AT_FLAGS = 3;
    // enum reply
    u8: NO_REPLY = 0, STAT = 1, STAT64_I386 = 2, STAT64_ARM = 3, STATX = 5, LINK = 6;
    // enum when
    u8: ALWAYS = 0, NON_ZERO = 1, WITHOUT = 2, AT_LEAST = 3, STREAM = 4, ONE_OF = 5, WITH = 6;
    // enum moves
    u8: NOTHING = 0, DIRECTORY = 1, ROOT = 2;
    // enum told
    u8: OUTPUT = 0x40, HEAP = 0x41, PEER = 0x42;
    // enum event_kind
    u32: SEEN = 1, FORKED = 2, EXECUTED = 3, EXITED = 4, MOVED = 5;
    u32: NAMED = 6, SAMPLED = 7, MAPPED = 8, LATE = 9;
}

const SETTINGS_SIZE: usize = SETTINGS_HEAD + 2 * CALLS * CALL_SIZE;

/// [`Query`]s as shared.h numbers them.
const ASKS: [Query; 10] = [
    Query::Stat,
    Query::Lstat,
    Query::Open,
    Query::OpenWrite,
    Query::Access,
    Query::Readlink,
    Query::Exec,
    Query::Change,
    Query::OtherPath,
    Query::NoPath,
];

/// The inode number of the machine's own pid namespace (`PROC_PID_INIT_INO`, linux/proc_ns.h).
pub(crate) const INITIAL_PID_NAMESPACE: u32 = 0xeffffffc;

/// What only the machine knows.
pub(crate) struct Here {
    /// Of the hash of paths.
    pub(crate) key: [u64; 2],
    pub(crate) pid: u32,
    pub(crate) pid_namespace: u32,
    /// How many CPUs there may be.
    pub(crate) cpus: u32,
}

/// `struct settings`.
pub(crate) fn settings(target: Scope, options: &SessionOptions, here: &Here) -> Vec<u8> {
    let (launch, everyone) = (target == Scope::Launched, target == Scope::Everyone);
    let mut bytes = Vec::with_capacity(SETTINGS_SIZE);
    bytes.extend(here.key.map(u64::to_ne_bytes).as_flattened());
    bytes.extend(options.limits.repeat_within_ns.to_ne_bytes());
    bytes.extend(here.pid.to_ne_bytes());
    bytes.extend(here.pid_namespace.to_ne_bytes());
    let translate = target == Scope::Chosen && here.pid_namespace != INITIAL_PID_NAMESPACE;
    let flags = [everyone, options.all, options.latency, options.stacks, launch, translate];
    bytes.extend(flags.map(u8::from));
    bytes.extend([0; 2]);
    bytes.extend(here.cpus.to_ne_bytes());
    bytes.extend(options.room.images.to_ne_bytes());
    let abis = abis();
    for at in 0..2 {
        for nr in 0..CALLS {
            let known = abis.get(at).and_then(|abi: &Abi| abi.calls.get(nr).copied().flatten());
            let mut about = call(known.map_or(Kind::Plain, |call| call.kind));
            if known.is_some_and(|call| matches!(call.name, "clone" | "clone3" | "fork" | "vfork"))
            {
                about[0] = BIRTH;
            }
            bytes.extend(about);
        }
    }
    debug_assert_eq!(bytes.len(), SETTINGS_SIZE);
    bytes
}

/// `struct call`.
fn call(kind: Kind) -> [u8; CALL_SIZE] {
    let mut bytes = [0; CALL_SIZE];
    // Kind, question, path, directory, flags.
    bytes[..5].copy_from_slice(&[PLAIN, query_number(Query::NoPath), NONE, NONE, NONE]);
    match kind {
        // These are of interest to a tracer by ptrace alone.
        Kind::Plain | Kind::Ptrace | Kind::Clone(_) | Kind::StrictMode(_) => {}
        Kind::Path(shape) => path(shape, &mut bytes),
        Kind::Wait(when) => {
            bytes[0] = WAIT;
            condition(when, &mut bytes);
        }
        Kind::ArgClass(when, told) => {
            bytes[0] = TELLS;
            bytes[1] = match told {
                Classifier::Just(detail) => detail as u8,
                Classifier::Output => OUTPUT,
                Classifier::Heap => HEAP,
                Classifier::Peer => PEER,
            };
            condition(when, &mut bytes);
        }
        Kind::Moves => bytes[0] = MOVES,
        Kind::Uring => bytes[0] = URING,
    }
    bytes
}

fn condition(when: Condition, bytes: &mut [u8; CALL_SIZE]) {
    let (how, at, bits) = match when {
        Condition::Always => (ALWAYS, 0, 0),
        Condition::NonZero(at) => (NON_ZERO, at, 0),
        Condition::Without(at, bits) => (WITHOUT, at, bits),
        Condition::AtLeast(at, least) => (AT_LEAST, at, least),
        Condition::Stream(fd, below) => (STREAM, fd as u8, below),
        Condition::OneOf(at, bits) => (ONE_OF, at, bits),
        Condition::With(at, bits) => (WITH, at, bits),
    };
    (bytes[9], bytes[10]) = (how, at);
    bytes[12..].copy_from_slice(&bits.to_ne_bytes());
}

fn path(shape: Shape, bytes: &mut [u8; CALL_SIZE]) {
    let (decider, decider_at) = match shape.decided_by {
        Decider::Name => (NAME, 0),
        Decider::OpenFlags(at) => (OPEN_FLAGS, at),
        Decider::OpenHow(at) => (OPEN_HOW, at),
        Decider::AtFlags(at) => (AT_FLAGS, at),
    };
    let arm = cfg!(target_arch = "aarch64");
    let (reply, reply_at) = match shape.reply {
        Reply::None => (NO_REPLY, 0),
        Reply::Stat(at) => (STAT, at),
        Reply::Stat64(at) => (if arm { STAT64_ARM } else { STAT64_I386 }, at),
        Reply::Statx(at) => (STATX, at),
        Reply::Link(at) => (LINK, at),
    };
    let moves = match shape.moves {
        Moves::Nothing => NOTHING,
        Moves::Directory => DIRECTORY,
        Moves::Root => ROOT,
    };
    bytes[0] = PATH;
    bytes[1] = query_number(shape.query);
    bytes[2] = shape.path;
    bytes[3] = shape.dir.unwrap_or(NONE);
    bytes[4] = shape.at_flags.unwrap_or(NONE);
    (bytes[5], bytes[6], bytes[7], bytes[8]) = (decider, decider_at, reply, reply_at);
    bytes[11] = moves;
}

fn query_number(query: Query) -> u8 {
    ASKS.iter().position(|known| *known == query).map_or(NONE, |at| at as u8)
}

/// Takes fields off the front of a structure.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn bytes(&mut self, n: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        head
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        // Shorter only if the kernel's side and ours disagree, which is checked at the start.
        self.bytes(N).try_into().unwrap_or([0; N])
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.array())
    }
}

/// `struct shared`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) rows: u64,
    pub(crate) folded: u64,
    pub(crate) unreadable: u64,
    pub(crate) untimed: u64,
    pub(crate) events_lost: u64,
    pub(crate) uncounted: u64,
    pub(crate) stacks_lost: u64,
    pub(crate) uring: u64,
}

impl Shared {
    pub(crate) fn read(bytes: &[u8]) -> Shared {
        let mut fields = Fields(bytes);
        let _changes = fields.u64();
        let mut next = || fields.u64();
        let (rows, folded, unreadable, untimed) = (next(), next(), next(), next());
        let (events_lost, uncounted, stacks_lost, uring) = (next(), next(), next(), next());
        Shared { rows, folded, unreadable, untimed, events_lost, uncounted, stacks_lost, uring }
    }
}

/// `struct row_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowKey {
    pub(crate) path: u64,
    pub(crate) image: u32,
    pub(crate) nr: u16,
    pub(crate) err: u16,
    pub(crate) query: Query,
    pub(crate) compat: bool,
    pub(crate) from_dir_fd: bool,
    /// Whether the working directory may have been another than the image's first.
    pub(crate) moved: bool,
}

impl RowKey {
    pub(crate) fn read(bytes: &[u8]) -> RowKey {
        let mut fields = Fields(bytes);
        RowKey {
            path: fields.u64(),
            image: fields.u32(),
            nr: fields.u16(),
            err: fields.u16(),
            query: ASKS.get(usize::from(fields.u8())).copied().unwrap_or(Query::OtherPath),
            compat: fields.u8() != 0,
            from_dir_fd: fields.u8() != 0,
            moved: fields.u8() != 0,
        }
    }
}

/// `struct plain_key`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainKey {
    pub(crate) image: u32,
    pub(crate) nr: u16,
    pub(crate) err: u16,
    pub(crate) compat: bool,
}

impl PlainKey {
    pub(crate) fn read(bytes: &[u8]) -> PlainKey {
        let mut fields = Fields(bytes);
        PlainKey {
            image: fields.u32(),
            nr: fields.u16(),
            err: fields.u16(),
            compat: fields.u16() != 0,
        }
    }
}

/// `struct row`; times from `started_ns` on. `latency`: whether calls are timed.
pub(crate) fn row(value: &[u8], started_ns: u64, latency: bool) -> Tally {
    let mut fields = Fields(value);
    let (repeated, others) = (fields.u64(), fields.u64());
    let mut time = || fields.u64().saturating_sub(started_ns);
    let (first_ns, last_ns) = (time(), time());
    let kernel_ns = fields.u64();
    fields.bytes(24); // print, changes, waits, streak, of which only the program in the kernel knows
    let untimed = fields.u32();
    // What a processor has not yet added may be less than nothing: it is taken from what it added.
    let count = repeated.wrapping_add(others);
    let timed = if latency { count.wrapping_sub(untimed.into()) } else { 0 };
    Tally { count, repeated, first_ns, last_ns, kernel_ns, timed }
}

/// `struct plain`. `latency`: whether calls are timed.
pub(crate) fn plain(value: &[u8], latency: bool) -> Tally {
    let mut fields = Fields(value);
    let (count, kernel_ns, untimed) = (fields.u64(), fields.u64(), fields.u64());
    let timed = if latency { count.saturating_sub(untimed) } else { 0 };
    Tally { count, kernel_ns, timed, ..Tally::default() }
}

/// `struct process`, with what follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessEvent<'a> {
    pub(crate) image: u32,
    pub(crate) pid: u32,
    pub(crate) former: u32,
    /// CPU time of the process so far: in user mode and in the kernel as sampled at ticks, and the
    /// exact sum.
    pub(crate) times: [u64; 3],
    pub(crate) cgroup: u64,
    /// The soft limit of open files.
    pub(crate) open_files: u64,
    /// The name of a process that was seen or executed.
    pub(crate) command: &'a [u8],
    pub(crate) exit_code: i32,
    pub(crate) shares_root: bool,
    pub(crate) secure: bool,
    pub(crate) moved: bool,
    pub(crate) by_descriptor: bool,
    pub(crate) file: &'a [u8],
    pub(crate) interpreter: &'a [u8],
    pub(crate) environ: &'a [u8],
    /// Whether `environ` is all of it.
    pub(crate) environ_whole: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    Seen(ProcessEvent<'a>),
    Forked(ProcessEvent<'a>),
    Executed(ProcessEvent<'a>),
    Exited(ProcessEvent<'a>),
    Moved {
        image: u32,
    },
    Named {
        path: u64,
        text: &'a [u8],
    },
    Sampled(Sample<'a>),
    Mapped(Mapping<'a>),
    /// A row, with what it adds to it.
    Late {
        key: RowKey,
        row: &'a [u8],
    },
}

/// `struct mapped`, with the path that follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping<'a> {
    pub(crate) image: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) page: u64,
    pub(crate) inode: u64,
    pub(crate) pid: u32,
    pub(crate) first: bool,
    /// The components of the path, the last first.
    pub(crate) path: &'a [u8],
}

/// `struct sampled`, with the stack that follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) key: RowKey,
    pub(crate) weight: u64,
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
    pub(crate) lr: u64,
    pub(crate) pid: u32,
    pub(crate) bytes: &'a [u8],
}

impl Event<'_> {
    /// `None` for what this side does not know.
    pub(crate) fn read(bytes: &[u8]) -> Option<Event<'_>> {
        let mut fields = Fields(bytes);
        let (kind, image, _at_ns) = (fields.u32(), fields.u32(), fields.u64());
        Some(match kind {
            SEEN => Event::Seen(process(image, fields)),
            FORKED => Event::Forked(process(image, fields)),
            EXECUTED => Event::Executed(process(image, fields)),
            EXITED => Event::Exited(process(image, fields)),
            MOVED => Event::Moved { image },
            NAMED => {
                let (path, length) = (fields.u64(), fields.u32());
                fields.u32();
                Event::Named { path, text: fields.bytes(length as usize) }
            }
            SAMPLED => {
                let key = RowKey::read(fields.bytes(ROW_KEY_SIZE));
                let (weight, pc, sp) = (fields.u64(), fields.u64(), fields.u64());
                let (fp, lr) = (fields.u64(), fields.u64());
                let (pid, length) = (fields.u32(), fields.u32());
                let bytes = fields.bytes(length as usize);
                Event::Sampled(Sample { key, weight, pc, sp, fp, lr, pid, bytes })
            }
            MAPPED => {
                let (start, end, page) = (fields.u64(), fields.u64(), fields.u64());
                let (inode, pid, first) = (fields.u64(), fields.u32(), fields.u32() != 0);
                let length = fields.u32();
                fields.u32();
                let path = text(fields.bytes(length as usize));
                Event::Mapped(Mapping { image, start, end, page, inode, pid, first, path })
            }
            LATE => {
                let key = RowKey::read(fields.bytes(ROW_KEY_SIZE));
                Event::Late { key, row: fields.bytes(ROW_SIZE) }
            }
            _ => return None,
        })
    }
}

fn process(image: u32, mut fields: Fields<'_>) -> ProcessEvent<'_> {
    let (pid, former) = (fields.u32(), fields.u32());
    let times = [fields.u64(), fields.u64(), fields.u64()];
    let (cgroup, open_files) = (fields.u64(), fields.u64());
    let command = fields.bytes(COMMAND);
    let exit_code = fields.u32() as i32;
    let mut flag = || fields.u8() != 0;
    let [shares_root, secure, moved, by_descriptor] = [flag(), flag(), flag(), flag()];
    let lengths = [fields.u32(), fields.u32(), fields.u32()];
    let whole = fields.u32();
    let [file, interpreter, environ] = lengths.map(|length| fields.bytes(length as usize));
    ProcessEvent {
        image,
        pid,
        former,
        times,
        cgroup,
        open_files,
        command: command.split(|byte| *byte == 0).next().unwrap_or_default(),
        exit_code,
        shares_root,
        secure,
        moved,
        by_descriptor,
        file: text(file),
        interpreter: text(interpreter),
        environ,
        environ_whole: environ.len() == whole as usize,
    }
}

/// Without the NUL at its end.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\0").unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
