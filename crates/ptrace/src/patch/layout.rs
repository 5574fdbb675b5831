//! Where things are in a process whose call sites are patched, in a frame of the stub, and in the table that it
//! fills. The stub (`stub.rs`) and the tracer use the same numbers.

use needless_syscalls::{Call, CallKind, Decider, Reply, Shape};

/// What we map into a process starts here. The seccomp filter knows one address in it, so it is the same in every
/// process: below where the kernel begins to put libraries and stacks (28 random bits of a page number), and where
/// sanitizers expect a program's memory, not their own.
pub(crate) const REGION: u64 = 0x7ea0_0000_0000;
/// After the page of code: one that each process has for itself; while its first 32 bits are 0, calls stop.
pub(crate) const CONTROL: u64 = REGION + 0x1000;
/// The table, shared by the process and the tracer.
pub(crate) const TABLE: u64 = CONTROL + 0x1000;
/// Bytes of all of that.
pub(crate) const REGION_BYTES: u64 = TABLE + TABLE_BYTES as u64 - REGION;

/// The low 31 bits of the address of the page with the code of sites, which is below the patched code: so the seccomp
/// filter knows who changes it, in every process. A jump reaches one such page; below a program at its customary
/// address, 0x400000, it is the page before.
pub(crate) const NEAR: u64 = 0x3f_f000;
/// From one such page to the next.
pub(crate) const NEAR_EACH: u64 = 1 << 31;

/// In the table: how many records there are, in all, and how many the tracer has taken. Both begin with [`RECORDS`].
pub(crate) const HEAD: usize = 0;
pub(crate) const TAKEN: usize = 8;
/// In the table: ticks of the time stamp counter within which a question counts as repeated.
pub(crate) const WITHIN: usize = 16;
/// In the table: the call that would make a record stand for so many is taken by the tracer, for a snapshot of its stack.
pub(crate) const SNAPSHOT_AT: usize = 24;
/// The first value of [`SNAPSHOT_AT`]; the next ones are 8 times as large.
pub(crate) const FIRST_SNAPSHOT: u64 = 64;
/// In the table: the numbers of the records that were written last, by the place and the path's address; how many.
pub(crate) const RECENT: usize = 64;
pub(crate) const RECENTS: usize = 256;
/// In the table: the first record.
pub(crate) const RECORDS_AT: usize = 0x1000;
/// How many have room; a power of 2. The one with number `n` is in place `n` modulo this.
pub(crate) const RECORDS: usize = 1024;
/// Bytes of a record, also as a power of 2.
pub(crate) const RECORD: usize = 1 << RECORD_SHIFT;
pub(crate) const RECORD_SHIFT: usize = 9;
/// Bytes of the table.
pub(crate) const TABLE_BYTES: usize = RECORDS_AT + RECORDS * RECORD;

/// In a record: how many calls it stands for; 0: the tracer has taken it.
pub(crate) const COUNT: usize = 0;
/// In a record: the times of the first call and of the last.
pub(crate) const FIRST: usize = 8;
pub(crate) const LAST: usize = 16;
/// In a record, what is equal where a call repeats another: the number of the site; the result, 0 for a descriptor;
/// directory and flags of the call; what the kernel filled in, zeros after it.
pub(crate) const PLACE: usize = 24;
pub(crate) const ANSWERED: usize = 32;
pub(crate) const DIRECTORY: usize = 40;
pub(crate) const FLAGS: usize = 48;
pub(crate) const ANSWER: usize = 56;
/// Bytes of that before the path.
pub(crate) const BODY_BYTES: usize = PATH - PLACE;
/// Words of an answer, and of one that is a file's status.
pub(crate) const ANSWER_WORDS: usize = 8;
pub(crate) const STATUS_WORDS: usize = 5;
/// Bytes of the longest link that a record holds.
pub(crate) const LONGEST_LINK: usize = ANSWER_WORDS * 8;
/// In a record: the path, zeros after it up to a multiple of 8; and its room, with 8 zeros.
pub(crate) const PATH: usize = ANSWER + ANSWER_WORDS * 8;
pub(crate) const PATH_ROOM: usize = RECORD - PATH;

/// Assembles these lines, in which these constants of the place of this macro are known.
macro_rules! assemble {
    ($($name:ident)*; $($line:literal,)*) => {
        std::arch::global_asm!($($line,)* $($name = const $name,)*);
    };
}
pub(crate) use assemble;

/// Below the stack pointer of a function may be data of it (System V ABI, AMD64, 3.2.2).
pub(crate) const RED_ZONE: u64 = 128;
/// In a frame: result, data of the site, the arguments; a word that is 0, for an argument that a call does not have.
pub(crate) const RESULT: u64 = 0;
pub(crate) const SITE: u64 = 8;
pub(crate) const A0: u64 = 16;
pub(crate) const ARGUMENTS: [u64; 6] = [A0, A0 + 8, A0 + 16, A0 + 24, A0 + 32, A0 + 40];
pub(crate) const ZERO: u64 = A0 + 48;
/// How far below the stack pointer of a function a frame is.
pub(crate) const DOWN: u64 = RED_ZONE + ZERO + 8;

/// The code of a site: the instruction that was there, the address of its data, the jump to the stub.
pub(crate) const SITE_DATA: u64 = 16;
/// Bytes of a site, with its data.
pub(crate) const SITE_BYTES: u64 = SITE_DATA + 8 * DATA_WORDS as u64;
/// Words of the data of a site: the stub; where its `syscall` is; what follows it; where a frame has the path, the
/// directory and the flags; which flags let it stop; what the kernel fills in, where its address is, and how long it is;
/// the offsets of the words in it that matter, a byte each; the number of the site.
pub(crate) const DATA_WORDS: usize = 12;
pub(crate) const STUB: u64 = 0;
pub(crate) const STOPPING: u64 = 8;
pub(crate) const AFTER: u64 = 16;
pub(crate) const PATH_AT: u64 = 24;
pub(crate) const DIRECTORY_AT: u64 = 32;
pub(crate) const FLAGS_AT: u64 = 40;
pub(crate) const CHANGES: u64 = 48;
pub(crate) const REPLY: u64 = 56;
pub(crate) const REPLY_AT: u64 = 64;
pub(crate) const REPLY_BYTES: u64 = 72;
pub(crate) const FIELDS: u64 = 80;
pub(crate) const INDEX: u64 = 88;

/// Values of [`REPLY`].
pub(crate) const STATUS: u64 = 1;
pub(crate) const LINK: u64 = 2;

/// The bytes of an overwritten instruction, and of the jump in its place.
pub(crate) const JUMP: u64 = 5;

/// With this call, `getppid`, from one address, the stub asks the tracer to take a call from its frame. It is harmless
/// if there is no tracer, and allowed by the filters of containers and services.
pub(crate) const REPORT: u32 = 110;

/// The path of a call that the stub can make.
pub(crate) fn patchable(call: &Call) -> Option<Shape> {
    const CALLS: [&str; 11] = [
        "open",
        "stat",
        "lstat",
        "access",
        "readlink",
        "openat",
        "newfstatat",
        "readlinkat",
        "faccessat",
        "faccessat2",
        "statx",
    ];
    match call.kind {
        CallKind::Path(shape) if CALLS.contains(&call.name) => Some(shape),
        _ => None,
    }
}

/// The data of site `index`, whose overwritten instruction is at `start`.
pub(crate) fn data(shape: Shape, start: u64, index: u64) -> [u64; DATA_WORDS] {
    /// O_ACCMODE, O_CREAT, O_TRUNC, O_TMPFILE: it may change something.
    const MAY_CHANGE: u64 = 0x40_0243;
    // As `fingerprint` in memory.rs has them.
    const STAT: [u8; 8] = [0, 8, 48, 88, 96, 0, 0, 0];
    const STATX: [u8; 8] = [0x20, 0x28, 0x70, 0x78, 0x88, 0, 0, 0];
    let in_frame = |at: Option<u8>| at.map_or(ZERO, |at| ARGUMENTS[usize::from(at)]);
    let (changes, flags) = match shape.decided_by {
        Decider::OpenFlags(at) => (MAY_CHANGE, Some(at)),
        _ => (0, shape.at_flags),
    };
    let (reply, at, bytes, fields) = match shape.reply {
        Reply::Stat(at) => (STATUS, Some(at), 144, STAT),
        Reply::Statx(at) => (STATUS, Some(at), 256, STATX),
        Reply::Link(at) => (LINK, Some(at), libc::PATH_MAX as u64, [0; 8]),
        Reply::None | Reply::Stat64(_) => (0, None, 0, [0; 8]),
    };
    let (path, directory) = (in_frame(Some(shape.path)), in_frame(shape.dir));
    let (stopping, after) = (start + JUMP, start + JUMP + 2);
    let (flags, reply_at, fields) = (in_frame(flags), in_frame(at), u64::from_le_bytes(fields));
    [
        REGION, stopping, after, path, directory, flags, changes, reply, reply_at, bytes, fields,
        index,
    ]
}

/// The address of the data of the site that `address` is in, if a site may be there.
pub(crate) fn data_of(address: u64) -> Option<u64> {
    let page = address & !0xfff;
    let site = page + (address - page) / SITE_BYTES * SITE_BYTES;
    (page & (NEAR_EACH - 1) == NEAR).then_some(site + SITE_DATA)
}
