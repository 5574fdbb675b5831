//! The bytes that the program in the kernel and we exchange: src/bpf/shared.h in Rust.

use crate::{Options, Target};
use needless_abi::{Abi, Decider, Kind, Moves, Reply, Shape, Told, When, abis};
use needless_model::{Ask, Tally};

/// `CALLS`, `TEXT` and the sizes of the structures of shared.h.
const CALLS: usize = 512;
pub(crate) const SETTINGS: usize = 32 + 2 * CALLS * CALL;
const CALL: usize = 16;
const COMMAND: usize = 16;
pub(crate) const SHARED: usize = 12 * 8;
pub(crate) const ROW_KEY: usize = 24;
pub(crate) const ROW: usize = 64;
pub(crate) const HOT: usize = ROW_KEY + ROW + 16;
pub(crate) const PLAIN_KEY: usize = 12;
pub(crate) const PLAIN: usize = 16;
pub(crate) const PROC: usize = 56;

const NONE: u8 = 0xff;

/// [`Ask`]s as shared.h numbers them.
const ASKS: [Ask; 10] = [
    Ask::Stat,
    Ask::Lstat,
    Ask::Open,
    Ask::OpenWrite,
    Ask::Access,
    Ask::Readlink,
    Ask::Exec,
    Ask::Change,
    Ask::OtherPath,
    Ask::NoPath,
];

/// The inode number of the machine's own pid namespace (`PROC_PID_INIT_INO`, linux/proc_ns.h).
pub(crate) const INITIAL_PID_NAMESPACE: u32 = 0xeffffffc;

/// What only the machine knows.
pub(crate) struct Here {
    pub(crate) seed: u64,
    pub(crate) pid: u32,
    pub(crate) pid_namespace: u32,
}

/// `struct settings`.
pub(crate) fn settings(target: Target, options: &Options, here: &Here) -> Vec<u8> {
    let (launch, everyone) = (target == Target::Launched, target == Target::Everyone);
    let mut bytes = Vec::with_capacity(SETTINGS);
    bytes.extend(here.seed.to_ne_bytes());
    bytes.extend(options.limits.repeat_within_ns.to_ne_bytes());
    bytes.extend(here.pid.to_ne_bytes());
    bytes.extend(here.pid_namespace.to_ne_bytes());
    let translate = target == Target::Chosen && here.pid_namespace != INITIAL_PID_NAMESPACE;
    let flags = [everyone, options.all, options.latency, options.stacks, launch, translate];
    bytes.extend(flags.map(u8::from));
    bytes.extend([0; 2]);
    let abis = abis();
    for at in 0..2 {
        for nr in 0..CALLS {
            let known = abis.get(at).and_then(|abi: &Abi| abi.calls.get(nr).copied().flatten());
            let mut about = call(known.map_or(Kind::Plain, |call| call.kind));
            if known.is_some_and(|call| matches!(call.name, "clone" | "clone3" | "fork" | "vfork"))
            {
                about[0] = 5;
            }
            bytes.extend(about);
        }
    }
    debug_assert_eq!(bytes.len(), SETTINGS);
    bytes
}

/// `struct call`.
fn call(kind: Kind) -> [u8; CALL] {
    let mut bytes = [0; CALL];
    // Kind, question, path, directory, flags.
    bytes[..5].copy_from_slice(&[0, ask(Ask::NoPath), NONE, NONE, NONE]);
    match kind {
        // These are of interest to a tracer by ptrace alone.
        Kind::Plain | Kind::Ptrace | Kind::Clone(_) | Kind::StrictMode(_) => {}
        Kind::Path(shape) => path(shape, &mut bytes),
        Kind::Wait(when) => {
            bytes[0] = 2;
            condition(when, &mut bytes);
        }
        Kind::Detail(when, told) => {
            bytes[0] = 6;
            bytes[1] = match told {
                Told::Just(detail) => detail as u8,
                Told::Output => 0x40,
                Told::Heap => 0x41,
                Told::Peer => 0x42,
            };
            condition(when, &mut bytes);
        }
        Kind::Moves => bytes[0] = 3,
        Kind::Uring => bytes[0] = 4,
    }
    bytes
}

fn condition(when: When, bytes: &mut [u8; CALL]) {
    let (how, at, bits) = match when {
        When::Always => (0, 0, 0),
        When::NonZero(at) => (1, at, 0),
        When::Without(at, bits) => (2, at, bits),
        When::AtLeast(at, least) => (3, at, least),
        When::Stream(fd, below) => (4, fd as u8, below),
        When::OneOf(at, bits) => (5, at, bits),
        When::With(at, bits) => (6, at, bits),
    };
    (bytes[9], bytes[10]) = (how, at);
    bytes[12..].copy_from_slice(&bits.to_ne_bytes());
}

fn path(shape: Shape, bytes: &mut [u8; CALL]) {
    let (decider, decider_at) = match shape.decided_by {
        Decider::Name => (0, 0),
        Decider::OpenFlags(at) => (1, at),
        Decider::OpenHow(at) => (2, at),
        Decider::AtFlags(at) => (3, at),
    };
    let arm = cfg!(target_arch = "aarch64");
    let (reply, reply_at) = match shape.reply {
        Reply::None => (0, 0),
        Reply::Stat(at) => (1, at),
        Reply::Stat64(at) => (if arm { 3 } else { 2 }, at),
        Reply::Statx(at) => (5, at),
        Reply::Link(at) => (6, at),
    };
    let moves = match shape.moves {
        Moves::Nothing => 0,
        Moves::Directory => 1,
        Moves::Root => 2,
    };
    bytes[0] = 1;
    bytes[1] = ask(shape.ask);
    bytes[2] = shape.path;
    bytes[3] = shape.dir.unwrap_or(NONE);
    bytes[4] = shape.at_flags.unwrap_or(NONE);
    (bytes[5], bytes[6], bytes[7], bytes[8]) = (decider, decider_at, reply, reply_at);
    bytes[11] = moves;
}

fn ask(ask: Ask) -> u8 {
    ASKS.iter().position(|known| *known == ask).map_or(NONE, |at| at as u8)
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
    pub(crate) texts_lost: u64,
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
        let (rows, folded, unreadable, texts_lost) = (next(), next(), next(), next());
        let (events_lost, uncounted, stacks_lost, uring) = (next(), next(), next(), next());
        Shared { rows, folded, unreadable, texts_lost, events_lost, uncounted, stacks_lost, uring }
    }
}

/// `struct row_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowKey {
    pub(crate) path: u64,
    pub(crate) image: u32,
    pub(crate) nr: u16,
    pub(crate) err: u16,
    pub(crate) ask: Ask,
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
            ask: ASKS.get(usize::from(fields.u8())).copied().unwrap_or(Ask::OtherPath),
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

/// `struct row`; times from `started_ns` on.
pub(crate) fn row(value: &[u8], started_ns: u64) -> Tally {
    let mut fields = Fields(value);
    let (repeated, others) = (fields.u64(), fields.u64());
    let mut time = || fields.u64().saturating_sub(started_ns);
    let (first_ns, last_ns) = (time(), time());
    let kernel_ns = fields.u64();
    // What a processor has not yet added may be less than nothing: it is taken from what it added.
    let count = repeated.wrapping_add(others);
    Tally { count, repeated, first_ns, last_ns, kernel_ns, timed: 0 }
}

/// `struct plain`.
pub(crate) fn plain(value: &[u8]) -> Tally {
    let mut fields = Fields(value);
    Tally { count: fields.u64(), kernel_ns: fields.u64(), ..Tally::default() }
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
    pub(crate) own_root: bool,
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
            1 => Event::Seen(process(image, fields)),
            2 => Event::Forked(process(image, fields)),
            3 => Event::Executed(process(image, fields)),
            4 => Event::Exited(process(image, fields)),
            5 => Event::Moved { image },
            6 => {
                let (path, length) = (fields.u64(), fields.u32());
                fields.u32();
                Event::Named { path, text: fields.bytes(length as usize) }
            }
            7 => {
                let key = RowKey::read(fields.bytes(ROW_KEY));
                let (weight, pc, sp) = (fields.u64(), fields.u64(), fields.u64());
                let (fp, lr) = (fields.u64(), fields.u64());
                let (pid, length) = (fields.u32(), fields.u32());
                let bytes = fields.bytes(length as usize);
                Event::Sampled(Sample { key, weight, pc, sp, fp, lr, pid, bytes })
            }
            8 => {
                let (start, end, page) = (fields.u64(), fields.u64(), fields.u64());
                let (inode, pid, first) = (fields.u64(), fields.u32(), fields.u32() != 0);
                let length = fields.u32();
                fields.u32();
                let path = text(fields.bytes(length as usize));
                Event::Mapped(Mapping { image, start, end, page, inode, pid, first, path })
            }
            9 => {
                let key = RowKey::read(fields.bytes(ROW_KEY));
                Event::Late { key, row: fields.bytes(ROW) }
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
    let [own_root, secure, moved, by_descriptor] = [flag(), flag(), flag(), flag()];
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
        own_root,
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
