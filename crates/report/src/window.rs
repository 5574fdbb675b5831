//! Reports of a window over many processes (`attach`, `host`): its length, rates per second, and services ranked
//! by the cost of their needless calls.

use crate::text::{count, duration, escape, number, percent};
use crate::{Report, Source, summary};
use needless_model::{Evidence, Finding, Process, Profile, Query, Spawn, Totals};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Findings of one service.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// Its name; `None` where no service is known.
    pub(crate) service: Option<&'a str>,
    /// Never empty; in the order of the verdict.
    pub(crate) findings: Vec<&'a Finding>,
}

/// Whether the source is a window of time over processes that run before and after it.
pub(crate) fn is_window(source: &Source) -> bool {
    match source {
        Source::Attach(_) | Source::Host => true,
        Source::Run(_) | Source::Log(_) => false,
    }
}

/// Length of the window in nanoseconds; `None` if there are no rates: the source is not a window, or its length is
/// not known or zero.
pub(crate) fn length(report: &Report<'_>) -> Option<u64> {
    let length = is_window(&report.source).then_some(report.profile.window.length_ns)?;
    length.filter(|ns| *ns > 0)
}

/// `497 per second`: `n` in a window of `length` nanoseconds. Never rounded up.
pub(crate) fn rate(n: u64, length: u64) -> String {
    let tenths = u128::from(n) * 10_000_000_000 / u128::from(length);
    match u64::try_from(tenths).unwrap_or(u64::MAX) {
        0 if n > 0 => "less than 0.1 per second".to_owned(),
        few @ 0..100 => format!("{}.{} per second", few / 10, few % 10),
        many => format!("{} per second", number(many / 10)),
    }
}

/// Findings by service, and how many services the report does not show. The service whose needless calls cost
/// most kernel time comes first; of equal ones, the service with most needless calls.
pub(crate) fn groups<'a>(report: &Report<'a>) -> (Vec<Group<'a>>, usize) {
    let mut by_service: BTreeMap<Option<&str>, Vec<&Finding>> = BTreeMap::new();
    for finding in &report.verdict.findings {
        by_service.entry(finding.service.as_deref()).or_default().push(finding);
    }
    let to_group = |(service, findings)| Group { service, findings };
    let mut groups: Vec<Group<'_>> = by_service.into_iter().map(to_group).collect();
    groups.sort_by_key(|group| (Reverse(group.kernel_ns()), Reverse(group.needless())));
    let shown = report.top.filter(|top| *top > 0).unwrap_or(groups.len());
    let left_out = groups.len().saturating_sub(shown);
    groups.truncate(shown);
    (groups, left_out)
}

/// How many services with findings are not shown; `None` if all are.
pub(crate) fn left_out(report: &Report<'_>) -> Option<String> {
    let services = if is_window(&report.source) { groups(report).1 } else { 0 };
    let more = count(services as u64, "more service", "more services");
    (services > 0).then(|| format!("{more} with findings: --top 0 shows all"))
}

impl Group<'_> {
    fn needless(&self) -> u64 {
        self.findings.iter().map(|finding| finding.needless).sum()
    }

    /// Kernel time of those needless calls for which it is known.
    fn kernel_ns(&self) -> Option<u64> {
        self.findings.iter().filter_map(|finding| finding.kernel_ns).reduce(|a, b| a + b)
    }

    /// `dnsmasq.service`.
    pub(crate) fn name(&self, profile: &Profile) -> String {
        if let Some(name) = self.service {
            return escape(name).into_owned();
        }
        if profile.processes.iter().any(|process| process.service.is_some()) {
            "processes of no known service".to_owned()
        } else {
            "all processes".to_owned()
        }
    }

    /// The owner of the calls that its shares refer to.
    pub(crate) fn whose(&self) -> &'static str {
        if self.service.is_some() { "this service's" } else { "these processes'" }
    }

    /// `4,975 needless calls, 497 per second, about 0.5 % of a core`.
    pub(crate) fn cost(&self, length: Option<u64>) -> String {
        let needless = self.needless();
        let calls = count(needless, "needless call", "needless calls");
        let calls = match length {
            Some(length) => format!("{calls}, {}", rate(needless, length)),
            None => calls,
        };
        let Some(ns) = self.kernel_ns() else { return calls };
        let time = match length {
            Some(length) => cores(ns as f64 / length as f64),
            None => format!("{} in the kernel", duration(ns)),
        };
        if self.findings.iter().any(|finding| finding.kernel_ns.is_none()) {
            return format!("{calls}, {time} as far as known");
        }
        let estimated = self.findings.iter().any(|finding| finding.estimated);
        let about = if estimated && !time.starts_with("less") { "about " } else { "" };
        format!("{calls}, {about}{time}")
    }
}

/// `0.5 % of a core`, `2.5 cores`.
fn cores(cores: f64) -> String {
    match cores {
        little if little < 0.001 => "less than 0.1 % of a core".to_owned(),
        part if part < 0.9995 => format!("{} of a core", percent(part)),
        one if one < 1.05 => "1 core".to_owned(),
        many => format!("{many:.1} cores"),
    }
}

/// `14,925 stats of /etc/localtime in 30 s, 497 per second`: the most frequent call of a
/// finding; the first of several.
pub(crate) fn frequency(finding: &Finding, length: u64) -> Option<String> {
    let evidence = finding.evidence.iter().rev().max_by_key(|evidence| evidence.count)?;
    let rate = rate(evidence.count, length);
    Some(format!("{} in {}, {rate}", calls_of(evidence), duration(length)))
}

/// `14,925 stats of /etc/localtime`, `24 failed opens of /x`, `2,000 fstat calls`.
fn calls_of(evidence: &Evidence) -> String {
    let call = escape(&evidence.call);
    let (one, many) = match Query::of(&evidence.call) {
        query @ (Query::Stat | Query::Lstat | Query::Open | Query::Readlink | Query::Exec) => {
            (query.verb().to_owned(), query.verb().to_owned() + "s")
        }
        Query::OpenWrite => ("open".to_owned(), "opens".to_owned()),
        Query::Access => ("access".to_owned(), "accesses".to_owned()),
        Query::Change | Query::OtherPath | Query::NoPath => {
            (format!("{call} call"), format!("{call} calls"))
        }
    };
    let word = if evidence.count == 1 { one } else { many };
    let failed = match evidence.outcome.as_str() {
        "ok" | "not seen" => "",
        _ => "failed ",
    };
    let of = match evidence.path.as_str() {
        "" => String::new(),
        path => format!(" of {}", escape(path)),
    };
    format!("{} {failed}{word}{of}", number(evidence.count))
}

/// `214 processes`.
fn processes(profile: &Profile) -> String {
    // A process that execs is one process to users, and two to a profile; pid 0 stands for no process.
    let execs = |process: &Process| {
        let before = process.parent.map(|id| profile.process(id).pid);
        process.born == Spawn::Exec && before == Some(process.pid)
    };
    let all = profile.processes.iter().filter(|process| process.pid != 0 && !execs(process));
    count(all.count() as u64, "process", "processes")
}

/// `214 processes in 31 services`; without services if none is known.
fn in_services(profile: &Profile) -> String {
    let services: BTreeSet<&str> =
        profile.processes.iter().filter_map(|process| process.service.as_deref()).collect();
    let processes = processes(profile);
    match services.len() as u64 {
        0 => processes,
        n => format!("{processes} in {}", count(n, "service", "services")),
    }
}

/// `51,233 calls that name a path`.
fn path_calls(profile: &Profile) -> String {
    count(profile.totals.path_calls, "call that names a path", "calls that name a path")
}

/// `10 s, 214 processes in 31 services, 51,233 calls that name a path (5,123 per second)`.
pub(crate) fn extent(report: &Report<'_>) -> String {
    let profile = report.profile;
    let (processes, calls) = (in_services(profile), path_calls(profile));
    match length(report) {
        Some(ns) => {
            let rate = rate(profile.totals.path_calls, ns);
            format!("{}, {processes}, {calls} ({rate})", duration(ns))
        }
        None => format!("{processes}, {calls}"),
    }
}

/// `nothing needless found in 10 s: 214 processes, 51,233 calls that name a path`; or how much was
/// found.
pub(crate) fn found(report: &Report<'_>) -> String {
    let findings = &report.verdict.findings;
    let (processes, calls) = (processes(report.profile), path_calls(report.profile));
    let within = match length(report) {
        Some(ns) => format!("in {}: {processes}, {calls}", duration(ns)),
        None => format!("in {processes}, {calls}"),
    };
    if findings.is_empty() {
        return format!("{} {within}", summary::nothing_found(report.verdict));
    }
    let found = count(findings.len() as u64, "finding", "findings");
    format!("{found} {within}, {} needless", number(summary::needless(findings)))
}

/// How many calls each service made, for the shares within a service.
pub(crate) fn totals_by_service(profile: &Profile) -> BTreeMap<Option<&str>, Totals> {
    let mut sums: BTreeMap<Option<&str>, Totals> = BTreeMap::new();
    for row in &profile.rows {
        let sum = sums.entry(profile.process(row.process).service.as_deref()).or_default();
        sum.calls += row.count;
        sum.path_calls += if row.query.names_path() { row.count } else { 0 };
    }
    sums
}
