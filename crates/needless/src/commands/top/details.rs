//! What is known of one row, as text.

use super::rows::Row;
use super::sample::{Cause, Item};
use needless_model::Finding;
use needless_report::{change, number, unexplained_line};

/// At most so many processes are named.
const NAMED: usize = 8;

/// A line that is indented by so many columns, also where it is wrapped.
pub(super) type Indented = (usize, String);

pub(super) fn details(row: &Row) -> Vec<Indented> {
    let (who, what) = &row.key;
    let mut lines = vec![
        (0, format!("{who}: {what}")),
        (
            0,
            format!("{} calls a second, {} of a core", number(row.calls_per_s), core(row.permille)),
        ),
    ];
    for item in &row.items {
        lines.push((0, String::new()));
        match &item.cause {
            Cause::Finding(finding) => of_finding(item, finding, &mut lines),
            Cause::Unexplained(line) => lines.push((0, unexplained_line(line, true))),
        }
    }
    lines
}

/// Of a core, in per cent.
pub(super) fn core(permille: f64) -> String {
    match permille / 10.0 {
        0.0 => "0 %".to_owned(),
        few if few < 0.1 => "< 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

fn of_finding(item: &Item, finding: &Finding, lines: &mut Vec<Indented>) {
    let mut add = |indent, text: String| lines.push((indent, text));
    add(0, format!("{} ({}) in {}", finding.rule, finding.stage.word(), item.program));
    add(2, finding.what.clone());
    add(2, finding.why.clone());
    let pids: Vec<String> = item.pids.iter().take(NAMED).map(u32::to_string).collect();
    let more = item.pids.len() - pids.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    add(2, format!("processes: {}{more}", pids.join(", ")));
    for evidence in &finding.evidence {
        let (count, call) = (number(evidence.count), &evidence.call);
        add(2, format!("{count} x {call} {} {}", evidence.path, evidence.outcome));
    }
    for remedy in &finding.remedies {
        add(2, format!("fix: {}", change(&remedy.change)));
        add(4, remedy.safety.sentence().to_owned());
    }
}
