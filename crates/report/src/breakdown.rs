//! All calls by service, program, function and call, each with what became of it: for pictures.

use crate::Report;
use crate::stacks::{Weight, shares};
use needless_model::{CallSite, Row};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// So many parts are kept apart; of the others those of one program are one part.
const PARTS: usize = 240;
/// So many programs have such a part; the others are one.
const OTHERS: usize = 40;

/// What became of calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Nothing is known against them.
    Needed,
    /// This rule says that they are needless.
    Needless(String),
    /// They failed or got no new answer, and no rule explains it.
    Unexplained,
}

/// Where calls come from, from the outside to the inside; `None` where it is not known, or where calls of several
/// places are one part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    /// The service, where services were looked up.
    pub(crate) service: Option<String>,
    /// The program.
    pub(crate) program: Option<String>,
    /// The place in the program, where sampled.
    pub(crate) site: Option<String>,
    /// The kernel's name of the call.
    pub(crate) call: Option<String>,
}

/// Calls of one origin with one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) origin: Origin,
    pub(crate) cause: Cause,
    pub(crate) weight: Weight,
}

type Sums = BTreeMap<(Origin, Cause), Weight>;

/// The parts, those with most calls first. Their sum is that of the account.
pub(crate) fn breakdown(report: &Report<'_>) -> Vec<Part> {
    let profile = report.profile;
    let mut fates: Vec<Vec<(Cause, u64)>> = vec![Vec::new(); profile.rows.len()];
    let account = &report.verdict.account;
    for share in &account.shares {
        let cause = match share.claim {
            Some(at) => Cause::Needless(account.claims[at].rule.to_string()),
            None => Cause::Unexplained,
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
    let parts = sums.into_iter().map(|((origin, cause), weight)| Part { origin, cause, weight });
    let mut parts: Vec<Part> = parts.collect();
    parts.sort_by_key(|part| Reverse(part.weight.calls));
    parts
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
