//! Two captures compared, and what several formats of a comparison share.

use crate::diff::json::{DiffDocument, DiffRate, DiffSide};
use crate::proof::json::ChangedRow;
use crate::text::{duration, escape, number};
use needless_model::{Compared, PROVEN_FALL, Snapshot, compare};

/// How many rows of each kind are shown to a person.
pub(crate) const SHOWN: usize = 10;

/// Two captures to compare.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// The earlier capture.
    pub before: &'a Snapshot,
    /// The later one.
    pub after: &'a Snapshot,
    /// Whether these are windows over a service before and after a change, to be judged.
    pub service: bool,
}

impl Difference<'_> {
    /// Whether the calls fell by every measure that both captures have, or per request if requests are counted.
    pub fn proven(&self) -> bool {
        let measures = compare(self.before, self.after);
        let whole = self.before.complete == self.after.complete;
        match measures.iter().find(|measure| measure.per == "request") {
            Some(request) => whole && request.fell(),
            None => whole && !measures.is_empty() && measures.iter().all(Compared::fell),
        }
    }
}

/// Groups the rows: new, gone, with more calls, with fewer calls.
pub(crate) fn kinds(rows: &[ChangedRow]) -> [(&'static str, Vec<&ChangedRow>); 4] {
    let kind = |is: fn(&ChangedRow) -> bool| rows.iter().filter(|row| is(row)).collect();
    [
        ("came", kind(|row| row.before == 0)),
        ("went", kind(|row| row.after == 0)),
        ("grew", kind(|row| row.before > 0 && row.after > row.before)),
        ("shrank", kind(|row| row.after > 0 && row.after < row.before)),
    ]
}

/// The sentences before the figures.
pub(crate) fn head(difference: &DiffDocument) -> Vec<String> {
    let DiffDocument { before, after, proven, rates, .. } = difference;
    let mut lines = Vec::new();
    if let Some(proven) = *proven {
        let word = if proven { "proven" } else { "not proven" };
        lines.push(format!("needless prove: {word}: {}", why(proven, rates)));
    }
    let of = |one: &DiffSide| {
        let window = one.window_s.map(|length| format!(" in {}", duration(length.0)));
        let window = window.unwrap_or_default();
        format!("{} calls{window} ({})", number(one.calls), escape(&one.name))
    };
    lines.push(format!("before: {}", of(before)));
    lines.push(format!("after:  {}", of(after)));
    if before.complete != after.complete {
        lines.push("One of them counted every call and the other only those that rules need: totals cannot be compared.".into());
    }
    for one in [before, after] {
        if !one.all_rows {
            lines.push(format!("{} is a report, which keeps only the rows that its findings are about: --format profile keeps all.", escape(&one.name)));
        }
        let lost = one.lost.values().fold(0, |sum: u64, n| sum.saturating_add(*n));
        if lost > 0 {
            lines.push(format!("{}: {} calls or lines were lost", escape(&one.name), number(lost)));
        }
    }
    lines
}

fn why(proven: bool, rates: &[DiffRate]) -> String {
    let least = PROVEN_FALL * 100.0;
    let by = match rates.iter().find(|measure| measure.per == "request") {
        Some(_) => "per request",
        None => {
            "per second and, where known, per second of CPU; the load may have been different: --per COMMAND counts requests"
        }
    };
    let fell = if proven { "fell" } else { "did not fall" };
    format!(
        "calls {fell} by {least:.0} % or more {by}. There is one window of each, so chance is not computed."
    )
}

/// The rates of a shorter observation say more about how a program starts than about how it runs.
const LEAST_WINDOW: u64 = 1_000_000_000;
/// [`DiffRate::per`] of sums, which are not rates.
pub(crate) const IN_ALL: &str = "in all";

/// The rates of two windows over a service; of other captures the sums, and rates if both captures are long
/// enough.
pub(crate) fn figures(difference: &DiffDocument) -> Vec<DiffRate> {
    let DiffDocument { before, after, .. } = difference;
    let mut figures = difference.rates.clone();
    if difference.proven.is_some() {
        return figures;
    }
    let short = |one: &DiffSide| one.window_s.is_some_and(|length| length.0 < LEAST_WINDOW);
    if short(before) || short(after) {
        figures.retain(|figure| figure.per == "request");
    }
    if before.complete == after.complete {
        let (before, after) = (before.calls as f64, after.calls as f64);
        let all = DiffRate { per: IN_ALL.to_owned(), before, after };
        figures.insert(0, all);
    }
    figures
}

pub(crate) fn values(DiffRate { per, before, after }: &DiffRate) -> [String; 2] {
    [*before, *after].map(|n| if per == IN_ALL { number(n as u64) } else { format!("{n:.2}") })
}

/// `497.50 → 0.27 calls per second (-99.9 %)`.
pub(crate) fn rate(compared: &DiffRate) -> String {
    let DiffRate { per, before, after } = compared;
    let change = if *before > 0.0 {
        format!(" ({:+.1} %)", (after / before - 1.0) * 100.0)
    } else {
        String::new()
    };
    let [was, is] = values(compared);
    let of =
        if per == IN_ALL { String::from("calls") } else { format!("calls per {}", escape(per)) };
    format!("{was} → {is} {of}{change}")
}
