//! Reports of a window over many processes (`attach`, `host`): its length, rates per second, processes and services.

use crate::text::{count, duration, number};
use crate::{Report, account, time, unjudged};

/// `497 per second`: `n` in a window of `length` nanoseconds. Never rounded up.
pub(crate) fn rate(n: u64, length: u64) -> String {
    match n {
        0 => "0.0 per second".to_owned(),
        n => format!("{} per second", per_second(n, length)),
    }
}

/// How many per second `n` in a window of `length` nanoseconds (not 0) are: `497`, `3.4`, `0`. Never rounded up.
pub fn per_second(n: u64, length: u64) -> String {
    let tenths = u128::from(n) * 10_000_000_000 / u128::from(length);
    match u64::try_from(tenths).unwrap_or(u64::MAX) {
        0 if n > 0 => "less than 0.1".to_owned(),
        0 => "0".to_owned(),
        few @ 0..100 => format!("{}.{}", few / 10, few % 10),
        many => number(many / 10),
    }
}

/// `214 processes`.
fn processes(report: &Report<'_>) -> String {
    count(report.document.pids, "process", "processes")
}

/// `214 processes in 31 services`; without services if none is known.
fn in_services(report: &Report<'_>) -> String {
    let processes = processes(report);
    match report.document.services {
        0 => processes,
        n => format!("{processes} in {}", count(n, "service", "services")),
    }
}

/// `10 s, 214 processes in 31 services; 51,233 checked calls (--all: every call), 20 failed`.
pub(crate) fn extent(report: &Report<'_>) -> String {
    let (processes, calls) = (in_services(report), account::all_calls(report));
    match report.document.window_ns() {
        Some(ns) => format!("{}, {processes}; {calls}", duration(ns)),
        None => format!("{processes}; {calls}"),
    }
}

/// `nothing needless found in 10 s: 214 processes, 51,233 calls`; or how much was found.
pub(crate) fn found(report: &Report<'_>) -> String {
    let findings = &report.document.findings;
    let processes = processes(report);
    let within = match report.document.window_ns() {
        Some(ns) => format!("in {}: {processes}", duration(ns)),
        None => format!("in {processes}"),
    };
    let (calls, started) = (account::calls(report), time::many_started(report.document));
    if findings.is_empty() {
        let more = account::not_explained(report) + &started;
        if report.document.account.is_mostly_unjudged() {
            return format!("{calls} {within}, {}{more}", unjudged::most(report));
        }
        return format!("{} {within}, {calls}{more}", unjudged::nothing_found(report));
    }
    let found = count(findings.len() as u64, "finding", "findings");
    format!("{found} {within}, {}{started}", account::in_short(report))
}
