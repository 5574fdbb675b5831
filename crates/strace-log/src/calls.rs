//! What is known of a call by its name: which argument is a path, what else it means.

use crate::text::find_in_16;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use needless_model::{Ask, Builder, CallId};
use std::hash::BuildHasher;

/// Where a call's path stands among its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No path.
    None,
    /// The first argument, relative to the working directory.
    First,
    /// The second, relative to the directory descriptor before it.
    AfterDir,
    /// The first string, wherever it stands.
    Anywhere,
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
    /// Memory and descriptors: every program makes some of these at its start.
    Startup,
}

/// A call of a log.
#[derive(Debug)]
pub(crate) struct Call {
    pub name: Box<str>,
    pub id: CallId,
    pub ask: Ask,
    pub shape: Shape,
    pub kind: Kind,
}

const SLOTS: usize = 512;

/// The calls of a log by name.
pub(crate) struct Calls {
    list: Vec<Call>,
    /// Names of up to 15 bytes, each as one number, at the place that its [`slot`] tells.
    recent: Box<[(u128, u16); SLOTS]>,
    index: HashTable<u16>,
    hasher: FixedState,
    /// Calls beyond the bound on names share this entry.
    others: Option<u16>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            list: Vec::new(),
            recent: Box::new([(0, 0); SLOTS]),
            index: HashTable::new(),
            hasher: FixedState::default(),
            others: None,
        }
    }
}

impl Calls {
    /// The number of the call whose name `payload` starts with, if it was seen lately, and what
    /// stands behind its parenthesis.
    #[inline]
    pub(crate) fn recent<'a>(&self, payload: &'a [u8]) -> Option<(u16, &'a [u8])> {
        let (len, word) = find_in_16(b'(', payload)?;
        let name = word & !(u128::MAX << (8 * len));
        let (known, call) = self.recent[slot(name)];
        (known == name && len > 0).then(|| (call, &payload[len + 1..]))
    }

    /// More names than any kernel has: a log with more is not one of calls.
    const MOST: usize = 4096;

    /// The number of the call named `raw` in the log (`getpid#64` is x32's getpid).
    pub(crate) fn find_or_add(&mut self, raw: &[u8], builder: &mut Builder) -> u16 {
        let raw = raw.strip_suffix(b"#64").unwrap_or(raw);
        let hash = self.hasher.hash_one(raw);
        let is = |at: &u16| self.list[usize::from(*at)].name.as_bytes() == raw;
        if let Some(&at) = self.index.find(hash, is) {
            if raw.len() < 16 {
                let mut name = [0; 16];
                name[..raw.len()].copy_from_slice(raw);
                let name = u128::from_le_bytes(name);
                self.recent[slot(name)] = (name, at);
            }
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

    /// The call with number `at`.
    pub(crate) fn get(&self, at: u16) -> &Call {
        &self.list[usize::from(at)]
    }

    /// Whether any of the names is a call of Linux that nothing else is called like.
    pub(crate) fn any_known(&self) -> bool {
        self.list.iter().any(|c| c.kind != Kind::Plain || c.ask.names_path())
    }
}

/// The place of a name in [`Calls::recent`].
#[inline]
fn slot(name: u128) -> usize {
    let mixed = (name as u64 ^ (name >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as usize % SLOTS
}

fn push(list: &mut Vec<Call>, name: &str, builder: &mut Builder) -> u16 {
    let ask = Ask::of(name);
    list.push(Call {
        name: name.into(),
        id: builder.call(name),
        ask,
        shape: shape(name, ask),
        kind: kind(name),
    });
    (list.len() - 1) as u16
}

fn shape(name: &str, ask: Ask) -> Shape {
    match name {
        _ if ask == Ask::NoPath => Shape::None,
        "symlinkat" | "inotify_add_watch" | "quotactl" | "fanotify_mark" => Shape::Anywhere,
        "statx" | "openat2" | "faccessat2" | "renameat2" | "fchmodat2" | "name_to_handle_at"
        | "open_tree" | "fspick" | "fstatat64" | "utimensat_time64" => Shape::AfterDir,
        _ if name.ends_with("at")
            && name != "stat"
            && name != "lstat"
            && name != "oldstat"
            && name != "oldlstat" =>
        {
            Shape::AfterDir
        }
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
            ("openat", Shape::AfterDir),
            ("newfstatat", Shape::AfterDir),
            ("statx", Shape::AfterDir),
            ("execveat", Shape::AfterDir),
            ("utimensat", Shape::AfterDir),
            ("linkat", Shape::AfterDir),
            ("symlink", Shape::First),
            ("symlinkat", Shape::Anywhere),
            ("inotify_add_watch", Shape::Anywhere),
            ("fanotify_mark", Shape::Anywhere),
            ("statfs", Shape::First),
            ("close", Shape::None),
            ("fstat", Shape::None),
        ] {
            assert_eq!(shape(name, Ask::of(name)), want, "{name}");
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
