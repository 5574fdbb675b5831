//! `xtask bench time`: what a call of the C library's time functions costs with `TZ` unset, with `needless preload`, and with
//! `TZ` set; and what preloading costs at the start of a program.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

const BUILT: &str = "target/bench-time";
/// Starts of a program with each library.
const STARTS: usize = 1000;
/// Conversions whose system calls are counted.
const COUNTED: &str = "1000000";

/// Prints all tables. The preload library is built first.
pub(crate) fn bench() -> Result<()> {
    std::fs::create_dir_all(BUILT)?;
    run(Command::new("libneedless/preload/build-so").arg(BUILT))?;
    let program = built("calls")?;
    run(Command::new("cc").args(["-O2", "-o"]).arg(&program).arg("benches/time/calls.c"))?;
    let library = built("libneedless_localtime.so")?;
    println!(
        "\nneedless preload: nanoseconds per call, on one processor; the least of 300 runs of 200 calls"
    );
    let settings = [
        (None, None),
        (None, Some(&*library)),
        (Some("UTC"), None),
        (Some("UTC"), Some(&*library)),
    ];
    let columns = settings.map(|(tz, preloaded)| rows(&program, tz, preloaded));
    let [unset, with, set, set_with] = columns;
    let (unset, with, set, set_with) = (unset?, with?, set?, set_with?);
    println!(
        "  {:20} {:>10} {:>10} {:>10} {:>12} {:>10}",
        "", "TZ unset", "preloaded", "TZ=UTC", "of TZ=UTC", "preloaded"
    );
    for (at, (name, unset)) in unset.iter().enumerate() {
        let (with, set, set_with) = (with[at].1, set[at].1, set_with[at].1);
        println!(
            "  {name:20} {unset:>10.1} {with:>10.1} {set:>10.1} {:>12.2} {set_with:>10.1}",
            with / set
        );
    }
    starts(&library)?;
    system_calls(&program, &library)
}

/// The absolute path of a built file, which need not be there yet.
fn built(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_dir()?.join(BUILT).join(name))
}

/// The lines of `calls`: functions, and nanoseconds.
fn rows(program: &Path, tz: Option<&str>, preloaded: Option<&Path>) -> Result<Vec<(String, f64)>> {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program).env_remove("TZ").env_remove("LD_PRELOAD");
    command.envs(tz.map(|tz| ("TZ", tz)));
    command.envs(preloaded.map(|library| ("LD_PRELOAD", library)));
    let text = run(&mut command)?.stdout;
    let text = String::from_utf8(text)?;
    let row = |line: &str| -> Result<(String, f64)> {
        let (name, ns) = line.split_once('\t').context("no figure in a line of calls")?;
        Ok((name.to_owned(), ns.parse()?))
    };
    text.lines().map(row).collect()
}

/// Starts of `true` without a library, with an empty one and with ours, in turn: the first decile of each.
fn starts(library: &Path) -> Result<()> {
    let empty = built("empty.so")?;
    run(Command::new("cc")
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"])
        .arg(&empty))?;
    let mut took = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (preloaded, times) in [None, Some(&*empty), Some(library)].into_iter().zip(&mut took) {
            let mut command = Command::new("/bin/true");
            command.env_clear().envs(preloaded.map(|library| ("LD_PRELOAD", library)));
            let began = Instant::now();
            ensure!(command.status()?.success(), "true fails");
            times.push(began.elapsed().as_nanos() as f64 / 1e3);
        }
    }
    let [none, empty, ours] = took.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 10]
    });
    println!(
        "\nstart of `true`, µs: {none:.0}; with an empty library {:.0} more, with ours {:.0} more: {:.2} times",
        empty - none,
        ours - none,
        (ours - none) / (empty - none)
    );
    Ok(())
}

fn system_calls(program: &Path, library: &Path) -> Result<()> {
    let count = |preloaded: Option<&Path>, calls: &str| -> Result<usize> {
        let log = built("calls.strace")?;
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o"]).arg(&log).env_remove("TZ").env_remove("LD_PRELOAD");
        if let Some(library) = preloaded {
            strace.arg("-E").arg(format!("LD_PRELOAD={}", library.display()));
        }
        run(strace.arg(program).arg(calls))?;
        Ok(std::fs::read_to_string(&log)?.lines().count())
    };
    let more = |preloaded| -> Result<usize> {
        Ok(count(preloaded, COUNTED)?.saturating_sub(count(preloaded, "1")?))
    };
    println!(
        "system calls of {COUNTED} conversions, TZ unset (strace, less those of a run with one): {}, preloaded {}",
        more(None)?,
        more(Some(library))?
    );
    Ok(())
}

fn run(command: &mut Command) -> Result<Output> {
    let out = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(
        out.status.success(),
        "{command:?}: {}\n{}",
        out.status,
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(out)
}
