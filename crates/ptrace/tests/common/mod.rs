//! What the tests share: running programs with and without us, and strace as the referee.
#![allow(dead_code, reason = "each test file uses its part")]

use needless_model::Ask;
pub(crate) use needless_testees::needed;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program of the machine.
pub(crate) fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .ok_or(format!("{name} is not installed"))
}

/// A testee or a program.
pub(crate) fn testee(name: &str) -> Option<PathBuf> {
    needed(needless_testees::path(name))
}

pub(crate) fn is_root() -> Result<(), String> {
    // SAFETY: takes and returns integers.
    if unsafe { libc::geteuid() } == 0 { Ok(()) } else { Err("not root".into()) }
}

/// A command in a fixed environment and folder, without input.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("LC_ALL", "C")
        .env("PYTHONHASHSEED", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

pub(crate) const RUN: &str = env!("CARGO_BIN_EXE_ptrace-run");

/// Counts by call, outcome and path.
pub(crate) type Table = BTreeMap<(String, String, String), u64>;

/// Runs `argv` under us; the table and the lines behind `#`.
pub(crate) fn ours(options: &[&str], argv: &[&OsStr], folder: &Path) -> (Table, Vec<String>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let status =
        command(RUN, folder).args(options).arg("-o").arg(file.path()).args(argv).status().unwrap();
    assert_ne!(status.code(), Some(125), "{argv:?}");
    let text = std::fs::read_to_string(file.path()).unwrap();
    let mut table = Table::new();
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

/// Counts by call.
pub(crate) fn by_call(table: &Table) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for ((call, _, _), count) in table {
        *sums.entry(call.clone()).or_default() += count;
    }
    sums
}

/// What `strace -f -c` counts.
pub(crate) fn strace_totals(argv: &[&OsStr], folder: &Path) -> BTreeMap<String, u64> {
    let file = tempfile::NamedTempFile::new().unwrap();
    command("strace", folder)
        .args(["-f", "-c", "-o"])
        .arg(file.path())
        .args(argv)
        .status()
        .unwrap();
    let mut sums = BTreeMap::new();
    for line in std::fs::read_to_string(file.path()).unwrap().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // `% time seconds usecs/call calls [errors] syscall`
        if fields.len() < 5 || fields[0].parse::<f64>().is_err() || fields.last() == Some(&"total")
        {
            continue;
        }
        let count: u64 = fields[3].parse().unwrap();
        *sums.entry(fields[fields.len() - 1].to_owned()).or_default() += count;
    }
    assert!(!sums.is_empty(), "strace ran {argv:?}");
    sums
}

/// What a `strace -f` log says about calls that name a path.
pub(crate) fn strace_paths(argv: &[&OsStr], folder: &Path) -> Table {
    let file = tempfile::NamedTempFile::new().unwrap();
    command("strace", folder)
        .args(["-f", "-s", "4096", "-o"])
        .arg(file.path())
        .args(argv)
        .status()
        .unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned();
    paths_of_log(&text, folder.to_str().unwrap())
}

fn paths_of_log(text: &str, folder: &str) -> Table {
    let mut table = Table::new();
    let mut unfinished = BTreeMap::<&str, &str>::new();
    let mut folders = BTreeMap::<&str, String>::new();
    let mut born = BTreeMap::<String, String>::new();
    for line in text.lines() {
        let (pid, line) = line.split_once(' ').unwrap();
        let line = line.trim_start();
        if let Some((begun, _)) = line.split_once(" <unfinished ...>") {
            unfinished.insert(pid, begun);
            continue;
        }
        let whole = match line.split_once(" resumed>") {
            Some((_, rest)) => format!("{}{rest}", unfinished.remove(pid).unwrap_or("?(")),
            None => line.to_owned(),
        };
        let Some((call, rest)) = whole.split_once('(') else { continue };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { continue };
        if matches!(call, "clone" | "clone3" | "fork" | "vfork") {
            let here = folders.get(pid).map_or(folder, String::as_str).to_owned();
            born.insert(result.to_owned(), here);
        }
        if !Ask::of(call).names_path() {
            continue;
        }
        let outcome = match result.strip_prefix("-1 ") {
            Some(error) => error.split(' ').next().unwrap(),
            None => "ok",
        };
        // The made name of a link, the place of a mount: the second text.
        let nth = if matches!(call, "symlink" | "symlinkat" | "mount") { 3 } else { 1 };
        let path = arguments.split('"').nth(nth);
        let empty = path == Some("") && arguments.contains("AT_EMPTY_PATH");
        let no_path = arguments.starts_with("NULL") || arguments.starts_with("0x");
        let Some(path) = path.filter(|_| !empty && !no_path) else { continue };
        let from_descriptor = arguments.split(',').next().is_some_and(|a| a.parse::<i32>().is_ok())
            || call == "symlinkat" && !arguments.contains("AT_FDCWD");
        let here = folders.get(pid).or(born.get(pid)).map_or(folder, String::as_str);
        let shown = match path.starts_with('/') || from_descriptor || path.is_empty() {
            true => path.to_owned(),
            false => format!("{}/{path}", here.trim_end_matches('/')),
        };
        if call == "chdir" && outcome == "ok" {
            folders.insert(pid, shown.clone());
        }
        *table.entry((call.to_owned(), outcome.to_owned(), shown)).or_default() += 1;
    }
    table
}

/// What is in one table and not, or with another count, in the other.
pub(crate) fn difference<K: Ord + Clone + std::fmt::Debug>(
    strace: &BTreeMap<K, u64>,
    ours: &BTreeMap<K, u64>,
) -> Vec<String> {
    let mut keys: Vec<&K> = strace.keys().chain(ours.keys()).collect();
    keys.sort();
    keys.dedup();
    let count = |of: &BTreeMap<K, u64>, key: &K| of.get(key).copied().unwrap_or(0);
    keys.into_iter()
        .filter(|key| count(strace, key) != count(ours, key))
        .map(|key| format!("{key:?}: strace {}, ours {}", count(strace, key), count(ours, key)))
        .collect()
}
