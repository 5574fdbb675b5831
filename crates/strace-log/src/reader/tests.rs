//! The caches of the reader save time and change no result.

use super::Reader;
use crate::ReadOptions;
use crate::call_names::Class;
use crate::fast::cache::{Cache, RecentRows};
use crate::fast::tails::{self, Tails};
use crate::lines::{AHEAD, Line};
use crate::prefix::Recent;
use needless_model::Profile;
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Write;

impl Reader<'_> {
    /// Empties all caches.
    fn forget(&mut self) {
        self.cache = Cache::new(1);
        self.rows = RecentRows::new();
        self.recent = Recent::default();
        self.tails = Tails::default();
        self.calls.forget();
    }
}

/// All of a profile.
fn words(profile: &Profile) -> String {
    let Profile { facts, totals, window, lost, .. } = profile;
    let mut out = format!("{facts:?} {totals:?} {window:?} {lost:?}\n");
    for process in &profile.processes {
        writeln!(out, "{process:?}").unwrap();
    }
    for row in &profile.rows {
        writeln!(out, "{} {} {row:?}", profile.call(row), profile.path(row)).unwrap();
    }
    for note in &profile.notes {
        writeln!(out, "{note}").unwrap();
    }
    out
}

/// The lines as they stand in a buffer: with others behind them, and at the end with what was read
/// before.
fn each_line(log: &str, mut each: impl FnMut(&Line<'_>)) {
    let buffer = format!("{log}3 = 0\nopenat(AT_FDCWD, {log}{}", "x".repeat(AHEAD));
    let mut start = 0;
    for line in log.lines() {
        let ahead = &buffer.as_bytes()[start..];
        each(&Line { bytes: line.as_bytes(), ahead, cut: false, last: false });
        start += line.len() + 1;
    }
}

/// What a reader remembers.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Nothing,
    /// Two calls, whatever they are: those that have the same place elsewhere are few.
    Two,
    Usual,
}

fn profile(log: &str, memory: Memory) -> Profile {
    let options = ReadOptions { watch: ["TZ"].into(), ..ReadOptions::default() };
    let mut reader = Reader::new(&options);
    if memory == Memory::Two {
        reader.cache = Cache::new(1);
    }
    each_line(log, |line| match memory {
        Memory::Nothing => {
            reader.forget();
            reader.line(&Line { ahead: line.bytes, ..*line }, None);
        }
        Memory::Two | Memory::Usual => reader.line(line, None),
    });
    reader.end();
    reader.finish()
}

/// A call: who, which, what beside.
#[derive(Clone, Debug)]
struct Made {
    pid: u32,
    which: usize,
    path: usize,
    number: u32,
    split: bool,
}

fn made() -> impl Strategy<Value = Made> {
    (0..3u32, 0..30usize, 0..4usize, 0..14u32, proptest::bool::weighted(0.2))
        .prop_map(|(pid, which, path, number, split)| Made { pid, which, path, number, split })
}

const MISSING: &str = "-1 ENOENT (No such file or directory)";

impl Made {
    /// What strace shows of how an open or a stat ends.
    fn result(&self) -> String {
        match self.number {
            0..4 => MISSING.to_owned(),
            4 => "-1 EACCES (Permission denied)".into(),
            5 => "-1 (errno 0)".into(),
            n @ (6 | 7) => format!("-1 (errno {n}"),
            8 if self.path == 0 => "0x7f12</etc/a>".into(),
            8 => "?".into(),
            n => (n * 9 - 80).to_string(),
        }
    }
}

/// The text of a call up to where another line may come between, and from there on.
fn text(made: &Made) -> (String, String) {
    let path = ["/etc/a", "b", "/usr/lib/libc.so.6", "a \\\"b\\303\\244) = 0"][made.path];
    let n = made.number;
    let dir = ["AT_FDCWD", "AT_FDCWD</srv>", "3", "12</usr, \"x>"][n as usize % 4];
    let fd = ["3", "11", "3</etc/a>", "0xb"][n as usize % 4];
    let result = made.result();
    let whole = |text: &str| (text.to_owned(), String::new());
    match made.which {
        0..4 => (format!("openat({dir}, \"{path}\", O_RDONLY|O_CLOEXEC"), format!(") = {result}")),
        4..7 => (
            format!("newfstatat({dir}, \"{path}\", "),
            // Shorter and longer than what the cache looks at in one piece.
            format!(
                "{{st_mode=S_IFREG|0644, st_rdev=\"{}\", st_size={}, ...}}, 0) = {result}",
                "x".repeat(made.path % 3 * 70),
                n / 5
            ),
        ),
        7 => (
            format!("newfstatat({fd}, \"\", "),
            format!("{{st_mode=S_IFREG|0644, st_size={n}, ...}}, AT_EMPTY_PATH) = {result}"),
        ),
        8 => (
            format!("newfstatat({dir}, \"{path}\", "),
            format!(
                "{{st_size={}, st_blocks=\"{}\", st_atime={n}, st_mtime=5}}, {}) = 0",
                n / 5,
                "x".repeat(250),
                if n.is_multiple_of(2) { "0" } else { "AT_SYMLINK_NOFOLLOW" }
            ),
        ),
        9 => (
            format!("statx({dir}, \"\", AT_STATX_SYNC_AS_STAT|AT_EMPTY_PATH, STATX_ALL, "),
            "{stx_mask=STATX_ALL, ...}) = 0".into(),
        ),
        10 | 11 => whole(&format!("access(\"{path}\", R_OK) = {result}")),
        12 => (format!("readlink(\"{path}\", "), format!("\"to{}\", 1023) = 3", n / 5)),
        13 => whole(&format!("chdir(\"/{}\")  = {}", n % 2, ["0", MISSING][n as usize / 7])),
        14 => whole(&format!("fchdir(3</{}>) = 0", n % 3)),
        15 => whole(&format!("close({fd})          = 0")),
        16 => whole(&format!("getdents{}({fd}, 0x55d0, 99) = {n}", ["", "64"][n as usize % 2])),
        17 => whole(&format!("mmap(NULL, {n}, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f{n:010x}")),
        18 => whole(&format!("fcntl({fd}, F_GETFL) = 0x{n:x} (flags O_RDONLY|O_LARGEFILE)")),
        19 => (format!("read({fd}, "), format!("\"x) = 3 <0.000001>\"..., 4096) = {result}")),
        20 => whole(&format!("write({fd}, \"x\", 1) = 1")),
        21 => whole(&format!("unlink(\"{path}\") = {result}")),
        22 => whole(&format!("symlink(\"{path}\", \"/tmp/l{}\") = 0", n % 3)),
        23 => whole(&format!("lseek({fd}, 0, SEEK_CUR) = {n}")),
        24 => whole(&format!("getpriority(PRIO_PROCESS, 0) = -{}", n % 2)),
        25 if n < 2 => whole(&format!("execve(\"{path}\", [\"x\"], 0x7ffe /* 3 vars */) = 0")),
        25 => whole(&format!("execve(\"{path}\", [\"x\"], 0x7ffe /* 3 vars */) = {MISSING}")),
        26 if n < 3 => {
            let flags = ["SIGCHLD", "CLONE_VM|CLONE_THREAD"][n as usize % 2];
            whole(&format!("clone(child_stack=NULL, flags={flags}) = {}", 101 + n))
        }
        27 if n < 2 => whole(&format!("+++ exited with {n} +++")),
        28 => whole(
            ["hello) = 0", "openat(6hello", "7 > 3", "futex(0x7f, FUTEX_WAIT, 1"][n as usize % 4],
        ),
        _ => whole(&format!("brk({}) = 0x{n:x}5", ["NULL", "0x55d0"][n as usize % 2])),
    }
}

/// Lines of `strace`, one layout of several: with or without pids, times of day and durations.
fn render(calls: &[Made], layout: usize) -> String {
    let mut out = String::new();
    let mut at = 0;
    let mut line = |pid: u32, n: u32, text: &str| {
        at += 1 + u64::from(n) * 53_000;
        let (s, us) = (at / 1_000_000, at % 1_000_000);
        let took = match (layout % 2, text.ends_with("...>") || text.ends_with("+++")) {
            (0, false) => format!(" <{}.{:06}>", n / 13, n * 7),
            _ => String::new(),
        };
        let pid = 100 + pid;
        match layout / 2 {
            0 => writeln!(out, "{pid} 1795225{:03}.{us:06} {text}{took}", 896 + s),
            1 => writeln!(out, "{pid}  23:59:{:02}.{us:06} {text}{took}", 50 + s % 10),
            2 => writeln!(out, "[pid   {pid}] 10:00:{s:02}.{us:06} {text}{took}"),
            3 => writeln!(out, "10:00:{s:02}.{us:06} {text}{took}"),
            _ => writeln!(out, "{text}{took}"),
        }
        .unwrap();
    };
    let mut ended_call: Vec<(u32, String)> = Vec::new();
    for made in calls {
        if let Some(at) = ended_call.iter().position(|(pid, _)| *pid == made.pid) {
            let (pid, text) = ended_call.remove(at);
            line(pid, made.number, &text);
        }
        let (start, rest) = text(made);
        let name = start.split('(').next().unwrap_or_default();
        if made.split && !rest.is_empty() && layout / 2 < 3 {
            line(made.pid, made.number, &format!("{} <unfinished ...>", start.trim_end()));
            ended_call.push((made.pid, format!("<... {name} resumed>{rest}")));
        } else {
            line(made.pid, made.number, &(start + &rest));
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_remembered_is_what_would_be_read(calls in vec(made(), 1..150), layout in 0..10usize) {
        let log = render(&calls, layout);
        let read = words(&profile(&log, Memory::Nothing));
        prop_assert_eq!(&words(&profile(&log, Memory::Usual)), &read, "{}", log);
        prop_assert_eq!(&words(&profile(&log, Memory::Two)), &read, "{}", log);
    }
}

/// The property above would hold of a reader that remembers nothing.
#[test]
fn a_call_made_again_is_remembered() {
    let options = ReadOptions::default();
    for layout in 0..10 {
        let made = Made { pid: 1, which: 4, path: 0, number: 9, split: false };
        let log = render(&vec![made; 3], layout);
        let mut reader = Reader::new(&options);
        each_line(&log, |line| reader.line(line, None));
        let line = log.lines().last().unwrap().as_bytes();
        let payload = reader.recent.parse(line).payload;
        let named = reader.calls.recent(payload).unwrap();
        assert_eq!(named.class, Class::Path);
        let (thread, text) = (
            reader
                .processes
                .known_thread(None)
                .or(reader.processes.known_thread(Some(101)))
                .unwrap(),
            &payload[usize::from(named.len)..],
        );
        let text = tails::timed(text).unwrap().0;
        let asker = reader.asker(reader.processes.get(thread).process, named.call);
        assert!(reader.cache.find(asker, text, text).is_some(), "{log}");
        assert_eq!(reader.seen.calls, 3);
    }
}
