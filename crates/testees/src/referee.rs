//! What the backends' tests share: programs in a fixed environment, tables of counts, and strace as
//! the referee.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Counts by call, outcome (`ok` or the error's name) and path.
pub type Table = BTreeMap<(String, String, String), u64>;

/// A program of the machine.
///
/// # Errors
///
/// That it is not installed.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .ok_or(format!("{name} is not installed"))
}

/// A command in a fixed environment and folder, without input or output.
pub fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
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

/// Testees whose counts every backend compares with strace's, with their arguments; `true`: how often some
/// call is made is up to the scheduler (of waiting), and what of it is compared is up to the test.
pub const TESTEES: &[(bool, &str, &[&str])] = &[
    (false, "packagecloud", &["10"]),
    (false, "packagecloud", &["1000"]),
    (false, "packagecloud-static", &["200"]),
    (false, "packagecloud-i386", &["200"]),
    (false, "packagecloud-musl", &["200"]),
    (false, "localtime", &["strftime", "100"]),
    (false, "localtime", &["mktime", "100"]),
    (false, "localtime-i386", &["gmtime", "100"]),
    (false, "watcher", &["500"]),
    (false, "set_tz", &["100"]),
    (false, "self_ptrace", &[]),
    (false, "vfork_exec", &["5"]),
    (true, "stat_threads", &["4", "500"]),
    (true, "stat_threads-i386", &["4", "100"]),
    (true, "fork_storm", &["200"]),
];

/// Puts some files into `folder`, for programs that walk it.
///
/// # Panics
///
/// If they cannot be written.
pub fn put_files(folder: &Path) {
    for i in 0..40 {
        let below = folder.join(format!("d{}/e{}", i % 4, i % 3));
        std::fs::create_dir_all(&below).expect("a folder in the test's own");
        std::fs::write(below.join(format!("f{i}")), "x").expect("a file in the test's own");
    }
}

/// Counts by call.
pub fn by_call(table: &Table) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for ((call, _, _), count) in table {
        *sums.entry(call.clone()).or_default() += count;
    }
    sums
}

/// What is in one table and not, or with another count, in the other.
pub fn difference<K: Ord + Clone + Debug>(
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

/// What the table that `strace -f -c` wrote says.
///
/// # Panics
///
/// If it says nothing: strace did not run.
pub fn totals_of(table: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // `% time seconds usecs/call calls [errors] syscall`
        if fields.len() < 5 || fields[0].parse::<f64>().is_err() || fields.last() == Some(&"total")
        {
            continue;
        }
        let count: u64 = fields[3].parse().expect("a number of calls");
        *sums.entry(fields[fields.len() - 1].to_owned()).or_default() += count;
    }
    assert!(!sums.is_empty(), "strace ran: {table}");
    sums
}

/// What a log of `strace -f` says about the calls that name a path; where they started in `folder`, with
/// relative paths followed from there, else as asked.
///
/// # Panics
///
/// If it is no such log.
pub fn paths_of(log: &str, folder: Option<&str>, names_path: impl Fn(&str) -> bool) -> Table {
    let mut table = Table::new();
    let mut unfinished = BTreeMap::<&str, &str>::new();
    let mut folders = BTreeMap::<String, String>::new();
    for line in log.lines() {
        let (pid, line) = line.split_once(' ').expect("a process id");
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
        let here = folders.get(pid).map(String::as_str).or(folder).map(str::to_owned);
        if matches!(call, "clone" | "clone3" | "fork" | "vfork")
            && let Some(here) = here
        {
            // Unless it moved before its parent was heard of.
            folders.entry(result.to_owned()).or_insert(here);
            continue;
        }
        if !names_path(call) {
            continue;
        }
        let outcome = match result.strip_prefix("-1 ") {
            Some(error) => error.split(' ').next().unwrap_or(error),
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
        let shown = match here {
            Some(here) if !(path.starts_with('/') || from_descriptor || path.is_empty()) => {
                format!("{}/{path}", here.trim_end_matches('/'))
            }
            _ => path.to_owned(),
        };
        if folder.is_some() && call == "chdir" && outcome == "ok" {
            folders.insert(pid.to_owned(), shown.clone());
        }
        *table.entry((call.to_owned(), outcome.to_owned(), shown)).or_default() += 1;
    }
    table
}
