//! The calls at which no rule looked, in words, and those that were not counted: a report that finds nothing says of how
//! much it knows nothing.

use crate::document::{ReportDocument, ReportUnjudged};
use crate::text::{count, duration, escape, number, percent};
use crate::{Report, account, per_second};

/// So many kinds are named.
const KINDS: usize = 3;
/// A kind has at least this part of these calls, or its number says nothing.
const PART: f64 = 0.05;
/// In a run that is shorter, nanoseconds, a rate says nothing.
const SECOND: u64 = 1_000_000_000;

/// What every format says where there is no finding.
pub(crate) fn nothing_found(report: &Report<'_>) -> &'static str {
    let document = report.document;
    match &document.checked {
        Some(chosen) if chosen.rules == 0 => "none of the chosen rules could be checked",
        _ if document.account.is_mostly_unjudged() => "most calls are not judged",
        _ if document.uncounted_kernel_s.is_some() => {
            "nothing needless among the calls that name a path; the others are not counted"
        }
        _ => "nothing needless found",
    }
}

/// `nothing needless found in 1,234 calls`, `… in 12 calls that name a path`; where rules looked at fewer than half of them:
/// `82,402 calls, most not judged: 41,200 poll (17,503 a second), 41,199 kill; 98 % of a processor`.
pub(crate) fn nothing_in_calls(report: &Report<'_>) -> String {
    let document = report.document;
    let calls = account::calls(report);
    let chosen = document.checked.as_ref().is_none_or(|chosen| chosen.rules > 0);
    match () {
        () if chosen && document.account.is_mostly_unjudged() => {
            format!("{calls}, {}", most(report))
        }
        () if chosen && document.uncounted_kernel_s.is_some() => {
            let paths = number(document.totals.path_calls);
            format!(
                "counts only calls that name a path: {paths}, nothing needless among them{}{}",
                all_counts(report),
                busy(document, None)
            )
        }
        () if chosen && document.is_of_paths() => {
            let paths = document.totals.path_calls;
            let calls = count(paths, "call that names a path", "calls that name a path");
            format!("{} in {calls}", nothing_found(report))
        }
        () => format!("{} in {calls}", nothing_found(report)),
    }
}

/// `most not judged: 41,200 poll (17,503 a second), 41,199 kill; 98 % of a processor`.
pub(crate) fn most(report: &Report<'_>) -> String {
    let document = report.document;
    let kinds = shown(document).enumerate().map(|(at, kind)| {
        let rate = rate(document, kind).filter(|_| at == 0);
        let rate = rate.map_or_else(String::new, |rate| format!(" ({rate})"));
        format!("{} {}{rate}", number(kind.calls), escape(&kind.call))
    });
    let kinds: Vec<String> = kinds.collect();
    let busy = busy(document, document.account.unjudged_kinds.first());
    format!("most not judged: {}{busy}", kinds.join(", "))
}

/// The same beside findings, and that calls are not counted; nothing where rules looked at most calls.
pub(crate) fn beside_findings(report: &Report<'_>) -> String {
    match report.document.account.is_mostly_unjudged() {
        true => format!("; {}", most(report)),
        false => all_counts(report),
    }
}

fn all_counts(report: &Report<'_>) -> String {
    let uncounted = report.document.uncounted_kernel_s.is_some();
    if uncounted { "; --all counts every call".to_owned() } else { String::new() }
}

/// `41,200 poll (50.0 %, 17,503 a second, from p+0x10a8), 41,199 kill (…)`.
pub(crate) fn kinds(report: &Report<'_>) -> String {
    let document = report.document;
    let kind = |kind: &ReportUnjudged| {
        let share = kind.calls as f64 / document.account.calls.max(1) as f64;
        let mut about = vec![percent(share.min(1.0))];
        about.extend(rate(document, kind));
        about.extend(from(&kind.site, kind.site_samples.zip(kind.samples)));
        format!("{} {} ({})", number(kind.calls), escape(&kind.call), about.join(", "))
    };
    shown(document).map(kind).collect::<Vec<_>>().join("; ")
}

/// `0.8 s in the kernel is of calls that are not counted: --all counts every call`.
pub(crate) fn uncounted(report: &Report<'_>) -> Option<String> {
    let time = duration(report.document.uncounted_kernel_s?.0);
    Some(format!("{time} in the kernel is not that of these calls: --all counts every call"))
}

/// `from main+0x10`, `from main+0x10 (300 of 400 samples)`.
pub(crate) fn from(site: &Option<String>, samples: Option<(u64, u64)>) -> Option<String> {
    let site = escape(site.as_ref()?);
    Some(match samples.filter(|(these, of)| these < of) {
        Some((these, of)) => format!("from {site} ({} of {} samples)", number(these), number(of)),
        None => format!("from {site}"),
    })
}

fn shown(document: &ReportDocument) -> impl Iterator<Item = &ReportUnjudged> {
    let all = &document.account.unjudged_kinds;
    let sum = document.account.unjudged.calls;
    all.iter().take(KINDS).filter(move |kind| kind.calls as f64 >= PART * sum as f64)
}

/// `17,503 a second`, of a window or a run that is long enough.
fn rate(document: &ReportDocument, kind: &ReportUnjudged) -> Option<String> {
    let length = document.length_ns().filter(|ns| *ns >= SECOND).or(document.window_ns())?;
    Some(format!("{} a second", per_second(kind.calls, length)))
}

/// `; 98 % of a processor`, where the process with most CPU time runs the program that made most of these calls.
fn busy(document: &ReportDocument, of: Option<&ReportUnjudged>) -> String {
    let same = |program: &str| of.is_none_or(|kind| kind.program == program);
    match document.account.busy.as_ref().filter(|busy| same(&busy.program)) {
        Some(busy) => {
            let share = busy.cpu_s.0 as f64 / busy.life_s.0.max(1) as f64;
            format!("; {:.0} % of a processor", share * 100.0)
        }
        None => String::new(),
    }
}
