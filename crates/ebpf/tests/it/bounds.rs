//! Without room, counts are folded, and that is reported; sums stay correct.

use crate::common::*;
use needless_ebpf::{Room, Session, SessionOptions};
use needless_model::{Fact, Loss, Profile, Query, Target};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::time::Duration;

#[test]
fn rows_that_make_way_for_others_lose_nothing() {
    let Some(testee) = testee("many_paths").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let asked =
        |profile: &Profile, path| sum(profile, Query::Access, &format!("/missing/many/{path}"));
    // More questions than a CPU has rows.
    let profile = profile(&options(), command(&testee, folder.path()).args(["3000", "20"]));
    for path in 0..3000 {
        assert_eq!(asked(&profile, path), (20, 19), "{path}");
    }
    // More rows than the kernel has room for, of processes that end while others come.
    let script = format!("for i in $(seq 900); do {} 80 3; done", testee.display());
    let profile = self::profile(&options(), command("sh", folder.path()).args(["-c", &script]));
    for path in 0..80 {
        assert_eq!(asked(&profile, path), (2700, 1800), "{path}");
    }
}

#[test]
fn snapshots_leave_room_for_paths_while_the_reader_pauses() {
    let Some(testee) = testee("many_paths").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    // More snapshots are due than there is room for, and then new paths come.
    let options = SessionOptions { stacks: true, ..options() };
    let mut command = command(testee, folder.path());
    let (session, mut child) = start(&options, command.args(["1000", "70", "1000"]));
    assert!(child.wait().unwrap().success());
    let observed = session.finish();
    let profile = observed.profile;
    assert_eq!(profile.lost.keys().copied().collect::<Vec<_>>(), [Loss::Stacks]);
    assert!(!observed.stacks.is_empty());
    for path in 0..1000 {
        assert_eq!(sum(&profile, Query::Access, &format!("/missing/many/{path}")).0, 70);
        assert_eq!(sum(&profile, Query::Access, &format!("/missing/more/{path}")).0, 1);
    }
}

/// More paths than the ring has room for until the reader takes them.
const PATHS: u64 = 45_000;

/// How many paths are known, and how often each was asked for (the same for all).
fn known(profile: &Profile) -> (u64, Option<u64>) {
    let rows = || {
        let asked = profile.rows.iter().filter(|row| row.query == Query::Access);
        asked.filter(|row| profile.path(row).starts_with("/missing/many/"))
    };
    let each = rows().next().map(|row| row.count);
    assert!(rows().all(|row| Some(row.count) == each));
    (rows().count() as u64, each)
}

#[test]
fn a_path_that_found_no_room_is_sent_when_it_is_asked_for_again() {
    let Some(testee) = testee("many_paths").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(testee, folder.path());
    command.args([&PATHS.to_string(), "3", "0", "stops"]);
    let (mut session, child) = start(&options(), &mut command);
    let pid = Pid::from_child(&child);
    for _ in 0..3 {
        // No message is taken until it has stopped.
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
        session.drain(Duration::ZERO);
        kill_process(pid, Signal::CONT).unwrap();
    }
    let profile = finish(session, child).profile;
    assert_eq!(profile.lost.get(&Loss::NoPath), None, "{:?}", profile.lost);
    assert_eq!(known(&profile), (PATHS, Some(3)));
}

#[test]
fn calls_whose_path_found_no_room_are_counted_one_by_one() {
    let Some(testee) = testee("many_paths").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(testee, folder.path());
    let (session, mut child) = start(&options(), command.args([&PATHS.to_string(), "4"]));
    assert!(child.wait().unwrap().success());
    let profile = session.finish().profile;
    let (paths, each) = known(&profile);
    assert!(paths > 1000 && paths < PATHS, "{paths}");
    assert_eq!(each, Some(4));
    let lost = 4 * (PATHS - paths);
    assert_eq!(profile.lost[&Loss::NoPath], lost, "{:?}", profile.lost);
    let without_process = profile.rows.iter().filter(|row| row.target == Target::Folded);
    assert_eq!(without_process.map(|row| row.count).sum::<u64>(), lost);
}

#[test]
fn processes_that_find_no_room_are_counted_as_lost() {
    let Some(testee) = testee("stat_loop").filter(|_| possible()) else { return };
    // PROC_PID_INIT_INO of Linux's proc_ns.h.
    let here = std::fs::read_link("/proc/self/ns/pid").unwrap();
    if here.to_str() != Some("pid:[4026531836]") {
        return needless_fixtures::skipped(
            "in a namespace of process ids a process is taken at its next call",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    // Four processes that go on, of which two find room.
    let room = Room { processes: 2, ..Room::default() };
    let loops = || spawn(command(&testee, folder.path()).arg(folder.path().join("answers")));
    let children = [(); 4].map(|()| Endless(loops()));
    let mut session =
        Session::start(&needless_ebpf::Scope::Chosen, &SessionOptions { room, ..options() })
            .unwrap();
    let taken: Vec<bool> =
        children.iter().map(|child| session.observe(child.0.id()).unwrap()).collect();
    // A second request for the same processes counts none twice.
    assert!(children.iter().all(|child| !session.observe(child.0.id()).unwrap()));
    session.drain(Duration::from_millis(50));
    let chosen = session.finish().profile;
    let mut everyone =
        Session::start(&needless_ebpf::Scope::Everyone, &SessionOptions { room, ..options() })
            .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    everyone.drain(Duration::ZERO);
    let everyone = everyone.finish().profile;
    drop(children);
    assert_eq!(taken, [true, true, false, false]);
    assert_eq!(chosen.lost[&Loss::UnseenProcesses], 2, "{:?}", chosen.lost);
    assert!(everyone.lost[&Loss::Uncounted] > 0, "{:?}", everyone.lost);
}

#[test]
fn children_that_find_no_room_are_counted_as_lost() {
    let Some(testee) = testee("fork_storm").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    // The parent, and one child at a time; each child asks one question.
    let room = Room { processes: 2, ..Room::default() };
    let options = SessionOptions { room, ..options() };
    let profile = observed(&options, command(&testee, folder.path()).arg("500")).profile;
    let asked = sum(&profile, Query::Access, "/missing/fork_storm").0;
    assert!(asked < 500, "{asked}");
    assert_eq!(asked + profile.lost[&Loss::UnseenProcesses], 500, "{:?}", profile.lost);
}

#[test]
fn images_without_a_number_of_their_own_are_counted_together_and_said() {
    let Some(testee) = testee("fork_storm").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    for all in [false, true] {
        let room = Room { images: 40, ..Room::default() };
        let options = SessionOptions { all, room, ..options() };
        let profile = observed(&options, command(&testee, folder.path()).arg("100")).profile;
        let whole = observed(
            &SessionOptions { room: Room::default(), ..options },
            command(&testee, folder.path()).arg("100"),
        )
        .profile;
        assert!(profile.lost[&Loss::UnseenProcesses] >= 100 + 1 - 40, "{:?}", profile.lost);
        assert!(!profile.lost.contains_key(&Loss::Uncounted), "{:?}", profile.lost);
        assert!(profile.processes.len() <= 40, "{}", profile.processes.len());
        assert_eq!(profile.totals.path_calls, whole.totals.path_calls);
    }
}

#[test]
fn calls_that_are_not_timed_are_not_taken_for_instantaneous() {
    let Some(testee) = testee("stat_threads").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    for all in [false, true] {
        // The first thread takes it when it waits for the others.
        let room = Room { threads: 1, ..Room::default() };
        let options = SessionOptions { all, latency: true, room, ..options() };
        let profile =
            observed(&options, command(&testee, folder.path()).args(["4", "20000"])).profile;
        let untimed = profile.lost[&Loss::Untimed];
        let rows = || profile.rows.iter().filter(|row| row.query != Query::Exec);
        let (count, timed) = rows().fold((0, 0), |(c, t), row| (c + row.count, t + row.timed));
        assert!(timed < count, "{timed} of {count}, {untimed} not");
        assert!(rows().all(|row| (row.timed == 0) == (row.kernel_ns == 0)), "{:?}", profile.rows);
    }
}

#[test]
fn unrecorded_processes_are_reported_and_their_calls_counted() {
    let Some(testee) = testee("fork_storm").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    for all in [false, true] {
        let mut command = command(&testee, folder.path());
        let all = SessionOptions { all, ..options() };
        let (session, mut child) = start(&all, command.arg("20000"));
        assert!(child.wait().unwrap().success());
        let profile = session.finish().profile;
        assert!(profile.lost[&Loss::UnseenProcesses] > 0, "{:?}", profile.lost);
        let asked = profile.rows.iter().filter(|row| row.query == Query::Access);
        // The other call is made by the loader.
        assert_eq!(asked.map(|row| row.count).sum::<u64>(), 20_001);
        assert!(profile.processes.len() < 20_001);
    }
}

#[test]
fn kernel_time_is_measured_of_every_call_if_wanted() {
    let Some(testee) = testee("fork_storm").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    for all in [false, true] {
        let options = SessionOptions { all, latency: true, ..options() };
        // More threads end inside a call than are remembered at a time.
        let profile = profile(&options, command(&testee, folder.path()).arg("20000"));
        assert!(profile.facts.has(Fact::KernelTime));
        let mut waited = std::collections::HashMap::new();
        for wait in &profile.waits {
            *waited.entry((wait.process, wait.call, wait.outcome)).or_insert(0) += wait.calls;
        }
        for row in &profile.rows {
            // A successful exec does not return to its caller; calls without a path that waited are apart.
            let timed = if row.query == Query::Exec && row.ok() { 0 } else { row.count };
            let key = (row.process, row.call, row.outcome.unwrap());
            let waited =
                if row.query.names_path() { 0 } else { waited.get(&key).copied().unwrap_or(0) };
            assert_eq!(row.timed + waited, timed, "{row:?}");
            assert!(row.timed == 0 || row.kernel_ns > 0, "{row:?}");
        }
        let length = profile.window.length_ns.unwrap();
        let processes = profile.processes.len() as u64;
        assert!(profile.rows.iter().map(|row| row.kernel_ns).sum::<u64>() < length * processes);
    }
}
