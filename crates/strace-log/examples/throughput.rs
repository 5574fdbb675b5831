//! How fast a log is read: megabytes (10^6 bytes) per second of this thread's CPU time, and the
//! most memory that was in use.
//!
//! `cargo run --release -p needless-strace-log --example throughput -- LOG [TIMES]`

use needless_strace_log::{ReadOptions, read_files};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let path = PathBuf::from(args.next().ok_or("usage: throughput LOG [TIMES]")?);
    let times: u32 = match args.next() {
        Some(times) => times.to_str().ok_or("TIMES is no number")?.parse()?,
        None => 3,
    };
    let bytes = std::fs::metadata(&path)?.len() as f64;
    let mut best = f64::INFINITY;
    for _ in 0..times.max(1) {
        let before = cpu_ns()?;
        let profile = read_files(std::slice::from_ref(&path), &ReadOptions::default())?;
        let seconds = (cpu_ns()? - before) as f64 / 1e9;
        best = best.min(seconds);
        println!(
            "{:.0} MB/s of CPU time ({:.0} MB in {seconds:.3} s): {} calls, {} rows, {} processes, lost {:?}",
            bytes / 1e6 / seconds,
            bytes / 1e6,
            profile.totals.calls,
            profile.rows.len(),
            profile.processes.len(),
            profile.lost,
        );
    }
    println!("best {:.0} MB/s, peak memory {:.1} MiB", bytes / 1e6 / best, peak_mib()?);
    Ok(())
}

/// CPU time of this thread, user and system, nanoseconds (proc(5), /proc/pid/schedstat).
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no figure in schedstat")?.parse()?)
}

/// The most resident memory so far (proc(5), VmHWM).
fn peak_mib() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kib / 1024.0)
}
