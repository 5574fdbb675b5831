//! The date functions of InterSystems' thread, by the functions of the C library that do the same.

use super::{TzOptions, asks, in_turn};
use crate::measure::{Measured, SubjectRun};
use crate::report::{Cell, Column, Results, Table};
use crate::step;
use needless_report::number;
use std::path::Path;

const MOSCOW: &str = "Europe/Moscow";

/// What is measured; the function of the thread that does the same, and its microseconds per call with TZ
/// unset and with TZ=Europe/Moscow.
type Like = (&'static str, Option<(&'static str, [f64; 2])>);

const FUNCTIONS: [Like; 7] = [
    ("time and localtime", Some(("$h", [2.37, 1.19]))),
    ("tzset", Some(("$ztz", [1.00, 0.14]))),
    ("time and gmtime", Some(("$zts", [0.46, 0.47]))),
    ("time", Some(("$zh", [0.32, 0.32]))),
    ("mktime", None),
    ("strftime", None),
    ("ctime", None),
];

pub(super) fn add(options: &TzOptions, results: &mut Results) -> Result<(), String> {
    let mut zones = vec![None];
    if Path::new("/usr/share/zoneinfo").join(MOSCOW).exists() {
        zones.push(Some(MOSCOW));
    } else {
        results.skipped.push(format!(
            "the date functions with TZ={MOSCOW}: no such zone; the package tzdata has it"
        ));
    }
    step("date functions with TZ unset and set");
    let calls = options.calls;
    let subjects: Vec<SubjectRun<'_>> = FUNCTIONS
        .iter()
        .flat_map(|(function, _)| {
            zones.iter().map(|tz| SubjectRun { function, calls, tz: *tz, ..SubjectRun::default() })
        })
        .collect();
    let measured = in_turn(&subjects, options.preloaded.as_deref().ok())?;
    let rows: Vec<_> = measured.chunks(zones.len()).collect();
    let asked: Vec<Vec<Option<f64>>> =
        subjects.chunks(zones.len()).map(|of| of.iter().map(asks).collect()).collect();
    explain(&asked, results);
    results.notes.extend(preloaded(calls, rows.first()));
    results.tables.push(table(calls, &rows, &asked));
    Ok(())
}

fn table(
    calls: u64,
    rows: &[&[(Measured, Option<Measured>)]],
    asked: &[Vec<Option<f64>>],
) -> Table {
    let column = Column::new;
    let mut columns = vec![column("", "calls of")];
    for group in ["asks", "here, µs/call", "preloaded, µs/call"] {
        columns.extend(["unset", "Moscow"].map(|name| column(group, name)));
    }
    columns.push(column("2016, µs/call", "as"));
    columns.extend(["unset", "Moscow"].map(|name| column("2016, µs/call", name)));
    let micro = |of: Option<&Measured>| match of {
        Some(of) => Cell::Decimal(of.spent.cpu() as f64 / calls as f64 / 1e3, 3),
        None => Cell::Missing,
    };
    let row = |at: usize, (function, like): &Like| {
        let measured = rows.get(at).copied().unwrap_or_default();
        let asked = asked.get(at).map(Vec::as_slice).unwrap_or_default();
        let mut row = vec![Cell::Text((*function).to_owned())];
        row.extend([0, 1].map(|at| match asked.get(at) {
            Some(Some(asked)) => Cell::Decimal(*asked, 2),
            _ => Cell::Missing,
        }));
        row.extend([0, 1].map(|at| micro(measured.get(at).map(|(own, _)| own))));
        row.extend([0, 1].map(|at| micro(measured.get(at).and_then(|(_, with)| with.as_ref()))));
        row.push(like.map_or(Cell::Missing, |(name, _)| Cell::Text(name.to_owned())));
        let of_2016 = like.map(|(_, figures)| figures);
        row.extend([0, 1].map(|at| of_2016.map_or(Cell::Missing, |of| Cell::Decimal(of[at], 2))));
        row
    };
    Table {
        title: format!(
            "Date functions, CPU time per call ({} calls, the cheapest of {} runs), TZ unset (the zone of this machine) and \
             TZ={MOSCOW}, with the system calls of each (\"asks\"); beside them the figures of the thread of 2016, for the functions of Caché that do the same",
            number(calls),
            super::ROUNDS
        ),
        columns,
        rows: FUNCTIONS.iter().enumerate().map(|(at, like)| row(at, like)).collect(),
    }
}

/// InterSystems made its own functions faster; preloading does that without a change of the program.
fn preloaded(calls: u64, first: Option<&&[(Measured, Option<Measured>)]>) -> Option<String> {
    let (own, with) = first?.first()?;
    let each = |of: &Measured| of.spent.cpu() as f64 / calls as f64 / 1e3;
    let (own, with) = (each(own), each(with.as_ref()?));
    (with * super::why::CLEARLY < own).then(|| {
        format!(
            "InterSystems wrote its own date functions for Caché: a benchmark then took 0.40 s instead of 22.60, TZ unset both \
             times. needless preload does so for any program with glibc: {} takes {with:.3} µs instead of {own:.3} here, \
             TZ unset both times.",
            FUNCTIONS[0].0
        )
    })
}

/// Which functions ask the kernel without TZ, and which do not.
fn explain(asked: &[Vec<Option<f64>>], results: &mut Results) {
    let which = |wanted: fn(f64, f64) -> bool| -> Vec<&str> {
        let fits = |asked: &[Option<f64>]| match asked {
            [Some(unset), Some(set)] => wanted(*unset, *set),
            _ => false,
        };
        let rows = FUNCTIONS.iter().zip(asked).filter(|(_, asked)| fits(asked));
        rows.map(|((function, _), _)| *function).collect()
    };
    let (fixed, silent) = (
        which(|unset, set| unset >= 0.99 && set == 0.0),
        which(|unset, set| unset == 0.0 && set == 0.0),
    );
    if !fixed.is_empty() {
        results.notes.push(format!(
            "Without TZ each call asks the kernel about the zone file; with TZ none does: {}.",
            fixed.join("; ")
        ));
    }
    if !fixed.is_empty() && !silent.is_empty() {
        results.notes.push(format!("These never ask, with TZ or without: {}.", silent.join("; ")));
    }
}
