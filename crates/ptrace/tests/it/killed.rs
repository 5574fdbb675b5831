//! The tracer killed at each of its system calls while it patches: the command ends with its own output and status.
#![cfg(target_arch = "x86_64")]

use super::common::*;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

/// What is traced: a mode of `traps`, with its number.
const SCENES: [[&str; 2]; 3] =
    [["steady", "12"], ["steady-signals", "20"], ["steady-threads", "12"]];

/// A tracer that is traced, stopped at a system call.
struct Victim(i32);

impl Victim {
    /// Stops it at its next entry or exit of a call.
    fn seize(pid: i32) -> Victim {
        let options = libc::PTRACE_O_TRACESYSGOOD;
        // SAFETY: PTRACE_SEIZE and PTRACE_INTERRUPT access no memory of this process.
        let done = unsafe {
            libc::ptrace(libc::PTRACE_SEIZE, pid, 0, options)
                | libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0)
        };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        let victim = Victim(pid);
        assert!(victim.stops().is_some());
        victim
    }

    /// Waits for its next stop. `None`: it has ended.
    fn stops(&self) -> Option<i32> {
        let mut status = 0;
        // SAFETY: waitpid(2) writes one integer, and `status` is one.
        let pid = unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL) };
        assert_eq!(pid, self.0, "{}", std::io::Error::last_os_error());
        libc::WIFSTOPPED(status).then_some(status)
    }

    /// Lets it go on to its next entry or exit of a call. `false`: it has ended.
    fn step(&self) -> bool {
        const SYSCALL: i32 = libc::SIGTRAP | 0x80;
        let mut signal = 0;
        loop {
            // SAFETY: PTRACE_SYSCALL accesses no memory of this process.
            unsafe { libc::ptrace(libc::PTRACE_SYSCALL, self.0, 0, signal) };
            let Some(status) = self.stops() else { return false };
            match libc::WSTOPSIG(status) {
                SYSCALL => return true,
                _ if status >> 16 != 0 => signal = 0,
                other => signal = other,
            }
        }
    }

    /// Kills it. Returns the call that it was stopped in (proc_pid_syscall(5)).
    fn kill(self) -> String {
        let call = fs::read_to_string(format!("/proc/{}/syscall", self.0)).unwrap_or_default();
        // SAFETY: kill(2) takes integers only. It was not waited for, so this is still its number.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        while self.stops().is_some() {}
        call
    }
}

/// Starts `argv`, and waits for its first line. It goes on when it gets a byte.
fn started(argv: &[&str], folder: &Path) -> Child {
    let mut run = command(argv[0], folder);
    let mut child =
        run.args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ready\n", "{argv:?}");
    child
}

/// What it prints, and its status.
fn ended(mut child: Child) -> (String, std::process::ExitStatus) {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (text, child.wait().unwrap())
}

fn go(child: &mut Child) {
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
}

/// The tracer below the supervisor `pid`.
fn tracer_of(pid: u32) -> i32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let children = children.split_ascii_whitespace().map(|child| child.parse::<i32>().unwrap());
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    children.filter(|child| name(child) == "nl-tracer\n").max().unwrap()
}

#[test]
#[ignore = "long: kills at random"]
fn a_tracer_that_is_killed_while_it_patches_does_no_harm() {
    let Some(program) = testee("traps") else { return };
    let program = program.to_str().unwrap();
    // Not the one that patches at the first stop: its process would be prepared before it is ready.
    let run = env!("CARGO_BIN_EXE_ptrace-run");
    let mut random = Random::new();
    let kills = std::env::var("NEEDLESS_KILLS").ok().and_then(|kills| kills.parse().ok());
    for [how, times] in SCENES {
        let folder = tempfile::tempdir().unwrap();
        let traced = [run, "--patch", "-o", "report", program, how, times];
        let mut native = started(&traced[4..], folder.path());
        go(&mut native);
        let native = ended(native);
        assert!(native.0.contains("mask 1 open 0 1 2") && native.1.success(), "{native:?}");
        // How many calls the tracer makes.
        let mut child = started(&traced, folder.path());
        let victim = Victim::seize(tracer_of(child.id()));
        go(&mut child);
        let mut calls = 0;
        while victim.step() {
            calls += 1;
        }
        assert_eq!(ended(child), native, "{how}");
        let (mut killed, mut late) = (0, 0);
        for _ in 0..kills.unwrap_or(100) {
            let at = random.below(calls);
            let mut child = started(&traced, folder.path());
            let victim = Victim::seize(tracer_of(child.id()));
            go(&mut child);
            let made = (0..=at).take_while(|_| victim.step()).count();
            if made > at {
                let call = victim.kill();
                killed += 1;
                assert_eq!(ended(child), native, "{how}, killed at {at} of {calls}: {call}");
            } else {
                late += 1;
                assert_eq!(ended(child), native, "{how}");
                // On a busy machine more signals come in a run, and the tracer makes more calls.
                calls = made.max(1);
            }
        }
        eprintln!(
            "{how}: killed at {killed} of the {calls} entries and exits of its calls; {late} too late"
        );
        assert!(killed > late, "{how}");
    }
}

/// It seizes the parent while that is in fork(2), before the child is there: that comes about in a part of the rounds.
#[test]
fn what_is_forked_while_the_supervisor_takes_over_gets_answers() {
    let Some(program) = testee("traps") else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program.to_str().unwrap();
    let traced = [env!("CARGO_BIN_EXE_ptrace-run"), "-o", "report", program, "slow-fork", "1"];
    for _ in 0..5 {
        let mut child = started(&traced, folder.path());
        let tracer = tracer_of(child.id());
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let children = fs::read_to_string(children).unwrap();
        let mut children = children.split_ascii_whitespace().map(|pid| pid.parse::<i32>().unwrap());
        let command = children.find(|pid| *pid != tracer).unwrap();
        let signal = |number| {
            // SAFETY: kill(2) takes integers only. The supervisor waits for its tracer only when it has ended.
            assert_eq!(unsafe { libc::kill(tracer, number) }, 0);
        };
        let becomes = |pid: i32, state| {
            eventually("a stop", || {
                status_field(pid as u32, "State:").filter(|found| found.starts_with(state))
            });
        };
        signal(libc::SIGSTOP);
        becomes(tracer, 'T');
        go(&mut child);
        becomes(command, 't');
        signal(libc::SIGKILL);
        let (printed, status) = ended(child);
        assert_eq!((printed.trim(), status.code()), ("child 0", Some(0)));
    }
}
