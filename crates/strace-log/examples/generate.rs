//! Writes a log of `strace -f -ttt -T` to standard output: several programs at work at once, as
//! many megabytes as asked for, the same bytes for the same seed. About one call in twenty is
//! interrupted by another process's line.
//!
//! `cargo run --release -p needless-strace-log --example generate -- MEGABYTES [SEED] [y] > LOG`
//!
//! With `y`, descriptors have paths as under `strace -y`, which makes lines longer.

use std::io::{self, BufWriter, Write};

/// xorshift64*: the bytes must not depend on a library's version.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A process of the log.
struct Worker {
    pid: u32,
    /// The rest of a call that was interrupted: its name and what follows on the second line.
    pending: Option<(&'static str, String)>,
}

struct Log<W: Write> {
    out: W,
    written: u64,
    random: Random,
    micros: u64,
    paths: bool,
}

/// The name, the arguments known at the start of a call, the rest and the outcome.
type Call = (&'static str, String, String);

const MISSING: &str = "-1 ENOENT (No such file or directory)";

/// What the arguments and results of one call are made of.
struct Values {
    path: String,
    /// The size of the file, which it keeps.
    of_file: u64,
    /// On the stack: a program keeps it.
    buffer: String,
    /// Another in each call.
    addr: String,
    fd: String,
    size: u64,
}

impl<W: Write> Log<W> {
    fn line(&mut self, pid: u32, text: &str) -> io::Result<()> {
        let shown = text.replace("AT_FDCWD", "AT_FDCWD</srv/app/current>");
        let text = if self.paths { &shown } else { text };
        self.micros += 5 + self.random.below(60);
        let (s, us) = (self.micros / 1_000_000, self.micros % 1_000_000);
        let line = format!("{pid} {s}.{us:06} {text}\n");
        self.written += line.len() as u64;
        self.out.write_all(line.as_bytes())
    }

    fn duration(&mut self) -> String {
        format!("<0.{:06}>", 3 + self.random.below(30))
    }

    /// Values for the arguments and results of a call.
    fn values(&mut self, pid: u32) -> Values {
        let r = &mut self.random;
        let dirs =
            ["etc", "usr/share/doc/libfoo", "var/lib/app/objects", "usr/lib/python3/dist-packages"];
        let dir = dirs[pid as usize % 4];
        // A process has its own dozen of files: some 80,000 distinct rows in 300 MB.
        let file = (u64::from(pid) * 37 + r.below(12)) % 4000;
        let path = format!("/{dir}/file-{file}.conf");
        let addr = format!("0x7f{:010x}", r.below(1 << 40));
        let fd = 3 + r.below(9);
        Values {
            of_file: file * 2654435761 % 99_991,
            buffer: format!("0x7ffd{:08x}", u64::from(pid) * 2654435761 % (1 << 32)),
            addr,
            fd: if self.paths { format!("{fd}<{path}>") } else { fd.to_string() },
            size: r.below(100_000),
            path,
        }
    }

    /// A call, of a kind that chance chooses.
    fn call(&mut self, pid: u32) -> Call {
        let values = self.values(pid);
        match self.random.below(100) {
            kind @ (0..=17 | 47..=55 | 62..=74 | 95) => values.by_path(kind),
            kind => values.by_descriptor_or_none(kind, &mut self.random),
        }
    }
}

impl Values {
    /// A call that names the file.
    fn by_path(self, kind: u64) -> Call {
        let Values { path, of_file, buffer, fd, .. } = self;
        let regular = format!("{{st_mode=S_IFREG|0644, st_size={of_file}, ...}}");
        match kind {
            0..=2 => (
                "newfstatat",
                "AT_FDCWD, \"/etc/localtime\", ".into(),
                "{st_mode=S_IFREG|0644, st_size=114, ...}, 0) = 0".into(),
            ),
            3..=13 => {
                ("newfstatat", format!("AT_FDCWD, \"{path}\", "), format!("{regular}, 0) = 0"))
            }
            14..=17 => (
                "newfstatat",
                format!("AT_FDCWD, \"{path}\", "),
                format!("{buffer}, 0) = {MISSING}"),
            ),
            47..=52 => {
                ("openat", format!("AT_FDCWD, \"{path}\", O_RDONLY|O_CLOEXEC"), format!(") = {fd}"))
            }
            53..=55 => (
                "openat",
                format!("AT_FDCWD, \"{path}\", O_RDONLY|O_NOCTTY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY"),
                format!(") = {MISSING}"),
            ),
            62..=66 => (
                "readlink",
                format!("\"{path}\", "),
                format!("{buffer}, 1023) = -1 EINVAL (Invalid argument)"),
            ),
            67..=70 => (
                "statx",
                format!(
                    "AT_FDCWD, \"{path}\", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, STATX_MODE|STATX_INO, "
                ),
                format!(
                    "{{stx_mask=STATX_BASIC_STATS|STATX_MNT_ID, stx_attributes=0, stx_mode=S_IFREG|0644, stx_size={of_file}, ...}}) = 0"
                ),
            ),
            71..=74 => (
                "lgetxattr",
                format!("\"{path}\", \"security.selinux\", {buffer}, 255"),
                ") = -1 ENODATA (No data available)".into(),
            ),
            _ => ("access", format!("\"{path}\", R_OK"), format!(") = {MISSING}")),
        }
    }

    fn by_descriptor_or_none(self, kind: u64, r: &mut Random) -> Call {
        let Values { of_file, buffer, addr, fd, size, .. } = self;
        match kind {
            18..=22 => ("newfstatat", format!("{fd}, \"\", "), format!("{{st_mode=S_IFREG|0644, st_size={of_file}, ...}}, AT_EMPTY_PATH) = 0")),
            23..=35 => ("close", fd, ") = 0".into()),
            36..=46 => ("fcntl", format!("{fd}, F_GETFL"), ") = 0x8000 (flags O_RDONLY|O_LARGEFILE)".into()),
            56..=61 => (
                "getdents64",
                format!("{fd}, "),
                format!("{addr} /* {} entries */, 32768) = {size}", r.below(99)),
            ),
            75..=79 => (
                "mmap",
                format!("NULL, {size}, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"),
                format!(") = {addr}"),
            ),
            80..=84 => ("lseek", format!("{fd}, 0, SEEK_CUR"), format!(") = {size}")),
            85..=90 => (
                "read",
                format!("{fd}, "),
                format!("\"# This file is part of \\303\\244 pack\"..., 4096) = {}", size % 4096),
            ),
            91..=92 => (
                "rt_sigaction",
                "SIGINT, {sa_handler=SIG_IGN, sa_mask=[], sa_flags=SA_RESTORER, sa_restorer=0x7f50dd692050}, ".into(),
                "{sa_handler=SIG_DFL, sa_mask=[], sa_flags=0}, 8) = 0".into(),
            ),
            93..=94 => ("rt_sigprocmask", "SIG_SETMASK, [], ".into(), "NULL, 8) = 0".into()),
            96 => ("ioctl", format!("{fd}, TCGETS, {buffer}"), ") = -1 ENOTTY (Inappropriate ioctl for device)".into()),
            97 => ("brk", addr.clone(), format!(") = {addr}")),
            98 => ("write", format!("1, \"line {size}\\n\", 12"), ") = 12".into()),
            _ => ("futex", format!("{addr}, FUTEX_WAKE_PRIVATE, 1"), ") = 0".into()),
        }
    }
}

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let mut number = |default| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (megabytes, seed): (u64, u64) = (number(300), number(1));
    let paths = args.next().is_some_and(|a| a == "y");
    let mut log = Log {
        out: BufWriter::with_capacity(1 << 20, io::stdout().lock()),
        written: 0,
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        micros: 1_795_225_896_154_805,
        paths,
    };
    let mut next_pid = 1000;
    let mut workers = vec![Worker { pid: next_pid, pending: None }];
    log.line(
        next_pid,
        "execve(\"/usr/bin/make\", [\"make\"], 0x7ffe5c61b968 /* 35 vars */) = 0 <0.000189>",
    )?;
    let mut current = 0;
    while log.written < megabytes << 20 {
        // A process works for a while before another has its turn.
        if log.random.below(4) == 0 {
            current = log.random.below(workers.len() as u64) as usize;
        }
        let pid = workers[current].pid;
        let took = log.duration();
        if let Some((name, rest)) = workers[current].pending.take() {
            log.line(pid, &format!("<... {name} resumed>{rest} {took}"))?;
            continue;
        }
        if workers.len() < 12 && log.random.below(2000) == 0 {
            next_pid += 1;
            let clone =
                "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD";
            log.line(pid, &format!("{clone}, child_tidptr=0x7f20f63c4a10) = {next_pid} {took}"))?;
            log.line(
                next_pid,
                &format!("execve(\"/usr/bin/tool\", [\"tool\"], 0x7ffd{next_pid:08x} /* 35 vars */) = 0 {took}"),
            )?;
            workers.push(Worker { pid: next_pid, pending: None });
            continue;
        }
        if current > 0 && log.random.below(8000) == 0 {
            log.line(pid, "exit_group(0) = ?")?;
            log.line(pid, "+++ exited with 0 +++")?;
            workers.remove(current);
            current = 0;
            continue;
        }
        let (name, begin, rest) = log.call(pid);
        if log.random.below(20) == 0 {
            log.line(pid, &format!("{name}({begin} <unfinished ...>"))?;
            workers[current].pending = Some((name, rest));
            current = log.random.below(workers.len() as u64) as usize;
        } else {
            log.line(pid, &format!("{name}({begin}{rest} {took}"))?;
        }
    }
    log.out.flush()
}
