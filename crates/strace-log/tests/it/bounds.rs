//! The memory for a log is bounded by the limits, for any log.

use crate::common::read_options;
use needless_model::{Limits, Loss, Profile};
use needless_strace_log::{ReadOptions, read};
use std::fmt::Write;

fn within(limits: Limits, log: &str) -> Profile {
    read(log.as_bytes(), "log", &ReadOptions { limits, ..read_options() }).unwrap()
}

/// So many processes, each with four calls, of which one begins and ends in lines of their own.
fn crowd(processes: u32, line: impl Fn(u32) -> String) -> String {
    let mut log = String::new();
    for pid in 1..=processes {
        log += &line(pid);
        let _ = writeln!(log, "{pid} openat(AT_FDCWD, \"/{pid}\", O_RDONLY <unfinished ...>");
    }
    for pid in 1..=processes {
        let _ = writeln!(log, "{pid} <... openat resumed>) = 3");
        let _ = writeln!(log, "{pid} close(3) = 0");
    }
    log
}

#[test]
fn processes_beyond_the_bound_are_folded_and_totals_stay_right() {
    let log =
        crowd(500, |pid| format!("{pid} getpid() = {pid}\n{pid} access(\"/{pid}\", R_OK) = 0\n"));
    let limits = Limits { processes: 100, ..Limits::default() };
    let (whole, bounded) = (within(Limits::default(), &log), within(limits, &log));
    assert_eq!((whole.processes.len(), whole.lost.get(&Loss::FoldedProcesses)), (500, None));
    assert_eq!(bounded.processes.len(), 101);
    assert_eq!(bounded.lost[&Loss::FoldedProcesses], 400);
    assert_eq!((bounded.totals.calls, whole.totals.calls), (2000, 2000));
    // A call that ends in another line is not remembered: it has no path then.
    assert_eq!((bounded.totals.path_calls, whole.totals.path_calls), (600, 1000));
    assert_eq!(bounded.lost[&Loss::NoPath], 400);
    // Nothing is known about the process that stands for many, and no rule sees its calls.
    let others = bounded.processes.last().unwrap();
    assert_eq!((others.pid, &others.exe), (0, &None));
    let folded = bounded.rows.iter().filter(|row| row.process.index() == 100);
    assert!(folded.clone().all(|row| row.target.text().is_none()));
    assert_eq!(folded.map(|row| row.count).sum::<u64>(), 1600);
}

#[test]
fn children_threads_and_programs_beyond_the_bound_are_folded() {
    let mut log = "1 execve(\"/bin/sh\", [\"sh\"], 0x7ffc /* 9 vars */) = 0\n".to_owned();
    for pid in 2..300 {
        let flags = if pid % 2 == 0 { "CLONE_THREAD" } else { "SIGCHLD" };
        let _ = writeln!(log, "1 clone(child_stack=NULL, flags={flags}) = {pid}");
        let _ = writeln!(log, "{pid} execve(\"/bin/{pid}\", [\"x\"], 0x7ffc /* 9 vars */) = 0");
        let _ = writeln!(log, "{pid} chdir(\"/tmp\") = 0\n{pid} access(\"x\", R_OK) = 0");
        let _ = writeln!(log, "{pid} exit_group(0) = ?\n{pid} +++ exited with 0 +++");
    }
    let bounded = within(Limits { processes: 20, ..Limits::default() }, &log);
    assert!(bounded.processes.len() <= 21, "{}", bounded.processes.len());
    assert!(bounded.lost[&Loss::FoldedProcesses] > 250, "{:?}", bounded.lost);
    assert_eq!(bounded.totals.calls, 1 + 298 * 4);
    assert_eq!(bounded.totals, within(Limits::default(), &log).totals);
}

#[test]
fn a_long_variable_and_many_forks_take_no_more_memory_than_the_bound() {
    let value = "x".repeat(100_000);
    let mut log = format!("1 execve(\"/bin/sh\", [\"sh\"], [\"TZ={value}\"]) = 0\n");
    for pid in 2..2000 {
        let _ = writeln!(log, "1 clone(child_stack=NULL, flags=SIGCHLD) = {pid}");
        let _ = writeln!(log, "{pid} getpid() = {pid}");
    }
    let limits = Limits { process_bytes: 1 << 20, ..Limits::default() };
    let bounded = within(limits, &log);
    let held: usize =
        bounded.processes.iter().filter_map(|p| p.env.value("TZ")).map(str::len).sum();
    assert!(held > 100_000 && held <= 1 << 20, "{held}");
    assert!(bounded.lost[&Loss::FoldedProcesses] > 1900, "{:?}", bounded.lost);
    assert_eq!(bounded.totals.calls, 1 + 1998 * 2);
}
