//! Calls without a path that rules ask about: their class, by their arguments.

use crate::sys::{Tid, read_memory};
use needless_model::{ANSWER, Answers, ArgClass};
use needless_syscalls::{BLOCK_FLAGS, BLOCK_PROTECTION, Classifier};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// What is remembered of a process to classify its calls; each image starts with none.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArgState {
    /// The last end of the heap that it asked for; 0: none.
    heap: u64,
    /// Bytes given back to the kernel.
    pub(crate) given_back: u64,
    /// Its page faults, without and with input, when it first gave some back: those before are not for that.
    pub(crate) faults_before: Option<(u64, u64)>,
    output: Option<Output>,
}

/// Standard output of a process, looked up once.
#[derive(Clone, Debug, Default)]
struct Output {
    terminal: bool,
    /// Whether it is /dev/null.
    discarded: bool,
    /// Whether standard input is a pipe or a socket: its writer may wait for our output.
    peer: bool,
    /// Small writes so far.
    writes: u64,
    /// Reads and their bytes when they were last looked up.
    read: Option<(u64, u64)>,
    answers: Answers,
}

/// For the first small writes the reads in between are looked up, then for one in so many, for which each answer stands.
const LOOK_FIRST: u64 = 8;
const LOOK_EVERY: u64 = ANSWER as u64;
/// /dev/null, which is not a terminal.
const NULL: (u64, u64) = (1, 3);

/// The class of a call.
pub(crate) struct Classified {
    pub(crate) class: ArgClass,
    /// A number that differs if the call does not repeat the one before, as the fingerprint of an answer.
    pub(crate) epoch: Option<u64>,
}

impl ArgState {
    /// The class of the call with these arguments; `None`: rules do not ask about it.
    pub(crate) fn classify(
        &mut self,
        tid: Tid,
        by: Classifier,
        args: &[u64; 6],
    ) -> Option<Classified> {
        let plain = |class| Some(Classified { class, epoch: None });
        match by {
            Classifier::Just(class) => plain(class),
            Classifier::Heap => {
                let before = std::mem::replace(&mut self.heap, args[0]);
                self.give_back(tid, before.saturating_sub(args[0]));
                plain(if args[0] < before { ArgClass::HeapShrinks } else { ArgClass::HeapGrows })
            }
            Classifier::Mapped => {
                let block = args[2] == BLOCK_PROTECTION && args[3] == BLOCK_FLAGS;
                block.then_some(ArgClass::BlockMapped).and_then(plain)
            }
            Classifier::Unmapped => {
                self.give_back(tid, args[1]);
                plain(ArgClass::BlockUnmapped)
            }
            Classifier::Peer => peer(tid, args[1], args[2]).and_then(plain),
            Classifier::Output => {
                let output = self.output.get_or_insert_with(|| Output::of(tid));
                let epoch = Some(output.epoch(tid)?);
                let discarded = output.discarded;
                let class =
                    if discarded { ArgClass::DiscardedOutput } else { ArgClass::SmallOutput };
                Some(Classified { class, epoch })
            }
        }
    }

    fn give_back(&mut self, tid: Tid, bytes: u64) {
        if self.given_back == 0 && bytes > 0 {
            self.faults_before = needless_host::page_faults(tid);
        }
        self.given_back = self.given_back.saturating_add(bytes);
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

    /// The epoch that a write belongs to; `None`: it goes to a terminal.
    fn epoch(&mut self, tid: Tid) -> Option<u64> {
        if self.terminal {
            return None;
        }
        self.writes += 1;
        if self.peer && (self.writes <= LOOK_FIRST || self.writes.is_multiple_of(LOOK_EVERY)) {
            let now = reads(tid);
            let before = self.read.replace(now).unwrap_or(now);
            self.answers.read(now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        }
        Some(self.answers.write())
    }
}

/// How many calls of the process have read something, and how many bytes (`syscr` and `rchar`, proc_pid_io(5)); 0 if the
/// kernel does not count them.
fn reads(tid: Tid) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/proc/{tid}/io")).unwrap_or_default();
    let field = |name: &str| {
        let field = text.lines().find_map(|line| line.strip_prefix(name));
        field.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
    };
    (field("syscr:"), field("rchar:"))
}

/// The class of a `connect` by its peer, if rules ask about it: `struct sockaddr_un`,
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
