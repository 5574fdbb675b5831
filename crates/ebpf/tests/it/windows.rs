//! Successive windows of one observation: each call is in one of them.

use crate::common::*;
use needless_ebpf::{Scope, Session, SessionOptions};
use needless_model::{Env, Limits, Loss, Profile, Row, Spawn};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Duration;

/// How many calls were about paths that begin so.
fn below(profile: &Profile, start: &str) -> u64 {
    let about = profile.rows.iter().filter(|row| profile.path(row).starts_with(start));
    about.map(|row| row.count).sum()
}

#[test]
fn no_call_is_lost_between_windows_and_none_is_counted_twice() {
    let Some(testee) = testee("stat_loop").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts");
    let options = SessionOptions { all: true, ..options() };
    let (mut session, mut child) = start(&options, command(&testee, folder.path()).arg(&file));
    let mut windows = Vec::new();
    while windows.len() < 30 {
        session.drain(Duration::from_millis(10));
        windows.push(session.window().profile);
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    while session.live() > 0 {
        session.drain(Duration::from_millis(10));
    }
    // After its end: its rows come back, and what a CPU still had of them.
    for _ in 0..3 {
        session.drain(Duration::from_millis(10));
        windows.push(session.window().profile);
    }
    windows.push(session.finish().profile);
    let counts = std::fs::read_to_string(&file).unwrap();
    let answered: u64 = counts.split_whitespace().next().unwrap().parse().unwrap();
    let seen: Vec<u64> = windows
        .iter()
        .map(|window| {
            window.rows.iter().filter(|row| window.path(row) == "/").map(|row| row.count).sum()
        })
        .collect();
    assert_eq!(seen.iter().sum::<u64>(), answered, "{seen:?}");
    assert!(seen.iter().filter(|n| **n > 0).count() > 5, "{seen:?}");
    let writes = |window: &Profile| {
        let of = window.rows.iter().filter(|row| window.call(row) == "pwrite64");
        of.map(|row| row.count).sum::<u64>()
    };
    assert_eq!(windows.iter().map(writes).sum::<u64>(), answered / 100);
    for window in &windows {
        assert!(window.rows.iter().all(|row| row.repeated <= row.count && row.count > 0));
        assert!(window.lost.is_empty(), "{:?}", window.lost);
    }
    // What goes on is in each window like what ran before it.
    let later = &windows[20].processes;
    assert_eq!(later.len(), 1, "{later:?}");
    assert!(later[0].born == Spawn::Seen && later[0].parent.is_none());
    assert_eq!(later[0].exe, windows[0].processes.last().unwrap().exe);
    assert!(matches!(later[0].env, Env::Known(_)));
}

#[test]
fn rows_that_nobody_counts_any_more_make_room() {
    let perl = needed(program("perl"));
    let Some(perl) = perl.filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { rows: 4096, ..options().limits };
    let options = SessionOptions { limits, ..options() };
    // More paths in all than there is room for, and in each round fewer.
    let script = "$| = 1; for my $round (0..4) { for my $n (0..2999) { -e \"/missing/windows/$round/$n\" } \
                  print \"done\\n\"; <STDIN> }";
    let mut command = command(&perl, folder.path());
    command.args(["-e", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let (mut session, mut child) = start(&options, &mut command);
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut from = BufReader::new(from);
    for round in 0..5 {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        session.drain(Duration::ZERO);
        let window = session.window().profile;
        let prefix = format!("/missing/windows/{round}/");
        assert_eq!(below(&window, &prefix), 3000, "{round}: {:?}", window.lost);
        assert_eq!(below(&window, "/missing/windows/"), 3000, "{round}");
        assert!(window.lost.is_empty(), "{round}: {:?}", window.lost);
        // Nothing happens in this one.
        let idle = session.window().profile;
        assert_eq!(below(&idle, "/missing/windows/"), 0);
        to.write_all(b"\n").unwrap();
    }
    drop(to);
    let mut rest = Vec::new();
    from.read_to_end(&mut rest).unwrap();
    let last = finish(session, child).profile;
    assert_eq!(below(&last, "/missing/windows/"), 0);
}

#[test]
fn in_a_break_nothing_is_counted_and_no_program_of_ours_runs() {
    let Some(testee) = testee("stat_loop").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut testee = command(&testee, folder.path());
    let mut children =
        [1, 2].map(|n| Endless(spawn(testee.arg(folder.path().join(n.to_string())))));
    let options = SessionOptions { metered: true, ..options() };
    let mut session = Session::start(&Scope::Everyone, &options).unwrap();
    let roots = |profile: &Profile, pid: u32| -> u64 {
        let of = |row: &&Row| profile.process(row.process).pid == pid && profile.path(row) == "/";
        profile.rows.iter().filter(of).map(|row| row.count).sum()
    };
    let [first, second] = [children[0].0.id(), children[1].0.id()];
    let mut profile = None;
    for _ in 0..200 {
        session.drain(Duration::from_millis(10));
        let seen = session.window().profile;
        if roots(&seen, first) > 0 && roots(&seen, second) > 0 {
            profile = Some(seen);
            break;
        }
    }
    profile.expect("both are found");
    for _ in 0..3 {
        session.drain(Duration::from_millis(10));
        session.pause();
        let before = session.run_time();
        assert!(!before.is_zero());
        // The other goes on.
        let _ = children[0].0.kill();
        children[0].0.wait().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(session.run_time(), before, "no program runs");
        session.resume().unwrap();
        let seen = (0..200).find_map(|_| {
            session.drain(Duration::from_millis(10));
            let seen = session.window().profile;
            assert!(seen.processes.iter().all(|process| process.pid != first), "it has ended");
            (roots(&seen, second) > 0).then_some(seen)
        });
        let seen = seen.expect("it is found again");
        let process = seen.processes.iter().find(|process| process.pid == second).unwrap();
        assert!(process.born == Spawn::Seen && matches!(process.env, Env::Known(_)));
        assert_eq!(seen.lost.get(&Loss::NoPath), None, "{:?}", seen.lost);
        assert!(session.run_time() > before);
    }
}
