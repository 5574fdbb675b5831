//! What kind of question a system call is, whatever its name on this
//! architecture and in this libc version.

use crate::StrId;

/// The name of a system call as the kernel's table spells it (`newfstatat`), interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub StrId);

words! {
    /// The question behind a call. Rules match on this, never on one architecture's name: glibc asks
    /// for a file's status with `stat` (x86-64 up to 2.32), `newfstatat` (from 2.33), `stat64`,
    /// `fstatat64` or `statx` (32-bit), and it is one question.
    pub enum Query {
        /// Status of what a path leads to, symbolic links followed.
        Stat = "stat",
        /// Status of the path itself (`AT_SYMLINK_NOFOLLOW`).
        Lstat = "lstat",
        /// Open for reading, or a directory for listing.
        Open = "open",
        /// Open that may create, truncate or write.
        OpenWrite = "open",
        /// May I read, write, execute it; does it exist.
        Access = "access",
        /// What does a symbolic link point to.
        Readlink = "readlink",
        /// Run this program.
        Exec = "exec",
        /// Names a path and changes the answers to other questions: unlink, rename, mkdir, ….
        Change = "call",
        /// Names a path, none of the above (statfs, inotify_add_watch, chdir, getxattr, …).
        OtherPath = "call",
        /// Names no path.
        NoPath = "call",
    }
    /// The question in words, for a sentence: "asks whether …".
    pub fn verb(self);
}

impl Query {
    /// The question of the call `name` if its flags are not known. `open` and `openat`
    /// need theirs: see [`Query::open`]; so do the `*at` status calls: see [`Query::status`].
    pub fn of(name: &str) -> Query {
        match name {
            "stat" | "stat64" | "newfstatat" | "fstatat64" | "statx" | "oldstat" => Query::Stat,
            "lstat" | "lstat64" | "oldlstat" => Query::Lstat,
            "open" | "openat" | "openat2" => Query::Open,
            "creat" => Query::OpenWrite,
            "access" | "faccessat" | "faccessat2" => Query::Access,
            "readlink" | "readlinkat" => Query::Readlink,
            "execve" | "execveat" => Query::Exec,
            "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2" | "mkdir" | "mkdirat"
            | "rmdir" | "link" | "linkat" | "symlink" | "symlinkat" | "mknod" | "mknodat"
            | "chmod" | "fchmodat" | "fchmodat2" | "chown" | "lchown" | "fchownat" | "chown32"
            | "lchown32" | "truncate" | "truncate64" | "utime" | "utimes" | "utimensat"
            | "utimensat_time64" | "futimesat" | "mount" | "umount" | "umount2" | "pivot_root"
            | "chroot" | "setxattr" | "lsetxattr" | "removexattr" | "lremovexattr" => Query::Change,
            "chdir" | "statfs" | "statfs64" | "inotify_add_watch" | "getxattr" | "lgetxattr"
            | "listxattr" | "llistxattr" | "acct" | "swapon" | "swapoff" | "uselib"
            | "name_to_handle_at" | "open_tree" | "fspick" | "fanotify_mark" | "quotactl" => {
                Query::OtherPath
            }
            _ => Query::NoPath,
        }
    }

    /// The question of an open with these `O_*` flags (numbers as on Linux: access mode in the two
    /// lowest bits, `O_CREAT` 0o100, `O_TRUNC` 0o1000; the same on every architecture needless
    /// traces).
    pub fn open(flags: u64) -> Query {
        const O_ACCMODE: u64 = 0o3;
        const O_CREAT: u64 = 0o100;
        const O_TRUNC: u64 = 0o1000;
        if flags & (O_ACCMODE | O_CREAT | O_TRUNC) == 0 { Query::Open } else { Query::OpenWrite }
    }

    /// The question of `newfstatat`, `fstatat64` or `statx` with these `AT_*` flags.
    pub fn status(flags: u64) -> Query {
        const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
        if flags & AT_SYMLINK_NOFOLLOW == 0 { Query::Stat } else { Query::Lstat }
    }

    /// Whether the call names a path.
    pub fn names_path(self) -> bool {
        self != Query::NoPath
    }

    /// Whether the call may change the answer to another question.
    pub fn changes(self) -> bool {
        matches!(self, Query::OpenWrite | Query::Change | Query::Exec)
    }
}
