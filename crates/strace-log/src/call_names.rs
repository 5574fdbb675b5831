//! The calls of a log by name: which argument is the path, and what else the call means.

use crate::classify::ClassifiedBy;
use crate::text::found_in_word;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use needless_model::{Builder, CallId, Query};
use needless_syscalls::{self as syscalls, CallKind, Decider, Moves, Reply};
use std::hash::BuildHasher;

/// Where a call's path is among its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathAt {
    /// It has none.
    Nowhere,
    /// It is the first argument, relative to the working directory.
    First,
    /// It is the second argument, relative to the working directory.
    Second,
    /// It follows so many arguments and a directory descriptor, relative to that.
    AfterDir(u8),
}

/// What a call means besides its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// Has `O_*` flags after its path.
    Open,
    /// Has `AT_*` flags as its last argument.
    Status,
    /// Has `AT_*` flags after its path.
    Statx,
    Readlink,
    Exec,
    /// Starts a process or a thread.
    Fork,
    Exit,
    /// Changes the file behind the descriptor that is its first argument.
    Write,
    /// May sleep until something happens.
    Wait,
    Chdir,
    Fchdir,
    Getcwd,
    /// Reads or sets a limit of the process.
    Limit,
    /// Memory and descriptors: every program makes some of these calls when it starts.
    Startup,
}

/// A call of a log.
#[derive(Debug)]
pub(crate) struct LoggedCall {
    pub name: Box<str>,
    pub id: CallId,
    pub query: Query,
    pub path_at: PathAt,
    pub role: Role,
    pub classified_by: ClassifiedBy,
}

const SLOTS: usize = 2048;

/// The start of a payload.
#[derive(Clone, Copy)]
struct Recent {
    /// The call's name and the parenthesis after it, as one number.
    name: u128,
    /// Ones in as many bytes.
    mask: u128,
    named: Named,
}

/// The name at the start of a payload.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    pub call: u16,
    /// How many bytes it has, the parenthesis included.
    pub len: u8,
    pub class: Class,
}

/// How much work a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It names a path.
    Path,
    /// Only its outcome matters.
    Plain,
    /// It may mean more.
    Other,
}

/// An empty slot of [`CallNames::recent`].
const EMPTY: Recent =
    Recent { name: 1, mask: 0, named: Named { call: 0, len: 0, class: Class::Other } };

/// The calls of a log by name.
pub(crate) struct CallNames {
    list: Vec<LoggedCall>,
    /// Calls seen lately, each in the [`slot`] of its payload.
    recent: Box<[Recent; SLOTS]>,
    index: HashTable<u16>,
    hasher: FixedState,
    /// The entry that calls beyond the limit of names share.
    others: Option<u16>,
}

impl Default for CallNames {
    fn default() -> CallNames {
        CallNames {
            list: Vec::new(),
            recent: Box::new([EMPTY; SLOTS]),
            index: HashTable::new(),
            hasher: FixedState::default(),
            others: None,
        }
    }
}

impl CallNames {
    /// The call whose name `payload` starts with, if a payload with the same start was
    /// [learned](Calls::learn) lately. The slice may be longer than the payload.
    #[inline]
    pub(crate) fn recent(&self, payload: &[u8]) -> Option<Named> {
        let start = u128::from_le_bytes(*payload.first_chunk()?);
        let Recent { name, mask, named } = self.recent[slot(start)];
        (start & mask == name).then_some(named)
    }

    /// Remembers that `payload` starts with the name of `call`, which is `len` bytes long.
    pub(crate) fn learn(&mut self, payload: &[u8], len: usize, call: u16) {
        if len < 16
            && payload.get(len) == Some(&b'(')
            && let Some(start) = payload.first_chunk()
        {
            let start = u128::from_le_bytes(*start);
            let mask = u128::MAX >> (128 - 8 * (len + 1));
            let LoggedCall { path_at, role, .. } = self.get(call);
            let class = match (path_at, role) {
                (PathAt::Nowhere, Role::Plain | Role::Startup) => Class::Plain,
                (PathAt::Nowhere, _) => Class::Other,
                _ => Class::Path,
            };
            let named = Named { call, len: len as u8 + 1, class };
            self.recent[slot(start)] = Recent { name: start & mask, mask, named };
        }
    }

    /// Forgets what was [learned](Calls::learn).
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.recent.fill(EMPTY);
    }

    /// More names than any kernel has: a log with more is not one of calls.
    const MOST: usize = 4096;

    /// The number of the call named `raw` in the log (`getpid#64` is x32's getpid).
    pub(crate) fn find_or_add(&mut self, raw: &[u8], builder: &mut Builder) -> u16 {
        let raw = raw.strip_suffix(b"#64").unwrap_or(raw);
        let hash = self.hasher.hash_one(raw);
        let is = |at: &u16| self.list[usize::from(*at)].name.as_bytes() == raw;
        if let Some(&at) = self.index.find(hash, is) {
            return at;
        }
        if self.list.len() >= CallNames::MOST {
            return match self.others {
                Some(at) => at,
                None => *self.others.insert(push(&mut self.list, "????", builder)),
            };
        }
        let at = push(&mut self.list, &String::from_utf8_lossy(raw), builder);
        let (list, hasher) = (&self.list, &self.hasher);
        self.index
            .insert_unique(hash, at, |at| hasher.hash_one(list[usize::from(*at)].name.as_bytes()));
        at
    }

    /// Whether `raw` is the name of call `at`.
    pub(crate) fn is(&self, at: u16, raw: &[u8]) -> bool {
        self.get(at).name.as_bytes() == raw && !raw.ends_with(b"#64") && Some(at) != self.others
    }

    /// The call with number `at`.
    pub(crate) fn get(&self, at: u16) -> &LoggedCall {
        &self.list[usize::from(at)]
    }

    /// Whether any name is a known call of Linux.
    pub(crate) fn any_known(&self) -> bool {
        self.list.iter().any(|c| c.role != Role::Plain || c.query.names_path())
    }
}

/// The place of a payload in [`CallNames::recent`], by the first eight bytes of its name.
#[inline]
fn slot(start: u128) -> usize {
    let word = start as u64;
    let found = found_in_word(b'(', word);
    // All bytes up to the parenthesis; all eight where there is none.
    let name = word & (found ^ found.wrapping_sub(1));
    // The upper bits depend on all bytes.
    (name.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % SLOTS
}

fn push(list: &mut Vec<LoggedCall>, name: &str, builder: &mut Builder) -> u16 {
    // strace prints a 64-bit argument as one, also of a 32-bit program.
    let kind = syscalls::kind(name, true);
    list.push(LoggedCall {
        name: name.into(),
        id: builder.call(name),
        query: Query::of(name),
        path_at: path_at(kind),
        role: role(name, kind),
        classified_by: ClassifiedBy::of(name, kind),
    });
    (list.len() - 1) as u16
}

fn path_at(kind: CallKind) -> PathAt {
    let CallKind::Path(shape) = kind else { return PathAt::Nowhere };
    match (shape.dir, shape.path) {
        (Some(dir), _) => PathAt::AfterDir(dir),
        (None, 0) => PathAt::First,
        (None, _) => PathAt::Second,
    }
}

fn role(name: &str, kind: CallKind) -> Role {
    match kind {
        CallKind::Path(shape) => match (shape.decided_by, shape.reply) {
            (Decider::OpenFlags(_) | Decider::OpenHow(_), _) => Role::Open,
            (Decider::AtFlags(_), Reply::Statx(_)) => Role::Statx,
            (Decider::AtFlags(_), _) => Role::Status,
            (_, Reply::Link(_)) => Role::Readlink,
            _ if shape.query == Query::Exec => Role::Exec,
            _ if shape.moves == Moves::Directory => Role::Chdir,
            _ => Role::Plain,
        },
        CallKind::Wait(_) => Role::Wait,
        CallKind::Clone(_) => Role::Fork,
        _ => match name {
            "fork" | "vfork" | "clone2" => Role::Fork,
            "exit" | "exit_group" => Role::Exit,
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "ftruncate"
            | "ftruncate64" | "fallocate" | "fchmod" | "fchown" | "fchown32" | "fsetxattr"
            | "fremovexattr" | "sendfile" | "sendfile64" => Role::Write,
            "accept" | "accept4" | "flock" | "msgrcv" | "restart_syscall" => Role::Wait,
            "fchdir" => Role::Fchdir,
            "getcwd" => Role::Getcwd,
            "prlimit64" | "prlimit" | "getrlimit" | "ugetrlimit" | "setrlimit" => Role::Limit,
            "mmap" | "mmap2" | "old_mmap" | "munmap" | "mprotect" | "brk" | "close" | "read" => {
                Role::Startup
            }
            _ => Role::Plain,
        },
    }
}

/// Whether a call of [`Role::Wait`] with these arguments returns at once: a timeout of zero, `WNOHANG`.
pub(crate) fn does_not_wait(name: &str, args: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(args, part).is_some();
    match name {
        "poll" | "epoll_wait" => args.ends_with(b", 0"),
        "epoll_pwait" => has(b", 0, NULL") || has(b", 0, ["),
        "wait4" | "waitid" | "waitpid" => has(b"WNOHANG"),
        "flock" => has(b"LOCK_NB") || has(b"LOCK_UN"),
        "msgrcv" => has(b"IPC_NOWAIT"),
        _ => {
            has(b"tv_sec=0, tv_nsec=0}")
                || has(b"tv_sec=0, tv_usec=0}")
                || args.ends_with(b"{0, 0}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::Limits;

    #[test]
    fn names_are_found_again_and_bounded() {
        let mut builder = Builder::new(Limits::default());
        let mut calls = CallNames::default();
        let a = calls.find_or_add(b"getpid", &mut builder);
        assert_eq!(calls.find_or_add(b"getpid#64", &mut builder), a);
        assert!(!calls.any_known());
        for i in 0..5000 {
            calls.find_or_add(format!("f{i}").as_bytes(), &mut builder);
        }
        let last = calls.find_or_add(b"f4999", &mut builder);
        assert_eq!(&*calls.get(last).name, "????");
        assert_eq!(calls.list.len(), CallNames::MOST + 1);
    }

    #[test]
    fn calls_that_return_at_once_do_not_wait() {
        assert!(does_not_wait("poll", b"[{fd=3, events=POLLIN}], 1, 0"));
        assert!(!does_not_wait("poll", b"[{fd=3, events=POLLIN}], 1, 100"));
        assert!(does_not_wait("wait4", b"-1, 0x7ff, WNOHANG, NULL"));
        assert!(does_not_wait("select", b"0, NULL, NULL, NULL, {tv_sec=0, tv_usec=0}"));
        assert!(!does_not_wait("nanosleep", b"{tv_sec=1, tv_nsec=0}, NULL"));
    }
}
