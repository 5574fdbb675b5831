//! Prints the profile of a log, row by row, to check the parser.
//!
//! `cargo run -p needless-strace-log --example dump -- FILE…` (`-` is standard input)

use needless_strace_log::{ReadOptions, read, read_files};
use std::path::PathBuf;

fn main() {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let options = ReadOptions { watch: ["TZ", "LANG", "LC_ALL"].into(), ..ReadOptions::default() };
    let profile = if paths.len() == 1 && paths[0].as_os_str() == "-" {
        read(std::io::stdin().lock(), "standard input", &options)
    } else {
        read_files(&paths, &options)
    };
    let profile = match profile {
        Ok(profile) => profile,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    println!("{} {:?} {:?}", profile.backend, profile.window, profile.totals);
    for (id, p) in profile.processes.iter().enumerate() {
        println!(
            "process {id}: pid {} parent {:?} {:?} {:?} {:?} {:?} {:?}",
            p.pid,
            p.parent.map(|p| p.0),
            p.born,
            p.exe,
            p.libc,
            p.env,
            p.exit
        );
    }
    for row in &profile.rows {
        println!(
            "{} {} {:?} {:?} {} {:?} count {} repeated {} kernel {} ns in {} [{}, {}]",
            row.process.0,
            profile.call(row),
            row.query,
            row.target,
            profile.path(row),
            row.outcome,
            row.count,
            row.repeated,
            row.kernel_ns,
            row.timed,
            row.first_ns,
            row.last_ns,
        );
        for (site, times) in &row.sites {
            println!("    {times} from {site}");
        }
    }
    println!("lost {:?}", profile.lost);
    profile.notes.iter().for_each(|note| println!("note: {note}"));
}
