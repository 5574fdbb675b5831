//! What the tests share: running programs with ptrace-run and without it.

pub(crate) use needless_fixtures::needed;
pub(crate) use needless_fixtures::referee::{CallCounts, command, program};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A testee or a program.
pub(crate) fn testee(name: &str) -> Option<PathBuf> {
    needed(needless_fixtures::path(name))
}

pub(crate) fn is_root() -> Result<(), String> {
    // SAFETY: geteuid(2) has no argument and cannot fail.
    if unsafe { libc::geteuid() } == 0 { Ok(()) } else { Err("not root".into()) }
}

/// Whether call sites are patched in these tests.
pub(crate) use super::PATCHED;

pub(crate) const RUN: &str = if PATCHED {
    env!("CARGO_BIN_EXE_ptrace-run-patched")
} else {
    env!("CARGO_BIN_EXE_ptrace-run")
};

/// The same for a trace within the test.
pub(crate) const PATCH_AFTER: Option<u32> = if PATCHED { Some(1) } else { None };

/// Runs `argv` under ptrace-run; the table and the lines after `#`.
pub(crate) fn ours(
    options: &[&str],
    argv: &[impl AsRef<OsStr> + std::fmt::Debug],
    folder: &Path,
) -> (CallCounts, Vec<String>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let status =
        command(RUN, folder).args(options).arg("-o").arg(file.path()).args(argv).status().unwrap();
    assert_ne!(status.code(), Some(125), "{argv:?}");
    let text = std::fs::read_to_string(file.path()).unwrap();
    let mut table = CallCounts::new();
    let mut comments = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(comment) => comments.push(comment.to_owned()),
            None => {
                let [count, call, outcome, path] =
                    line.splitn(4, '\t').collect::<Vec<_>>().try_into().unwrap();
                let key = (call.to_owned(), outcome.to_owned(), path.to_owned());
                *table.entry(key).or_default() += count.parse::<u64>().unwrap();
            }
        }
    }
    (table, comments)
}

/// Looks until `look` finds something. A test that would wait for ever fails after a minute.
pub(crate) fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

pub(crate) fn status_field(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

/// Numbers by chance, with the seed of `NEEDLESS_SEED` or another one each time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Random {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let seed = std::env::var("NEEDLESS_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed: u64 = seed.unwrap_or(u64::from(now.subsec_nanos()));
        eprintln!("NEEDLESS_SEED={seed}");
        Random(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // Knuth's MMIX generator.
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}
