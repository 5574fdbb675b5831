//! The riddle of 2015: three functions under four settings.

use super::{TzOptions, asks, in_turn, why};
use crate::measure::{Measured, SubjectRun};
use crate::report::{Cell, Column, Results, Table};
use crate::step;
use needless_report::number;

/// The table's rows: how the zone is set.
pub(super) const SETTINGS: [ZoneSetting; 4] = [
    ZoneSetting { name: "unset, symlink", tz: None, etc_localtime: Some("symlink") },
    ZoneSetting { name: "unset, file", tz: None, etc_localtime: Some("file") },
    ZoneSetting { name: ":Asia/Tokyo", tz: Some(":Asia/Tokyo"), etc_localtime: None },
    ZoneSetting { name: "JST-9", tz: Some("JST-9"), etc_localtime: None },
];

pub(super) struct ZoneSetting {
    pub(super) name: &'static str,
    tz: Option<&'static str>,
    etc_localtime: Option<&'static str>,
}

pub(super) const FUNCTIONS: [&str; 3] = ["localtime", "localtime_r", "gmtime"];

/// The seconds of the blog for 10⁸ calls: real, user and kernel time, in the order of the rows.
const OF_2015: [[[f64; 3]; 3]; 4] = [
    [[126.6, 51.2, 75.6], [38.3, 38.3, 0.0], [4.0, 4.0, 0.0]],
    [[82.8, 52.4, 30.4], [37.9, 38.0, 0.0], [4.0, 4.0, 0.0]],
    [[39.9, 39.9, 0.0], [37.6, 37.6, 0.0], [4.0, 4.0, 0.0]],
    [[8.7, 8.7, 0.0], [6.7, 6.7, 0.0], [6.6, 6.7, 0.0]],
];
const CALLS_OF_2015: f64 = 1e8;

/// One row of the table.
pub(super) struct RiddleRow {
    pub(super) setting: usize,
    pub(super) function: usize,
    pub(super) own: Measured,
    pub(super) preloaded: Option<Measured>,
    /// System calls of one more conversion.
    pub(super) asks: Option<f64>,
}

pub(super) fn add(options: &TzOptions, results: &mut Results) -> Result<(), String> {
    let mut subjects = Vec::new();
    for (setting, by) in SETTINGS.iter().enumerate() {
        let subject = |function| SubjectRun {
            function,
            calls: options.calls,
            tz: by.tz,
            etc_localtime: by.etc_localtime,
            preloaded: None,
        };
        if by.etc_localtime.is_some()
            && let Err(why) = (SubjectRun { calls: 1, ..subject("time") }).measure()
        {
            results.skipped.push(format!("the rows \"{}\": {why}", by.name));
            continue;
        }
        if by.tz == Some(":Asia/Tokyo") && !std::path::Path::new(crate::subject::TOKYO).exists() {
            results
                .skipped
                .push(format!("the rows \"{}\": no such zone; the package tzdata has it", by.name));
            continue;
        }
        subjects.extend((0..FUNCTIONS.len()).map(|at| (setting, at, subject(FUNCTIONS[at]))));
    }
    step("localtime, localtime_r and gmtime under four settings");
    let only: Vec<SubjectRun<'_>> = subjects.iter().map(|(.., subject)| *subject).collect();
    let measured = in_turn(&only, options.preloaded.as_deref().ok())?;
    let lines: Vec<RiddleRow> = subjects
        .iter()
        .zip(measured)
        .map(|((setting, function, subject), (own, preloaded))| RiddleRow {
            setting: *setting,
            function: *function,
            own,
            preloaded,
            asks: asks(subject),
        })
        .collect();
    if lines.iter().any(|line| line.asks.is_none()) {
        results.skipped.push(
            "the system calls of a conversion: they could not be counted (needless doctor)".into(),
        );
    }
    results.tables.push(table(options.calls, &lines));
    results.notes.extend(why::notes(options.calls, &lines));
    Ok(())
}

fn table(calls: u64, lines: &[RiddleRow]) -> Table {
    let library = lines.first().map_or("", |line| &line.own.library);
    let column = Column::new;
    let mut columns = vec![column("", "TZ"), column("", "function")];
    columns
        .extend(["real s", "user s", "sys s", "ns/call", "asks"].map(|name| column("here", name)));
    columns.extend(["real s", "user s", "sys s", "ns/call"].map(|name| column("2015", name)));
    columns.push(column("preloaded", "ns/call"));
    let rows = lines.iter().map(|line| {
        let spent = line.own.spent;
        let seconds = |ns: u64| Cell::Decimal(ns as f64 / 1e9, 3);
        let of_2015 = OF_2015[line.setting][line.function];
        let mut row = vec![
            Cell::Text(SETTINGS[line.setting].name.into()),
            Cell::Text(FUNCTIONS[line.function].into()),
            seconds(spent.real),
            seconds(spent.user),
            seconds(spent.sys),
            per_call(line.own.spent.cpu() as f64, calls as f64),
            line.asks.map_or(Cell::Missing, |asks| Cell::Decimal(asks, 2)),
        ];
        row.extend(of_2015.map(|seconds| Cell::Decimal(seconds, 1)));
        row.push(per_call((of_2015[1] + of_2015[2]) * 1e9, CALLS_OF_2015));
        row.push(line.preloaded.as_ref().map_or(Cell::Missing, |preloaded| {
            per_call(preloaded.spent.cpu() as f64, calls as f64)
        }));
        row
    });
    Table {
        title: format!(
            "{} calls each, {library}, the cheapest of {} runs; beside them those of the blog of 2015, 100,000,000 calls \
             in a virtual machine. \"ns/call\" is CPU time, \"asks\" the system calls of each conversion after the first",
            number(calls),
            super::ROUNDS,
        ),
        columns,
        rows: rows.collect(),
    }
}

fn per_call(ns: f64, calls: f64) -> Cell {
    let ns = ns / calls;
    Cell::Decimal(ns, if ns < 100.0 { 1 } else { 0 })
}
