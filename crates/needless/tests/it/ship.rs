//! `needless ship`, killed at any moment: each copy is whole, none is missing in the end, none is there twice.

use crate::common::*;
use needless_fleet::{AgentWindow, Dimensions, Keep, Measures, Ring, is_window, parquet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const WINDOWS: usize = 300;

/// Fills a ring with windows of the host `a`, one a second.
pub(crate) fn fill(folder: &Path, windows: usize) {
    let keep = Keep { bytes: u64::MAX, age: Duration::from_secs(86_400) };
    let mut ring = Ring::open(folder, keep).unwrap();
    for n in 0..windows as i64 {
        let start_us = 1_700_000_000_000_000 + n * 1_000_000;
        let end_us = start_us + 1_000_000;
        let window = AgentWindow { start_us, end_us, host: "a".into(), ..AgentWindow::default() };
        let rows = [(Dimensions::default(), Measures { calls: n, ..Measures::default() })];
        ring.add(&window, &parquet(&window, &rows).unwrap()).unwrap();
    }
}

fn ship(from: &Path, to: &Path) -> Command {
    let mut ship = command(NEEDLESS);
    ship.arg("ship").arg("--dir").arg(from).arg(to);
    ship
}

#[test]
fn windows_are_copied_once_whenever_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("ring"), folder.path().join("all"));
    fill(&from, WINDOWS);
    let copies = || {
        let all = if to.exists() { names(&to) } else { Vec::new() };
        all.into_iter().filter(|name| name.ends_with(".parquet")).collect::<Vec<_>>()
    };
    let (mut in_the_middle, mut rounds) = (0, 0);
    while copies().len() < WINDOWS {
        rounds += 1;
        assert!(rounds < 1000, "it does not go on");
        let before = copies().len();
        let mut ship = ship(&from, &to);
        let mut ship = ship.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while copies().len() == before && ship.try_wait().unwrap().is_none() {}
        let random = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 2_000;
        std::thread::sleep(Duration::from_micros(u64::from(random)));
        ship.kill().unwrap();
        ship.wait().unwrap();
        let now = copies();
        in_the_middle += usize::from(now.len() > before && now.len() < WINDOWS);
        for name in &now[before.min(now.len() - 1)..] {
            assert!(is_window(File::open(to.join(name)).unwrap()), "{name}");
        }
    }
    assert!(in_the_middle > 0, "it was not killed while it copied: {rounds} rounds");
    let done = ship(&from, &to).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(stdout(&done), format!("0 windows copied, already there: {WINDOWS}\n"));
    assert_eq!(copies(), names(&from));
    for name in copies() {
        assert_eq!(fs::read(from.join(&name)).unwrap(), fs::read(to.join(&name)).unwrap());
    }
    let left: Vec<_> = names(&to).into_iter().filter(|name| !copies().contains(name)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_no_window_is_named_and_the_others_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("ring"), folder.path().join("all"));
    fill(&from, WINDOWS);
    let first = &names(&from)[0];
    fs::write(from.join(first), "cut off").unwrap();
    let done = ship(&from, &to).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(assert_one_line(&done).contains(first.as_str()), "{}", stderr(&done));
    assert_eq!(names(&to).len(), WINDOWS - 1);
    let missing = ship(&from.join("no"), &to).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(assert_one_line(&missing).contains("No such file"), "{}", stderr(&missing));
}
