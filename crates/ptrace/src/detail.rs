//! Calls without a path that rules ask about: what their arguments tell.

use crate::sys::{Tid, read_memory};
use needless_model::ArgClass;
use needless_syscalls::Classifier;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// What is remembered of a process for the sake of such calls; begins anew with each image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// The last end of the heap that was asked for; 0: none was.
    heap: u64,
    output: Option<Output>,
}

/// Standard output of a process, looked at once.
#[derive(Clone, Debug, Default)]
struct Output {
    terminal: bool,
    /// Whether it is /dev/null.
    discarded: bool,
    /// Whether standard input is a pipe or a socket: who writes there may wait for our output.
    peer: bool,
    /// Small writes so far.
    writes: u64,
    /// How many there were, and how many reads, when the reads were last looked at.
    looked: (u64, u64),
    /// Whether reads and writes took turns when they were last looked at.
    in_turn: bool,
    /// Counts the turns.
    epochs: u64,
}

/// The first small writes have the reads between them looked at, then one in so many has.
const LOOK_FIRST: u64 = 8;
const LOOK_EVERY: u64 = 64;
/// /dev/null: what is written there is no terminal's.
const NULL: (u64, u64) = (1, 3);

/// What a call turned out to be.
pub(crate) struct Seen {
    pub(crate) detail: ArgClass,
    /// What makes it another than the one before, as the fingerprint of an answer.
    pub(crate) epoch: Option<u64>,
}

impl Details {
    /// What the call with these arguments is; `None`: nothing that a rule asks about.
    pub(crate) fn see(&mut self, tid: Tid, told: Classifier, args: &[u64; 6]) -> Option<Seen> {
        let plain = |detail| Some(Seen { detail, epoch: None });
        match told {
            Classifier::Just(detail) => plain(detail),
            Classifier::Heap => {
                let before = std::mem::replace(&mut self.heap, args[0]);
                plain(if args[0] < before { ArgClass::HeapShrinks } else { ArgClass::HeapGrows })
            }
            Classifier::Peer => peer(tid, args[1], args[2]).and_then(plain),
            Classifier::Output => {
                let output = self.output.get_or_insert_with(|| Output::of(tid));
                let epoch = Some(output.epoch(tid)?);
                let discarded = output.discarded;
                let detail =
                    if discarded { ArgClass::DiscardedOutput } else { ArgClass::SmallOutput };
                Some(Seen { detail, epoch })
            }
        }
    }
}

impl Output {
    fn of(tid: Tid) -> Output {
        let stream = |fd: u8| std::fs::metadata(format!("/proc/{tid}/fd/{fd}")).ok();
        let device = |file: &std::fs::Metadata| file.file_type().is_char_device();
        let null = |file: &std::fs::Metadata| {
            let number = file.rdev();
            device(file) && (libc::major(number).into(), libc::minor(number).into()) == NULL
        };
        let waits =
            |file: &std::fs::Metadata| file.file_type().is_fifo() || file.file_type().is_socket();
        let output = stream(1);
        Output {
            terminal: output.as_ref().is_none_or(|file| device(file) && !null(file)),
            discarded: output.as_ref().is_some_and(null),
            peer: stream(0).as_ref().is_some_and(waits),
            ..Output::default()
        }
    }

    /// The number of the turn that a write belongs to; `None`: it goes to a terminal.
    fn epoch(&mut self, tid: Tid) -> Option<u64> {
        if self.terminal {
            return None;
        }
        self.writes += 1;
        if self.peer && (self.writes <= LOOK_FIRST || self.writes.is_multiple_of(LOOK_EVERY)) {
            let now = (self.writes, reads(tid));
            let (writes, reads) = (now.0 - self.looked.0, now.1.saturating_sub(self.looked.1));
            self.in_turn = reads * 2 >= writes;
            self.looked = now;
        }
        self.epochs += u64::from(self.in_turn);
        Some(self.epochs)
    }
}

/// How many calls of the thread have read something (`syscr`, proc(5)); 0 where the kernel does not
/// count them.
fn reads(tid: Tid) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{tid}/task/{tid}/io"))
        .or_else(|_| std::fs::read_to_string(format!("/proc/{tid}/io")));
    let text = text.unwrap_or_default();
    let field = text.lines().find_map(|line| line.strip_prefix("syscr:"));
    field.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

/// Whom a `connect` is for, if it is for somebody that rules ask about: `struct sockaddr_un`,
/// `sockaddr_in`, `sockaddr_in6`.
fn peer(tid: Tid, address: u64, length: u64) -> Option<ArgClass> {
    let mut bytes = [0u8; 32];
    let length = bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    let read = read_memory(tid, address, &mut bytes[..length]);
    let bytes = &bytes[..read];
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    match family {
        libc::AF_UNIX => {
            let path = bytes[2..].split(|byte| *byte == 0).next()?;
            (path == b"/dev/log").then_some(ArgClass::SystemLog)
        }
        libc::AF_INET | libc::AF_INET6 => {
            let port = u16::from_be_bytes(*bytes[2..].first_chunk()?);
            (port == 53).then_some(ArgClass::NameServer)
        }
        _ => None,
    }
}
