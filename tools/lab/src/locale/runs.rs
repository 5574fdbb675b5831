//! What many starts of the command cost: the mail's Appendix B.

use super::COMMAND;
use super::setting::{Arm, LocaleSetting};
use crate::measure::{Spent, busy, usage};
use crate::report::{Cell, Column, Table};
use needless_report::number;
use nix::sys::resource::UsageWho;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The number of parts into which the runs of a row are split. The rows take turns: if the machine becomes
/// slower, it does so for all of them.
const PARTS: u64 = 10;

/// What the runs of one row cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    all: Spent,
    runs: u64,
    /// CPU nanoseconds of each part.
    parts: Vec<u64>,
}

/// Runs the command `runs` times in each setting.
pub(crate) fn measure(setting: &LocaleSetting, runs: u64) -> Result<Vec<Runs>, String> {
    let mut of = vec![Runs::default(); setting.arms.len()];
    let parts = runs.min(PARTS);
    for part in 0..parts {
        let count = runs * (part + 1) / parts - runs * part / parts;
        for (arm, of) in setting.arms.iter().zip(&mut of) {
            setting.arrange(arm)?;
            let spent = run(setting, arm, count)?;
            of.all.add(&spent);
            of.runs += count;
            of.parts.push(spent.cpu() / count.max(1));
        }
    }
    Ok(of)
}

fn run(setting: &LocaleSetting, arm: &Arm, count: u64) -> Result<Spent, String> {
    let mut command = Command::new(&setting.program);
    command.args(&COMMAND[1..]).env_clear().envs(arm.environment());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (before, clock) = (usage(UsageWho::RUSAGE_CHILDREN), Instant::now());
    for _ in 0..count {
        command
            .status()
            .map_err(|error| format!("cannot run {}: {error}", setting.program.display()))?;
    }
    let real = clock.elapsed();
    Ok(Spent::between(&before, &usage(UsageWho::RUSAGE_CHILDREN), real))
}

pub(crate) fn table(runs: u64, arms: &[Arm], of: &[Runs]) -> Table {
    let column = Column::new;
    let mut columns = vec![column("", "LANG"), column("", "which is")];
    let times = ["user s", "sys s", "real s", "CPU %"];
    columns.extend(times.map(|name| column("here", name)));
    columns.extend(["major", "minor"].map(|name| column("page faults", name)));
    columns.extend(times.map(|name| column("2001, 1,000 runs", name)));
    let rows = arms.iter().zip(of).map(|(arm, Runs { all, .. })| {
        let seconds = |ns: u64| Cell::Decimal(ns as f64 / 1e9, 2);
        let mut row = vec![Cell::Text(arm.name()), Cell::Text(arm.is.clone())];
        row.extend([all.user, all.sys, all.real].map(seconds));
        row.push(Cell::Decimal(all.cpu() as f64 / all.real.max(1) as f64 * 100.0, 1));
        row.extend([all.major, all.minor].map(Cell::Count));
        match arm.times_of_2001 {
            Some([user, kernel, total]) => {
                row.extend([user, kernel, total].map(|seconds| Cell::Decimal(seconds, 2)));
                row.push(Cell::Decimal((user + kernel) / total * 100.0, 1));
            }
            None => row.extend([Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing]),
        }
        row
    });
    Table {
        title: format!("{} × ls -z (the mail's Appendix B)", number(runs)),
        columns,
        rows: rows.collect(),
    }
}

/// A sentence where the machine was too busy to trust the clock.
pub(crate) fn busy_machine(of: &[Runs]) -> Option<String> {
    busy(of.iter().map(|of| &of.all))
}

/// The cost of the second row beside the first, in words. It is called lower only if it is lower in nearly
/// every part (by chance that happens in 9 of 10 once in a hundred times).
pub(crate) fn compare(of: &Runs, better: &Runs) -> String {
    let each = |of: &Runs| of.all.cpu() as f64 / of.runs.max(1) as f64;
    let (before, after) = (each(of), each(better));
    let wins = of.parts.iter().zip(&better.parts).filter(|(before, after)| after < before).count();
    let figures = format!("{:.0} µs of CPU per start instead of {:.0}", after / 1e3, before / 1e3);
    if wins * 10 >= 9 * of.parts.len() && of.parts.len() == PARTS as usize && after < before {
        return format!("{figures}, {:.0} % less.", (1.0 - after / before) * 100.0);
    }
    format!("{figures}, a difference that these runs cannot prove.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(parts: &[u64]) -> Runs {
        let all = Spent { user: parts.iter().sum(), ..Spent::default() };
        Runs { all, runs: parts.len() as u64, parts: parts.to_vec() }
    }

    #[test]
    fn a_difference_is_reported_where_nearly_all_parts_have_it() {
        let (dear, cheap) = (runs(&[1_000_000; 10]), runs(&[900_000; 10]));
        assert_eq!(compare(&dear, &cheap), "900 µs of CPU per start instead of 1000, 10 % less.");
        let mut mixed = [700_000; 10];
        mixed[..2].fill(1_200_000);
        assert!(compare(&dear, &runs(&mixed)).ends_with("cannot prove."));
        // Too few runs for any such sentence.
        assert!(compare(&runs(&[9, 9]), &runs(&[1, 1])).ends_with("cannot prove."));
    }
}
