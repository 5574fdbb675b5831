//! What is known of a call by its name: which argument is a path, what else it means.

use crate::detail::Told;
use crate::text::found_in_word;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use needless_model::{Builder, CallId, Query};
use std::hash::BuildHasher;

/// Where a call's path stands among its arguments. Of two paths it is the one that the call makes or
/// mounts on, or, where both exist or are made, the first: as the ptrace backend has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No path.
    None,
    /// The first argument, relative to the working directory.
    First,
    /// The second, relative to the working directory.
    Second,
    /// Behind so many arguments and a directory descriptor, relative to that.
    AfterDir(u8),
}

/// What a call means beside its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// Has `O_*` flags after its path.
    Open,
    /// Has `AT_*` flags as its last argument.
    Status,
    /// Has `AT_*` flags after its path.
    Statx,
    Readlink,
    Exec,
    /// Makes a process or a thread.
    Fork,
    Exit,
    /// Changes the file behind the descriptor that is its first argument.
    Write,
    /// May sleep until something happens.
    Wait,
    Chdir,
    Fchdir,
    Getcwd,
    /// Asks for a limit of the process, or sets one.
    Limit,
    /// Memory and descriptors: every program makes some of these at its start.
    Startup,
}

/// A call of a log.
#[derive(Debug)]
pub(crate) struct Call {
    pub name: Box<str>,
    pub id: CallId,
    pub query: Query,
    pub shape: Shape,
    pub kind: Kind,
    pub told: Told,
}

const SLOTS: usize = 2048;

/// The start of a payload.
#[derive(Clone, Copy)]
struct Recent {
    /// Its call's name and the parenthesis behind it, as one number.
    name: u128,
    /// As many bytes.
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

/// How much there is to do for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It names a path.
    Path,
    /// It is counted by its outcome, which is all that matters.
    Plain,
    /// It tells more.
    Other,
}

/// Place in [`Calls::recent`] that no payload was seen for.
const NOBODY: Recent =
    Recent { name: 1, mask: 0, named: Named { call: 0, len: 0, class: Class::Other } };

/// The calls of a log by name.
pub(crate) struct Calls {
    list: Vec<Call>,
    /// Calls seen lately, each at the place that its payload's [`slot`] tells.
    recent: Box<[Recent; SLOTS]>,
    index: HashTable<u16>,
    hasher: FixedState,
    /// Calls beyond the bound on names share this entry.
    others: Option<u16>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            list: Vec::new(),
            recent: Box::new([NOBODY; SLOTS]),
            index: HashTable::new(),
            hasher: FixedState::default(),
            others: None,
        }
    }
}

impl Calls {
    /// The call whose name `payload` starts with, if a payload with the same start was
    /// [learned](Calls::learn) lately. What is stored behind the payload may belong to it.
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
            let Call { shape, kind, .. } = self.get(call);
            let class = match (shape, kind) {
                (Shape::None, Kind::Plain | Kind::Startup) => Class::Plain,
                (Shape::None, _) => Class::Other,
                _ => Class::Path,
            };
            let named = Named { call, len: len as u8 + 1, class };
            self.recent[slot(start)] = Recent { name: start & mask, mask, named };
        }
    }

    /// Forgets what was [learned](Calls::learn).
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.recent.fill(NOBODY);
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
        if self.list.len() >= Calls::MOST {
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

    /// Whether `raw`, read anew, would be found to be the name of call `at`.
    pub(crate) fn is(&self, at: u16, raw: &[u8]) -> bool {
        self.get(at).name.as_bytes() == raw && !raw.ends_with(b"#64") && Some(at) != self.others
    }

    /// The call with number `at`.
    pub(crate) fn get(&self, at: u16) -> &Call {
        &self.list[usize::from(at)]
    }

    /// Whether any of the names is a call of Linux that nothing else is called like.
    pub(crate) fn any_known(&self) -> bool {
        self.list.iter().any(|c| c.kind != Kind::Plain || c.query.names_path())
    }
}

/// The place of a payload in [`Calls::recent`], told by the first eight bytes of its name.
#[inline]
fn slot(start: u128) -> usize {
    let word = start as u64;
    let found = found_in_word(b'(', word);
    // All bytes up to the parenthesis; all eight where there is none.
    let name = word & (found ^ found.wrapping_sub(1));
    // The upper bits depend on all bytes.
    (name.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % SLOTS
}

fn push(list: &mut Vec<Call>, name: &str, builder: &mut Builder) -> u16 {
    let query = Query::of(name);
    list.push(Call {
        name: name.into(),
        id: builder.call(name),
        query,
        shape: shape(name, query),
        kind: kind(name),
        told: Told::of(name),
    });
    (list.len() - 1) as u16
}

fn shape(name: &str, query: Query) -> Shape {
    match name {
        _ if query == Query::NoPath => Shape::None,
        "symlink" | "mount" | "inotify_add_watch" | "quotactl" => Shape::Second,
        "symlinkat" => Shape::AfterDir(1),
        "fanotify_mark" => Shape::AfterDir(3),
        "statx" | "openat2" | "faccessat2" | "renameat2" | "fchmodat2" | "name_to_handle_at"
        | "open_tree" | "fspick" | "fstatat64" | "utimensat_time64" => Shape::AfterDir(0),
        "stat" | "lstat" | "oldstat" | "oldlstat" | "creat" => Shape::First,
        _ if name.ends_with("at") => Shape::AfterDir(0),
        _ => Shape::First,
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "open" | "openat" | "openat2" => Kind::Open,
        "newfstatat" | "fstatat64" => Kind::Status,
        "statx" => Kind::Statx,
        "readlink" | "readlinkat" => Kind::Readlink,
        "execve" | "execveat" => Kind::Exec,
        "fork" | "vfork" | "clone" | "clone2" | "clone3" => Kind::Fork,
        "exit" | "exit_group" => Kind::Exit,
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "ftruncate" | "ftruncate64"
        | "fallocate" | "fchmod" | "fchown" | "fchown32" | "fsetxattr" | "fremovexattr"
        | "sendfile" | "sendfile64" => Kind::Write,
        "nanosleep"
        | "clock_nanosleep"
        | "clock_nanosleep_time64"
        | "poll"
        | "ppoll"
        | "ppoll_time64"
        | "select"
        | "_newselect"
        | "pselect6"
        | "pselect6_time64"
        | "epoll_wait"
        | "epoll_pwait"
        | "epoll_pwait2"
        | "wait4"
        | "waitid"
        | "waitpid"
        | "pause"
        | "rt_sigsuspend"
        | "sigsuspend"
        | "rt_sigtimedwait"
        | "rt_sigtimedwait_time64"
        | "accept"
        | "accept4"
        | "flock"
        | "msgrcv"
        | "restart_syscall" => Kind::Wait,
        "chdir" => Kind::Chdir,
        "fchdir" => Kind::Fchdir,
        "getcwd" => Kind::Getcwd,
        "prlimit64" | "prlimit" | "getrlimit" | "ugetrlimit" | "setrlimit" => Kind::Limit,
        "mmap" | "mmap2" | "old_mmap" | "munmap" | "mprotect" | "brk" | "close" | "read" => {
            Kind::Startup
        }
        _ => Kind::Plain,
    }
}

/// Whether a call of kind [`Kind::Wait`] with these arguments was only looking: a timeout of zero,
/// `WNOHANG`.
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
    fn shapes_follow_the_manual() {
        for (name, want) in [
            ("open", Shape::First),
            ("stat", Shape::First),
            ("lstat64", Shape::First),
            ("openat", Shape::AfterDir(0)),
            ("newfstatat", Shape::AfterDir(0)),
            ("statx", Shape::AfterDir(0)),
            ("execveat", Shape::AfterDir(0)),
            ("utimensat", Shape::AfterDir(0)),
            ("linkat", Shape::AfterDir(0)),
            ("link", Shape::First),
            ("rename", Shape::First),
            ("renameat", Shape::AfterDir(0)),
            ("renameat2", Shape::AfterDir(0)),
            ("pivot_root", Shape::First),
            ("symlink", Shape::Second),
            ("symlinkat", Shape::AfterDir(1)),
            ("mount", Shape::Second),
            ("creat", Shape::First),
            ("inotify_add_watch", Shape::Second),
            ("fanotify_mark", Shape::AfterDir(3)),
            ("statfs", Shape::First),
            ("close", Shape::None),
            ("fstat", Shape::None),
        ] {
            assert_eq!(shape(name, Query::of(name)), want, "{name}");
        }
    }

    #[test]
    fn names_are_found_again_and_bounded() {
        let mut builder = Builder::new(Limits::default());
        let mut calls = Calls::default();
        let a = calls.find_or_add(b"getpid", &mut builder);
        assert_eq!(calls.find_or_add(b"getpid#64", &mut builder), a);
        assert!(!calls.any_known());
        for i in 0..5000 {
            calls.find_or_add(format!("f{i}").as_bytes(), &mut builder);
        }
        let last = calls.find_or_add(b"f4999", &mut builder);
        assert_eq!(&*calls.get(last).name, "????");
        assert_eq!(calls.list.len(), Calls::MOST + 1);
    }

    #[test]
    fn looking_is_not_waiting() {
        assert!(does_not_wait("poll", b"[{fd=3, events=POLLIN}], 1, 0"));
        assert!(!does_not_wait("poll", b"[{fd=3, events=POLLIN}], 1, 100"));
        assert!(does_not_wait("wait4", b"-1, 0x7ff, WNOHANG, NULL"));
        assert!(does_not_wait("select", b"0, NULL, NULL, NULL, {tv_sec=0, tv_usec=0}"));
        assert!(!does_not_wait("nanosleep", b"{tv_sec=1, tv_nsec=0}, NULL"));
    }
}
