//! Properties that hold for any log: no bytes cause a panic, the sizes of reads do not
//! matter, well-formed calls are counted exactly however their lines interleave.

use crate::common::{read_options, words};
use needless_model::{Errno, Loss, Profile};
use needless_strace_log::read;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, Read};

/// Pieces of lines that mean something, to be put together at random.
const PIECES: &[&str] = &[
    "1 ",
    "2 ",
    "[pid 3] ",
    "[pid 4] ",
    "12:00:00 ",
    "23:59:59.5 ",
    "1795225896.154805 ",
    "0.000001 ",
    "openat(",
    "execve(",
    "clone(",
    "vfork(",
    "close(",
    "<... openat resumed>",
    "<... clone resumed>",
    "<... execve resumed>",
    "AT_FDCWD, ",
    "AT_FDCWD</x>, ",
    "3</a>, ",
    "\"/etc/localtime\"",
    "\"",
    "\\",
    ", O_RDONLY",
    ", {st_mode=",
    ", 0",
    ")",
    " = 0",
    " = 2",
    " = 3</x>",
    " = -1 ENOENT (x)",
    " = ?",
    " <unfinished ...>",
    " <detached ...>",
    " <0.000012>",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "+++ exited with 0 +++",
    "+++ killed by SIGKILL +++",
    "+++ superseded by execve in pid 2 +++",
    "--- SIGCHLD {} ---",
    "strace: Process 2 attached",
    "Process 3 detached",
    " > /bin/a(f+0x1) [0x2]",
    "\u{1b}[1m",
    "(",
    "=",
    "% time     seconds  usecs/call     calls    errors syscall",
    "------ ---- ---- ---- ---- ----",
    "  1.00 0.1 1 2 openat",
    "flags=CLONE_THREAD|SIGCHLD",
    "chdir(\"a\") = 0",
    "\0",
    "é",
    "[ 262] ",
    "[\"A=1\"], [\"TZ=x\", \"LANG\"...]",
    "/* 3 in strace's PID NS */",
    "????(",
    "exit_group(0",
];

/// Gives its bytes in pieces of these sizes, in turn.
struct Cut<'a> {
    bytes: &'a [u8],
    sizes: &'a [usize],
    turn: usize,
}

impl Read for Cut<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.turn % self.sizes.len()];
        self.turn += 1;
        let n = size.min(out.len()).min(self.bytes.len());
        out[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

/// What a read gives, in words: the profile, or the error.
fn outcome(input: impl Read) -> String {
    match read(input, "log", &read_options()) {
        Ok(profile) => words(&profile),
        Err(error) => {
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "{text}");
            text
        }
    }
}

/// A call of a generated log.
#[derive(Clone, Debug)]
struct Made {
    thread: u32,
    kind: usize,
    path: usize,
    fails: bool,
    /// The lines of other threads until its end, if it is interrupted.
    until: Option<usize>,
}

fn made() -> impl Strategy<Value = Made> {
    (0..5u32, 0..4usize, 0..6usize, any::<bool>(), proptest::option::weighted(0.3, 0..6usize))
        .prop_map(|(thread, kind, path, fails, until)| Made { thread, kind, path, fails, until })
}

/// (name, start, rest) of a call.
fn parts(made: &Made) -> (&'static str, String, &'static str) {
    let path = format!("/p{}/\\303\\244 \\\"{}", made.path, "x".repeat(made.path * 9));
    match made.kind {
        0 => ("openat", format!("AT_FDCWD, \"{path}\", O_RDONLY|O_CLOEXEC"), ""),
        1 => ("newfstatat", format!("AT_FDCWD, \"{path}\", "), "0x7ffd, 0"),
        2 => ("access", format!("\"{path}\", F_OK"), ""),
        _ => ("close", "3".into(), ""),
    }
}

/// Renders the calls in one of several layouts; a thread says nothing while it is in a call.
fn render(calls: &[Made], layout: usize) -> String {
    let mut out = String::new();
    let mut inside: BTreeMap<u32, (Made, usize)> = BTreeMap::new();
    let mut at = 0u64;
    let mut line = |out: &mut String, thread: u32, text: &str, ends: bool| {
        at += 17;
        let pid = 100 + thread;
        let took = if ends && layout == 2 { " <0.000003>" } else { "" };
        match layout {
            0 => writeln!(out, "{pid} {text}{took}"),
            1 => writeln!(
                out,
                "[pid   {pid}] 10:00:{:02}.{:06} {text}",
                at / 1_000_000,
                at % 1_000_000
            ),
            2 => writeln!(out, "{pid} 1795225896.{at:06} {text}{took}"),
            _ => writeln!(out, "{pid}<a comm>      0.000017 [ 262] [00007f9496b5492a] {text}\r"),
        }
        .unwrap();
    };
    let end = |made: &Made| {
        if made.fails { ") = -1 ENOENT (No such file or directory)" } else { ") = 7" }
    };
    let blank = if layout == 3 { " " } else { "" }; // strace 4.x
    for made in calls {
        let due: Vec<u32> = inside
            .iter_mut()
            .filter_map(|(thread, (_, left))| {
                *left = left.saturating_sub(1);
                (*left == 0 || *thread == made.thread).then_some(*thread)
            })
            .collect();
        for thread in due {
            let (before, _) = inside.remove(&thread).unwrap();
            let (name, _, rest) = parts(&before);
            line(
                &mut out,
                thread,
                &format!("<... {name} resumed>{blank}{rest}{}", end(&before)),
                true,
            );
        }
        let (name, start, rest) = parts(made);
        match made.until {
            None => {
                line(&mut out, made.thread, &format!("{name}({start}{rest}{}", end(made)), true)
            }
            Some(n) => {
                line(&mut out, made.thread, &format!("{name}({start} <unfinished ...>"), false);
                inside.insert(made.thread, (made.clone(), n + 1));
            }
        }
    }
    for (thread, (before, _)) in inside {
        let (name, _, rest) = parts(&before);
        line(&mut out, thread, &format!("<... {name} resumed>{blank}{rest}{}", end(&before)), true);
    }
    out
}

/// (pid, call, path, failed) → how often.
type Tally = BTreeMap<(u32, String, String, bool), u64>;

fn tally(profile: &Profile) -> Tally {
    let mut tally = Tally::new();
    for row in &profile.rows {
        let key = (
            profile.process(row.process).pid,
            profile.call(row).to_owned(),
            profile.path(row).to_owned(),
            row.failed(Errno::ENOENT),
        );
        *tally.entry(key).or_default() += row.count;
    }
    tally
}

/// Parts of values of variables.
const VALUES: [&str; 12] = [
    "/lists/one",
    "/lists/two",
    "/hidden/entry",
    "hidden",
    "https://user:hidden@host/hidden",
    "~/hidden",
    "/hidden/?.lua",
    "name=/hidden",
    "",
    "-Dhidden=/lists",
    "/lists/hidden",
    "!!/hidden//",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..2000)) {
        outcome(bytes.as_slice());
    }

    /// Of an environment only entries of lists enter a profile below which something was looked for; nothing else
    /// of the same value, and no other value.
    #[test]
    fn no_value_that_is_no_list_of_directories_enters_a_profile(
        values in vec(vec(0..VALUES.len(), 1..6), 1..8),
        separator in 0..4usize,
    ) {
        let separator = [":", ";", " ", ""][separator];
        let text = |pieces: &Vec<usize>| -> String {
            pieces.iter().map(|at| VALUES[*at]).collect::<Vec<_>>().join(separator)
        };
        let names = ["A", "A_PATH", "TOKEN", "X_DIRS", "R_LIBS", "URL", "HOME", "TCLLIBPATH"];
        let variables = names.iter().zip(&values);
        let block: Vec<String> =
            variables.map(|(name, pieces)| format!("\"{name}={}\"", text(pieces))).collect();
        let log = format!(
            "7 execve(\"/bin/app\", [\"app\"], [{}]) = 0\n\
             7 openat(AT_FDCWD, \"/lists/one/f\", O_RDONLY) = -1 ENOENT (No such file or directory)\n\
             7 openat(AT_FDCWD, \"/lists/two/f\", O_RDONLY) = 3\n",
            block.join(", ")
        );
        let profile = read(log.as_bytes(), "log", &read_options()).unwrap();
        prop_assert_eq!(profile.totals.calls, 3);
        prop_assert!(!format!("{profile:?}").contains("hidden"), "{}", log);
        let lists = profile.processes[0].lists.as_deref().unwrap_or_default();
        for entry in lists.iter().flat_map(|list| &list.entries) {
            prop_assert_eq!(&*entry.dir, "/lists/one", "{}", log);
        }
    }

    #[test]
    fn any_lines_are_read_without_panic(pieces in vec(0..PIECES.len(), 0..300)) {
        let text: String = pieces.iter().map(|at| PIECES[*at]).collect();
        outcome(text.as_bytes());
    }

    #[test]
    fn the_cut_into_reads_does_not_matter(
        pieces in vec(0..PIECES.len(), 0..200),
        sizes in vec(1..40usize, 1..10),
    ) {
        let text: String = pieces.iter().map(|at| PIECES[*at]).collect();
        let whole = outcome(text.as_bytes());
        prop_assert_eq!(outcome(Cut { bytes: text.as_bytes(), sizes: &sizes, turn: 0 }), whole);
    }

    #[test]
    fn well_formed_calls_are_counted_exactly(calls in vec(made(), 1..120), layout in 0..4usize) {
        let text = render(&calls, layout);
        let profile = read(text.as_bytes(), "log", &read_options()).unwrap();
        let mut want = Tally::new();
        for made in &calls {
            let name = parts(made).0;
            let path = match made.kind {
                3 => String::new(),
                _ => format!("/p{}/ä \"{}", made.path, "x".repeat(made.path * 9)),
            };
            *want.entry((100 + made.thread, name.to_owned(), path, made.fails)).or_default() += 1;
        }
        prop_assert_eq!(tally(&profile), want, "{}", text);
        prop_assert_eq!(profile.totals.calls, calls.len() as u64);
        prop_assert_eq!(profile.lost.get(&Loss::Unfinished), None);
        prop_assert_eq!(profile.lost.get(&Loss::Unparsed), None);
    }

    /// A log cut anywhere has all the calls whose lines are whole, and says what is lost.
    #[test]
    fn a_cut_log_keeps_its_whole_lines(calls in vec(made(), 2..60), cut in 0.0..1.0f64) {
        let text = render(&calls, 0);
        let at = (text.len() as f64 * cut) as usize;
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let ended = |text: &str| text.lines().filter(|l| l.contains(") = ")).count() as u64;
        let whole = &text[..text[..at].rfind('\n').map_or(0, |end| end + 1)];
        let Ok(profile) = read(&text.as_bytes()[..at], "log", &read_options()) else {
            prop_assert_eq!(ended(whole), 0);
            return Ok(());
        };
        let partial = profile.totals.calls - ended(whole);
        prop_assert!(partial <= 1, "{} of {}", profile.totals.calls, ended(whole));
    }
}

/// What the fuzzer found worth keeping.
#[test]
fn every_file_of_the_fuzz_corpus_is_read_without_panic() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/strace_log");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let whole = outcome(bytes.as_slice());
        assert_eq!(outcome(Cut { bytes: &bytes, sizes: &[1, 5, 3], turn: 0 }), whole);
        read += 1;
    }
    assert!(read > 10, "{read}");
}
