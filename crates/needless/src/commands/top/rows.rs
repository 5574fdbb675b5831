//! From the windows of the last minutes to the rows of the list.

use super::sample::{Cause, Item, Sample};
use crate::cli::Grouping;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// How many windows are kept.
pub(super) const KEPT: usize = 60;
/// How many of the last windows the figures of a row are about.
const RECENT: usize = 5;

/// The windows, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<Sample>);

/// Instead of a unit or program, in the row of all calls that no rule explains.
pub(super) const ALL: &str = "(all)";

/// What identifies a row while windows come and go: which unit or program it is about, and what to do.
pub(super) type Key = (String, String);

/// A row of the list.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: Key,
    /// Calls a second, of the last few windows.
    pub(super) calls_per_s: u64,
    /// Thousandths of a core, of the last few windows.
    pub(super) permille: f64,
    /// Calls a second of each window, oldest first.
    pub(super) series: Vec<u64>,
    /// What the last window with this row had, most expensive first. Never empty.
    pub(super) items: Vec<Item>,
}

impl Row {
    /// The names of the rules, most expensive first; none if no rule explains the calls.
    pub(super) fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = Vec::new();
        for item in &self.items {
            if let Cause::Finding(finding) = &item.cause
                && !rules.contains(&&*finding.rule)
            {
                rules.push(&finding.rule);
            }
        }
        rules
    }
}

/// What is known of all calls, of the last few windows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overall {
    pub(super) calls_per_s: u64,
    /// Shares of these.
    pub(super) needless: f64,
    pub(super) unexplained: f64,
    pub(super) unjudged: f64,
    pub(super) processes: u64,
    /// Cores that the processes used, and needless itself.
    pub(super) cores: f64,
    pub(super) own: f64,
    /// What was not seen in any of the windows that are kept.
    pub(super) lost: u64,
}

impl History {
    pub(super) fn add(&mut self, sample: Sample) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// How many windows there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn recent(&self) -> impl Iterator<Item = &Sample> {
        self.0.iter().rev().take(RECENT)
    }

    pub(super) fn overall(&self) -> Overall {
        let sum = |of: fn(&Sample) -> u64| self.recent().map(of).sum::<u64>();
        let (length, calls) = (sum(|s| s.length_ns).max(1), sum(|s| s.calls));
        let share = |n: u64| n as f64 / calls.max(1) as f64;
        Overall {
            calls_per_s: per_second(calls, length),
            needless: share(sum(|s| s.needless)),
            unexplained: share(sum(|s| s.unexplained)),
            unjudged: share(sum(|s| s.unjudged)),
            processes: self.0.back().map_or(0, |sample| sample.processes),
            cores: sum(|s| s.cpu_ns) as f64 / length as f64,
            own: sum(|s| s.own_ns) as f64 / length as f64,
            lost: self.0.iter().map(|sample| sample.lost).sum(),
        }
    }

    /// The rows whose texts contain `filter`, whatever its case, most expensive first. What no rule explains is one row,
    /// unless the user wants it `apart` or looks for something.
    pub(super) fn rows(&self, grouping: Grouping, filter: &str, apart: bool) -> Vec<Row> {
        let who = |item: &Item| match item.cause {
            Cause::Unexplained(_) if !apart && filter.is_empty() => ALL.to_owned(),
            _ => group(item, grouping),
        };
        let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
        let recent = self.recent().map(|sample| sample.length_ns).sum::<u64>().max(1);
        let first = self.len().saturating_sub(RECENT);
        for (at, sample) in self.0.iter().enumerate() {
            let mut here: BTreeMap<Key, Vec<&Item>> = BTreeMap::new();
            for item in &sample.items {
                here.entry((who(item), item.cause.words())).or_default().push(item);
            }
            for (key, mut items) in here {
                items.sort_by_key(|item| Reverse((item.ns, item.calls)));
                let calls: u64 = items.iter().map(|item| item.calls).sum();
                let row = rows.entry(key).or_insert_with_key(|key| Row {
                    key: key.clone(),
                    calls_per_s: 0,
                    permille: 0.0,
                    series: vec![0; self.len()],
                    items: Vec::new(),
                });
                row.series[at] = per_second(calls, sample.length_ns);
                if at >= first {
                    let ns: u64 = items.iter().map(|item| item.ns).sum();
                    row.permille += ns as f64 * 1000.0 / recent as f64;
                    row.calls_per_s += calls;
                }
                row.items = items.into_iter().cloned().collect();
            }
        }
        let filter = filter.to_lowercase();
        let matches = |row: &Row| {
            let (who, what) = &row.key;
            let programs = row.items.iter().map(|item| item.program.as_str());
            let texts =
                [who.as_str(), what.as_str()].into_iter().chain(row.rules()).chain(programs);
            texts.into_iter().any(|text| text.to_lowercase().contains(&filter))
        };
        let mut rows: Vec<Row> = rows.into_values().filter(matches).collect();
        for row in &mut rows {
            row.calls_per_s = per_second(row.calls_per_s, recent);
        }
        rows.sort_by(|one, other| {
            let cost = other.permille.total_cmp(&one.permille);
            cost.then(other.calls_per_s.cmp(&one.calls_per_s)).then(one.key.cmp(&other.key))
        });
        rows
    }
}

/// Whom an item is about.
fn group(item: &Item, grouping: Grouping) -> String {
    let service = item.service.as_deref();
    match grouping {
        Grouping::Unit => service.unwrap_or(&item.program).to_owned(),
        Grouping::Program => item.program.clone(),
        Grouping::Container => service
            .filter(|service| service.starts_with("container "))
            .unwrap_or("no container")
            .to_owned(),
    }
}

/// How many a second `n` in `length_ns` are; at least one if there are any.
fn per_second(n: u64, length_ns: u64) -> u64 {
    let rate = u128::from(n) * 1_000_000_000 / u128::from(length_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).max(u64::from(n > 0))
}

/// Bars of eight heights for a series, as many as `columns`: each stands for as many windows as it takes to show all
/// that can be kept, the newest at the right. The highest one has the full height.
pub(super) fn sparkline(series: &[u64], columns: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let each = KEPT.div_ceil(columns.max(1));
    // From the newest on.
    let rates: Vec<u64> =
        series.rchunks(each).map(|part| part.iter().sum::<u64>() / part.len() as u64).collect();
    let most = rates.iter().copied().max().unwrap_or(0).max(1);
    let height = |rate: u64| if rate == 0 { 0 } else { 1 + (rate * 7 / most) as usize };
    let bars: String = rates.iter().take(columns).rev().map(|rate| BARS[height(*rate)]).collect();
    let missing = columns.saturating_sub(rates.len());
    " ".repeat(missing) + &bars
}
