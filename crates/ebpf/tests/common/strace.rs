//! strace as the referee.

use super::{Table, command, spawn};
use needless_model::Ask;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// What strace wrote of `argv`.
fn log(options: &[&str], argv: &[OsString], folder: &Path) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut strace = command("strace", folder);
    strace.arg("-f").args(options).arg("-o").arg(file.path()).args(argv);
    spawn(&mut strace).wait().unwrap();
    String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned()
}

/// What `strace -f -c` counts.
pub(crate) fn totals(argv: &[OsString], folder: &Path) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in log(&["-c"], argv, folder).lines() {
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

/// What a `strace -f` log says about calls that name a path, the path as asked.
pub(crate) fn paths(argv: &[OsString], folder: &Path) -> Table {
    let text = log(&["-s", "4096"], argv, folder);
    let mut table = Table::new();
    let mut unfinished = BTreeMap::<&str, &str>::new();
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
        let key = (call.to_owned(), outcome.to_owned(), path.to_owned());
        *table.entry(key).or_default() += 1;
    }
    table
}
