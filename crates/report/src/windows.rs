//! Several windows over the same processes, one after the other.

use crate::document::{ReportFinding, SourceKind};
use crate::html::icicle::Palette;
use crate::text::number;
use crate::{ReportDocument, Table, per_second};
use needless_model::Stage;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What became of the calls of each window.
pub struct Timeline {
    pub(crate) windows: Vec<Window>,
    /// The rules of all windows, those with most calls first.
    pub(crate) rules: Vec<String>,
    /// Of the last report.
    pub(crate) version: String,
}

/// The calls of a window; the parts are all of them.
pub(crate) struct Window {
    /// The name of its file.
    pub(crate) name: String,
    pub(crate) length_ns: u64,
    pub(crate) calls: u64,
    pub(crate) needed: u64,
    pub(crate) unexplained: u64,
    pub(crate) unjudged: u64,
    pub(crate) needless: Part,
    /// Those of findings whose cause was not looked up.
    pub(crate) perhaps: Part,
    /// Whether every call was counted, and nothing was lost.
    is_complete: bool,
}

/// Calls that findings name.
pub(crate) struct Part {
    pub(crate) calls: u64,
    /// Of these, by rule, those of findings that the report shows.
    pub(crate) by_rule: BTreeMap<String, u64>,
}

impl Part {
    fn of(calls: u64, rules: impl Iterator<Item = (String, u64)>) -> Part {
        let (mut left, mut by_rule) = (calls, BTreeMap::new());
        for (rule, calls) in rules {
            let calls = calls.min(left);
            left -= calls;
            *by_rule.entry(rule).or_default() += calls;
        }
        Part { calls, by_rule }
    }
}

impl Timeline {
    /// Of reports in the order of time, each with the name of its file.
    ///
    /// # Errors
    /// When a report is not of a window, or some are of the whole machine and others not; the message names it.
    pub fn of(reports: &[(String, ReportDocument)]) -> Result<Timeline, String> {
        let windows: Vec<Window> =
            reports.iter().map(|(name, report)| window(name, report)).collect::<Result<_, _>>()?;
        let is_host = |report: &ReportDocument| report.source.kind == SourceKind::Host;
        let other = reports.iter().find(|(_, report)| is_host(report) != is_host(&reports[0].1));
        if let Some((name, _)) = other {
            return Err(format!(
                "{name}: of another kind than {}: name reports of host, or of attach",
                reports[0].0
            ));
        }
        // One report has less than a quarter of what a sum can have.
        let all: u128 =
            windows.iter().map(|window| u128::from(window.calls.max(window.length_ns))).sum();
        if u64::try_from(all).is_err() {
            return Err("not reports of needless: their numbers are too large together".to_owned());
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let parts = windows.iter().flat_map(|window| [&window.needless, &window.perhaps]);
        for (rule, calls) in parts.flat_map(|part| &part.by_rule) {
            *sums.entry(rule).or_default() += calls;
        }
        let mut rules: Vec<(&str, u64)> = sums.into_iter().collect();
        rules.sort_by_key(|(_, calls)| Reverse(*calls));
        let rules = rules.into_iter().map(|(rule, _)| rule.to_owned()).collect();
        let version =
            reports.last().map_or("", |(_, report)| report.needless_version.as_str()).to_owned();
        Ok(Timeline { windows, rules, version })
    }

    pub(crate) fn palette(&self) -> Palette {
        Palette::of(self.rules.clone())
    }

    /// What each window has, and their sum.
    pub(crate) fn table(&self) -> Table {
        let heads = [
            "window",
            "seconds",
            "calls",
            "calls per second",
            "needed",
            "needless",
            "perhaps",
            "not explained",
            "not judged",
        ];
        let columns = heads.iter().map(|name| ((*name).to_owned(), *name != "window"));
        let row = |name: &str, windows: &[Window]| {
            let sum = |part: fn(&Window) -> u64| windows.iter().map(part).sum::<u64>();
            let length = sum(|window| window.length_ns);
            let calls = sum(|window| window.calls);
            vec![
                name.to_owned(),
                format!("{:.1}", length as f64 / 1e9),
                number(calls),
                per_second(calls, length),
                number(sum(|window| window.needed)),
                number(sum(|window| window.needless.calls)),
                number(sum(|window| window.perhaps.calls)),
                number(sum(|window| window.unexplained)),
                number(sum(|window| window.unjudged)),
            ]
        };
        let each =
            self.windows.iter().map(|window| row(&window.name, std::slice::from_ref(window)));
        let rows = each.chain([row("all", &self.windows)]).collect();
        let lost = self.windows.iter().filter(|window| !window.is_complete);
        let lost: Vec<&str> = lost.map(|window| window.name.as_str()).collect();
        let note = match &lost[..] {
            [] => String::new(),
            names => format!("Not everything was counted: {}.", names.join(", ")),
        };
        Table { columns: columns.collect(), rows, note, ..Table::default() }
    }

    /// `3 windows`.
    pub(crate) fn title(&self) -> String {
        format!("{} windows", self.windows.len())
    }
}

fn window(name: &str, report: &ReportDocument) -> Result<Window, String> {
    let length_ns = report.window_ns().ok_or_else(|| {
        format!("{name}: not a report of a window with a length: several files are shown only of attach and host")
    })?;
    let account = &report.account;
    let by_rule = |seen: bool| {
        let belongs = move |one: &&ReportFinding| (one.stage() == Stage::Seen) == seen;
        report.findings.iter().filter(belongs).map(|finding| {
            let besides = u64::try_from(finding.besides).unwrap_or(0);
            (finding.rule_name(), finding.needless + besides)
        })
    };
    Ok(Window {
        name: name.to_owned(),
        length_ns,
        calls: account.calls,
        needed: account.needed(),
        unexplained: account.unexplained.calls,
        unjudged: account.unjudged.calls,
        needless: Part::of(account.certain().calls, by_rule(false)),
        perhaps: Part::of(account.uncertain().calls, by_rule(true)),
        is_complete: report.is_whole(),
    })
}
