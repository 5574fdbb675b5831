//! ## What it finds
//!
//! Programs that ask again and again without a pause, and get nothing done: a descriptor that poll(2) reports as ready
//! at once and that nobody reads or closes, a read that returns the end of the file each time, one call that fails in the
//! same way each time. Each such thread uses a whole processor.
//!
//! ## Why it happens
//!
//! poll(2), select(2) and epoll_wait(2) return at once as long as a descriptor is ready. If its other end is gone
//! (`POLLHUP`, `POLLERR`, or a read that returns 0), it stays ready for ever: a program that does not close it, or does
//! not take it out of its list, is called back without an end. The same happens where a program polls one descriptor
//! and reads another, or tries a call that fails (`EAGAIN`) again without waiting.
//!
//! ## Example
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! poll([{fd=8, events=POLLIN}], 1, -1) = 1 ([{fd=8, revents=POLLHUP}]) <0.000005> x5000
//! ```
//! ```finding
//! busy-loop: 4999 of 5000
//! stage explained
//! manual
//! ```
//!
//! The end of a file, read again and again:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(7, "", 4096) = 0 <0.000003> x5000
//! ```
//! ```finding
//! busy-loop: 4999 of 5000
//! stage explained
//! manual
//! ```
//!
//! One call that fails in the same way:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! madvise(0x7f2c5e800000, 4096, MADV_FREE) = -1 EAGAIN (Resource temporarily unavailable) <0.000004> x5000
//! ```
//! ```finding
//! busy-loop: 4999 of 5000
//! stage seen
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A server that takes what poll(2) reports:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/sbin/server", ["server"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! poll([{fd=8, events=POLLIN}], 1, -1) = 1 ([{fd=8, revents=POLLIN}]) <0.000005> x5000
//! recvfrom(8, "x"..., 4096, 0, NULL, NULL) = 300 <0.000004> x5000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that waits each time:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/sbin/server", ["server"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! poll([{fd=8, events=POLLIN}], 1, 2) = 0 (Timeout) <0.002061> x5000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A file that is opened each time, and is no terminal:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2000
//! openat(AT_FDCWD, "/srv/data", O_RDONLY|O_CLOEXEC) = 3 <0.000004>
//! ioctl(3, TCGETS, 0x7ffc3c1b5a30) = -1 ENOTTY (Inappropriate ioctl for device) <0.000003>
//! read(3, "", 4096) = 0 <0.000003>
//! close(3) = 0 <0.000003>
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! `tail -f`, which waits between its looks; a log without times shows only that it does:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/tail", ["tail"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2000
//! read(3, "", 8192) = 0
//! clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1, tv_nsec=0}, NULL) = 0
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A shell that reads from a pipe, and tries each time whether it can go back:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/bash", ["bash"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 1200
//! lseek(0, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek) <0.000003>
//! read(0, "x", 1) = 1 <0.000003> x4
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Failing calls about different things, as where a program asks which descriptors are open:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 600
//! fcntl(8, F_GETFD) = -1 EBADF (Bad file descriptor) <0.000003>
//! fcntl(9, F_GETFD) = -1 EBADF (Bad file descriptor) <0.000003>
//! fcntl(11, F_GETFD) = -1 EBADF (Bad file descriptor) <0.000003>
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! It is a mistake in the program: it has to close the descriptor, or take it out of its list, when its other end is
//! gone, and to wait before it tries again. Until then a restart ends the loop, and it comes back when the same happens
//! again. Look for a newer version, and report it with what needless shows. No variable of the environment changes it.
//! The calls of a program that gets much done between are no loop, and are not reported. Log with `strace -T`: without it a
//! log does not show whether calls waited, and only loops on what is closed are found.
//!
//! ## References
//!
//! * `man 2 poll`: POLLHUP
//! * `man 7 epoll`: level-triggered

use crate::engine::Case;
use crate::engine::helpers;
use crate::engine::is_an_answer;
use crate::engine::scale;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Descriptor, Fact, Finding, ProcId, Process, Row, Stage, WaitsOn};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "busy-loop",
    summary: "A loop asks without a pause, and gets nothing done",
    needs: &[Fact::Outcomes, Fact::AllCalls],
    ..Rule::PLAIN
};

/// Fewer take no noticeable time.
const FEWEST: u64 = 1000;
/// Of so many calls of a loop that gets something done, at least one transfers something.
const CALLS_FOR_A_TRANSFER: u64 = 10;

/// What a loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loop {
    /// The same call fails.
    Fails,
    /// The end of a file is read.
    End,
    /// Polls find something ready that nobody takes.
    Ready,
    /// Polls find nothing, and do not wait.
    Empty,
}

const POLLS: [&str; 10] = [
    "poll",
    "ppoll",
    "ppoll_time64",
    "select",
    "_newselect",
    "pselect6",
    "pselect6_time64",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
];
const READS: [&str; 6] = ["read", "readv", "pread64", "recvfrom", "recvmsg", "recvmmsg"];
/// Calls that take from a descriptor what poll(2) reports, or give it something.
const TAKES: [&str; 9] =
    ["accept", "accept4", "write", "writev", "sendto", "sendmsg", "sendmmsg", "splice", "sendfile"];

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut loops: BTreeMap<Loop, Vec<Case>> = BTreeMap::new();
    for id in view.ids() {
        let mut taken = None;
        let rows = view.rows_of(id).filter(|(at, row)| !row.query.names_path() && !sink.taken(*at));
        for (at, row) in rows {
            let call = view.profile.call(row);
            let Some(kind) = kind(call, row).filter(|kind| never_waits(*kind, row)) else {
                continue;
            };
            if helpers::may_wait(view, (at, row)) {
                continue;
            }
            let polls = matches!(kind, Loop::Ready | Loop::Empty);
            // A file that is opened each time has the same number, and is another one.
            if !polls && closes(view, id) * 2 > row.count {
                continue;
            }
            let taken = *taken.get_or_insert_with(|| transfers(view, id));
            if taken * CALLS_FOR_A_TRANSFER > row.count {
                continue;
            }
            let case = Case { process: id, needless: row.count - 1, of: row.count, rows: vec![at] };
            loops.entry(kind).or_default().push(case);
        }
    }
    for (kind, cases) in loops {
        for (program, cases) in helpers::by_program(view, cases, FEWEST) {
            find(view, sink, kind, &program, cases);
        }
    }
}

/// What kind of loop calls of this row are, of which nearly none waited.
fn kind(call: &str, row: &Row) -> Option<Loop> {
    let sequence = &row.sequence;
    let mostly = |part: u64| part * 20 >= sequence.calls * 19;
    match row.outcome? {
        Err(errno) if is_an_answer(call, errno) => None,
        Err(_) => mostly(sequence.same).then_some(Loop::Fails),
        Ok(()) if READS.contains(&call) => {
            (mostly(sequence.zero) && mostly(sequence.same)).then_some(Loop::End)
        }
        Ok(()) if POLLS.contains(&call) => {
            Some(if mostly(sequence.zero) { Loop::Empty } else { Loop::Ready })
        }
        Ok(()) => None,
    }
}

/// Whether nearly no call of a loop waited. A log without times does not say so, but what is at its end, or whose other
/// end is closed, is always ready.
fn never_waits(kind: Loop, row: &Row) -> bool {
    let sequence = &row.sequence;
    match sequence.timed {
        0 => sequence.calls >= FEWEST && (kind == Loop::End || kind == Loop::Ready && is_gone(row)),
        timed => sequence.at_once >= FEWEST && sequence.at_once * 10 >= timed * 9,
    }
}

/// Whether poll(2) said of a descriptor that its other end is closed, or that it is broken.
fn is_gone(row: &Row) -> bool {
    let events = row.sequence.descriptor.map_or(0, |descriptor| descriptor.events);
    events & (Descriptor::HANG_UP | Descriptor::ERROR) != 0
}

/// How many descriptors a process closed.
fn closes(view: &View<'_>, id: ProcId) -> u64 {
    let rows = view.rows_of(id).filter(|(_, row)| row.ok() && view.profile.call(row) == "close");
    rows.map(|(_, row)| row.count).sum()
}

/// How many calls of a process brought or took something.
fn transfers(view: &View<'_>, id: ProcId) -> u64 {
    let rows = view.rows_of(id).filter(|(_, row)| !row.query.names_path() && row.ok());
    let of = |row: &Row| {
        let call = view.profile.call(row);
        let reads = READS.contains(&call);
        let counts = reads || TAKES.contains(&call);
        if counts { row.count - if reads { row.sequence.zero } else { 0 } } else { 0 }
    };
    rows.map(|(_, row)| of(row)).sum()
}

fn find(view: &View<'_>, sink: &mut Sink, kind: Loop, program: &str, cases: Vec<Case>) {
    let first = &view.profile.rows[cases[0].rows[0]];
    let (call, descriptor) = (view.profile.call(first).to_owned(), first.sequence.descriptor);
    let besides = beside(view, sink, &cases);
    let merged = helpers::merged(view, cases);
    let calls = number(merged.of);
    let of = descriptor.map_or_else(|| " of a descriptor".to_owned(), named);
    let gone = is_gone(first);
    let error = first.outcome.and_then(Result::err).map_or("", |errno| errno.name());
    let what = match kind {
        Loop::Fails => {
            format!("{calls} {call} calls fail one after the other ({error}), without a pause")
        }
        Loop::End => format!("{calls} {call} calls{of} find its end, without a pause"),
        Loop::Ready => {
            format!("{calls} {call} calls{of} find it ready at once, and nobody takes it")
        }
        Loop::Empty => format!("{calls} {call} calls find nothing, and do not wait"),
    };
    let why = match kind {
        Loop::Fails => format!(
            "{program} repeats a call that has just failed, without waiting for anything that could change the answer."
        ),
        Loop::End => format!(
            "{program} reads on where there is nothing more: a read that returns 0 means that the other end is closed, \
             or that the file is over."
        ),
        Loop::Ready if gone => format!(
            "The other end of what {program} waits for is gone (POLLHUP or POLLERR). It stays ready until {program} closes \
             it or takes it out of its list, and it does neither."
        ),
        Loop::Ready => format!(
            "{program} is told that something is ready, does not take it, and asks again. The other end of a descriptor \
             may be gone, or it reads another one."
        ),
        Loop::Empty => {
            format!("{program} asks with a time-out of 0, or one that is over at once, in a loop.")
        }
    };
    let sure = kind == Loop::End || kind == Loop::Ready && gone;
    let stage = if sure { Stage::Explained } else { Stage::Seen };
    let remedies = vec![helpers::by_hand(
        "Restart the program, look for a newer version of it, and report what is shown here",
        "A restart ends the loop until the same happens again; the mistake is in the program.",
    )];
    let finding = helpers::finding(merged, RULE.name, stage, what, why, remedies);
    sink.find(priced(view, helpers::beside(finding, besides)));
}

/// The calls that a loop makes besides: those of its process that are as many. They are explained.
fn beside(view: &View<'_>, sink: &mut Sink, cases: &[Case]) -> i64 {
    let mut besides = 0;
    for case in cases {
        let rows = view.rows_of(case.process).filter(|(at, row)| {
            let as_many = row.count * 20 >= case.of * 19 && row.count <= 8 * case.of;
            !row.query.names_path() && !case.rows.contains(at) && as_many
        });
        let rows: Vec<(usize, u64)> =
            rows.filter(|(at, _)| !sink.taken(*at)).map(|(at, row)| (at, row.count)).collect();
        for (at, calls) in rows {
            sink.explain(&[at]);
            besides += i64::try_from(calls - 1).unwrap_or(0);
        }
    }
    besides
}

/// The loop is what its processes spend their time with: their CPU time by their calls, where it is known and not a
/// tracer's.
fn priced(view: &View<'_>, finding: Finding) -> Finding {
    let known = !view.profile.backend.distorts_cpu_time();
    let ids = || finding.processes.iter().copied().filter(|_| known);
    let sum = |part: fn(&Process) -> Option<u64>| {
        ids().filter_map(|id| part(view.process(id))).sum::<u64>()
    };
    let (user, system) = (sum(|process| process.cpu_user_ns), sum(|process| process.cpu_sys_ns));
    let all: u64 = ids().flat_map(|id| view.rows_of(id)).map(|(_, row)| row.count).sum();
    if user + system == 0 || all == 0 {
        return finding;
    }
    let part = (finding.needless + finding.besides.unsigned_abs()).min(all);
    let of = |whole| Some(scale(whole, part, all));
    Finding { kernel_ns: of(system), user_ns: of(user), estimated: true, ..finding }
}

/// ` of descriptor 8, a closed pipe,`.
fn named(descriptor: Descriptor) -> String {
    let closed = if descriptor.events & Descriptor::HANG_UP == 0 { "a" } else { "a closed" };
    let on = match descriptor.on {
        WaitsOn::Unknown => return format!(" of descriptor {}", descriptor.fd),
        WaitsOn::Pipe => "pipe",
        WaitsOn::Terminal => "terminal",
        WaitsOn::Socket | WaitsOn::NameServer => "socket",
        WaitsOn::File => "file",
    };
    format!(" of descriptor {}, {closed} {on},", descriptor.fd)
}
