//! What programs waited for, and which file system was slow: facts from a profile, stated and not judged.

use needless_model::{Errno, Profile, Query, Row, Target, WaitsOn};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What calls waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// That data is on the disk: fsync and its kind.
    Flush,
    /// That a connection is made or refused.
    Connect,
    /// That time passes.
    Sleep,
    /// Events: poll, select, epoll, accept.
    Events,
    /// A name server: anything on a socket that is connected to port 53.
    Names,
    /// Other threads: futex.
    Threads,
    /// A lock of a file.
    Lock,
    /// Child processes.
    Children,
    /// Input from a pipe, terminal, socket or file.
    Read(WaitsOn),
    /// Room for output to it.
    Write(WaitsOn),
    /// The file system, to look up a path or to change it.
    Path,
    /// Something else.
    Other,
}

impl WaitKind {
    /// What a call waits for, if it waits.
    fn of(call: &str, on: WaitsOn) -> WaitKind {
        let of_descriptor = |kind| if on == WaitsOn::NameServer { WaitKind::Names } else { kind };
        match call {
            "fsync" | "fdatasync" | "sync" | "syncfs" | "sync_file_range" | "msync" => {
                WaitKind::Flush
            }
            "connect" => of_descriptor(WaitKind::Connect),
            "nanosleep"
            | "clock_nanosleep"
            | "clock_nanosleep_time64"
            | "pause"
            | "sigsuspend"
            | "rt_sigsuspend"
            | "rt_sigtimedwait"
            | "rt_sigtimedwait_time64" => WaitKind::Sleep,
            "poll" | "ppoll" | "ppoll_time64" => of_descriptor(WaitKind::Events),
            "accept" | "accept4" | "select" | "_newselect" | "pselect6" | "pselect6_time64"
            | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "io_getevents" | "io_uring_enter" => {
                WaitKind::Events
            }
            "futex" | "futex_time64" | "futex_wait" | "futex_waitv" => WaitKind::Threads,
            "flock" | "fcntl" | "fcntl64" => WaitKind::Lock,
            "wait4" | "waitpid" | "waitid" => WaitKind::Children,
            "read" | "readv" | "pread64" | "preadv" | "preadv2" | "recvfrom" | "recvmsg"
            | "recvmmsg" | "getdents64" | "getdents" => of_descriptor(WaitKind::Read(on)),
            "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" | "sendto" | "sendmsg"
            | "sendmmsg" => of_descriptor(WaitKind::Write(on)),
            _ if Query::of(call).names_path() => WaitKind::Path,
            _ => WaitKind::Other,
        }
    }

    /// Whether calls of this kind are made to wait: what they take is no cost, even where nobody saw them wait.
    fn is_made_to_wait(self) -> bool {
        use WaitKind::{Children, Connect, Events, Flush, Names, Sleep, Threads};
        matches!(self, Children | Connect | Events | Flush | Names | Sleep | Threads)
    }
}

/// Calls of one program that waited for one kind of thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The program, as [`Process::title`](needless_model::Process::title).
    pub program: String,
    /// What for.
    pub kind: WaitKind,
    /// The kernel's name of the call.
    pub call: String,
    /// How a connect ended, if it failed.
    pub error: Option<Errno>,
    /// How many calls waited.
    pub calls: u64,
    /// How long, nanoseconds; the sum over all threads.
    pub ns: u64,
}

/// What programs waited for, the longest first. Empty where the time of calls was not measured. Calls that had not
/// returned at the end are not among them.
pub fn waits(profile: &Profile) -> Vec<Waits> {
    /// Program, kind, call and error.
    type Key<'p> = (String, WaitKind, &'p str, Option<Errno>);
    let mut sums: BTreeMap<Key<'_>, (u64, u64)> = BTreeMap::new();
    let mut add = |process, call, outcome: Result<(), Errno>, on, calls, ns| {
        let kind = WaitKind::of(call, on);
        let error = outcome.err().filter(|_| kind == WaitKind::Connect);
        let sum = sums.entry((profile.process(process).title(), kind, call, error)).or_default();
        *sum = (sum.0 + calls, sum.1 + ns);
    };
    for wait in &profile.waits {
        let call = profile.strings.text(wait.call.0);
        add(wait.process, call, wait.outcome, wait.on, wait.calls, wait.ns);
    }
    for row in profile.rows.iter().filter(|row| only_waits(profile, row)) {
        let outcome = row.outcome.unwrap_or(Ok(()));
        add(row.process, profile.call(row), outcome, WaitsOn::Unknown, row.timed, row.kernel_ns);
    }
    let mut all: Vec<Waits> = sums
        .into_iter()
        .map(|((program, kind, call, error), (calls, ns))| Waits {
            program,
            kind,
            call: call.to_owned(),
            error,
            calls,
            ns,
        })
        .collect();
    all.sort_by_key(|waits| Reverse(waits.ns));
    all
}

/// Whether calls of this name are made to wait.
pub(crate) fn is_made_to_wait(call: &str) -> bool {
    WaitKind::of(call, WaitsOn::Unknown).is_made_to_wait()
}

/// Whether the measured time of a row is that of waiting and no cost. A backend that sees calls wait counts them apart;
/// a log shows only how long a call took.
pub(crate) fn only_waits(profile: &Profile, row: &Row) -> bool {
    profile.waits.is_empty()
        && row.timed > 0
        && row.query == Query::NoPath
        && is_made_to_wait(profile.call(row))
}

/// A file system on which failed look-ups take most of their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowMount {
    /// Where it is mounted.
    pub at: String,
    /// Its type.
    pub kind: String,
    /// Failed look-ups below it.
    pub calls: u64,
    /// The mean of their time, nanoseconds.
    pub mean_ns: u64,
}

/// The file system that has at least half of the time of all failed look-ups, if each takes so long that no local disk
/// explains it.
pub fn slow_mount(profile: &Profile) -> Option<SlowMount> {
    /// A local file system answers a failed look-up within a few microseconds.
    const SLOW: u64 = 50_000;
    /// Less in all is not worth a line.
    const LEAST: u64 = 10_000_000;
    let mounts = &profile.host.mounts;
    let looks_up = |row: &&Row| {
        let query = matches!(
            row.query,
            Query::Stat
                | Query::Lstat
                | Query::Open
                | Query::Access
                | Query::Readlink
                | Query::Exec
        );
        let here =
            matches!(row.target, Target::Path(_)) && profile.process(row.process).shares_root;
        query && here && row.timed > 0 && matches!(row.outcome, Some(Err(_)))
    };
    let mut sums: BTreeMap<usize, (u64, u64, u64)> = BTreeMap::new();
    let mut all = 0;
    for row in profile.rows.iter().filter(looks_up) {
        all += row.kernel_ns;
        let path = profile.path(row);
        let covers = |at: &str| {
            let rest = path.strip_prefix(at.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Of two mounts at one place the later one covers the other.
        let mount = mounts.iter().enumerate().filter(|(_, mount)| covers(&mount.at));
        let Some((mount, _)) = mount.max_by_key(|(at, mount)| (mount.at.len(), *at)) else {
            continue;
        };
        let sum = sums.entry(mount).or_default();
        *sum = (sum.0 + row.count, sum.1 + row.timed, sum.2 + row.kernel_ns);
    }
    let (mount, (calls, timed, ns)) = sums.into_iter().max_by_key(|(_, (_, _, ns))| *ns)?;
    let mean_ns = ns / timed.max(1);
    let mount = &mounts[mount];
    (mean_ns >= SLOW && ns >= LEAST && ns >= all / 2).then(|| SlowMount {
        at: mount.at.clone(),
        kind: mount.kind.clone(),
        calls,
        mean_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::{
        Answer, Backend, Builder, Fact, Facts, Mount, Process, Question, Spawn, Wait, Window,
    };

    fn profile(fill: impl FnOnce(&mut Builder, needless_model::ProcId)) -> Profile {
        let mut builder = Builder::new(needless_model::Limits::default());
        let mut process = Process::new(7, None, Spawn::Exec);
        process.exe = Some("/usr/bin/app".into());
        let process = builder.process(process);
        fill(&mut builder, process);
        builder.finish(Backend::Ebpf, Facts::of(&[Fact::KernelTime]), Window::default())
    }

    #[test]
    fn waits_are_summed_by_program_and_kind_the_longest_first() {
        let profile = profile(|builder, process| {
            let refused = Err(Errno::of_name("ECONNREFUSED"));
            for (call, on, outcome, calls, ns) in [
                ("fsync", WaitsOn::File, Ok(()), 913, 1_200),
                ("read", WaitsOn::Pipe, Ok(()), 2, 700),
                ("read", WaitsOn::Pipe, refused, 1, 100),
                ("connect", WaitsOn::Socket, refused, 3, 500),
                ("poll", WaitsOn::NameServer, Ok(()), 4, 50),
                ("recvfrom", WaitsOn::NameServer, Ok(()), 5, 40),
            ] {
                let call = builder.call(call);
                builder.waited(Wait { process, call, outcome, on, calls, ns });
            }
        });
        let all = waits(&profile);
        let seen: Vec<_> =
            all.iter().map(|w| (w.kind, &*w.call, w.error.is_some(), w.calls, w.ns)).collect();
        assert_eq!(
            seen,
            [
                (WaitKind::Flush, "fsync", false, 913, 1_200),
                (WaitKind::Read(WaitsOn::Pipe), "read", false, 3, 800),
                (WaitKind::Connect, "connect", true, 3, 500),
                (WaitKind::Names, "poll", false, 4, 50),
                (WaitKind::Names, "recvfrom", false, 5, 40),
            ]
        );
        assert!(all.iter().all(|waits| waits.program == "app"));
    }

    #[test]
    fn a_sleep_of_a_log_is_a_wait_and_no_cost() {
        let profile = profile(|builder, process| {
            for (call, ns) in [("nanosleep", 1_000_000_000), ("getrandom", 500)] {
                let call = builder.call(call);
                let eintr = Err(Errno::of_name("EINVAL"));
                let answer = Answer { kernel_ns: Some(ns), ..Answer::outcome(eintr) };
                builder.count(process, call, 2, answer);
            }
        });
        let [waits] = &waits(&profile)[..] else { panic!("one kind") };
        assert_eq!((waits.kind, waits.calls, waits.ns), (WaitKind::Sleep, 2, 1_000_000_000));
        let account = crate::check(&profile, &crate::CheckOptions::default()).account;
        assert_eq!((account.unexplained.calls, account.unexplained.kernel_ns), (4, Some(500)));
    }

    #[test]
    fn the_mount_with_slow_look_ups_is_named() {
        let look_up = |builder: &mut Builder, process, path, n, ns: u64| {
            let call = builder.call("openat");
            let asked = Question { call, query: Query::Open, path, from_dir_fd: false };
            let question = builder.question(process, asked);
            let enoent = Err(Errno::of_name("ENOENT"));
            for _ in 0..n {
                builder.answer(question, Answer { kernel_ns: Some(ns), ..Answer::outcome(enoent) });
            }
        };
        let mount = |at: &str, kind: &str| Mount { at: at.into(), kind: kind.into() };
        let with = |ns| {
            let mut profile = profile(|builder, process| {
                look_up(builder, process, "/home/a/x", 100, ns);
                look_up(builder, process, "/homely/x", 1000, 2_000);
            });
            profile.host.mounts = vec![mount("/", "ext4"), mount("/home", "nfs4")];
            slow_mount(&profile)
        };
        let slow =
            SlowMount { at: "/home".into(), kind: "nfs4".into(), calls: 100, mean_ns: 400_000 };
        assert_eq!(with(400_000), Some(slow));
        assert_eq!(with(5_000), None);
    }
}
