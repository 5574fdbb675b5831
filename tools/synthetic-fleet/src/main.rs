//! `needless-synthetic-fleet DIR HOSTS DAYS WINDOWS ROWS [SEED [DAY]]`: writes such a fleet into a directory, or of it one
//! day; the first is 0.

use needless_synthetic_fleet::{Fleet, Written};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| words.get(n).and_then(|word| word.parse::<u32>().ok());
    let (Some(folder), Some(hosts), Some(days), Some(windows), Some(rows)) =
        (words.first(), number(1), number(2), number(3), number(4))
    else {
        eprintln!(
            "usage: needless-synthetic-fleet DIR HOSTS DAYS WINDOWS-OF-A-DAY ROWS-OF-A-WINDOW [SEED [DAY]]"
        );
        return ExitCode::from(2);
    };
    let fleet = Fleet { seed: number(5).unwrap_or(1).into(), hosts, days, windows, rows };
    let folder_of_days = Path::new(folder);
    let mut written = Written::default();
    let done = match number(6) {
        Some(day) => fleet.write_day(folder_of_days, day, &mut written),
        None => fleet.write(folder_of_days).map(|all| written = all),
    };
    match done {
        Ok(()) => {
            println!("{} files, {} rows, {} bytes", written.files, written.rows, written.bytes);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!(
                "needless-synthetic-fleet: {folder}: {error}; give it a directory that it can write to"
            );
            ExitCode::FAILURE
        }
    }
}
