//! `needless-synthetic-fleet DIR HOSTS DAYS WINDOWS ROWS [SEED]`: writes such a fleet into a directory.

use needless_synthetic_fleet::Fleet;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| words.get(n).and_then(|word| word.parse::<u32>().ok());
    let (Some(folder), Some(hosts), Some(days), Some(windows), Some(rows)) =
        (words.first(), number(1), number(2), number(3), number(4))
    else {
        eprintln!(
            "usage: needless-synthetic-fleet DIR HOSTS DAYS WINDOWS-OF-A-DAY ROWS-OF-A-WINDOW [SEED]"
        );
        return ExitCode::from(2);
    };
    let fleet = Fleet { seed: number(5).unwrap_or(1).into(), hosts, days, windows, rows };
    match fleet.write(Path::new(folder)) {
        Ok(written) => {
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
