//! All calls by service, program, function and call, each with what became of it: for pictures.

use crate::document::{PartKind, ReportPart};
use crate::json::Micros;
use crate::stacks::{Weight, shares};
use needless_model::{CallSite, Profile, Row};
use needless_rules::{Account, Fate};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// So many parts are kept apart; of the others those of one program are one part.
const PARTS: usize = 240;
/// So many programs have such a part; the others are one.
const OTHERS: usize = 40;

/// What became of calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// They are known to be needed.
    Needed,
    /// This rule says that they are needless.
    Needless(String),
    /// They failed or got no new answer, and no rule explains it.
    Unexplained,
    /// No rule looked at them.
    Unjudged,
}

/// Where calls come from, from the outside to the inside; `None` where it is not known, or where calls of several
/// places are one part.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    service: Option<String>,
    program: Option<String>,
    site: Option<String>,
    call: Option<String>,
}

type Sums = BTreeMap<(Origin, Cause), Weight>;

/// The parts, those with most calls first. Their sum is that of the account.
pub(crate) fn breakdown(profile: &Profile, account: &Account) -> Vec<ReportPart> {
    let mut fates: Vec<Vec<(Cause, u64)>> = vec![Vec::new(); profile.rows.len()];
    for share in &account.shares {
        let cause = match share.fate {
            Fate::Needless(at) => Cause::Needless(account.claims[at].rule.to_string()),
            Fate::Unexplained => Cause::Unexplained,
            Fate::Unjudged => Cause::Unjudged,
        };
        fates[share.row].push((cause, share.calls));
    }
    let titles: Vec<String> =
        profile.processes.iter().map(needless_model::Process::title).collect();
    let mut sums = Sums::new();
    for (row, mut fates) in profile.rows.iter().zip(fates) {
        let known: u64 = fates.iter().map(|(_, calls)| calls).sum();
        fates.push((Cause::Needed, row.count.saturating_sub(known)));
        let title = &titles[row.process.index()];
        let service = profile.process(row.process).service.clone();
        let origin = |site| Origin {
            service: service.clone().filter(|service| service != title),
            program: Some(title.clone()),
            site,
            call: Some(profile.call(row).to_owned()),
        };
        let calls: Vec<u64> = fates.iter().map(|(_, calls)| *calls).collect();
        let all = Weight { calls: row.count, kernel_ns: row.kernel_ns };
        for ((cause, _), weight) in fates.into_iter().zip(all.split(&calls)) {
            for (site, weight) in by_site(row, weight) {
                if weight.calls > 0 {
                    *sums.entry((origin(site), cause.clone())).or_default() += weight;
                }
            }
        }
    }
    let sums = limited(sums, PARTS, |origin| Origin { site: None, call: None, ..origin });
    let mut parts: Vec<ReportPart> = sums.into_iter().map(part).collect();
    parts.sort_by_key(|part| Reverse(part.calls));
    parts
}

fn part(((origin, cause), weight): ((Origin, Cause), Weight)) -> ReportPart {
    let Origin { service, program, site, call } = origin;
    let (kind, rule) = match cause {
        Cause::Needed => (PartKind::Needed, None),
        Cause::Needless(rule) => (PartKind::Needless, Some(rule)),
        Cause::Unexplained => (PartKind::Unexplained, None),
        Cause::Unjudged => (PartKind::Unjudged, None),
    };
    let kernel_us = (weight.kernel_ns > 0).then_some(Micros(weight.kernel_ns));
    ReportPart { service, program, site, call, kind, rule, calls: weight.calls, kernel_us }
}

/// Shares calls of a row out among its sampled sites.
fn by_site(row: &Row, weight: Weight) -> Vec<(Option<String>, Weight)> {
    let shares = shares(row, weight).into_iter();
    shares.map(|(site, weight)| (site.map(CallSite::to_string), weight)).collect()
}

/// Keeps the `most` largest and folds the others: those of one program, and of the programs that then are too many, all.
fn limited(sums: Sums, most: usize, fold: impl Fn(Origin) -> Origin) -> Sums {
    let largest = |sums: Sums, most: usize| {
        let mut all: Vec<_> = sums.into_iter().collect();
        all.sort_by_key(|(_, weight)| Reverse(weight.calls));
        let rest = all.split_off(most.min(all.len()));
        (all, rest)
    };
    let (mut kept, rest) = largest(sums, most);
    let mut folded = Sums::new();
    for ((origin, cause), weight) in rest {
        *folded.entry((fold(origin), cause)).or_default() += weight;
    }
    let (programs, rest) = largest(folded, OTHERS);
    kept.extend(programs);
    let mut sums: Sums = kept.into_iter().collect();
    for ((_, cause), weight) in rest {
        let origin = Origin { service: None, program: None, site: None, call: None };
        *sums.entry((origin, cause)).or_default() += weight;
    }
    sums
}
