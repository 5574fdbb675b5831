//! Where the time went, in words: what programs waited for, which of them spent the CPU time, how many processes and
//! connections there were. Facts; nothing here is judged.

use crate::text::{count, duration, escape, number};
use crate::{Report, window_text};
use needless_model::{Fact, WaitsOn};
use needless_rules::{Many, WaitKind, Waits};

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
    let timed = report.profile.facts.has(Fact::KernelTime);
    (timed && !waiting(report).is_empty()) || !programs(report).is_empty()
}

fn waiting(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let all = &report.verdict.activity.waits;
    let sum: u64 = all.iter().map(|waits| waits.ns).sum();
    if sum < LEAST_WAIT {
        return Vec::new();
    }
    let total = duration(sum) + " in all threads together, which may wait at the same time";
    let large = || all.iter().filter(|waits| waits.ns as f64 >= SHARE * sum as f64);
    // What a parent waited for is what its children did: last, if there is room.
    let (children, others) = (|waits: &&Waits| waits.kind == WaitKind::Children, large());
    let others = others.filter(|waits| !children(waits));
    let lines = others.chain(large().filter(children)).take(LINES).map(|waits| ("", wait(waits)));
    std::iter::once(("waiting", total)).chain(lines).collect()
}

/// `1.2 s in 913 fsync by dpkg`.
fn wait(waits: &Waits) -> String {
    let (time, call) = (duration(waits.ns), escape(&waits.call));
    let what = match waits.kind {
        WaitKind::Children => count(waits.calls, "wait", "waits") + " for child processes",
        WaitKind::Names => count(waits.calls, "call", "calls") + " to a name server (port 53)",
        WaitKind::Sleep => format!("{} ({call})", count(waits.calls, "sleep", "sleeps")),
        WaitKind::Threads => format!("{} {call}, for other threads", number(waits.calls)),
        WaitKind::Lock => format!("{} {call}, for a lock", number(waits.calls)),
        WaitKind::Read(on) => count(waits.calls, "read", "reads") + &descriptor("of", on),
        WaitKind::Write(on) => count(waits.calls, "write", "writes") + &descriptor("to", on),
        WaitKind::Connect => match waits.error {
            Some(error) => format!("{} {call} ({})", number(waits.calls), error.name()),
            None => format!("{} {call}", number(waits.calls)),
        },
        WaitKind::Flush | WaitKind::Events | WaitKind::Path | WaitKind::Other => {
            format!("{} {call}", number(waits.calls))
        }
    };
    format!("{time} in {what} by {}", escape(&waits.program))
}

fn descriptor(of: &str, on: WaitsOn) -> String {
    let noun = match on {
        WaitsOn::Pipe => "a pipe",
        WaitsOn::Terminal => "a terminal",
        WaitsOn::Socket | WaitsOn::NameServer => "a socket",
        WaitsOn::File => "a file",
        WaitsOn::Unknown => return String::new(),
    };
    format!(" {of} {noun}")
}

/// How long calls that name a path waited, nanoseconds.
pub(crate) fn of_waiting_look_ups(report: &Report<'_>) -> u64 {
    let all = &report.verdict.activity.waits;
    all.iter().filter(|waits| waits.kind == WaitKind::Path).map(|waits| waits.ns).sum()
}

/// `on nfs4 /home: 1,204 failed look-ups, 0.4 ms each`.
fn slow_file_system(report: &Report<'_>) -> Option<(&'static str, String)> {
    let slow = report.verdict.activity.slow_mount.as_ref()?;
    let calls = count(slow.calls, "failed look-up", "failed look-ups");
    let (kind, at, each) = (escape(&slow.kind), escape(&slow.at), duration(slow.mean_ns));
    Some(("slow", format!("on {kind} {at}: {calls}, {each} each")))
}

/// `0.49 s (0.4 s user, 0.09 s kernel) by mocha (node)`, one for each program, unless one of them spent nearly all.
fn programs(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let all = &report.verdict.activity.programs;
    let sum: u64 = all.iter().map(|program| program.ns).sum();
    let share = |ns: u64| ns as f64 / sum.max(1) as f64;
    if sum < LEAST_CPU || all.get(1).is_none_or(|second| share(second.ns) < SECOND) {
        return Vec::new();
    }
    let stops = if report.profile.backend.distorts_cpu_time() { ", with the stops" } else { "" };
    let line = |program: &needless_rules::ProgramCpu| {
        let processes = match program.processes {
            0 | 1 => String::new(),
            n => format!(" ({} processes)", number(n)),
        };
        let split = program.user_ns.map_or_else(String::new, |user| {
            user_and_kernel(user, program.ns.saturating_sub(user), stops)
        });
        format!("{}{split} by {}{processes}", duration(program.ns), escape(&program.program))
    };
    let large = all.iter().filter(|program| share(program.ns) >= SHARE).take(LINES);
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

/// `412 processes started, 210 per second; most ran true: 400`.
fn rates(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let Some(length) = report.profile.window.length_ns.filter(|ns| *ns > 0) else {
        return Vec::new();
    };
    let activity = &report.verdict.activity;
    let line = |label, many: &Option<Many>, what: &str, most: &str| {
        let many = many.as_ref().filter(|many| {
            many.number >= LEAST && many.number as f64 * 1e9 / length as f64 >= PER_SECOND
        })?;
        let (number, of) = (number(many.number), crate::text::number(many.of_program));
        let (rate, program) = (window_text::rate(many.number, length), escape(&many.program));
        Some((label, format!("{number} {what}, {rate}; most {most} {program}: {of}")))
    };
    let started = line("processes", &activity.started, "processes started", "ran");
    let connected = line("connections", &activity.connections, "connections made", "by");
    started.into_iter().chain(connected).collect()
}
