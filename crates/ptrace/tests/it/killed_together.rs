//! The processes of needless killed together or one after the other: the command goes on, or it is ended, and no program
//! is left whose calls fail.

use super::common::*;
use needless_fixtures::as_ordinary_user;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Its calls get right answers, from some moment on.
    GoesOn,
    /// It has ended, and all that it started.
    Ended,
    /// Its calls fail on and on.
    Crippled,
}

/// `asker`, under ptrace-run.
struct Asker {
    run: Child,
    folder: tempfile::TempDir,
}

impl Asker {
    /// `user`: the words before the command.
    fn start(user: &[&str], how: &[&str]) -> Option<Asker> {
        let program = testee("asker")?;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let program = [RUN, "-o", "report", program.to_str().unwrap(), "counts"];
        let words = [user, &program, how].concat();
        let mut run = command(words[0], folder.path());
        let run = run.args(&words[1..]).stdout(Stdio::piped()).spawn().unwrap();
        Some(Asker { run, folder })
    }

    /// Right answers, wrong ones, and the command's pid.
    fn counts(&self) -> [i64; 3] {
        let bytes = fs::read(self.folder.path().join("counts")).unwrap_or_default();
        let mut words =
            bytes.chunks_exact(8).map(|word| i64::from_ne_bytes(word.try_into().unwrap()));
        [(); 3].map(|()| words.next().unwrap_or(0))
    }

    fn asks(&self) {
        let before = self.counts()[0];
        eventually("the command asks", || (self.counts()[0] > before + 200).then_some(()));
    }

    /// A child of the supervisor.
    fn child(&self, name: &str, other_than: Option<u32>) -> Option<u32> {
        let pid = self.run.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let mut children =
            children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
        children.find(|child| {
            Some(*child) != other_than && status_field(*child, "Name:").as_deref() == Some(name)
        })
    }

    /// Whether nobody is left who could write to its standard output.
    fn has_ended(&self) -> bool {
        let fd = self.run.stdout.as_ref().unwrap().as_raw_fd();
        let mut watched = libc::pollfd { fd, events: 0, revents: 0 };
        // SAFETY: poll(2) reads and writes one `pollfd`, and `watched` is one.
        unsafe { libc::poll(&raw mut watched, 1, 0) };
        watched.revents & libc::POLLHUP != 0
    }

    fn fate(&self) -> Fate {
        let mut last = self.counts();
        for _ in 0..3000 {
            if self.has_ended() {
                return Fate::Ended;
            }
            sleep(Duration::from_millis(20));
            let now = self.counts();
            if now[1] != last[1] {
                last = now;
            } else if now[0] > last[0] + 200 {
                return Fate::GoesOn;
            }
        }
        Fate::Crippled
    }

    /// Ends what is left.
    fn end(mut self, fate: Fate) {
        let pid = self.counts()[2] as u32;
        if fate != Fate::Ended && pid != 0 {
            let signal = if fate == Fate::GoesOn { libc::SIGTERM } else { libc::SIGKILL };
            send(pid, signal);
            eventually("all end", || self.has_ended().then_some(()));
        }
        self.run.wait().unwrap();
    }
}

/// Sends a signal to a process that was there a moment ago.
fn send(pid: u32, signal: i32) {
    // SAFETY: kill(2) takes integers only. The kernel does not use a number again so soon.
    unsafe { libc::kill(pid as i32, signal) };
}

fn kill(pid: u32) {
    send(pid, libc::SIGKILL);
}

/// Whom the tests run as: the words before a command, and whether that is an ordinary user.
fn users() -> Vec<(&'static [&'static str], bool)> {
    let ordinary = as_ordinary_user().map(|words| (words, true));
    let root = is_root().is_ok().then_some((&[][..], false));
    root.into_iter().chain(ordinary).collect()
}

const KINDS: [&[&str]; 5] =
    [&["alone"], &["threads"], &["forks"], &["alone", "hidden"], &["forks", "hidden"]];

#[test]
fn killing_tracer_and_supervisor_leaves_no_program_whose_calls_fail() {
    const ORDERS: [&str; 4] = ["t", "ts", "st", "s t"];
    for (user, ordinary) in users() {
        for (how, order) in KINDS.iter().flat_map(|how| ORDERS.map(|order| (*how, order))) {
            let Some(mut asker) = Asker::start(user, how) else { return };
            asker.asks();
            let tracer = asker.child("nl-tracer", None).unwrap();
            let watchdog = asker.child("nl-watchdog", None).unwrap();
            for who in order.chars() {
                match who {
                    't' => kill(tracer),
                    's' => kill(asker.run.id()),
                    _ => {
                        asker.run.wait().unwrap();
                        asker.asks();
                    }
                }
            }
            let fate = asker.fate();
            let about = format!("{order:?}; {user:?} {how:?}");
            let hidden = how.contains(&"hidden");
            if hidden && ordinary {
                // Who takes the place may not trace it.
                assert_eq!(fate, Fate::Ended, "{about}");
            } else if hidden || ordinary || order == "ts" {
                // It depends on the machine, or on whether the supervisor had begun to take the place.
                assert_ne!(fate, Fate::Crippled, "{about}");
            } else {
                assert_eq!(fate, Fate::GoesOn, "{about}");
            }
            asker.end(fate);
            eventually("the watchdog ends", || {
                let state = status_field(watchdog, "State:");
                state.is_none_or(|state| state.starts_with(['Z', 'X'])).then_some(())
            });
        }
    }
}

/// The watchdogs that wait for the end of process `pid`, after one that was killed is gone.
fn watchdogs_of(pid: u32, killed: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let waits_for = |watchdog: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{watchdog}/fdinfo")).into_iter().flatten();
        let target = format!("Pid:\t{pid}\n");
        let mut texts =
            descriptors.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
        texts.any(|text| text.contains(&target))
    };
    pids.filter(|pid| *pid != killed)
        .filter(|pid| status_field(*pid, "Name:").as_deref() == Some("nl-watchdog"))
        .filter(waits_for)
        .collect()
}

#[test]
fn a_watchdog_that_is_killed_is_replaced() {
    let Some(mut asker) = Asker::start(&[], &["alone"]) else { return };
    asker.asks();
    let tracer = asker.child("nl-tracer", None).unwrap();
    let first = asker.child("nl-watchdog", None).unwrap();
    kill(first);
    eventually("another watchdog", || asker.child("nl-watchdog", Some(first)));
    kill(asker.run.id());
    asker.run.wait().unwrap();
    let pair = |killed| {
        eventually("two watchdogs", || <[u32; 2]>::try_from(watchdogs_of(tracer, killed)).ok())
    };
    let [second, third] = pair(first);
    kill(second);
    assert!(pair(second).contains(&third));
    kill(third);
    pair(third);
    kill(tracer);
    let fate = asker.fate();
    assert_ne!(fate, Fate::Crippled);
    asker.end(fate);
}

#[test]
fn a_supervisor_that_is_stopped_is_not_waited_for() {
    let Some(asker) = Asker::start(&[], &["alone"]) else { return };
    asker.asks();
    send(asker.run.id(), libc::SIGSTOP);
    kill(asker.child("nl-tracer", None).unwrap());
    let fate = asker.fate();
    assert_ne!(fate, Fate::Crippled);
    send(asker.run.id(), libc::SIGCONT);
    asker.end(fate);
}

#[test]
#[ignore = "long: kills at random"]
fn kills_at_random_moments_leave_no_program_whose_calls_fail() {
    const ORDERS: [&str; 10] = ["t", "t", "s", "ts", "st", "s t", "tw", "wt", "ws", "sw"];
    let mut random = Random::new();
    let kills = std::env::var("NEEDLESS_KILLS").ok().and_then(|kills| kills.parse().ok());
    let users = users();
    let mut fates = BTreeMap::<_, u32>::new();
    let mut crippled = 0;
    for round in 0..kills.unwrap_or(200) {
        let (user, ordinary) = users[random.below(users.len())];
        let (how, order) = (KINDS[random.below(KINDS.len())], ORDERS[random.below(ORDERS.len())]);
        let Some(asker) = Asker::start(user, how) else { return };
        let tracer = eventually("the tracer starts", || asker.child("nl-tracer", None));
        let longest = [1, 300, 3_000, 30_000, 300_000][random.below(5)];
        sleep(Duration::from_micros(random.below(longest) as u64));
        let watchdog = asker.child("nl-watchdog", None);
        for who in order.chars() {
            match who {
                't' => kill(tracer),
                's' => kill(asker.run.id()),
                'w' => watchdog.into_iter().for_each(kill),
                _ => sleep(Duration::from_micros(random.below(50_000) as u64)),
            }
        }
        let fate = asker.fate();
        let failed = asker.counts()[1];
        if fate == Fate::Crippled {
            crippled += 1;
            eprintln!("{round}: crippled: {order:?} {user:?} {how:?}");
        }
        let some_failed = failed > 0 && fate == Fate::GoesOn;
        *fates.entry((ordinary, order, fate, some_failed)).or_default() += 1;
        asker.end(fate);
    }
    for ((ordinary, order, fate, some_failed), count) in fates {
        let who = if ordinary { "ordinary user" } else { "root" };
        let after = if some_failed { ", after calls that failed" } else { "" };
        eprintln!("{who}, {order:?}: {fate:?}{after}: {count}");
    }
    assert_eq!(crippled, 0);
}
