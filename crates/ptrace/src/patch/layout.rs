//! Where things are in a process whose call sites are patched, in a frame of the stub, and in the table that it
//! fills. The stub (`stub.rs`) and the tracer use the same numbers.

use needless_syscalls::{Call, CallKind, Decider, Reply, Shape};

/// What we map into a process starts here. The seccomp filter knows one address in it, so it is the same in every
/// process: below where the kernel begins to put libraries and stacks (28 random bits of a page number), and where
/// sanitizers expect a program's memory, not their own.
pub(crate) const REGION: u64 = 0x7ea0_0000_0000;
/// Bytes of code.
pub(crate) const CODE: u64 = 0x4000;
/// A page that each process has for itself; its first 32 bits are the process's number, 0: calls stop.
pub(crate) const CONTROL: u64 = REGION + CODE;
/// The table, shared by the process, what it forks, and the tracer.
pub(crate) const TABLE: u64 = REGION + 0x10_0000;

/// The end of what is mapped here.
pub(crate) const END: u64 = TABLE + TABLE_BYTES as u64;

/// The low 31 bits of the address of the page with jumps to it, which is near the patched code: so the seccomp filter
/// knows who changes it, in every process. A jump reaches one such page below it and one above; below a program at its
/// customary address, 0x400000, it is the page before.
pub(crate) const NEAR: u64 = 0x3f_f000;
/// From one such page to the next.
pub(crate) const NEAR_EACH: u64 = 1 << 31;

/// In the table: how many records were begun.
pub(crate) const HEAD: usize = 0;
/// In the table: ticks of the time stamp counter within which a question counts as repeated.
pub(crate) const WITHIN: usize = 8;
/// In the table: how many more calls are to stop.
pub(crate) const STOPS: usize = 16;
/// In the table: how many calls the tracer was asked to take, and did not.
pub(crate) const UNHEARD: usize = 24;
/// In the table: the call that would make a record stand for so many is taken by the tracer, for a snapshot of its stack.
pub(crate) const SNAPSHOT_AT: usize = 32;
/// In the table: the records that were written last, by the place and the path's address.
pub(crate) const RECENT: usize = 64;
/// The first value of [`SNAPSHOT_AT`]; the next ones are 8 times as large.
pub(crate) const FIRST_SNAPSHOT: u64 = 64;
/// How many of these.
pub(crate) const RECENTS: usize = 256;
/// In the table: the first record.
pub(crate) const RECORDS_AT: usize = 0x1000;
/// How many records; a power of 2.
pub(crate) const RECORDS: usize = 1024;
/// Bytes of a record, as a power of 2.
pub(crate) const RECORD_SHIFT: usize = 9;
/// Bytes of a record.
pub(crate) const RECORD: usize = 1 << RECORD_SHIFT;
/// Bytes of the table.
pub(crate) const TABLE_BYTES: usize = RECORDS_AT + RECORDS * RECORD;

/// In a record: its state, 64 bits. 0: free, or begun and not claimed. With [`CLAIMED`]: a process, in the upper half, is writing it. Else its
/// sequence number in the upper half, and how many calls it stands for.
pub(crate) const STATE: usize = 0;
/// In a record: the time of the first call.
pub(crate) const FIRST: usize = 8;
/// In a record: the time of the last call.
pub(crate) const LAST: usize = 16;
/// In a record: [`BODY_WORDS`] words that are equal where a call repeats another.
pub(crate) const BODY: usize = 24;
/// Process and site; result; directory and flags; the answer.
pub(crate) const BODY_WORDS: usize = 3 + ANSWER_WORDS;
/// Words of an answer, zeros after it.
pub(crate) const ANSWER_WORDS: usize = 8;
/// Bytes of the longest link that a record holds.
pub(crate) const LONGEST_LINK: usize = ANSWER_WORDS * 8;
/// In a record: the path, zeros after it.
pub(crate) const PATH: usize = BODY + BODY_WORDS * 8;
/// Room for the path.
pub(crate) const PATH_ROOM: usize = RECORD - PATH;
/// The state of a record that was begun and given up.
pub(crate) const VOID: u64 = 1 << 63;
/// The bit of a record that is being written.
pub(crate) const CLAIMED: u64 = 1 << 31;

/// Assembles these lines, in which these constants of this file are known.
macro_rules! assemble {
    ($($name:ident)*; $($line:literal,)*) => {
        std::arch::global_asm!($($line,)* $($name = const crate::patch::layout::$name,)*);
    };
}
pub(crate) use assemble;

/// Below the stack pointer of a function may be data of it (System V ABI, AMD64, 3.2.2).
pub(crate) const RED_ZONE: u64 = 128;
/// In a frame: result, data of the site, then the arguments.
pub(crate) const RESULT: u64 = 0;
pub(crate) const SITE: u64 = 8;
/// In a frame: where each argument is.
pub(crate) const ARGUMENTS: [u64; 6] = [A0, A0 + 8, A0 + 16, A0 + 24, A0 + 32, A0 + 40];
pub(crate) const A0: u64 = 16;
/// In a frame: the body of a record.
pub(crate) const FRAME_BODY: u64 = 64;
/// In a frame: a word that is 0, for an argument that a call does not have.
pub(crate) const ZERO: u64 = FRAME_BODY + BODY_WORDS as u64 * 8;
/// In a frame: scratch.
pub(crate) const NOW: u64 = ZERO + 8;
pub(crate) const WORD: u64 = ZERO + 16;
pub(crate) const NUMBER: u64 = ZERO + 24;
/// How far below the stack pointer of a function a frame is.
pub(crate) const DOWN: u64 = RED_ZONE + ZERO + 32;

/// The code of a site: the instruction that was there, the address of its data, the way to the stub.
pub(crate) const SITE_DATA: u64 = 24;
/// Bytes of a site, with its data.
pub(crate) const SITE_BYTES: u64 = 80;
/// In the data of a site: where its `syscall` is.
pub(crate) const STOPPING: u64 = 0;
/// In the data of a site: what follows it.
pub(crate) const AFTER: u64 = 8;
/// In the data of a site, 32 bits each: where the frame has the path; whether it opens, and where its flags are; what
/// the kernel fills in, where its address is, and how long it is; where directory and flags are; its number.
pub(crate) const PATH_AT: u64 = 16;
pub(crate) const OPENS: u64 = 20;
pub(crate) const REPLY: u64 = 24;
pub(crate) const REPLY_AT: u64 = 28;
pub(crate) const REPLY_BYTES: u64 = 32;
pub(crate) const DIRECTORY_AT: u64 = 36;
pub(crate) const FLAGS_AT: u64 = 40;
pub(crate) const INDEX: u64 = 44;

/// Values of [`REPLY`].
pub(crate) const STAT: u32 = 1;
pub(crate) const STATX: u32 = 2;
pub(crate) const LINK: u32 = 3;

/// The bytes of an overwritten instruction, and of the jump in its place.
pub(crate) const JUMP: u64 = 5;
/// Bytes of a jump to any address, and what one takes in the page near a library.
pub(crate) const FAR_JUMP: u64 = 16;

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

/// The data of a site whose overwritten instruction is at `start`.
pub(crate) fn data(
    shape: Shape,
    start: u64,
    index: u32,
) -> [u8; (SITE_BYTES - SITE_DATA) as usize] {
    let in_frame = |at: Option<u8>| at.map_or(ZERO, |at| ARGUMENTS[usize::from(at)]) as u32;
    let (opens, open_flags) = match shape.decided_by {
        Decider::OpenFlags(at) => (u32::from(at), Some(at)),
        _ => (0, None),
    };
    let (reply, reply_at, bytes) = match shape.reply {
        Reply::Stat(at) => (STAT, Some(at), 144),
        Reply::Statx(at) => (STATX, Some(at), 256),
        Reply::Link(at) => (LINK, Some(at), libc::PATH_MAX as u32),
        Reply::None | Reply::Stat64(_) => (0, None, 0),
    };
    let mut data = [0; (SITE_BYTES - SITE_DATA) as usize];
    let mut put = |at: u64, bytes: &[u8]| {
        data[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    put(STOPPING, &(start + JUMP).to_le_bytes());
    put(AFTER, &(start + JUMP + 2).to_le_bytes());
    for (at, value) in [
        (PATH_AT, in_frame(Some(shape.path))),
        (OPENS, opens),
        (REPLY, reply),
        (REPLY_AT, in_frame(reply_at)),
        (REPLY_BYTES, bytes),
        (DIRECTORY_AT, in_frame(shape.dir)),
        (FLAGS_AT, in_frame(open_flags.or(shape.at_flags))),
        (INDEX, index),
    ] {
        put(at, &value.to_le_bytes());
    }
    data
}
