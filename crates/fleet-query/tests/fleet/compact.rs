//! Parts: they answer as the files do, whenever the work was interrupted.

use crate::common::{ALL, FLEET, asked, stderr, text};
use needless_synthetic_fleet::{Fleet, file_name};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn compacted(from: &Path, to: &Path) -> (bool, String, String) {
    let done = asked(&["compact"], &[from, to]);
    let said = stderr(&done);
    (done.status.success(), String::from_utf8(done.stdout).unwrap(), said)
}

fn parts(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name != ".needless-fleet-lock");
    names.sort();
    names
}

#[test]
fn killed_at_any_time_it_counts_each_window_once() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let fleet = Fleet { hosts: 12, ..FLEET };
    fleet.write(&from).unwrap();
    let (mut killed, mut half) = (0, 0);
    for n in 0..12 {
        let mut words = Command::new(env!("CARGO_BIN_EXE_needless-fleet"));
        let mut child =
            words.arg("compact").args([&from, &to]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(40 + 97 * n));
        killed += i32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let there = if to.exists() { parts(&to) } else { Vec::new() };
        half += i32::from(!there.is_empty() && there.len() < 8);
    }
    eprintln!("killed {killed} times, {half} times with a part of the parts");
    let (ok, _, said) = compacted(&from, &to);
    assert!(ok && said.is_empty(), "{said}");
    let made = parts(&to);
    assert!(
        made.len() >= 8 && made.iter().all(|name| name.starts_with("needless-part-")),
        "{made:?}"
    );
    for words in ALL {
        assert_eq!(text(words, &to), text(words, &from), "{words:?}");
    }

    // Once more: nothing is left to do.
    let (ok, done, _) = compacted(&from, &to);
    assert_eq!((ok, done.as_str()), (true, "0 files added in 0 parts, 192 were in parts before\n"));
    assert_eq!(parts(&to), made);
    // Asked together, each window still counts once.
    let both = asked(&["coverage"], &[&from, &to]);
    assert_eq!(String::from_utf8(both.stdout.clone()).unwrap(), text(&["coverage"], &from));
    assert!(stderr(&both).contains("192 of 200 files are copies"), "{}", stderr(&both));

    // A part that is copied is the same part; one that shares some windows with others is not read.
    std::fs::copy(to.join(&made[0]), folder.path().join("copy.parquet")).unwrap();
    let both = asked(&["coverage"], &[&to, &folder.path().join("copy.parquet")]);
    assert_eq!(String::from_utf8(both.stdout.clone()).unwrap(), text(&["coverage"], &from));
}

#[test]
fn new_files_are_added_and_bad_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let fleet = Fleet { hosts: 3, days: 2, ..FLEET };
    fleet.write(&from).unwrap();
    let (window, _) = fleet.all().next().unwrap();
    let first = from.join("day-000").join(file_name(&window));
    let bytes = std::fs::read(&first).unwrap();
    std::fs::write(&first, &bytes[..bytes.len() / 2]).unwrap();
    let (ok, done, said) = compacted(&from, &to);
    assert_eq!((ok, done.as_str()), (false, "11 files added in 2 parts, 0 were in parts before\n"));
    let lines: Vec<_> = said.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("not a whole Parquet file"), "{said}");
    assert_eq!(lines[1], "needless-fleet: 1 files: they are in no part; keep them");
    // Brought again, and whole.
    std::fs::write(&first, &bytes).unwrap();
    let (ok, done, said) = compacted(&from, &to);
    assert_eq!(
        (ok, done.as_str()),
        (true, "1 files added in 1 parts, 11 were in parts before\n"),
        "{said}"
    );
    assert_eq!(text(&["coverage"], &to), text(&["coverage"], &from));

    // A part that cannot be read is not made again beside it.
    let part = to.join(&parts(&to)[0]);
    let bytes = std::fs::read(&part).unwrap();
    std::fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let (ok, done, said) = compacted(&from, &to);
    assert!(
        !ok && done.is_empty() && said.lines().count() == 1 && said.contains("move it away"),
        "{said}"
    );
}

#[test]
fn parts_are_as_private_as_windows_and_not_among_them() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    Fleet { hosts: 2, days: 1, ..FLEET }.write(&from).unwrap();
    let (done, _, said) = compacted(&from, &from);
    assert!(!done && said.contains("it is the directory of the windows"), "{said}");
    assert!(compacted(&from, &to).0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&to) & 0o007, 0);
    assert!(parts(&to).iter().all(|name| mode(&to.join(name)) & 0o007 == 0));
}
