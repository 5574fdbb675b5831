//! The account of a report in words: how many calls were needed, needless, not explained and not judged, what they
//! cost, and which are not explained.

use crate::document::{ReportFinding, ReportUnexplained, SourceKind};
use crate::overview::{Precision, part};
use crate::text::{count, duration, escape, number};
use crate::unjudged;
use crate::{Report, time};
use needless_model::{Errno, Query};
use needless_rules::{Amount, Priced, Unexplained};

/// At most so many lines.
const LINES: usize = 5;
/// Fewer calls are no line, unless they take a millisecond: of a short run they may be a part of the CPU time all the
/// same.
const FEWEST: u64 = 100;
const TIME: u64 = 1_000_000;

/// `1.0 s of CPU time (0.3 s user, 0.7 s kernel) in 1.1 s; 300,512 calls, 1,020 failed`. A tracer
/// distorts the CPU time, which is then left out.
pub(crate) fn extent(report: &Report<'_>) -> String {
    let document = report.document;
    let mut text = match document.cpu_ns() {
        Some((user, kernel)) => {
            let parts = time::user_and_kernel(user, kernel, "");
            format!("{} of CPU time{parts}", duration(user + kernel))
        }
        None => String::new(),
    };
    if let Some(length) = document.length_ns().map(duration) {
        text = match text.is_empty() {
            // The stops of a tracer are part of it.
            true if is_log(report) => length + " under strace",
            true => format!("{length} under {}", escape(document.backend().name())),
            false => text + " in " + &length,
        };
    }
    text += if text.is_empty() { "" } else { "; " };
    text + &all_calls(report)
}

/// `3,046 checked calls (--all: every call), 20 failed`.
pub(crate) fn all_calls(report: &Report<'_>) -> String {
    let some = !is_log(report) && !report.document.complete;
    let hint = if some { " (--all: every call)" } else { "" };
    format!("{}{hint}, {} failed", calls(report), number(report.document.account.failed))
}

fn is_log(report: &Report<'_>) -> bool {
    report.document.source.kind == SourceKind::Read
}

/// `300,512 calls`, `3,046 checked calls`.
pub(crate) fn calls(report: &Report<'_>) -> String {
    let calls = count(report.document.account.calls, "call", "calls");
    match report.document.source.kind {
        _ if report.document.complete => calls,
        SourceKind::Read => calls + " in the log",
        _ => count(report.document.account.calls, "checked call", "checked calls"),
    }
}

/// `of all calls`, `of the checked calls`: what a number of calls is compared with.
pub(crate) fn of_which(report: &Report<'_>) -> &'static str {
    match report.document.source.kind {
        _ if report.document.complete => "of all calls",
        SourceKind::Read => "of the calls in the log",
        _ => "of the checked calls",
    }
}

/// The parts of the account, each with its label, its calls, its time and its share of the CPU time.
pub(crate) fn parts(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let account = &report.document.account;
    let needed = count(account.needed(), "call", "calls");
    let precision = Precision::of(account.estimated);
    let mut parts =
        vec![("needed", needed), ("needless", amount(report, account.certain(), precision))];
    if account.uncertain.calls > 0 {
        let most = amount(report, account.uncertain(), Precision::AtMost);
        parts.push(("perhaps", most + ": they may have another cause"));
    }
    parts.push(("not explained", amount(report, account.unexplained.into(), precision)));
    if account.unjudged.calls > 0 {
        let most = unjudged::kinds(report);
        parts.push((
            "not judged",
            amount(report, account.unjudged.into(), precision) + ": " + &most,
        ));
    }
    parts.extend(unjudged::uncounted(report).map(|text| ("not counted", text)));
    parts
}

/// `3,011 of 3,046 checked calls are needless, about 1.6 ms, 25.9 % of the CPU time; perhaps
/// 12 more, up to about 20 µs; 8 not explained`.
pub(crate) fn in_short(report: &Report<'_>) -> String {
    let account = &report.document.account;
    let with_time = |text: String, amount: Amount, precision| match amount.time_ns() {
        Some(ns) if ns > 0 => format!("{text}, {}", time(report, ns, precision)),
        _ => text,
    };
    let (certain, uncertain) = (account.certain(), account.uncertain());
    let are = if certain.calls == 1 { "is" } else { "are" };
    let text = format!("{} of {} {are} needless", number(certain.calls), calls(report));
    let mut text = with_time(text, certain, Precision::of(account.estimated));
    if uncertain.calls > 0 {
        let more = format!("; perhaps {} more", number(uncertain.calls));
        text += &with_time(more, uncertain, Precision::AtMost);
    }
    text + &not_explained(report) + &unjudged::beside_findings(report)
}

/// `, 1,141 of them failed lgetxattr calls (ENODATA)`: of the calls that are not explained, the first kind that is worth a
/// line; nothing if there is none.
pub(crate) fn most_not_explained(report: &Report<'_>) -> String {
    let (shown, _) = unexplained(report);
    let kind =
        |line: &&ReportUnexplained| format!(", {} of them {}", number(line.calls), what(line));
    shown.first().map_or_else(String::new, kind)
}

/// `; 8 not explained`; nothing if each call is.
pub(crate) fn not_explained(report: &Report<'_>) -> String {
    match report.document.account.unexplained.calls {
        0 => String::new(),
        calls => format!("; {} not explained", number(calls)),
    }
}

/// `299,999 calls, about 0.7 s, 70 % of the CPU time`.
fn amount(report: &Report<'_>, amount: Amount, precision: Precision) -> String {
    let calls = count(amount.calls, "call", "calls");
    match amount.time_ns().filter(|ns| *ns > 0) {
        Some(ns) => format!("{calls}, {}", time(report, ns, precision)),
        None => calls,
    }
}

/// What a finding saves, where it is known: `about 92 ms, 81 % of the CPU time`.
pub(crate) fn saved(report: &Report<'_>, finding: &ReportFinding) -> Option<String> {
    Some(time(report, finding.amount().time_ns()?, Precision::of_finding(finding)))
}

/// Which part of [`saved`] is the program's own work, or that it is not known: ` (kernel time only)`.
pub(crate) fn of_saved(finding: &ReportFinding) -> String {
    match finding.user_us {
        Some(us) => format!(" ({} of it the program's own work, an estimate)", duration(us.0)),
        None => " (kernel time only)".to_owned(),
    }
}

/// `about 0.7 s, 70 % of the CPU time`; of a core for a window. Without a share where look-ups waited: the time of a call
/// that names a path is from its entry to its return.
pub(crate) fn time(report: &Report<'_>, ns: u64, precision: Precision) -> String {
    let (scale, about) = (report.document.scale(), precision.words());
    let of = if scale.is_window() { "of a core" } else { "of the CPU time" };
    let waited = time::of_waiting_look_ups(report) > ns / 10;
    match scale.share(ns).filter(|_| !waited) {
        Some(share) => format!("{about}{}, {} {of}", duration(ns), part(&scale, share)),
        None => format!("{about}{}", duration(ns)),
    }
}

/// The unexplained calls that are worth a line, or all if the user asks for them; and how many kinds
/// are left out.
pub(crate) fn unexplained<'r>(report: &Report<'r>) -> (Vec<&'r ReportUnexplained>, usize) {
    let lines = &report.document.account.lines;
    if report.details.unexplained {
        return (lines.iter().collect(), 0);
    }
    let scale = report.document.scale();
    let matters = |amount: Amount| {
        let enough = amount.calls >= FEWEST || amount.kernel_ns.is_some_and(|ns| ns >= TIME);
        enough && !scale.is_small(amount)
    };
    let large = lines.iter().filter(|line| matters(line.amount()));
    let shown: Vec<&ReportUnexplained> = large.take(LINES).collect();
    let left_out = lines.len() - shown.len();
    (shown, left_out)
}

/// `ruby: 21,156 failed opens (ENOENT), 15,672 of them below /usr/share/ruby/; about 28 ms`.
pub(crate) fn line(report: &Report<'_>, line: &ReportUnexplained) -> String {
    in_a_line(line, report.document.account.estimated)
}

/// Calls that no rule explains, in a line. `estimated`: whether times are.
pub fn unexplained_line(line: &Unexplained, estimated: bool) -> String {
    in_a_line(&line.into(), estimated)
}

fn in_a_line(line: &ReportUnexplained, estimated: bool) -> String {
    let mut text = escape(&line.program).into_owned();
    if line.processes > 1 {
        text += &format!(" ({} processes)", number(line.processes));
    }
    text += &format!(": {} {}", number(line.calls), what(line));
    if let Some((place, n)) = line.place.as_ref().zip(line.place_calls) {
        let some = if n == line.calls { String::new() } else { number(n) + " of them " };
        let of = if place.ends_with('/') { "below" } else { "of" };
        text += &format!(", {some}{of} {}", escape(place));
    }
    if let Some(us) = line.kernel_us {
        text += &format!("; {}{}", Precision::of(estimated).words(), duration(us.0));
    }
    if let Some(from) = unjudged::from(&line.site, line.site_samples.zip(line.samples)) {
        text += &format!("; {from}");
    }
    text
}

/// `failed opens (ENOENT)`, `readlinks on non-links (EINVAL)`, `stats that ask again`.
fn what(line: &ReportUnexplained) -> String {
    let (one, query) = (line.calls == 1, line.query());
    let noun = match query {
        Query::Change | Query::OtherPath | Query::NoPath => {
            escape(&line.call).into_owned() + " call"
        }
        query => query.verb().to_owned(),
    };
    let noun = match (one, query) {
        (true, _) => noun,
        (false, Query::Access) => noun + "es",
        (false, _) => noun + "s",
    };
    match (query, &line.error) {
        (_, Some(name)) => match (query, Errno::of_name(name).name()) {
            (Query::Readlink, "EINVAL") => format!("{noun} on non-links (EINVAL)"),
            (_, "ENODATA") => format!("{noun} for what is not there (ENODATA)"),
            (_, "ENOTTY") => format!("{noun} on non-terminals (ENOTTY)"),
            (_, "EAGAIN") => format!("{noun} that had nothing to do yet (EAGAIN)"),
            (_, name) => format!("failed {noun} ({name})"),
        },
        (Query::Open, None) => format!("further {noun} of the same files"),
        (_, None) if line.call == "sched_yield" => {
            format!("{noun}: a loop that waits without sleeping")
        }
        (_, None) => format!("{noun} that {} again", if one { "asks" } else { "ask" }),
    }
}
