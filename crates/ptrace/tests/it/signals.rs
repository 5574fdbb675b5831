//! Exit statuses, signals, job control, and being killed.

#[path = "signals/ends.rs"]
mod ends;

use super::common::*;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

fn send(pid: u32, signal: i32) {
    // SAFETY: kill(2) takes integers only.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0, "signal {signal} to {pid}");
}

/// Waits for the next change of a child, stops and continues included.
fn change(child: &Child) -> i32 {
    let mut status = 0;
    let flags = libc::WUNTRACED | libc::WCONTINUED;
    // SAFETY: waitpid(2) writes one integer, and `status` is one.
    let pid = unsafe { libc::waitpid(child.id() as i32, &raw mut status, flags) };
    assert_eq!(pid, child.id() as i32);
    status
}

fn gone(pid: u32) -> Option<()> {
    let state = status_field(pid, "State:");
    state.is_none_or(|state| state.starts_with('Z') || state.starts_with('X')).then_some(())
}

/// Starts `signals` with ptrace-run and waits until it is ready.
fn receiver(folder: &Path) -> Option<(Child, BufReader<ChildStdout>)> {
    let testee = testee("signals")?;
    let mut child = command(RUN, folder)
        .args(["-o", "report"])
        .arg(testee)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready "), "{line}");
    Some((child, lines))
}

#[test]
fn signals_sent_to_us_reach_the_command_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut child, mut lines)) = receiver(folder.path()) else { return };
    // As the testee has it.
    let realtime = 40;
    let numbers =
        [libc::SIGHUP, libc::SIGUSR1, libc::SIGINT, libc::SIGTERM, libc::SIGALRM, realtime];
    for number in numbers {
        send(child.id(), number);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, format!("signal {number}\n"));
    }
    send(child.id(), libc::SIGUSR2);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, format!("signal {}\n", libc::SIGUSR2));
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// A terminal: the side that types and reads, and the side for the program.
fn terminal() -> (fs::File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: openpty(3) writes two integers, `ours` and `theirs`; null pointers are allowed for the rest.
    // Nothing else owns the two new descriptors.
    unsafe {
        let null = std::ptr::null_mut();
        let result = libc::openpty(&raw mut ours, &raw mut theirs, null, null.cast(), null.cast());
        assert_eq!(result, 0);
        libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(theirs, libc::F_SETFD, libc::FD_CLOEXEC);
        (fs::File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}

/// Makes `command` lead a session whose terminal is its stdin.
fn on_terminal(command: &mut Command, side: &OwnedFd) -> Child {
    let stream = || Stdio::from(side.try_clone().unwrap());
    command.stdin(stream()).stdout(stream()).stderr(stream());
    // SAFETY: between fork and exec the closure makes two system calls, and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command.spawn().unwrap()
}

/// Reads from the terminal until `text` has come.
fn read_until(terminal: &mut fs::File, text: &str) -> String {
    let mut got = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&got).contains(text) {
        match terminal.read(&mut byte) {
            Ok(1) => got.push(byte[0]),
            _ => panic!("wanted {text:?}, got {:?}", String::from_utf8_lossy(&got)),
        }
    }
    String::from_utf8_lossy(&got).into_owned()
}

#[test]
fn ctrl_c_reaches_the_command_once_and_not_us() {
    let Some(testee) = testee("signals") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut typing, side) = terminal();
    let mut child =
        on_terminal(command(RUN, folder.path()).args(["-o", "report"]).arg(testee), &side);
    drop(side);
    read_until(&mut typing, "ready ");
    read_until(&mut typing, "\n");
    // We are held up until the command has taken the signal: one that we sent too would come on top of it, and be lost.
    send(child.id(), libc::SIGSTOP);
    let state = || status_field(child.id(), "State:");
    eventually("a stop", || state().filter(|found| found.starts_with('T')));
    typing.write_all(b"\x03").unwrap();
    let seen = read_until(&mut typing, "signal 2\r\n");
    assert_eq!(seen.matches("signal").count(), 1);
    send(child.id(), libc::SIGCONT);
    // After that of the terminal, by its number.
    send(child.id(), libc::SIGUSR1);
    let seen = read_until(&mut typing, "\n");
    assert!(seen.ends_with(&format!("signal {}\r\n", libc::SIGUSR1)), "{seen:?}");
    typing.write_all(b"\x1c").unwrap();
    let seen = read_until(&mut typing, "\n");
    assert!(seen.ends_with("signal 3\r\n"), "{seen:?}");
    send(child.id(), libc::SIGUSR2);
    let seen = read_until(&mut typing, "\n");
    assert!(seen.ends_with(&format!("signal {}\r\n", libc::SIGUSR2)), "{seen:?}");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn ctrl_z_gives_the_shell_its_prompt_back_and_fg_the_terminal_to_the_command() {
    let Some(bash) = needed(program("bash")) else { return };
    for options in ["", "--all"] {
        let folder = tempfile::tempdir().unwrap();
        let (mut typing, side) = terminal();
        let mut shell = command(bash.clone(), folder.path());
        shell.args(["--norc", "--noprofile", "--noediting", "-i"]).env("PS1", "prompt> ");
        let mut child = on_terminal(&mut shell, &side);
        drop(side);
        let mut dialogue = |typed: &str, until: &str| {
            typing.write_all(typed.as_bytes()).unwrap();
            read_until(&mut typing, until)
        };
        dialogue("", "prompt> ");
        dialogue(&format!("{RUN} {options} -o report cat\n"), "cat\r\n");
        dialogue("before\n", "before\r\nbefore\r\n");
        dialogue("\x1a", "Stopped");
        dialogue("", "prompt> ");
        dialogue("jobs -l\n", "Stopped");
        dialogue("", "prompt> ");
        dialogue("fg\n", "cat\r\n");
        dialogue("after\n", "after\r\nafter\r\n");
        dialogue("\x04", "prompt> ");
        let said = dialogue("echo status $?\n", "prompt> ");
        assert!(said.contains("status 0"), "{said:?}");
        dialogue("exit\n", "exit");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn an_interactive_shell_has_job_control_under_us() {
    let Some(bash) = needed(program("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut typing, side) = terminal();
    let mut shell = command(RUN, folder.path());
    shell.args(["-o", "report"]).arg(bash).env("PS1", "prompt> ");
    shell.args(["--norc", "--noprofile", "--noediting", "-i"]);
    let mut child = on_terminal(&mut shell, &side);
    drop(side);
    let mut dialogue = |typed: &str, until: &str| {
        typing.write_all(typed.as_bytes()).unwrap();
        read_until(&mut typing, until)
    };
    dialogue("", "prompt> ");
    dialogue("cat\n", "cat\r\n");
    // Until cat runs, input goes to the shell, which ignores it.
    dialogue("before\n", "before\r\nbefore\r\n");
    dialogue("\x1a", "Stopped");
    dialogue("", "prompt> ");
    dialogue("fg\n", "cat\r\n");
    dialogue("after\n", "after\r\nafter\r\n");
    dialogue("\x03", "prompt> ");
    let said = dialogue("echo status $?\n", "prompt> ");
    assert!(said.contains("status 130"), "{said:?}");
    dialogue("exit 9\n", "exit");
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// Starts `stat_loop` with ptrace-run; returns the supervisor, the command's pid, and the file with its counts.
fn loop_under_us(options: &[&str], folder: &Path) -> Option<(Child, u32, std::path::PathBuf)> {
    let testee = testee("stat_loop")?;
    let file = folder.join("counts");
    let child =
        command(RUN, folder).args(options).args(["-o", "report"]).arg(testee).arg(&file).spawn();
    let child = child.unwrap();
    let pid = eventually("the loop runs", || counts(&file)).2;
    Some((child, pid, file))
}

/// Answered and failed calls, and the pid.
fn counts(file: &Path) -> Option<(u64, u64, u32)> {
    let text = fs::read_to_string(file).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [answered, failed, pid] = fields.try_into().ok()?;
    Some((answered.parse().ok()?, failed.parse().ok()?, pid.parse().ok()?))
}

fn goes_on(file: &Path) {
    let before = counts(file).unwrap().0;
    eventually("the loop goes on", || counts(file).filter(|c| c.0 > before + 200));
}

#[test]
fn stopping_and_continuing_works_from_either_side() {
    for options in [&[][..], &["--all"]] {
        let folder = tempfile::tempdir().unwrap();
        let Some((mut child, pid, file)) = loop_under_us(options, folder.path()) else { return };
        // The command stops: the supervisor stops, too. The supervisor is continued: the command, too.
        send(pid, libc::SIGSTOP);
        let status = change(&child);
        assert!(libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGSTOP);
        send(child.id(), libc::SIGCONT);
        assert!(libc::WIFCONTINUED(change(&child)));
        goes_on(&file);
        // Another process continues the command: the supervisor continues, too.
        send(pid, libc::SIGSTOP);
        assert!(libc::WIFSTOPPED(change(&child)));
        send(pid, libc::SIGCONT);
        assert!(libc::WIFCONTINUED(change(&child)));
        goes_on(&file);
        send(child.id(), libc::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(counts(&file).unwrap().1, 0);
    }
}

#[test]
fn killing_us_leaves_the_command_alive_and_its_calls_answered() {
    for options in [&[][..], &["--all"], &["--stacks"]] {
        let folder = tempfile::tempdir().unwrap();
        let Some((mut child, pid, file)) = loop_under_us(options, folder.path()) else { return };
        let tracer: u32 = status_field(pid, "TracerPid:").unwrap().parse().unwrap();
        assert_eq!(status_field(tracer, "Name:").as_deref(), Some("nl-tracer"));
        send(child.id(), libc::SIGKILL);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        goes_on(&file);
        goes_on(&file);
        send(pid, libc::SIGTERM);
        eventually("the command ends", || gone(pid));
        eventually("the tracer ends", || gone(tracer));
        let (answered, failed, _) = counts(&file).unwrap();
        assert!(answered > 400);
        assert_eq!(failed, 0);
        assert!(!folder.path().join("report").exists(), "the user has ended needless: no report");
    }
}

#[test]
fn what_the_command_leaves_behind_is_waited_for_until_ctrl_c_asks_for_the_report() {
    let Some(testee) = testee("stat_loop") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts");
    let (mut typing, side) = terminal();
    let script = format!("trap '' HUP; {} {} & exit 3", testee.display(), file.display());
    let mut supervisor = command(RUN, folder.path());
    supervisor.args(["-o", "report", "sh", "-c", &script]);
    let mut child = on_terminal(&mut supervisor, &side);
    drop((supervisor, side));
    read_until(&mut typing, "Ctrl-C: report now)");
    typing.write_all(b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let report = fs::read_to_string(folder.path().join("report")).unwrap();
    assert!(report.contains("1 processes that the command started were still running"), "{report}");
    // It goes on as if nothing had happened.
    goes_on(&file);
    let (_, _, pid) = counts(&file).unwrap();
    let tracer: u32 = status_field(pid, "TracerPid:").unwrap().parse().unwrap();
    send(pid, libc::SIGTERM);
    eventually("the loop ends", || gone(pid));
    eventually("the tracer ends", || gone(tracer));
    assert_eq!(counts(&file).unwrap().1, 0);
}

#[test]
fn killing_the_tracer_leaves_the_command_alive_and_us_in_its_place() {
    for options in [&[][..], &["--all"]] {
        let folder = tempfile::tempdir().unwrap();
        let Some((mut child, pid, file)) = loop_under_us(options, folder.path()) else { return };
        let tracer: u32 = status_field(pid, "TracerPid:").unwrap().parse().unwrap();
        send(tracer, libc::SIGKILL);
        eventually("we take its place", || {
            (status_field(pid, "TracerPid:")? == child.id().to_string()).then_some(())
        });
        goes_on(&file);
        // The first calls may have failed; from here on none fails.
        let (_, failed, _) = counts(&file).unwrap();
        goes_on(&file);
        assert_eq!(counts(&file).unwrap().1, failed);
        send(pid, libc::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(i32::from(failed > 0)), "its own");
        assert!(!folder.path().join("report").exists(), "what was seen died with the tracer");
    }
}

#[test]
fn killing_the_tracer_leaves_processes_alive_whose_parent_has_ended() {
    let Some(testee) = testee("stat_loop") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts");
    // Its parent, a separate shell, ends at once.
    let script = format!("({} {} &); exec sleep 600", testee.display(), file.display());
    let mut supervisor = command(RUN, folder.path());
    let mut child = supervisor.args(["-o", "report", "sh", "-c", &script]).spawn().unwrap();
    let pid = eventually("the loop runs", || counts(&file)).2;
    let parent = || status_field(pid, "PPid:").and_then(|pid| pid.parse::<u32>().ok());
    let command = |tracer: u32| {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let children = fs::read_to_string(children).unwrap();
        let mut children = children.split_ascii_whitespace().map(|c| c.parse::<u32>().unwrap());
        children.find(|child| *child != tracer).unwrap()
    };
    let tracer: u32 = status_field(pid, "TracerPid:").unwrap().parse().unwrap();
    let command = command(tracer);
    eventually("its parent ends", || {
        let parent = parent()?;
        let grandparent = status_field(parent, "PPid:")?.parse::<u32>().ok()?;
        (parent != command && grandparent != command).then_some(())
    });
    // An exec that the kernel reports to a tracer that has just been killed would fail.
    eventually("the command sleeps", || {
        let waits_in = fs::read_to_string(format!("/proc/{command}/wchan")).ok()?;
        waits_in.contains("nanosleep").then_some(())
    });
    send(tracer, libc::SIGKILL);
    eventually("we take its place", || {
        (status_field(pid, "TracerPid:")? == child.id().to_string()).then_some(())
    });
    goes_on(&file);
    send(pid, libc::SIGTERM);
    send(command, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_signal_to_all_our_children_is_for_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut child, pid, _)) = loop_under_us(&[], folder.path()) else { return };
    let ours = child.id();
    let children = fs::read_to_string(format!("/proc/{ours}/task/{ours}/children")).unwrap();
    let children: Vec<u32> =
        children.split_ascii_whitespace().map(|c| c.parse().unwrap()).collect();
    assert!(children.contains(&pid), "the command is our child, as under strace");
    for process in children {
        send(process, libc::SIGTERM);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.path().join("report").exists());
}

#[test]
fn under_another_tracer_we_say_so() {
    let Some(strace) = needed(program("strace")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = command(strace, folder.path())
        .args(["-f", "-o", "/dev/null", RUN, "true"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("itself traced by process"), "{said}");
    assert_eq!(said.lines().count(), 1);
}
