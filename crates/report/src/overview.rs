//! The overview of a report: a table with one line for each remedy, and the small ones.

use crate::columns::{print_item, print_lines};
use crate::document::{ReportFinding, ReportRemedy};
use crate::text::{Tint, count, cut, duration, escape, number, percent, row, wrap};
use crate::{Report, Style, summary};
use needless_model::{Change, Stage};
use needless_rules::{Amount, Scale, by_remedy};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// At most so many lines of the table where no option says how many: with the account and the last
/// lines they fit on a terminal of 24 lines.
const ROWS: usize = 8;
/// At most so many small ones are listed.
const SMALL: usize = 5;
/// Columns for the programs or services of a remedy, on a terminal of 80.
const WHO: usize = 24;
/// At least so many columns for the fix, if it is as long: the line of a table is then no longer than that of a
/// terminal of 80.
pub(crate) const FIX: usize = 16;
/// Columns before a fix that has lines of its own below its row.
const BELOW: usize = 10;
/// Two blanks between five columns.
const GAPS: usize = 8;

/// One remedy: what is found that it helps against.
pub(crate) struct Line<'a> {
    /// Most expensive first. Never empty.
    pub(crate) findings: Vec<&'a ReportFinding>,
    pub(crate) saves: Amount,
    pub(crate) precision: Precision,
}

/// What is known of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precision {
    Measured,
    /// The cost of such calls on this machine.
    Estimated,
    /// So much is saved at most: the cause was not looked up.
    AtMost,
}

impl Precision {
    /// Of an estimate or a measurement.
    pub(crate) fn of(estimated: bool) -> Precision {
        if estimated { Precision::Estimated } else { Precision::Measured }
    }

    /// Of what a finding saves.
    pub(crate) fn of_finding(finding: &ReportFinding) -> Precision {
        let estimated = finding.estimated || finding.user_us.is_some();
        match (finding.stage(), finding.kernel_us) {
            (_, None) => Precision::Measured,
            (Stage::Seen, Some(_)) => Precision::AtMost,
            (_, Some(_)) => Precision::of(estimated),
        }
    }

    fn of_lines(lines: &[Line<'_>]) -> Precision {
        lines.iter().map(|line| line.precision).max().unwrap_or(Precision::Measured)
    }

    /// The words before a time.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Precision::Measured => "",
            Precision::Estimated => "about ",
            Precision::AtMost => "up to about ",
        }
    }

    /// The sign before a time in a table.
    fn sign(self) -> &'static str {
        match self {
            Precision::Measured => "",
            Precision::Estimated => "~",
            Precision::AtMost => "≤",
        }
    }
}

/// The remedies of a report, most expensive first.
pub(crate) struct Overview<'a> {
    pub(crate) large: Vec<Line<'a>>,
    pub(crate) small: Vec<Line<'a>>,
}

impl<'a> Overview<'a> {
    pub(crate) fn of(report: &Report<'a>) -> Overview<'a> {
        let scale = report.document.scale();
        let lines = by_remedy(&report.document.findings).into_iter().map(|findings| Line {
            saves: scale.saves(&findings),
            precision: findings
                .iter()
                .map(|finding| Precision::of_finding(finding))
                .max()
                .unwrap_or(Precision::Measured),
            findings,
        });
        let (small, large) = lines.partition(|line| line.findings[0].small);
        Overview { large, small }
    }

    /// The lines of the table, and how many remedies it leaves out.
    pub(crate) fn shown(&self, report: &Report<'_>) -> (&[Line<'a>], usize) {
        let most = match report.top {
            _ if report.details.full => usize::MAX,
            Some(0) => usize::MAX,
            top => top.unwrap_or(ROWS),
        };
        let most = room_for_one_more(most, self.large.len());
        let shown = &self.large[..most];
        (shown, self.large.len() - shown.len())
    }

    /// The small remedies to list, and how many more there are.
    pub(crate) fn listed(&self, report: &Report<'_>) -> (&[Line<'a>], &[Line<'a>]) {
        let most = if report.details.full { usize::MAX } else { SMALL };
        let most = room_for_one_more(most, self.small.len());
        self.small.split_at(most)
    }

    /// Writes the table; nothing if there is no remedy that is not small.
    pub(crate) fn table(
        &self,
        out: &mut dyn Write,
        report: &Report<'_>,
        style: Style,
    ) -> io::Result<()> {
        let (shown, left_out) = self.shown(report);
        if shown.is_empty() {
            return Ok(());
        }
        let scale = report.document.scale();
        let mut cells = vec![[
            heading(&scale),
            "calls".to_owned(),
            "rule".to_owned(),
            "who".to_owned(),
            "fix".to_owned(),
        ]];
        for line in shown {
            cells.push([
                columns_of_time(&scale, line),
                number(line.saves.calls),
                line.rules(),
                String::new(),
                line.fix(),
            ]);
        }
        let widest = |cells: &[[String; 5]], at: usize| {
            cells.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)
        };
        let others = [0, 1, 2].map(|at| widest(&cells, at)).iter().sum::<usize>() + GAPS;
        let fix = widest(&cells, 4).min(FIX);
        let who = style.width.saturating_sub(others + fix).clamp(8, WHO);
        for (cells, line) in cells[1..].iter_mut().zip(shown) {
            cells[3] = cut(&line.who(who), who);
        }
        let widths: Vec<usize> = (0..5).map(|at| widest(&cells, at)).collect();
        let (text, fix) = row(&cells[0], &widths, style.width);
        writeln!(out, "{}{}", style.paint(Tint::Faint, &text), style.paint(Tint::Faint, &fix))?;
        // What does not fit into its column has lines of its own, as far as they fit on a small terminal.
        let full = report.details.full;
        let mut room = if full { usize::MAX } else { ROWS.saturating_sub(shown.len()) };
        for line in &cells[1..] {
            let (text, fix) = row(line, &widths, style.width);
            let below = match fix == line[4] {
                true => Vec::new(),
                false => wrap(&line[4], style.width.saturating_sub(BELOW).max(20)),
            };
            if below.is_empty() || below.len() > room {
                writeln!(out, "{text}{}", style.paint(Tint::Fix, &fix))?;
                continue;
            }
            room -= below.len();
            writeln!(out, "{}", text.trim_end())?;
            print_lines(out, ("     fix", BELOW), &below, Some(Tint::Fix), style)?;
        }
        if left_out > 0 {
            let more = count(left_out as u64, "more remedy", "more remedies");
            writeln!(out, "and {more}, {}: -v shows all", total(&self.large[shown.len()..]))?;
        }
        Ok(())
    }

    /// Writes one line for each small remedy; nothing if there is none.
    pub(crate) fn small(
        &self,
        out: &mut dyn Write,
        report: &Report<'_>,
        style: Style,
    ) -> io::Result<()> {
        let (listed, rest) = self.listed(report);
        if listed.is_empty() {
            return Ok(());
        }
        writeln!(out, "small:")?;
        for line in listed {
            print_item(out, &line.in_short(), style)?;
        }
        match more_small(rest) {
            Some(more) => writeln!(out, "  {more}: -v shows all"),
            None => Ok(()),
        }
    }
}

/// How many lines to show of `all`: a line that says that there is one more is no shorter than that one.
fn room_for_one_more(most: usize, all: usize) -> usize {
    if all == most.saturating_add(1) { all } else { most.min(all) }
}

/// `and 3 more, 120 calls, about 99 µs in all`.
pub(crate) fn more_small(rest: &[Line<'_>]) -> Option<String> {
    (!rest.is_empty()).then(|| format!("and {} more, {} in all", rest.len(), total(rest)))
}

/// `14,924 calls, about 149 ms`.
pub(crate) fn total(lines: &[Line<'_>]) -> String {
    let amount = Amount::sum(lines.iter().map(|line| line.saves));
    let calls = count(amount.calls, "call", "calls");
    match amount.time_ns() {
        Some(ns) => format!("{calls}, {}{}", Precision::of_lines(lines).words(), duration(ns)),
        None => calls,
    }
}

/// A share in per cent; of several cores more than 100.
pub(crate) fn part(scale: &Scale, share: f64) -> String {
    match share {
        many if many > 1.0 && scale.is_window() => format!("{:.0} %", many * 100.0),
        part => percent(part.min(1.0)),
    }
}

/// The heading of [`columns_of_time`].
pub(crate) fn heading(scale: &Scale) -> String {
    match scale.share(0) {
        Some(_) if scale.is_window() => "saves  of a core".to_owned(),
        Some(_) => "saves   of CPU".to_owned(),
        None => "saves".to_owned(),
    }
}

/// ` ~92 ms    81.2 %`, as wide for every amount.
pub(crate) fn columns_of_time(scale: &Scale, line: &Line<'_>) -> String {
    let Some(ns) = line.saves.time_ns() else { return "not known".to_owned() };
    let time = line.precision.sign().to_owned() + &duration(ns);
    match scale.share(ns) {
        Some(share) if scale.is_window() => format!("{time:>7}  {:>9}", part(scale, share)),
        Some(share) => format!("{time:>7}  {:>7}", part(scale, share)),
        None => format!("{time:>7}"),
    }
}

impl Line<'_> {
    /// `tz-unset`, `locale-spelling, …` of several.
    pub(crate) fn rules(&self) -> String {
        let first = self.findings[0];
        match self.findings.iter().all(|finding| finding.rule == first.rule) {
            true => first.rule_name(),
            false => format!("{}, …", first.rule_name()),
        }
    }

    /// What to do, as far as it is one line.
    pub(crate) fn fix(&self) -> String {
        match self.findings[0].remedies.first().map(ReportRemedy::change) {
            None => "not known".to_owned(),
            // The entries are in the details.
            Some(Change::WithoutEntries { variable, .. }) => {
                format!("shorten {}", escape(&variable))
            }
            Some(change) => summary::change(&change),
        }
    }

    /// The services, or programs without one, most expensive first: `a6, a7, a8 and 6 more`, of
    /// which as many are named as fit into `room`.
    pub(crate) fn who(&self, room: usize) -> String {
        let mut names: Vec<String> = Vec::new();
        for finding in &self.findings {
            for name in names_of(finding) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let more = |shown: usize| match names.len() - shown {
            0 => names.join(", "),
            left => format!("{} and {left} more", names[..shown].join(", ")),
        };
        let fits = |text: &String| text.chars().count() <= room;
        let least = || match names.len() {
            1 => names[0].clone(),
            _ => format!("{}, …", names[0]),
        };
        (1..=names.len()).rev().map(more).find(fits).unwrap_or_else(least)
    }

    /// `31 µs, 12 calls: locale-spelling of bash, ls and 8 more; fix: LANG=C.utf8`.
    pub(crate) fn in_short(&self) -> String {
        let time = self
            .saves
            .time_ns()
            .map_or_else(String::new, |ns| format!("{}{}, ", self.precision.words(), duration(ns)));
        let calls = count(self.saves.calls, "call", "calls");
        let who = self.who(WHO);
        format!("{time}{calls}: {} of {who}; fix: {}", self.rules(), self.fix())
    }
}

/// Who a finding is about: its service, else its programs, those with most processes first.
fn names_of(finding: &ReportFinding) -> Vec<String> {
    if let Some(service) = &finding.service {
        let name = service.strip_suffix(".service").unwrap_or(service);
        return vec![escape(name).into_owned()];
    }
    let mut titles: BTreeMap<String, u64> = BTreeMap::new();
    for program in &finding.exes {
        *titles.entry(program.title()).or_default() += program.processes;
    }
    let mut titles: Vec<(String, u64)> = titles.into_iter().collect();
    titles.sort_by_key(|(_, processes)| std::cmp::Reverse(*processes));
    titles.into_iter().map(|(title, _)| escape(&title).into_owned()).collect()
}
