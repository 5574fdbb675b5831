//! Where the time went, in words: what programs waited for, which of them spent the CPU time, how many processes and
//! connections there were. Facts; nothing here is judged.

use crate::document::{ReportDocument, ReportMost, ReportProgramCpu, ReportWaits, WaitedFor};
use crate::text::{count, duration, escape, number};
use crate::{Report, window_text};
use needless_model::Fact;

/// At most so many lines of a kind.
const LINES: usize = 5;
/// What takes a smaller part of the time is not worth a line.
const SHARE: f64 = 0.02;
/// The program with the second most CPU time has at least this part, or a list says nothing new.
const SECOND: f64 = 0.2;
/// In a run with less CPU time, nobody asks who spent it.
const LEAST_CPU: u64 = 50_000_000;
/// Fewer waits than these, nanoseconds, are not worth a line.
const LEAST_WAIT: u64 = 1_000_000;
/// Less CPU time than this, nanoseconds, is a few ticks of the kernel.
const FEW_TICKS: u64 = 20_000_000;
/// From this CPU time on, nanoseconds, ticks divide it well enough.
const MANY_TICKS: u64 = 1_000_000_000;
/// Processes or connections are many from so many per second on, and from so many in all.
const PER_SECOND: f64 = 10.0;
const LEAST: u64 = 20;

/// The lines, each with its label.
pub(crate) fn lines(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let mut lines = waiting(report);
    lines.extend(slow_file_system(report));
    lines.extend(programs(report));
    lines.extend(rates(report));
    lines
}

/// Whether the lines are worth a report where there is nothing else to say.
pub(crate) fn are_asked_for(report: &Report<'_>) -> bool {
    let timed = !report.document.unknown().any(|fact| fact == Fact::KernelTime);
    (timed && !waiting(report).is_empty()) || !programs(report).is_empty()
}

fn waiting(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let all = &report.document.waiting;
    let sum: u64 = all.iter().map(ReportWaits::ns).sum();
    if sum < LEAST_WAIT {
        return Vec::new();
    }
    let total = duration(sum) + " in all threads together, which may wait at the same time";
    let large = || all.iter().filter(|waits| waits.ns() as f64 >= SHARE * sum as f64);
    // What a parent waited for is what its children did: last, if there is room.
    let children = |waits: &&ReportWaits| waits.kind == WaitedFor::Children;
    let others = large().filter(|waits| !children(waits));
    let lines = others.chain(large().filter(children)).take(LINES).map(|waits| ("", wait(waits)));
    std::iter::once(("waiting", total)).chain(lines).collect()
}

/// `1.2 s in 913 fsync by dpkg`.
fn wait(waits: &ReportWaits) -> String {
    let (time, call) = (duration(waits.ns()), escape(&waits.call));
    let reads = |of: &str| count(waits.calls, "read", "reads") + of;
    let writes = |to: &str| count(waits.calls, "write", "writes") + to;
    let what = match waits.kind {
        WaitedFor::Children => count(waits.calls, "wait", "waits") + " for child processes",
        WaitedFor::Names => count(waits.calls, "call", "calls") + " to a name server (port 53)",
        WaitedFor::Sleep => format!("{} ({call})", count(waits.calls, "sleep", "sleeps")),
        WaitedFor::Threads => format!("{} {call}, for other threads", number(waits.calls)),
        WaitedFor::Lock => format!("{} {call}, for a lock", number(waits.calls)),
        WaitedFor::ReadPipe => reads(" of a pipe"),
        WaitedFor::ReadTerminal => reads(" of a terminal"),
        WaitedFor::ReadSocket => reads(" of a socket"),
        WaitedFor::ReadFile => reads(" of a file"),
        WaitedFor::Read => reads(""),
        WaitedFor::WritePipe => writes(" to a pipe"),
        WaitedFor::WriteTerminal => writes(" to a terminal"),
        WaitedFor::WriteSocket => writes(" to a socket"),
        WaitedFor::WriteFile => writes(" to a file"),
        WaitedFor::Write => writes(""),
        WaitedFor::Connect => match waits.error() {
            Some(error) => format!("{} {call} ({error})", number(waits.calls)),
            None => format!("{} {call}", number(waits.calls)),
        },
        WaitedFor::Flush | WaitedFor::Events | WaitedFor::Path | WaitedFor::Other => {
            format!("{} {call}", number(waits.calls))
        }
    };
    format!("{time} in {what} by {}", escape(&waits.program))
}

/// How long calls that name a path waited, nanoseconds.
pub(crate) fn of_waiting_look_ups(report: &Report<'_>) -> u64 {
    let all = report.document.waiting.iter();
    all.filter(|waits| waits.kind == WaitedFor::Path).map(ReportWaits::ns).sum()
}

/// `on nfs4 /home: 1,204 failed look-ups, 0.4 ms each`.
fn slow_file_system(report: &Report<'_>) -> Option<(&'static str, String)> {
    let slow = report.document.slow_file_system.as_ref()?;
    let calls = count(slow.calls, "failed look-up", "failed look-ups");
    let (kind, at, each) = (escape(&slow.kind), escape(&slow.at), duration(slow.mean_us.0));
    Some(("slow", format!("on {kind} {at}: {calls}, {each} each")))
}

/// `0.49 s (0.4 s user, 0.09 s kernel) by mocha (node)`, one for each program, unless one of them spent nearly all.
fn programs(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let all = &report.document.programs;
    let sum: u64 = all.iter().map(|program| program.cpu_s.0).sum();
    let share = |ns: u64| ns as f64 / sum.max(1) as f64;
    if sum < LEAST_CPU || all.get(1).is_none_or(|second| share(second.cpu_s.0) < SECOND) {
        return Vec::new();
    }
    let stops = if report.document.backend().distorts_cpu_time() { ", with the stops" } else { "" };
    let line = |program: &ReportProgramCpu| {
        let ns = program.cpu_s.0;
        let processes = match program.processes {
            0 | 1 => String::new(),
            n => format!(" ({} processes)", number(n)),
        };
        let split = program.cpu_user_s.map_or_else(String::new, |user| {
            user_and_kernel(user.0, ns.saturating_sub(user.0), stops)
        });
        format!("{}{split} by {}{processes}", duration(ns), escape(&program.program))
    };
    let large = all.iter().filter(|program| share(program.cpu_s.0) >= SHARE).take(LINES);
    let label = |at| if at == 0 { "CPU time" } else { "" };
    large.enumerate().map(|(at, program)| (label(at), line(program))).collect()
}

/// ` (0.3 s user, 0.7 s kernel)`, ` (by ticks: 20 ms user, 60 ms kernel)`, or nothing. The sum of CPU time is exact. For its
/// parts the kernel only looks at its ticks, 100 to 1,000 in a second, where the process is (man 5 proc, `utime`): of a
/// few ticks this says nothing, of some dozens little.
pub(crate) fn user_and_kernel(user_ns: u64, kernel_ns: u64, more: &str) -> String {
    let by = match user_ns + kernel_ns {
        0..FEW_TICKS => return String::new(),
        FEW_TICKS..MANY_TICKS => "by ticks: ",
        _ => "",
    };
    format!(" ({by}{} user, {} kernel{more})", duration(user_ns), duration(kernel_ns))
}

/// `; 3,000 processes started, most of them sh (dash)`, of so many that starting them may be what a run costs.
pub(crate) fn many_started(document: &ReportDocument) -> String {
    const MANY: u64 = 100;
    let started = document.started;
    if started < MANY {
        return String::new();
    }
    let most = document.most_started.as_ref().filter(|most| most.number > started / 2);
    let most = most.map(|most| format!(", most of them {}", escape(&most.program)));
    format!("; {} processes started{}", number(started), most.unwrap_or_default())
}

/// `412 processes started, 210 per second; most ran true: 400`.
fn rates(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let Some(length) = report.document.length_ns().filter(|ns| *ns > 0) else {
        return Vec::new();
    };
    let document = report.document;
    let line = |label, all: u64, most: &Option<ReportMost>, (what, how): (&str, &str)| {
        let many = all >= LEAST && all as f64 * 1e9 / length as f64 >= PER_SECOND;
        let most = most.as_ref().filter(|_| many)?;
        let (rate, program) = (window_text::rate(all, length), escape(&most.program));
        let (all, of) = (number(all), number(most.number));
        Some((label, format!("{all} {what}, {rate}; most {how} {program}: {of}")))
    };
    let ReportDocument { started, connections, most_started, most_connections, .. } = document;
    let started = line("processes", *started, most_started, ("processes started", "ran"));
    let connected = line("connections", *connections, most_connections, ("connections made", "by"));
    started.into_iter().chain(connected).collect()
}
