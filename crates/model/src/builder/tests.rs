use super::*;
use crate::Spawn;

const OK: Result<(), Errno> = Ok(());

fn ask(b: &mut Builder, p: ProcId, name: &str, path: &str, at: u64, outcome: Result<(), Errno>) {
    let call = b.call(name);
    let q = b.question(p, Question { call, query: Query::of(name), path, from_dir_fd: false });
    b.answer(q, Answer { at_ns: Some(at), ..Answer::outcome(outcome) });
}

fn finish(b: Builder) -> Profile {
    b.finish(Backend::Ebpf, Facts::default(), Window::default())
}

#[test]
fn the_same_answer_at_once_is_repeated_and_the_first_is_not() {
    let mut b = Builder::new(Limits::default());
    let p = b.process(Process::new(1, None, Spawn::Seen));
    for at in 0..10 {
        ask(&mut b, p, "newfstatat", "/etc/localtime", at * 1000, OK);
    }
    let profile = finish(b);
    assert_eq!((profile.rows[0].count, profile.rows[0].repeated), (10, 9));
    assert_eq!((profile.totals.calls, profile.totals.path_calls), (10, 10));
}

#[test]
fn waiting_changing_and_time_make_a_question_new() {
    let mut b = Builder::new(Limits::default());
    let p = b.process(Process::new(1, None, Spawn::Seen));
    ask(&mut b, p, "access", "ready", 0, Err(Errno::ENOENT));
    ask(&mut b, p, "access", "ready", 2_000_000, Err(Errno::ENOENT)); // time passed
    ask(&mut b, p, "unlink", "/x", 2_000_001, OK); // a change
    ask(&mut b, p, "access", "ready", 2_000_002, Err(Errno::ENOENT));
    b.barrier(); // a wait
    ask(&mut b, p, "access", "ready", 2_000_003, Err(Errno::ENOENT));
    ask(&mut b, p, "access", "ready", 2_000_004, OK); // another answer
    let profile = finish(b);
    assert!(profile.rows.iter().all(|r| r.repeated == 0), "{:?}", profile.rows);
}

#[test]
fn at_the_end_of_the_time_an_answer_is_new() {
    let within = Limits::default().repeat_within_ns;
    let repeated = |after: u64| {
        let mut b = Builder::new(Limits::default());
        let p = b.process(Process::new(1, None, Spawn::Seen));
        ask(&mut b, p, "access", "ready", 0, OK);
        ask(&mut b, p, "access", "ready", after, OK);
        finish(b).rows[0].repeated
    };
    assert_eq!((repeated(within - 1), repeated(within)), (1, 0));
}

#[test]
fn a_change_that_failed_has_changed_nothing() {
    let repeated = |outcome: Result<(), Errno>| {
        let mut b = Builder::new(Limits::default());
        let p = b.process(Process::new(1, None, Spawn::Seen));
        ask(&mut b, p, "access", "ready", 0, Err(Errno::ENOENT));
        ask(&mut b, p, "unlink", "/x", 1, outcome);
        ask(&mut b, p, "access", "ready", 2, Err(Errno::ENOENT));
        finish(b).rows[0].repeated
    };
    assert_eq!((repeated(Err(Errno::ENOENT)), repeated(OK)), (1, 0));
}

#[test]
fn beyond_the_bound_rows_fold_and_totals_stay_right() {
    let mut b = Builder::new(Limits { rows: 4, ..Limits::default() });
    let p = b.process(Process::new(1, None, Spawn::Seen));
    for i in 0..100 {
        ask(&mut b, p, "newfstatat", &format!("/{i}"), i, OK);
    }
    let profile = finish(b);
    assert_eq!(profile.totals.calls, 100);
    assert_eq!(profile.rows.iter().map(|r| r.count).sum::<u64>(), 100);
    assert_eq!(profile.rows.len(), 5);
    assert_eq!(profile.lost[&Loss::FoldedRows], 96);
}

#[test]
fn a_row_counted_again_is_as_if_it_were_found() {
    let filled = |again: bool| {
        let mut b = Builder::new(Limits::default());
        let p = b.process(Process::new(1, None, Spawn::Seen));
        let call = b.call("close");
        let answer = |at| Answer { at_ns: Some(at), kernel_ns: Some(5), ..Answer::outcome(OK) };
        let row = b.count(p, call, 1, answer(3));
        if again {
            b.count_again(row, 2, answer(7))
        } else {
            assert_eq!(b.count(p, call, 2, answer(7)), row)
        }
        finish(b)
    };
    let (one, other) = (filled(true), filled(false));
    assert_eq!(one.totals, other.totals);
    assert_eq!(format!("{:?}", one.rows), format!("{:?}", other.rows));
}

#[test]
fn assumed_answers_are_counted_as_such() {
    let mut b = Builder::new(Limits::default());
    let p = b.process(Process::new(1, None, Spawn::Seen));
    let call = b.call("stat");
    let q = b.question(p, Question { call, query: Query::Stat, path: "/x", from_dir_fd: false });
    b.answer(q, Answer::outcome(OK));
    b.assume(q, None);
    let profile = finish(b);
    assert_eq!((profile.rows[0].count, profile.rows[0].assumed), (2, 1));
    assert_eq!(profile.rows[0].repeated, 1);
}

#[test]
fn what_env_starts_for_a_script_has_its_name() {
    let mut b = Builder::new(Limits::default());
    let program = |pid, parent, born, exe: &str, command: &str| Process {
        exe: Some(exe.to_owned()),
        command: Some(command.to_owned()),
        ..Process::new(pid, parent, born)
    };
    // `#!/usr/bin/env node`, a fork of it, and what the fork executes.
    let env = b.process(program(1, None, Spawn::Exec, "/usr/bin/env", "npm"));
    let node = b.process(program(1, Some(env), Spawn::Exec, "/usr/bin/node", "node"));
    let fork = b.process(program(2, Some(node), Spawn::Fork, "/usr/bin/node", "node"));
    b.process(program(2, Some(fork), Spawn::Exec, "/usr/bin/git", "git"));
    // A plain `env node`.
    let env = b.process(program(3, None, Spawn::Exec, "/usr/bin/env", "env"));
    b.process(program(3, Some(env), Spawn::Exec, "/usr/bin/node", "node"));
    let titles: Vec<String> = finish(b).processes.iter().map(Process::title).collect();
    assert_eq!(titles, ["npm (env)", "npm (node)", "npm (node)", "git", "env", "node"]);
}

/// As many steps as processes, also where each was forked by the one before: with their square this does not end.
#[test]
fn images_of_a_chain_of_forks_are_found() {
    let mut b = Builder::new(Limits { processes: 300_000, ..Limits::default() });
    let first = b.process(Process::new(1, None, Spawn::Exec));
    let mut last = first;
    for pid in 2..200_000 {
        last = b.process(Process::new(pid, Some(last), Spawn::Fork));
    }
    let other = b.process(Process::new(2, Some(last), Spawn::Exec));
    let images = finish(b).images();
    assert!(images[..other.index()].iter().all(|image| *image == first));
    assert_eq!(images[other.index()], other);
}

#[test]
fn fork_hands_the_service_on_and_exec_begins_with_none() {
    let mut b = Builder::new(Limits::default());
    let first = b.process(Process::new(1, None, Spawn::Seen));
    b.process_mut(first).service = Some("a.service".into());
    let child = b.process(b.process_ref(first).forked(2, first));
    b.process(Process::new(2, Some(child), Spawn::Exec));
    let services: Vec<_> = finish(b).processes.into_iter().map(|p| p.service).collect();
    let a = || Some("a.service".to_owned());
    assert_eq!(services, [a(), a(), None]);
}

#[test]
fn a_profile_without_some_processes_has_the_others_under_new_numbers() {
    let mut b = Builder::new(Limits::default());
    let idle = b.process(Process::new(1, None, Spawn::Seen));
    let first = b.process(Process::new(2, None, Spawn::Seen));
    let child = b.process(b.process_ref(first).forked(3, first));
    ask(&mut b, child, "access", "/a", 0, OK);
    ask(&mut b, first, "access", "/b", 0, OK);
    let mut profile = finish(b);
    let file = crate::ZoneFile::Regular;
    let zone = crate::SystemZone { file, name: None, how: String::new(), tzdata: true };
    profile.host.other_zones = vec![(idle, zone.clone()), (child, zone.clone())];
    let totals = profile.totals;
    assert_eq!(
        profile.retain_processes(&[false, true, true]),
        [None, Some(ProcId(0)), Some(ProcId(1))]
    );
    let pids: Vec<_> = profile.processes.iter().map(|p| (p.pid, p.parent)).collect();
    assert_eq!(pids, [(2, None), (3, Some(ProcId(0)))]);
    let rows: Vec<_> = profile.rows.iter().map(|row| (row.process.0, profile.path(row))).collect();
    assert_eq!(rows, [(1, "/a"), (0, "/b")]);
    assert_eq!((profile.totals, profile.host.other_zones), (totals, vec![(ProcId(1), zone)]));
}
